"""Image–text scoring, and tags by scoring a list of words.

Sources: Radford et al. 2021, CLIP; Zhai et al. 2023, SigLIP; Zhang et al. 2023, Recognize Anything
(RAM), whose place a list of words scored by an image–text model takes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from wayword.core.errors import UsageError
from wayword.perception.landmark_clip import TransformersEncoder
from wayword.perception.projection import Floats, Picture

TAGGED = "a photo of a {}"
MARGIN = 1.0
"""How many standard deviations above the list's mean a word's score lies that becomes a tag."""
MOST = 15


class Clip:
    """CLIP, OpenCLIP's weights on the hub, or SigLIP, through transformers."""

    def __init__(self, weights: str) -> None:
        if not weights:
            raise UsageError("clip: name the weights, a folder or a model's name: clip:NAME")
        self._encoder = TransformersEncoder(weights)
        self.name = f"clip:{weights}"

    async def similarity(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """Cosines (pictures, texts)."""
        return np.asarray(self._encoder.pictures(pictures) @ self._encoder.texts(texts).T)


class ListTagger:
    """The words of a list that fit a picture best: ``tags:WEIGHTS`` or ``tags:WEIGHTS,FILE``.

    The file has a word or phrase a line; without it, a list of what there is in buildings.
    """

    def __init__(self, weights: str) -> None:
        model, _, path = weights.partition(",")
        self._encoder = Clip(model)._encoder
        self._words = _words(path)
        self._texts = self._encoder.texts([TAGGED.format(word) for word in self._words])
        self.name = f"tags:{weights}:{len(self._words)}"

    async def tags(self, pictures: Sequence[Picture]) -> list[list[str]]:
        """The tags of each picture, surest first."""
        scores = self._encoder.pictures(pictures) @ self._texts.T
        return [self._tags(row) for row in scores]

    def _tags(self, scores: Floats) -> list[str]:
        enough = scores.mean() + MARGIN * scores.std()
        order = np.argsort(-scores)[:MOST]
        return [self._words[n] for n in order if scores[n] > enough]


def _words(path: str) -> list[str]:
    """A list of words, one a line. Raises ``UsageError``."""
    try:
        source = Path(path) if path else files("wayword.perception.neural") / "indoor_words.txt"
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"tags: {path}: {error.strerror}") from None
    words = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if len(words) < 2:
        raise UsageError(f"tags: {path}: needs at least two lines")
    return words

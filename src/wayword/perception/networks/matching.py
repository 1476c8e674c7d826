"""Landmark scores by a CLIP or SigLIP model on panorama pictures (extra ``[vision]``).

A view of 800 x 460 pixels and 60 degrees is cut from an equirectangular panorama and compared with
the caption ``picture of {landmark}``: the cosine of the two embeddings. The training area is the
panoramas that the graph's ``nodes.txt`` calls seen, each cut in eight directions; their embeddings
are worked out once for a model and a set of pictures, and kept on disk.

Source: VELMA (Schumann et al. 2023), sections 5.2 and 6 (CLIP ViT-bigG-14 of LAION).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError, UsageError
from wayword.core.files import keep, read_array, read_bytes
from wayword.core.perceiver import Floats, Perceiver, Picture
from wayword.perception import panorama as pictures
from wayword.perception.landmarks import CAPTION, FRONT, REAR, Scores, Standard, StandardisedScorer
from wayword.perception.networks import indoor_words
from wayword.perception.networks.eyes import Network
from wayword.perception.panorama import view

FIELD_OF_VIEW, SIZE = 60.0, (460, 800)
"""Degrees across a view, and its rows and columns of pixels."""

AROUND = tuple(range(0, 360, 45))
"""The directions a training panorama is cut in, degrees from north."""

BATCH = 64


class Encoder(Protocol):
    """Pictures and texts to unit vectors (N, D) of one space."""

    name: str

    def pictures(self, views: Sequence[Picture]) -> Scores: ...

    def texts(self, captions: Sequence[str]) -> Scores: ...


class PanoramaPictures:
    """A folder of equirectangular pictures, ``{panorama}.jpg`` or ``.png``.

    ``nodes`` is the graph's nodes.txt, plain or gzipped: ``panorama,yaw,lat,lng,area``; the yaw is
    the heading (degrees) of the picture's middle column. Raises ``UsageError`` for a folder that
    is not there, ``DataError`` for a bad line or a picture that cannot be read.
    """

    def __init__(self, folder: Path, nodes: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"images={folder}: no such folder")
        self.folder, self._nodes = folder, nodes

    @cached_property
    def yaws(self) -> Mapping[str, float]:
        """The heading of each picture's middle, by panorama."""
        return {name: yaw for name, yaw, _ in self._lines}

    @cached_property
    def training(self) -> Sequence[str]:
        """The panoramas of the seen area whose pictures are in the folder."""
        return [name for name, _, area in self._lines if area == "seen" and self._path(name)]

    def view(self, panorama: str, heading: float) -> Picture | None:
        """The view in that direction, None where there is no picture."""
        path = self._path(panorama)
        if path is None:
            return None
        return cut(pictures.kept(path), heading - self.yaws.get(panorama, 0.0))

    def _path(self, panorama: str) -> Path | None:
        if "/" in panorama or "\\" in panorama:
            return None
        return pictures.picture_at(self.folder / panorama)

    @cached_property
    def _lines(self) -> Sequence[tuple[str, float, str]]:
        found = []
        text = read_bytes(self._nodes).decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            fields = line.split(",")
            try:
                found.append((fields[0], float(fields[1]), fields[4] if fields[4:] else ""))
            except (IndexError, ValueError):
                problem = f"is not 'panorama,yaw,lat,lng,area': {line[:60]!r}"
                raise DataError(self._nodes, f"line {number}", problem) from None
        return found


def cut(panorama: Picture, angle: float) -> Picture:
    """The perspective view (460, 800, 3) of an equirectangular picture (H, W, 3).

    ``angle`` is the view's centre relative to the picture's middle column, degrees, right positive.
    """
    return view(panorama, angle, 0.0, FIELD_OF_VIEW, SIZE)


class ClipScores(StandardisedScorer):
    """Landmark scores of a CLIP or SigLIP model on panorama pictures."""

    def __init__(self, encoder: Encoder, pictures: PanoramaPictures, cache: Path | None) -> None:
        self._encoder, self._pictures, self._cache = encoder, pictures, cache
        self.name = f"neural:{encoder.name}"
        self._texts: dict[str, Scores] = {}
        self._view = lru_cache(maxsize=4096)(self._embedded)
        super().__init__(cache)

    @property
    def identity(self) -> str:
        """Model, picture folder and the training pictures in it."""
        names = hashlib.sha256("\n".join(self._pictures.training).encode()).hexdigest()
        return f"{self._encoder.name} {self._pictures.folder.resolve()} {names}"

    def raw_scores(
        self, scene: str, place: str, headings: Sequence[int], phrases: Sequence[str]
    ) -> Scores:
        texts = self._embedded_texts(phrases)
        views = [self._view(place, heading) for heading in headings]
        blind = np.full(len(phrases), np.nan)
        columns = [blind if view is None else texts @ view for view in views]
        return np.stack(columns, axis=1) if columns else np.zeros((len(phrases), 0))

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        views = self._training
        if not len(views):
            return {}
        found = {}
        for landmark, text in zip(landmarks, self._embedded_texts(landmarks), strict=True):
            scores = np.asarray(views @ text.astype(views.dtype), np.float64)
            found[landmark] = float(scores.mean()), float(scores.std())
        return found

    def _embedded(self, panorama: str, heading: int) -> Scores | None:
        view = self._pictures.view(panorama, heading)
        return None if view is None else self._encoder.pictures([view])[0]

    def _embedded_texts(self, phrases: Sequence[str]) -> Scores:
        new = [phrase for phrase in dict.fromkeys(phrases) if phrase not in self._texts]
        if new:
            captions = [p if p in (FRONT, REAR) else CAPTION.format(p) for p in new]
            self._texts.update(zip(new, self._encoder.texts(captions), strict=True))
        return np.array([self._texts[phrase] for phrase in phrases])

    @cached_property
    def _training(self) -> NDArray[np.float32]:
        """The embeddings (N, D) of the training area's views, from the disk or made now."""
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:20]
        stored = self._cache / f"views-{digest}.npy" if self._cache else None
        if stored and stored.is_file():
            try:
                return read_array(stored, mapped=True)
            except (OSError, ValueError):
                stored.unlink(missing_ok=True)  # damaged: made anew
        views = [self._encoder.pictures(batch) for batch in self._batches()]
        made = np.concatenate(views).astype(np.float32) if views else np.zeros((0, 1), np.float32)
        if stored:
            keep(stored, lambda file: np.save(file, made, allow_pickle=False))
        return made

    def _batches(self) -> Iterator[list[Picture]]:
        batch: list[Picture] = []
        for panorama in self._pictures.training:
            views = (self._pictures.view(panorama, heading) for heading in AROUND)
            batch += [view for view in views if view is not None]
            if len(batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


class TransformersEncoder(Network):
    """Any CLIP or SigLIP that ``transformers`` loads; ``name`` is that of the weights."""

    eye, model_class = "clip", "AutoModel"

    def __init__(self, weights: str) -> None:
        super().__init__(weights)
        self.name = weights

    def pictures(self, views: Sequence[Picture]) -> Scores:
        return self._unit("get_image_features", images=list(views))

    def texts(self, captions: Sequence[str]) -> Scores:
        # SigLIP was trained on texts filled up to 64 tokens, CLIP does not care
        padding = "max_length" if "siglip" in self.model.config.model_type else True
        # not every stored tokenizer knows its model's length, and longer texts are an error
        longest = self.model.config.text_config.max_position_embeddings
        given = {"padding": padding, "truncation": True, "max_length": longest}
        return self._unit("get_text_features", text=list(captions), **given)

    def _unit(self, method: str, **given: Any) -> Scores:
        inputs = self.inputs(**given)
        with self.torch.inference_mode():
            found = getattr(self.model, method)(**inputs)
        vectors = getattr(found, "pooler_output", found)  # newer versions wrap the vectors
        unit = vectors / vectors.norm(dim=-1, keepdim=True)
        return np.asarray(unit.float().cpu().numpy(), np.float64)


# Image–text scoring, and tags by scoring a list of words.
#
# Sources: Radford et al. 2021, CLIP; Zhai et al. 2023, SigLIP; Zhang et al. 2023, Recognize
# Anything (RAM), whose place a list of words scored by an image–text model takes here.

TAGGED = "a photo of a {}"
MARGIN = 1.0
"""How many standard deviations above the list's mean a word's score lies that becomes a tag."""
MOST = 15


class Clip(Perceiver):
    """CLIP, OpenCLIP's weights on the hub, or SigLIP, through transformers."""

    def __init__(self, weights: str) -> None:
        self._encoder = TransformersEncoder(weights)
        self.name = f"clip:{weights}"

    async def similarity(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """Cosines (pictures, texts)."""
        return np.asarray(self._encoder.pictures(pictures) @ self._encoder.texts(texts).T)


class ListTagger(Perceiver):
    """The words of a list that fit a picture best: ``tags:WEIGHTS`` or ``tags:WEIGHTS,FILE``.

    The file has a word or phrase a line; without it, a list of what there is in buildings.
    """

    def __init__(self, weights: str) -> None:
        model, _, path = weights.partition(",")
        self._encoder = TransformersEncoder(model)
        self._words = indoor_words(path)
        if len(self._words) < 2:
            raise UsageError(f"tags: {path}: needs at least two lines")
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

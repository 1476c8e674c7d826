"""Open-vocabulary grounding: boxes for whatever the phrases describe.

Sources: Liu et al. 2023, Grounding DINO; Minderer et al. 2023, OWLv2 (scaled OWL-ViT).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wayword.perception.eyes import Box
from wayword.perception.neural.detection import boxes
from wayword.perception.neural.loading import Network, sizes
from wayword.perception.projection import Picture


class GroundingDino:
    """Grounding DINO. Phrases are one text, ended by full stops, as it was trained on."""

    def __init__(self, weights: str, sure: float = 0.25) -> None:
        self._network = Network("groundingdino", weights, "AutoModelForZeroShotObjectDetection")
        self._sure = sure
        self.name = self._network.name

    async def find(self, pictures: Sequence[Picture], phrases: Sequence[str]) -> list[list[Box]]:
        """The boxes of each picture, surest first, each named after its likeliest phrase."""
        network = self._network
        text = " ".join(f"{phrase.strip(' .').lower()}." for phrase in phrases)
        inputs = network.inputs(images=list(pictures), text=[text] * len(pictures), padding=True)
        with network.thinking():
            outputs = network.model(**inputs)
        found = network.processor.post_process_grounded_object_detection(
            outputs,
            inputs["input_ids"],
            threshold=self._sure,
            text_threshold=self._sure,
            target_sizes=sizes(pictures),
        )
        tokens = outputs.logits.sigmoid()
        named = [
            [phrases[n] for n in _likeliest(chances[chances.amax(dim=-1) > self._sure], spans)]
            for chances, spans in zip(tokens, self._spans(inputs["input_ids"]), strict=True)
        ]
        return [boxes(one, names) for one, names in zip(found, named, strict=True)]

    def _spans(self, texts: Any) -> list[list[list[int]]]:
        """Where each phrase's tokens stand in each text: full stops end them."""
        stop = self._network.processor.tokenizer.convert_tokens_to_ids(".")
        spans = []
        for text in texts.tolist():
            ends = [place for place, token in enumerate(text) if token == stop]
            starts = [1, *(end + 1 for end in ends)]
            pairs = zip(starts, ends, strict=False)
            spans.append([list(range(start, end)) for start, end in pairs])
        return spans


class Owlv2:
    """OWLv2 (and OWL-ViT): a score for each phrase in each box."""

    def __init__(self, weights: str, sure: float = 0.1) -> None:
        self._network = Network("owlv2", weights, "AutoModelForZeroShotObjectDetection")
        self._sure = sure
        self.name = self._network.name

    async def find(self, pictures: Sequence[Picture], phrases: Sequence[str]) -> list[list[Box]]:
        """The boxes of each picture, surest first."""
        network = self._network
        texts = [[f"a photo of a {phrase}" for phrase in phrases]] * len(pictures)
        inputs = network.inputs(images=list(pictures), text=texts, padding="max_length")
        with network.thinking():
            outputs = network.model(**inputs)
        found = network.processor.post_process_grounded_object_detection(
            outputs,
            threshold=self._sure,
            target_sizes=sizes(pictures),
            text_labels=[list(phrases)] * len(pictures),
        )
        return [boxes(one, [str(t) for t in one["text_labels"]]) for one in found]


def _likeliest(chances: Any, spans: Sequence[Sequence[int]]) -> list[int]:
    """For each box the phrase of which some token is likeliest; ``chances`` (boxes, tokens)."""
    if not len(chances):
        return []
    best = [chances[:, list(span)].amax(dim=-1).tolist() for span in spans]
    return [max(range(len(best)), key=lambda n: best[n][box]) for box in range(len(chances))]

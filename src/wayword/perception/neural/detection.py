"""Detectors of the DETR family: DETR, Deformable DETR, RT-DETR, YOLOS, Conditional DETR …

Source: Carion et al. 2020, "End-to-End Object Detection with Transformers".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wayword.perception.eyes import Box
from wayword.perception.neural.loading import Network, sizes
from wayword.perception.projection import Picture

SURE = 0.5
"""Boxes with a lower score are left out."""


class Detr:
    """Whatever transformers loads as a detector, with the names of things it was trained on."""

    def __init__(self, weights: str, sure: float = SURE) -> None:
        self._network = Network(
            "detr", weights, "AutoModelForObjectDetection", "AutoImageProcessor"
        )
        self._sure = sure
        self.name = self._network.name

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """What each picture shows, surest first."""
        network = self._network
        inputs = network.inputs(images=list(pictures))
        with network.thinking():
            outputs = network.model(**inputs)
        found = network.processor.post_process_object_detection(
            outputs, threshold=self._sure, target_sizes=sizes(pictures)
        )
        names = network.model.config.id2label
        return [boxes(one, [str(names[int(n)]) for n in one["labels"]]) for one in found]


def boxes(found: Mapping[str, Any], names: Sequence[str]) -> list[Box]:
    """Scores and edges (left, top, right, bottom; pixels) of one picture as boxes."""
    scores, edges = found["scores"].tolist(), found["boxes"].tolist()
    made = [
        Box(name, score, *map(float, edge))
        for name, score, edge in zip(names, scores, edges, strict=True)
    ]
    return sorted(made, key=lambda box: -box.score)

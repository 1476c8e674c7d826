"""A small detector that OpenCV runs by itself: SSD networks frozen by TensorFlow.

    wayword perceive pictures --detector ssd:FOLDER --out seen

``FOLDER`` holds ``*.pb`` (the frozen network) and ``*.pbtxt`` (OpenCV's text form of its graph), as
SSD-MobileNet on COCO is given out.

Source: Liu et al. 2016, "SSD: Single Shot MultiBox Detector"; Lin et al. 2014, COCO, whose 80
kinds of thing keep their numbers 1 to 90.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError
from wayword.perception.eyes import Box
from wayword.perception.projection import Picture

SIDE = 300
"""The network's input is that many pixels high and wide."""
SURE = 0.5
"""Boxes with a lower score are left out."""
# fmt: off
COCO = (
    "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat",
    "traffic light", "fire hydrant", "-", "stop sign", "parking meter", "bench", "bird", "cat",
    "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "-", "backpack",
    "umbrella", "-", "-", "handbag", "tie", "suitcase", "frisbee", "skis", "snowboard",
    "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard",
    "tennis racket", "bottle", "-", "wine glass", "cup", "fork", "knife", "spoon", "bowl",
    "banana", "apple", "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut",
    "cake", "chair", "couch", "potted plant", "bed", "-", "dining table", "-", "-", "toilet",
    "-", "tv", "laptop", "mouse", "remote", "keyboard", "cell phone", "microwave", "oven",
    "toaster", "sink", "refrigerator", "-", "book", "clock", "vase", "scissors", "teddy bear",
    "hair drier", "toothbrush",
)
# fmt: on
"""Names by number less one; ``-`` where COCO left a number out."""


class Ssd:
    """A detector of COCO's 80 kinds of thing. Raises ``UsageError`` where it cannot be had."""

    def __init__(self, folder: str) -> None:
        try:
            self._cv: Any = import_module("cv2")
        except ImportError:
            raise UsageError("ssd needs OpenCV: pip install opencv-python-headless") from None
        weights = sorted(Path(folder).glob("*.pb")) if folder else []
        graphs = sorted(Path(folder).glob("*.pbtxt")) if folder else []
        if not weights or not graphs:
            raise UsageError(f"ssd:{folder}: name a folder that holds a .pb and a .pbtxt file")
        try:
            self._net: Any = self._cv.dnn.readNetFromTensorflow(str(weights[0]), str(graphs[0]))
        except self._cv.error as error:
            problem = " ".join(str(error).split())[:200]
            raise UsageError(f"ssd:{folder}: cannot be loaded: {problem}") from None
        self.name = f"ssd:{graphs[0].stem}:{weights[0].stat().st_size}"

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """What each picture shows, surest first."""
        return [self._boxes(picture) for picture in pictures]

    def _boxes(self, picture: Picture) -> list[Box]:
        blob = self._cv.dnn.blobFromImage(picture, size=(SIDE, SIDE), swapRB=False, crop=False)
        self._net.setInput(blob)
        rows, columns = picture.shape[:2]
        found = []
        for _, kind, score, left, top, right, bottom in self._net.forward()[0, 0].tolist():
            name = COCO[int(kind) - 1] if 0 < int(kind) <= len(COCO) else "-"
            if score >= SURE and name != "-":
                edges = (left * columns, top * rows, right * columns, bottom * rows)
                found.append(Box(name, float(score), *map(float, edges)))
        return sorted(found, key=lambda box: -box.score)

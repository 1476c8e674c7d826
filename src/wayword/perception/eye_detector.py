"""EyeDetector: a network's boxes in a view's picture, as detections and groundings.

    >>> detector_called("glip").name
    'simulated:glip'
    >>> detector_called("owlv2:google/owlv2-base-patch16-ensemble").name
    'owlv2:google/owlv2-base-patch16-ensemble'

What is named ``KIND:WEIGHTS`` is an eye (see ``opening``) and looks at pictures; any other name is
a simulated detector's. The bearing of a box follows from its place in the picture and the camera's
field of view, its distance from the depth image where that covers it.
"""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from wayword.core.errors import DataError, UsageError, needing, suggest
from wayword.core.model import Image
from wayword.core.perceiver import Box, Detection, Grounding, Perceiver, Picture
from wayword.perception.detectors import detector_named
from wayword.perception.opening import EYES, open_eye
from wayword.perception.panorama import direction, encode
from wayword.worlds.objectnav.observation import View

MIDDLE = 0.5
"""Share of a box's width and height whose depth counts: its edges show what is behind."""
Answer = TypeVar("Answer")


def detector_called(name: str, seed: int = 0, **changes: float) -> Perceiver:
    """The detector of that name: an eye with a colon in it, a simulated one without.

    Networks are loaded when they first look. Raises ``UsageError``.
    """
    if ":" not in name:
        return detector_named(name, seed, **changes)
    if changes:
        raise UsageError(f"{name} is a network: its quality is what it is, not a setting")
    return EyeDetector(name)


class EyeDetector(Perceiver):
    """A detector or grounder of the ``perception`` package that looks at ``View.image``.

    A grounder (``owlv2``, ``groundingdino``) lists what is around by looking for ``names``, the
    shipped list of indoor things unless others are given; a detector (``detr``, ``ssd``) grounds a
    phrase in the boxes whose own name is in it.
    """

    def __init__(self, name: str, names: Sequence[str] = ()) -> None:
        self._family = name.partition(":")[0]
        known = [*EYES["grounder"], *EYES["detector"]]
        if self._family not in known:
            raise UsageError(f"no detector is called {name!r}; {suggest(self._family, known)}")
        self.name, self._names = name, tuple(names)

    def detect(self, view: View) -> list[Detection]:
        """The things found, nearest first, those of unknown distance last."""
        found = [self._detection(view, box) for box in self._boxes(view, self._vocabulary())]
        far = math.inf
        return sorted(found, key=lambda one: far if one.distance is None else one.distance)

    def ground(self, view: View, phrase: str) -> Grounding | None:
        """The surest box for the phrase."""
        boxes = self._boxes(view, (phrase,))
        if not self._grounds:
            wanted = set(phrase.lower().replace("-", " ").split())
            boxes = [box for box in boxes if set(box.name.lower().split()) <= wanted]
        if not boxes:
            return None
        best = self._detection(view, max(boxes, key=lambda box: box.score))
        return Grounding(best.score, best.bearing, best.distance)

    def check_view(self, view: View) -> None:
        """Raise ``UsageError`` where there is no picture to look at."""
        if not view.image:
            raise UsageError(f"{self.name} looks at pictures, and there are none here")

    @property
    def _grounds(self) -> bool:
        return self._family in EYES["grounder"]

    def _vocabulary(self) -> Sequence[str]:
        return self._names or (_indoor_words() if self._grounds else ())

    def _boxes(self, view: View, phrases: Sequence[str]) -> list[Box]:
        self.check_view(view)
        picture = pixels(view.image)
        found: list[list[Box]]
        if self._grounds:
            found = _now(_eye("grounder", self.name).find([picture], list(phrases)))
        else:
            found = _now(_eye("detector", self.name).boxes([picture]))
        return found[0]

    def _detection(self, view: View, box: Box) -> Detection:
        size = pixels(view.image).shape[:2]
        row, column = box.centre
        edges = [_angle(view, row, edge, size)[0] for edge in (box.left, box.right)]
        bearing, elevation = sum(edges) / 2, _angle(view, row, column, size)[1]
        high = _angle(view, box.top, column, size)[1] - _angle(view, box.bottom, column, size)[1]
        wide = edges[1] - edges[0]
        distance = distance_at(view, bearing, elevation, MIDDLE * wide, MIDDLE * high)
        return Detection(box.name, round(bearing, 2), distance, box.score, round(wide, 2))


def distance_at(
    view: View,
    bearing: float,
    elevation: float,
    wide: float = 0.0,
    high: float = 0.0,
) -> float | None:
    """Metres along the floor to what the depth image shows in a window (degrees) around a
    direction, the median of it; None where it shows nothing there."""
    depth = view.depth
    if not depth.bearings or not depth.elevations:
        return None
    across, up = np.array(depth.bearings), np.array(depth.elevations)
    if abs(across - bearing).min() > max(3.0, wide):
        return None
    columns, rows = _window(across, bearing, wide), _window(up, elevation, high)
    flat = depth.metres()[rows][:, columns] * np.cos(np.radians(up[rows]))[:, None]
    met = flat[np.isfinite(flat)]
    return round(float(np.median(met)), 3) if len(met) else None


def pixels(image: bytes) -> Picture:
    """An encoded picture as an array. Raises ``DataError``, ``UsageError`` without pillow."""
    return _pixels(image)


def middle_of(image: bytes, field_of_view: float, width: float) -> Image:
    """The middle of a picture, ``width`` degrees of its ``field_of_view``, for a message."""
    picture = pixels(image)
    columns = picture.shape[1]
    share = math.tan(math.radians(min(width, field_of_view) / 2))
    share /= math.tan(math.radians(field_of_view / 2))
    kept = max(1, round(columns * share))
    left = (columns - kept) // 2
    return encode(np.ascontiguousarray(picture[:, left : left + kept]))


@lru_cache(maxsize=4)
def _pixels(image: bytes) -> Picture:
    with needing("pictures need pillow", "images"):
        pillow: Any = import_module("PIL.Image")
    try:
        with pillow.open(io.BytesIO(image)) as picture:
            return np.asarray(picture.convert("RGB"))
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        raise DataError("camera", "", f"its picture cannot be read ({error})") from error


@lru_cache(maxsize=4)
def _eye(kind: Any, name: str) -> Any:
    """The network, loaded once in a process."""
    return open_eye(kind, name)


@lru_cache(maxsize=1)
def _indoor_words() -> tuple[str, ...]:
    text = (files("wayword.perception.networks") / "indoor_words.txt").read_text("utf-8")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _now(answer: Coroutine[Any, Any, Answer]) -> Answer:
    """An eye's answer, waited for: agents ask their detectors in the midst of an event loop."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, answer).result()


def _angle(view: View, row: float, column: float, size: Sequence[int]) -> tuple[float, float]:
    """Bearing and elevation of a point of the picture; a pixel's edge is half off its middle."""
    return direction(row - 0.5, column - 0.5, (0.0, 0.0), view.field_of_view, size)


def _window(angles: Any, middle: float, wide: float) -> Any:
    """The rows or columns within a window, the nearest one at least."""
    off = np.abs(angles - middle)
    inside = np.flatnonzero(off <= wide / 2)
    return inside if len(inside) else np.array([int(off.argmin())])

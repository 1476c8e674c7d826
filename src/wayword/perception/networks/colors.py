"""Names from colors: the detector of pictures in which an object's color encodes its name.

    >>> color_of("mug")
    (217, 214, 152)

The camera of a simulated robot (``wayword robot --fake``) paints such pictures. No weights are
needed, and nothing but pixels is read: the detector knows the color of each name that it looks for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from wayword.core.errors import UsageError
from wayword.core.perceiver import Box, Perceiver, Picture

LEAST_PIXELS = 12
"""Pixels of the smallest object that is detected."""
_SHIFTS = np.array([1 << 16, 1 << 8, 1], np.uint32)


def color_of(name: str) -> tuple[int, int, int]:
    """Return the color that encodes a name: three bytes of its hash."""
    red, green, blue = hashlib.blake2b(name.encode(), digest_size=3).digest()
    return red, green, blue


class ColorNames(Perceiver):
    """Finds objects by the color of their name.

    A phrase that no object has is tried without its first words: "blue mug" finds a mug.
    """

    def __init__(self, weights: str) -> None:
        if weights != "names":
            raise UsageError(f"colors:{weights}: the only code is colors:names")
        self.name = "colors:names"

    async def find(
        self, pictures: Sequence[Picture], phrases: Sequence[str]
    ) -> list[list[Box]]:
        """Return the boxes of each picture for all phrases."""
        answers = []
        for picture in pictures:
            painted = Painted(picture)
            found: list[Box] = []
            for phrase in phrases:
                found += painted.boxes_of(phrase)
            answers.append(found)
        return answers


class Painted:
    """A picture by the colors of its pixels: most names that are looked for are not in it, and are
    dismissed without a look at its pixels."""

    def __init__(self, picture: Picture) -> None:
        # (H, W): the three bytes of each pixel's color as one number.
        self._colors = picture.astype(np.uint32) @ _SHIFTS
        colors, counts = np.unique(self._colors, return_counts=True)
        self._large = set(colors[counts >= LEAST_PIXELS].tolist())
        """Colors with enough pixels for a box."""

    def boxes_of(self, phrase: str) -> list[Box]:
        """Return the boxes of all regions whose color encodes the phrase or an ending of it."""
        words = phrase.lower().replace("-", " ").split()
        for first in range(len(words)):
            name = " ".join(words[first:])
            color = int.from_bytes(color_of(name))
            if color not in self._large:
                continue
            if boxes := self._regions(color, phrase):
                return boxes
        return []

    def _regions(self, color: int, name: str) -> list[Box]:
        """Return the boxes of the regions of a color."""
        from scipy.ndimage import find_objects, label

        # Regions of eight neighbors: outlines may leave single pixels.
        regions, count = label(self._colors == color, np.ones((3, 3)))
        sizes = np.bincount(regions.ravel(), minlength=count + 1)[1:]
        boxes = []
        for size, window in zip(sizes, find_objects(regions), strict=True):
            if size >= LEAST_PIXELS:
                rows, columns = window
                edges = (columns.start, rows.start, columns.stop, rows.stop)
                boxes.append(Box(name, 1.0, *map(float, edges)))
        return boxes

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
            found: list[Box] = []
            for phrase in phrases:
                found += boxes_of(picture, phrase)
            answers.append(found)
        return answers


def boxes_of(picture: Picture, phrase: str) -> list[Box]:
    """Return the boxes of all regions whose color encodes the phrase or an ending of it."""
    from scipy.ndimage import find_objects, label

    words = phrase.lower().replace("-", " ").split()
    for first in range(len(words)):
        name = " ".join(words[first:])
        is_named = (picture == np.array(color_of(name), np.uint8)).all(axis=2)
        # Regions of eight neighbors: outlines may leave single pixels.
        regions, count = label(is_named, np.ones((3, 3)))
        sizes = np.bincount(regions.ravel(), minlength=count + 1)[1:]
        boxes = []
        for size, window in zip(sizes, find_objects(regions), strict=True):
            if size >= LEAST_PIXELS:
                rows, columns = window
                edges = (columns.start, rows.start, columns.stop, rows.stop)
                boxes.append(Box(phrase, 1.0, *map(float, edges)))
        if boxes:
            return boxes
    return []

"""Marks: numbers on the objects of a picture, which stand for the objects' names in actions.

A world that names objects in words ("pick_up[mug_1]") would tell a model by its menu what the
picture shows. With ``eyes=pictures``, objects therefore have numbers, drawn where they are seen,
and actions take these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Bools

FONT = (
    ("###", "# #", "# #", "# #", "###"),
    (" # ", "## ", " # ", " # ", "###"),
    ("###", "  #", "###", "#  ", "###"),
    ("###", "  #", " ##", "  #", "###"),
    ("# #", "# #", "###", "  #", "  #"),
    ("###", "#  ", "###", "  #", "###"),
    ("###", "#  ", "###", "# #", "###"),
    ("###", "  #", " # ", " # ", " # "),
    ("###", "# #", "###", "# #", "###"),
    ("###", "# #", "###", "  #", "###"),
)
"""The digits 0 to 9, each of 5 rows and 3 columns: a font of the system would change pixels."""
ROWS_PER_DOT = 180
"""Rows of a picture for each pixel of a digit's dot: 2 pixels at 360 rows, which models read."""
LEAST_PIXELS = 12
"""Pixels of an object below which a mark would hide it and say nothing."""
ROOMY = 8
"""Areas of its mark that an object must have to carry it inside; beside a smaller one it stands."""
GROUND = (20, 20, 24)
INK = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Mark:
    """The ``number`` that stands for an object in pictures, and its ``name`` in actions."""

    number: int
    name: str


def draw_marks(
    color: NDArray[np.uint8], ids: NDArray[np.int32], marks: Mapping[int, Mark]
) -> None:
    """Draw the marks of the objects that a picture shows, each on its object.

    ``color`` (rows, columns, 3) is changed; ``ids`` (rows, columns) are the objects' numbers in the
    mesh, ``marks`` the marks by these numbers.
    """
    shown, counts = np.unique(ids, return_counts=True)
    visible = zip(counts.tolist(), shown.tolist(), strict=True)
    taken = np.zeros(ids.shape, np.bool_)
    # Small objects first: large ones have more places for their mark.
    for count, number in sorted(visible):
        if number in marks and count >= LEAST_PIXELS:
            label = _label(marks[number].number, *ids.shape)
            top, left = _place(ids == number, label.shape[:2], taken)
            bottom = top + label.shape[0]
            right = left + label.shape[1]
            color[top:bottom, left:right] = label
            taken[top:bottom, left:right] = True


def _label(number: int, rows: int, columns: int) -> NDArray[np.uint8]:
    """Return a number as a picture, with a border of one dot, for a picture of that size."""
    digits = [FONT[int(digit)] for digit in str(number)]
    lines = [" ".join(rows) for rows in zip(*digits, strict=True)]
    dots = np.array([[dot == "#" for dot in line] for line in lines])
    # Without the border, a digit on a light object could not be read.
    dots = np.pad(dots, 1)
    # A tall, narrow picture is narrower than a label of dots for its rows.
    size = max(1, min(rows // ROWS_PER_DOT, columns // dots.shape[1]))
    dots = dots.repeat(size, axis=0).repeat(size, axis=1)
    label = np.empty((*dots.shape, 3), np.uint8)
    label[:] = GROUND
    label[dots] = INK
    return label


def _place(mask: Bools, size: tuple[int, int], taken: Bools) -> tuple[int, int]:
    """Return the top left corner of a label (rows, columns) near the middle of an object, where it
    covers no other label if there is room."""
    rows, columns = np.nonzero(mask)
    # Pixels nearest to the middle first. All distances are whole numbers, so their order is exact.
    middle_row = int(rows.sum()) // len(rows)
    middle_column = int(columns.sum()) // len(columns)
    distance = (rows - middle_row) ** 2 + (columns - middle_column) ** 2
    order = np.argsort(distance, kind="stable")
    # A step of the label's height passes over as many pixels as one label covers.
    tried = order[:: max(1, size[0])]
    corners = []
    # Above, right, left and below it, so that a small object stays visible.
    if len(rows) < ROOMY * size[0] * size[1]:
        middle_left = middle_column - size[1] // 2
        middle_top = middle_row - size[0] // 2
        corners += [
            (int(rows.min()) - size[0], middle_left),
            (middle_top, int(columns.max()) + 1),
            (middle_top, int(columns.min()) - size[1]),
            (int(rows.max()) + 1, middle_left),
        ]
    for index in tried.tolist():
        top = int(rows[index]) - size[0] // 2
        corners.append((top, int(columns[index]) - size[1] // 2))
    # Without room for another label, the best place is shared.
    within = []
    for top, left in corners:
        top = min(max(0, top), mask.shape[0] - size[0])
        left = min(max(0, left), mask.shape[1] - size[1])
        if not taken[top : top + size[0], left : left + size[1]].any():
            return top, left
        within.append((top, left))
    return within[0]

"""What an environment renders: arrays of pixels, or a picture and a text in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Dataset
from wayword.core.errors import UsageError
from wayword.envs.game import TaskGame

RENDER_MODES = ["ansi", "human", "rgb_array", "depth_array"]
"""Modes of Gymnasium and PettingZoo: texts, then pictures, then depths."""
TERMINAL_COLUMNS = 80
"""Most characters in a line of a picture: the usual width of a terminal."""


def render_modes(dataset: Dataset) -> list[str]:
    """Return the modes that a dataset can draw: without pictures texts alone, and no depths of maps
    that are seen from above."""
    painter = dataset.painter()
    if painter is None:
        return RENDER_MODES[:2]
    return RENDER_MODES if painter.has_depth else RENDER_MODES[:3]


def checked_mode(mode: str | None, dataset: Dataset) -> str | None:
    """Return a mode, or None for none. Raises ``UsageError`` for one that does not exist, or that
    the dataset cannot draw."""
    known = render_modes(dataset)
    if mode in (None, *known):
        return mode
    reason = ""
    if mode in RENDER_MODES:
        reason = ": this dataset draws no pictures"
        if len(known) > 2:
            reason = ": this dataset draws maps seen from above, which have no depth"
    raise UsageError(
        f"render_mode must be one of {', '.join(known)}, got {mode!r}{reason}"
    )


def rendered(mode: str, game: TaskGame, actors: Sequence[str], text: str) -> Any:
    """Render what actors see ahead, side by side, in one of ``RENDER_MODES``.

    ``rgb_array``: colors (rows, columns, 3). ``depth_array``: metres along the camera's axis (rows,
    columns), inf for the sky. ``ansi``: the ``text``. ``human``: prints the picture, if there is
    one, and the text, and returns None. Raises ``UsageError`` for arrays of a dataset without
    pictures.
    """
    if mode == "ansi":
        return text
    if mode == "human" and game.dataset.painter() is None:
        sys.stdout.write(f"{text}\n")
        return None
    frames = [game.ahead(actor) for actor in actors]
    if mode == "depth_array":
        depths = np.hstack([frame.depth for frame in frames])
        return depths.astype(np.float32)
    colors = np.hstack([frame.color for frame in frames])
    if mode == "human":
        sys.stdout.write(f"{in_terminal(colors)}\n{text}\n")
        return None
    return colors


def in_terminal(color: NDArray[np.uint8]) -> str:
    """Return a picture (rows, columns, 3) as lines for a terminal with 24-bit colors.

    A character shows two pixels, one above the other: the upper half of its cell in the text's
    color, the lower in the background's, as a cell is about twice as high as wide.
    """
    height, width = color.shape[:2]
    columns = min(TERMINAL_COLUMNS, width)
    lines = max(1, round(height * columns / width / 2))
    rows = np.arange(2 * lines) * height // (2 * lines)
    across = np.arange(columns) * width // columns
    small = color[np.ix_(rows, across)].tolist()
    drawn = []
    for upper, lower in zip(small[::2], small[1::2], strict=True):
        cells = [
            f"\x1b[38;2;{a};{b};{c}m\x1b[48;2;{d};{e};{f}m\u2580"
            for (a, b, c), (d, e, f) in zip(upper, lower, strict=True)
        ]
        drawn.append("".join(cells) + "\x1b[0m")
    return "\n".join(drawn)

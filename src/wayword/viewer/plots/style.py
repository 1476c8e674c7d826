"""Look of all figures: fonts, sizes, colors, dashes and markers for a two-column paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wayword.core.errors import UsageError, needing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS: Mapping[str, float] = {"column": 3.35, "page": 6.9}
"""Inches of a column and of a page in the styles of ACL, CVPR, IEEE and NeurIPS, at most."""
INK = "#1a1a1a"
QUIET = "#767676"
FAINT = "#c8c8c8"
PAPER = "#f1f1f1"

RC: dict[Any, Any] = {
    "font.family": "serif",
    # Looks like the Times of most paper styles, and comes with matplotlib.
    "font.serif": ["STIXGeneral"],
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "lines.markersize": 4.0,
    # Names of runs are data: a dollar sign in one is not mathematics.
    "text.parse_math": False,
    # Type 3 fonts are refused by the checks of IEEE and arXiv.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # The same figure has the same bytes.
    "svg.hashsalt": "wayword",
}


class SeriesStyle(NamedTuple):
    """Color, dashes and marker of a series."""

    color: str
    dashes: Any
    marker: str


_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#1a1a1a")
"""Okabe and Ito 2008: distinct for people with any of the common color deficiencies."""
# Each as its offset and the lengths of strokes and gaps, in line widths
_DASHES = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1.2)),
    (0, (5, 1.2, 1, 1.2)),
    (0, (2, 1)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MOST = len(_COLORS) * len(_DASHES)
"""Series of a figure, at most: more could not be told apart."""


def look(number: int) -> SeriesStyle:
    """Return the look of a series; no two of ``MOST`` have the same color and dashes.

    Seven colors and five dashes have no common divisor, so counting both on gives every
    pair.
    """
    return SeriesStyle(
        _COLORS[number % len(_COLORS)],
        _DASHES[number % len(_DASHES)],
        _MARKERS[number % len(_MARKERS)],
    )


def width_of(text: str) -> float:
    """Return a width in inches from ``column``, ``page`` or a number. Raises ``UsageError``."""
    if text in WIDTHS:
        return WIDTHS[text]
    try:
        inches = float(text)
    except ValueError:
        inches = 0.0
    # Outside these, the fonts are larger than the figure or lost in it.
    if not 1.5 <= inches <= 20:
        raise UsageError(
            f"--width {text}: must be column, page, or 1.5 to 20 inches, such as 3.25"
        )
    return inches


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of ``width`` by ``height`` inches and its axes.

    No window and no ``pyplot`` state knows it, so it is freed like any object. Raises
    ``UsageError`` without matplotlib.
    """
    with needing("figures need matplotlib", "plot"):
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

    engine = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02)  # inches around the axes
    figure = Figure(figsize=(width, height), layout=engine)
    return figure, figure.add_subplot()


def legend_above(axes: Axes, names: Sequence[str]) -> None:
    """Put the legend of two or more series above the axes, in as many columns as fit."""
    if len(names) < 2:
        return
    # Inches of an entry: its sign, the gap, and about 21 characters of 7 points an inch.
    each = 0.45 + max(map(len, names)) / 21
    inches = axes.figure.get_figwidth()  # type: ignore[union-attr]
    columns = max(1, int((inches - 0.3) / each))
    lines = math.ceil(len(names) / columns)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=math.ceil(len(names) / lines),
        borderaxespad=0.2,
        handlelength=2.4,
        columnspacing=1.2,
    )


def faint_grid(axes: Axes, axis: Any) -> None:
    """Draw lines at the ticks of one axis, below the data."""
    axes.set_axisbelow(True)
    axes.grid(True, axis=axis, color="#e6e6e6", linewidth=0.5)

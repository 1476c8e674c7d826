"""Look of all figures: fonts, sizes, colors, dashes and markers for a two-column paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from wayword.core.errors import UsageError, needing
from wayword.core.visible import in_lines

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS: Mapping[str, float] = {"column": 3.35, "page": 6.9}
"""Inches of a column and of a page in the styles of ACL, CVPR, IEEE and NeurIPS, at most."""
INK = "#1a1a1a"
QUIET = "#767676"
FAINT = "#c8c8c8"
PAPER = "#f1f1f1"

RC: dict[Any, Any] = {
    # Looks like the Times of most paper styles, and comes with matplotlib. By its name, as a figure
    # may be drawn again under other settings.
    "font.family": "STIXGeneral",
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


_LEGEND_TEXT = 7.0  # points
_SIGN = 0.33  # inches of a legend's sign and the gap to its text
_BETWEEN = 0.13  # inches between the columns of a legend
_LEADING = 1.2  # height of a line of text, in sizes of its font


def text_width(text: str, points: float, weight: str = "normal") -> float:
    """Return the width of a line of text of that size, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=RC["font.family"], size=points, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, False)
    # Screens round the advance of each letter.
    return 1.02 * float(width) / 72


def wrapped(text: str, inches: float, points: float) -> str:
    """Return the text in lines of at most that width, as by
    :func:`~wayword.core.visible.in_lines`."""
    return in_lines(text, lambda line: text_width(line, points) <= inches)


def fitted_legend(axes: Axes, loc: str, columns: int = 8) -> float:
    """Add a legend of the axes' series to their figure, not wider than it, at the place ``loc`` of
    matplotlib.

    It has as many columns as fit, at most ``columns``; a name that is wider than the figure has
    several lines. Returns its height in inches.
    """
    figure: Any = axes.figure
    handles, names = axes.get_legend_handles_labels()
    inches = figure.get_figwidth() - 0.1
    each = _SIGN + max(text_width(name, _LEGEND_TEXT) for name in names)
    columns = min(columns, int((inches + _BETWEEN) / (each + _BETWEEN)))
    columns = max(1, columns)
    rows = math.ceil(len(names) / columns)
    names = [wrapped(name, inches - _SIGN, _LEGEND_TEXT) for name in names]
    figure.legend(
        handles,
        names,
        loc=loc,
        ncols=math.ceil(len(names) / rows),
        borderpad=0.2,
        borderaxespad=0.2,
        handlelength=2.4,
        handletextpad=0.6,
        columnspacing=1.2,
    )
    # Only a single column has names of several lines.
    lines = rows
    if columns == 1:
        lines = sum(name.count("\n") + 1 for name in names)
    return (_LEADING * lines + 0.5 * rows) * _LEGEND_TEXT / 72


def legend_above(axes: Axes) -> None:
    """Put the legend of two or more series above the axes, in as many columns as fit; the figure
    becomes higher by all lines after the first."""
    figure: Any = axes.figure
    _, names = axes.get_legend_handles_labels()
    if len(names) < 2:
        return
    height = fitted_legend(axes, "outside upper left")
    line = (_LEADING + 0.5) * _LEGEND_TEXT / 72
    figure.set_figheight(figure.get_figheight() + height - line)


def clip_around(axes: Axes, artists: Iterable[Artist]) -> None:
    """Clip artists at the axes, with room for marks at their ends."""
    # Imports matplotlib, which is optional.
    from wayword.viewer.plots.clipping import AroundAxes

    box = AroundAxes(axes)
    for artist in artists:
        artist.set_clip_box(box)


def faint_grid(axes: Axes, axis: Any) -> None:
    """Draw lines at the ticks of one axis, below the data."""
    axes.set_axisbelow(True)
    axes.grid(True, axis=axis, color="#e6e6e6", linewidth=0.5)

"""Box at which marks are clipped, imported only where a figure is drawn: it needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.transforms import BboxBase

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARK = 3.0
"""Points from the middle of a mark, or of an error bar's line, to beyond its rim."""


class AroundAxes(BboxBase):
    """The box of the axes, wherever the layout puts them, and the room of a mark around it.

    A mark at 0 or at 100% is drawn whole; what is outside a range that a user sets later, with
    ``set_ylim``, does not cover the legend.
    """

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self._axes = axes

    def get_points(self) -> Any:
        """Return the lower left and the upper right corner (2, 2), in pixels."""
        figure: Any = self._axes.figure
        return self._axes.bbox.padded(_MARK * figure.dpi / 72).get_points()

"""Layouts: which views of a place are looked at.

Sources: NavGPT (Zhou et al. 2024), section 3.2 and Table 2; DiscussNav (Long et al. 2024), section
III-C; VELMA (Schumann et al. 2023), section 5.2; MatterSim's 36 views of 30°.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wayword.core.errors import UsageError, suggest


@dataclass(frozen=True, slots=True)
class Layout:
    """``headings`` (degrees from north, or from the front) times ``elevations``, top first.

    ``width`` is each view's horizontal field of view in degrees, ``size`` its rows and columns.
    """

    name: str
    headings: tuple[float, ...]
    elevations: tuple[float, ...]
    width: float
    size: tuple[int, int] = (480, 480)

    def views(self) -> Iterator[tuple[float, float]]:
        """(heading, elevation) of every view, a direction at a time, from the top down."""
        return ((heading, rise) for heading in self.headings for rise in self.elevations)


def _around(count: int) -> tuple[float, ...]:
    return tuple(360.0 / count * number for number in range(count))


LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout("navgpt24", _around(8), (30.0, 0.0, -30.0), 45.0),
        Layout("navgpt12", _around(6), (30.0, -30.0), 60.0),
        Layout("navgpt36", _around(12), (30.0, 0.0, -30.0), 30.0),
        Layout("discussnav12", _around(12), (0.0,), 30.0),
        Layout("velma5", (270.0, 315.0, 0.0, 45.0, 90.0), (0.0,), 60.0, (460, 800)),
    )
}
"""By name. NavGPT's Table 2 gives counts and fields of view; the rows of its 12 views are ours."""


def layout(name: str) -> Layout:
    """The layout of that name. Raises ``UsageError``."""
    if name not in LAYOUTS:
        raise UsageError(f"no layout {name!r}; {suggest(name, list(LAYOUTS))}")
    return LAYOUTS[name]

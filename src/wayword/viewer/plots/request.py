"""Inputs of a figure, and what its drawing returns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wayword.core.errors import UsageError
from wayword.core.visible import plural
from wayword.metrics.summary import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureRequest:
    """Runs and options of a figure, checked by its kind.

    ``width`` is in inches. ``metric`` is a key or a column of tables, by default the success
    metric. ``labels`` are the runs' names in the legend, in order. ``episode`` is that of a map.
    ``data``, ``trusted`` and ``cluster`` are as in :func:`wayword.runs.reports.table`.
    """

    runs: Sequence[Path]
    width: float
    metric: str = ""
    labels: Sequence[str] = ()
    episode: str = ""
    data: Path | None = None
    trusted: Sequence[Path] = ()
    cluster: str = ""

    def names(self, given: Sequence[str]) -> list[str]:
        """Return the legend's names: ``labels``, else ``given`` made distinct.

        ``given`` has a name for each series. Raises ``UsageError`` unless there is a
        label for each series or none.
        """
        if self.labels and len(self.labels) != len(given):
            series = ", ".join(given)
            raise UsageError(
                f"--label: {len(self.labels)} given, and the figure has {len(given)} series "
                f"({series}); repeat --label for each, in this order"
            )
        names = list(self.labels)
        for number, name in enumerate(given[len(names) :]):
            # Runs of the same agent get a number, in the given order.
            repeats = given[:number].count(name)
            if repeats:
                name = f"{name} ({repeats + 1})"
            names.append(name)
        # Matplotlib leaves names that begin with an underscore out of legends.
        return [re.sub("^_", " _", name) for name in names]


class Drawing(NamedTuple):
    """A figure, its caption, and notices about what it leaves out."""

    figure: Figure
    caption: str
    notices: tuple[str, ...] = ()


def interval_note(rows: Sequence[Row], key: str, mark: str = "Error bars") -> str:
    """Return what the intervals of a metric are, with the number of independent units of the rows
    that have one, and that others have none. ``mark`` is their name in the figure."""
    drawn = [
        row for row in rows if key in row.values and math.isfinite(row.values[key].half)
    ]
    if not drawn:
        few = plural(rows[0].clustered or "episode")
        return f"No intervals: too few {few}."
    clusters = [row.clusters for row in drawn]
    units = dict.fromkeys(row.clustered or "episode" for row in drawn)
    if max(clusters) > 1:
        units = dict.fromkeys(map(plural, units))
    number = number_span(clusters, " to ")
    note = f"{mark}: 95% intervals with {number} {' and '.join(units)} as units"
    if len(drawn) < len(rows):
        note += "; means without one have too few"
    return f"{note}."


def number_span(numbers: Sequence[int], between: str = "–") -> str:
    """Return the least and the greatest of some numbers: ``12–40``, or ``12``."""
    low = min(numbers)
    high = max(numbers)
    if low == high:
        return f"{low:,}"
    return f"{low:,}{between}{high:,}"

"""Metric: name, unit, better direction and definition of a score."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from wayword.core.errors import UsageError, suggest

Kind = Literal[
    "rate", "ratio", "metres", "count", "hops", "seconds", "tokens", "dollars"
]
Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A score of an episode: its name, meaning and better direction.

    ``Metric("sr", "SR", "rate", "higher", "share of episodes that end within 3 m of the goal")``

    ``key`` names it in JSON and on the command line, ``label`` in tables. A ``rate`` is stored as
    a fraction of 1 and shown as a percentage; so is a ``ratio``, which may exceed 1. ``better`` is
    None if neither direction is better. ``doc`` is the definition and its source, in one sentence.
    """

    key: str
    label: str
    kind: Kind
    better: Better | None
    doc: str


_NEVER_NEGATIVE = ("ratio", "metres", "count", "hops", "seconds", "tokens", "dollars")


def bounds(kind: str) -> tuple[float, float]:
    """Return the lowest and highest value of a metric of this kind."""
    if kind == "rate":
        # A mean may exceed the bounds by a rounding error.
        return -1e-9, 1.0 + 1e-9
    return (0.0 if kind in _NEVER_NEGATIVE else -math.inf), math.inf


def is_solved(success: float | None) -> bool:
    """True for the success of a solved episode; False where none was measured.

    The success of one episode is 0 or 1, and a half tells them apart, however it was rounded.
    """
    return success is not None and success > 0.5


def find(metrics: Iterable[Metric], key: str) -> Metric:
    """Return the metric with that key. Raises ``UsageError`` with a suggestion if unknown."""
    by_key = {metric.key: metric for metric in metrics}
    if key not in by_key:
        raise UsageError(f"no metric is called {key!r}; {suggest(key, by_key)}")
    return by_key[key]

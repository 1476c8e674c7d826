"""Metric: what a score is called, what it measures, and which way is better.

A family's module lists its metrics in the order tables show them; the accounting metrics, the same
for every family, are in :mod:`wayword.metrics.accounting`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from wayword.core.errors import UsageError, suggest

Kind = Literal["rate", "ratio", "metres", "count", "hops", "seconds", "tokens", "dollars"]
Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A score of an episode: its name, meaning and better direction.

    ``Metric("sr", "SR", "rate", "higher", "share of episodes that end within 3 m of the goal")``

    ``key`` names it in JSON and on the command line, ``label`` in tables. A ``rate`` is a fraction
    of one wherever it is stored and a percentage where people read it; a ``ratio`` may be more than
    one. ``better`` is None for what is neither good nor bad in itself. ``doc`` is one sentence with
    the definition and its source.
    """

    key: str
    label: str
    kind: Kind
    better: Better | None
    doc: str


def find(metrics: Iterable[Metric], key: str) -> Metric:
    """Return the metric of that key. Raises ``UsageError`` with a suggestion for an unknown one."""
    by_key = {metric.key: metric for metric in metrics}
    if key not in by_key:
        raise UsageError(f"no metric is called {key!r}; {suggest(key, list(by_key))}")
    return by_key[key]

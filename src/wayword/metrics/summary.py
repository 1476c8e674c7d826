"""Summary: a run's row, each metric's mean with its interval, and what the run took in all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wayword.core.metric import Metric
from wayword.metrics import scoring
from wayword.metrics.intervals import Interval, bootstrap

TOTALLED = ("calls", "prompt_tokens", "reused_tokens", "completion_tokens", "cost", "seconds")
"""Accounting metrics whose sum over the run is of interest."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run.

    ``n`` of the ``of`` episodes in the split were scored, and ``failed`` more failed. ``checksum``
    is the split's. ``values`` holds each metric's mean over episodes and its 95% interval, by key.
    ``totals`` holds sums over the run (None: unknown), and ``wall_seconds`` where it is known:
    episodes run side by side, so it is less than the sum of their seconds. ``sees_answer``: one of
    the run's agents was shown the reference. ``metrics`` are the family's own.
    ``clustered`` says what is resampled whole for the intervals (``"scene"``), ``runs`` how many
    seeds' runs the row pools, and ``caveats`` what every figure of the row rests on: an inferred
    layout, episodes that were left out.
    """

    name: str
    family: str
    metrics: tuple[Metric, ...]
    n: int
    of: int
    values: Mapping[str, Interval]
    failed: int = 0
    agent: str = ""
    model: str = ""
    dataset: str = ""
    checksum: str = ""
    totals: Mapping[str, float | None] = field(default_factory=dict)
    sees_answer: bool = False
    clustered: str = ""
    runs: int = 1
    caveats: tuple[str, ...] = ()


def summarize(
    name: str,
    scores: Sequence[Mapping[str, float]],
    *,
    family: str,
    metrics: Sequence[Metric] | None = None,
    of: int,
    failed: int = 0,
    agent: str = "",
    model: str = "",
    dataset: str = "",
    checksum: str = "",
    wall_seconds: float | None = None,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> Row:
    """A run's row from its episodes' scores.

    A metric that some episodes lack is averaged over the others; but a cost that is unknown for one
    episode is unknown for the run. ``metrics`` are the family's own, by default those of the family
    of that name. ``clusters``: see :mod:`wayword.metrics.intervals`.
    """
    own = tuple(metrics if metrics is not None else scoring.scorer(family).metrics)
    keys = list(dict.fromkeys(key for one in scores for key in one))
    values = np.array([[one.get(key, math.nan) for key in keys] for one in scores], dtype=float)
    found = bootstrap(values.reshape(len(scores), len(keys)), clusters, seed=seed)
    intervals = dict(zip(keys, found, strict=True))
    totals: dict[str, float | None] = {
        key: _total(scores, key) for key in TOTALLED if any(key in one for one in scores)
    }
    if "calls" in totals and totals.setdefault("cost", None) is None:
        intervals.pop("cost", None)  # a mean over the known prices alone would mislead
    if wall_seconds is not None:
        totals["wall_seconds"] = wall_seconds
    return Row(
        name,
        family,
        own,
        len(scores),
        of,
        intervals,
        failed,
        agent,
        model,
        dataset,
        checksum,
        totals,
    )


LOST_ADVICE = 0.1
"""Share of a run's questions whose advice came to nothing from which on its row says so."""


def marks(scores: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """What the figures of a run's row rest on that its episodes tell: prompts without their oldest
    steps, and experts whose advice was lost."""
    found = []
    if cut := sum("steps_forgotten" in one for one in scores):
        found.append(f"in {cut} of {len(scores)} episodes prompts lack their oldest steps")
    lost = sum(one.get("advice_lost", 0.0) for one in scores)
    calls = sum(one.get("calls", 0.0) for one in scores)
    if calls and lost / calls > LOST_ADVICE:
        found.append(f"{lost:.0f} of {calls:.0f} questions were to experts whose advice was lost")
    return tuple(found)


def _total(scores: Sequence[Mapping[str, float]], key: str) -> float | None:
    return sum(one[key] for one in scores) if all(key in one for one in scores) else None

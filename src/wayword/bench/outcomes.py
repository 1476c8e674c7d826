"""Outcomes of the bench's runs: who solved what, at what cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from wayword.core.episode import JsonObject
from wayword.core.visible import in_dollars
from wayword.metrics.intervals import Interval
from wayword.runs.record import RunFolder


class Judge(Protocol):
    """The score that means success, and its least value."""

    @property
    def success(self) -> str:
        """Key of the score that means success."""

    @property
    def at_least(self) -> float:
        """Least value of that score in an episode that succeeded."""


def results(path: Path, judge: Judge) -> Iterator[tuple[str, bool, dict[str, float]]]:
    """Yield each tried episode of a run: its id, success, and scores.

    Failed ones count as failures, without scores. Episodes that were not tried are left out.
    """
    run = RunFolder.read(path)
    finished = dict(run.scores())
    for name, scores in finished.items():
        yield name, scores.get(judge.success, 0.0) >= judge.at_least, scores
    # An episode that finished later is no failure. In recorded order: cards name the first one.
    for name in dict.fromkeys(failure.episode_id for failure in run.failures()):
        if name not in finished:
            yield name, False, {}


def place(episode: str) -> str:
    """Return the place that an episode's id begins with: the unit of intervals.

    The id itself where each episode has a place of its own.
    """
    return episode.partition("_")[0]


def cost(scores: Sequence[Mapping[str, float]]) -> JsonObject:
    """Return the tokens and dollars of episodes."""
    tokens = total(scores, "prompt_tokens") + total(scores, "completion_tokens")
    return {"tokens": int(tokens), "dollars": round(total(scores, "cost"), 6)}


def dollars_text(row: JsonObject) -> str:
    """Return the dollars of a row or card as text: ``$0.42``.

    ``unpriced`` counts the episodes whose price is not known. In cards and rows without
    it, tokens without dollars have no known price.
    """
    dollars = in_dollars(row["dollars"])
    if not row["dollars"] and row.get("unpriced", row["tokens"]):
        return "no known cost"
    if unpriced := row.get("unpriced"):
        return f"at least {dollars} ({unpriced} episodes have no known price)"
    return dollars


def unpriced(path: Path) -> int:
    """Return the number of a run's finished episodes whose price is not known."""
    scores = (each for _, each in RunFolder.read(path).scores())
    # Without a call there is nothing to pay.
    return sum("cost" not in each and each.get("calls", 0) > 0 for each in scores)


def effort(scores: Sequence[Mapping[str, float]]) -> JsonObject:
    """Return the cost of episodes, their seconds, and the share of steps that were rejections."""
    # At least one step, as runs may have none.
    rejected = total(scores, "rejections") / max(1.0, total(scores, "steps"))
    seconds = round(total(scores, "seconds"), 1)
    return {**cost(scores), "seconds": seconds, "rejection_rate": round(rejected, 4)}


def total(scores: Sequence[Mapping[str, float]], key: str) -> float:
    """Return the sum of a metric over the episodes that have it."""
    return float(np.nansum([each.get(key, 0.0) for each in scores]))


def triple(found: Interval, least: float = 0.0) -> list[float]:
    """Return an estimate and its bounds, rounded for a card.

    The bounds are ``least`` and 1 where one place alone gives no interval.
    """
    ends = found.low, found.high
    if not math.isfinite(found.low):
        ends = least, 1.0
    return [round(value, 4) for value in (found.mean, *ends)]

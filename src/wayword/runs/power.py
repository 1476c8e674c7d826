"""Power: the episodes that a comparison of two runs needs.

    wayword power --on r2r:val_unseen --difference 5 [RUNS]

Two runs are compared by the differences of their episodes. The standard error of the mean
difference falls with the square root of the number of episodes, so runs at hand tell how many of
them show a difference, with p < 0.05 in 80% of cases. Without runs, agents with an SR of 50% and a
few correlations are assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.core.files import short_path
from wayword.core.visible import join_words
from wayword.metrics.intervals import estimates
from wayword.runs import config as configs
from wayword.runs.identity import split_name
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder, is_run

DETECTABLE = 2.8
"""Standard errors of a difference that is significant (1.96) in 80% of cases (0.84)."""
FEWEST = 30
"""Episodes from which this rule holds. Of fewer, exact powers are lower: 20 show 38 points where
the rule says 31, 10 show 68 for 44, and of 5 not even a win in all is significant."""
ASSUMED = (0.0, 0.3, 0.5, 0.7)
"""Correlations of success between two agents, without runs."""


@dataclass(frozen=True)
class RunPairVariance:
    """Two runs on ``shared`` episodes: their correlation of success, and the standard error of the
    mean difference of one episode, so that n episodes have it divided by the root of n. The
    correlation is NaN if a run solved all of them, or none."""

    names: tuple[str, str]
    shared: int
    correlation: float
    unit_error: float


def episodes_for(difference: float, unit_error: float) -> int:
    """Return the episodes that show a difference (a fraction of 1)."""
    return max(FEWEST, math.ceil((DETECTABLE * unit_error / difference) ** 2))


def shown_by(episodes: int, unit_error: float) -> float:
    """Return the smallest difference that this number of episodes shows; infinite for fewer than
    ``FEWEST``."""
    if episodes < FEWEST:
        return math.inf
    return DETECTABLE * unit_error / math.sqrt(episodes)


def assumed_error(correlation: float) -> float:
    """Return the standard error of the difference of one episode between two agents.

    The largest there is: agents that solve half of the episodes have a variance of 1/4 each, and
    two agents twice that, less what they share.
    """
    return math.sqrt((1 - correlation) / 2)


def pairs_of(runs: Sequence[Path], split: str, success: str) -> list[RunPairVariance]:
    """Return the pairs of runs on a split that share at least ten episodes and differ in some.

    ``success`` is the key of the compared score. Each pair has the correlation of its scores and
    the standard error of the difference of one episode. Unreadable runs are left out.
    """
    scored = []
    for path in runs:
        try:
            run = RunFolder.read(path)
            if str(run.config["identity"]["dataset"]) != split:
                continue
            scores = {
                name: row[success] for name, row in run.scores() if success in row
            }
            scored.append((path.name, scores, configs.clusters_of(run.config)))
        except (RecordingError, DataError, KeyError):
            continue  # a damaged run says nothing
    pairs = []
    for (one, first, clusters), (two, second, _) in combinations(scored, 2):
        shared = [name for name in first if name in second]
        before = np.array([first[name] for name in shared])
        after = np.array([second[name] for name in shared])
        if len(shared) < 10 or not (before != after).any():
            continue
        owners = [clusters.of(name) for name in shared]
        (found,) = estimates((after - before)[:, None], [(-1.0, 1.0)], owners)
        # From half the 95% interval of the mean to the standard error of one episode.
        error = found.interval().half / 1.96 * math.sqrt(len(shared))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = float(np.corrcoef(before, after)[0, 1])
        pairs.append(RunPairVariance((one, two), len(shared), correlation, error))
    return pairs


def report(on: str, difference: float, runs: Sequence[Path], data: Path | None) -> str:
    """Return the episodes that a difference (in points of the success metric) needs.

    ``on`` is the split; empty for that of the runs. Raises ``UsageError`` for a difference that is
    not above 0 and below 100, and for a run on another split.
    """
    if not 0 < difference < 100:
        raise UsageError(
            f"--difference must be between 0 and 100 points, got {difference:g}"
        )
    named = {
        path: str(RunFolder.read(path).config["identity"]["dataset"])
        for path in runs
        if is_run(path)
    }
    splits = sorted(set(named.values()))
    if not on and len(splits) > 1:
        raise UsageError(
            f"the runs are on {' and '.join(splits)}; name those of one split"
        )
    plan = Plan("power", on or "".join(splits) or "houses", data=data)
    dataset = open_dataset(plan)
    split = split_name(plan, dataset)
    # A folder of runs may have some of other splits; a run that is named is meant.
    for path, other in named.items():
        if other != split:
            raise UsageError(
                f"{path} is on {other}, not on {split}; leave out the run, or --on"
            )
    success = dataset.family.success
    size = len(dataset.tasks)
    folders = [path for path in runs if is_run(path)]
    for path in runs:
        if path.is_dir() and not is_run(path):
            folders += sorted(each.parent for each in path.glob(f"*/{configs.NAME}"))
    pairs = pairs_of(folders, split, success)
    head = f"{split}, {success.upper()}: {size:,} episodes"
    lines = [f"{head}; p < 0.05 in 80% of comparisons"]
    for pair in pairs:
        name = f"{pair.names[0]} and {pair.names[1]} ({pair.shared} shared episodes)"
        lines.append(_line(name, pair.correlation, pair.unit_error, difference, size))
    # Without runs, a range of correlations shows how much depends on it.
    if not pairs:
        where = join_words([short_path(path) for path in runs])
        lines.append(
            f"no two runs on this split in {where} (to name others: wayword power RUNS); for "
            "agents with success of 50%:"
        )
        for correlation in ASSUMED:
            error = assumed_error(correlation)
            lines.append(_line("assumed", correlation, error, difference, size))
    return "\n".join(lines)


def _line(name: str, correlation: float, error: float, points: float, size: int) -> str:
    """Return a line of the table: the gain that a number of episodes can show."""
    needed = episodes_for(points / 100, error)
    enough = "" if needed <= size else ", more than the split has"
    related = f"correlation {correlation:.2f}"
    if math.isnan(correlation):
        related = "no correlation, as a run solved all or none of them"
    least = 100 * shown_by(size, error)
    shown = f"{least:.1f} points" if least < 100 else "only very large differences"
    return (
        f"{name}: {related}; {points:g} points need {needed:,} episodes"
        f"{enough}; the whole split shows {shown}"
    )

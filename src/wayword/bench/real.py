"""Published data next to the ladders: a sample of a dataset for a track, in a block of its own.

A version names for some tracks a published dataset and its splits in order of preference. The first
split whose files are on this machine is played, and the row says which ones are missing. Episodes
are drawn one by one over the whole split, not as whole scenes: 200 of Room-to-Room's val-unseen
split would be a single house, without an interval. Intervals are clustered: episodes of the same
path, trajectory or scene are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wayword.bench.checksums import checksums
from wayword.bench.outcomes import effort, results, triple
from wayword.core import registry
from wayword.core.dataset import INDEPENDENT, Clusters
from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.visible import plural
from wayword.metrics.intervals import RATE, mean_intervals, rate_interval
from wayword.runs.machine import data_folder
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import is_run
from wayword.runs.selection import choose
from wayword.settings import make

REAL = "real"
"""The folder of runs on published data, ``real/DATASET-SPLIT``."""
ROW_HEAD = ("dataset", "named", "missing")
"""The fields of a row that do not come from its run."""


@dataclass(frozen=True)
class RealSet:
    """A published dataset next to a ``track``.

    ``splits`` in order of preference. ``success`` is the score that means success, from
    ``at_least`` on, and ``metric`` another one that the dataset reports. ``checksums``:
    split -> those of the first and the last episode of the sample.
    """

    name: str
    track: str
    splits: tuple[str, ...]
    success: str
    metric: str
    at_least: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    checksums: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def clusters(self) -> Clusters:
        """The dependence between the dataset's episodes."""
        stated: Clusters | None = registry.load("dataset", self.name).clusters
        return stated or INDEPENDENT

    def cluster_of(self, episode: str) -> str:
        """Return the cluster of an episode, by its id."""
        return self.clusters.of(episode)


def sample_folder(folder: Path, on: str) -> Path:
    """Return the folder of the run on a split, such as ``r2r:val_seen``."""
    return folder / REAL / on.replace(":", "-")


def find(
    real: RealSet,
    plan: Plan,
    folder: Path,
    complete: bool,
) -> tuple[dict[str, Any], Plan | None]:
    """Return the head of a set's row, and the plan on the first split that is on this machine.

    None for the plan if there is none. ``complete``: the plan plays the last episode of
    the sample as well. Raises ``UsageError`` for a wrong setting, and where the files
    hold other episodes than the version's.
    """
    head = {"dataset": "", "named": f"{real.name}:{real.splits[0]}"}
    # A card says what is missing, so that the reader can fetch it.
    missing = list[str]()
    for split in real.splits:
        on = f"{real.name}:{split}"
        there = replace(plan, on=on, out=sample_folder(folder, on))
        if reason := absence(there, complete):
            missing.append(reason)
            continue
        # Other files would give numbers that compare with nothing.
        drawn = sample_checksums(there, complete)
        if (known := list(real.checksums.get(split, drawn))[: len(drawn)]) != drawn:
            raise UsageError(
                f"{on}: these files hold other episodes ({', '.join(drawn)}) than the bench has "
                f"({', '.join(known)}); use the published files, or remove --real"
            )
        return {**head, "dataset": on, "missing": missing}, there
    return {**head, "missing": list(dict.fromkeys(missing))}, None


def sample_checksums(plan: Plan, complete: bool) -> list[str]:
    """Return the checksums of the first episode of a sample.

    Of a ``complete`` one, also of the last. Raises ``DataError`` for missing files.
    """
    dataset = open_dataset(plan)
    # Two episodes are enough to notice another order or another file.
    numbers = choose(plan, dataset.tasks)
    return checksums(
        dataset,
        [dataset.tasks[n] for n in (numbers[0], numbers[-1])[: 1 + complete]],
    )


def absence(plan: Plan, complete: bool = False) -> str:
    """Return the problem with a split's files on this machine; empty if there is none.

    It leaves out the path of the data folder, as cards are published. Raises
    ``UsageError`` for a wrong setting.
    """
    cls = registry.load("dataset", plan.dataset_name)
    # A wrong setting is no missing file.
    make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    if (folder := data_folder(plan.data)) is None:
        return "no data folder (--data or WAYWORD_DATA)"
    try:
        sample_checksums(plan, complete)
    except DataError as error:
        return str(error).partition("; ")[0].replace(f"{folder}/", "")
    return ""


def real_rows(
    folder: Path,
    sets: Sequence[RealSet],
    heads: Sequence[JsonObject],
    size: int,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a card: success with its interval over clusters, and the effort.

    ``sample`` is the ``size`` of the version's sample, ``episodes`` those that were tried:
    0 if the split is missing, or no episode was played yet. ``heads`` are those of :func:`find`.
    Raises ``UsageError`` for a dataset that the version does not have.
    """
    by_name = {each.name: each for each in sets}
    for head in heads:
        # The split that is played, or the preferred one if none is on this machine.
        split_name = head["dataset"] or head["named"]
        # ``r2r:val_seen`` names the set ``r2r``.
        real = by_name.get(split_name.partition(":")[0])
        if real is None:
            raise UsageError(
                f"{folder}: {split_name!r} is none of this bench's published data "
                f"({', '.join(by_name)}); play the bench again"
            )
        played: Sequence[tuple[str, bool, Mapping[str, float]]] = ()
        path = sample_folder(folder, split_name)
        if head["dataset"] and is_run(path):
            played = list(results(path, real))
        yield {**head, "sample": size, **_numbers(real, played)}


def _numbers(
    real: RealSet,
    played: Sequence[tuple[str, bool, Mapping[str, float]]],
) -> JsonObject:
    """Return the numbers of a row: success, the dataset's other metric, and the effort."""
    if not played:
        return {"episodes": 0}
    # Dependent episodes are one unit of the interval.
    clusters = [real.cluster_of(name) for name, *_ in played]
    won = np.array([won for _, won, _ in played], dtype=float)
    values = np.array([[scores.get(real.metric, 0.0)] for *_, scores in played])
    return {
        "episodes": len(played),
        "clusters": len(set(clusters)),
        "unit": plural(real.clusters.unit),
        "solved": int(won.sum()),
        "success": triple(rate_interval(won, clusters)),
        "metric": real.metric,
        "value": triple(mean_intervals(values, [RATE], clusters)[0]),
        **effort([scores for *_, scores in played]),
    }

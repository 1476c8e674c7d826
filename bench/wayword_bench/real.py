"""Published data next to the ladders: a sample of a dataset for a track, in a block of its own.

A version names for some tracks a published dataset and its splits in order of preference. The first
split whose files are on this machine is played, and the row says which ones are missing. Episodes
are drawn one by one over the whole split, not as whole scenes: 200 of Room-to-Room's val-unseen
split would be a single house, without an interval. Intervals are clustered: episodes of the same
path, trajectory or scene are not independent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.errors import DataError, UsageError
from wayword.metrics.intervals import bootstrap, rate_interval
from wayword.runs.active import choose
from wayword.runs.plan import Plan, data_folder, open_dataset
from wayword.runs.record import is_run
from wayword_bench.checksums import checksums
from wayword_bench.outcomes import effort, results, triple

REAL = "real"
"""The folder of runs on published data, ``real/DATASET-SPLIT``."""
ROW_HEAD = ("dataset", "named", "missing")
"""The fields of a row that do not come from its run."""


@dataclass(frozen=True, slots=True)
class RealSet:
    """A published dataset next to a ``track``. ``success`` is the score that means success,
    ``metric`` another one that the dataset reports, and the group of the pattern ``cluster`` is the
    part of an episode's id that names its ``unit`` (a plural)."""

    name: str
    track: str
    splits: tuple[str, ...]
    success: str
    metric: str
    cluster: str = "(.+)"
    unit: str = "episodes"
    at_least: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    checksums: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def cluster_of(self, episode: str) -> str:
        match = re.fullmatch(self.cluster, episode)
        return match[1] if match else episode


def find(
    real: RealSet, plan: Plan, folder: Path, whole: bool
) -> tuple[dict[str, Any], Plan | None]:
    """The head of a set's row, and the plan on the first split that is on this machine, None if
    none is; ``whole`` if the plan plays the last episode of the sample. Raises ``UsageError`` where
    the files hold other episodes than the version's."""
    head = {"dataset": "", "named": f"{real.name}:{real.splits[0]}"}
    missing = list[str]()
    for split in real.splits:
        on, out = f"{real.name}:{split}", folder / REAL / f"{real.name}-{split}"
        there = replace(plan, on=on, out=out)
        try:
            drawn = sample_checksums(there, whole)
        except (DataError, UsageError) as error:
            missing.append(_reason(error, plan.data))
            continue
        if (known := list(real.checksums.get(split, drawn))[: len(drawn)]) != drawn:
            raise UsageError(
                f"{on}: these files hold other episodes ({', '.join(drawn)}) than the bench has "
                f"({', '.join(known)}); use the published files, or remove --real"
            )
        return {**head, "dataset": on, "missing": missing}, there
    return {**head, "missing": list(dict.fromkeys(missing))}, None


def sample_checksums(plan: Plan, whole: bool) -> list[str]:
    """The checksums of the first episode of a sample and, of a ``whole`` one, of the last."""
    dataset = open_dataset(plan)
    numbers = choose(plan, dataset.tasks)
    return checksums(dataset, [dataset.tasks[n] for n in (numbers[0], numbers[-1])[: 1 + whole]])


def _reason(error: Exception, data: Path | None) -> str:
    """The problem with a file, without the path of this machine's data folder."""
    text = str(error).partition("; ")[0]
    folder = data_folder(data)
    return text if folder is None else text.replace(f"{folder}/", "")


def real_rows(
    folder: Path, sets: Sequence[RealSet], heads: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The rows of a card: success with its interval over clusters, the dataset's other metric, and
    the effort. ``episodes`` is 0 where no split is there, or none was played yet."""
    for head in heads:
        name, _, split = (head["dataset"] or head["named"]).partition(":")
        real = next(each for each in sets if each.name == name)
        path = folder / REAL / f"{name}-{split}"
        played = list(results(path, real)) if head["dataset"] and is_run(path) else []
        yield {**head, **_numbers(real, played)}


def _numbers(
    real: RealSet, played: Sequence[tuple[str, bool, Mapping[str, float]]]
) -> dict[str, Any]:
    if not played:
        return {"episodes": 0}
    clusters = [real.cluster_of(name) for name, *_ in played]
    won = np.array([won for _, won, _ in played], dtype=float)
    values = np.array([[scores.get(real.metric, 0.0)] for *_, scores in played])
    return {
        "episodes": len(played),
        "clusters": len(set(clusters)),
        "unit": real.unit,
        "solved": int(won.sum()),
        "success": triple(rate_interval(won, clusters)),
        "metric": real.metric,
        "value": triple(bootstrap(values, clusters)[0]),
        **effort([scores for *_, scores in played]),
    }


def is_foreign(plan: Plan, real: RealSet, ids: set[str], identity: Mapping[str, Any]) -> bool:
    """True if a recorded run is not one of the version's sample."""
    dataset = open_dataset(plan)
    drawn = {dataset.tasks[n].episode.id for n in choose(plan, dataset.tasks)}
    settings = {key: identity["dataset_settings"].get(key) for key in real.settings}
    expected = (plan.agent, plan.on, plan.shuffle, dataset.max_steps, dict(real.settings))
    found = tuple(identity[key] for key in ("agent", "dataset", "shuffle", "max_steps"))
    return (*found, settings) != expected or not ids <= drawn

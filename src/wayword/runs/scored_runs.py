"""Runs with their scores, as the rows of tables and the sides of comparisons."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wayword.core.dataset import INDEPENDENT, Clusters, Task, of_ids
from wayword.core.episode import JsonObject
from wayword.core.errors import RecordingError, UsageError, suggest
from wayword.core.files import reading, short_path
from wayword.core.metric import Metric, bounds
from wayword.core.visible import join_words, single_line
from wayword.metrics import accounting
from wayword.metrics.summary import Row, Scores, marks, summarize
from wayword.runs import config as configs
from wayword.runs.active import CHOSEN
from wayword.runs.identity import cast_of
from wayword.runs.index import EPISODES
from wayword.runs.opening import dataset_of
from wayword.runs.predicted import CAVEAT
from wayword.runs.record import RecordedRun, RunFolder, is_run
from wayword.runs.remote import url_of

T = TypeVar("T")


@dataclass(frozen=True)
class ScoredRun:
    """A run, or a part of it: the scores of finished episodes, and the ids of failed ones.

    ``of`` is the number of episodes in its split, ``owners`` maps ids to clusters,
    whose episodes share a ``unit`` and are not independent of each other. ``name`` is
    the row's; ``part`` is its last words if it is a part (``--by``).
    """

    run: RecordedRun
    config: Mapping[str, Any]
    scored: Scores
    failed: Sequence[str]
    of: int
    name: str
    unit: str
    owners: Mapping[str, Hashable]
    part: str = ""


SEEDS = ("seed", "detector_seed")
"""Fields in which pooled runs may differ: the seeds of runs and of simulated detectors."""


def ignore(text: str) -> None:
    """Take a notice, for callers that show none."""


def seed_groups(
    runs: Sequence[ScoredRun],
    notice: Callable[[str], None] = ignore,
) -> list[list[ScoredRun]]:
    """Group runs that differ only in their seeds, in order.

    Parts of runs (``--by``) are grouped with the same part of the others. A copy of a run is left
    out. Runs of one seed say nothing about other seeds: a group in which a seed repeats is not
    pooled, and its runs are groups of one. ``notice`` gets a line about each of these.
    """
    alike: dict[str, list[ScoredRun]] = {}
    for each in runs:
        alike.setdefault(_but_for_seeds(each), []).append(each)
    groups: list[list[ScoredRun]] = []
    # The parts of a run would repeat its notices.
    notes: dict[str, None] = {}
    for members in alike.values():
        distinct: list[ScoredRun] = []
        for each in members:
            original = next((run for run in distinct if _is_copy(each, run)), None)
            if original is None:
                distinct.append(each)
                continue
            path = short_path(each.run.path)
            copied = f"has the settings and records of {short_path(original.run.path)}"
            notes[f"{path}: left out, because it {copied}"] = None
        by_seed: dict[str, list[ScoredRun]] = {}
        for each in distinct:
            by_seed.setdefault(_seeds_of(each), []).append(each)
        repeated = [seed for seed, alone in by_seed.items() if len(alone) > 1]
        names = _named(distinct)
        if repeated:
            counts = [f"{len(by_seed[seed])} runs of {seed}" for seed in repeated]
            remedy = "give one run of each seed"
            notes[f"{names}: not pooled, {join_words(counts)}; {remedy}"] = None
            groups += [[each] for each in distinct]
            continue
        if len(distinct) > 1:
            seeds = join_words(list(by_seed))
            notes[f"{names}: pooled, they differ only in {seeds}"] = None
        groups.append(distinct)
    for note in notes:
        notice(note)
    return groups


def _but_for_seeds(run: ScoredRun) -> str:
    """Return the identity of a run without its seeds, and its part."""
    identity = {k: v for k, v in run.config["identity"].items() if k not in SEEDS}
    settings = identity["settings"]
    identity["settings"] = {k: v for k, v in settings.items() if k not in SEEDS}
    return json.dumps([identity, run.part], sort_keys=True, default=str)


def _seeds_of(run: ScoredRun) -> str:
    """Return the seeds of a run as text: ``seed 0``, or ``seed 0 with detector_seed 2``."""
    identity = run.config["identity"]
    seeds = []
    for tree in (identity, identity["settings"]):
        seeds += [f"{key} {tree[key]}" for key in SEEDS if key in tree]
    return " with ".join(seeds) or "the same seed"


def _is_copy(run: ScoredRun, other: ScoredRun) -> bool:
    """True for runs with the same seeds and the same scores, times included, of the same episodes.

    They are known to differ in nothing but their seeds.
    """
    mine = run.scored
    theirs = other.scored
    if _seeds_of(run) != _seeds_of(other) or run.failed != other.failed:
        return False
    if (
        list(mine.ids) != list(theirs.ids)
        or mine.columns.keys() != theirs.columns.keys()
    ):
        return False
    return all(
        np.array_equal(column, theirs.columns[key], equal_nan=True)
        for key, column in mine.columns.items()
    )


MOST_NAMED = 4
"""Runs that a notice names; of more, it names the first and counts the others."""


def _named(runs: Sequence[ScoredRun]) -> str:
    """Return the folders of runs as text."""
    paths = [short_path(each.run.path) for each in runs]
    if len(paths) > MOST_NAMED:
        return f"{paths[0]} and {len(paths) - 1} more"
    return join_words(paths)


def groups_at(
    paths: Sequence[Path],
    cluster: str,
    data: Path | None,
    notice: Callable[[str], None] = ignore,
) -> list[list[ScoredRun]]:
    """Read the runs at these paths, and group them as :func:`seed_groups` does."""
    runs = [scored_run(RunFolder.read(p), cluster, data) for p in run_folders(paths)]
    return seed_groups(runs, notice)


def pooled_scores(
    runs: Sequence[ScoredRun],
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield id and scores of each episode, each score averaged over the runs that have it."""
    values: dict[str, dict[str, list[float]]] = {}
    for each in runs:
        for name, scores in each.scored.pairs():
            by_key = values.setdefault(name, {})
            for key, value in scores.items():
                by_key.setdefault(key, []).append(value)
    for name, by_key in values.items():
        yield name, {key: sum(all_) / len(all_) for key, all_ in by_key.items()}


def pooled(runs: Sequence[RecordedRun]) -> Row:
    """Return the row of several runs that differ in their seeds, with the episodes of all."""
    return row_of([scored_run(run) for run in runs])


def named_unit(unit: str) -> str:
    """Return what dependent episodes share, as tables name it; empty for independent ones."""
    if unit == INDEPENDENT.unit:
        return ""
    return unit


def run_folders(paths: Sequence[Path | str]) -> list[Path]:
    """Return the run folders at these paths; other folders are expanded to the runs inside.

    Paths that do not exist and addresses of stores are kept: opening them gives the
    error. Raises ``RecordingError`` for a folder without runs.
    """
    folders: list[Path] = []
    for path in map(Path, paths):
        if url_of(path) or is_run(path) or not path.is_dir():
            folders.append(path)
            continue
        inside = sorted(p.parent for p in path.glob(f"*/{configs.NAME}"))
        if not inside:
            raise RecordingError(f"{path}: not a run folder, and contains none")
        folders += inside
    # Overlapping folders name a run twice, which is no second seed of it.
    return list({os.path.abspath(folder): folder for folder in folders}.values())


def scored_run(
    run: RecordedRun,
    cluster: str = "",
    data: Path | None = None,
) -> ScoredRun:
    """Return a run with its scores, ordered by episode.

    ``cluster`` names the unit whose episodes depend on each other; empty for the run's
    own. Raises ``RecordingError`` for impossible scores, such as a rate above 1, and
    for more episodes than the split has: the files were edited, or are of several runs.
    """
    run.require("family")
    with reading(str(run.path / configs.NAME), "give another folder"):
        config = run.config
        index = run.index
        metrics = (*configs.metrics_of(config), *accounting.METRICS)
        kinds = {metric.key: metric.kind for metric in metrics}
        for key in index.keys:
            values = index.column(key)
            low, high = bounds(kinds.get(key, ""))
            wrong = (values < low) | (values > high) | index.not_a_number(key)
            if wrong.any():
                at = int(wrong.argmax())
                raise RecordingError(
                    f"{run.path / EPISODES}: episode {index.ids()[at]!r}: {key!r} cannot be "
                    f"{float(values[at])!r}; `wayword verify` lists all episodes with wrong scores"
                )
        # An episode that failed and was finished later counts once, as finished.
        scored = index.scores()
        of = config.get("episodes_in_split") or len(index)
        failed = {failure.episode_id for failure in run.failures()}
        failed -= set(scored.ids)
        if len(scored) > of:
            problem = f"has {len(scored):,} episodes, but the split only {of:,}"
            raise RecordingError(
                f"{run.path / EPISODES}: {problem}; give the folder of one run"
            )
        unit, owners = run_owners(run, [*scored.ids, *failed], cluster, data)
        return ScoredRun(
            run,
            config,
            scored,
            failed=sorted(failed),
            of=of,
            name=name_of(run),
            unit=unit,
            owners=owners,
        )


def name_of(run: RecordedRun) -> str:
    """Return the name of a run: its label or its folder's name, or ``navgpt (seed=0)`` for
    ``seed=0`` of a sweep, whose folders name neither agent nor sweep. Tables have columns for
    datasets and models."""
    if label := single_line(str(run.config["label"])):
        return label
    folder = run.path.name
    choices = folder.split(",")
    # A key before the sign: "=run" is a name of a user's.
    if not all(choice.find("=") > 0 for choice in choices):
        return folder
    shown = [each for each in choices if not each.startswith(("on=", "model="))]
    agent = cast_of(run.config["identity"])
    return f"{agent} ({','.join(shown)})" if shown else agent


def row_of(runs: Sequence[ScoredRun]) -> Row:
    """Return the row of a run, or of several runs that differ in their seeds, pooled.

    A row of several runs is named after their agent, and has no wall time.
    Configuration, split and family are those of the first run.
    """
    first = runs[0]
    with reading(str(first.run.path / configs.NAME), "give another folder"):
        config = first.config
        identity = first.config["identity"]
        family = first.config["family"]
        agent = cast_of(identity)

        # The finished episodes of all runs, then the failed ones, and their clusters.
        names = list(chain.from_iterable(each.scored.ids for each in runs))
        failed = list(chain.from_iterable(each.failed for each in runs))
        scored = first.scored
        pooled = len(runs) > 1
        if pooled:
            pairs = chain.from_iterable(each.scored.pairs() for each in runs)
            scored = Scores.of([scores for _, scores in pairs], names)
        owner_of = merged_owners(runs)
        owners = [owner_of.get(name, name) for name in (*names, *failed)]

        name = first.name
        if pooled:
            name = ", ".join(filter(None, (f"{agent} ({len(runs)} seeds)", first.part)))
        played = frozenset(chain(names, failed))
        sample = _sample(first, len(played))
        if first.part:
            played = frozenset()  # parts of a run have other episodes by intent
        row = summarize(
            name,
            scored,
            family=family,
            metrics=configs.metrics_of(config),
            success=configs.success_of(config),
            of=first.of,
            failed=len(failed),
            clusters=owners,
            episodes=(*names, *failed) if pooled else (),
            wall_seconds=None if pooled else _wall_seconds(first),
            agent=agent,
            model=identity["models"].get("main", ""),
            dataset=config.get("split") or identity["dataset"],
            checksum=identity["data_checksum"],
            version=identity.get("dataset_checksum", ""),
            sees_answer=bool(config.get("sees_answer")),
            clustered=named_unit(first.unit),
            caveats=(*configs.caveats_of(config), *SAMPLES[sample], *marks(scored)),
            runs=len(runs),
            distinct=len(set(names)),
            played=played,
            sample=sample,
            settings=_settings(identity, pooled=pooled),
            stated=frozenset(config["stated"]),
        )
        if first.part:
            return row
        # Bills are of full runs. Shown are one that exceeds the cost of finished episodes by more
        # than rounding (0.0001), and what of it is assumed, where answers were lost.
        totals = dict(row.totals)
        dollars = sum(each.run.dollars for each in runs)
        if dollars > (totals.get("cost") or 0.0) + 0.0001:
            totals["billed"] = dollars
        assumed = sum(each.run.assumed_dollars for each in runs)
        if assumed > 0.0:
            totals["assumed"] = assumed
        return replace(row, totals=totals)


def _wall_seconds(scored: ScoredRun) -> float | None:
    """Return the seconds of a run's sessions; None for a part of a run, and if one is missing."""
    logged = scored.run.sessions
    # A killed session is not logged: the others finished fewer episodes than there are.
    finished = sum(each.finished for each in logged)
    if not logged or scored.part or finished < len(scored.scored):
        return None
    return sum(each.seconds for each in logged)


def merged_owners(runs: Sequence[ScoredRun]) -> dict[str, Hashable]:
    """Return the cluster of each episode of several runs."""
    owners: dict[str, Hashable] = {}
    for each in runs:
        owners |= each.owners
    return owners


SAMPLES: Mapping[str, tuple[str, ...]] = {
    "": (),
    "random": ("a random sample of the split",),
    "first": ("the first episodes of the split, which are no random sample",),
    "file": ("the episodes that the file of predictions has",),
}
"""Caveats of a row by how its part of the split was chosen."""


def _sample(run: ScoredRun, played: int) -> str:
    """Return how the played part of a split was chosen: ``random``, ``first`` or by a ``file``.

    Empty for all of it, for named episodes and for a part by ``--by``: these need no
    caveat.
    """
    is_sample = played < run.of and not run.part
    if not is_sample or CHOSEN in run.config["caveats"]:
        return ""
    if CAVEAT in run.config["caveats"]:
        return "file"
    if run.config["identity"].get("shuffle") is None:
        return "first"
    return "random"


def _settings(identity: JsonObject, pooled: bool) -> dict[str, str]:
    """Return all settings of a run by their names in ``--set``; ``pooled`` runs without seeds."""
    settings = dict(identity["settings"])
    groups = {f"actors.{k}": v["settings"] for k, v in identity["actors"].items()}
    groups["dataset"] = identity["dataset_settings"]
    for group, tree in groups.items():
        settings |= {f"{group}.{key}": value for key, value in tree.items()}
    for key in ("seed", "max_steps", "shuffle", "shard", "remember"):
        if identity.get(key) not in (None, ""):
            settings[key] = identity[key]
    return {k: str(v) for k, v in settings.items() if not (pooled and k in SEEDS)}


def run_owners(
    run: RecordedRun,
    names: Sequence[str],
    cluster: str,
    data: Path | None,
) -> tuple[str, dict[str, Hashable]]:
    """Return what dependent episodes of a run share, and the cluster of each id.

    As :func:`owners_of`; the dataset's files are opened only if the ids do not say it.
    """
    clusters = configs.clusters_of(run.config)

    def tasks() -> Mapping[str, Task]:
        """Return the tasks by id, from the dataset's files."""
        return of_ids(dataset_of(run, data).tasks, names)

    return owners_of(clusters, names, cluster, tasks)


def owners_of(
    stated: Clusters,
    names: Sequence[str],
    cluster: str,
    tasks: Callable[[], Mapping[str, Task]],
) -> tuple[str, dict[str, Hashable]]:
    """Return what dependent episodes share, and the cluster of each id in ``names``.

    By the ``cluster`` of a user, or as a dataset has ``stated``. ``tasks`` are read
    only if ids do not name their cluster. Raises ``UsageError`` for an unknown
    ``cluster``.
    """
    if cluster not in ("", "episode", "scene", stated.unit):
        options = list(dict.fromkeys(["episode", stated.unit, "scene"]))
        raise UsageError(f"--cluster {cluster}: {suggest(cluster, options)}")
    if cluster == "episode":
        stated = INDEPENDENT
    if cluster == "scene" != stated.unit:
        return cluster, {name: each.episode.scene for name, each in tasks().items()}
    if stated.field:
        return stated.unit, {name: stated.of_task(t) for name, t in tasks().items()}
    return stated.unit, {name: stated.of(name) for name in names}


def only(
    scores: Mapping[str, Mapping[str, T]],
    keys: Sequence[str],
    metrics: Sequence[Metric],
) -> dict[str, dict[str, T]]:
    """Select metrics by key or column head; all of them if ``keys`` is empty.

    ``scores`` maps names to values by metric key. Raises ``UsageError`` for a metric
    that none has.
    """
    available = list(dict.fromkeys(chain.from_iterable(scores.values())))
    heads = {metric.label.lower(): metric.key for metric in reversed(metrics)}
    # A metric may be named by its key or by the head of its column.
    selected = set()
    for name in keys:
        key = name
        if name not in available:
            key = heads.get(name.lower(), name)
        if key not in available:
            raise UsageError(
                f"no metric {name!r} in these runs; {suggest(name, available)}"
            )
        selected.add(key)
    if not keys:
        selected = set(available)
    chosen = {}
    for name, values in scores.items():
        chosen[name] = {key: value for key, value in values.items() if key in selected}
    return chosen


# Width of a table that hides no column.
WIDE = 10_000
# Width if stdout is not a terminal, so that files do not depend on a window.
_FILE_WIDTH = 100


def width_of(wide: bool = False) -> int:
    """Return the columns of a table: ``$COLUMNS``, else those of the terminal, if stdout is one."""
    if wide:
        return WIDE
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size((_FILE_WIDTH, 40)).columns
    return _FILE_WIDTH

"""Tables and comparisons of run folders and prediction files."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeVar

from wayword.core.dataset import INDEPENDENT, Clusters, Dataset, Task, of_ids
from wayword.core.episode import JsonObject, PathReference
from wayword.core.errors import DataError, RecordingError, UsageError, suggest
from wayword.core.files import reading, short_path
from wayword.core.metric import Metric
from wayword.metrics import accounting, predictions
from wayword.metrics import compare as comparing
from wayword.metrics import table as tables
from wayword.metrics.papers import paper_table, preset_metrics
from wayword.metrics.scoring import scorer
from wayword.metrics.summary import Row, Scores, marks, summarize
from wayword.runs import config as configs
from wayword.runs.active import CHOSEN
from wayword.runs.identity import cast_of, shown_split
from wayword.runs.index import EPISODES
from wayword.runs.opening import Trusted, dataset_of, open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RecordedRun, RunFolder, is_run
from wayword.runs.remote import url_of

T = TypeVar("T")


@dataclass(frozen=True)
class Report:
    """Text for stdout, and notices for the user."""

    text: str
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class _ScoredRun:
    """A run, or a part of it: the scores of finished episodes, and the ids of failed ones.

    ``of`` is the number of episodes in its split, ``owners`` maps ids to clusters,
    whose episodes share a ``unit`` and are not independent of each other. ``name`` is
    the row's.
    """

    run: RecordedRun
    config: Mapping[str, Any]
    scored: Scores
    failed: Sequence[str]
    of: int
    name: str
    unit: str
    owners: Mapping[str, Hashable]


def table(
    runs: Sequence[Path | str] | Path | str,
    form: str = "rich",
    keys: Sequence[str] = (),
    together: bool = False,
    pool: bool = False,
    on_damaged: Callable[[str], None] | None = None,
    by: str = "",
    data: Path | None = None,
    wide: bool = False,
    trusted: Trusted = (),
    cluster: str = "",
    preset: str = "",
    published: Callable[[Sequence[Row]], Sequence[Row]] | None = None,
) -> str:
    """Return a table with a row per run, one table per family of worlds or one (``together``).

    ``form`` is ``rich``, ``json``, ``csv``, ``markdown`` or ``latex``; ``keys`` select
    metrics by key or column head; ``wide`` hides no column.

    ``pool`` merges the rows of runs that differ only in their seeds; ``by`` splits them
    by ``scene`` or reference ``length``, for which ``data`` and ``trusted`` open the
    dataset. ``cluster`` is what dependent episodes share, by default what their dataset
    says. ``preset`` selects the metrics of a benchmark's papers; in LaTeX it makes a
    whole ``table`` (:mod:`wayword.metrics.papers`). ``published`` returns rows of a
    paper to add below the runs (:func:`wayword.runs.reproduce.published_rows`).

    A run that cannot be read is left out and reported to ``on_damaged``; without that
    function, or if no run can be read, its error is raised (``RecordingError`` or
    ``DataError``). Raises ``UsageError`` for options that contradict each other.
    """
    if preset and keys:
        raise UsageError("--preset and --metrics both select columns; give one")
    if preset and form != "latex":
        keys = preset_metrics(preset)
    if isinstance(runs, Path | str):
        runs = [runs]
    readable: list[_ScoredRun] = []
    errors: list[RecordingError | DataError] = []
    for path in run_folders(runs):
        try:
            run = RunFolder.read(path)
            run.require("family", "dataset", "models", "data_checksum")
            readable.append(_scored_run(run, cluster, data))
        except (RecordingError, DataError) as error:
            errors.append(error)
    if errors and (on_damaged is None or not readable):
        raise errors[0]
    for each in errors:
        if on_damaged:
            on_damaged(f"left out: {each}")
    # A row is a run, a part of one, or several runs that differ only in their seeds.
    if by:
        parts = [_parts(each, by, data, trusted) for each in readable]
        readable = list(chain.from_iterable(parts))
    groups = [[each] for each in readable]
    if pool:
        groups = _seed_groups(readable)
    rows = [_row(group) for group in groups]

    if form == "latex":
        scored = [dict(_pooled_scores(group)) for group in groups]
        rows = comparing.mark_best(rows, scored, _owners(readable))
    theirs = published(rows) if published else []
    if form == "latex" and preset:
        return paper_table(rows, preset, theirs)
    rows = [*rows, *theirs]
    if keys:
        values = {str(number): row.values for number, row in enumerate(rows)}
        selected = _only(values, keys, tables.metrics_of(rows)).values()
        rows = [
            replace(row, values=each) for row, each in zip(rows, selected, strict=True)
        ]
    return _table(rows, form, together, wide)


def tables_of(runs: Sequence[Path], forms: Sequence[str]) -> dict[str, str]:
    """Return the table in several formats, by format. Raises ``RecordingError`` or
    ``DataError``.
    """
    rows = rows_of(runs)
    return {form: _table(rows, form) for form in forms}


def _table(
    rows: Sequence[Row],
    form: str,
    together: bool = False,
    wide: bool = False,
) -> str:
    """Return the table of rows in a format.

    Families have tables of their own unless ``together``; JSON and CSV are always one.
    """
    width = _width(wide)
    families = dict.fromkeys(row.family for row in rows)
    if form in ("json", "csv"):
        return tables.render(rows, form, width)
    if together:
        text = tables.render(rows, form, width)
        if len(families) > 1:
            text += (
                "SR and other metrics are defined per family: see docs/metrics.md.\n"
            )
        return text
    # One table per family, as a metric such as SR is defined differently in each family.
    texts = []
    for family in families:
        group = [row for row in rows if row.family == family]
        texts.append(tables.render(group, form, width))
    return "\n".join(texts)


SEEDS = ("seed", "detector_seed")
"""Fields in which pooled runs may differ: the seeds of runs and of simulated detectors."""


def _seed_groups(runs: Sequence[_ScoredRun]) -> list[list[_ScoredRun]]:
    """Group runs that differ only in their seeds, in order.

    Parts of runs (``--by``) are grouped with the same part of the others.
    """
    groups: dict[str, list[_ScoredRun]] = {}
    for each in runs:
        identity = {k: v for k, v in each.config["identity"].items() if k not in SEEDS}
        settings = identity["settings"]
        identity["settings"] = {k: v for k, v in settings.items() if k not in SEEDS}
        part = each.name.removeprefix(each.run.path.name)
        key = json.dumps([identity, part], sort_keys=True, default=str)
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _groups_at(
    paths: Sequence[Path],
    cluster: str,
    data: Path | None,
) -> list[list[_ScoredRun]]:
    """Read the runs at these paths, and group those that differ only in their seeds."""
    runs = [_scored_run(RunFolder.read(p), cluster, data) for p in run_folders(paths)]
    return _seed_groups(runs)


def _pooled_scores(
    runs: Sequence[_ScoredRun],
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
    return _row([_scored_run(run) for run in runs])


def rows_of(runs: Sequence[Path]) -> list[Row]:
    """Return the rows of the table, one per run folder, in the given order."""
    return [pooled([RunFolder.read(path)]) for path in runs]


def pooled_rows(
    paths: Sequence[Path],
    cluster: str,
    data: Path | None,
) -> list[Row]:
    """Return the rows of the runs at these paths; those that differ only in their seeds
    share one.
    """
    return [_row(group) for group in _groups_at(paths, cluster, data)]


@dataclass(frozen=True)
class RowsByLength:
    """Rows of runs by range of lengths (``"4 to 6"``), in order, each with the whole run's row.

    ``unit`` is that of the lengths: moves, metres or actions.
    """

    unit: str
    runs: Sequence[tuple[Row, Mapping[str, Row]]]


def rows_by_length(
    paths: Sequence[Path],
    cluster: str = "",
    data: Path | None = None,
    trusted: Trusted = (),
) -> RowsByLength:
    """Return the rows of ``table --by length``; runs that differ only in their seeds are one.

    Raises ``UsageError`` for a split without reference lengths.
    """
    rows = []
    unit = ""
    for group in _groups_at(paths, cluster, data):
        dataset = dataset_of(group[0].run, data, trusted)
        unit = unit or length_unit(dataset.tasks[0])
        parts: dict[str, list[_ScoredRun]] = {}
        for each in group:
            for part in _by_length(each, dataset.tasks, dataset):
                label = part.name.removeprefix(f"{each.name}, length ")
                parts.setdefault(label, []).append(part)
        by_range = {label: _row(part) for label, part in parts.items()}
        rows.append((_row(group), by_range))
    return RowsByLength(unit, rows)


# Number of distinct reference lengths above which ``--by length`` groups them in four ranges.
MAX_LENGTHS = 6


def _parts(
    whole: _ScoredRun,
    by: str,
    data: Path | None,
    trusted: Trusted,
) -> list[_ScoredRun]:
    """Split a run by scene or by the length of the reference. Raises ``UsageError``."""
    if by not in ("scene", "length"):
        raise UsageError(f"--by {by}: choose scene or length")
    dataset = dataset_of(whole.run, data, trusted)
    tasks = dataset.tasks
    if by == "length":
        return _by_length(whole, tasks, dataset)
    return _labeled(whole, {task.episode.id: task.episode.scene for task in tasks})


def by_length(run: RecordedRun, tasks: Sequence[Task]) -> dict[str, Row]:
    """Return a run's row for each range of reference lengths, in order.

    Raises ``UsageError`` if the tasks have no reference path, ``RecordingError`` for a
    damaged run.
    """
    whole = _scored_run(run)
    parts = _by_length(whole, tasks)
    return {part.name.removeprefix(f"{whole.name}, "): _row([part]) for part in parts}


def _labeled(whole: _ScoredRun, labels: Mapping[str, str]) -> list[_ScoredRun]:
    """Split a run by labels of its episodes, sorted by label.

    ``labels`` has those of the whole split, so that each part knows its size. A label
    without a finished episode has no part.
    """
    counts = Counter(labels.values())
    parts = []
    # A part has the finished and the failed episodes with its label.
    for label in dict.fromkeys(labels.values()):
        chosen = [pair for pair in whole.scored.pairs() if labels.get(pair[0]) == label]
        failed = [name for name in whole.failed if labels.get(name) == label]
        if chosen:
            ids, rows = zip(*chosen, strict=True)
            part = replace(
                whole,
                scored=Scores.of(rows, ids),
                failed=failed,
                of=counts[label],
                name=f"{whole.name}, {label}",
            )
            parts.append(part)
    return sorted(parts, key=_by_numbers)


def _by_numbers(part: _ScoredRun) -> list[str | int]:
    """Order of names in which 10 comes after 9."""
    key = list[str | int](re.split(r"(\d+)", part.name))
    # Each second piece is a number.
    key[1::2] = map(int, key[1::2])
    return key


def reference_length(task: Task, dataset: Dataset | None = None) -> int | None:
    """Return the length of a task: the moves of the reference path.

    Else the shortest path in whole metres, else the expert's actions, if a ``dataset``
    with an expert is given; else None. The same length as in ``table --by length`` and
    :attr:`EpisodeRecord.gold_length`.
    """
    if isinstance(task.reference, PathReference):
        return len(task.reference.path) - 1
    metres: float | None = getattr(task.reference, "shortest", None)
    if metres is not None:
        return round(metres)
    if dataset is not None:
        with suppress(UsageError):  # the split has no public answers
            return dataset.expert_length(task)
    return None


def length_unit(task: Task) -> str:
    """Return the unit of :func:`reference_length`: ``moves``, ``metres`` or ``actions``."""
    if isinstance(task.reference, PathReference):
        return "moves"
    if getattr(task.reference, "shortest", None) is not None:
        return "metres"
    return "actions"


def _by_length(
    whole: _ScoredRun,
    tasks: Sequence[Task],
    dataset: Dataset | None = None,
) -> list[_ScoredRun]:
    """Split a run by the length of the reference.

    A part for each length, or for quarters of the split if there are more than
    ``MAX_LENGTHS``: the same ranges for all runs on the split. The expert's lengths,
    which take long, are computed for the run's episodes alone.
    """
    known = {task.episode.id: reference_length(task) for task in tasks}
    if dataset is not None and not any(known.values()):
        # Expert solutions take long to compute: only those of the run's episodes.
        played = of_ids(tasks, {*whole.scored.ids, *whole.failed})
        known = {name: reference_length(task, dataset) for name, task in played.items()}
    lengths = {name: length for name, length in known.items() if length is not None}
    if not lengths:
        on = whole.config["identity"]["dataset"]
        raise UsageError(
            f"--by length: episodes of {on} have no reference path and no expert"
        )
    values = sorted(lengths.values())
    edges = sorted(set(values))
    if len(edges) > MAX_LENGTHS:
        edges = sorted({values[len(values) * part // 4] for part in range(4)})
    labels: dict[str, str] = {}
    # The last edge is above the greatest length, which thus has a range.
    for low, above in pairwise([*edges, values[-1] + 1]):
        if above - 1 <= low:
            name = f"length {low:g}"
        else:
            name = f"length {low:g} to {above - 1:g}"
        for each, value in lengths.items():
            if low <= value < above:
                labels[each] = name
    return _labeled(whole, {each: labels[each] for each in lengths})


@dataclass(frozen=True)
class Compared:
    """A comparison of two runs by episode, and the fields in which their identities differ."""

    comparison: comparing.Comparison
    differ: tuple[str, ...]


def compared(first: Path, second: Path, keys: Sequence[str] = ()) -> Compared:
    """Compare two runs by episode. Raises ``UsageError`` if they have no episode in common."""
    one, two = ([_scored_run(RunFolder.read(path))] for path in (first, second))
    return _compared(one, two, keys, (str(first), str(second)))


def _compared(
    first: Sequence[_ScoredRun],
    second: Sequence[_ScoredRun],
    keys: Sequence[str],
    names: tuple[str, str],
) -> Compared:
    """Compare pooled runs by episode, by their means over seeds.

    ``keys`` are the metrics to compare, by key or column head; all if empty.
    ``names`` are those of the two sides in messages and tables. Raises ``UsageError``
    for runs of different families, or without a shared episode.
    """
    # Runs of one side differ only in seeds, so the first one's config and unit stand for all.
    first_config = first[0].config
    second_config = second[0].config
    family = first_config["family"]
    if second_config["family"] != family:
        families = f"{names[0]} is {family} and {names[1]} is {second_config['family']}"
        raise UsageError(f"{families}; compare runs on the same dataset")
    first_scores = dict(_pooled_scores(first))
    second_scores = dict(_pooled_scores(second))
    for name, scores in zip(names, (first_scores, second_scores), strict=True):
        if not scores:
            raise UsageError(f"{name} has no finished episodes to compare")
    metrics = configs.metrics_of(first_config)
    columns = (*metrics, *accounting.METRICS)
    comparison = comparing.compare(
        names[0],
        _only(first_scores, keys, columns),
        names[1],
        _only(second_scores, keys, columns),
        family=family,
        metrics=metrics,
        clusters=_owners(first),
        unit=first[0].unit,
        primary=configs.success_of(first_config),
    )
    return Compared(comparison, differing_fields(first_config, second_config))


def differing_fields(
    one: JsonObject,
    two: JsonObject,
) -> tuple[str, ...]:
    """Return the fields in which the identities of two runs differ, by their ``run.json``."""
    old = one["identity"]
    new = two["identity"]
    fields = dict.fromkeys((*old, *new))
    return tuple(key for key in fields if old.get(key) != new.get(key))


def compare(
    runs: Sequence[Path],
    form: str = "rich",
    keys: Sequence[str] = (),
    cluster: str = "",
    data: Path | None = None,
) -> Report:
    """Return the table of the first run against each of the others, episode by episode.

    ``cluster`` as in :func:`table`. The runs in a folder are pooled if they differ only
    in their seeds. Raises ``UsageError`` if two runs have no episode in common.
    """
    results, notices = comparisons(runs, keys, cluster, data)
    return Report(comparing.render(results, form, _width()), notices)


def comparisons(
    runs: Sequence[Path],
    keys: Sequence[str] = (),
    cluster: str = "",
    data: Path | None = None,
) -> tuple[list[comparing.Comparison], tuple[str, ...]]:
    """Return the comparisons of :func:`compare`, corrected together, and notices for the user.

    The first run is compared with each of the others; runs of one path that differ only in their
    seeds are one. A notice names the settings in which a pair differs. Raises ``UsageError`` for
    fewer than two runs.
    """
    groups: list[tuple[str, list[_ScoredRun]]] = []
    for path in runs:
        within = _groups_at([path], cluster, data)
        for each in within:
            # A single group is named as the user wrote it, not by one seed.
            folder = each[0].run.path
            if len(within) == 1:
                folder = path
            groups.append((short_path(folder), each))
    if len(groups) < 2:
        raise UsageError(
            f"compare needs at least two runs, got {len(groups)}; name another one"
        )
    (name, first), *others = groups
    results = [_compared(first, each, keys, (name, other)) for other, each in others]
    # Each further comparison adds a chance of a false difference.
    corrected = comparing.corrected([each.comparison for each in results])
    notices = []
    for result, (other, _) in zip(results, others, strict=True):
        subject = f"{other} differs"
        if len(results) == 1:
            subject = "the runs differ"
        if result.differ:
            notices.append(f"{subject} in: {', '.join(result.differ)}")
    return corrected, tuple(notices)


def score(
    file: Path,
    plan: Plan,
    form: str = "rich",
    per_episode: bool = False,
    cluster: str = "",
    wide: bool = False,
) -> Report:
    """Score the predictions of another system.

    ``plan`` names the dataset. ``per_episode`` gives a line of JSON for each episode
    instead of a table; ``cluster`` and ``wide`` as in :func:`table`. Raises
    ``DataError`` for a malformed file.
    """
    dataset = open_dataset(plan)
    predicted = predictions.read(file, dataset)
    scores = predicted.score(dataset)
    names = [task.episode.id for task in predicted.tasks]
    # What the file lacks, and what it asks of the world in vain.
    notices = []
    if predicted.missing:
        notices.append(
            f"{predicted.missing} of {predicted.of} episodes have no prediction"
        )
    if illegal := sum(predicted.illegal_moves):
        notices.append(
            f"{illegal} moves are impossible in the world (metric illegal_moves)"
        )
    if per_episode:
        lines = []
        for name, each in zip(names, scores, strict=True):
            # JSON has no infinity, the error of an unreachable goal
            finite = {
                key: value if abs(value) < math.inf else None
                for key, value in each.items()
            }
            lines.append(json.dumps({"episode": name, **finite}))
        return Report("\n".join(lines), tuple(notices))
    by_name = dict(zip(names, predicted.tasks, strict=True))
    clusters = dataset.clusters or INDEPENDENT
    unit, owners = owners_of(clusters, names, cluster, lambda: by_name)
    row = summarize(
        file.name,
        scores,
        family=dataset.family.name,
        metrics=scorer(dataset.family).metrics,
        success=dataset.family.success,
        of=predicted.of,
        dataset=shown_split(plan, dataset),
        checksum=configs.Checksums().combined(dataset.files),
        clusters=owners.values(),
        clustered=_named_unit(unit),
    )
    return Report(tables.render([row], form, _width(wide)), tuple(notices))


def _named_unit(unit: str) -> str:
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


# Kinds of metrics that count or measure something.
_NEVER_NEGATIVE = ("ratio", "metres", "count", "hops", "seconds", "tokens", "dollars")


def _scored_run(
    run: RecordedRun,
    cluster: str = "",
    data: Path | None = None,
) -> _ScoredRun:
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
            kind = kinds.get(key, "")
            values = index.column(key)
            low = -math.inf
            high = math.inf
            if kind == "rate":
                # A mean may exceed the bounds by a rounding error.
                low = -1e-9
                high = 1.0 + 1e-9
            elif kind in _NEVER_NEGATIVE:
                low = 0.0
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
        return _ScoredRun(
            run,
            config,
            scored,
            failed=sorted(failed),
            of=of,
            name=run.path.name,
            unit=unit,
            owners=owners,
        )


def _row(runs: Sequence[_ScoredRun]) -> Row:
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
        if len(runs) > 1:
            pairs = chain.from_iterable(each.scored.pairs() for each in runs)
            scored = Scores.of([scores for _, scores in pairs], names)
        owner_of = _owners(runs)
        owners = [owner_of.get(name, name) for name in (*names, *failed)]

        # A killed session is not logged: without it, the wall time is unknown.
        logged = list(chain.from_iterable(each.run.sessions for each in runs))
        name = f"{agent} ({len(runs)} seeds)"
        wall_seconds = None
        if len(runs) == 1:
            name = first.name
            if logged and sum(each.finished for each in logged) >= len(scored):
                wall_seconds = sum(each.seconds for each in logged)
        sample = _sample(first, len({*names, *failed}))
        row = summarize(
            name,
            scored,
            family=family,
            metrics=configs.metrics_of(config),
            success=configs.success_of(config),
            of=first.of,
            failed=len(failed),
            clusters=owners,
            wall_seconds=wall_seconds,
            agent=agent,
            model=identity["models"].get("main", ""),
            dataset=config.get("split") or identity["dataset"],
            checksum=identity["data_checksum"],
            sees_answer=bool(config.get("sees_answer")),
            clustered=_named_unit(first.unit),
            caveats=(*configs.caveats_of(config), *SAMPLES[sample], *marks(scored)),
            runs=len(runs),
            distinct=len(set(names)),
            sample=sample,
            settings=_settings(identity, pooled=len(runs) > 1),
        )
        # Show the bill if it exceeds the cost of finished episodes by more than rounding (0.0001).
        dollars = sum(each.run.dollars for each in runs)
        if dollars > (row.totals.get("cost") or 0.0) + 0.0001:
            row = replace(row, totals={**row.totals, "billed": dollars})
        return row


def _owners(runs: Sequence[_ScoredRun]) -> dict[str, Hashable]:
    """Return the cluster of each episode of several runs."""
    owners: dict[str, Hashable] = {}
    for each in runs:
        owners |= each.owners
    return owners


SAMPLES: Mapping[str, tuple[str, ...]] = {
    "": (),
    "random": ("a random sample of the split",),
    "first": ("the first episodes of the split, which are no random sample",),
}
"""Caveats of a row by how its part of the split was chosen."""


def _sample(run: _ScoredRun, played: int) -> str:
    """Return how the played part of a split was chosen: ``random`` or ``first``.

    Empty for all of it, for named episodes and for a part by ``--by``: these need no
    caveat.
    """
    is_part = played < run.of and run.name == run.run.path.name
    if not is_part or CHOSEN in run.config["caveats"]:
        return ""
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


def _only(
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


def _width(wide: bool = False) -> int:
    """Return the columns of a table: ``$COLUMNS``, else those of the terminal, if stdout is one."""
    if wide:
        return WIDE
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size((_FILE_WIDTH, 40)).columns
    return _FILE_WIDTH

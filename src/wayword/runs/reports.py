"""From run folders and prediction files to tables and comparisons."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from wayword.core import registry
from wayword.core.errors import RecordingError, UsageError, suggest
from wayword.core.files import reading
from wayword.core.metric import Metric
from wayword.metrics import accounting, predictions
from wayword.metrics import compare as comparing
from wayword.metrics import table as tables
from wayword.metrics.intervals import by_path
from wayword.metrics.scoring import Clustered, scorer
from wayword.metrics.summary import Row, Scores, marks, summarize
from wayword.runs.config import (
    NAME,
    Checksums,
    billed,
    caveats_of,
    metrics_of,
    refuse_earlier,
    sessions,
    success_of,
)
from wayword.runs.index import EPISODES
from wayword.runs.plan import Plan, cast_of, open_dataset, split_name
from wayword.runs.record import RecordedRun, RunFolder, is_run
from wayword.runs.remote import url_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Written:
    """Text for stdout, and lines a person should see beside it."""

    text: str
    notices: tuple[str, ...] = ()


def table(
    runs: Sequence[Path | str],
    form: str = "rich",
    keys: Sequence[str] = (),
    together: bool = False,
    pool: bool = False,
) -> str:
    """One row a run; a table for each family of worlds, or all ``together``. ``pool`` makes one row
    of all runs that differ in nothing but their seeds.

    Raises ``RecordingError`` for a folder that is no run.
    """
    read = [RunFolder.read(path) for path in _run_folders(runs)]
    rows = _shown(
        [pooled(group) for group in seed_groups(read)] if pool else [_row(run) for run in read],
        keys,
    )
    return _table(rows, form, together)


def tables_of(runs: Sequence[Path], forms: Sequence[str]) -> dict[str, str]:
    """The same rows written in several forms, by form. Raises as ``table`` does."""
    rows = rows_of(runs)
    return {form: _table(rows, form) for form in forms}


def _table(rows: Sequence[Row], form: str, together: bool = False) -> str:
    if form in ("json", "csv"):
        return tables.render(rows, form, _width())
    # A column must not hold two definitions of a metric unasked, so families stand apart.
    families = dict.fromkeys(row.family for row in rows)
    if together and len(families) > 1:
        own = "SR and the like are each family's own: see docs/metrics.md.\n"
        return tables.render(rows, form, _width()) + own
    apart = [[row for row in rows if row.family == family] for family in families]
    return "\n".join(tables.render(group, form, _width()) for group in apart)


SEEDS = ("seed", "detector_seed")
"""What pooled runs may differ in: the run's seed, and the errors of simulated detectors."""


def seed_groups(runs: Sequence[RecordedRun]) -> list[list[RecordedRun]]:
    """The runs in groups that differ in nothing but their seeds, in order."""
    groups: dict[str, list[RecordedRun]] = {}
    for run in runs:
        identity = {k: v for k, v in run.config["identity"].items() if k not in SEEDS}
        settings = identity.get("settings") or {}
        identity["settings"] = {k: v for k, v in settings.items() if k not in SEEDS}
        groups.setdefault(json.dumps(identity, sort_keys=True, default=str), []).append(run)
    return list(groups.values())


def pooled(runs: Sequence[RecordedRun]) -> Row:
    """One row of several seeds' runs: episodes of all, whole clusters of all runs resampled."""
    first = _row(runs[0])
    if len(runs) == 1:
        return first
    scored = [pair for run in runs for pair in _scored(run).pairs()]
    row = summarize(
        f"{first.agent} ({len(runs)} seeds)",
        [scores for _, scores in scored],
        family=first.family,
        of=first.of,
        failed=sum(_row(run).failed for run in runs),
        clusters=_clusters([name for name, _ in scored], first.family),
    )
    return replace(
        row,
        agent=first.agent,
        model=first.model,
        dataset=first.dataset,
        checksum=first.checksum,
        sees_answer=first.sees_answer,
        clustered=first.clustered,
        runs=len(runs),
        success=first.success,
        caveats=tuple(dict.fromkeys([*first.caveats, *marks([one for _, one in scored])])),
    )


def rows_of(runs: Sequence[Path]) -> list[Row]:
    """The table's rows, one a run folder, in the order given."""
    return [_row(RunFolder.read(path)) for path in runs]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two runs, paired by episode, and what of their identities differs."""

    found: comparing.Comparison
    differ: tuple[str, ...]


def compared(first: Path, second: Path, keys: Sequence[str] = ()) -> Compared:
    """Two runs, paired by episode. Raises ``UsageError`` where they share none."""
    one, two = RunFolder.read(first), RunFolder.read(second)
    family = one.config["family"]
    if two.config["family"] != family:
        raise UsageError(f"{first} is of the family {family}, {second} of {two.config['family']}")
    left, right = dict(_scored(one).pairs()), dict(_scored(two).pairs())
    for path, finished in ((first, left), (second, right)):
        if not finished:
            raise UsageError(f"{path} has no finished episode yet: there is nothing to compare")
    clusters = dict(zip(left, _clusters(list(left), family), strict=True))
    differ = _differences(one.config["identity"], two.config["identity"])
    own, metrics = _clustered(family), metrics_of(one.config)
    known = (*metrics, *accounting.METRICS)
    found = comparing.compare(
        str(first), _only(left, keys, known), str(second), _only(right, keys, known),
        family=family, metrics=metrics, clusters=clusters,
        unit=own.clustered if own else "",
    )  # fmt: skip
    return Compared(found, tuple(differ))


def compare(first: Path, second: Path, form: str = "rich", keys: Sequence[str] = ()) -> Written:
    """Two runs, paired by episode, as text. Raises ``UsageError`` where they share none."""
    both = compared(first, second, keys)
    text = comparing.render(both.found, form, _width())
    differ = f"the runs differ in: {', '.join(both.differ)}"
    return Written(text, (differ,) if both.differ else ())


def _differences(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
    """What the two runs do not share, by its name in run.json."""
    keys = dict.fromkeys((*one, *two))
    return [key for key in keys if one.get(key) != two.get(key)]


def score(file: Path, plan: Plan, form: str = "rich", per_episode: bool = False) -> Written:
    """Predictions made elsewhere, by our metrics. Raises ``DataError`` for a malformed file."""
    dataset = open_dataset(plan)
    found = predictions.read(file, dataset)
    scores = found.score(dataset)
    names = [task.episode.id for task, _ in found.pairs]
    notices = []
    if found.missing:
        notices.append(f"{found.missing} of {found.of} episodes have no prediction")
    if illegal := sum(found.illegal_moves):
        notices.append(f"{illegal} moves are not possible in the world; see illegal_moves")
    if per_episode:
        lines = [
            json.dumps({"episode": name, **_finite(one)})
            for name, one in zip(names, scores, strict=True)
        ]
        return Written("\n".join(lines), tuple(notices))
    row = summarize(
        file.name,
        scores,
        family=dataset.family.name,
        metrics=scorer(dataset.family).metrics,
        success=dataset.family.success,
        of=found.of,
        dataset=split_name(plan, dataset),
        checksum=Checksums().combined(dataset.files),
        clusters=by_path([task for task, _ in found.pairs]),
    )
    return Written(tables.render([row], form, _width()), tuple(notices))


def _run_folders(given: Sequence[Path | str]) -> list[Path]:
    """The run folders named, and those inside a folder that is none itself."""
    found: list[Path] = []
    for path in map(Path, given):
        if url_of(path) or is_run(path) or not path.is_dir():
            found.append(path)
            continue
        inside = sorted(p.parent for p in path.glob(f"*/{NAME}"))
        if not inside:
            for folder in (path, *sorted(path.glob("*/"))):
                refuse_earlier(folder)
            raise RecordingError(f"{path}: is no run folder and holds none")
        found += inside
    return found


def _shown(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """The rows with those metrics alone; a key must be known to one of them."""
    if not keys:
        return list(rows)
    values = {str(number): row.values for number, row in enumerate(rows)}
    kept = _only(values, keys, tables.metrics_of(rows))
    return [replace(row, values=kept[str(number)]) for number, row in enumerate(rows)]


_NEVER_NEGATIVE = ("ratio", "metres", "count", "hops", "seconds", "tokens", "dollars")


def _scored(run: RecordedRun) -> Scores:
    """The run's scores in the order of the episodes' ids, so that a table does not depend on which
    episode ended first. Raises ``RecordingError`` for a score that no episode can have."""
    known = (*metrics_of(run.config), *accounting.METRICS)
    kinds = {metric.key: metric.kind for metric in known}
    scored = run.index.scores()
    for number, key in enumerate(scored.keys):
        values, kind = scored.columns[number], kinds.get(key, "")
        low = -1e-9 if kind == "rate" else 0.0 if kind in _NEVER_NEGATIVE else -math.inf
        high = 1.0 + 1e-9 if kind == "rate" else math.inf
        wrong = (values < low) | (values > high)
        if scored.nans is not None:
            wrong |= scored.nans[:, number]
        if wrong.any():
            at = int(wrong.argmax())
            raise RecordingError(
                f"{run.path / EPISODES}: episode {scored.ids[at]!r}: {key!r} cannot be "
                f"{float(values[at])!r}; `wayword verify` names all episodes whose scores are wrong"
            )
    return scored


def _row(run: RecordedRun) -> Row:
    with reading(str(run.path / NAME), "give another folder"):
        return _summed(run)


def _summed(run: RecordedRun) -> Row:
    config, scored = run.config, _scored(run)
    identity, family = config["identity"], config["family"]
    failed = {failure.episode_id for failure in run.failures()}
    failed = failed.difference(scored.ids) if failed else failed
    if len(scored) > config["episodes_in_split"]:
        raise RecordingError(
            f"{run.path / EPISODES}: holds {len(scored):,} episodes of a split of "
            f"{config['episodes_in_split']:,}; give the folder of one run"
        )
    own = _clustered(family)
    row = summarize(
        run.path.name,
        scored,
        family=family,
        metrics=metrics_of(config),
        success=success_of(config),
        of=config["episodes_in_split"],
        failed=len(failed),
        agent=cast_of(identity),
        model=identity["models"].get("main", ""),
        dataset=identity["dataset"],
        checksum=identity["data_checksum"],
        clusters=_clusters(scored.ids, family) if own else None,
        wall_seconds=_wall(run, len(scored)),
    )
    # What was billed in all, where that is more than the finished episodes took.
    finished, dollars = row.totals.get("cost") or 0.0, billed(run.path)[1]
    return replace(
        row,
        totals={**row.totals, **({"billed": dollars} if dollars > finished + 0.0001 else {})},
        sees_answer=bool(config.get("sees_answer")),
        clustered=own.clustered if own else "",
        caveats=(*caveats_of(config), *marks(scored)),
    )


def _wall(run: RecordedRun, finished: int) -> float | None:
    """Wall time over all sessions; unknown where a killed one finished some of the episodes."""
    told = list(sessions(run.path))
    whole = told and sum(session.finished for session in told) >= finished
    return sum(session.seconds for session in told) if whole else None


def _clusters(episode_ids: Iterable[str], family: str) -> Iterable[Hashable]:
    """Each episode's cluster, as the family's scorer has it; the episode itself elsewhere."""
    own = _clustered(family)
    return map(own.cluster, episode_ids) if own else episode_ids


def _clustered(family: str) -> Clustered | None:
    """The scorer of a family in the tree, where its episodes come in clusters."""
    own = scorer(family) if family in registry.names("family") else None
    return own if isinstance(own, Clustered) else None


def _only(
    scores: Mapping[str, Mapping[str, T]], keys: Sequence[str], metrics: Sequence[Metric]
) -> dict[str, dict[str, T]]:
    """Those metrics alone, each named by its key or as tables head its column."""
    known = list(dict.fromkeys(key for one in scores.values() for key in one))
    heads = {metric.label.lower(): metric.key for metric in reversed(metrics)}
    named = [key if key in known else heads.get(key.lower(), key) for key in keys]
    for key, own in zip(keys, named, strict=True):
        if own not in known:
            raise UsageError(f"no metric is called {key!r} here; {suggest(key, known)}")
    wanted: Callable[[str], bool] = set(named).__contains__ if keys else lambda key: True
    return {name: {k: v for k, v in one.items() if wanted(k)} for name, one in scores.items()}


def _finite(scores: Mapping[str, float]) -> dict[str, float | None]:
    """JSON knows no infinity: an unreachable goal's error is null."""
    return {key: value if abs(value) < float("inf") else None for key, value in scores.items()}


def _width() -> int:
    """Columns of the terminal, or 100 where the output goes elsewhere."""
    return shutil.get_terminal_size((100, 40)).columns if sys.stdout.isatty() else 100

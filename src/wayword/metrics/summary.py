"""Summary: a run's row with each metric's mean and interval, and the run's totals."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from wayword.core.geometry import Floats
from wayword.core.metric import Metric
from wayword.core.visible import in_dollars, join_words, plural
from wayword.metrics import scoring
from wayword.metrics.intervals import (
    FEWEST,
    POSITIVE,
    RATE,
    Interval,
    by_cluster,
    mean_intervals,
    rate_interval,
)

COUNTED = ("calls", "prompt_tokens", "reused_tokens", "completion_tokens")
TOTALLED = (*COUNTED, "cost", "seconds")
"""Accounting metrics that are also summed over the run."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of episodes: a column (episodes,) for each metric, NaN where an episode has none."""

    ids: Sequence[str]
    columns: Mapping[str, Floats]

    @staticmethod
    def of(scores: Sequence[Mapping[str, float]], ids: Sequence[str] = ()) -> Scores:
        """Return the scores of a list of episodes; ``ids`` are optional."""
        columns = {}
        for key in dict.fromkeys(chain.from_iterable(scores)):
            column = [each.get(key, math.nan) for each in scores]
            columns[key] = np.array(column, float)
        return Scores(ids or [""] * len(scores), columns)

    def __len__(self) -> int:
        return len(self.ids)

    def matrix(self, keys: Iterable[str]) -> Floats:
        """Return the scores of metrics (episodes, metrics), NaN where an episode has none."""
        none = np.full(len(self), math.nan)
        columns = [self.columns.get(key, none) for key in keys]
        return np.array(columns, float).reshape(len(columns), len(self)).T

    def column(self, key: str) -> Floats:
        """Return the scores of a metric, without missing values."""
        column = self.columns.get(key, np.empty(0))
        return column[~np.isnan(column)]

    def total(self, key: str) -> float | None:
        """Return the sum over all episodes, an ``int`` for counts; None if an episode has no value.
        Summed one by one: numpy's pairwise sums may round differently."""
        scores = self.column(key).tolist()
        if len(scores) < len(self):
            return None
        total = sum(scores, 0.0)
        if key in COUNTED and total.is_integer():
            return int(total)
        return total

    def pairs(self) -> list[tuple[str, dict[str, float]]]:
        """Return the id and scores of each episode."""
        pairs: list[tuple[str, dict[str, float]]] = [(name, {}) for name in self.ids]
        for key, column in self.columns.items():
            for (_, scores), value in zip(pairs, column.tolist(), strict=True):
                if value == value:  # not NaN
                    scores[key] = value
        return pairs


@dataclass(frozen=True)
class Row:
    """A run in a table.

    ``n`` of the ``of`` episodes in the split were scored; ``failed`` others failed.
    ``checksum`` is the split's, ``version`` that of a custom dataset's code, and ``is_labeled``
    a row whose name the user gave. ``values`` holds each metric's mean over episodes and its 95%
    interval, by key. ``totals`` holds sums over the run (None: unknown), and ``wall_seconds`` if
    known. ``sees_answer``: one of the run's agents uses the reference. ``metrics`` are the family's
    own. ``clustered`` is what dependent episodes share (``"scene"``, empty for independent ones),
    ``clusters`` the number of independent units, ``runs`` the number of pooled runs (seeds),
    ``distinct`` their distinct episodes, ``played`` the ids of scored and failed ones (empty if
    unknown, as for a part of a run), ``counts`` the episodes of metrics that not all have,
    ``sample`` how a part of a split was chosen (``"first"``, ``"random"``), and
    ``caveats`` the assumptions behind every score of the row. ``success`` is the key of the success
    metric; ``stated`` are the ``settings`` with other values than their defaults;
    ``best`` are the metrics in which the run is significantly better than all other rows.
    ``published`` is the source of a row that a paper prints, which has no episodes here, and
    ``printed`` its numbers as printed; its ``dataset`` is empty if this package does not have it.
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
    version: str = ""
    is_labeled: bool = False
    totals: Mapping[str, float | None] = field(default_factory=dict)
    sees_answer: bool = False
    clustered: str = ""
    clusters: int = 0
    distinct: int = 0
    played: frozenset[str] = field(default=frozenset(), repr=False)
    counts: Mapping[str, int] = field(default_factory=dict)
    sample: str = ""
    runs: int = 1
    caveats: tuple[str, ...] = ()
    success: str = "sr"
    settings: Mapping[str, str] = field(default_factory=dict)
    stated: frozenset[str] = frozenset()
    best: frozenset[str] = frozenset()
    published: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)


FAILED_0 = "_failed_0"
"""Ending of the key of a rate that counts failed episodes as zeros."""


def summarize(
    name: str,
    scores: Scores | Sequence[Mapping[str, float]],
    *,
    family: str,
    metrics: Sequence[Metric] | None = None,
    of: int,
    failed: int = 0,
    wall_seconds: float | None = None,
    clusters: Iterable[Hashable] | None = None,
    episodes: Sequence[str] = (),
    success: str = "",
    **fields: Any,
) -> Row:
    """Return a run's row from its episodes' scores; ``fields`` are other fields of the row.

    ``of`` is the number of episodes in the split, ``failed`` that of episodes without a score,
    ``wall_seconds`` the duration of the run. ``metrics`` and ``success`` (a key) default to those
    of the ``family``. ``clusters`` names the cluster of each scored episode, then of the failed
    ones; by default episodes are independent. ``episodes`` are the ids in the same order, if seeds
    are pooled: scores of one episode are averaged first, so that each episode counts once, however
    many seeds played it.

    A metric is averaged over the episodes that have it; but a cost that is unknown for one episode
    is unknown for the run. Failed episodes count as zeros in a second success rate.
    """
    if metrics is None:
        metrics = scoring.scorer(family).metrics
    family_metrics = list(metrics)
    table = _table(scores)

    # Clusters: of all episodes, and of the scored ones alone.
    all_clusters: list[Hashable] | None = None
    scored_clusters = None
    units = len(table)
    if clusters is not None:
        all_clusters = list(clusters)
        scored_clusters = all_clusters[: len(table)]
        units = len(set(scored_clusters))
        # A failed episode whose cluster is not given is a cluster by itself.
        unnamed = len(table) + failed - len(all_clusters)
        all_clusters += [object() for _ in range(unnamed)]

    # Means and intervals. Only rates have an upper bound; all other metrics are 0 or more.
    known = scoring.by_key(family_metrics)
    bounds = []
    for key, column in table.columns.items():
        is_rate = key in known and known[key].kind == "rate"
        bounds.append(RATE if is_rate else POSITIVE)
        # A custom metric may give percentages. 1e-9: rounding errors
        if is_rate and np.any((column < -1e-9) | (column > 1 + 1e-9)):
            caveat = f"{known[key].label} has values outside 0 to 1, which are no rates"
            fields["caveats"] = (*fields.get("caveats", ()), caveat)
    values = table.matrix(table.columns)
    if episodes:
        values, first = _by_episode(values, episodes[: len(table)])
        if scored_clusters is not None:
            scored_clusters = [scored_clusters[at] for at in first]
    means = mean_intervals(values, bounds, scored_clusters)
    intervals = dict(zip(table.columns, means, strict=True))
    success = success or scoring.success_of(family)
    if failed and success in table.columns:
        # The second success rate has its column behind the first one.
        keys = [metric.key for metric in family_metrics]
        at = keys.index(success) if success in keys else -1
        label = known[success].label if success in known else success
        about = "success, with episodes that failed (an error, not the agent) as zeros"
        zeros = Metric(
            success + FAILED_0,
            f"{label} (failed = 0)",
            "rate",
            "higher",
            about,
        )
        family_metrics.insert(at + 1, zeros)
        column = np.append(table.columns[success], np.zeros(failed))
        if episodes:
            column, first = _by_episode(column[:, None], episodes)
            column = column[:, 0]
            if all_clusters is not None:
                all_clusters = [all_clusters[at] for at in first]
        intervals[zeros.key] = rate_interval(column, all_clusters)

    # Counts only where some episode lacks the metric.
    present = np.sum(~np.isnan(values), axis=0).tolist()
    counts = dict(zip(table.columns, present, strict=True))
    counts = {key: count for key, count in counts.items() if count < len(values)}

    # The sum of a run is unknown if it is unknown for one episode, else it would be too low.
    totals = {key: table.total(key) for key in TOTALLED if key in table.columns}
    if "calls" in totals and totals.setdefault("cost", None) is None:
        intervals.pop("cost", None)  # a mean over only the known prices would mislead
    if wall_seconds is not None:
        totals["wall_seconds"] = wall_seconds
    return Row(
        name, family, tuple(family_metrics), len(table), of, intervals, failed, totals=totals,
        success=success, clusters=units, counts=counts, **fields,
    )  # fmt: skip


def _table(scores: Scores | Sequence[Mapping[str, float]]) -> Scores:
    """Return scores as a table."""
    return scores if isinstance(scores, Scores) else Scores.of(scores)


def _by_episode(values: Floats, names: Sequence[str]) -> tuple[Floats, list[int]]:
    """Return the mean of the ``values`` (plays, metrics) of each episode (episodes, metrics), over
    the plays that have the metric, and the number of each episode's first play."""
    first: dict[str, int] = {}
    for play, name in enumerate(names):
        first.setdefault(name, play)
    # Each episode is a cluster of its plays.
    sums, counts = by_cluster(values, names)
    with np.errstate(invalid="ignore"):  # 0 / 0: no play has the metric
        return sums / counts, list(first.values())


# Share of calls without usable advice above which a row gets a caveat
LOST_ADVICE = 0.1


def marks(scores: Scores | Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """Return a row's caveats from its episodes: prompts without their oldest steps or without
    examples, and experts whose advice was lost."""
    lines = []
    table = _table(scores)
    # A prompt that omits steps is another prompt than the one that the agent is named after.
    for key, lack in (("steps", "their oldest steps"), ("examples", "solved examples")):
        if cut := len(table.column(f"{key}_forgotten")):
            share = f"in {cut} of {len(table)} episodes"
            lines.append(f"{share}, prompts omit {lack} to fit the context")
    lost = table.column("advice_lost").sum()
    calls = table.column("calls").sum()
    if calls and lost / calls > LOST_ADVICE:
        lines.append(
            f"{lost:.0f} of {calls:.0f} calls to experts gave no usable advice"
        )
    return tuple(lines)


def footnote(rows: Sequence[Row], hidden: Sequence[str] = ()) -> str:
    """Return the notes, one per line after an empty line; ``hidden`` are labels of columns."""
    alone = len(rows) == 1
    played = [row for row in rows if row.n]
    lines = ["", *interval_notes(rows)]
    lines += filter(None, (_subsets(row, alone) for row in played))
    lines += [f"Note: {line}" for line in caveats(rows)]
    if names := [row.name for row in rows if row.sees_answer]:
        lines.append(f"Upper bound (uses ground truth): {', '.join(names)}.")
    lines += filter(None, (_judged(row, alone) for row in rows))
    lines += filter(None, (_spent(row, alone) for row in rows))
    if hidden:
        lines.append(
            f"Hidden columns (terminal too narrow): {', '.join(hidden)}. See table --wide."
        )
    return "\n".join(lines)


def interval_notes(rows: Sequence[Row]) -> list[str]:
    """Return what the intervals of a table are, and which means have none."""
    lines = []
    played = [row for row in rows if row.n]
    units = dict.fromkeys(plural(row.clustered) for row in played if row.clustered)
    if any(map(has_interval, rows)):
        over = ""
        if units:
            over = f", with {' and '.join(units)} as units"
        lines.append(f"± half of the 95% interval{over}; [low, high] if asymmetric.")
        # Scenes were not drawn: other instructions in them may differ less than other houses.
        if {"path", "trajectory"} & {row.clustered for row in played}:
            lines.append(
                "Intervals hold for these scenes; --cluster scene: for new ones."
            )
    elif played and max(row.clusters for row in played) < 2:
        lines.append(
            f"No intervals: they need at least two {next(iter(units), 'episodes')}."
        )
    lines += few_notes(played)
    return lines


def has_interval(row: Row) -> bool:
    """True if the mean of any metric has an interval."""
    return any(math.isfinite(value.half) for value in row.values.values())


def _whose(row: Row, alone: bool) -> str:
    """Return the start of a note on a row: its name, unless the table has no other."""
    return "" if alone else f"{row.name}: "


def _subsets(row: Row, alone: bool) -> str:
    """Return the metrics of a row that not all of its episodes have, with their number."""
    known = scoring.by_key(row.metrics)
    parts = []
    for key, n in row.counts.items():
        if key in known and n:
            parts.append(f"{known[key].label} {n:,}")
    if not parts:
        return ""
    return f"{_whose(row, alone)}Episodes with the metric: {', '.join(parts)}."


def _judged(row: Row, alone: bool) -> str:
    """Return the trials of a row, and the outcomes that a judge revealed in them."""
    trials = row.values.get("trials")
    verdicts = row.values.get("verdicts")
    if trials is None or verdicts is None:
        return ""
    judged = "no judge"
    if verdicts.mean:
        judged = f"a judge revealed {verdicts.mean:.1f} outcomes"
    scored = f"{trials.mean:.1f} trials per episode, of which the last is scored"
    return f"{_whose(row, alone)}{scored}; {judged}."


def few_notes(rows: Sequence[Row], metrics: Sequence[Metric] = ()) -> list[str]:
    """Return a note on the first metric without an interval because a row has too few units; none
    if all have one. ``metrics`` are those to look at, by default all of a row."""
    for row in rows:
        for metric in metrics or scoring.by_key(row.metrics).values():
            value = row.values.get(metric.key)
            # the mean of values that are all 0 is no estimate: an agent without a model
            if value is None or not value.mean or not math.isfinite(value.mean):
                continue
            units = min(row.clusters, row.counts.get(metric.key, row.clusters))
            if units < FEWEST and metric.kind != "rate":
                most = plural(row.clustered or "episode")
                return [
                    f"No interval for metrics without an upper bound, such as {metric.label}: "
                    f"fewer than {FEWEST} {most} ({units})."
                ]
    return []


def caveats(rows: Sequence[Row]) -> list[str]:
    """Return the rows' caveats, one per line, with the rows' names unless all share it.

    Then the notes on rows of other decodings, published numbers and other episodes.
    """
    lines = []
    for caveat in dict.fromkeys(chain.from_iterable(row.caveats for row in rows)):
        names = [row.name for row in rows if caveat in row.caveats]
        whose = ""
        if len(names) < len(rows):
            whose = f"{', '.join(names)}: "
        lines.append(f"{whose}{caveat}.")
    decodings = {row.settings.get("decoding", "") for row in rows} - {""}
    if "free" in decodings and len(decodings) > 1:
        free = "With decoding=free, answers may be illegal actions; other decodings prevent that."
        lines.append(free)
    return [*lines, *published_notes(rows), *other_episodes(rows)]


def published_notes(rows: Sequence[Row]) -> list[str]:
    """Return the source and splits of published rows, and the definitions of their variants."""
    theirs = [row for row in rows if row.published]
    if not theirs:
        return []
    names = " to ".join(dict.fromkeys([theirs[0].name, theirs[-1].name]))
    splits = splits_of(theirs)
    known = scoring.by_key(chain.from_iterable(row.metrics for row in rows))
    variants = published_variants(list(known), theirs).values()
    return [
        f"{names}: as published in {theirs[0].published}.",
        f"Published results are on {splits}.",
        *(f"{known[key].label}: {known[key].doc}." for key in variants if key in known),
    ]


def other_episodes(rows: Sequence[Row]) -> list[str]:
    """Return which runs played other episodes than the published rows, or other episodes or another
    version than the first run of their split; empty if none did."""
    return [
        *_other_than_published(rows),
        *_other_versions(rows),
        *_other_than_first(rows),
    ]


def _other_versions(rows: Sequence[Row]) -> list[str]:
    """Return for each dataset which runs played another version than its first run."""
    datasets: dict[str, list[Row]] = {}
    for row in rows:
        if not row.published:
            datasets.setdefault(split_label(row.dataset), []).append(row)
    notes = []
    for dataset, (first, *rest) in datasets.items():
        version = (first.version, first.checksum)
        others = [row.name for row in rest if (row.version, row.checksum) != version]
        if others:
            start = f"Not comparable with {first.name}, because of another version of"
            notes.append(f"{start} {dataset}: {', '.join(others)}.")
    return notes


def _other_than_first(rows: Sequence[Row]) -> list[str]:
    """Return for each split which runs played other episodes than its first run."""
    splits: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.played:
            split = row.dataset, row.checksum, row.version
            splits.setdefault(split, []).append(row)
    notes = []
    for first, *rest in splits.values():
        others = []
        for row in rest:
            if row.played != first.played:
                shared = len(row.played & first.played)
                others.append(f"{row.name} ({len(row.played):,}, {shared:,} shared)")
        if others:
            start = f"Not comparable with {first.name} ({len(first.played):,} episodes)"
            notes.append(f"{start}, because of other episodes: {', '.join(others)}.")
    return notes


def _other_than_published(rows: Sequence[Row]) -> list[str]:
    """Return which runs played other episodes than the published rows."""
    theirs = [row for row in rows if row.published]
    others = []
    for row in rows:
        part = f", {row.distinct or row.n:,} of {row.of:,} episodes"
        if (row.distinct or row.n) >= row.of:
            part = ""
        is_other = row.dataset not in {each.dataset for each in theirs}
        if theirs and not row.published and (is_other or part):
            others.append(f"{row.name} ({split_label(row.dataset)}{part})")
    if not others:
        return []
    return [f"Not comparable with the published results: {', '.join(others)}."]


def published_variants(keys: Sequence[str], rows: Sequence[Row]) -> dict[str, str]:
    """Map metrics to variants that published rows have of them: spl to spl_gold."""
    theirs = dict.fromkeys(chain.from_iterable(row.values for row in rows))
    bases = {key: key.rpartition("_")[0] for key in theirs}
    return {base: key for key, base in bases.items() if base in keys}


def split_label(dataset: str) -> str:
    """Return a split as figures and papers print it: published data as its papers call it, a user's
    file by its name alone.

    >>> split_label("r2r:val_seen")
    'R2R val-seen'
    >>> split_label("./warehouse.py:test")
    'warehouse:test'
    """
    name, _, split = dataset.partition(":")
    if title := PUBLISHED.get(dataset, PUBLISHED.get(name)):
        return f"{title} {split.replace('_', '-')}"
    return _USERS_FILE.sub(r"\1", dataset)


PUBLISHED: Mapping[str, str] = {
    "r2r": "R2R",
    "r4r": "R4R",
    "rxr": "RxR",
    "reverie": "REVERIE",
    "touchdown": "Touchdown",
    "map2seq": "Map2seq",
    "robothor": "RoboTHOR",
    "procthor": "ProcTHOR",
    "pasture": "PASTURE",
    "alfworld": "ALFWorld",
    "household:train": "ALFRED",
    "household:valid_seen": "ALFRED",
    "household:valid_unseen": "ALFRED",
}
"""Published datasets and splits, with the names in their papers."""


_USERS_FILE = re.compile(r"^(?:.*[/\\])?([^/\\:]+)\.(?:py|toml|json|yaml)(?=:|$)")


def splits_of(rows: Sequence[Row]) -> str:
    """Return the splits of rows as text."""
    # A paper may have used data that this package does not read.
    splits = dict.fromkeys(
        split_label(row.dataset) or "data of its own" for row in rows
    )
    return join_words([*splits])


LONG_START = 30.0  # seconds that a run may need besides its episodes


def _spent(row: Row, alone: bool) -> str:
    """Return what a run has spent, as text."""
    totals = row.totals
    parts = []
    if totals.get("calls"):
        cost = totals.get("cost")
        parts.append(f"{totals['calls']:,.0f} calls")
        parts.append(f"{totals.get('prompt_tokens') or 0:,.0f} prompt tokens")
        parts.append(f"{totals.get('completion_tokens') or 0:,.0f} generated")
        if cost is None:
            parts.append("cost unknown")
        else:
            parts.append(in_dollars(cost))
    if billed := totals.get("billed"):
        parts.append(f"{in_dollars(billed)} including unfinished episodes")
    assumed = totals.get("assumed")
    if parts and assumed:
        parts[-1] += f" (of it {in_dollars(assumed)} assumed for lost answers)"
    wall = totals.get("wall_seconds")
    if wall is not None:
        parts.append(f"{wall:,.1f} s")
        # The unit is chosen so that the number is at least 1.
        if row.n >= wall > 0:
            parts[-1] += f" ({row.n / wall:,.1f} episodes per second)"
        elif row.n and wall:
            parts[-1] += f" ({wall / row.n:,.1f} s per episode)"
        # Interrupted episodes, above all; a start takes less than an episode.
        played = totals.get("seconds")
        if played is not None and wall > 2 * played + LONG_START:
            parts[-1] += f", {wall - played:,.1f} s of it outside finished episodes"
    if not parts:
        return ""
    whose = "Total" if alone else row.name
    return f"{whose}: {', '.join(parts)}."

"""Two or more runs side by side: differences with intervals, and the episodes that differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from itertools import zip_longest
from typing import Any
from urllib.parse import quote

from wayword.core.dataset import Task
from wayword.core.errors import WaywordError
from wayword.core.geometry import Floats
from wayword.core.metric import Metric, is_solved
from wayword.core.trajectory import Step, Trajectory
from wayword.core.visible import count, join_words
from wayword.metrics import accounting
from wayword.metrics.compare import Comparison, MetricDifference, corrected, heading
from wayword.metrics.intervals import ALPHA, FEWEST
from wayword.metrics.table import finite
from wayword.runs import differences, lengths, reports
from wayword.runs.record import EpisodeRecord
from wayword.viewer import maps
from wayword.viewer.data import Sources
from wayword.viewer.document import Document
from wayword.viewer.figures import interval, overlay, too_few, value, value_range
from wayword.viewer.library import Cache, Library, Rows, address, slug
from wayword.viewer.markup import Html, page, render

DifferenceRow = tuple[Metric, Sequence[tuple[str, str]], str]
"""A row of differences: the metric, labeled cells, and a class for the color or none."""
Columns = Mapping[str, Floats]
"""Scores by metric, an array (N,) each."""
LISTED = 200
"""Episodes of a list."""
_FEW = 5  # of them that are in view; the others are folded
_SPREADS = 6  # distributions that are drawn, at most
_CAUSES = 3  # of a failure that are listed
_LONGEST = 100_000  # characters of prompts that are compared


@dataclass(frozen=True)
class RunPair:
    """Two compared runs: their names and slugs, and each run's scores by metric.

    ``gained`` are the episodes that only the second run solved, ``lost`` those that
    only the first solved, ``both`` and ``neither`` the others. ``differ`` are the names
    of settings in which the runs differ, and ``order`` is the metric by which the
    episodes are sorted, those with the largest difference first; None if there is none.
    """

    names: tuple[str, str]
    slugs: tuple[str, str]
    differ: Sequence[str]
    comparison: Comparison
    columns: tuple[Columns, Columns]
    gained: Sequence[str] = ()
    lost: Sequence[str] = ()
    both: Sequence[str] = ()
    neither: Sequence[str] = ()
    order: Metric | None = None
    starts: str = ""

    @property
    def heading(self) -> str:
        """Number of paired episodes, the settings that differ between the runs, and searches of a
        robot that began at different places."""
        # By the names on the page: the comparison has the paths of the folders.
        first, second = self.names
        text = heading(replace(self.comparison, first=first, second=second))
        # Of a model its name is enough, next to which its checksum says nothing.
        named = [each for each in self.differ if each != "model_identity"]
        if named:
            text += f" The runs differ in: {', '.join(named).replace('_', ' ')}."
        if self.starts:
            text += f" {self.starts}."
        return text

    @property
    def primary(self) -> MetricDifference | None:
        """The first metric with a better direction: the family's measure of success."""
        for line in self.comparison.lines:
            if line.metric.better:
                return line
        return None

    @property
    def outcome(self) -> str:
        """What the primary metric shows of the second run: ``better``, ``worse``,
        ``unclear`` or ``too few``; empty without such a metric."""
        line = self.primary
        if line is None:
            return ""
        gap = line.difference
        # The smallest p-value of so many pairs: all of them differ, in the same direction. Where
        # episodes form clusters, such as the instructions of a path, these are the pairs.
        pairs = len(line.estimate.counts)
        least = line.tests * 2 * 0.5**pairs
        if math.isnan(gap.low):
            return "too few"
        if gap.low <= 0 <= gap.high:
            return "too few" if least > ALPHA else "unclear"
        grew = gap.low > 0
        return "better" if grew == (line.metric.better != "lower") else "worse"

    @property
    def verdict(self) -> str:
        """The primary metric of both runs, with the difference and how sure it is; empty
        without such a metric.

        ``SR 78.6% against 7.1%: +71.4 points (95%: 19.5 to 94.1 points), p 0.006``
        """
        line = self.primary
        if line is None:
            return ""
        metric = line.metric
        gap = line.difference
        both = f"{value(metric, line.second)} against {value(metric, line.first)}"
        text = f"{metric.label} {both}: {_signed(metric, gap.mean)}"
        if math.isnan(gap.low):
            return text
        ends = in_points(metric, value_range(metric, gap.low, gap.high))
        return (
            f"{text} ({self.interval_name}: {ends}), {self.p_name} {_p_value(line.p)}"
        )

    @property
    def interval_name(self) -> str:
        """Name of the primary metric's interval, with its correction next to other runs."""
        return f"95%{self._correction}"

    @property
    def p_name(self) -> str:
        """Name of the primary metric's p-value, with its correction next to other runs."""
        return f"p{self._correction}"

    @property
    def _correction(self) -> str:
        """The correction of the primary metric in brackets; empty for a single rival."""
        line = self.primary
        if line is None or line.tests < 2:
            return ""
        return f" (Holm, {line.tests} runs)"

    @property
    def differences(self) -> Sequence[DifferenceRow]:
        """Rows of the table of differences: the metric, labeled cells, and a class for the color.

        A difference is colored if its interval, corrected within its family of tests,
        excludes 0. Metrics of usage that both runs have as 0 are left out.
        """
        rows = []
        for line in self.comparison.lines:
            metric = line.metric
            gap = line.difference
            if metric in accounting.METRICS and not (line.first or line.second):
                continue  # nothing was used: agents without a model have no tokens
            if math.isnan(gap.low):
                # Of enough pairs, equal differences alone have no interval.
                enough = len(line.estimate.counts) >= FEWEST
                between = "all the same" if enough else too_few(metric)
            else:
                between = in_points(metric, value_range(metric, gap.low, gap.high))
            wins = "–"
            losses = "–"
            color = ""
            # Without a better direction, no difference is a win or a loss.
            if metric.better:
                wins = f"{line.wins:,}"
                losses = f"{line.losses:,}"
                should_grow = metric.better != "lower"
                grew = gap.low > 0
                if grew or gap.high < 0:
                    color = "good" if grew == should_grow else "bad"
            cells = (
                (self.names[0], value(metric, line.first)),
                (self.names[1], value(metric, line.second)),
                ("difference", _signed(metric, gap.mean)),
                ("95%", between),
                ("better", wins),
                ("worse", losses),
                ("same", f"{line.ties:,}"),
                ("p", _p_value(line.p)),
            )
            rows.append((metric, cells, color))
        return rows

    @property
    def success(self) -> DifferenceRow | None:
        """The row of the first metric with a better direction, the family's success."""
        for row in self.differences:
            if row[0].better:
                return row
        return None

    @property
    def spreads(self) -> list[tuple[Metric, Html]]:
        """Overlaid distributions of both runs, for metrics that differ between episodes."""
        one, two = self.columns
        spreads = []
        for line in self.comparison.lines:
            metric = line.metric
            first = one.get(metric.key, ())
            second = two.get(metric.key, ())
            drawn = overlay(metric, first, second)
            if drawn is not None:
                spreads.append((metric, drawn))
        return spreads[:_SPREADS]

    def link(self, episode: str) -> str:
        """Return the address of an episode's walks in both runs."""
        quoted = quote(episode, safe="", errors="replace")
        return f"{_query(self.slugs)}&id={quoted}"


def _p_value(p: float) -> str:
    if p < 0.001:
        return "<0.001"
    # A test that could not be made has no p-value.
    return f"{p:.3f}".replace("nan", "–")


def _signed(metric: Metric, difference: float) -> str:
    """Format a difference with its sign; a negative number brings its own."""
    text = in_points(metric, value(metric, difference))
    return f"+{text}" if difference > 0 else text


def in_points(metric: Metric, text: str) -> str:
    """Return a difference of rates, or its interval, in percentage points: ``4.2 points``."""
    if metric.kind != "rate":
        return text
    return f"{text.removesuffix('%')} points"


def compare_page(
    pairs: Sequence[RunPair], sources: Sources, written: Mapping[str, str]
) -> str:
    """Return the page that compares the first run with each of the others.

    ``written`` is the table of all runs by format, for copying. Flips are listed
    without their walks, which the page requests later.
    """
    slugs = [pairs[0].slugs[0]]
    names = [pairs[0].names[0]]
    for pair in pairs:
        slugs.append(pair.slugs[1])
        names.append(pair.names[1])
    # The same page with another baseline, which is the first run.
    baselines = []
    for name, first in zip(names, slugs, strict=True):
        others = [each for each in slugs if each != first]
        baselines.append((name, _query([first, *others])))
    return page(
        "compare_page.html",
        "compare",
        served=True,
        pairs=pairs,
        written=written,
        baselines=baselines,
        answer=_title(pairs),
        flips=flips_parts(pairs, sources, {}),
        account=accounting.METRICS,
        listed=LISTED,
    )


_TITLES = {
    "better": "{} {} better than {}",
    "worse": "{} {} worse than {}",
    "unclear": "{} {} not clearly different from {}",
    "too few": "{0} cannot be distinguished from {2}: too few episodes",
    "": "{} {} compared with {}",
}
"""Sentences about runs and the baseline, by the outcome of their comparison."""


def _title(pairs: Sequence[RunPair]) -> str:
    """Return the answer of a comparison, a sentence for each outcome."""
    runs: dict[str, list[str]] = {outcome: [] for outcome in _TITLES}
    for pair in pairs:
        runs[pair.outcome].append(pair.names[1])
    baseline = pairs[0].names[0]
    titles = []
    for outcome, names in runs.items():
        if names:
            verb = "is" if len(names) == 1 else "are"
            titles.append(_TITLES[outcome].format(join_words(names), verb, baseline))
    return "; ".join(titles)


@dataclass(frozen=True)
class Flip:
    """An episode that only one of two runs solved: both walks as a small map.

    ``apart`` is the step (from 1) at which the walks diverge, 0 if they do not, and
    ``causes`` those of the failure.
    """

    instruction: str
    sketch: Html | None
    apart: int
    causes: Sequence[str]

    @staticmethod
    def of(episode: str, runs: Sequence[Rows], sources: Sources) -> Flip:
        """Compare the outcomes in two runs. Raises ``WaywordError`` for a damaged record.

        Both runs must have finished the episode.
        """
        walks = [rows.run.record(episode).trajectory for rows in runs]
        apart = find_divergence(*walks)
        instruction = sources.instruction(episode)
        causes: Mapping[str, int] = {}
        for rows in runs:
            scores = rows.scored(episode)
            if scores.get(rows.success, 0.0) <= 0.5:
                written = rows.run.raw_record(episode)["trajectory"]
                causes = sources.causes(episode, written, scores)
        names = [rows.run.path.name for rows in runs]
        named = list(zip(names, walks, strict=True))
        drawn = maps.together(named, sources, apart, small=True)
        return Flip(instruction, drawn, apart, [*causes][:_CAUSES])


Flips = Mapping[tuple[tuple[str, str], str], Flip]
"""Flips by the slugs of two runs and the episode."""


def flips_parts(pairs: Sequence[RunPair], sources: Sources, flips: Flips) -> list[Html]:
    """Return the lists of episodes gained and lost, for each pair.

    An episode missing from ``flips`` is listed without its walks and causes.
    """
    shared = {"sources": sources, "flips": flips, "most": LISTED, "few": _FEW}
    return [
        render("flips.html", pair=pair, number=n, **shared)
        for n, pair in enumerate(pairs)
    ]


def _query(slugs: Sequence[str]) -> str:
    """Return the address of the comparison of some runs, the first being the baseline."""
    return "compare?" + "&".join(f"run={slug}" for slug in slugs)


# Success by the length of the reference, all runs in one chart.

# The chart's edges and height, in the drawing's units
_LEFT = 44.0
_RIGHT = 630.0
_FLOOR = 210.0
_TALL = 190.0
_ASIDE = 9.0  # between the points of two runs at the same length


# One episode in two runs.


def find_divergence(one: Trajectory, other: Trajectory) -> int:
    """Return the first step (from 1) at which two walks of an episode differ; 0 if none does.

    Walks differ in who moves or in the action; if one is the beginning of the other, at
    the step after its end.
    """
    pairs = zip_longest(one.steps, other.steps)
    for number, (step, other_step) in enumerate(pairs, 1):
        if step is None or other_step is None:
            return number  # one walk is the beginning of the other
        if step.actor != other_step.actor or _action(step) != _action(other_step):
            return number
    return 0


def _action(step: Step) -> object:
    """The action of a step; a rejected answer has none."""
    return getattr(step.decision, "action", "")


def _last_prompt(walk: Trajectory, number: int) -> list[str]:
    """Return the lines of the last prompt of step ``number``; none if there is no such prompt, or
    if it is too long to be compared."""
    if not 0 < number <= len(walk.steps):
        return []
    calls = walk.steps[number - 1].calls
    prompt = calls[-1].prompt if calls else ""
    if isinstance(prompt, str):
        text = prompt
    else:
        text = "\n".join(message.text for message in prompt)
    if len(text) >= _LONGEST:
        return []
    return text.split("\n")


def walks_page(
    names: Sequence[str],
    slugs: Sequence[str],
    records: Sequence[EpisodeRecord],
    sources: Sources,
) -> str:
    """Return the page of an episode in two runs, step next to step.

    ``names``, ``slugs`` and ``records`` are of both runs. Links lead to the step at
    which the walks diverge, and the last prompts of that step are compared line by
    line. Families without places get two maps instead of a shared one.
    """
    walks = [record.trajectory for record in records]
    letters = maps.letters_of(sources, *walks)
    sources = replace(sources, letters=letters)
    apart = find_divergence(*walks)
    # One map for both, so that the same place is the same point.
    named = list(zip(names, walks, strict=True))
    both = maps.together(named, sources, apart)
    one, other = (_last_prompt(walk, apart) for walk in walks)
    # The first two lines name the files that a diff compares; here there are none.
    changes = list(unified_diff(one, other, n=1, lineterm=""))[2:]
    prompts = [(line[0], line[1:]) for line in changes if line]
    documents = [Document.of(record, sources) for record in records]
    # Step next to step; the longer walk continues alone.
    rows = zip_longest(*(document.written["steps"] for document in documents))
    episode = walks[0].episode_id
    target = f"{address(episode)}#step-{max(1, apart)}"
    main = render(
        "walks.html",
        names=names,
        documents=documents,
        apart=apart,
        both=both,
        rows=rows,
        episode=episode,
        links=[f"run/{run}/{target}" for run in slugs],
        prompts=prompts,
    )
    return page(
        "walks_page.html",
        "compare",
        served=True,
        episode=episode,
        up=_query(slugs),
        main=letters.over(main),
    )


# Comparisons, computed on request and cached while nothing changes.

FORMS = ("markdown", "latex")
"""Formats of the table to copy."""
_MOST = 8  # runs next to the first one
_MAX_TEXTS = 400  # episodes whose instructions are shown
_SKETCHED = 24  # flips of each kind and pair that are shown with their walks

Lookup = Callable[[Rows, Sequence[str]], Sources]


class Pairs:
    """Comparison pages for a library's runs, cached until one of them changes.

    ``tasks`` looks up a run's tasks by id; ``soon`` returns only those available
    without delay. In all methods ``names`` are names or slugs of runs, of which the
    first is the baseline.
    """

    def __init__(self, library: Library, tasks: Lookup, soon: Lookup) -> None:
        self._library = library
        self._tasks = tasks
        self._soon = soon
        self._compared: Cache[differences.Compared] = Cache(12)
        self._tables: Cache[dict[str, str]] = Cache(12)
        self._flips: Cache[Flip] = Cache(1000)
        self._charts: Cache[str] = Cache(12)

    def page(self, names: Sequence[str]) -> str:
        """Return the page of a comparison; of many runs, the first ``_MOST`` after the baseline."""
        pairs, changed = self._run_pairs(names)
        # More runs than this would fill a page with tables that no one reads.
        rows = [self._library.rows(name) for name in names[: _MOST + 1]]
        key = tuple(each.cache_key for each in rows)
        paths = [each.run.path for each in rows]
        try:
            written = self._tables.get(key, lambda: reports.tables_of(paths, FORMS))
        except WaywordError:
            written = {}  # a folder without a table can still be looked at
        return compare_page(pairs, self._soon(rows[0], changed), written)

    def flips(self, names: Sequence[str]) -> str:
        """Return the lists of flips with their walks; empty for fewer than two runs.

        Walks are drawn for the first ``_SKETCHED`` of each kind and pair.
        """
        if len(names) < 2:
            return ""
        pairs, changed = self._run_pairs(names)
        sources = self._tasks(self._library.rows(names[0]), changed)
        flips = {}
        for pair in pairs:
            runs = [self._library.rows(name) for name in pair.slugs]
            gained = pair.gained[:_SKETCHED]
            lost = pair.lost[:_SKETCHED]
            for episode in (*gained, *lost):
                # A damaged record has no walk; the list still names its episode.
                with suppress(WaywordError, LookupError):
                    make = partial(Flip.of, episode, runs, sources)
                    key = (episode, *(rows.cache_key for rows in runs))
                    flips[pair.slugs, episode] = self._flips.get(key, make)
        return "".join(flips_parts(pairs, sources, flips))

    def lengths(self, names: Sequence[str]) -> str:
        """Plot success by length: one line per run, with 95% intervals; empty if no
        run's episodes have a length."""
        names = names[: _MOST + 1]
        runs = [self._library.rows(name) for name in names]
        key = tuple(rows.cache_key for rows in runs)
        return self._charts.get(key, lambda: self._length_chart(names, runs))

    def _length_chart(self, names: Sequence[str], runs: Sequence[Rows]) -> str:
        """Return the chart of :meth:`lengths`.

        All runs are split into the same ranges of lengths, by the tasks of all of their
        episodes; a run without lengths has no line.
        """
        ids: dict[str, None] = {}
        for rows in runs:
            ids.update(dict.fromkeys(rows.ids))
        parts = []
        present: set[str] = set()
        for name, rows in zip(names, runs, strict=True):
            tasks = self._some_tasks(rows, list(ids))
            metrics = {metric.key: metric for metric in rows.metrics}
            success = metrics.get(rows.success)
            if success is None:
                continue
            with suppress(WaywordError):  # its episodes have no length
                by_length = lengths.by_length(rows.run, tasks)
                present |= by_length.keys()
                title = self._library.find(name).name
                parts.append((title, success, by_length))
        if not parts:
            return ""
        # A label is "length 3" or "length 3 to 5": sorted by the shortest length that it holds.
        labels = sorted(present, key=lambda label: int(label.split()[1]))
        # Each range gets the same width: otherwise few long episodes would crowd the short
        # ones.
        wide = (_RIGHT - _LEFT) / max(1, len(labels))
        places = {}
        for number, label in enumerate(labels):
            places[label] = _LEFT + wide * (number + 0.5)
        # Episodes of each range, of each run; runs of the same episodes share them.
        counts: list[list[int]] = []
        for _, _, by_length in parts:
            of_run = [
                by_length[label].n if label in by_length else 0 for label in labels
            ]
            counts.append(of_run)
        if all(of_run == counts[0] for of_run in counts):
            counts = counts[:1]
        lines = []
        for number, (name, metric, by_length) in enumerate(parts):
            points = []
            bars = []
            # Side by side, so that no run covers another.
            aside = _ASIDE * (number - (len(parts) - 1) / 2)
            for label in labels:
                if label not in by_length:
                    continue
                row = by_length[label]
                summary = row.values[metric.key]
                x = places[label] + aside
                limits = {
                    "low": finite(summary.low),
                    "high": finite(summary.high),
                }
                mean = value(metric, summary.mean)
                of = f"{mean} of {count(row.n, 'episode')}"
                title = f"{name}, {label}: {of}; {interval(metric, limits)}"
                points.append((x, _height(summary.mean), title))
                # Without an interval, there is a point only.
                if not math.isnan(summary.low):
                    low = _height(summary.low)
                    high = _height(summary.high)
                    bars.append((x, low, high))
            lines.append((name, points, bars))
        return render(
            "lengths.html",
            lines=lines,
            places=places,
            counts=counts,
            joined=lengths.JOINED,
            floor=_FLOOR,
            tall=_TALL,
        )

    def _some_tasks(self, rows: Rows, ids: Sequence[str]) -> list[Task]:
        """Look up tasks some at a time: other pages read tasks, too."""
        tasks: dict[str, Task] = {}
        for start in range(0, len(ids), LISTED):
            part = ids[start : start + LISTED]
            opened = self._tasks(rows, part).tasks
            tasks |= {name: opened[name] for name in part if name in opened}
        return list(tasks.values())

    def walks(self, names: Sequence[str], episode: str) -> str:
        """Return the page of an episode in two runs. Raises ``WaywordError`` if one lacks it."""
        runs = [self._library.rows(name) for name in names]
        records = [rows.run.record(episode) for rows in runs]
        called = [self._library.find(name).name for name in names]
        slugs = list(map(slug, called))
        sources = self._tasks(runs[0], [episode])
        return walks_page(called, slugs, records, sources)

    def _run_pairs(self, names: Sequence[str]) -> tuple[list[RunPair], list[str]]:
        """Return the first run against each of the others, and the episodes that changed.

        An episode is gained if only the other run solved it, and lost if only the first
        one did. The episodes that changed are those that the page lists, at most
        ``_MAX_TEXTS`` in all, as their instructions are shown.
        """
        # The first run is the baseline of all comparisons.
        first, *others = names[: _MOST + 1]
        one = self._library.rows(first)
        first_name = self._library.find(first).name
        pairs = []
        for second in others:
            two = self._library.rows(second)
            second_name = self._library.find(second).name
            key = (one.cache_key, two.cache_key)
            make = partial(differences.compared, one.run.path, two.run.path)
            compared = self._compared.get(key, make)
            pair = RunPair(
                names=(first_name, second_name),
                slugs=(slug(first_name), slug(second_name)),
                differ=compared.differ,
                starts=compared.starts,
                comparison=compared.comparison,
                columns=(one.columns(), two.columns()),
                **_outcomes(one, two, compared.comparison),
            )
            pairs.append(pair)
        # Corrected together, as `wayword compare` does.
        results = corrected([pair.comparison for pair in pairs])
        pairs = [
            replace(pair, comparison=result)
            for pair, result in zip(pairs, results, strict=True)
        ]
        changed: dict[str, None] = {}
        for pair in pairs:
            changed |= dict.fromkeys(pair.gained[:LISTED])
            changed |= dict.fromkeys(pair.lost[:LISTED])
        return pairs, [*changed][:_MAX_TEXTS]


def _outcomes(one: Rows, two: Rows, comparison: Comparison) -> dict[str, Any]:
    """Return the fields of a ``RunPair`` that list its episodes by which run solved them.

    The episodes that only one run solved are sorted by the next metric with a better
    direction, since a larger difference tells more.
    """
    before = one.outcomes()
    after = two.outcomes()
    # Only episodes that both runs have scored can be compared.
    shared = [episode for episode in before if episode in after]
    groups: dict[tuple[bool, bool], list[str]] = {}
    for episode in shared:
        key = (is_solved(before[episode]), is_solved(after[episode]))
        groups.setdefault(key, []).append(episode)
    gained = groups.get((False, True), [])
    lost = groups.get((True, False), [])
    directed = [line.metric for line in comparison.lines if line.metric.better]
    graded = [metric for metric in directed[1:] if metric not in accounting.METRICS]
    order = graded[0] if graded else None
    if order is not None:
        first, second = (rows.values(order.key) for rows in (one, two))

        def gap(episode: str) -> float:
            return abs(second.get(episode, 0.0) - first.get(episode, 0.0))

        gained.sort(key=gap, reverse=True)
        lost.sort(key=gap, reverse=True)
    return {
        "gained": gained,
        "lost": lost,
        "both": groups.get((True, True), []),
        "neither": groups.get((False, False), []),
        "order": order,
    }


def _height(share: float) -> float:
    """Return the y of a share in the chart of success, whose axis points down."""
    return round(_FLOOR - _TALL * share, 1)

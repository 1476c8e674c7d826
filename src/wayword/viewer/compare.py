"""Two or more runs side by side: differences with intervals, and the episodes that differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from itertools import zip_longest
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Task
from wayword.core.errors import WaywordError
from wayword.core.metric import Metric
from wayword.core.trajectory import Trajectory
from wayword.metrics import accounting
from wayword.metrics.compare import Comparison, heading
from wayword.metrics.progress import count
from wayword.metrics.table import finite
from wayword.runs import reports
from wayword.runs.record import EpisodeRecord
from wayword.viewer import maps
from wayword.viewer.data import Sources
from wayword.viewer.document import Document
from wayword.viewer.figures import interval, overlay, value
from wayword.viewer.library import Cache, Library, Rows, address, slug
from wayword.viewer.markup import Html, page, render

LISTED = 200
"""Episodes of a list."""
_SPREADS = 6  # distributions that are drawn, at most
_CAUSES = 3  # of a failure that are listed
_LONGEST = 100_000  # characters of prompts that are compared


@dataclass(frozen=True, slots=True)
class RunPair:
    """Two compared runs: their names and slugs, each run's scores by metric, and the episodes that
    only the second solved, only the first, and both or none."""

    names: tuple[str, str]
    slugs: tuple[str, str]
    differ: Sequence[str]
    comparison: Comparison
    columns: tuple[Mapping[str, NDArray[np.float64]], Mapping[str, NDArray[np.float64]]]
    gained: Sequence[str] = ()
    lost: Sequence[str] = ()
    same: Sequence[str] = ()

    @property
    def heading(self) -> str:
        """Number of paired episodes, and the settings that differ between the runs."""
        if self.differ:
            differ = f" The runs differ in: {', '.join(self.differ)}."
        else:
            differ = ""
        return heading(self.comparison) + differ

    @property
    def verdict(self) -> str:
        """Who solved more of the shared episodes: ``navgpt wins 14, loses 6 of 60 pairs; SR +13.3%
        [2.0%, 24.0%]``; empty if no metric has a better direction."""
        lines = [line for line in self.comparison.lines if line.metric.better]
        if not lines:
            return ""
        line = lines[0]
        gap = line.difference
        won = f"{self.names[1]} wins {line.wins:,}, loses {line.losses:,}"
        pairs = count(self.comparison.shared, "pair")
        sign = "+" if gap.mean > 0 else ""
        change = f"{line.metric.label} {sign}{value(line.metric, gap.mean)}"
        if math.isnan(gap.low):
            return f"{won} of {pairs}; {change}"
        low = value(line.metric, gap.low)
        high = value(line.metric, gap.high)
        return f"{won} of {pairs}; {change} [{low}, {high}]"

    @property
    def differences(self) -> Sequence[tuple[Metric, Sequence[tuple[str, str]], str]]:
        """Rows of the table of differences: labeled cells, and the class that colors the difference
        if its interval, corrected within its family of tests, excludes 0."""
        rows = []
        for line in self.comparison.lines:
            metric = line.metric
            gap = line.difference
            between = f"{value(metric, gap.low)} to {value(metric, gap.high)}"
            better = gap.mean < 0 if metric.better == "lower" else gap.mean > 0
            sure = (gap.low > 0 or gap.high < 0) and metric.better
            wins, losses = (
                f"{n:,}" if metric.better else "–" for n in (line.wins, line.losses)
            )
            cells = (
                (self.names[0], value(metric, line.first)),
                (self.names[1], value(metric, line.second)),
                ("difference", f"{'+' if gap.mean > 0 else ''}{value(metric, gap.mean)}"),
                ("95%", "too few" if math.isnan(gap.low) else between),
                ("better", wins), ("worse", losses), ("same", f"{line.ties:,}"),
                ("p", "<0.001" if line.p < 0.001 else f"{line.p:.3f}".replace("nan", "–")),
            )  # fmt: skip
            rows.append((metric, cells, ("good" if better else "bad") if sure else ""))
        return rows

    @property
    def spreads(self) -> list[tuple[Metric, Html]]:
        """Overlaid distributions of both runs, for metrics that differ between episodes."""
        one, two = self.columns
        metrics = (
            line.metric for line in self.comparison.lines if line.metric.key in one
        )
        drawn = ((m, overlay(m, one[m.key], two.get(m.key, ()))) for m in metrics)
        return [(metric, svg) for metric, svg in drawn if svg is not None][:_SPREADS]

    def link(self, episode: str) -> str:
        return _query(self.slugs) + "&id=" + quote(episode, safe="", errors="replace")


def compare_page(
    pairs: Sequence[RunPair], sources: Sources, written: Mapping[str, str]
) -> str:
    """Return the page of some runs; ``written`` is the table of all in several formats."""
    return page(
        "compare_page.html", "compare", served=True, pairs=pairs, written=written,
        flips=flips_parts(pairs, sources, {}), account=accounting.METRICS, listed=LISTED,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Flip:
    """An episode that only one of two runs solved: both walks as a small map, the step (from 1) at
    which they diverge (0 if they do not), and the causes of the failure."""

    instruction: str
    sketch: Html | None
    apart: int
    causes: Sequence[str]

    @staticmethod
    def of(episode: str, runs: Sequence[Rows], sources: Sources) -> Flip:
        """Compare the outcomes in two runs. Raises ``WaywordError`` for a damaged record."""
        walks = [rows.run.record(episode).trajectory for rows in runs]
        apart = find_divergence(*walks)
        instruction = sources.instruction(episode)
        failed = [
            rows for rows in runs if rows.scored(episode).get(rows.success, 0.0) <= 0.5
        ]
        written = [
            (r.run.raw_record(episode)["trajectory"], r.scored(episode)) for r in failed
        ]
        causes = sources.causes(episode, *written[-1]) if written else {}
        named = [
            (rows.run.path.name, walk) for rows, walk in zip(runs, walks, strict=True)
        ]
        drawn = maps.together(named, sources, apart, small=True)
        return Flip(instruction, drawn, apart, [*causes][:_CAUSES])


Flips = Mapping[tuple[tuple[str, str], str], Flip]
"""Flips by the slugs of two runs and the episode."""


def flips_parts(pairs: Sequence[RunPair], sources: Sources, flips: Flips) -> list[Html]:
    """Return the episodes gained and lost, for each pair."""
    shared = {"sources": sources, "flips": flips, "most": LISTED}
    return [
        render("flips.html", pair=pair, number=n, **shared)
        for n, pair in enumerate(pairs)
    ]


def _query(slugs: Sequence[str]) -> str:
    return "compare?" + "&".join(f"run={slug}" for slug in slugs)


# Success by the length of the reference, all runs in one chart.

# Of the chart, in the drawing's units
_LEFT, _RIGHT, _FLOOR, _TALL = (
    44.0,
    630.0,
    210.0,
    190.0,
)


# One episode in two runs.


def find_divergence(one: Trajectory, other: Trajectory) -> int:
    """Return the first step (from 1) at which two walks of an episode differ; 0 if none does."""
    walks = (
        ((s.actor, getattr(s.decision, "action", "")) for s in w.steps)
        for w in (one, other)
    )
    return next((n for n, (a, b) in enumerate(zip_longest(*walks), 1) if a != b), 0)


def walks_page(
    names: Sequence[str],
    slugs: Sequence[str],
    records: Sequence[EpisodeRecord],
    sources: Sources,
) -> str:
    """Return the page of an episode in two runs. Families without places get two maps."""
    walks = [record.trajectory for record in records]
    letters = maps.letters_of(sources, *walks)
    sources = replace(sources, letters=letters)
    apart = find_divergence(*walks)
    both = maps.together([*zip(names, walks, strict=True)], sources, apart)
    texts = []  # of both runs' last prompts at the step where they diverge
    for walk in walks:
        calls = walk.steps[apart - 1].calls if 0 < apart <= len(walk.steps) else []
        prompt = calls[-1].prompt if calls else ""
        if isinstance(prompt, str):
            written = prompt
        else:
            written = "\n".join(m.content for m in prompt)
        texts.append(written.split("\n") if len(written) < _LONGEST else [])
    changes = [*unified_diff(texts[0], texts[1], n=1, lineterm="")][2:]
    documents = [Document.of(record, sources) for record in records]
    rows = zip_longest(*(document.written["steps"] for document in documents))
    main = render(
        "walks.html", names=names, documents=documents, apart=apart, both=both, rows=rows,
        episode=walks[0].episode_id,
        links=[f"run/{run}/{address(walks[0].episode_id)}#step-{max(1, apart)}" for run in slugs],
        prompts=[(line[0], line[1:]) for line in changes if line],
    )  # fmt: skip
    return page(
        "walks_page.html", "compare", served=True, episode=walks[0].episode_id,
        up=_query(slugs), main=letters.over(main),
    )  # fmt: skip


# Comparisons, computed on request and cached while nothing changes.

FORMS = ("markdown", "latex")
"""Formats of the table to copy."""
_MOST = 8  # runs next to the first one
_MAX_TEXTS = 400  # episodes whose instructions are shown
_SKETCHED = 24  # flips of each kind and pair that are shown with their walks

Lookup = Callable[[Rows, Sequence[str]], Sources]


class Pairs:
    """Comparison pages for a library's runs. ``tasks`` looks up a run's tasks by id; ``soon``
    returns only those available without delay."""

    def __init__(self, library: Library, tasks: Lookup, soon: Lookup) -> None:
        self._library = library
        self._tasks = tasks
        self._soon = soon
        self._compared: Cache[reports.Compared] = Cache(12)
        self._tables: Cache[dict[str, str]] = Cache(12)
        self._flips: Cache[Flip] = Cache(1000)
        self._charts: Cache[str] = Cache(12)

    def page(self, names: Sequence[str]) -> str:
        pairs, changed = self._run_pairs(names)
        rows = [self._library.rows(name) for name in names[: _MOST + 1]]
        key = tuple((r.run.path, r.version) for r in rows)
        paths = [r.run.path for r in rows]
        try:
            written = self._tables.get(key, lambda: reports.tables_of(paths, FORMS))
        except WaywordError:
            written = {}  # a folder without a table can still be looked at
        return compare_page(pairs, self._soon(rows[0], changed), written)

    def flips(self, names: Sequence[str]) -> str:
        if len(names) < 2:
            return ""
        pairs, changed = self._run_pairs(names)
        sources = self._tasks(self._library.rows(names[0]), changed)
        flips = {}
        for pair in pairs:
            runs = [self._library.rows(name) for name in pair.slugs]
            for episode in (*pair.gained[:_SKETCHED], *pair.lost[:_SKETCHED]):
                with suppress(WaywordError, LookupError):
                    key = (
                        *(part for r in runs for part in (r.run.path, r.version)),
                        episode,
                    )
                    make = partial(Flip.of, episode, runs, sources)
                    flips[pair.slugs, episode] = self._flips.get(key, make)
        return "".join(flips_parts(pairs, sources, flips))

    def lengths(self, names: Sequence[str]) -> str:
        """Plot success by length: one line per run, with its 95% intervals as a band; empty if no
        run's episodes have a length."""
        runs = [self._library.rows(name) for name in names[: _MOST + 1]]
        ids = [*dict.fromkeys(each for rows in runs for each in rows.ids)]

        def make() -> str:
            parts = []
            for name, rows in zip(names, runs, strict=False):
                tasks: dict[str, Task] = {}
                # Some at a time: other pages read tasks, too
                for at in range(0, len(ids), LISTED):
                    part = ids[at : at + LISTED]
                    opened = self._tasks(rows, part).tasks
                    tasks |= {each: opened[each] for each in part if each in opened}
                with suppress(WaywordError, StopIteration):
                    metric = next(
                        each for each in rows.metrics if each.key == rows.success
                    )
                    by_length = reports.by_length(rows.run, [*tasks.values()])
                    parts.append((self._library.find(name).name, metric, by_length))
            present = {label for _, _, by_length in parts for label in by_length}
            labels = sorted(present, key=lambda label: int(label.split()[1]))
            wide = (_RIGHT - _LEFT) / max(1, len(labels))
            places = {label: _LEFT + wide * (n + 0.5) for n, label in enumerate(labels)}
            lines = []
            for name, metric, by_length in parts:
                points = []
                band = list[tuple[float, float, float]]()
                for label in (each for each in labels if each in by_length):
                    row = by_length[label]
                    each = by_length[label].values[metric.key]
                    shares = (each.mean, each.low, each.high)
                    x = places[label]
                    y, low, high = (
                        round(_FLOOR - _TALL * share, 1) for share in shares
                    )
                    words = interval(
                        metric, {"low": finite(each.low), "high": finite(each.high)}
                    )
                    of = f"{value(metric, each.mean)} of {count(row.n, 'episode')}"
                    points.append((x, y, f"{name}, {label}: {of}; {words}"))
                    band += [] if math.isnan(each.low) else [(x, low, high)]
                lines.append((name, points, band))
            shared = {"lines": lines, "places": places, "floor": _FLOOR, "tall": _TALL}
            return render("lengths.html", **shared) if lines else ""

        return self._charts.get(
            tuple((rows.run.path, rows.version) for rows in runs), make
        )

    def walks(self, names: Sequence[str], episode: str) -> str:
        runs = [self._library.rows(name) for name in names]
        records = [rows.run.record(episode) for rows in runs]
        called = [self._library.find(name).name for name in names]
        sources = self._tasks(runs[0], [episode])
        return walks_page(called, [slug(each) for each in called], records, sources)

    def _run_pairs(self, names: Sequence[str]) -> tuple[list[RunPair], list[str]]:
        """The first run against each of the others, and the episodes gained or lost."""
        first, *others = names[: _MOST + 1]
        one = self._library.rows(first)
        pairs = []
        for second in others:
            two = self._library.rows(second)
            key = (one.run.path, one.version, two.run.path, two.version)
            make = partial(reports.compared, one.run.path, two.run.path)
            compared = self._compared.get(key, make)
            before = one.outcomes()
            after = two.outcomes()
            shared = [
                (k, before[k] > 0.5, after[k] > 0.5) for k in before if k in after
            ]
            called = self._library.find(first).name, self._library.find(second).name
            columns = one.columns(), two.columns()
            slugs = slug(called[0]), slug(called[1])
            differ = compared.differ
            comparison = compared.comparison
            pairs.append(RunPair(
                called, slugs, differ, comparison, columns, [k for k, a, b in shared if a < b],
                [k for k, a, b in shared if a > b], [k for k, a, b in shared if a == b],
            ))  # fmt: skip
        changed = dict.fromkeys(
            k for s in pairs for k in (*s.gained[:LISTED], *s.lost[:LISTED])
        )
        return pairs, [*changed][:_MAX_TEXTS]

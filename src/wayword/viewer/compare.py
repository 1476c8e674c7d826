"""Two runs or more side by side: differences with intervals, and the episodes that differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import Decision
from wayword.core.errors import WaywordError
from wayword.core.trajectory import Trajectory
from wayword.metrics import accounting
from wayword.metrics.compare import Comparison, MetricDifference, heading
from wayword.runs import reports
from wayword.viewer.data import Sources
from wayword.viewer.figures import overlay, title, value
from wayword.viewer.library import Kept, Library, Rows, slug
from wayword.viewer.maps import generic
from wayword.viewer.maps.generic import letters_of
from wayword.viewer.markup import Html, join, page, tag
from wayword.viewer.steps import label

LISTED = 200
"""Episodes of a list."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Two runs that are compared: their names and slugs, each shared episode's success, and each
    run's scores by metric."""

    names: tuple[str, str]
    slugs: tuple[str, str]
    differ: Sequence[str]
    found: Comparison
    outcomes: Mapping[str, tuple[float, float]]
    columns: tuple[Mapping[str, NDArray[np.float64]], Mapping[str, NDArray[np.float64]]]

    @property
    def gained(self) -> list[str]:
        """The episodes that the second run alone solved."""
        return [k for k, (a, b) in self.outcomes.items() if a <= 0.5 < b]

    @property
    def lost(self) -> list[str]:
        """Those that the first run alone solved."""
        return [k for k, (a, b) in self.outcomes.items() if b <= 0.5 < a]


def compare_page(pairs: Sequence[Sides], texts: Sources, written: Mapping[str, str]) -> str:
    """The document: the first run against each of the others, and all of them in one table that is
    ``written`` in several ways."""
    first = pairs[0].names[0]
    top = _top("./?all=1", "‹ all runs", "compare")
    head = tag("header", tag("h1", "Against ", tag("bdi", first)), class_="head")
    parts = [part for sides in pairs for part in _pair(sides, texts)]
    body = join([top, tag("main", head, *parts, _copied(written), class_="wide")])
    return page(f"Compare {first} · Wayword", body, "compare", served=True)


def _pair(sides: Sides, texts: Sources) -> list[Html | None]:
    first, second = sides.names
    differ = f"The runs differ in: {', '.join(sides.differ)}." if sides.differ else ""
    return [
        tag("h2", tag("bdi", second), " minus ", tag("bdi", first)),
        tag("p", heading(sides.found), " ", differ, class_="dim"),
        _table(sides),
        _spreads(sides),
        tag("div", _episodes("Gained", sides.gained, sides, texts),
            _episodes("Lost", sides.lost, sides, texts), class_="sides"),
        _others(sides, texts),
    ]  # fmt: skip


_HEADS = ("Difference", "95% interval", "Better", "Worse", "Same", "p")
_SPREADS = 6
"""Distributions that are drawn, at most."""
_SMALL = "p: paired permutation test, two-sided, not corrected for there being several."


def _region(table: Html, words: str, *more: Html) -> Html:
    """A table that scrolls by itself where it is too wide."""
    return tag("div", table, *more, class_="scroll", tabindex=0, role="region", aria_label=words)


def _walk_address(episode: str, slugs: Sequence[str]) -> str:
    asked = "&".join(f"run={slug}" for slug in slugs)
    return f"compare?{asked}&id={quote(episode, safe='', errors='replace')}"


def _copied(written: Mapping[str, str]) -> Html | None:
    """All runs in one table, to be copied into a paper or an issue."""
    if not written:
        return None
    texts = [tag("div", tag("h3", form), tag("pre", text, class_="said copied")) for form, text in
             written.items()]  # fmt: skip
    return tag("details", tag("summary", "One table of these runs, to copy"), *texts)


def _spreads(sides: Sides) -> Html | None:
    """Both runs' distributions over each other, of the measures that differ between episodes."""
    one, two = sides.columns
    metrics = [line.metric for line in sides.found.lines if line.metric.key in one]
    drawn = [(each, overlay(each, one[each.key], two.get(each.key, ()))) for each in metrics]
    cards = [
        tag("div", tag("h3", title(metric), title=metric.doc), svg, class_="metric")
        for metric, svg in drawn
        if svg is not None
    ]
    if not cards:
        return None
    signs = [tag("li", tag("i", class_=f"k walk{n}"), tag("bdi", name), " (all its episodes)")
             for n, name in enumerate(sides.names)]  # fmt: skip
    return tag(
        "section", tag("div", *cards[:_SPREADS], class_="cards"), tag("ul", *signs, class_="legend")
    )


def _table(sides: Sides) -> Html:
    heads = [tag("th", "Metric", scope="col")]
    heads += [tag("th", tag("bdi", name), scope="col") for name in sides.names]
    heads += [tag("th", words, scope="col") for words in _HEADS]
    lines = [_line(line, sides.names) for line in sides.found.lines]
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *lines), class_="table")
    return _region(table, "Differences", tag("p", _SMALL, class_="dim"))


def _line(line: MetricDifference, names: tuple[str, str]) -> Html:
    metric, gap = line.metric, line.difference
    sign = "+" if gap.mean > 0 else ""
    sure = not math.isnan(gap.low) and (gap.low > 0 or gap.high < 0)
    better = gap.mean < 0 if metric.better == "lower" else gap.mean > 0
    kind = ("good" if better else "bad") if sure and metric.better else ""
    low, high = (value(metric, each) for each in (gap.low, gap.high))
    sure_of = "too few" if math.isnan(gap.low) else f"{low} to {high}"
    wins, losses = (f"{n:,}" if metric.better else "–" for n in (line.wins, line.losses))
    chance = "–" if math.isnan(line.p) else "<0.001" if line.p < 0.001 else f"{line.p:.3f}"
    cells = [
        tag("td", value(metric, line.first), class_="n", data_label=names[0]),
        tag("td", value(metric, line.second), class_="n", data_label=names[1]),
        tag("td", f"{sign}{value(metric, gap.mean)}", class_=f"n {kind}", data_label="difference"),
        tag("td", sure_of, class_="n", data_label="95%"),
        *(tag("td", text, class_="n", data_label=words) for words, text in
          (("better", wins), ("worse", losses), ("same", f"{line.ties:,}"))),
        tag("td", chance, class_="n", data_label="p"),
    ]  # fmt: skip
    own = "" if metric not in accounting.METRICS else "took"
    return tag("tr", tag("th", title(metric), scope="row", title=metric.doc), *cells, class_=own)


def _episodes(words: str, ids: Sequence[str], sides: Sides, texts: Sources) -> Html:
    items = [
        tag("li", _link(each, sides), " ", _said(each, texts.instruction(each)))
        for each in ids[:LISTED]
    ]
    left = len(ids) - len(items)
    more = tag("p", f"and {left:,} more", class_="dim") if left else None
    none = tag("p", "none", class_="dim") if not ids else None
    return tag("section", tag("h3", f"{words}: {len(ids):,}"), tag("ul", *items), more, none)


def _said(episode: str, words: str) -> Html:
    """An instruction; the page's script asks for one that is not known yet."""
    return tag("span", words, class_="dim", data_of=None if words else episode)


def _others(sides: Sides, texts: Sources) -> Html:
    same = [k for k, (a, b) in sides.outcomes.items() if (a > 0.5) == (b > 0.5)]
    items = [tag("li", _link(each, sides)) for each in same[:LISTED]]
    return tag("details", tag("summary", f"Same outcome: {len(same):,}"), tag("ul", *items))


def _link(episode: str, sides: Sides) -> Html:
    return tag("a", tag("bdi", episode), href=_walk_address(episode, sides.slugs))


def parting(one: Trajectory, other: Trajectory) -> int:
    """The first step, from 1, at which two walks of one episode differ; 0 where none does."""
    for number, (a, b) in enumerate(zip(one.steps, other.steps, strict=False), 1):
        if (a.actor, _done(a.decision)) != (b.actor, _done(b.decision)):
            return number
    shorter = min(len(one.steps), len(other.steps))
    return 0 if len(one.steps) == len(other.steps) else shorter + 1


def _done(decision: object) -> object:
    return decision.action if isinstance(decision, Decision) else "rejected"


def walks_page(
    names: Sequence[str], slugs: Sequence[str], walks: Sequence[Trajectory], sources: Sources
) -> str:
    """One episode in two runs: both walks on one map, step by step, and where they part. Families
    without places have two maps."""
    one, other = walks
    letters = letters_of(sources, *walks)
    sources = replace(sources, letters=letters)
    apart, episode = parting(one, other), one.episode_id
    up = "compare?" + "&".join(f"run={slug}" for slug in slugs)
    words = f"They part at step {apart}." if apart else "Both did the same."
    asked = f"episode?id={quote(episode, safe='', errors='replace')}#step-{max(1, apart)}"
    links = [
        tag("h2", tag("a", tag("bdi", name), href=f"run/{slug}/{asked}"))
        for name, slug in zip(names, slugs, strict=True)
    ]
    both = generic.together([*zip(names, walks, strict=True)], sources, apart)
    each = [generic.draw(walk, sources) for walk in walks] if both is None else [None, None]
    columns = [tag("section", link, own) for link, own in zip(links, each, strict=True)]
    head = tag(
        "header",
        tag("h1", tag("bdi", episode)),
        tag("blockquote", sources.instruction(episode)),
        tag("p", words, class_="lead"),
        class_="head",
    )
    main = tag(
        "main",
        head,
        tag("div", *columns, class_="sides"),
        both,
        _steps(names, walks, apart),
        class_="wide",
    )
    body = join([_top(up, "‹ compare", episode), letters.over(main)])
    return page(f"{episode} · compare · Wayword", body, "compare", served=True)


def _top(up: str, back: str, words: str) -> Html:
    here = tag("span", tag("bdi", words), class_="grow")
    return tag("nav", tag("a", back, href=up, rel="up"), here, class_="top")


def _steps(names: Sequence[str], walks: Sequence[Trajectory], apart: int) -> Html:
    rows = []
    for number in range(1, max(len(walk.steps) for walk in walks) + 1):
        done = [
            label(walk.steps[number - 1]) if number <= len(walk.steps) else "–" for walk in walks
        ]
        cells = [tag("td", each) for each in done]
        kind = "apart" if number == apart else None
        rows.append(tag("tr", tag("th", str(number), scope="row"), *cells, class_=kind))
    heads = [tag("th", words, scope="col") for words in ("Step", *names)]
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="table")
    return _region(table, "Steps side by side")


# Runs that are compared, made when they are asked for and kept while nothing changes.

FORMS = ("markdown", "latex")
"""How the table to copy is written."""
_MOST = 8
"""Runs beside the first one."""
_TOLD = 400
"""Episodes whose instructions are told."""

Lookup = Callable[[Rows, Sequence[str]], Sources]


class Pairs:
    """Pages of a library's runs side by side. ``tasks`` looks up a run's tasks by their ids,
    ``soon`` those that cost no time."""

    def __init__(self, library: Library, tasks: Lookup, soon: Lookup) -> None:
        self._library, self._tasks, self._soon = library, tasks, soon
        self._compared: Kept[reports.Compared] = Kept(12)
        self._tables: Kept[dict[str, str]] = Kept(12)

    def page(self, names: Sequence[str]) -> str:
        """The first run against each of the others."""
        pairs, told = self._pairs(names)
        rows = [self._library.rows(name) for name in names[: _MOST + 1]]
        return compare_page(pairs, self._soon(rows[0], told), self._table(rows))

    def texts(self, names: Sequence[str]) -> dict[str, str]:
        """The instructions of the episodes that the page lists as gained or lost."""
        if len(names) < 2:
            return {}
        told = self._pairs(names)[1]
        sources = self._tasks(self._library.rows(names[0]), told)
        return {each: sources.instruction(each) for each in told}

    def _pairs(self, names: Sequence[str]) -> tuple[list[Sides], list[str]]:
        """The first run against each of the others, and the episodes gained or lost."""
        first, *others = names[: _MOST + 1]
        pairs = [self._sides(first, other) for other in others]
        told = dict.fromkeys(k for s in pairs for k in (*s.gained[:LISTED], *s.lost[:LISTED]))
        return pairs, [*told][:_TOLD]

    def walks(self, names: Sequence[str], episode: str) -> str:
        """One episode in two runs."""
        several = [self._library.rows(name) for name in names]
        walks = [rows.run.record(episode).trajectory for rows in several]
        called = [self._library.find(name).name for name in names]
        sources = self._tasks(several[0], [episode])
        return walks_page(called, [slug(each) for each in called], walks, sources)

    def _sides(self, first: str, second: str) -> Sides:
        one, two = self._library.rows(first), self._library.rows(second)
        key = (one.run.path, one.version, two.run.path, two.version)
        found = self._compared.get(key, lambda: reports.compared(one.run.path, two.run.path))
        before, after = one.outcomes(), two.outcomes()
        shared = {name: (before[name], after[name]) for name in before if name in after}
        names = self._library.find(first).name, self._library.find(second).name
        columns = one.tally().columns, two.tally().columns
        slugs = slug(names[0]), slug(names[1])
        return Sides(names, slugs, found.differ, found.found, shared, columns)

    def _table(self, runs: Sequence[Rows]) -> dict[str, str]:
        """All of the runs in one table, by the way it is written."""
        key, paths = (
            tuple((rows.run.path, rows.version) for rows in runs),
            [r.run.path for r in runs],
        )
        try:
            return self._tables.get(key, lambda: reports.tables_of(paths, FORMS))
        except WaywordError:
            return {}  # a folder without a table can still be looked at

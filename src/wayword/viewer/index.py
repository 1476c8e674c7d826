"""The page of a run: what came out, why episodes failed, and every episode in a table."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Json
from wayword.core.metric import Metric
from wayword.metrics import accounting
from wayword.runs.config import caveats_of
from wayword.runs.plan import cast_of
from wayword.viewer import words as seeing
from wayword.viewer.causes import CAUSES
from wayword.viewer.data import Sources
from wayword.viewer.figures import column, histogram, interval, title, value, whisker
from wayword.viewer.library import Found, Head, Rows, Tally, slug
from wayword.viewer.markup import Html, data, join, page, tag, visible

ACCOUNT = ("steps", "rejections", "prompt_tokens", "completion_tokens", "cost", "seconds")
"""Accounting metrics that the table of episodes shows."""
_MAIN = ("sr", "tc", "ne", "spd", "spl", "ndtw", "goal_sr", "psr")
_EFFICIENCY = ("spl", "spl_visible", "spl_challenge", "plw_sr", "sdtw", "ndtw", "reward", "kpa")
"""What stands beside the success measure, the first one that a run has."""
_LISTED = 200


@dataclass(frozen=True)
class Overview:
    """All that the page of a run is made of.

    ``row`` is the run's row of ``wayword table --format json``, empty before the first episode
    ends, and ``pages`` maps episodes to the addresses of their pages. Served pages leave out what
    takes time: ``row`` has means without intervals then, and ``later`` says that the page is to
    ask for the rest. ``causes`` are those of each episode without success, as far as they are
    known. ``remote``: rows are asked for, too. ``going`` names where to hear of a run that goes on.
    """

    name: str
    rows: Rows
    row: Mapping[str, Any]
    heads: Sequence[Head]
    sources: Sources
    pages: Mapping[str, str]
    command: str = ""
    written: datetime = field(default_factory=lambda: datetime.now(UTC))
    causes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    served: bool = False
    later: bool = False
    remote: bool = False
    going: str = ""

    @property
    def config(self) -> Mapping[str, Any]:
        """The run's settings and identity."""
        return self.rows.run.config

    @cached_property
    def tally(self) -> Tally:
        """The episodes counted."""
        return self.rows.tally()


def index_page(run: Overview) -> str:
    """The whole document."""
    top = tag(
        "nav",
        tag("a", "‹ all runs", href="../../", rel="up"),
        tag("span", tag("bdi", run.name), class_="grow"),
        tag("a", "compare", href=f"../../compare?run={slug(run.name)}") if run.served else None,
        class_="top",
    )
    main = tag(
        "main", _head(run), metrics_part(run), causes_part(run), _table(run), _what(run),
        class_="wide",
    )  # fmt: skip
    body = join([top if run.served else None, main, data("data", _data(run))])
    return page(f"{run.name} · Wayword", body, "index", run.served)


def _caveats(run: Overview) -> Sequence[str]:
    """What the figures rest on: the row knows more than the settings once episodes have ended."""
    told: Sequence[str] = run.row.get("caveats") or caveats_of(run.config)
    return told


def _head(run: Overview) -> Html:
    identity = run.config["identity"]
    models = seeing.as_mapping(identity.get("models") or {})
    chips = [cast_of(identity), *map(str, models.values())]
    chips += [str(identity.get("dataset", ""))]
    notice = run.sources.notice
    return tag(
        "header",
        tag("h1", tag("bdi", run.name)),
        tag("p", *(tag("span", chip, class_="chip") for chip in chips if chip)),
        tag("p", _counts(run), class_="lead"),
        tag("p", notice, class_="why", id="notice", hidden=not notice),
        *(tag("p", f"Note: {line}.", class_="why") for line in _caveats(run)),
        _live(run),
        class_="head",
    )


def _counts(run: Overview) -> Html:
    done, failed = run.tally.done, run.tally.failed
    of = run.config.get("episodes_in_split")
    said = f" of {of:,} episodes" if isinstance(of, int) else " episodes"
    parts: list[str] = [tag("b", f"{done:,}", id="done"), said]
    parts += [", ", tag("b", f"{failed:,} failed")] if failed else []
    when = "" if run.served else f" Written {run.written:%Y-%m-%d %H:%M} UTC."
    return join([*parts, f".{when}"])


def _live(run: Overview) -> Html | None:
    """Where the episodes under way are told of, in a run that is going on."""
    if not run.going:
        return None
    fresh = tag("button", "show the new episodes", type="button", id="reload")
    return tag(
        "div",
        tag("p", tag("b", "Going on."), " ", tag("span", fresh, id="stale", hidden=True)),
        tag("ul", id="under-way", aria_label="Episodes under way"),
        class_="live",
        id="live",
        hidden=True,
    )


def metrics_part(run: Overview) -> Html:
    """Success, efficiency, steps and cost large; every metric below, folded away."""
    if not run.row:
        return tag("p", "No episode has ended yet.", class_="lead")
    columns = run.tally.columns
    cards = {
        metric.key: _card(metric, found, columns.get(metric.key, np.empty(0)))
        for metric in run.rows.metrics
        if (found := run.row["metrics"].get(metric.key)) is not None
    }
    large = [key for key in headline(run.row, run.rows.success) if key in cards]
    rest = [card for key, card in cards.items() if key not in large]
    words = f"All metrics: {len(rest)} more"
    return tag(
        "section",
        tag("div", *(cards[key] for key in large), class_="cards large"),
        tag("details", tag("summary", words), tag("div", *rest, class_="cards")) if rest else None,
        aria_label="Metrics",
        data_later="metrics" if run.later else None,
    )


def headline(row: Mapping[str, Any], success: str) -> list[str]:
    """Keys of the success measure, an efficiency, steps and cost that a run's row has."""
    there = {key for key, found in row.get("metrics", {}).items() if found}
    efficient = next((key for key in _EFFICIENCY if key in there and key != success), "")
    return [key for key in (success, efficient, "steps", "cost") if key in there]


def _card(metric: Metric, found: Mapping[str, float | None], scores: NDArray[np.float64]) -> Html:
    alike = len(scores) > 1 and bool(scores.min() == scores.max())
    words = f"in all {len(scores):,} episodes" if alike else interval(metric, found)
    return tag(
        "div",
        tag("h3", title(metric), title=metric.doc),
        tag("p", value(metric, found.get("mean")), class_="big"),
        tag("p", words if "low" in found or alike else "interval to come", class_="dim"),
        whisker(metric, found),
        histogram(metric, scores),
        class_="metric",
    )


def causes_part(run: Overview) -> Html | None:
    """How many episodes without success show each sign; a press filters the table by it."""
    known, lost = run.causes, run.tally.lost
    if not lost:
        return None
    if not known:
        return tag(
            "section", tag("p", "Looking at why episodes failed …", class_="dim"),
            class_="causes", data_later="causes", aria_label="Why episodes failed",
        ) if run.later else None  # fmt: skip
    counts = Counter(cause for found in known.values() for cause in found)
    most = max(counts.values(), default=1)
    rows = [
        tag(
            "button",
            tag("span", name(cause)), tag("meter", value=counts[cause], max=most, min=0),
            tag("b", f"{counts[cause]:,}"),
            type="button", data_cause=cause, aria_pressed="false", title=CAUSES[cause],
        )
        for cause in CAUSES
        if counts[cause]
    ]  # fmt: skip
    words = f"Why {lost:,} episodes failed, by the look of their records"
    return tag("section", tag("h2", words), tag("div", *rows), class_="causes", aria_label=words)


def name(cause: str) -> str:
    """``passed the goal`` for ``passed_goal``."""
    return {"passed_goal": "passed the goal", "rejected": "rejected answers"}.get(
        cause, cause.replace("_", " ")
    )


def _table(run: Overview) -> Html:
    search = tag(
        "input", type="search", id="search", placeholder="Filter by id or instruction",
        aria_label="Filter by id or instruction", autocomplete="off",
    )  # fmt: skip
    kinds = ["all", *filter(None, run.tally.endings)]
    ended = _select("ended", "Filter by ending", {k: k.replace("_", " ") for k in kinds}, "ended: ")
    causes = _select(
        "cause", "Filter by cause", {"all": "all", **{c: name(c) for c in CAUSES}}, "cause: "
    )
    groups = {
        "": "none",
        "outcome": "outcome",
        "cause": "cause",
        "ended": "ending",
        "scene": "scene",
    }
    group = None if run.remote else _select("group", "Group by", groups, "group: ")
    columns = tag(
        "details", tag("summary", "columns"), tag("div", id="columns", class_="choices"),
        class_="columns",
    )  # fmt: skip
    count = tag("output", id="count", aria_live="polite")
    order = tag("select", id="sort", aria_label="Sort by")
    chosen = tag("span", id="filters")
    table = tag("table", tag("thead", tag("tr")), tag("tbody"), id="episodes")
    return tag(
        "section",
        tag("div", search, ended, causes, group, order, columns, chosen, count, class_="bar"),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="Episodes"),
        tag("div", id="more"),
        _bare(run),
        _missing(run),
        aria_label="Table of episodes",
    )


def _select(key: str, label: str, options: Mapping[str, str], before: str) -> Html:
    found = [tag("option", f"{before}{words}", value=each) for each, words in options.items()]
    return tag("select", *found, id=key, aria_label=label)


def _bare(run: Overview) -> Html:
    links = [
        tag("li", tag("a", head.episode_id, href=run.pages[head.episode_id]))
        for head in run.heads[:_LISTED]
        if head.episode_id in run.pages
    ]
    return tag("noscript", tag("p", "The table needs JavaScript; pages:"), tag("ul", *links))


def _missing(run: Overview) -> Html | None:
    without = len(run.heads) - len(run.pages)
    if without <= 0 or run.served:
        return None
    return tag(
        "p", f"{len(run.pages):,} of {len(run.heads):,} episodes have a page. For others: ",
        tag("code", f"{run.command} --episode ID"), ", a higher ", tag("code", "--limit"),
        ", or leave out ", tag("code", "--write"), ".", class_="dim",
    )  # fmt: skip


def _shown(run: Overview) -> list[str]:
    """The metrics of the table: the family's two main ones, then what the episodes took."""
    there = set(run.tally.columns)
    own = [m for m in run.rows.metrics if m.key in there and m not in accounting.METRICS]
    order = [run.rows.success, *_MAIN]
    own.sort(key=lambda m: order.index(m.key) if m.key in order else len(order))
    account = [m for m in run.rows.metrics if m.key in there and m.key in ACCOUNT]
    return [metric.key for metric in (*own[:2], *account)]


def _data(run: Overview) -> Json:
    return {
        "columns": [
            {"key": m.key, "label": column(m), "kind": m.kind, "better": m.better, "doc": m.doc}
            for m in run.rows.metrics
        ],
        "shown": _shown(run),
        "keys": [m.key for m in run.rows.metrics],
        "success": run.rows.success,
        "causes": [{"key": cause, "label": name(cause)} for cause in CAUSES],
        "of": len(run.heads),
        "remote": run.remote,
        "later": "texts" if run.later else "",
        "live": run.going,
        "version": run.rows.version if run.served else "",
        "rows": [] if run.remote else [row_of(run, head) for head in run.heads],
    }


def row_of(run: Overview, head: Head) -> list[Json]:
    """A row as the page's script has it: id, text, link, ending, causes, scene, scores."""
    text, causes, scene = text_of(run, head)
    return [
        visible(head.episode_id),
        text,
        run.pages.get(head.episode_id),
        head.ended,
        causes,
        scene,
        *(_number(head.scores.get(metric.key)) for metric in run.rows.metrics),
    ]


def text_of(run: Overview, head: Head) -> tuple[str, list[int], str]:
    """The instruction, and before it why the episode failed; numbers of causes; the scene."""
    order = list(CAUSES)
    parts = (head.error, run.sources.instruction(head.episode_id))
    text = " · ".join(part for part in parts if part)
    causes = [order.index(cause) for cause in run.causes.get(head.episode_id, ())]
    return visible(text), causes, visible(run.sources.scene(head.episode_id))


def _number(score: float | None) -> float | None:
    if score is None or not math.isfinite(score):
        return None
    if score.is_integer() and abs(score) < 100_000:
        return int(score)
    return float(f"{score:.5g}")


def _what(run: Overview) -> Html:
    identity, config = run.config["identity"], run.config
    told = {
        "agent": cast_of(identity),
        "models": identity.get("models"),
        "dataset": identity.get("dataset"),
        "perception": config.get("perception"),
        "seed": identity.get("seed"),
        "steps at most": identity.get("max_steps"),
        "shuffle": identity.get("shuffle"),
        "shard": identity.get("shard"),
        "started": config.get("started"),
        "split checksum": identity.get("data_checksum"),
        "folder": str(run.rows.run.path),
    }
    settings = {
        key: identity[key] for key in ("settings", "actors", "model_settings", "dataset_settings")
        if identity.get(key)
    }  # fmt: skip
    whole = tag("pre", json.dumps(config, indent=2, default=str), class_="said", tabindex=0)
    return tag(
        "section", tag("h2", "What was run"), seeing.facts(told), _totals(run),
        _folded("Settings", settings),
        _folded("Versions", config.get("versions") or {}),
        _folded("Checksums of the data files (SHA-256)", config.get("checksums") or {}),
        tag("details", tag("summary", "run.json"), whole), class_="what",
    )  # fmt: skip


def _totals(run: Overview) -> Html | None:
    totals = run.row.get("totals") or {}
    known = {metric.key: metric for metric in run.rows.metrics}
    told = {
        f"{title(metric).lower()} in all": value(metric, total)
        for key, total in totals.items()
        if total is not None and (metric := known.get(key)) is not None
    }
    return seeing.facts(told)


def _folded(title: str, held: Any) -> Html | None:
    inner = seeing.facts(held)
    return tag("details", tag("summary", title), inner) if inner else None


# The first page of the viewer: every run of a folder, with its figures.


@dataclass(frozen=True, slots=True)
class RunCard:
    """One run: where its page is, what was run, and how it stands.

    ``figures`` are (metric, mean) pairs: success, efficiency, steps and cost. ``status`` is
    ``going on``, ``complete``, ``part`` or ``unreadable``; then ``notice`` says why.
    """

    name: str
    href: str
    agent: str = ""
    model: str = ""
    dataset: str = ""
    family: str = ""
    status: str = ""
    done: int = 0
    of: int = 0
    failed: int = 0
    dollars: float | None = None
    started: str = ""
    notice: str = ""
    figures: Sequence[tuple[Metric, float | None]] = field(default_factory=tuple)
    folder: str = ""


def home_page(where: str, cards: Sequence[RunCard], live: str = "live") -> str:
    """The whole document."""
    lead = tag("p", f"{len(cards):,} in ", tag("code", where), class_="lead")
    play = tag("p", tag("a", "Play an episode yourself", href="play"))
    head = tag("header", tag("h1", "Runs"), lead, play, class_="head")
    rows = data("data", {"rows": [_words_of(card) for card in cards], "live": live})
    body = join([tag("main", head, _runs_table(cards), class_="wide"), rows])
    return page("Runs · Wayword", body, "home", served=True)


def _runs_table(cards: Sequence[RunCard]) -> Html:
    search = tag(
        "input", type="search", id="search", placeholder="Filter by name, agent, model or dataset",
        aria_label="Filter by name, agent, model or dataset", autocomplete="off",
    )  # fmt: skip
    press = tag("button", "compare", type="button", id="compare", disabled=True)
    words = tag("span", "choose two runs to compare them", class_="dim", id="hint")
    heads = ["", "Run", "Agent and model", "Dataset", "Episodes", "Success", "Efficiency"]
    heads += ["Steps", "Cost"]
    empty = tag("p", "No run folder yet. Make one: ", tag("code", "wayword demo"), class_="lead")
    table = tag(
        "table",
        tag(
            "thead",
            tag("tr", *(tag("th", head, scope="col") if head else tag("td") for head in heads)),
        ),
        tag("tbody", *map(_row, cards)),
        id="runs",
        class_="table",
    )
    return tag(
        "section",
        tag("div", search, press, words, tag("output", id="count"), class_="bar"),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="Runs")
        if cards else empty,
        aria_label="Table of runs",
    )  # fmt: skip


def _row(card: RunCard) -> Html:
    who = join([card.agent, tag("br"), tag("small", card.model)] if card.model else [card.agent])
    pick = tag("input", type="checkbox", data_run=card.href, aria_label=f"compare {card.name}")
    cells = [
        tag("td", pick, class_="pick"),
        tag("th", tag("a", tag("bdi", card.name), href=card.href), scope="row", class_="id"),
        tag("td", who),
        tag("td", card.dataset),
        tag("td", *_progress(card), class_="n", data_label="episodes"),
        *(_figure(*each) for each in _placed(card)),
    ]
    return tag("tr", *cells, data_run=card.href, class_=card.status.replace(" ", "-"))


_PLACES = ("success", "efficiency", "steps", "cost")


def _placed(card: RunCard) -> list[tuple[Metric | None, float | None]]:
    """The figures, each in its column."""
    found: dict[str, tuple[Metric | None, float | None]] = dict.fromkeys(_PLACES, (None, None))
    for metric, mean in card.figures:
        key = metric.key if metric.key in found else "success"
        key = "efficiency" if key == "success" and found["success"][0] else key
        found[key] = metric, mean
    return [found[place] for place in _PLACES]


def _figure(metric: Metric | None, mean: float | None) -> Html:
    if metric is None:
        return tag("td", "–", class_="n")
    small = tag("small", title(metric)) if metric.key not in _PLACES else None
    told = (value(metric, mean), " ", small)
    return tag("td", *told, class_="n", data_label=column(metric), title=metric.doc)


def _progress(card: RunCard) -> list[Html | str | None]:
    if card.notice:
        return [tag("span", card.notice, class_="why")]
    most = max(1, card.of)
    meter = tag("meter", value=card.done, max=most, min=0, aria_label="finished")
    failed = tag("small", f"{card.failed:,} failed", class_="bad") if card.failed else None
    of = f" of {card.of:,}" if card.of else ""
    return [tag("span", f"{card.done:,}", class_="done"), f"{of} ", meter if card.of else None, " ",
            tag("small", card.status, class_="status"), failed]  # fmt: skip


def _words_of(card: RunCard) -> Json:
    """What the page's script filters by."""
    words = " ".join((card.name, card.agent, card.model, card.dataset, card.status))
    return {"href": card.href, "words": visible(words).lower()}


def means(row: Mapping[str, Any], key: str) -> float | None:
    """A metric's mean in a run's row, None where there is none."""
    found = row.get("metrics", {}).get(key) or {}
    mean = found.get("mean")
    return None if mean is None else float(mean)


def line_of(card: RunCard, each: Found) -> str:
    """``going on     3/20  SR 33.3%  runs/first  (navgpt, openai:m, houses:test)`` for a run."""
    if card.notice:
        return f"{card.notice}  {each.path}"
    found = [f"{metric.label} {value(metric, mean)}" for metric, mean in card.figures[:1]]
    count = f"{card.done}/{card.of}"
    what = ", ".join(filter(None, (card.agent, card.model, card.dataset)))
    return f"{card.status:<9} {count:>11}  {''.join(found):<16}  {each.path}  ({what})"

"""The first page: what was run, what came out, and every episode in a table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from wayword.core.episode import Json
from wayword.core.metric import Metric
from wayword.metrics import accounting, table
from wayword.runs.config import caveats_of
from wayword.runs.parts import cast_of
from wayword.viewer import words as seeing
from wayword.viewer.data import Head, Sources
from wayword.viewer.markup import Html, data, join, page, tag, visible

# Numbers as people read them, and the small histograms beside them.

_BINS = 12
_UNITS = {"rate": ("", "%"), "metres": ("", " m"), "seconds": ("", " s"), "dollars": ("$", "")}


@dataclass(frozen=True, slots=True)
class Bin:
    """Values from ``low`` up to ``high``; ``high`` itself is in only in the last bin."""

    low: float
    high: float
    count: int


def value(metric: Metric, score: float | None) -> str:
    """With its unit: ``46.7%``, ``7.37 m``, ``$0.0012``. A dash for a number that is none."""
    if score is None or math.isnan(score):
        return "–"
    if math.isinf(score):
        return "∞"
    if metric.kind == "seconds" and score < 1:
        return f"{1000 * score:.0f} ms"
    plain = metric.kind == "count" and float(score).is_integer()
    text = table.number(metric, score, 0 if plain else _digits(metric, score))
    before, after = _UNITS.get(metric.kind, ("", ""))
    return f"{before}{text}{after}"


def _digits(metric: Metric, score: float) -> int | None:
    """Decimals; as in tables, but zero and a whole percentage need none of them."""
    if score == 0 and metric.kind == "dollars":
        return 2
    whole = metric.kind == "rate" and score in (0.0, 1.0)
    return 0 if whole else None


def title(metric: Metric) -> str:
    """What the metric is called here: there is room to write the accounting's out in full."""
    if metric in accounting.METRICS:
        return metric.key.replace("_", " ").capitalize()
    return metric.label


def column(metric: Metric) -> str:
    """The head of a table's column, short and with its unit."""
    return f"{metric.label} tok." if metric.kind == "tokens" else table.label(metric)


def interval(metric: Metric, found: Mapping[str, float | None]) -> str:
    """``95%: 38.1 to 55.2%``, or why there is none."""
    low, high = found.get("low"), found.get("high")
    if low is None or high is None:
        return "too few episodes for an interval"
    first, last = value(metric, low), value(metric, high)
    unit = _UNITS.get(metric.kind, ("", ""))[1]
    if unit and first.endswith(unit) and last.endswith(unit) and not first.endswith("ms"):
        first = first.removesuffix(unit)
    return f"95%: {first} to {last}"


def bins(metric: Metric, scores: Sequence[float]) -> list[Bin]:
    """At most twelve bins of equal width over the finite scores; none for no scores.

    Yes-or-no rates have two, other rates ten from 0 to 1, and small whole numbers one each.
    """
    finite = [score for score in scores if math.isfinite(score)]
    if not finite:
        return []
    low, high = min(finite), max(finite)
    if metric.kind == "rate":
        if set(finite) <= {0.0, 1.0}:
            return [Bin(0.0, 0.5, finite.count(0.0)), Bin(0.5, 1.0, finite.count(1.0))]
        return _binned(finite, 0.0, 1.0, 10) if low >= 0 and high <= 1 else _even(finite)
    if all(score.is_integer() for score in map(float, finite)) and high - low < _BINS:
        return _binned(finite, low, high + 1, int(high - low) + 1)
    return _even(finite)


def _within(score: float, each: Bin, last: bool) -> bool:
    return each.low <= score < each.high or (last and score == each.high)


def _words(metric: Metric, each: Bin, held: set[float]) -> str:
    """The one value that the bin holds, or from where to where it goes."""
    if len(held) == 1:
        return value(metric, held.pop())
    return f"{value(metric, each.low)} to {value(metric, each.high)}"


def _even(finite: Sequence[float]) -> list[Bin]:
    low, high = min(finite), max(finite)
    return _binned(finite, low, high if high > low else low + 1, _BINS if high > low else 1)


def _binned(finite: Sequence[float], low: float, high: float, count: int) -> list[Bin]:
    width = (high - low) / count
    counts = [0] * count
    for score in finite:
        counts[min(count - 1, max(0, int((score - low) / width)))] += 1
    return [Bin(low + i * width, low + (i + 1) * width, n) for i, n in enumerate(counts)]


def histogram(metric: Metric, scores: Sequence[float]) -> Html | None:
    """Bars that the page's script makes into filters by their ``data-low`` and ``data-high``.

    None where all scores are the same: there is nothing to see and nothing to filter.
    """
    if len(set(scores)) < 2:
        return None
    found = bins(metric, scores)
    if not found:
        return None
    most = max(each.count for each in found)
    step = 120 / len(found)
    bars = []
    for at, each in enumerate(found):
        height = 0 if each.count == 0 else max(1.5, 34 * each.count / most)
        last = at == len(found) - 1
        words = _words(metric, each, {s for s in scores if _within(s, each, last)})
        left, wide = round(at * step, 2), round(step, 2)
        hit = tag("rect", x=left, y=0, width=wide, height=36, class_="hit")
        bar = tag(
            "rect", x=round(left + 0.75, 2), y=round(36 - height, 1), class_="bar",
            width=round(wide - 1.5, 2), height=round(height, 1), rx=1,
        )  # fmt: skip
        group = tag(
            "g", tag("title", f"{words}: {each.count:,}"), hit, bar,
            data_key=metric.key, data_low=repr(each.low), data_high=repr(each.high),
            data_last=last, data_words=f"{title(metric)} {words}",
        )  # fmt: skip
        bars.append(group)
    return tag(
        "svg", *bars, viewBox="0 0 120 37", class_="histogram", role="img",
        preserveAspectRatio="none", aria_label=f"distribution of {title(metric)}",
    )  # fmt: skip


ACCOUNT = ("steps", "rejections", "prompt_tokens", "completion_tokens", "cost", "seconds")
"""Accounting metrics that the table of episodes shows."""
_MAIN = ("sr", "tc", "ne", "spd", "spl", "ndtw", "goal_sr", "psr")
_LISTED = 200


@dataclass(frozen=True, slots=True)
class Overview:
    """All that the first page is made of.

    ``row`` is the run's row of ``wayword table --format json``, empty before the first episode
    ends; ``pages`` maps episodes to the files of their pages.
    """

    name: str
    path: str
    config: Mapping[str, Any]
    row: Mapping[str, Any]
    metrics: Sequence[Metric]
    heads: Sequence[Head]
    sources: Sources
    pages: Mapping[str, str]
    command: str = ""
    written: datetime = field(default_factory=lambda: datetime.now(UTC))


def index_page(run: Overview) -> str:
    """The whole document."""
    body = join(
        [
            tag("main", _head(run), _cards(run), _table(run), _what(run), class_="wide"),
            data("data", _data(run)),
        ]
    )
    return page(f"{run.name} · Wayword", body, "index")


def _head(run: Overview) -> Html:
    identity = run.config["identity"]
    models = seeing.as_mapping(identity.get("models") or {})
    chips = [cast_of(identity), *map(str, models.values())]
    chips += [str(identity.get("dataset", ""))]
    return tag(
        "header",
        tag("h1", tag("bdi", run.name)),
        tag("p", *(tag("span", chip, class_="chip") for chip in chips if chip)),
        tag("p", _counts(run), class_="lead"),
        tag("p", run.sources.notice, class_="why") if run.sources.notice else None,
        *(tag("p", f"Note: {line}.", class_="why") for line in caveats_of(run.config)),
        class_="head",
    )


def _counts(run: Overview) -> Html:
    done = sum(head.ended != "failed" for head in run.heads)
    failed = len(run.heads) - done
    of = run.config.get("episodes_in_split")
    parts = [tag("b", f"{done:,}"), f" of {of:,} episodes" if isinstance(of, int) else " episodes"]
    parts += [", ", tag("b", f"{failed:,} failed")] if failed else []
    return join([*parts, f". Written {run.written:%Y-%m-%d %H:%M} UTC."])


def _cards(run: Overview) -> Html | None:
    if not run.row:
        return tag("p", "No episode has ended yet.", class_="lead")
    scored = [head.scores for head in run.heads if head.ended != "failed"]
    own: list[Html] = []
    took: list[Html] = []
    for metric in run.metrics:
        found = run.row["metrics"].get(metric.key)
        if found is not None:
            scores = [score[metric.key] for score in scored if metric.key in score]
            group = took if metric in accounting.METRICS else own
            group.append(_card(metric, found, scores))
    return tag(
        "section",
        tag("div", *own, class_="cards"),
        tag("div", *took, class_="cards took"),
        aria_label="Metrics",
    )


def _card(metric: Metric, found: Mapping[str, float | None], scores: Sequence[float]) -> Html:
    alike = len(scores) > 1 and len(set(scores)) == 1
    words = f"in all {len(scores):,} episodes" if alike else interval(metric, found)
    return tag(
        "div",
        tag("h3", title(metric), title=metric.doc),
        tag("p", value(metric, found.get("mean")), class_="big"),
        tag("p", words, class_="dim"),
        histogram(metric, scores),
        class_="metric",
    )


def _table(run: Overview) -> Html:
    search = tag(
        "input", type="search", id="search", placeholder="Filter by id or instruction",
        aria_label="Filter by id or instruction", autocomplete="off",
    )  # fmt: skip
    kinds = ["all", *dict.fromkeys(head.ended for head in run.heads if head.ended)]
    options = [tag("option", kind.replace("_", " "), value=kind) for kind in kinds]
    ended = tag("select", *options, id="ended", aria_label="Filter by ending")
    count = tag("output", id="count", aria_live="polite")
    links = [
        tag("li", tag("a", head.episode_id, href=f"episodes/{run.pages[head.episode_id]}"))
        for head in run.heads
        if head.episode_id in run.pages
    ][:_LISTED]
    bare = tag("noscript", tag("p", "The table needs JavaScript; pages:"), tag("ul", *links))
    return tag(
        "section",
        tag("div", search, ended, tag("span", id="filters"), count, class_="bar"),
        tag(
            "div",
            tag("table", tag("thead", tag("tr")), tag("tbody"), id="episodes"),
            class_="scroll",
        ),
        tag("div", id="more"),
        bare,
        _missing(run),
        aria_label="Episodes",
    )


def _missing(run: Overview) -> Html | None:
    without = len(run.heads) - len(run.pages)
    if without <= 0:
        return None
    return tag(
        "p",
        f"{len(run.pages):,} of {len(run.heads):,} episodes have a page. For others: ",
        tag("code", f"{run.command} --episode ID"),
        " or a higher ",
        tag("code", "--limit"),
        ".",
        class_="dim",
    )


def columns(run: Overview) -> list[Metric]:
    """The metrics of the table: the family's two main ones, then what the episodes took."""
    there = {key for head in run.heads for key in head.scores}
    own = [m for m in run.metrics if m.key in there and m not in accounting.METRICS]
    own.sort(key=lambda m: _MAIN.index(m.key) if m.key in _MAIN else len(_MAIN))
    account = [m for m in run.metrics if m.key in there and m.key in ACCOUNT]
    return [*own[:2], *account]


def _data(run: Overview) -> Json:
    shown = columns(run)
    described = [
        {"key": m.key, "label": column(m), "kind": m.kind, "better": m.better, "doc": m.doc}
        for m in shown
    ]
    every = [m.key for m in run.metrics]
    rows = [
        [
            visible(head.episode_id),
            visible(_text(run, head)),
            run.pages.get(head.episode_id),
            head.ended,
            *(_number(head.scores.get(key)) for key in every),
        ]
        for head in run.heads
    ]
    return {"columns": described, "keys": every, "rows": rows}


def _text(run: Overview, head: Head) -> str:
    """The instruction; before it, why the episode failed."""
    parts = (head.error, run.sources.instruction(head.episode_id))
    return " · ".join(part for part in parts if part)


def _number(score: float | None) -> float | None:
    if score is None or not math.isfinite(score):
        return None
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
        "folder": run.path,
    }
    settings = {
        key: identity[key] for key in ("settings", "actors", "model_settings", "dataset_settings")
        if identity.get(key)
    }  # fmt: skip
    return tag(
        "section",
        tag("h2", "What was run"),
        seeing.facts(told),
        _totals(run),
        _folded("Settings", settings),
        _folded("Versions", config.get("versions") or {}),
        _folded("Checksums of the data files (SHA-256)", config.get("checksums") or {}),
        tag(
            "details",
            tag("summary", "config.json"),
            tag("pre", json.dumps(config, indent=2, default=str), class_="said"),
        ),
        class_="what",
    )


def _totals(run: Overview) -> Html | None:
    totals = run.row.get("totals") or {}
    known = {metric.key: metric for metric in run.metrics}
    told = {
        f"{title(metric).lower()} in all": value(metric, total)
        for key, total in totals.items()
        if total is not None and (metric := known.get(key)) is not None
    }
    return seeing.facts(told)


def _folded(title: str, held: Any) -> Html | None:
    inner = seeing.facts(held)
    return tag("details", tag("summary", title), inner) if inner else None

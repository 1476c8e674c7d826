"""The first page: what was run, what came out, and every episode in a table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from wayword.core.episode import Json
from wayword.evaluation import accounting
from wayword.evaluation.metric import Metric
from wayword.experiment.cast import cast_of
from wayword.viewer import numbers, seeing
from wayword.viewer.markup import Html, data, join, page, tag, visible
from wayword.viewer.reading import Head
from wayword.viewer.sources import Sources

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
    words = f"in all {len(scores):,} episodes" if alike else numbers.interval(metric, found)
    return tag(
        "div",
        tag("h3", numbers.title(metric), title=metric.doc),
        tag("p", numbers.value(metric, found.get("mean")), class_="big"),
        tag("p", words, class_="dim"),
        numbers.histogram(metric, scores),
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
        {"key": m.key, "label": numbers.column(m), "kind": m.kind, "better": m.better, "doc": m.doc}
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
        f"{numbers.title(metric).lower()} in all": numbers.value(metric, total)
        for key, total in totals.items()
        if total is not None and (metric := known.get(key)) is not None
    }
    return seeing.facts(told)


def _folded(title: str, held: Any) -> Html | None:
    inner = seeing.facts(held)
    return tag("details", tag("summary", title), inner) if inner else None

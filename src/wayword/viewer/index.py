"""The page of a run: results, causes of failure, and a table of all episodes; and the home page of
the viewer: all runs of a folder, with their figures."""

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

from wayword.core.episode import Json, JsonObject
from wayword.core.geometry import Floats
from wayword.core.metric import Metric
from wayword.core.visible import spaced, visible
from wayword.metrics import accounting
from wayword.metrics.mistakes.causes import CAUSES, label_of, meaning_of
from wayword.runs.config import caveats_of
from wayword.runs.identity import cast_of
from wayword.viewer.data import Sources
from wayword.viewer.figures import column, interval, title, value
from wayword.viewer.library import Head, NamedRun, Rows, address, slug, standing
from wayword.viewer.markup import Html, page, render

ACCOUNT = (
    "steps",
    "rejections",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "seconds",
)
"""Accounting metrics that the table of episodes shows."""
_MAIN = ("sr", "tc", "ne", "spd", "spl", "ndtw", "goal_sr", "psr")
_EFFICIENCY = (
    "spl",
    "spl_grounded",
    "spl_visible",
    "spl_challenge",
    "plw_sr",
    "sdtw",
    "ndtw",
    "reward",
    "kpa",
)
"""Shown next to the success measure: the first of these that a run has."""
_MOST_LINKS = 200  # for browsers without a script


@dataclass(frozen=True)
class Overview:
    """Content of a run's page.

    ``row`` is the run's row of ``wayword table --format json``, empty before the first
    episode ends, and ``pages`` maps episodes to the addresses of their pages in files.
    Served pages omit what is slow: ``row`` then has means without intervals, and
    ``later`` makes the page request the rest. ``causes`` maps episodes without success
    to their known causes. ``remote``: rows are requested, too. ``live`` is the address
    of a live run's events.
    """

    name: str
    rows: Rows
    row: Mapping[str, Any]
    heads: Sequence[Head]
    sources: Sources
    pages: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    written: datetime = field(default_factory=lambda: datetime.now(UTC))
    causes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    served: bool = False
    later: bool = False
    remote: bool = False
    live: str = ""

    @cached_property
    def total(self) -> int:
        """The number of episodes that the run is to have, or has if that is unknown."""
        return standing(self.rows)[2]

    @property
    def config(self) -> JsonObject:
        """The run's ``run.json``."""
        return self.rows.run.config

    @cached_property
    def columns(self) -> Mapping[str, Floats]:
        """Scores by metric, an array (N,) each."""
        return self.rows.columns()

    @cached_property
    def unsolved(self) -> int:
        """The number of episodes without success."""
        return len(self.rows.unsolved())

    def page_of(self, episode: str) -> str | None:
        """Return the address of an episode's page; None if it has no page."""
        if self.served:
            return address(episode)
        return self.pages.get(episode)


def index_page(run: Overview) -> str:
    """Return the whole document of a run's page."""
    # Once episodes have ended, the row has more caveats than the settings.
    caveats: Sequence[str] = run.row.get("caveats") or caveats_of(run.config)
    endings = ["all"]
    if run.rows.failed:
        endings.append("failed")
    endings += [ending for ending in run.rows.index.endings() if ending]
    links = []
    for head in run.heads[:_MOST_LINKS]:
        href = run.page_of(head.episode_id)
        if href:
            links.append((head.episode_id, href))
    return page(
        "run_page.html",
        "index",
        run.served,
        run=run,
        slug=slug(run.name),
        caveats=caveats,
        cast=cast_of(run.config["identity"]),
        endings=dict.fromkeys(endings),
        causes=CAUSES,
        links=links,
        data_rows=_data(run),
        metrics=metrics_part(run),
        failures=causes_part(run),
        settings=_settings(run),
    )


def metrics_part(run: Overview) -> Html:
    """Render success, efficiency, steps and cost in large type, and all metrics in a
    folded table.
    """
    if not run.row:
        return render("metrics.html", run=run, large=[], cards=[])
    # By key: the metric, its row of the table, and its interval in words
    cards: dict[str, tuple[Metric, JsonObject, str]] = {}
    for metric in run.rows.metrics:
        row = run.row["metrics"].get(metric.key)
        if row is None:
            continue
        # Equal scores say nothing of a metric without bounds. A rate keeps its interval: none of
        # five is not none.
        scores = run.columns.get(metric.key, np.empty(0))
        words = "interval pending"
        same = len(scores) > 1 and scores.min() == scores.max()
        if same and metric.kind != "rate":
            words = f"the same in all {len(scores):,} episodes"
        elif "low" in row:
            words = interval(metric, row)
        cards[metric.key] = metric, row, words
    main = headline(run.row, run.rows.success)
    large = [cards.pop(key) for key in main if key in cards]
    return render("metrics.html", run=run, large=large, cards=[*cards.values()])


def headline(row: JsonObject, success: str) -> list[str]:
    """Return the keys of success, efficiency, steps and cost in a run's row.

    Of a robot, which no metric judges, what it found and its metres. Always four, so that the
    cards of runs line up; a key is empty if the row lacks it.
    """
    metrics = row.get("metrics", {})
    present = {key for key, summary in metrics.items() if summary}
    # Agents without a model cost nothing.
    if "cost" in present and not metrics["cost"]["mean"]:
        present.remove("cost")
    if success not in present:
        success = "found"
    efficient = ""
    for key in (*_EFFICIENCY, "metres"):
        if key in present and key != success:
            efficient = key
            break
    main = (success, efficient, "steps", "cost")
    return [key if key in present else "" for key in main]


def causes_part(run: Overview) -> Html | None:
    """Count episodes without success by cause; a click on a cause filters the table.

    None if all episodes were solved, or if no cause is known and none will be
    requested.
    """
    if not run.unsolved or not (run.causes or run.later):
        return None
    # An episode may have several causes, so the bars add up to more than the episodes.
    counts: Counter[str] = Counter()
    for causes in run.causes.values():
        counts.update(causes)
    keys = run.rows.index.keys
    rows = []
    for cause in CAUSES:
        if counts[cause]:
            meaning = meaning_of(cause, keys)
            rows.append((cause, label_of(cause), meaning, counts[cause]))
    # The most frequent first; of equally frequent ones, the most informative.
    rows.sort(key=lambda row: -row[-1])
    return render("causes.html", run=run, rows=rows)


def _data(run: Overview) -> Json:
    """Return the data for the page's script: columns, causes, rows.

    ``static/index.js`` reads it; the keys of a row are those of ``row_of``.
    """
    metrics = run.rows.metrics
    columns = run.columns
    # Shown at first: the family's two main metrics, then what the episodes took.
    order = [run.rows.success, *_MAIN]

    def rank(metric: Metric) -> int:
        if metric.key in order:
            return order.index(metric.key)
        return len(order)

    scored = [metric for metric in metrics if metric.key in columns]
    family = [metric for metric in scored if metric not in accounting.METRICS]
    family.sort(key=rank)
    # Columns of zeros would say nothing, as tokens and cost of an agent without a model.
    account = [
        metric
        for metric in scored
        if metric.key in ACCOUNT and columns[metric.key].any()
    ]
    # The script requests what a large run's page leaves out, and what takes long.
    count = len(run.heads)
    rows: list[Json] = []
    if run.remote:
        count = len(run.rows)
    else:
        rows += [row_of(run, head) for head in run.heads]
    return {
        "columns": [
            {
                "key": metric.key,
                "label": column(metric),
                "kind": metric.kind,
                "better": metric.better,
                "doc": metric.doc,
            }
            for metric in metrics
        ],
        "shown": [metric.key for metric in (*family[:2], *account)],
        "keys": [metric.key for metric in metrics],
        "success": run.rows.success,
        "causes": [{"key": cause, "label": label_of(cause)} for cause in CAUSES],
        "of": count,
        "failed": run.unsolved > 0 or bool(run.live),
        "search": "search" if run.later else "",
        "remote": run.remote,
        "later": "texts" if run.later else "",
        "live": run.live,
        "version": run.rows.version if run.served else "",
        "rows": rows,
    }


def row_of(run: Overview, head: Head) -> list[Json]:
    """Return a row for the page's script: id, text, link, ending, causes, scene, scores.

    Scores are in the order of the run's metrics.
    """
    text, causes, scene = text_of(run, head)
    episode = head.episode_id
    scores = []
    for metric in run.rows.metrics:
        score = head.scores.get(metric.key, math.nan)
        scores.append(_number(score))
    link = run.page_of(episode)
    return [visible(episode), text, link, head.ended, causes, scene, *scores]


def _number(score: float) -> Json:
    """Return a score as short as the page shows it; None for one that JSON has no number for."""
    if not math.isfinite(score):
        return None
    if score.is_integer() and abs(score) < 100_000:
        return int(score)
    # The page rounds again: two more digits than it shows keep 34.0849 from becoming 34.09.
    return float(f"{score:.7g}")


def text_of(run: Overview, head: Head) -> tuple[str, list[int], str]:
    """Return the instruction, after the reason of a failure; the numbers of causes; the scene.

    Causes are given by their position in ``CAUSES``.
    """
    # The instruction of a single actor belongs to what a reader searches for.
    episode = head.episode_id
    sources = run.sources
    private = sources.private_instructions(episode)
    parts = (head.error, *private.values(), sources.instruction(episode))
    text = " · ".join(filter(None, parts))
    order = list(CAUSES)
    numbers = [order.index(cause) for cause in run.causes.get(episode, ())]
    scene = visible(sources.scene(episode))
    return visible(text), numbers, scene


def _settings(run: Overview) -> JsonObject:
    """Return the run's configuration: settings, versions and files, long ones by their titles."""
    identity = run.config["identity"]
    config = run.config
    details = {
        "agent": cast_of(identity),
        "models": identity["models"],
        "dataset": identity["dataset"],
        "perception": config["perception"],
    }
    for key in ("seed", "max_steps", "shuffle", "shard"):
        details[spaced(key)] = identity.get(key)
    details |= {
        "started": config["started"],
        "split checksum": identity["data_checksum"],
        "folder": str(run.rows.run.path),
    }
    metrics = {m.key: m for m in run.rows.metrics}
    totals = run.row.get("totals") or {}
    for key, total in totals.items():
        if total is not None and key in metrics:
            name = title(metrics[key]).lower()
            details[f"{name} in all"] = value(metrics[key], total)
    # Long values are folded: a page begins with what differs between runs.
    keys = ("settings", "actors", "model_settings", "dataset_settings")
    folded = {
        "Settings": {key: identity[key] for key in keys if identity.get(key)},
        "Versions": config["versions"],
        "Checksums of the data files (SHA-256)": config["checksums"],
    }
    # The file as a whole, for what no heading above covers.
    raw = json.dumps(config, indent=2, default=str)
    return {"details": details, "folded": folded, "raw": raw}


# The first page of the viewer: every run of a folder, with its figures.


HeadlineFigure = tuple[Metric | None, float | None]
"""A metric and its mean; None for one that the run does not have."""


@dataclass(frozen=True)
class RunCard:
    """A row of the home page: a run folder with its status and headline figures.

    ``figures`` are (metric, mean) of success, efficiency, steps and cost; ``status`` is
    ``running``, ``complete``, ``partial`` or, with a ``notice``, ``unreadable``. ``of`` is
    the size of the split, or of a running run the number of episodes that it is to have.
    """

    name: str
    href: str
    agent: str = ""
    model: str = ""
    dataset: str = ""
    status: str = ""
    done: int = 0
    of: int = 0
    failed: int = 0
    started: str = ""
    notice: str = ""
    figures: Sequence[HeadlineFigure] = ((None, None),) * 4


def line_of(card: RunCard, run: NamedRun) -> str:
    """Return a run's card as a line for the terminal.

    ``running      3 of 20  SR 33.3%  runs/first  (navgpt, openai:m, houses:test)``
    """
    if card.notice:
        return f"{card.notice}  {run.path}"
    metric, mean = card.figures[0]
    score = ""
    if metric:
        score = f"{metric.label} {value(metric, mean)}"
    # In columns, so that several runs can be compared by eye.
    # A finished run may be of a part of its split.
    count = f"{card.done:,} of {card.of:,}"
    if card.done == card.of:
        count = f"{card.done:,}"
    parts = (card.agent, card.model, card.dataset)
    what = ", ".join(filter(None, parts))
    return f"{card.status:<9} {count:>11}  {score:<16}  {run.path}  ({what})"

"""The first page of the viewer: every run of a folder, with its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wayword.core.episode import Json
from wayword.core.metric import Metric
from wayword.viewer.figures import column, title, value
from wayword.viewer.library import Found
from wayword.viewer.markup import Html, data, join, page, tag, visible


@dataclass(frozen=True, slots=True)
class Card:
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


def home_page(where: str, cards: Sequence[Card], live: str = "live") -> str:
    """The whole document."""
    body = join(
        [
            tag(
                "main",
                tag(
                    "header",
                    tag("h1", "Runs"),
                    tag("p", f"{len(cards):,} in ", tag("code", where), class_="lead"),
                    tag("p", tag("a", "Play an episode yourself", href="play")),
                    class_="head",
                ),
                _table(cards),
                class_="wide",
            ),
            data("data", {"rows": [row_of(card) for card in cards], "live": live}),
        ]
    )
    return page("Runs · Wayword", body, "home", served=True)


def _table(cards: Sequence[Card]) -> Html:
    search = tag(
        "input", type="search", id="search", placeholder="Filter by name, agent, model or dataset",
        aria_label="Filter by name, agent, model or dataset", autocomplete="off",
    )  # fmt: skip
    press = tag("button", "compare", type="button", id="compare", disabled=True)
    words = tag("span", "choose two runs to compare them", class_="dim", id="hint")
    heads = (
        "",
        "Run",
        "Agent and model",
        "Dataset",
        "Episodes",
        "Success",
        "Efficiency",
        "Steps",
        "Cost",
    )
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


def _row(card: Card) -> Html:
    who = join([card.agent, tag("br"), tag("small", card.model)] if card.model else [card.agent])
    pick = tag("input", type="checkbox", data_run=card.href, aria_label=f"compare {card.name}")
    shown = {
        key: (metric, mean)
        for key, (metric, mean) in zip(_PLACES, _placed(card), strict=True)
        if metric
    }
    cells = [
        tag("td", pick, class_="pick"),
        tag("th", tag("a", tag("bdi", card.name), href=card.href), scope="row", class_="id"),
        tag("td", who),
        tag("td", card.dataset),
        tag("td", *_progress(card), class_="n", data_label="episodes"),
        *(_figure(shown.get(place)) for place in _PLACES),
    ]
    return tag("tr", *cells, data_run=card.href, class_=card.status.replace(" ", "-"))


_PLACES = ("success", "efficiency", "steps", "cost")


def _placed(card: Card) -> list[tuple[Metric | None, float | None]]:
    """The figures, each in its column."""
    found: dict[str, tuple[Metric | None, float | None]] = dict.fromkeys(_PLACES, (None, None))
    for metric, mean in card.figures:
        key = metric.key if metric.key in found else "success"
        key = "efficiency" if key == "success" and found["success"][0] else key
        found[key] = metric, mean
    return [found[place] for place in _PLACES]


def _figure(found: tuple[Metric | None, float | None] | None) -> Html:
    metric, mean = found or (None, None)
    if metric is None:
        return tag("td", "–", class_="n")
    small = tag("small", title(metric)) if metric.key not in _PLACES else None
    return tag(
        "td",
        value(metric, mean),
        " ",
        small,
        class_="n",
        data_label=column(metric),
        title=metric.doc,
    )


def _progress(card: Card) -> list[Html | str | None]:
    if card.notice:
        return [tag("span", card.notice, class_="why")]
    meter = (
        tag("meter", value=card.done, max=max(1, card.of), min=0, aria_label="finished")
        if card.of
        else None
    )
    failed = tag("small", f"{card.failed:,} failed", class_="bad") if card.failed else None
    of = f" of {card.of:,}" if card.of else ""
    return [tag("span", f"{card.done:,}", class_="done"), f"{of} ", meter, " ",
            tag("small", card.status, class_="status"), failed]  # fmt: skip


def row_of(card: Card) -> Json:
    """What the page's script filters by."""
    words = " ".join((card.name, card.agent, card.model, card.dataset, card.status))
    return {"href": card.href, "words": visible(words).lower()}


def means(row: Mapping[str, Any], key: str) -> float | None:
    """A metric's mean in a run's row, None where there is none."""
    found = row.get("metrics", {}).get(key) or {}
    mean = found.get("mean")
    return None if mean is None else float(mean)


def line_of(card: Card, each: Found) -> str:
    """``going on     3/20  SR 33.3%  runs/first  (navgpt, openai:m, houses:test)`` for a run."""
    if card.notice:
        return f"{card.notice}  {each.path}"
    found = [f"{metric.label} {value(metric, mean)}" for metric, mean in card.figures[:1]]
    count = f"{card.done}/{card.of}"
    what = ", ".join(filter(None, (card.agent, card.model, card.dataset)))
    return f"{card.status:<9} {count:>11}  {''.join(found):<16}  {each.path}  ({what})"

"""The pages of games: where one is begun, a seat at a table, and what who watches sees.

    /play                        begin a game
    /play/GAME/                  its seats
    /play/GAME/seat?as=ACTOR     what the actor is shown, and what it may do
    /play/GAME/watch             every turn, and the questions of agents

A page is a frame; its board is made anew by the server whenever something happens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from wayword.agents.person import Situation
from wayword.core import registry
from wayword.core.action import Action, ActionSpace
from wayword.metrics import accounting
from wayword.runs.config import metrics_of
from wayword.runs.play import Game
from wayword.runs.record import RunFolder
from wayword.viewer import figures
from wayword.viewer.letters import Letters
from wayword.viewer.maps.seen import arrows, seen
from wayword.viewer.markup import Child, Html, join, page, tag
from wayword.viewer.play import Line, Seat, Table

SHOWN = 4
"""Metrics of the family that are shown, beside the steps."""
_FEW = 14
"""Choices of a verb up to which all of them are in view."""
_LINES = 30


def begin_page(asked: Mapping[str, str]) -> str:
    """The form that begins a game. ``asked`` are values to begin with."""

    def field(name: str, label: str, **more: str) -> Html:
        shown = tag("input", name=name, value=asked.get(name, ""), autocomplete="off", **more)
        return tag("label", tag("span", label), shown)

    chosen, _, split = asked.get("on", "houses").partition(":")
    datasets = [
        tag("option", name, value=name, selected=name == chosen)
        for name in registry.names("dataset")
    ]
    form = tag(
        "form",
        tag("label", tag("span", "Dataset"), tag("select", *datasets, name="on")),
        tag(
            "label", tag("span", "Split"),
            tag("input", name="split", value=asked.get("split", split), placeholder="the first one",
                autocomplete="off"),
        ),
        field("episode", "Episode", placeholder="the next that you have not played"),
        field("as", "You are", placeholder="the first actor"),
        field("with", "Everybody else is played by", placeholder="human, or an agent's name"),
        tag("button", "Play", type="submit", class_="press"),
        tag("p", class_="why", id="problem", hidden=True),
        id="begin",
    )  # fmt: skip
    told = (
        "You are told what an agent would be told, in the same words, and see a map of what you "
        "have seen. The game is recorded like any run. An agent that asks a language model is "
        "named on the command line: "
    )
    lead = tag("p", told, tag("code", "wayword play DATASET --browser --with AGENT --model MODEL"))
    head = tag("header", tag("h1", "Play an episode"), lead, class_="head")
    return page("Play · Wayword", join([_nav("Play"), tag("main", head, form)]), "play", True)


def lobby_page(table: Table) -> str:
    """The seats of a game."""
    seats = [
        tag("li", tag("a", "play ", tag("bdi", actor), href=f"seat?as={_quoted(actor)}"))
        for actor in table.humans
    ]
    watch = tag("li", tag("a", "watch, and answer questions", href="watch"))
    wait = "The data are being read." if table.state == "loading" else ""
    board = tag("div", tag("p", table.problem or wait, class_="lead"), id="board",
                data_state=table.state)  # fmt: skip
    body = tag("main", tag("h1", table.title), board, tag("ul", *seats, watch))
    return page(f"{table.title} · Wayword", join([_nav(table.title), body]), "play", True)


def seat_page(table: Table, actor: str) -> str:
    """The frame of a seat; of who watches, for no actor."""
    say = tag(
        "form",
        tag("input", name="words", aria_label="Action", autocomplete="off",
            placeholder="an action, its beginning, or its number"),
        tag("button", "Do it", type="submit", class_="press"),
        id="say",
    )  # fmt: skip
    title = f"{table.title}, as {actor}" if len(table.humans) > 1 else table.title
    body = tag("main", tag("div", id="board"), say if actor else None, class_="game",
               data_as=actor)  # fmt: skip
    return page(f"{title} · Wayword", join([_nav(title, leave=True), body]), "play", True)


def _nav(title: str, leave: bool = False) -> Html:
    press = tag("button", "leave", type="button", class_="press", id="leave") if leave else None
    runs = tag("a", "‹ all runs", href="/", rel="up")
    return tag("nav", runs, tag("span", title, class_="grow"), press, class_="top")


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def board(table: Table, actor: str, link: str) -> Html:
    """What a seat or a watcher sees now. ``link`` leads to the recorded episode once there is
    one."""
    with table.changed:
        seat = table.seat(actor) if actor else None
        shown = seat.situation if seat else None
        parts: list[Html | None] = [
            tag("p", shown.instruction, class_="task", tabindex=0) if shown else None,
            _question(table),
            _end(table, link) if table.ended else None,
        ]
        if seat and shown:
            parts.append(_turn(table, seat, shown))
        elif not table.ended:
            waits = "Loading …" if table.state == "loading" else "It is not your turn yet."
            parts.append(tag("p", waits if actor else None, class_="lead"))
        if not actor:
            parts.append(_log(table.lines, "Every turn", Letters()))
        return tag(
            "div", *parts, id="board", data_version=table.version, data_state=table.state,
            data_asking=seat.waiting if seat else 0, data_turn=shown.turn if shown else 0,
        )  # fmt: skip


def _question(table: Table) -> Html | None:
    """An agent's question to who watches."""
    if not table.question or table.ended:
        return None
    form = tag(
        "form",
        tag("input", name="words", aria_label="Answer", autocomplete="off", placeholder="answer"),
        tag("button", "Answer", type="submit", class_="press"),
        tag("button", "No answer", type="submit", class_="press", value="none"),
        class_="answer", data_number=table.asked,
    )  # fmt: skip
    return tag("section", tag("h2", tag("bdi", table.question)), form, class_="card asked")


def _turn(table: Table, seat: Seat, now: Situation) -> Html:
    drawn = seen(seat.looks, seat.letters)
    look = tag(
        "section",
        tag("h2", f"Turn {now.turn}" + (f" of {now.actor}" if now.others else "")),
        tag("p", seat.letters.put(now.own)) if now.own else None,
        tag("pre", seat.letters.put(now.around), class_="around", tabindex=0),
        tag("details", tag("summary", "Rules"), tag("pre", now.rules)) if now.rules else None,
        class_="card look",
    )
    waits = None if seat.waiting or table.ended else tag("p", "waiting …", class_="dim")
    last = _last(seat.lines, seat.letters)
    choices = tag(
        "section", last, waits, _choices(now, seat.letters, bool(seat.waiting)),
        class_="card todo",
    )  # fmt: skip
    before = _log(seat.lines, "Up to now", seat.letters)
    return tag(
        "div",
        tag("div", tag("figure", drawn) if drawn else None, before, class_="sides-left"),
        tag("div", choices, look, class_="steps"),
        class_="two",
    )  # fmt: skip


def _last(lines: Sequence[Line], letters: Letters) -> Html | None:
    """What came of the last words, where it stays in view."""
    after = []
    for line in reversed(lines):
        if line.who:
            break
        after.append(line)
    words = [
        tag("p", letters.put(line.text), class_=f"told {line.style}") for line in after[::-1][-4:]
    ]
    return tag("div", *words, id="told", role="status") if words else None


def _choices(now: Situation, letters: Letters, waiting: bool) -> Html:
    """Every listed action as a button, a group a verb."""
    where = arrows(now.observation)
    bare: list[Html] = []
    groups: dict[str, list[Html]] = {}
    for number, action in enumerate(now.space.listed, 1):
        press = tag(
            "button", *_named(action, letters, where), type="button", class_="act",
            data_words=number, data_action=str(action), disabled=not waiting,
        )  # fmt: skip
        (groups.setdefault(action.name, []) if action.arguments else bare).append(press)
    parts: list[Child] = [tag("div", *bare, class_="acts")] if bare else []
    parts += [_group(name, presses) for name, presses in groups.items()]
    return tag("div", *parts, _spoken(now.space, waiting), class_="menu")


def _named(action: Action, letters: Letters, where: Mapping[str, str]) -> list[Child]:
    if not action.arguments:
        return [action.name.replace("_", " ")]
    shown = ", ".join(letters.of(each).replace("_", " ") for each in action.arguments)
    direction = where.get(action.arguments[-1], "")
    return [shown, tag("small", " ", direction) if direction else None]


def _group(name: str, presses: Sequence[Html]) -> Html:
    title = name.replace("_", " ")
    inside = tag("div", *presses, class_="acts")
    if len(presses) <= _FEW:
        return tag("div", tag("h3", title), inside)
    summary = tag("summary", f"{title} … {len(presses)} choices")
    return tag("details", summary, inside, data_key=name)


def _spoken(space: ActionSpace, waiting: bool) -> Html | None:
    presses = [
        tag("button", f"{verb} …", type="button", class_="act", data_verb=verb,
            disabled=not waiting)
        for verb in space.open_verbs
    ]  # fmt: skip
    shown = tag("div", tag("h3", "with words"), tag("div", *presses, class_="acts"))
    return shown if presses else None


def _log(lines: Sequence[Line], title: str, letters: Letters) -> Html | None:
    if not lines:
        return None
    items = [
        tag("li", tag("b", line.who, " ") if line.who else None, tag("bdi", letters.put(line.text)),
            class_=line.style or None)
        for line in lines[-_LINES:]
    ]  # fmt: skip
    listed = tag("ol", *items, class_="log", tabindex=0)
    return tag("details", tag("summary", title), listed, open=True, data_key="log")


def _end(table: Table, link: str) -> Html:
    """The end of a game: scores beside the expert's, and where it lies."""
    to = tag("a", "every step, with the answer on the map", href=link) if link else None
    if table.problem or table.game is None:
        problem = tag("p", table.problem, class_="why") if table.problem else None
        return tag("section", tag("h2", "The end"), problem, to, class_="card")
    rows = [
        tag("tr", tag("th", a, scope="row"), tag("td", b, class_="n"), tag("td", c, class_="n"))
        for a, b, c in score_rows(table.game)
    ]
    how = table.game.ended.replace("_", " ")
    again = tag("a", "play the next one", href="/play")
    return tag(
        "section", tag("h2", f"The end: {how}"), tag("table", tag("tbody", *rows), class_="small"),
        tag("p", to, " · " if to else None, again), class_="card", id="end",
    )  # fmt: skip


def score_rows(game: Game) -> list[tuple[str, str, str]]:
    """The main metrics: name, the player's, the expert's; the first row has the heads."""
    yours, best = game.scores or {}, game.best or {}
    family = metrics_of(RunFolder.read(game.result.path).config)
    known = [m for m in (*family, *accounting.METRICS) if m.key in yours]
    own = [metric for metric in known if metric not in accounting.METRICS][:SHOWN]
    rows = [("", "you", game.expert)]
    for metric in [*own, *(metric for metric in known if metric.key == "steps")]:
        theirs = figures.value(metric, best[metric.key]) if metric.key in best else ""
        rows.append((metric.label, figures.value(metric, yours[metric.key]), theirs))
    return rows

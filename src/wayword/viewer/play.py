"""Games in the browser: an episode under way, the seats of its actors, and who watches.

    games = Games(content.library.add)
    table = games.begin(Plan("human", "houses", out=Path("runs/mine")))
    table.seat("agent").put(1, "goto[…]")      # what a page sends

A game is a run like any other, played by the agent ``human`` on a thread of its own; only the
person is another one than at the terminal. Whatever is typed goes through the same reading.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Literal
from urllib.parse import quote

from wayword.agents.person import Left, Person, Situation, Style
from wayword.core import registry
from wayword.core.action import Action, ActionSpace, Rejection
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, WaywordError
from wayword.core.trajectory import Step
from wayword.core.world import World
from wayword.metrics import accounting
from wayword.runs.config import metrics_of
from wayword.runs.plan import Plan, open_dataset, shared_datasets
from wayword.runs.play import PlayedGame, game_plan, play
from wayword.runs.record import RunFolder
from wayword.runs.running import RunResult
from wayword.viewer import figures
from wayword.viewer.letters import Letters
from wayword.viewer.maps.seen import Look, arrows, seen
from wayword.viewer.markup import Child, Html, join, page, tag

MOST = 16
"""Games under way at once."""
_KEPT = 200
"""Lines that a seat and a table keep."""

State = Literal["loading", "playing", "over", "failed"]


@dataclass(frozen=True, slots=True)
class PlayEvent:
    """Something that happened: ``who`` did or heard it."""

    who: str
    text: str
    style: Style = ""


class Seat(Person):
    """One actor's place at a table: the person who plays it, as the agent ``human`` knows one."""

    def __init__(self, table: PlayTable, actor: str) -> None:
        self._table, self.actor = table, actor
        self.situation: Situation | None = None
        self.looks: list[Look] = []
        self.letters = Letters()
        self.lines: list[PlayEvent] = []
        self.waiting = 0
        """The number of the question that waits for words, 0 while none does."""
        self._asked = 0
        self._words: list[str] = []
        self._left = False

    def show(self, situation: Situation) -> bool:
        """It is this actor's turn."""
        with self._table.changing():
            self.situation = situation
            self.looks.append(Look(self._table.pose(self.actor), situation.observation))
        return True

    def tell(self, text: str, style: Style = "") -> None:
        """What came of the last words."""
        with self._table.changing():
            self.lines = [*self.lines, PlayEvent("", text, style)][-_KEPT:]

    def ask(self, question: str) -> str:
        """Wait for words of the browser. Raises ``EOFError`` once the person has left."""
        with self._table.changed:
            self._asked += 1
            self.waiting, self._words = self._asked, []
            self._table.touch()
            self._table.changed.wait_for(lambda: bool(self._words) or self._left)
            self.waiting = 0
            self._table.touch()
            for words in self._words:
                return words
            raise EOFError

    def leave(self) -> None:
        """End the wait."""
        with self._table.changing():
            self._left = True

    def put(self, number: int, words: str) -> str:
        """Say words in answer to question ``number``; what is wrong with that, else empty."""
        with self._table.changing():
            if not self.waiting or number != self.waiting or self._words:
                return "that turn is over; look again"
            self.lines = [*self.lines, PlayEvent("you", self._named(words))][-_KEPT:]
            self._words = [words]
        return ""

    def settled(self, seconds: float) -> None:
        """Wait until the person is asked again, or the game is over; so long at most."""
        with self._table.changed:
            self._table.changed.wait_for(
                lambda: (self.waiting > 0 and not self._words) or self._table.ended, seconds
            )

    def _named(self, words: str) -> str:
        """The action, where its number was given."""
        listed = self.situation.space.listed if self.situation else ()
        number = int(words) if words.isdecimal() and len(words) < 6 else 0
        return str(listed[number - 1]) if 1 <= number <= len(listed) else words


class PlayTable(Person):
    """One game: the person of its run, who has a seat an actor, and sees every turn."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.changed = threading.Condition(threading.RLock())
        self.version = 0
        self.state: State = "loading"
        self.problem = ""
        self.humans: tuple[str, ...] = ()
        self.game: PlayedGame | None = None
        self.result: RunResult | None = None
        self.lines: list[PlayEvent] = []
        self.question = ""
        self.asked = 0
        """Questions of agents that were put to who watches."""
        self._answer: list[str] = []
        self._seats: dict[str, Seat] = {}
        self._world: World | None = None
        self._left = False

    @property
    def ended(self) -> bool:
        """Whether nothing more happens here."""
        return self.state in ("over", "failed")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """A change that the pages are told of."""
        with self.changed:
            try:
                yield
            finally:
                self.touch()

    def touch(self) -> None:
        """Tell the pages that something has changed."""
        self.version += 1
        self.changed.notify_all()

    def seat(self, actor: str) -> Seat:
        """The seat of an actor; the agent and the pages share it."""
        with self.changed:
            return self._seats.setdefault(actor, Seat(self, actor))

    def enter(self, episode: Episode, world: World) -> None:
        """An episode begins in this world."""
        with self.changing():
            self._world, self.state = world, "playing"

    def stepped(self, step: Step) -> None:
        """Some actor has taken a turn."""
        said = step.decision
        text = f"rejected: {said.reason}" if isinstance(said, Rejection) else str(said.action)
        with self.changing():
            line = PlayEvent(step.actor, text, "" if step.feedback.ok else "warning")
            self.lines = [*self.lines, line][-_KEPT:]

    def pose(self, actor: str) -> Mapping[str, Any]:
        """Where an actor is; called on the game's own thread."""
        return self._world.pose(actor) if self._world else {}

    def tell(self, text: str, style: Style = "") -> None:
        """What an agent wants to know of who watches."""
        with self.changing():
            self.question = text

    def ask(self, question: str) -> str:
        """Put an agent's question to who watches, and wait. Empty is no answer."""
        with self.changed:
            self.asked += 1
            self._answer = []
            self.lines = [*self.lines, PlayEvent("", self.question, "title")][-_KEPT:]
            self.touch()
            self.changed.wait_for(lambda: bool(self._answer) or self._left)
            self.question = ""
            self.touch()
            for words in self._answer:
                return words
            raise EOFError

    def answer(self, number: int, words: str) -> str:
        """Answer question ``number`` of an agent; what is wrong with that, else empty."""
        with self.changing():
            if not self.question or number != self.asked or self._answer:
                return "that question is answered"
            self._answer = [words]
            self.lines = [*self.lines, PlayEvent("answer", words or "(none)")][-_KEPT:]
        return ""

    def leave(self) -> None:
        """End every wait: the game ends in order, and does not count."""
        with self.changing():
            self._left = True
        for seat in list(self._seats.values()):
            seat.leave()

    def carry_out(self, work: Callable[[], None]) -> None:
        """Do the game's work, and keep how it ended."""
        try:
            work()
        except Left as left:
            self._fail(str(left))
        except WaywordError as error:
            self._fail(str(error))
        except Exception as error:  # noqa: BLE001 - the page says so; other games go on
            self._fail(f"{type(error).__name__}: {error}")

    def over(self, game: PlayedGame) -> None:
        """The game has ended as it should, or the person left."""
        why = game.result.outcome.exhausted or game.result.outcome.unusable
        with self.changing():
            self.game, self.result = game, game.result
            self.state = "over" if game.scores is not None else "failed"
            if game.scores is None:
                told = [*game.result.notices, "the episode failed"]
                self.problem = f"{why or told[0]}; this game does not count"

    def _fail(self, problem: str) -> None:
        with self.changing():
            self.problem, self.state = problem, "failed"


@dataclass(slots=True)
class Games:
    """The games of a server. ``on_folder`` is told of a run folder as soon as it is known."""

    on_folder: Callable[[Path], None]
    tables: dict[str, PlayTable] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, plan: Plan, role: str = "", others: str = "") -> PlayTable:
        """Start a game; see ``game_plan``. What is wrong with it stands on its page."""

        def work(table: PlayTable) -> None:
            with shared_datasets():
                ready = game_plan(plan, role, others)
                actors = open_dataset(ready).tasks[0].episode.actors
                table.humans = tuple(
                    name for name in actors if ready.actors.get(name, ready.agent) == "human"
                )
                if ready.out is not None:
                    self.on_folder(ready.out)
                table.over(play(ready, table))

        table = self.open(plan.on or plan.continues)
        Thread(target=table.carry_out, args=[lambda: work(table)], daemon=True).start()
        return table

    def open(self, title: str) -> PlayTable:
        """A table without a game: for a run whose agents ask who watches."""
        with self._lock:
            if sum(not table.ended for table in self.tables.values()) >= MOST:
                raise UsageError(f"{MOST} games are under way; leave one of them first")
            table = PlayTable(str(len(self.tables) + 1), title)
            self.tables[table.name] = table
        return table

    def table(self, name: str) -> PlayTable:
        """A game by its name. Raises ``UsageError``."""
        if name not in self.tables:
            raise UsageError(f"there is no game {name!r} here")
        return self.tables[name]

    def end(self) -> None:
        """Leave every game."""
        for table in list(self.tables.values()):
            table.leave()


# The pages of games: where one is begun, a seat at a table, and what who watches sees.
#
#     /play                        begin a game
#     /play/GAME/                  its seats
#     /play/GAME/seat?as=ACTOR     what the actor is shown, and what it may do
#     /play/GAME/watch             every turn, and the questions of agents
#
# A page is a frame; its board is made anew by the server whenever something happens.

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


def lobby_page(table: PlayTable) -> str:
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


def seat_page(table: PlayTable, actor: str) -> str:
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


def board(table: PlayTable, actor: str, link: str) -> Html:
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


def _question(table: PlayTable) -> Html | None:
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


def _turn(table: PlayTable, seat: Seat, now: Situation) -> Html:
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


def _last(lines: Sequence[PlayEvent], letters: Letters) -> Html | None:
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


def _log(lines: Sequence[PlayEvent], title: str, letters: Letters) -> Html | None:
    if not lines:
        return None
    items = [
        tag("li", tag("b", line.who, " ") if line.who else None, tag("bdi", letters.put(line.text)),
            class_=line.style or None)
        for line in lines[-_LINES:]
    ]  # fmt: skip
    listed = tag("ol", *items, class_="log", tabindex=0)
    return tag("details", tag("summary", title), listed, open=True, data_key="log")


def _end(table: PlayTable, link: str) -> Html:
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


def score_rows(game: PlayedGame) -> list[tuple[str, str, str]]:
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

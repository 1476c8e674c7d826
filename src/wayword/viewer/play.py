"""Games in the browser: an episode under way, the seats of its actors, and who watches.

    games = Games(content)
    table = games.begin(Plan("human", "houses", out=Path("runs/mine")))
    table.seat("agent").put(1, "goto[…]")      # what a page sends

A game is a run like any other, played by the agent ``human`` on a thread of its own; only the
person is another one than at the terminal. Whatever is typed goes through the same reading.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Literal

from wayword.agents.person import Left, Situation, Style
from wayword.core.action import Rejection
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, WaywordError
from wayword.core.trajectory import Step
from wayword.core.world import World
from wayword.runs.plan import Plan, open_dataset, shared_datasets
from wayword.runs.play import Game, game_plan, play
from wayword.runs.running import RunResult
from wayword.viewer.letters import Letters
from wayword.viewer.maps.seen import Look

MOST = 16
"""Games under way at once."""
_KEPT = 200
"""Lines that a seat and a table keep."""

State = Literal["loading", "playing", "over", "failed"]


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happened: ``who`` did or heard it."""

    who: str
    text: str
    style: Style = ""


class Seat:
    """One actor's place at a table: the person who plays it, as the agent ``human`` knows one."""

    def __init__(self, table: Table, actor: str) -> None:
        self._table, self.actor = table, actor
        self.situation: Situation | None = None
        self.looks: list[Look] = []
        self.letters = Letters()
        self.lines: list[Line] = []
        self.waiting = 0
        """The number of the question that waits for words, 0 while none does."""
        self._asked = 0
        self._words: list[str] = []
        self._left = False

    def show(self, situation: Situation) -> None:
        """It is this actor's turn."""
        with self._table.changing():
            self.situation = situation
            self.looks.append(Look(self._table.pose(self.actor), situation.observation))

    def tell(self, text: str, style: Style = "") -> None:
        """What came of the last words."""
        with self._table.changing():
            self.lines = [*self.lines, Line("", text, style)][-_KEPT:]

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
            self.lines = [*self.lines, Line("you", self._named(words))][-_KEPT:]
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


class Table:
    """One game: the person of its run, who has a seat an actor, and sees every turn."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.changed = threading.Condition(threading.RLock())
        self.version = 0
        self.state: State = "loading"
        self.problem = ""
        self.humans: tuple[str, ...] = ()
        self.game: Game | None = None
        self.result: RunResult | None = None
        self.lines: list[Line] = []
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

    def changing(self) -> Any:
        """A change that the pages are told of, as a context manager."""
        return _Change(self)

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
            line = Line(step.actor, text, "" if step.feedback.ok else "warning")
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
            self.lines = [*self.lines, Line("", self.question, "title")][-_KEPT:]
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
            self.lines = [*self.lines, Line("answer", words or "(none)")][-_KEPT:]
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

    def over(self, game: Game) -> None:
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


class _Change:
    """Holds the table, and tells its pages at the end."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __enter__(self) -> None:
        self._table.changed.acquire()

    def __exit__(self, *error: object) -> None:
        self._table.touch()
        self._table.changed.release()


@dataclass(slots=True)
class Games:
    """The games of a server. ``on_folder`` is told of a run folder as soon as it is known."""

    on_folder: Callable[[Path], None]
    tables: dict[str, Table] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, plan: Plan, role: str = "", others: str = "") -> Table:
        """Start a game; see ``game_plan``. What is wrong with it stands on its page."""

        def work(table: Table) -> None:
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

    def open(self, title: str) -> Table:
        """A table without a game: for a run whose agents ask who watches."""
        with self._lock:
            if sum(not table.ended for table in self.tables.values()) >= MOST:
                raise UsageError(f"{MOST} games are under way; leave one of them first")
            table = Table(str(len(self.tables) + 1), title)
            self.tables[table.name] = table
        return table

    def table(self, name: str) -> Table:
        """A game by its name. Raises ``UsageError``."""
        if name not in self.tables:
            raise UsageError(f"there is no game {name!r} here")
        return self.tables[name]

    def end(self) -> None:
        """Leave every game."""
        for table in list(self.tables.values()):
            table.leave()

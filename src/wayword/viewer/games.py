"""Games in the browser: a running episode, its actors' seats, and its observers.

    games = Games(content.library.add)
    table = games.begin(Plan("human", "houses", out=Path("runs/mine")))
    table.seat("agent").put(1, "goto[…]")      # what a page sends

A game is an ordinary run, played by the agent ``human`` on a background thread; only the person
differs from the one at the terminal. Input is parsed in the same way.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Literal, NamedTuple

from wayword.agents.human import HELP_ALIASES, QUIT_WORDS, parse_input
from wayword.agents.person import Person, PlayerLeft, Situation, Style
from wayword.core.action import STOP, Action, Rejection
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, WaywordError
from wayword.core.trajectory import Step
from wayword.core.world import World
from wayword.runs.opening import open_dataset, shared_datasets
from wayword.runs.plan import Plan
from wayword.runs.play import PlayedGame, game_plan, play
from wayword.runs.results import RunResult
from wayword.viewer.maps.household import clipped, view
from wayword.viewer.markup import Letters
from wayword.viewer.observed import Look
from wayword.worlds.household.world import HouseholdWorld

MOST = 16
"""Games that can run at once."""
# In the names of run folders, before the number of the further attempt
_AGAIN = "-again"
_HISTORY = 2000  # lines that a seat and a table keep: a long game, yet bounded memory
# Numbers with this many digits or more are text and no entry of a menu: menus list at most some
# thousand actions, and ``int`` of a text without bound would cost time.
_MENU_DIGITS = 6
_COMMANDS = frozenset({*QUIT_WORDS, *HELP_ALIASES, "map", "undo"})
"""Words for the agent ``human`` itself."""
State = Literal["loading", "playing", "over", "failed"]


class PlayEvent(NamedTuple):
    """A line in the log of a seat or a table.

    ``who`` is the actor that moved, ``"you"`` for the person's own input, ``"answer"``
    for a reply to an agent's question, and empty for the world's texts.
    """

    who: str
    text: str
    style: Style = ""


class Seat(Person):
    """An actor's seat in a game: the player, as seen by the agent ``human``.

    The run's thread shows situations and waits in ``ask``; the server's threads
    ``check`` and ``put`` what a page sends. Every change is made under the lock of the
    table, whose ``version`` it raises so that the pages reload their boards.
    """

    def __init__(self, table: PlayTable, actor: str) -> None:
        self._table = table
        self.actor = actor
        self.situation: Situation | None = None
        self.looks: list[Look] = []
        self.letters = Letters()
        self.moves = 0
        self.lines: deque[PlayEvent] = deque(maxlen=_HISTORY)
        self.waiting = 0
        """The number of the question that waits for words, 0 while none does."""
        self._questions = 0
        self._words: list[str] = []
        self._left = False

    def show(self, situation: Situation) -> bool:
        """Record the situation of the actor's next turn, with what its map needs.

        Returns True: a seat draws the situation itself, so nothing is to be printed.
        """
        with self._table.changing():
            self.situation = situation
            look = self._table.look(self.actor)
            look = look._replace(
                observation=situation.observation, text=situation.around
            )
            self.looks.append(look)
        return True

    def write(self, text: str, style: Style = "") -> None:
        """Add a text of the world or of the agent ``human`` to the seat's log."""
        with self._table.changing():
            self.lines.append(PlayEvent("", text, style))

    def ask(self, question: str) -> str:
        """Block the run's thread until the browser sends input, and return it.

        ``question`` is not used: the board renders the situation. Raises ``EOFError``
        once the person has left, which ends the episode.
        """
        with self._table.changed:
            # Numbered, so that an answer that comes late is not taken for the next
            # question's.
            self._questions += 1
            self.waiting = self._questions
            self._words = []
            self._table.touch()
            # The run waits here, on its own thread, until a page sends words or the
            # game ends.
            self._table.changed.wait_for(lambda: bool(self._words) or self._left)
            self.waiting = 0
            self._table.touch()
            if not self._words:
                raise EOFError
            return self._words[0]

    def leave(self) -> None:
        """End the wait for input now and at every later question."""
        with self._table.changing():
            self._left = True

    def put(self, number: int, words: str) -> str:
        """Answer question ``number``, as ``waiting`` has it; return a problem, else empty.

        The log shows the action that a menu's number stands for; the agent gets the
        words as they are and reads them itself.
        """
        with self._table.changing():
            # Two windows may show the same seat: the first answer counts.
            if not self.waiting or number != self.waiting or self._words:
                return "that turn is over; reload the page"
            situation = self.situation
            text = words
            if situation and words.isdecimal() and len(words) < _MENU_DIGITS:
                number_in_menu = int(words)
                if 1 <= number_in_menu <= len(situation.space.listed):
                    text = str(situation.space.listed[number_in_menu - 1])
            self.lines.append(PlayEvent("you", text))
            self._words = [words]
        return ""

    def check(self, words: str) -> tuple[str, str]:
        """Check input before it is put: return a problem and a question, both may be empty.

        A problem (a typo, an unknown name) costs no step, because the input goes no
        further. The question asks to confirm an action that ends the game or is not
        listed; the page repeats the request once the person has confirmed.
        """
        situation = self.situation
        # Words for the agent itself cost no turn, so they need no question.
        plain = words.strip().lower()
        if situation is None or plain.startswith("?") or plain in _COMMANDS:
            return "", ""
        read = parse_input(words, situation.space)
        if not isinstance(read, Action):
            return read, ""
        if read.name == STOP.name:
            return "", f"{read} ends the game. Stop here?"
        space = situation.space
        if read.name in space.open_verbs or read in space.listed:
            return "", ""
        return "", f"{read} is not listed and may cost a step. Try it?"

    def settled(self, seconds: float) -> None:
        """Wait up to ``seconds`` for the next question or the end of the game.

        Lets the response to a move be sent after the move had its effect.
        """
        with self._table.changed:
            self._table.changed.wait_for(self._is_settled, seconds)

    def _is_settled(self) -> bool:
        """True if the next question waits for words, or none will."""
        if self._table.ended:
            return True
        return self.waiting > 0 and not self._words


class PlayTable(Person):
    """A game: the person of its run, who has a seat per actor and sees every turn.

    Threads: the run calls ``enter``, ``stepped``, ``write``, ``ask`` and ``over``; the
    server reads the rest. ``changed`` guards all fields and is notified of each change;
    its lock is reentrant, so that a seat may call its table.

    ``state`` goes from ``loading`` to ``playing`` and ends as ``over`` (scored) or
    ``failed`` (``problem`` says why).
    """

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.changed = threading.Condition(threading.RLock())
        self.version = 0
        self.state: State = "loading"
        self.problem = ""
        self.humans: tuple[str, ...] = ()
        self.setup: tuple[Plan, str, str] | None = None
        """Plan, actor and other agents of a game that a person plays."""
        self.note = ""
        """A line above the game of a course; such a game is played once."""
        self.limit = 0
        """The most turns of an actor, 0 if unknown."""
        self.game: PlayedGame | None = None
        self.result: RunResult | None = None
        self.lines: deque[PlayEvent] = deque(maxlen=_HISTORY)
        self.question = ""
        """An agent's question to who watches, who answers from the seat of no actor."""
        self._seats: dict[str, Seat] = {}
        self._world: World | None = None

    @property
    def ended(self) -> bool:
        """True once the game is over or has failed; nothing changes after that."""
        return self.state in ("over", "failed")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Make a change and notify the pages."""
        with self.changed:
            try:
                yield
            finally:
                self.touch()

    def touch(self) -> None:
        """Notify waiting threads and pages of a change. The caller holds ``changed``."""
        self.version += 1
        self.changed.notify_all()

    def seat(self, actor: str) -> Seat:
        """Return the seat of an actor, shared by the agent and the pages.

        The empty name is the observer's seat, from which agents' questions are
        answered.
        """
        with self.changed:
            return self._seats.setdefault(actor, Seat(self, actor))

    @property
    def folder(self) -> Path | None:
        """The run folder; None if its default name is not known yet."""
        if self.result:
            return self.result.path
        return self.setup and self.setup[0].out

    @property
    def series(self) -> Path | None:
        """The run folder of the first attempt, from whose name those of others derive.

        None if the folder is not known yet.
        """
        folder = self.folder
        if folder is None:
            return None
        first_name = folder.name.partition(_AGAIN)[0]
        return folder.with_name(first_name)

    @property
    def turn(self) -> int:
        """The turn of the actor that is furthest, from 1."""
        situations = [seat.situation for seat in self._seats.values()]
        return max((now.turn for now in situations if now), default=1)

    def enter(self, episode: Episode, world: World) -> None:
        """Start the game: the world is loaded, and its poses can be read."""
        with self.changing():
            self._world = world
            self.state = "playing"

    def stepped(self, step: Step) -> None:
        """Log a step of any actor and count its moves."""
        decision = step.decision
        if isinstance(decision, Rejection):
            text = f"rejected: {decision.reason}"
        else:
            text = str(decision.action)
        style: Style = "" if step.feedback.ok else "warning"
        # A household's macro action counts each of its low-level actions; others count as one.
        low_level = step.feedback.details.get("low_level", "1")
        with self.changing():
            self.seat(step.actor).moves += len(low_level)
            self.lines.append(PlayEvent(step.actor, text, style))

    def look(self, actor: str) -> Look:
        """Return an actor's pose, with its home; empty before the world is loaded."""
        world = self._world
        if world is None:
            return Look({})
        look = Look(world.pose(actor))
        if not isinstance(world, HouseholdWorld):
            return look
        rooms = {room.name: room.polygon for room in world.scene.rooms}
        me = world.house.actors[actor]
        return look._replace(
            known=world.remembered(actor),
            room=rooms.get(look.pose["room"], ()),
            view=clipped(view(world, me), world.house.layout.bounds),
            reach=me.body.view_distance,
        )

    def write(self, text: str, style: Style = "") -> None:
        """Keep the text of a question that an agent is about to ask the observer."""
        with self.changing():
            self.question = text

    def ask(self, question: str) -> str:
        """Ask the observer an agent's question and wait. An empty string is no answer.

        Raises ``EOFError`` once the observer has left.
        """
        with self.changing():
            self.lines.append(PlayEvent("", self.question, "title"))
        try:
            return self.seat("").ask(question)
        finally:
            with self.changing():
                self.question = ""

    def answer(self, number: int, words: str) -> str:
        """Answer an agent's question ``number``; return the problem, else empty."""
        if self.seat("").put(number, words):
            return "this question is already answered"
        with self.changing():
            self.lines.append(PlayEvent("answer", words or "(none)"))
        return ""

    def leave(self) -> None:
        """End all waits: the game ends without an error, and does not count."""
        self.seat("")  # a question that is yet to come ends as well
        for seat in list(self._seats.values()):
            seat.leave()

    def carry_out(self, work: Callable[[], None]) -> None:
        """Run ``work`` on the thread of the game; an error ends the game with a problem.

        Nothing is raised: other games of the server continue. An expected error
        (``WaywordError``, a person who left) is shown as it is, a defect with its type.
        """
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the page says so; other games go on
            expected = isinstance(error, PlayerLeft | WaywordError)
            with self.changing():
                if expected:
                    self.problem = str(error)
                else:
                    self.problem = f"{type(error).__name__}: {error}"
                self.state = "failed"

    def over(self, game: PlayedGame) -> None:
        """End the game, finished or left by the person.

        A game without scores did not count: ``problem`` gets the first reason that is
        known, from the limit that was reached to a general one.
        """
        outcome = game.result.outcome
        with self.changing():
            self.game = game
            self.result = game.result
            if game.scores is not None:
                self.state = "over"
                return
            self.state = "failed"
            reasons = [
                outcome.exhausted,
                outcome.unusable,
                *game.result.notices,
                "the episode failed",
            ]
            first_reason = next(reason for reason in reasons if reason)
            self.problem = f"{first_reason}; this game does not count"


Course = Callable[[], tuple[Plan, str]]
"""Returns the plan of a course's next game and the note for its page.

Raises ``UsageError`` once no game is left.
"""


@dataclass
class Games:
    """Games of a server: started, found by name, and ended together.

    ``on_folder`` is called with each run folder as soon as it exists, on the thread of
    its game. ``tables`` keeps ended games too, since their pages stay open; a table's
    name is its number, from 1.
    """

    on_folder: Callable[[Path], None]
    tables: dict[str, PlayTable] = field(default_factory=dict)
    course: Course | None = None
    """The games that follow each other by themselves, such as the places of a bench."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, plan: Plan, role: str = "", others: str = "") -> PlayTable:
        """Begin a game on a thread of its own, or return the open one in the plan's folder.

        ``role`` is the actor that the person plays, by default the first; ``others`` is
        the agent of the others. Errors of the plan appear as the table's ``problem``.
        Raises ``UsageError`` if ``MOST`` games are open.
        """
        for each in self.running():
            if plan.out and each.folder == plan.out:
                return each

        # On a thread: opening a dataset may take longer than a browser waits.
        def work(table: PlayTable) -> None:
            with shared_datasets():
                ready = game_plan(plan, role, others)
                dataset = open_dataset(ready)
                actors = dataset.tasks[0].episode.actors
                table.limit = ready.max_steps or dataset.max_steps
                table.humans = tuple(
                    name
                    for name in actors
                    if ready.actors.get(name, ready.agent) == "human"
                )
                if ready.out is not None:
                    self.on_folder(ready.out)
                table.over(play(ready, table))

        table = self.open(plan.on or plan.continues)
        table.setup = plan, role, others
        thread = Thread(
            target=table.carry_out,
            args=[lambda: work(table)],
            daemon=True,
        )
        thread.start()
        return table

    def advance(self, course: Course) -> PlayTable:
        """Begin the next game of a course. Raises ``UsageError`` once none is left."""
        plan, note = course()
        table = self.begin(plan, others="human")
        table.note = note
        return table

    def after(self, name: str, again: bool) -> PlayTable:
        """Begin the next game of a series; or the same episode ``again``, in a new folder.

        A repeated episode gets the next free name (``NAME-again1``), so that no attempt
        overwrites another. Raises ``UsageError`` unless the game has ended.
        """
        table = self.table(name)
        if table.setup is None or not table.ended:
            raise UsageError(f"game {name} has not ended")
        if table.note and self.course is not None:
            return self.advance(self.course)
        plan, *players = table.setup
        folder = table.series
        repeated = ""
        if again and table.game:
            repeated = table.game.episode
        if folder and repeated:
            names = (f"{folder.name}{_AGAIN}{number}" for number in count(1))
            attempts = map(folder.with_name, names)
            folder = next(path for path in attempts if not path.exists())
        if plan.continues:
            repeated = ""  # a continued run knows its episode
        plan = replace(plan, episode=repeated, out=folder)
        following = self.begin(plan, *players)
        if again:
            # The same places keep their letters from one attempt to the next.
            for actor in table.humans:
                following.seat(actor).letters = table.seat(actor).letters
        return following

    def open(self, title: str) -> PlayTable:
        """Open a table without a game, for a run whose agents ask the observer.

        Raises ``UsageError`` if ``MOST`` tables are open, which bounds threads and
        memory.
        """
        with self._lock:
            open_games = [table for table in self.tables.values() if not table.ended]
            if len(open_games) >= MOST:
                raise UsageError(f"{MOST} games are running; leave one of them first")
            table = PlayTable(str(len(self.tables) + 1), title)
            self.tables[table.name] = table
        return table

    def running(self) -> list[PlayTable]:
        """Return the open games that a person plays."""
        return [
            table for table in self.tables.values() if table.setup and not table.ended
        ]

    def table(self, name: str) -> PlayTable:
        """Return a game by its name. Raises ``UsageError`` if there is none."""
        if name not in self.tables:
            raise UsageError(f"no game {name!r}")
        return self.tables[name]

    def end(self) -> None:
        """End all games, at the end of the server."""
        for game in list(self.tables.values()):
            game.leave()

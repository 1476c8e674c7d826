"""Games in the browser: a running episode, its actors' seats, and its observers.

    games = Games(content.library.add)
    table = games.begin(Plan("human", "houses", out=Path("runs/mine")))
    table.seat("agent").put(1, "goto[…]")      # what a page sends

A game is an ordinary run, played by the agent ``human`` on a background thread; only the person
differs from the one at the terminal. Input is parsed in the same way.

A page is a frame; the server rerenders its board on every event. In every family, the map shows
only what the actor has seen, so it does not reveal the answer.
"""

from __future__ import annotations

import math
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, Literal, NamedTuple

from wayword.agents.human import HELP_ALIASES, QUIT_WORDS, parse_input
from wayword.agents.person import Person, PlayerLeft, Situation, Style
from wayword.core.action import STOP, Action, Rejection
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import UsageError, WaywordError
from wayword.core.geometry import Point, displaced, relative
from wayword.core.trajectory import Step
from wayword.core.visible import spaced
from wayword.core.world import World
from wayword.datasets.procedural.homes.chores import EVERYDAY_NAMES
from wayword.metrics import accounting
from wayword.metrics.recorded import as_mapping, finite, listed, place_of
from wayword.runs.config import metrics_of
from wayword.runs.opening import open_dataset, shared_datasets
from wayword.runs.plan import Plan
from wayword.runs.play import PlayedGame, game_plan, play
from wayword.runs.record import RunFolder
from wayword.runs.results import RunResult
from wayword.verbalize import street
from wayword.viewer import figures
from wayword.viewer.maps import drawing as draw
from wayword.viewer.maps import heading_and_length
from wayword.viewer.maps.babyai import GridItem, cell, grid_item, item_shape
from wayword.viewer.maps.content import (
    Extent,
    Map,
    Shape,
    Target,
    Waypoint,
    room_label,
)
from wayword.viewer.maps.indoor import room_in
from wayword.viewer.maps.objectnav import fan
from wayword.viewer.markup import Html, Letters, render, template_function
from wayword.worlds.babyai.level import MIDDLE, VIEW_SIZE

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
ActorPose = tuple[JsonObject, Mapping[str, Point], Sequence[Point]]
"""An actor's pose, the objects it remembers by name, and the corners of its room."""


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
            pose, known, room = self._table.pose(self.actor)
            self.looks.append(
                Look(pose, situation.observation, situation.around, known, room)
            )
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

    def pose(self, actor: str) -> ActorPose:
        """Return an actor's pose, the objects it remembers, and the corners of its room.

        Only a household has the latter two; elsewhere, and before the world is loaded,
        they are empty. Points are in metres, (x, y) on the floor.
        """
        world: Any = self._world
        if world is None:
            return {}, {}, ()
        pose = world.pose(actor)
        # Only a household remembers objects; no other family has ``remembered``.
        known = world.remembered(actor) if hasattr(world, "remembered") else {}
        if known:
            for room in world.scene.rooms:
                if room.name == pose["room"]:
                    return pose, known, room.polygon
        return pose, known, ()

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


# The pages.

SHOWN = 4  # metrics of the family in the table of scores, besides the steps


class GameEnd(NamedTuple):
    """What the board of a finished game shows beyond the scores.

    ``link`` is the address of the recorded episode, ``map`` its walk with the gold
    path, ``others`` the results of other runs on it (name, True if solved), ``solved``
    the player's own (None without a metric that means success), ``mistake`` the
    diagnosis in words, ``left`` the distance left to the goal with its unit,
    ``conditions`` the goal conditions (words, parts that hold, number of parts). Empty
    until the game has ended.
    """

    link: str = ""
    map: Html | None = None
    others: Sequence[tuple[str, bool]] = ()
    solved: bool | None = None
    mistake: str = ""
    left: str = ""
    conditions: Sequence[tuple[str, int, int]] = ()


def board(
    game: PlayTable,
    actor: str,
    ending: GameEnd,
    tally: Sequence[bool] = (),
) -> Html:
    """Render the board of a seat, or of an observer if ``actor`` is empty.

    ``tally`` has True for each solved episode of the series. Holds the table's lock
    while it renders, so that a board never mixes two states.
    """
    with game.changed:
        seat = None
        now = None
        drawn = None
        letters = Letters()
        choices: list[ChoiceGroup] = []
        feedback: list[PlayEvent] = []
        if actor:
            seat = game.seat(actor)
            now = seat.situation
            letters = seat.letters
            # Everything since the last input, which stays in view.
            for event in reversed(seat.lines):
                if event.who:
                    break
                feedback.append(event)
        if seat and now:
            # First the map: it assigns the letters that the buttons show.
            drawn = observed_map(seat.looks, letters, now)
            if not game.ended:
                choices = _choices(now, letters)
        scores: list[tuple[str, str, str]] = []
        moves: list[int] = []
        if game.game:
            scores = score_rows(game.game)
            moves = _moves(game.game)
        everyday = {
            spaced(kind): everyday_name.lower()
            for kind, everyday_name in EVERYDAY_NAMES.items()
        }
        return render(
            "board.html",
            game=game,
            actor=actor,
            ending=ending,
            seat=seat,
            now=now,
            feedback=feedback[3::-1],  # the first four, the oldest on top
            scores=scores,
            drawn=drawn,
            choices=choices,
            letters=letters,
            tally=tally,
            moves=moves,
            everyday=everyday,
            idle=idle(as_mapping(now.observation)) if now else (),
            on_street=now is not None and "angles" in as_mapping(now.observation),
        )


def _choices(now: Situation, letters: Letters) -> list[ChoiceGroup]:
    """Group the listed actions by verb: first those without arguments, at the end ``stop``.

    Buttons show letters for places and a relative direction where the observation has
    one. Empty groups are left out.
    """
    by_verb: dict[str, list[MenuChoice]] = {"": []}
    stop: list[MenuChoice] = []
    directions = arrows(now.observation)
    keys = {action: key for key, action in arrow_keys(now).items()}
    keys.setdefault(str(STOP), "s")
    for number, action in enumerate(now.space.listed, 1):
        key = keys.get(str(action), "")
        if not action.arguments:
            choice = MenuChoice(number, action, spaced(action.name), "", key)
            group = stop if action == STOP else by_verb[""]
            group.append(choice)
            continue
        names = map(letters.of, action.arguments)
        words = ", ".join(map(spaced, names))
        if action.name == "rotate":
            side = "left" if words.startswith("-") else "right"
            words = f"{side} {words.strip('-')}°"
        direction = directions.get(action.arguments[-1], "")
        choice = MenuChoice(number, action, words, direction, key)
        by_verb.setdefault(action.name, []).append(choice)
    # The stop comes last, away from the moves, since it ends the game.
    groups = [*by_verb.items(), ("", stop)]
    return [(verb, listed) for verb, listed in groups if listed]


def idle(held: JsonObject) -> list[str]:
    """Return the actions on a grid that would have no effect, by what is right ahead.

    ``held`` is an observation as a mapping; those without ``walls`` are no grid and
    have no idle actions. A box can be both picked up and opened.
    """
    if "walls" not in held:
        return []
    ahead = set()
    for each in listed(held, "objects"):
        if each["ahead"] == 1 and each["right"] == 0:
            ahead.add(each["kind"])
    hands_full = bool(held["holding"])
    wall = held["walls"][0] == 1
    actions = []
    if hands_full or ahead.isdisjoint({"key", "ball", "box"}):
        actions.append("pick_up")
    if not hands_full or wall or ahead:
        actions.append("drop")
    if ahead.isdisjoint({"door", "box"}):
        actions.append("toggle")
    return actions


@template_function
def readable(text: str, letters: Letters) -> Html:
    """Return a text with letters for ids, spaces in names and whole degrees.

    Degrees are reduced to [0, 360). The result is escaped HTML.
    """

    def whole_degrees(match: re.Match[str]) -> str:
        degrees = float(match[0].removesuffix("°"))
        return f"{round(degrees) % 360}°"

    def spaced_name(match: re.Match[str]) -> str:
        name = match[0]
        if name in letters.by_place:
            return name
        return spaced(name)

    text = re.sub(r"\d+\.\d+°", whole_degrees, text)
    return letters.put(re.sub(r"[\w-]+", spaced_name, text))


@template_function
def moves_of(lines: Iterable[PlayEvent]) -> list[list[PlayEvent]]:
    """Group the lines of a log into moves: a line with an actor begins one, the texts
    that follow are its results.
    """
    moves: list[list[PlayEvent]] = []
    for event in lines:
        begins_move = event.who != "" or not moves
        if begins_move:
            moves.append([])
        moves[-1].append(event)
    return moves


class MenuChoice(NamedTuple):
    """A listed action as a button.

    ``number`` is that in the menu, from 1, and ``words`` are those on the button. ``key``
    presses it: an arrow, ``s`` for stop, or none; the page numbers the buttons in view.
    """

    number: int
    action: Action
    words: str
    direction: str
    key: str


ChoiceGroup = tuple[str, list[MenuChoice]]
"""A verb, empty for actions without arguments, and its choices."""
_KEYS = {
    "ArrowUp": (0.0, ("move_ahead", "forward")),
    "ArrowLeft": (-90.0, ("turn_left", "left", "rotate[-30]")),
    "ArrowRight": (90.0, ("turn_right", "right", "rotate[30]")),
    "ArrowDown": (180.0, ("turn_around",)),
}
"""Arrow keys: degrees to the right of the actor's heading, and the actions that go or turn there
in worlds without a graph of viewpoints."""


def arrow_keys(now: Situation) -> dict[str, str]:
    """Map arrow keys to listed actions, each as its text.

    A key stands for the neighbor nearest to its direction and within 45 degrees of it,
    so that the four keys divide the circle; without such a neighbor for a step or a
    turn of ``_KEYS``. Keys without an action are left out.
    """
    listed = {str(action) for action in now.space.listed}
    turns = [
        (turn, f"goto[{name}]")
        for field_name, name, turn, _ in sightings(as_mapping(now.observation))
        if field_name == "neighbors"
    ]
    keys = {}
    for key, (angle, names) in _KEYS.items():
        near = [
            (abs(turn), action)
            for turn, action in turns
            if abs(relative(turn, angle)) <= 45
        ]
        actions = list(names)
        if near:
            # The nearest to the key's direction: for the way back that is the largest turn.
            nearest = max(near) if angle == 180 else min(near)
            actions.insert(0, nearest[1])
        pressed = [action for action in actions if action in listed]
        if pressed:
            keys[key] = pressed[0]
    return keys


def score_rows(game: PlayedGame) -> list[tuple[str, str, str]]:
    """Return the table of scores: name, player, expert; the first row has the headings.

    The first ``SHOWN`` metrics of the family, then the one that counts moves. The
    expert's column is empty where no expert has played.
    """
    yours = game.scores or {}
    best = game.best or {}
    family = metrics_of(RunFolder.read(game.result.path).config)
    shown = [metric for metric in family if metric.key in yours][:SHOWN]
    # Players compare the number of moves, even if SHOWN leaves it out.
    unit = _unit(game)
    for metric in (*family, *accounting.METRICS):
        if metric.key == unit and unit in yours and metric not in shown:
            shown.append(metric)
    rows = [("", "you", "expert")]
    for metric in shown:
        ours = figures.value(metric, yours[metric.key])
        theirs = ""
        if metric.key in best:
            theirs = figures.value(metric, best[metric.key])
        rows.append((metric.label, ours, theirs))
    return rows


def _unit(game: PlayedGame) -> str:
    """Return the key of the metric that counts moves of player and expert alike.

    A person's turn may take many low-level actions, an expert's takes one, so steps
    compare only where low-level actions are not counted.
    """
    yours = game.scores or {}
    best = game.best or yours
    if "low_level" in yours and "low_level" in best:
        return "low_level"
    return "steps"


def _moves(game: PlayedGame) -> list[int]:
    """Return the numbers of moves of the player and the expert; 0 if unknown."""
    unit = _unit(game)
    scores = (game.scores or {}, game.best or {})
    return [int(each.get(unit, 0)) for each in scores]


# The map of what an actor has seen, drawn from observations alone: neighbors, exits of a
# street, objects with a bearing and a distance, squares ahead and to the right, free floor in a
# depth image. Where poses have no coordinates the walk is reckoned from headings and lengths, as a
# walker would.

_ARROWS = "↑↗→↘↓↙←↖"
_WITH_BEARING = ("objects", "doors", "others", "shown")
"""Fields of observations whose items have a bearing and a distance."""


Sighting = tuple[str, str, float, float]
"""Field of an observation, name, degrees to the right, and distance (NaN if unknown)."""


class Look(NamedTuple):
    """An observation at a pose: what one turn adds to the map of an actor.

    ``text`` is the observation in words; ``known`` the objects remembered and ``room``
    the corners of the room, in metres, which only a household has.
    """

    pose: Mapping[str, Any]
    observation: Any
    text: str = ""
    known: Mapping[str, Point] = {}
    room: Sequence[Point] = ()


def sightings(held: JsonObject) -> Iterator[Sighting]:
    """Yield the items of an observation that have a direction.

    Each as field, name, degrees to the right of the actor's heading in (-180, 180], and
    distance, NaN if unknown. Distances are metres; those of a grid, whose field is
    given as ``squares``, are squares.
    """
    facing = finite(held.get("heading")) or 0.0
    for key in ("neighbors", *_WITH_BEARING):
        for each in listed(held, key):
            # Viewpoints have an id, objects a name, landmarks words.
            name = each.get("viewpoint") or each.get("name")
            name = str(name or each.get("words"))
            turn = finite(each.get("bearing"))
            distance = finite(each.get("distance"))
            field_name = key
            heading = None
            if key == "neighbors":
                heading = finite(each.get("heading"))
            if "ahead" in each:  # an object of a grid
                field_name = "squares"
            if heading is not None:
                turn = relative(heading, facing)
            elif "ahead" in each:
                ahead = finite(each.get("ahead")) or 0.0
                right = finite(each.get("right")) or 0.0
                turn = math.degrees(math.atan2(right, ahead))
                distance = math.hypot(ahead, right)
            if distance is None:
                distance = math.nan
            if turn is not None:
                yield field_name, name, turn, distance


_SIGHTING = re.compile(
    r"([^,.:;()\[\]]+) \((ahead|behind|left|right)(?: (\d+)°)?, ([\d.]+) m\)"
    rf"|You see (.+?) ({'|'.join(street.DIRECTIONS)})\."
)
_MARK = 3.4  # radius of a place or an object, in units of the drawing
_DOOR = 6.0  # and of a door, which a player looks for first
_DOORWAY = 0.5  # metres between a doorway and the place that is in it
_ROOM = 4.0  # metres around the name of a room in which it is not repeated
_SIDES = {"ahead": 0, "behind": 180, "left": -1, "right": 1}
_ELSEWHERE = re.compile(
    r"\b(door|doorways?|beyond|further|make out|can be seen|into)\b", re.IGNORECASE
)


def landmarks(text: str) -> Iterator[tuple[str, float, float]]:
    """Yield the landmarks that a text names: name, degrees to the right, distance (m).

    Texts of indoor scenes give ``door (left 30°, 2.1 m)``. Those of a street give a
    side without a distance: such a landmark is put one unit from the actor.
    """
    for name, side, angle, far, seen, where in _SIGHTING.findall(text):
        if seen:
            yield seen, street.VIEWS[street.DIRECTIONS.index(where)], 1.0
        else:
            # The angle is left out for "ahead" and "behind", whose sides are degrees.
            turn = _SIDES[side] * float(angle or 1)
            yield name.strip(), turn, float(far)


def room_of(text: str) -> str:
    """Return the room that the most sentences of a text name; empty if none does.

    Sentences on what is elsewhere ("through the door you see a kitchen") do not count.
    """
    # "Through the door you see a kitchen" speaks of another room.
    rooms: Counter[str] = Counter()
    for sentence in re.split(r"[.\n]", text):
        room = room_in(sentence)
        if room and not _ELSEWHERE.search(sentence):
            rooms[room] += 1
    return max(rooms, key=lambda room: rooms[room], default="")


def arrows(observation: Any) -> dict[str, str]:
    """Map names of items with a bearing and a distance to both: ``↗ 2.3 m``."""
    relative_positions = {}
    for field_name, name, turn, distance in sightings(as_mapping(observation)):
        if math.isnan(distance):
            continue
        unit = "squares" if field_name == "squares" else "m"
        relative_positions[name] = f"{_arrow(turn)} {distance:.1f} {unit}"
    return relative_positions


def _arrow(turn: float) -> str:
    """Return the arrow nearest to a direction in degrees to the right."""
    return _ARROWS[round(turn / 45) % 8]


def observed_map(
    looks: Sequence[Look], letters: Letters, now: Situation | None = None
) -> Html | None:
    """Draw the map of what was seen, the last look being now.

    None if there is nothing to draw: no look, or one without a position. Places and
    objects that the actor can act on ``now`` can be pressed. Assigns ``letters`` to new
    places in the order in which they were seen.
    """
    builder = _MapBuilder(letters)
    if not looks or not all(builder.add(look) for look in looks):
        return None
    drawn = Map(
        {"you": builder.waypoints},
        places=builder.points,
        edges=list(builder.edges),
        shapes=builder.shapes(),
        scale=builder.exact,
        unit="squares" if builder.squares else "m",
        targets=_targets(builder, now),
    )
    legend = []
    if builder.view:
        legend.append(("inview", "in view"))
    words = {"open": "open door", "closed": "closed door", "doorway": "doorway"}
    states = sorted(set(builder.doors.values()))
    legend += [(f"mark-seen-doors {state}", words[state]) for state in states]
    drawn.legend = legend
    return draw.render(drawn)


def _targets(builder: _MapBuilder, now: Situation | None) -> list[Target]:
    """Return the places, objects and exits that current actions act on, as buttons.

    Each as its point, the title, and data for the page: ``words``, the number of the
    single action in the menu, or ``name``, from which the page lists several.
    """
    listed = now.space.listed if now else ()
    # By the last argument: "put[mug, table]" acts on the table.
    numbered: dict[str, list[tuple[int, Action]]] = {}
    for number, action in enumerate(listed, 1):
        if action.arguments:
            name = action.arguments[-1]
            numbered.setdefault(name, []).append((number, action))
    points = {name: item.point for name, item in builder.grid.items()}
    points |= {name: point for name, (point, _) in builder.objects.items()}
    points |= builder.points
    targets: list[Target] = []
    for name, point in points.items():
        actions = numbered.get(name, [])
        called = builder.letters.of(name)
        data: dict[str, Any]
        if len(actions) == 1:
            number, action = actions[0]
            title = f"{action.name} {called}"
            data = {"words": number, "action": str(action)}
        elif actions:
            title = f"{called}: {len(actions)} actions"
            data = {"name": name}
        else:
            continue
        targets.append((point, spaced(title), data))
    if now is None:
        return targets
    texts = [str(action) for action in listed]
    if "move_ahead" in texts:
        targets += _squares(builder, texts, idle(as_mapping(now.observation)))
    keys = arrow_keys(now)
    for turn, end in builder.exits:
        # An exit does what the arrow key nearest to its direction does.
        gaps = {}
        for key, (angle, _) in _KEYS.items():
            gaps[key] = abs(relative(turn, angle))
        nearest = min(gaps, key=gaps.__getitem__)
        action_text = keys.get(nearest)
        if action_text:
            data = {"words": texts.index(action_text) + 1, "action": action_text}
            targets.append((end, spaced(action_text), data))
    return targets


def _squares(
    builder: _MapBuilder, listed: Sequence[str], idle: Sequence[str]
) -> Iterator[Target]:
    """Yield the free squares of a grid as buttons.

    Each with the motion that leads there, with the actions that work on the object
    right ahead, or with neither and the reason. ``listed`` are the menu's actions as
    texts, ``idle`` those without an effect.
    """
    motions = builder.motions()
    here = builder.waypoints[-1].point
    verbs = ("pick_up", "toggle")
    # An action without an effect is listed by the world, but is no offer to a player.
    works = [verb for verb in verbs if verb in listed and verb not in idle]
    for square, is_wall in builder.squares.items():
        if is_wall:
            continue
        title = "no known way there yet"
        more: dict[str, Any] = {}
        motion = motions.get(square)
        if motion:
            title = "walk here"
            more["words"] = listed.index(motion) + 1
        elif square == here:
            title = "you are here"
        elif square in motions:  # faced already
            title = spaced(" or ".join(works)) or "no action works on it now"
            numbers = [str(listed.index(verb) + 1) for verb in works]
            more["does"] = " ".join(numbers)
        more["cell"] = f"{square[0]:g},{square[1]:g}"
        yield square, title, more


def _square(position: Point, facing: float, ahead: float, right: float) -> Point:
    """Return the square at ``ahead`` and ``right`` steps from a position on the map.

    ``facing`` is a heading in degrees, a multiple of 90. Rounded, because steps
    computed from sines miss the whole numbers in their last bits.
    """
    in_front = displaced(position, facing, ahead)
    x, y = displaced(in_front, facing + 90, right)
    return float(round(x)), float(round(y))


@dataclass
class _MapBuilder:
    """A map under construction: looks are added, shapes are taken.

    Coordinates are those of the poses (metres or squares). A grid's y grows downwards,
    so it is negated: on the map north is up. ``exact`` is False once a position was
    reckoned from headings, in which case the map has no scale.
    """

    letters: Letters
    waypoints: list[Waypoint] = field(default_factory=list)
    points: dict[str, Point] = field(default_factory=dict)
    """Places by their names."""
    edges: dict[tuple[str, str], None] = field(default_factory=dict)
    stubs: list[tuple[Point, Point]] = field(default_factory=list)
    exits: list[tuple[float, Point]] = field(default_factory=list)
    """Exits of a street at the last look: degrees to the right, and the end of its stub."""
    objects: dict[str, tuple[Point, str]] = field(default_factory=dict)
    squares: dict[Point, bool] = field(default_factory=dict)
    """Squares of a grid: whether each is a wall."""
    grid: dict[str, GridItem] = field(default_factory=dict)
    view: list[Point] = field(default_factory=list)
    """Squares in view at the last look."""
    rooms: dict[Point, str] = field(default_factory=dict)
    """Names of rooms, where the walk entered them."""
    names: dict[str, str] = field(default_factory=dict)
    """Destinations of the doorways that places are in."""
    fans: list[list[Point]] = field(default_factory=list)
    outlines: dict[str, Sequence[Point]] = field(default_factory=dict)
    # Open or closed, when seen last; a doorway has no door
    doors: dict[str, str] = field(default_factory=dict)
    exact: bool = True

    def add(self, look: Look) -> bool:
        """Add a look to the map; False if it has no position, which leaves the map as it was."""
        pose = look.pose
        held = as_mapping(look.observation)
        place = place_of(pose)
        heading = finite(pose.get("heading"))
        position = self._point(place, pose, "walls" in held)
        if position is None:
            return False
        self.letters.assign(place)
        stop = Waypoint(
            step=len(self.waypoints),
            place=self.letters.of(place),
            point=position,
            heading=heading,
        )
        self.waypoints.append(stop)
        if place:
            self.points[place] = position
        facing = finite(pose.get("heading", held.get("heading"))) or 0.0
        self._add_neighbors(place, position, held)
        turns = [finite(turn) or 0.0 for turn in held.get("angles") or ()]
        # A stub just long enough to be pressed: the length of a street's edge is unknown.
        self.exits = []
        for turn in turns:
            end = displaced(position, facing + turn, 0.55)
            self.exits.append((turn, end))
            self.stubs.append((position, end))
        # Stubs have no true length, so a map with them has no scale.
        self.exact = self.exact and not turns
        self._add_room(place, position, held, look)
        self._add_objects(position, facing, held, look)
        for door in listed(held, "doors"):
            state = "open" if door["open"] else "closed"
            self.doors[door["name"]] = state
        if "walls" in held:
            self._add_squares(position, facing, held)
        # Held objects, and what is in them, are no longer where they were.
        for item in listed(held, "holding"):
            held_name = item["name"]
            self.grid.pop(held_name, None)
            for name in (held_name, *item.get("contents", ())):
                self.objects.pop(name, None)
        if "depth" in held:
            self.fans.append(fan(held))
        return True

    def _add_neighbors(self, place: str, position: Point, held: JsonObject) -> None:
        """Add the edges to the places that can be reached from here, and unseen places."""
        for neighbor in listed(held, "neighbors"):
            name = str(neighbor.get("viewpoint"))
            self.letters.assign(name)
            # A place keeps the position at which it was seen first.
            end = displaced(position, *heading_and_length(neighbor))
            self.points.setdefault(name, end)
            self.edges[place, name] = None

    def _add_room(
        self,
        place: str,
        position: Point,
        held: JsonObject,
        look: Look,
    ) -> None:
        """Add the outline of the room, or its name unless that stands nearby already.

        "Nearby" is within ``_ROOM`` metres. A room without an outline is read from the
        observation or, at places of a graph, from its text.
        """
        room = str(held.get("room") or "")
        if not room and place:
            room = room_of(look.text)
        # An outline has room for the name, and needs no place of its own for it.
        if look.room:
            self.outlines[room] = look.room
            return
        for point, name in self.rooms.items():
            if name == room and math.dist(point, position) <= _ROOM:
                return
        self.rooms[position] = room

    def _add_objects(
        self,
        position: Point,
        facing: float,
        held: JsonObject,
        look: Look,
    ) -> None:
        """Add what is remembered, what the observation lists, and what its text names.

        ``facing`` is the heading in degrees that bearings are relative to. A doorway
        close to a place does not become an object but names the place.
        """
        for name, point in look.known.items():
            kind = "objects"
            if name.startswith("door"):
                kind = "doors"
            self.objects[name] = (point, kind)
        for key, name, turn, distance in sightings({**held, "heading": facing}):
            if key in _WITH_BEARING and not math.isnan(distance):
                point = displaced(position, facing + turn, distance)
                self.objects[name] = (point, key)
        if held.get("shown"):
            return  # the text says the same
        # A text rounds its angles and distances: what it names is drawn nearby.
        for name, turn, distance in landmarks(look.text):
            spot = displaced(position, facing + turn, distance)
            in_doorway = [
                place
                for place, point in self.points.items()
                if math.dist(point, spot) < _DOORWAY
            ]
            if name.startswith("doorway ") and in_doorway:
                destination = name.removeprefix("doorway ")
                self.names.setdefault(in_doorway[0], destination)
            elif name.startswith("doorway "):
                self.objects[name] = spot, "doors"
                self.doors[name] = "doorway"
            else:
                self.objects[name] = spot, "objects"

    def _point(self, place: str, pose: JsonObject, grid: bool) -> Point | None:
        """Return a look's coordinates, else its known place, else one unit along its heading.

        The last is dead reckoning, for poses without coordinates: it clears ``exact``.
        None if the pose has neither coordinates nor a place.
        """
        x = finite(pose.get("x"))
        y = finite(pose.get("y"))
        if x is not None and y is not None:
            # A grid counts its rows to the south.
            if grid:
                y = -y
            return x, y
        if not place:
            return None
        # The first place is the origin; a known one keeps its position, which closes
        # loops.
        if place in self.points or not self.waypoints:
            return self.points.get(place, (0.0, 0.0))
        self.exact = False
        heading = finite(pose.get("heading")) or 0.0
        return displaced(self.waypoints[-1].point, heading, 1.0)

    def _add_squares(self, position: Point, facing: float, held: JsonObject) -> None:
        """Add the view from a square, which in a room reaches up to the walls or doors.

        ``facing`` is in degrees. ``held`` is the observation: ``walls`` are the squares
        to the next wall ahead, left and right, None beyond the view; ``objects`` have
        steps ``ahead`` and to the ``right``. Squares at the border become walls, unless
        known as free or with an object.
        """
        # Objects and doors by (ahead, right), in squares from the actor's own
        at = {(each["ahead"], each["right"]): each for each in listed(held, "objects")}
        doors = {square for square, each in at.items() if each["kind"] == "door"}

        def reach(wall: int | None, ahead: int, right: int, most: int) -> int:
            """Squares up to a wall or door in a direction, at most those of the view."""
            for steps in range(1, most):
                if steps == wall or (steps * ahead, steps * right) in doors:
                    return steps
            return most

        wall_ahead, wall_left, wall_right = held["walls"]
        front = reach(wall_ahead, 1, 0, VIEW_SIZE)
        left = reach(wall_left, 0, -1, MIDDLE + 1)
        right = reach(wall_right, 0, 1, MIDDLE + 1)
        on_door = any(
            item.kind == "door" and item.point == position
            for item in self.grid.values()
        )
        # Rows from the actor's own to that of the wall or door in front.
        self.view = []
        for ahead in range(min(front + 1, VIEW_SIZE)):
            columns = range(-min(left, MIDDLE), min(right, MIDDLE) + 1)
            if on_door and ahead:
                columns = range(1)  # the walls next to a door are no walls of the room
            for aside in columns:
                square = _square(position, facing, ahead, aside)
                if ahead == front or aside in (-left, right):
                    self.squares.setdefault(square, True)
                else:
                    self.view.append(square)
                    self.squares[square] = False
        # Through an open door the column ahead is free up to the wall.
        if at.get((front, 0), {}).get("state") == "open":
            for ahead in range(front + 1, wall_ahead or 0):
                self.squares[_square(position, facing, ahead, 0)] = False
        # Objects in view that are no longer there. A list, because the loop removes items.
        for name, item in list(self.grid.items()):
            # An object in view is listed again below if it is still there.
            if item.kind != "door" and item.point in self.view:
                del self.grid[name]
        for (ahead, right), each in at.items():
            point = _square(position, facing, ahead, right)
            self.squares[point] = False
            # Points have y to the north, squares of the grid count to the south.
            x, y = point
            self.grid[each["name"]] = grid_item(each, int(x), int(-y))

    def motions(self) -> dict[Point, str]:
        """Map squares to the first motion of the shortest path to them; empty if none is needed.

        Includes the squares that can be reached over free squares seen so far, and
        those of objects that can be faced. Assumes a grid: every heading is a multiple
        of 90 degrees.
        """
        # An open door can be walked through, all other objects stand in the way.
        taken = {item.point for item in self.grid.values() if item.state != "open"}
        floor = {square for square, wall in self.squares.items() if not wall}
        free = floor - taken
        now = self.waypoints[-1]
        # Breadth first over squares and headings: a turn costs a step like a move.
        heading = (now.heading or 0.0) % 360
        queue = deque([(now.point, heading, "")])
        first = dict[Point, str]()
        reached = set[tuple[Point, float]]()
        while queue:
            point, heading, motion = queue.popleft()
            if (point, heading) in reached:
                continue
            reached.add((point, heading))
            front = _square(point, heading, 1, 0)
            # A square itself is reached by standing on it, an object by facing it.
            for square in {point, front} & {point, *taken}:
                first.setdefault(square, motion)
            if front in free:
                queue.append((front, heading, motion or "move_ahead"))
            left = (heading - 90) % 360
            right = (heading + 90) % 360
            queue.append((point, left, motion or "turn_left"))
            queue.append((point, right, motion or "turn_right"))
        return first

    def shapes(self) -> list[Shape]:
        """Return the shapes of the map, from the ground up: later ones cover earlier ones."""
        shapes = [Shape("area", rim, "seenfree") for rim in self.fans if rim]
        shapes += [
            Shape("area", corners, "floor") for corners in self.outlines.values()
        ]
        shapes += [cell(middle, wall) for middle, wall in self.squares.items()]
        if self.view:
            shapes.append(Shape("cells", self.view, "inview", size=1))
        labels: list[tuple[str, Point, float, str]] = []
        for item in self.grid.values():
            shape = item_shape(item)
            shapes.append(shape)
            # A label as wide as 0.8 of a square does not reach into the next one.
            labels.append((shape.title, item.point, 0.8, ""))
        shapes += [room_label(name, corners) for name, corners in self.outlines.items()]
        for at, room in self.rooms.items():
            if room:
                labels.append((room, at, 0.0, "inroom"))
        labels += [(_arrow(turn), end, 0.0, "") for turn, end in self.exits]
        for text, at, side, kind in labels:
            corners = Extent.around(at, side, side).corners
            shapes.append(Shape("label", corners, kind, label=text))
        shapes += [Shape("line", ends, "stub") for ends in self.stubs]
        # Places and objects are dots, whose class tells what they are.
        marks = []
        for name, point in self.points.items():
            title = f"{self.letters.of(name)} {self.names.get(name, '')}"
            marks.append((title.strip(), point, "place"))
        for name, (point, kind) in self.objects.items():
            style = f"seen-{kind} {self.doors.get(name, '')}"
            marks.append((name, point, style.strip()))
        for name, point, style in marks:
            size = _DOOR if style.startswith("seen-doors") else _MARK
            mark = Shape("dot", [point], f"mark-{style}", name, name, size)
            shapes.append(mark)
        # The actor is on top; without a heading, it is a dot.
        now = self.waypoints[-1]
        if now.heading is None:
            me = Shape("dot", [now.point], "me", size=14)
        else:
            me = Shape("cone", [now.point], "me", size=now.heading)
        return [*shapes, me]

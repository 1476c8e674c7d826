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
from itertools import count, takewhile
from pathlib import Path
from threading import Thread
from typing import Any, Literal, NamedTuple

from wayword.agents.human import HELP_ALIASES, QUIT_WORDS, parse_input
from wayword.agents.person import Person, PlayerLeft, Situation, Style
from wayword.core.action import STOP, Action, Rejection
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, WaywordError
from wayword.core.geometry import relative
from wayword.core.trajectory import Step
from wayword.core.world import World
from wayword.datasets.procedural.homes.chores import EVERYDAY_NAMES
from wayword.metrics import accounting
from wayword.metrics.recorded import as_mapping, finite, listed, place_of
from wayword.runs.config import metrics_of
from wayword.runs.plan import Plan, open_dataset, shared_datasets
from wayword.runs.play import PlayedGame, game_plan, play
from wayword.runs.record import RunFolder
from wayword.runs.results import RunResult
from wayword.verbalize import street
from wayword.viewer import figures
from wayword.viewer.figures import spaced
from wayword.viewer.maps import drawing as draw
from wayword.viewer.maps import heading_and_length, toward
from wayword.viewer.maps.babyai import GridObject, cell, grid_object, object_shape
from wayword.viewer.maps.content import Map, Point, Shape, Waypoint, room_label
from wayword.viewer.maps.indoor import room_in
from wayword.viewer.maps.objectnav import fan
from wayword.viewer.markup import Html, Letters, render, template_function
from wayword.worlds.babyai.level import MIDDLE, VIEW_SIZE

MOST = 16
"""Games that can run at once."""
# In the names of run folders, before the number of the further attempt
_AGAIN = "-again"
_HISTORY = 2000  # lines that a seat and a table keep
_COMMANDS = frozenset({*QUIT_WORDS, *HELP_ALIASES, "map", "undo"})
"""Words for the agent ``human`` itself."""

State = Literal["loading", "playing", "over", "failed"]


class PlayEvent(NamedTuple):
    """An event of a game; ``who`` caused or heard it."""

    who: str
    text: str
    style: Style = ""


class Seat(Person):
    """An actor's seat in a game: the player, as seen by the agent ``human``."""

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
        with self._table.changing():
            self.situation = situation
            pose, known, room = self._table.pose(self.actor)
            self.looks.append(
                Look(pose, situation.observation, situation.around, known, room)
            )
        return True

    def write(self, text: str, style: Style = "") -> None:
        with self._table.changing():
            self.lines.append(PlayEvent("", text, style))

    def ask(self, question: str) -> str:
        """Wait for input from the browser. Raises ``EOFError`` once the person has left."""
        with self._table.changed:
            self._questions += 1
            self.waiting = self._questions
            self._words = []
            self._table.touch()
            self._table.changed.wait_for(lambda: bool(self._words) or self._left)
            self.waiting = 0
            self._table.touch()
            if not self._words:
                raise EOFError
            return self._words[0]

    def leave(self) -> None:
        with self._table.changing():
            self._left = True

    def put(self, number: int, words: str) -> str:
        """Answer question ``number``; return the problem with the answer, else empty."""
        with self._table.changing():
            if not self.waiting or number != self.waiting or self._words:
                return "that turn is over; reload the page"
            listed = self.situation.space.listed if self.situation else ()
            chosen = int(words) if words.isdecimal() and len(words) < 6 else 0
            action = str(listed[chosen - 1]) if 1 <= chosen <= len(listed) else words
            self.lines.append(PlayEvent("you", action))
            self._words = [words]
        return ""

    def check(self, words: str) -> tuple[str, str]:
        """Return a problem with the input, so that a typo costs nothing, and a question to confirm
        an action that ends the game or is not listed; both may be empty."""
        situation = self.situation
        plain = words.strip().lower()
        if situation is None or plain.startswith("?") or plain in _COMMANDS:
            return "", ""
        read = parse_input(words, situation.space)
        if not isinstance(read, Action):
            return read, ""
        if read.name == STOP.name:
            return "", f"{read} ends the game. Stop here?"
        listed = (
            read.name in situation.space.open_verbs or read in situation.space.listed
        )
        return (
            "",
            "" if listed else f"{read} is not listed and may cost a step. Try it?",
        )

    def settled(self, seconds: float) -> None:
        """Wait for the next question or the end of the game, ``seconds`` at most."""
        with self._table.changed:
            self._table.changed.wait_for(
                lambda: (self.waiting > 0 and not self._words) or self._table.ended,
                seconds,
            )


class PlayTable(Person):
    """A game: the person of its run, who has a seat per actor and sees every turn."""

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
        self.version += 1
        self.changed.notify_all()

    def seat(self, actor: str) -> Seat:
        """Return the seat of an actor, shared by the agent and the pages."""
        with self.changed:
            return self._seats.setdefault(actor, Seat(self, actor))

    @property
    def folder(self) -> Path | None:
        """The run folder; None if its default name is not known yet."""
        return self.result.path if self.result else self.setup and self.setup[0].out

    @property
    def series(self) -> Path | None:
        """The run folder of the first attempts, of which others are named."""
        return self.folder and self.folder.with_name(
            self.folder.name.partition(_AGAIN)[0]
        )

    @property
    def turn(self) -> int:
        return max(
            (s.situation.turn for s in self._seats.values() if s.situation), default=1
        )

    def enter(self, episode: Episode, world: World) -> None:
        with self.changing():
            self._world = world
            self.state = "playing"

    def stepped(self, step: Step) -> None:
        done = step.decision
        if isinstance(done, Rejection):
            text = f"rejected: {done.reason}"
        else:
            text = str(done.action)
        with self.changing():
            self.seat(step.actor).moves += len(
                step.feedback.details.get("low_level", "1")
            )
            self.lines.append(
                PlayEvent(step.actor, text, "" if step.feedback.ok else "warning")
            )

    def pose(
        self, actor: str
    ) -> tuple[Mapping[str, Any], Mapping[str, Point], Sequence[Point]]:
        """An actor's pose; in a household also remembered objects and the corners of its room."""
        world: Any = self._world
        pose = world.pose(actor) if world else {}
        known = world.remembered(actor) if hasattr(world, "remembered") else {}
        rooms = world.scene.rooms if known else ()
        return (
            pose,
            known,
            next((o.polygon for o in rooms if o.name == pose["room"]), ()),
        )

    def write(self, text: str, style: Style = "") -> None:
        with self.changing():
            self.question = text

    def ask(self, question: str) -> str:
        """Ask the observer an agent's question, and wait. An empty string is no answer."""
        with self.changing():
            self.lines.append(PlayEvent("", self.question, "title"))
        try:
            return self.seat("").ask(question)
        finally:
            with self.changing():
                self.question = ""

    def answer(self, number: int, words: str) -> str:
        """Answer an agent's question ``number``; return the answer's problem, else empty."""
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
        """End the game, finished or left by the person."""
        why = game.result.outcome.exhausted or game.result.outcome.unusable
        with self.changing():
            self.game = game
            self.result = game.result
            self.state = "over" if game.scores is not None else "failed"
            if game.scores is None:
                reasons = [*game.result.notices, "the episode failed"]
                self.problem = f"{why or reasons[0]}; this game does not count"


@dataclass(slots=True)
class Games:
    """Games of a server. ``on_folder`` is called with each run folder as soon as it exists."""

    on_folder: Callable[[Path], None]
    tables: dict[str, PlayTable] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, plan: Plan, role: str = "", others: str = "") -> PlayTable:
        """Begin a game, or return the open one in the plan's folder."""
        for each in self.running():
            if plan.out and each.folder == plan.out:
                return each

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
        Thread(target=table.carry_out, args=[lambda: work(table)], daemon=True).start()
        return table

    def after(self, name: str, again: bool) -> PlayTable:
        """Begin the next game of a series; or the same episode ``again``, in a new folder."""
        table = self.table(name)
        if table.setup is None or not table.ended:
            raise UsageError(f"game {name} has not ended")
        plan, *players = table.setup
        folder = table.series
        episode = table.game.episode if again and table.game else ""
        if folder and episode:
            new = (folder.with_name(f"{folder.name}{_AGAIN}{n}") for n in count(1))
            folder = next(each for each in new if not each.exists())
        plan = replace(plan, episode="" if plan.continues else episode, out=folder)
        following = self.begin(plan, *players)
        for actor in table.humans if again else ():
            following.seat(actor).letters = table.seat(actor).letters
        return following

    def open(self, title: str) -> PlayTable:
        """Open a table without a game, for a run whose agents ask the observer."""
        with self._lock:
            if sum(not table.ended for table in self.tables.values()) >= MOST:
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
        if name not in self.tables:
            raise UsageError(f"no game {name!r}")
        return self.tables[name]

    def end(self) -> None:
        for game in list(self.tables.values()):
            game.leave()


# The pages.

SHOWN = 4  # metrics of the family in the table of scores, besides the steps


class GameEnd(NamedTuple):
    """A finished game: the address of its recorded episode, its map with the gold path, the results
    of other runs (name, and True if solved), True if solved, the mistake, the distance left, and
    the goal conditions (words, parts that hold, number of parts)."""

    link: str = ""
    map: Html | None = None
    others: Sequence[tuple[str, bool]] = ()
    solved: bool | None = None
    mistake: str = ""
    left: str = ""
    conditions: Sequence[tuple[str, int, int]] = ()


def board(
    game: PlayTable, actor: str, ending: GameEnd, tally: Sequence[bool] = ()
) -> Html:
    """Return the view of a seat or an observer; ``tally``: which games of the series are solved."""
    with game.changed:
        seat = game.seat(actor) if actor else None
        now = seat.situation if seat else None
        letters = seat.letters if seat else Letters()
        # Assigns letters
        drawn = observed_map(seat.looks, letters, now) if seat and now else None
        # By verb, empty for those without arguments
        groups: dict[str, list[Choice]] = {"": []}
        last: list[Choice] = []  # ``stop``
        directions = arrows(now.observation if now else {})
        keys = dict[str, str]()
        if now and not game.ended:
            keys = {action: key for key, action in arrow_keys(now).items()}
        for number, action in enumerate(
            now.space.listed if now and not game.ended else (), 1
        ):
            words = spaced(action.name)
            direction = ""
            if action.arguments:
                words = ", ".join(spaced(letters.of(each)) for each in action.arguments)
                if action.name == "rotate":
                    words = (
                        f"{'left' if words[0] == '-' else 'right'} {words.strip('-')}°"
                    )
                direction = directions.get(action.arguments[-1], "")
            group = groups.setdefault(action.name if action.arguments else "", [])
            key = keys.get(str(action), "s" if action == STOP else "")
            (last if action == STOP else group).append(
                (number, action, words, direction, key)
            )
        choices = [
            (verb, listed) for verb, listed in (*groups.items(), ("", last)) if listed
        ]
        # On the last input: it stays in view.
        feedback = [
            *takewhile(
                lambda event: not event.who, reversed(seat.lines if seat else ())
            )
        ]
        return render(
            "board.html", game=game, actor=actor, ending=ending, seat=seat, now=now,
            feedback=feedback[3::-1], scores=score_rows(game.game) if game.game else [],
            drawn=drawn, choices=choices, letters=letters, tally=tally,
            moves=_moves(game.game) if game.game else (),
            everyday={spaced(kind): name.lower() for kind, name in EVERYDAY_NAMES.items()},
            idle=idle(as_mapping(now.observation)) if now else (),
        )  # fmt: skip


def idle(held: Mapping[str, Any]) -> list[str]:
    """Return the actions on a grid that would have no effect, by what is right ahead."""
    if "walls" not in held:
        return []
    objects = listed(held, "objects")
    kinds = [
        each["kind"] for each in objects if (each["ahead"], each["right"]) == (1, 0)
    ]
    full = bool(held["holding"])
    wall = held["walls"][0] == 1
    works = {
        "pick_up": not full and bool({"key", "ball", "box"} & {*kinds}),
        "drop": full and not wall and not kinds,
        "toggle": bool({"door", "box"} & {*kinds}),
    }
    return [name for name, effect in works.items() if not effect]


@template_function
def readable(text: str, letters: Letters) -> Html:
    """Return a text with letters for ids, spaces in names and whole degrees."""
    text = re.sub(r"\d+\.\d+°", lambda m: f"{round(float(m[0][:-1])) % 360}°", text)
    ids = letters.by_place
    return letters.put(
        re.sub(r"[\w-]+", lambda m: m[0] if m[0] in ids else spaced(m[0]), text)
    )


@template_function
def moves_of(lines: Iterable[PlayEvent]) -> list[list[PlayEvent]]:
    """Group the lines of a log: each move with its results."""
    moves: list[list[PlayEvent]] = []
    for event in lines:
        begins_move = event.who != "" or not moves
        if begins_move:
            moves.append([])
        moves[-1].append(event)
    return moves


Choice = tuple[int, Action, str, str, str]
"""A listed action: its number from 1, what it is, the words on its button, its direction and the
key that presses it: an arrow, ``s`` for stop, or none; the page numbers the buttons in view."""
_KEYS = {
    "ArrowUp": (0.0, ("move_ahead", "forward")),
    "ArrowLeft": (-90.0, ("turn_left", "left", "rotate[-30]")),
    "ArrowRight": (90.0, ("turn_right", "right", "rotate[30]")),
    "ArrowDown": (180.0, ("turn_around",)),
}
"""Arrow keys: degrees to the right of the actor's heading, and the actions that go or turn there
in worlds without a graph of viewpoints."""


def arrow_keys(now: Situation) -> dict[str, str]:
    """Map arrow keys to listed actions: to the nearest neighbor within 45 degrees of its direction,
    or a step or turn."""
    listed = {str(action) for action in now.space.listed}
    keys = {}
    turns = [
        (turn, f"goto[{name}]")
        for key, name, turn, _ in sightings(as_mapping(now.observation)) if key == "neighbors"
    ]  # fmt: skip
    for key, (angle, names) in _KEYS.items():
        near = [
            (abs(turn), action)
            for turn, action in turns
            if abs(relative(turn, angle)) <= 45
        ]
        # The nearest to the front
        best = (max if angle == 180 else min)(near, default=(0.0, ""))
        if action := next((each for each in (best[1], *names) if each in listed), ""):
            keys[key] = action
    return keys


def score_rows(game: PlayedGame) -> list[tuple[str, str, str]]:
    """Return the main metrics: name, player, expert; the first row has the headings."""
    yours = game.scores or {}
    best = game.best or {}
    family = metrics_of(RunFolder.read(game.result.path).config)
    present = [m for m in (*family, *accounting.METRICS) if m.key in yours]
    main = [metric for metric in present if metric not in accounting.METRICS][:SHOWN]
    rows = [("", "you", "expert")]
    for metric in [
        *main,
        *(m for m in present if m.key == _unit(game) and m not in main),
    ]:
        theirs = figures.value(metric, best[metric.key]) if metric.key in best else ""
        rows.append((metric.label, figures.value(metric, yours[metric.key]), theirs))
    return rows


def _unit(game: PlayedGame) -> str:
    """Return the metric that counts the moves of the player and the expert alike: a person's turn
    may take many low-level actions, an expert's takes one."""
    both = {*(game.scores or ())} & {*(game.best or game.scores or ())}
    return "low_level" if "low_level" in both else "steps"


def _moves(game: PlayedGame) -> list[int]:
    """Return the numbers of moves of the player and the expert; 0 if unknown."""
    return [
        int((scores or {}).get(_unit(game), 0)) for scores in (game.scores, game.best)
    ]


# The map of what an actor has seen, drawn from observations alone: neighbors, exits of a
# street, objects with a bearing and a distance, squares ahead and to the right, free floor in a
# depth image. Where poses have no coordinates the walk is reckoned from headings and lengths, as a
# walker would.

_ARROWS = "↑↗→↘↓↙←↖"
_WITH_BEARING = ("objects", "doors", "others", "shown")
"""Fields of observations whose items have a bearing and a distance."""


class Look(NamedTuple):
    """An observation at a pose, its text, the objects remembered, and the corners of the room."""

    pose: Mapping[str, Any]
    observation: Any
    text: str = ""
    known: Mapping[str, Point] = {}
    room: Sequence[Point] = ()


def sightings(held: Mapping[str, Any]) -> Iterator[tuple[str, str, float, float]]:
    """Yield the items of an observation that have a direction: field, name, degrees to the right of
    the actor's heading, and distance; NaN if unknown."""
    facing = finite(held.get("heading")) or 0.0
    for key in ("neighbors", *_WITH_BEARING):
        for each in listed(held, key):
            name = str(each.get("viewpoint") or each.get("name") or each.get("words"))
            turn = finite(each.get("bearing"))
            far = finite(each.get("distance"))
            in_grid = "ahead" in each
            if (
                key == "neighbors"
                and (heading := finite(each.get("heading"))) is not None
            ):
                turn = relative(heading, facing)
            elif in_grid:
                ahead, right = (
                    finite(each.get(side)) or 0.0 for side in ("ahead", "right")
                )
                turn = math.degrees(math.atan2(right, ahead))
                far = math.hypot(ahead, right)
            if turn is not None:
                yield (
                    "squares" if in_grid else key,
                    name,
                    turn,
                    math.nan if far is None else far,
                )


_SIGHTING = re.compile(
    r"([^,.:;()\[\]]+) \((ahead|behind|left|right)(?: (\d+)°)?, ([\d.]+) m\)"
    rf"|You see (.+?) ({'|'.join(street.DIRECTIONS)})\."
)
_DOORWAY = 0.5  # metres between a doorway and the place that is in it
_ROOM = 4.0  # metres around the name of a room in which it is not repeated
_SIDES = {"ahead": 0, "behind": 180, "left": -1, "right": 1}
_ELSEWHERE = re.compile(
    r"\b(door|doorways?|beyond|further|make out|can be seen|into)\b", re.IGNORECASE
)


def landmarks(text: str) -> Iterator[tuple[str, float, float]]:
    """Yield the landmarks of a text: name, degrees to the right, and distance; on a street, which
    has none, next to the actor."""
    for name, side, angle, far, seen, where in _SIGHTING.findall(text):
        if seen:
            yield seen, street.VIEWS[street.DIRECTIONS.index(where)], 1.0
        else:
            yield name.strip(), _SIDES[side] * float(angle or 1), float(far)


def room_of(text: str) -> str:
    """Return the room that the most sentences of a text name, save those on what is elsewhere."""
    near = (part for part in re.split(r"[.\n]", text) if not _ELSEWHERE.search(part))
    rooms = Counter(filter(None, map(room_in, near)))
    return max(rooms, key=lambda room: rooms[room], default="")


def arrows(observation: Any) -> dict[str, str]:
    """Map names of items with a bearing to their relative position: ``↗ 2.3 m``."""
    return {
        name: f"{_ARROWS[round(turn / 45) % 8]} {far:.1f} {'squares' if key == 'squares' else 'm'}"
        for key, name, turn, far in sightings(as_mapping(observation)) if far == far
    }  # fmt: skip


def observed_map(
    looks: Sequence[Look], letters: Letters, now: Situation | None = None
) -> Html | None:
    """Return the map of what was seen, the last look being now; None if there is nothing to draw.
    Places and objects that the actor can act on ``now`` can be pressed."""
    builder = _MapBuilder(letters)
    if not looks or not all(builder.add(look) for look in looks):
        return None
    drawn = Map({"you": builder.waypoints}, builder.points, list(builder.edges))
    drawn.scale = builder.exact
    drawn.unit = "squares" if builder.squares else "m"
    drawn.shapes = builder.shapes()
    drawn.targets = _targets(builder, now)
    legend = [
        (f"mark-seen-doors {state}", f"{state} door")
        for state in {*builder.doors.values()}
    ]
    if builder.view:
        legend.insert(0, ("inview", "in view"))
    drawn.legend = legend
    return draw.render(drawn)


def _targets(
    builder: _MapBuilder, now: Situation | None
) -> list[tuple[Point, str, Mapping[str, Any]]]:
    """Return the places, objects and exits of the current actions as buttons. The page lists the
    actions of a button that has several."""
    by_name: dict[str, list[tuple[int, Action]]] = {}
    for number, action in enumerate(now.space.listed if now else (), 1):
        if action.arguments:
            by_name.setdefault(action.arguments[-1], []).append((number, action))
    grid = {
        name: (float(x), -float(y)) for name, (_, _, _, x, y) in builder.grid.items()
    }
    objects = {name: point for name, (point, _) in builder.objects.items()}
    targets: list[tuple[Point, str, Mapping[str, Any]]] = []
    for name, point in {**grid, **objects, **builder.points}.items():
        actions = by_name.get(name, [])
        called = builder.letters.of(name)
        if len(actions) == 1:
            ((number, action),) = actions
            words = {"words": number, "action": str(action)}
            targets.append((point, spaced(f"{action.name} {called}"), words))
        elif actions:
            targets.append(
                (point, spaced(f"{called}: {len(actions)} actions"), {"name": name})
            )
    keys = arrow_keys(now) if now else {}
    listed = [str(action) for action in now.space.listed] if now else []
    if now and "move_ahead" in listed:
        targets += _squares(builder, listed, idle(as_mapping(now.observation)))
    for turn, end in builder.exits:
        key = min(_KEYS, key=lambda key: abs(relative(turn, _KEYS[key][0])))
        if text := keys.get(key):
            targets.append(
                (end, spaced(text), {"words": listed.index(text) + 1, "action": text})
            )
    return targets


def _squares(
    builder: _MapBuilder, listed: Sequence[str], idle: Sequence[str]
) -> Iterator[tuple[Point, str, Mapping[str, Any]]]:
    """Yield the free squares of a grid as buttons: with the motion that leads there, with the
    actions that work on the object right ahead, or with neither and the reason."""
    motions = builder.motions()
    here = builder.waypoints[-1].point
    works = [
        verb for verb in ("pick_up", "toggle") if verb in listed and verb not in idle
    ]
    for square in (square for square, wall in builder.squares.items() if not wall):
        title = "no known way there yet"
        more = dict[str, Any]()
        if motion := motions.get(square):
            title = "walk here"
            more = {"words": listed.index(motion) + 1}
        elif square == here:
            title = "you are here"
        elif square in motions:
            title = spaced(" or ".join(works)) or "no action works on it now"
            more = {"does": " ".join(str(listed.index(verb) + 1) for verb in works)}
        yield square, title, {"cell": f"{square[0]:g},{square[1]:g}", **more}


def _square(position: Point, facing: float, ahead: float, right: float) -> Point:
    """Return the square of a grid at steps ahead and to the right."""
    x, y = toward(toward(position, facing, ahead), facing + 90, right)
    return float(round(x)), float(round(y))


@dataclass(slots=True)
class _MapBuilder:
    """A map under construction."""

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
    grid: dict[str, GridObject] = field(default_factory=dict)
    view: list[Point] = field(default_factory=list)
    """Squares in view at the last look."""
    rooms: dict[Point, str] = field(default_factory=dict)
    """Names of rooms, where the walk entered them."""
    names: dict[str, str] = field(default_factory=dict)
    """Destinations of the doorways that places are in."""
    fans: list[list[Point]] = field(default_factory=list)
    outlines: dict[str, Sequence[Point]] = field(default_factory=dict)
    # Open or closed, when seen last
    doors: dict[str, str] = field(default_factory=dict)
    exact: bool = True

    def add(self, look: Look) -> bool:
        """Add a look to the map; False if it has no position."""
        pose = look.pose
        held = as_mapping(look.observation)
        place = place_of(pose)
        heading = finite(pose.get("heading"))
        position = self._point(place, pose, "walls" in held)
        if position is None:
            return False
        self.letters.assign(place)
        self.waypoints.append(
            Waypoint(len(self.waypoints), self.letters.of(place), position, heading)
        )
        if place:
            self.points[place] = position
        facing = finite(pose.get("heading", held.get("heading"))) or 0.0
        for neighbor in listed(held, "neighbors"):
            name = str(neighbor.get("viewpoint"))
            self.letters.assign(name)
            self.points.setdefault(
                name, toward(position, *heading_and_length(neighbor))
            )
            self.edges[place, name] = None
        turns = [finite(turn) or 0.0 for turn in held.get("angles") or ()]
        self.exits = [(turn, toward(position, facing + turn, 0.55)) for turn in turns]
        self.stubs += [(position, end) for _, end in self.exits]
        self.exact = self.exact and not turns
        room = str(held.get("room") or (room_of(look.text) if place else ""))
        self.outlines |= {room: look.room} if look.room else {}
        named = [at for at, name in self.rooms.items() if name == room]
        if not look.room and all(math.dist(at, position) > _ROOM for at in named):
            self.rooms[position] = room
        for name, point in look.known.items():
            self.objects[name] = (
                point,
                "doors" if name.startswith("door") else "objects",
            )
        for key, name, turn, far in sightings({**held, "heading": facing}):
            if key in _WITH_BEARING and far == far:
                self.objects[name] = toward(position, facing + turn, far), key
        for name, turn, far in () if held.get("shown") else landmarks(look.text):
            spot = toward(position, facing + turn, far)
            near = (
                place
                for place, at in self.points.items()
                if math.dist(at, spot) < _DOORWAY
            )
            if name.startswith("doorway ") and (there := next(near, "")):
                self.names.setdefault(there, name.removeprefix("doorway "))
            else:
                self.objects[name] = spot, "objects"
        self.doors |= {
            o["name"]: ("closed", "open")[o["open"]] for o in listed(held, "doors")
        }
        if "walls" in held:
            self._add_squares(position, facing, held)
        for each in listed(held, "holding"):
            self.grid.pop(each["name"], None)
            for name in (each["name"], *each.get("contents", ())):
                self.objects.pop(name, None)
        if "depth" in held:
            self.fans.append(fan(held))
        return True

    def _point(self, place: str, pose: Mapping[str, Any], grid: bool) -> Point | None:
        """Return a look's coordinates, else its known place, else one unit along its heading."""
        x = finite(pose.get("x"))
        y = finite(pose.get("y"))
        if x is not None and y is not None:
            return (x, -y) if grid else (x, y)
        if not place:
            return None
        if place in self.points or not self.waypoints:
            return self.points.get(place, (0.0, 0.0))
        self.exact = False
        return toward(self.waypoints[-1].point, finite(pose.get("heading")) or 0.0, 1.0)

    def _add_squares(
        self, position: Point, facing: float, held: Mapping[str, Any]
    ) -> None:
        """Add the view, which in a room reaches up to the walls or doors ahead, left and right."""
        at = {(each["ahead"], each["right"]): each for each in listed(held, "objects")}
        doors = {square for square, each in at.items() if each["kind"] == "door"}
        sides = ((1, 0, VIEW_SIZE), (0, -1, MIDDLE + 1), (0, 1, MIDDLE + 1))
        front, left, right = (
            next(
                (n for n in range(1, far) if n == wall or (n * a, n * r) in doors), far
            )
            for wall, (a, r, far) in zip(held["walls"], sides, strict=True)
        )
        on_door = any(
            o[0] == "door" and (o[3], -o[4]) == position for o in self.grid.values()
        )
        self.view = []
        for ahead in range(min(front + 1, VIEW_SIZE)):
            seen = range(-min(left, MIDDLE), min(right, MIDDLE) + 1)
            # Its frame is no wall of the room
            for aside in (0,) if on_door and ahead else seen:
                square = _square(position, facing, ahead, aside)
                if ahead == front or aside in (-left, right):
                    self.squares.setdefault(square, True)
                else:
                    self.view.append(square)
                    self.squares[square] = False
        through = at.get((front, 0), {}).get("state") == "open"
        for ahead in range(front + 1, held["walls"][0] or 0) if through else ():
            self.squares[_square(position, facing, ahead, 0)] = False
        for name, (kind, *_, x, y) in [*self.grid.items()]:
            # It is listed again if it is still there
            if kind != "door" and (x, -y) in self.view:
                del self.grid[name]
        for square, each in at.items():
            point = _square(position, facing, *square)
            self.squares[point] = False
            self.grid[each["name"]] = grid_object(each, int(point[0]), int(-point[1]))

    def motions(self) -> dict[Point, str]:
        """Map the squares that can be reached over free squares seen so far, and those of objects
        that can be faced, to the first motion of the shortest path; empty if none is needed."""
        taken = {
            (float(x), -float(y))
            for *_, state, x, y in self.grid.values()
            if state != "open"
        }
        free = {square for square, wall in self.squares.items() if not wall} - taken
        now = self.waypoints[-1]
        queue = deque([(now.point, (now.heading or 0.0) % 360, "")])
        first = dict[Point, str]()
        reached = set[tuple[Point, float]]()
        while queue:
            point, heading, motion = queue.popleft()
            if (point, heading) in reached:
                continue
            reached.add((point, heading))
            front = _square(point, heading, 1, 0)
            for square in {point, front} & {point, *taken}:
                first.setdefault(square, motion)
            if front in free:
                queue.append((front, heading, motion or "move_ahead"))
            queue.append((point, (heading - 90) % 360, motion or "turn_left"))
            queue.append((point, (heading + 90) % 360, motion or "turn_right"))
        return first

    def shapes(self) -> list[Shape]:
        shapes = [Shape("area", rim, "seenfree") for rim in self.fans if rim]
        shapes += [
            Shape("area", corners, "floor") for corners in self.outlines.values()
        ]
        shapes += [cell(middle, wall) for middle, wall in self.squares.items()]
        if self.view:
            shapes.append(Shape("cells", self.view, "inview", size=1))
        items = [(object_shape(each), each[3:]) for each in self.grid.values()]
        shapes += [shape for shape, _ in items]
        shapes += [room_label(name, corners) for name, corners in self.outlines.items()]
        labels = [
            (shape.title, (float(x), -float(y)), 0.4, "") for shape, (x, y) in items
        ]
        labels += [(room, at, 0.0, "inroom") for at, room in self.rooms.items() if room]
        labels += [
            (_ARROWS[round(turn / 45) % 8], end, 0.0, "") for turn, end in self.exits
        ]
        for text, (x, y), half, kind in labels:
            box = (x - half, y - half), (x + half, y + half)
            shapes.append(Shape("label", box, kind, label=text))
        shapes += [Shape("line", ends, "stub") for ends in self.stubs]
        marks = [
            (
                f"{self.letters.of(name)} {self.names.get(name, '')}".strip(),
                point,
                "place",
            )
            for name, point in self.points.items()
        ]
        for name, (p, kind) in self.objects.items():
            marks.append((name, p, f"seen-{kind} {self.doors.get(name, '')}".strip()))
        shapes += [
            Shape("dot", [p], f"mark-{kind}", name, name, 3.4)
            for name, p, kind in marks
        ]
        now = self.waypoints[-1]
        if now.heading is None:
            return [*shapes, Shape("dot", [now.point], "me", size=14)]
        return [*shapes, Shape("cone", [now.point], "me", size=now.heading)]

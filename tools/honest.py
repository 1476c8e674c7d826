"""Honest: players of the bench that read the task and their observations, and nothing else.

    wayword bench --agent tools/honest.py --tracks grid,act,together,ask
    wayword bench --agent tools/honest.py --tracks grid,act,together,ask --set design=greedy
    wayword bench --agent tools/honest.py --tracks together --set design=alone
    wayword bench --agent tools/honest.py --tracks ask --set design=glance
    PYTHONPATH=. python tools/honest.py fit weights.json
    wayword bench --agent tools/honest.py --tracks grid,act --set weights=weights.json

``mapper`` remembers what it saw and where, explores what it has not seen, and plans paths on its
map. ``greedy`` has no map: it goes for an object that the task names while one is in view, and
wanders otherwise; it answers a question after one turn around. ``alone`` is a mapper whose partner
stops at once, ``glance`` answers a question by its first view. With ``weights``, the player draws
actions from a logistic regression over its view, fitted to the expert's in training episodes.

As text, an observation says "on your left" where these players read the bearing in degrees.
"""

from __future__ import annotations

import heapq
import json
import math
import re
import sys
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize

from wayword.bench import ladders
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.game import Game
from wayword.core.world import Feedback, Observation
from wayword.runs.opening import open_dataset
from wayword.settings import merge

Play = Generator[Action, tuple[Any, Feedback], None]
"""Actions; what is sent back is the next observation and the result of the action."""
Cell = tuple[int, int]
"""Steps east and north of the start."""

Moves = Generator[Action, tuple[Any, Feedback], bool]
"""Part of a play; True if it succeeded."""
Design = Literal["mapper", "greedy", "alone", "glance"]


@dataclass(frozen=True, slots=True)
class HonestSettings:
    """``design``: see above. ``weights``: file of a fitted player."""

    design: Design = "mapper"
    weights: str = ""


class Honest(Agent):
    """Plays by a script that is sent observations and feedback."""

    Settings = HonestSettings
    families = frozenset({"babyai", "household"})

    def __init__(self, settings: HonestSettings, toolkit: Toolkit) -> None:
        self._settings = settings
        self._toolkit = toolkit
        self._play: Play | None = None
        self._feedback = Feedback()

    async def begin(self, episode: Episode) -> None:
        self._episode = episode

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        if self._play is None:
            self._play = script(
                self._settings, self._toolkit, self._episode, observation, space
            )
            next(self._play)
        try:
            return Decision(self._play.send((observation, self._feedback)))
        except StopIteration:
            return Decision(STOP)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._feedback = feedback


def script(
    settings: HonestSettings,
    toolkit: Toolkit,
    episode: Episode,
    view: Any,
    space: ActionSpace,
) -> Play:
    """The play of a design in the world of an observation."""
    rng = toolkit.rng
    if settings.weights:
        return fitted(json.loads(Path(settings.weights).read_text()), rng, episode)
    is_greedy = settings.design == "greedy"
    if hasattr(view, "walls"):
        return greedy_grid(episode, rng) if is_greedy else map_grid(episode)
    home: Any = space
    if len(episode.actors) > 1:
        if is_greedy:
            return greedy_table(episode, home.rooms, rng)
        actors = 1 if settings.design == "alone" else len(episode.actors)
        me = episode.actors.index(view.actor)
        return lay_table(episode, home.rooms, me, actors) if me < actors else stop()
    if home.body.answers:
        if settings.design == "glance":
            return glance(episode)
        return greedy_count(episode) if is_greedy else count_all(episode)
    return greedy_fetch(episode, rng) if is_greedy else fetch(episode)


def stop() -> Play:
    """Stop at once."""
    yield Action("")


# Words.

NUMBERS = {"two": 2, "three": 3, "four": 4}
IRREGULAR = {"knives": "knife", "watches": "watch", "loaves": "loaf"}


def singular(words: str) -> str:
    """``heads of lettuce`` -> ``head of lettuce``."""
    head, of, rest = words.partition(" of ")
    front, _, last = head.rpartition(" ")
    one = IRREGULAR.get(last) or re.sub(r"(?<=[ox])es$|(?<!s)s$", "", last)
    return f"{front} {one}{of}{rest}".strip()


def kind(name: str) -> str:
    """``butter_knife_2`` -> ``butter_knife``."""
    return name.rpartition("_")[0]


class Phrase:
    """The kind that everyday words mean, by the rules of the prompt: a bin is a garbage_can."""

    def __init__(self, words: str, episode: Episode) -> None:
        rules = str(episode.extra["rules"])
        table = rules.partition("Synonyms: ")[2].partition(".")[0]
        pairs = re.findall(r"([\w ]+?) = (\w+)", table)
        named = {name.strip(): kind for name, kind in pairs}
        self._words = set(re.sub(r"^(?:loaf|head|roll) of ", "", words.lower()).split())
        self._joined = named.get(words, "".join(words.split())).replace("_", "").lower()

    def of(self, names: Iterable[str]) -> list[str]:
        """The names of that kind; those of a longer name (phone, cell_phone) if there are none."""
        names = list(names)
        exact = [n for n in names if kind(n).replace("_", "") == self._joined]
        return exact or [n for n in names if self._words <= set(kind(n).split("_"))]


def request(episode: Episode) -> tuple[Phrase, Phrase]:
    """The object and the place that a request names."""
    text = episode.instruction.partition(" Look for ")[0]
    target = re.search(r"\ban? ([A-Za-z ]+?)(?= (?:on|in|to|and|from)\b|[,.?])", text)
    place = re.search(r"\bthe ([A-Za-z ]+?)(?= and\b|[,.?])", text)
    assert target is not None and place is not None, text  # noqa: PT018
    return Phrase(target[1], episode), Phrase(place[1], episode)


def counted(episode: Episode) -> tuple[Phrase, list[str]]:
    """The object that a question counts, and the rooms."""
    phrased = re.search(
        r"(?:How many|Count the|number of|0 and 3) (.+?)(?: are there)? (?:in|does) the "
        r"([\w ]+?)(?= hold|[,.?])",
        episode.instruction,
    )
    assert phrased, episode.instruction
    return Phrase(singular(phrased[1]), episode), phrased[2].split(" and the ")


# The grid.


def _blocks(view: Any) -> set[tuple[int, int]]:
    """Squares (ahead, right) that bar the way."""
    ahead, left, right = view.walls
    blocked = {
        (o.ahead, o.right)
        for o in view.objects
        if o.kind != "door" or o.state != "open"
    }
    blocked |= {(ahead, 0)} if ahead else set()
    return (
        blocked | ({(0, -left)} if left else set()) | ({(0, right)} if right else set())
    )


def _matches(instruction: str, color: str, of_kind: str) -> bool:
    words = instruction.split()
    colors = {"red", "green", "blue", "purple", "yellow", "grey"} & set(words)
    return of_kind == words[-1] and (not colors or color in colors)


def map_grid(episode: Episode) -> Play:
    """Map the squares in view, go to the target over squares that may be free, else to the nearest
    open door not passed yet, else to the nearest square whose surroundings were not in view."""
    here = (0, 0)
    blocked = set[Cell]()
    seen = set[Cell]()
    targets = set[Cell]()
    doors = set[Cell]()
    view, _ = yield Action("")
    while True:
        blocked |= {_square(here, view.heading, *square) for square in _blocks(view)}
        seen |= {
            _square(here, view.heading, ahead, right)
            for ahead in range((view.walls[0] or 6) + 1)
            for right in (-1, 0, 1)
        }
        for each in view.objects:
            square = _square(here, view.heading, each.ahead, each.right)
            seen.add(square)
            if _matches(episode.instruction, each.color, each.kind):
                targets.add(square)
            if each.kind == "door":
                doors.add(square)
        doors.discard(here)
        blocked.discard(here)
        start = here, round(view.heading)
        fresh = {door for door in doors if not _is_through(door, seen)}
        path = (
            (targets and _path(start, blocked, lambda at, front: front in targets))
            or (
                fresh
                and _path(start, blocked, lambda at, front, goals=fresh: at in goals)
            )
            or _path(start, blocked, lambda at, front, known=seen: at not in known)
        )
        if not path:
            return
        front = _square(here, view.heading, 1, 0)
        view, feedback = yield Action(path[0])
        if path[0] == "move_ahead":
            here = front if feedback.ok else here
            blocked |= set() if feedback.ok else {front}


def _square(here: Cell, heading: float, ahead: int, right: int) -> Cell:
    east, north = _unit(heading)
    return here[0] + ahead * east + right * north, here[
        1
    ] + ahead * north - right * east


def _is_through(door: Cell, seen: set[Cell]) -> bool:
    """True if squares on both sides of a door were in view."""
    x, y = door
    return {(x - 2, y), (x + 2, y)} <= seen or {(x, y - 2), (x, y + 2)} <= seen


def _unit(heading: float) -> Cell:
    return round(math.sin(math.radians(heading))), round(
        math.cos(math.radians(heading))
    )


def _path(
    start: tuple[Cell, int],
    blocked: set[Cell],
    is_goal: Callable[[Cell, Cell], bool],
    slow: Collection[Cell] = (),
) -> list[str]:
    """The turns and steps to the first square, with the one in front of it, that is a goal; a step
    onto a ``slow`` square counts twice. Empty if there is none, or if the start is one."""
    order = count()
    queue: list[Any] = [(0, next(order), start)]
    reached: dict[Any, tuple[Any, str, float]] = {start: (None, "", 0)}
    done = set[Any]()
    while queue and len(done) < 20_000:
        cost, _, state = heapq.heappop(queue)
        if state in done:
            continue
        done.add(state)
        here, heading = state
        front = _square(here, heading, 1, 0)
        if is_goal(here, front):
            verbs = []
            while reached[state][0] is not None:
                state, verb, _ = reached[state]
                verbs.append(verb)
            return verbs[::-1]
        moves = [("turn_left", (here, (heading - 90) % 360), 1.0)]
        moves.append(("turn_right", (here, (heading + 90) % 360), 1.0))
        if front not in blocked and max(map(abs, front)) < 160:
            moves.append(
                ("move_ahead", (front, heading), 2.0 if front in slow else 1.0)
            )
        for verb, after, price in moves:
            if after not in reached or cost + price < reached[after][2]:
                reached[after] = (state, verb, cost + price)
                heapq.heappush(queue, (cost + price, next(order), after))
    return []


def greedy_grid(episode: Episode, rng: Any) -> Play:
    """Go straight for a target in view, else for an open door, else wander."""
    view, _ = yield Action("")
    while True:
        blocked = _blocks(view)
        aims = [
            o for o in view.objects if _matches(episode.instruction, o.color, o.kind)
        ]
        aims += [o for o in view.objects if o.kind == "door" and o.ahead > 0]
        verb = rng.choice(["move_ahead"] * 6 + ["turn_left", "turn_right"])
        if aims:
            ahead = aims[0].ahead
            right = aims[0].right
            if ahead > 0 and (1, 0) not in blocked and (ahead > 1 or right == 0):
                verb = "move_ahead"
            elif right:
                verb = "turn_right" if right > 0 else "turn_left"
        if verb == "move_ahead" and (1, 0) in blocked:
            verb = rng.choice(["turn_left", "turn_right"])
        view, _ = yield Action(verb)


# Homes, by steps.

STEP = 0.25
REACH = 1.4
Spot = tuple[float, float]


@dataclass
class Walker:
    """A body that counts its own steps, and notes where it saw what. ``cell`` is its place in steps
    of 25 cm, ``passed`` the rooms it was in."""

    view: Any = None
    cell: Cell = (0, 0)
    blocked: set[Cell] = field(default_factory=set)
    bumps: set[Cell] = field(default_factory=set)
    spots: dict[str, Spot] = field(default_factory=dict)
    rooms: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)
    doors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)

    def note(self, view: Any) -> None:
        self.view = view
        for each in (*view.objects, *view.doors):
            angle = math.radians(view.heading + each.bearing)
            metres = max(each.distance, 0.1)
            self.spots[each.name] = (
                self.cell[0] * STEP + metres * math.sin(angle),
                self.cell[1] * STEP + metres * math.cos(angle),
            )
        for each in view.objects:
            self.rooms.setdefault(each.name, view.room)
            if "closed" in each.attributes:
                self.closed.add(each.name)
            if "open" in each.attributes:
                self.closed.discard(each.name)
        for door in view.doors:
            self.doors[door.name] = door.rooms
            (self.closed.discard if door.open else self.closed.add)(door.name)

    def sees(self, name: str) -> Any:
        return next(
            (o for o in (*self.view.objects, *self.view.doors) if o.name == name), None
        )

    def do(self, verb: str, *arguments: str) -> Moves:
        """One action; True if it succeeded."""
        ahead = _unit(self.view.heading)
        view, feedback = yield Action(verb, arguments)
        is_done = feedback.status == "ok"
        if verb == "move_ahead":
            if is_done:
                self.cell = (self.cell[0] + ahead[0], self.cell[1] + ahead[1])
            else:
                front = self.cell[0] + ahead[0], self.cell[1] + ahead[1]
                self.blocked.add(front)
                self.bumps |= {
                    (front[0] + n * ahead[1], front[1] + n * ahead[0])
                    for n in (-2, -1, 1, 2)
                }
        self.note(view)
        return is_done

    def square(self) -> Generator[Action, tuple[Any, Feedback], None]:
        """Face along an axis, the only directions in which it walks."""
        while round(self.view.heading) % 90:
            verb = "pan_left" if round(self.view.heading) % 90 == 30 else "pan_right"
            if not (yield from self.do(verb)):
                return

    def look(self) -> Generator[Action, tuple[Any, Feedback], None]:
        """Turn once around."""
        yield from self.square()
        for _ in range(3):
            yield from self.do("turn_right")
        self.looked.add(self.view.room)

    def walk(self, spot: Spot, arrived: Any, most: int = 80) -> Moves:
        """Walk towards a spot until ``arrived()``."""
        yield from self.square()
        goal = (round(spot[0] / STEP), round(spot[1] / STEP))
        for _ in range(most):
            if arrived():
                return True
            goals = {
                (goal[0] + dx, goal[1] + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)
            }
            goals -= self.blocked
            start = self.cell, round(self.view.heading)
            path = goals and _path(
                start,
                self.blocked,
                lambda at, front, goals=goals: at in goals,
                self.bumps,
            )
            if not path:
                return bool(arrived())
            yield from self.do(path[0])
        return bool(arrived())

    def face(self, name: str) -> Generator[Action, tuple[Any, Feedback], None]:
        """Turn to where an object was seen."""
        for _ in range(6):
            if self.sees(name):
                return
            x, y = self.spots[name]
            bearing = math.degrees(
                math.atan2(x - self.cell[0] * STEP, y - self.cell[1] * STEP)
            )
            off = (bearing - self.view.heading + 180) % 360 - 180
            verb = "pan" if abs(off) < 60 else "turn"
            yield from self.do(f"{verb}_{'right' if off > 0 else 'left'}")

    def is_near(self, name: str) -> bool:
        seen = self.sees(name)
        return bool(seen.distance <= REACH) if seen else self.away(name) < 0.7

    def reach(self, name: str) -> Moves:
        """Go up to an object seen before, through doors if it was in another room."""
        room = self.rooms.get(name, "")
        if room and room != self.view.room:
            yield from self.enter(room)
        yield from self.walk(self.spots[name], lambda: self.is_near(name))
        yield from self.face(name)
        return self.sees(name) is not None and self.is_near(name)

    def enter(self, room: str) -> Moves:
        """Go into a room through doors seen before."""
        for _ in range(6):
            if self.view.room == room:
                return True
            door = self._door_towards(room)
            if not door or not (yield from self._pass(door)):
                return False
        return self.view.room == room

    def _door_towards(self, room: str) -> str:
        """The first door of the way with the fewest doors."""
        first_doors = {self.view.room: ""}
        queue = [self.view.room]
        for here in queue:
            for door, sides in self.doors.items():
                for there in sides:
                    if here in sides and there not in first_doors:
                        first_doors[there] = first_doors[here] or door
                        queue.append(there)
        return first_doors.get(room, "")

    def _pass(self, door: str) -> Moves:
        left = self.view.room
        yield from self.walk(
            self.spots[door], lambda: self.is_near(door) or self.view.room != left
        )
        if door in self.closed:
            yield from self.face(door)
            yield from self.do("open", door)
            yield from self.square()
        x, y = self.spots[door]
        dx = x - self.cell[0] * STEP
        dy = y - self.cell[1] * STEP
        sides = [(math.copysign(0.75, dx), 0.0), (0.0, math.copysign(0.75, dy))]
        sides.sort(key=lambda side: -abs(side[0] * dx + side[1] * dy))
        for east, north in sides:
            beyond = x + east, y + north
            if (yield from self.walk(beyond, lambda: self.view.room != left, 24)):
                return True
        return False

    def away(self, name: str) -> float:
        """Metres to where an object was seen."""
        return math.dist(self.spots[name], (self.cell[0] * STEP, self.cell[1] * STEP))

    def unseen_rooms(self) -> list[str]:
        """Rooms behind doors seen that were not looked at yet, the nearest first."""
        doors = sorted(
            (d for d, sides in self.doors.items() if len(sides) > 1), key=self.away
        )
        return [
            room
            for door in doors
            for room in self.doors[door]
            if room not in self.looked
        ]

    def containers(self, room: str = "") -> list[str]:
        """Closed containers not tried yet, those of this room first, the nearest first."""
        names = [n for n in self.closed - self.tried if n not in self.doors]
        names = [n for n in names if not room or self.rooms.get(n) == room]
        return sorted(
            names, key=lambda n: (self.rooms.get(n) != self.view.room, self.away(n), n)
        )

    def open(self, name: str) -> Moves:
        self.tried.add(name)
        if not (yield from self.reach(name)):
            return False
        done = yield from self.do("open", name)
        self.closed.discard(name)
        return done


def fetch(episode: Episode) -> Play:
    """Look for an object and its place, in rooms and then in containers, and bring it there."""
    me = Walker()
    me.note((yield Action(""))[0])
    target, place = request(episode)
    hints = re.findall(r"Look for the [\w ]+? in the ([\w ]+)\.", episode.instruction)
    rooms = [each.split(" and the ") for each in hints] or [[], []]
    for _ in range(3):
        name = yield from _find(me, target, rooms[0])
        if not name:
            return
        if (yield from me.reach(name)) and (yield from me.do("pick_up", name)):
            break
    for _ in range(3):
        where = yield from _find(me, place, rooms[1])
        if not me.view.holding or not where:
            return
        if (yield from me.reach(where)):
            if where in me.closed:
                yield from me.do("open", where)
            if (yield from me.do("put", me.view.holding[0].name, where)):
                return


def _find(
    me: Walker, phrase: Phrase, named: Sequence[str]
) -> Generator[Action, tuple[Any, Feedback], str]:
    """The nearest object of a kind, looked for in rooms, those ``named`` first, and containers."""
    tried = set[str]()
    ends = set[str]()
    while True:
        if found := phrase.of(me.spots):
            return min(found, key=me.away)
        here = me.view.room
        rooms = [room for room in me.unseen_rooms() if room not in tried]
        rooms.sort(key=lambda room: (room not in named, room != "hallway"))
        boxes = me.containers()
        far = [
            d
            for d in me.doors
            if here in me.doors[d] and d not in ends and me.away(d) > 1.5
        ]
        if here not in me.looked:
            yield from me.look()
        elif here in named and boxes and me.rooms[boxes[0]] == here:
            yield from me.open(boxes[0])
        elif (
            here == "hallway" and far and named and rooms[:1] and rooms[0] not in named
        ):
            # The named room's door may be further on
            ends.add(end := max(far, key=me.away))
            yield from me.walk(me.spots[end], lambda end=end: me.away(end) < 1.2)
        elif rooms:
            tried.add(rooms[0])
            yield from me.enter(rooms[0])
        elif boxes:
            yield from me.open(boxes[0])
        elif steps := [n for n in me.spots if n not in ends and me.away(n) > 2]:
            ends.add(end := max(steps, key=me.away))  # no door is in view from here
            yield from me.walk(me.spots[end], lambda end=end: me.away(end) < 1.2, 16)
            me.looked.discard(me.view.room)
        else:
            return ""


def count_all(episode: Episode) -> Play:
    """Look around in the rooms of a question, and in their containers, and count."""
    me = Walker()
    me.note((yield Action(""))[0])
    target, rooms = counted(episode)
    for room in sorted(rooms, key=lambda room: room != me.view.room):
        while me.view.room != room and not (yield from me.enter(room)):
            doors = me.unseen_rooms()
            if me.view.room not in me.looked:
                yield from me.look()
            elif not doors or not (yield from me.enter(doors[0])):
                break
        yield from me.look()
        while boxes := me.containers(room):
            yield from me.open(boxes[0])
    found = [n for n in target.of(me.spots) if me.rooms.get(n) in rooms]
    yield Action("stop", (str(min(3, len(found))),))


def glance(episode: Episode) -> Play:
    """Count what is in view at first."""
    view, _ = yield Action("")
    target, _ = counted(episode)
    yield Action("stop", (str(min(3, len(target.of(o.name for o in view.objects)))),))


def greedy_count(episode: Episode) -> Play:
    """Count what is in view while turning once around, and open what is at hand."""
    view, _ = yield Action("")
    target, _ = counted(episode)
    names = set[str]()
    for _ in range(4):
        for _ in range(3):
            names |= {o.name for o in view.objects}
            closed = [
                o
                for o in view.objects
                if "closed" in o.attributes and o.distance < REACH
            ]
            if not closed:
                break
            view, _ = yield Action("open", (closed[0].name,))
        view, _ = yield Action("turn_right")
    yield Action("stop", (str(min(3, len(target.of(names)))),))


def greedy_fetch(episode: Episode, rng: Any) -> Play:
    """Go straight for the object, or for its place once it is held, while that is in view; else
    for a door in view; else wander."""
    target, place = request(episode)
    view, feedback = yield Action("")
    while True:
        aims = aims_in_view(view, place if view.holding else target)
        near = [o for o in aims if o.distance <= 1.5]
        doors = [d for d in view.doors if not d.open and d.distance <= REACH]
        if near and view.holding:
            if feedback.status == "closed":
                action = Action("open", (near[0].name,))
            else:
                action = Action("put", (view.holding[0].name, near[0].name))
        elif near:
            action = Action("pick_up", (near[0].name,))
        elif not aims and doors and rng.random() < 0.5:
            action = Action("open", (doors[0].name,))
        else:
            bearing = (aims or view.doors or view.objects[-1:] or (None,))[0]
            action = Action(_towards(bearing, feedback, rng))
        view, feedback = yield action
        if action.name == "put" and feedback.status == "ok":
            return


def aims_in_view(view: Any, phrase: Phrase) -> list[Any]:
    """The objects in view of a kind, the nearest first."""
    names = set(phrase.of(o.name for o in view.objects))
    return [o for o in view.objects if o.name in names]


def _towards(aim: Any, feedback: Feedback, rng: Any) -> str:
    """The motion towards an object in view; a random turn after a step that was blocked."""
    if feedback.status != "ok" or aim is None or rng.random() < 0.1:
        return str(rng.choice(["turn_left", "turn_right", "pan_left", "pan_right"]))
    if abs(aim.bearing) <= 20:
        return "move_ahead"
    return "pan_right" if aim.bearing > 0 else "pan_left"


# A pair, by skills.


def table(episode: Episode) -> tuple[list[tuple[Phrase, int]], Phrase, str]:
    """The objects with their numbers, the furniture and the room of a request."""
    phrased = re.search(
        r"put (.+) (?:on|in) the ([\w ]+?) in the ([\w ]+)\.", episode.instruction
    )
    assert phrased, episode.instruction
    parts = []
    for part in re.split(r", | and ", phrased[1]):
        number, _, words = part.partition(" ")
        many = int(number) if number.isdigit() else NUMBERS.get(number, 1)
        parts.append((Phrase(singular(words) if many > 1 else words, episode), many))
    return parts, Phrase(phrased[2], episode), phrased[3]


def _names(view: Any, feedback: Feedback) -> dict[str, str]:
    """Objects in view or seen during the last action, and what they are in or on."""
    found = {o.name: o.container for o in view.objects}
    details: Any = feedback.details
    found |= dict.fromkeys(details.get("seen", ()), "")
    found |= {name: where for name, (_, where) in details.get("places", {}).items()}
    found |= dict.fromkeys(details.get("contents", ()), details.get("object", ""))
    return found


@dataclass
class Waiter:
    """An actor that runs skills, and notes what is in or on what."""

    rooms: tuple[str, ...]
    here: str = ""
    places: dict[str, str] = field(default_factory=dict)
    room_of: dict[str, str] = field(default_factory=dict)
    closed_names: set[str] = field(default_factory=set)
    checked: set[str] = field(default_factory=set)

    def note(self, view: Any, feedback: Feedback, room: str = "") -> None:
        self.here = view.room
        found = _names(view, feedback)
        self.places |= found
        for name in found:
            self.room_of.setdefault(name, room or view.room)
        details: Any = feedback.details
        self.closed_names |= {o.name for o in view.objects if "closed" in o.attributes}
        self.closed_names |= set(details.get("closed", ()))

    def do(self, verb: str, argument: str) -> Moves:
        """A skill; doors that bar its way are opened."""
        for _ in range(6):
            view, feedback = yield Action(verb, (argument,))
            self.note(view, feedback, argument if verb == "go_explore" else "")
            if not (doors := _doors(feedback)):
                return feedback.ok
            yield Action("goto", (doors[0],))
            yield Action("open", (doors[0],))
        return False

    def find(
        self, phrase: Phrase, but: set[str]
    ) -> Generator[Action, tuple[Any, Feedback], str]:
        """An object of a kind, looked for in rooms and then in containers."""
        while True:
            if names := [n for n in phrase.of(self.places) if n not in but]:
                return names[0]
            rooms = [r for r in (self.here, *self.rooms) if r not in self.checked]
            boxes = sorted(
                n for n in self.closed_names - self.checked if not n.startswith("door_")
            )
            if not rooms and not boxes:
                return ""
            self.checked.add(place := (rooms or boxes)[0])
            yield from self.do("go_explore" if rooms else "go_check", place)

    def bring(self, phrase: Phrase, many: int, where: str) -> Moves:
        """Bring objects of a kind until there are enough."""
        there = {n for n in phrase.of(self.places) if self.places[n] == where}
        for _ in range(4 * many):
            if many <= len([n for n in there if self.places[n] == where]):
                return True
            if not (name := (yield from self.find(phrase, there))):
                return False
            there.add(name)
            if (yield from self.do("go_grab", name)) and (
                yield from self.do("go_put", where)
            ):
                self.places[name] = where
        return False


def _doors(feedback: Feedback) -> list[str]:
    """The closed doors that barred the way."""
    details: Any = feedback.details
    return list(details.get("doors", ())) if feedback.status == "no_path" else []


def lay_table(episode: Episode, rooms: tuple[str, ...], me: int, actors: int) -> Play:
    """Explore rooms and containers, remember what is where, and bring every other kind."""
    parts, furniture, room = table(episode)
    waiter = Waiter(rooms)
    waiter.note(*(yield Action("")))
    waiter.checked.add(room)
    yield from waiter.do("go_explore", room)
    where = furniture.of(n for n, r in waiter.room_of.items() if r == room)
    for phrase, many in parts[me::actors]:
        yield from waiter.bring(phrase, many, where[0] if where else "")
    # Out of the way
    yield from waiter.do("go_explore", next(r for r in rooms if r != room))


def greedy_table(episode: Episode, rooms: tuple[str, ...], rng: Any) -> Play:
    """Take what is in view and asked for, and put it down where the furniture is in view; else
    explore a room by chance. Stops when the furniture in view holds everything."""
    parts, furniture, room = table(episode)
    view, feedback = yield Action("")
    while True:
        names = _names(view, feedback)
        where = furniture.of(names) if view.room == room else []
        lacking = [
            phrase for phrase, many in parts
            if sum(names[n] in where for n in phrase.of(names)) < many
        ]  # fmt: skip
        doors = _doors(feedback)
        loose = [n for each in lacking for n in each.of(names) if names[n] not in where]
        if where and not lacking:
            return
        if doors:
            yield Action("goto", (doors[0],))
            action = Action("open", (doors[0],))
        elif view.holding and where:
            action = Action("go_put", (where[0],))
        elif view.holding:
            action = Action("go_explore", (room,))
        elif loose and feedback.status == "ok":
            action = Action("go_grab", (loose[0],))
        else:
            boxes = [o.name for o in view.objects if "closed" in o.attributes]
            action = Action("go_explore", (rng.choice(rooms),))
            if boxes and rng.random() < 0.5:
                action = Action("go_check", (rng.choice(boxes),))
        view, feedback = yield action


# A fitted player: a softmax over the words of the view.

VERBS = ("move_ahead", "turn_left", "turn_right", "pan_left", "pan_right", "act")
"""``act``: take the object, or put it down."""


def words_of(view: Any, episode: Episode, last: Sequence[str]) -> list[str]:
    """What a decision depends on: the aim in view, what bars the way, doors, the last actions."""
    words = ["always", f"last {last[-1]}", f"last two {last[-2]} {last[-1]}"]
    if hasattr(view, "walls"):
        squares = _blocks(view)
        words += [f"blocked {at}" for at in ((1, 0), (0, 1), (0, -1)) if at in squares]
        aims = [
            o for o in view.objects if _matches(episode.instruction, o.color, o.kind)
        ]
        doors = [o for o in view.objects if o.kind == "door" and o.ahead > 0]
        for name, found in ("aim", aims), ("door", doors):
            if found:
                seen = [f"{name} {found[0].ahead} {found[0].right}"]
            else:
                seen = [f"no {name}"]
            if found:
                side = (found[0].right > 0) - (found[0].right < 0)
                seen += [
                    f"{name} side {side}",
                    f"{name} ahead {min(found[0].ahead, 2)} {side}",
                ]
            words += seen
        return words
    target, place = request(episode)
    stage = "put" if view.holding else "take"
    for name, found in ("aim", aims_in_view(view, place if view.holding else target)), (
        "door", list(view.doors),
    ):  # fmt: skip
        if not found:
            words.append(f"{stage} no {name}")
            continue
        side = round(found[0].bearing / 30)
        words += [f"{name} {side}", f"{stage} {name} near {found[0].distance <= 1.5}"]
        words.append(f"{name} {side} {min(6, int(found[0].distance * 2))}")
    return words


def fitted(weights: Mapping[str, Sequence[float]], rng: Any, episode: Episode) -> Play:
    """Draw a verb by the weights of the words."""
    last = ["", ""]
    view, _ = yield Action("")
    while True:
        total = np.sum(
            [weights[w] for w in words_of(view, episode, last) if w in weights], axis=0
        )
        chance = np.exp(total - np.max(total))
        verb = rng.choices(VERBS, weights=chance.tolist())[0]
        action = Action(verb)
        if verb == "act" and hasattr(view, "holding") and not hasattr(view, "walls"):
            target, place = request(episode)
            aims = aims_in_view(view, place if view.holding else target)
            if not aims:
                action = Action("turn_right")
            elif view.holding:
                action = Action("put", (view.holding[0].name, aims[0].name))
            else:
                action = Action("pick_up", (aims[0].name,))
        elif verb == "act":
            return
        view, feedback = yield action
        last = [last[-1], f"{verb} {feedback.status == 'ok'}"]
        if action.name == "put" and feedback.status == "ok":
            return


FITTED = (16, 32)
"""The lengths of the training episodes."""


def examples(name: str, on: str, episodes: int) -> Iterator[tuple[list[str], str]]:
    """The words and the verb of each step of the expert in training episodes of a track."""
    bench = ladders.open_bench()
    (track,) = (each for each in bench.tracks if each.name == name)
    for length, plan in ladders.Contender(bench, "gold").plans(
        replace(track, lengths=FITTED)
    ):
        drawn = {"dataset": {"length": length, "episodes": episodes, "seed": 1}}
        dataset = open_dataset(
            replace(plan, on=on, settings=merge(plan.settings, drawn))
        )
        for task in dataset.tasks:
            game = Game(dataset.world(task.episode), task.episode)
            last = ["", ""]
            for action in dataset.solve(task):
                verb = {"pick_up": "act", "put": "act"}.get(action.name, action.name)
                view = game.observation("agent")
                if verb in VERBS:
                    yield words_of(view, task.episode, last), verb
                step = game.act("agent", Decision(action))
                last = [last[-1], f"{verb} {step.feedback.status == 'ok'}"]


def fit(path: Path, episodes: int = 32) -> None:
    """Fit by maximum likelihood with a penalty, and write a weight for each word and verb."""
    sources = ("grid", "grounding:train"), ("act", "household:generated_train")
    rows = [row for name, on in sources for row in examples(name, on, episodes)]
    names = sorted({word for words, _ in rows for word in words})
    column = {word: number for number, word in enumerate(names)}
    table = np.zeros((len(rows), len(names)))
    for row, (words, _) in enumerate(rows):
        table[row, [column[word] for word in words]] = 1
    labels = np.eye(len(VERBS))[[VERBS.index(verb) for _, verb in rows]]

    def loss(flat: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        weights = flat.reshape(len(names), len(VERBS))
        scores = table @ weights
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        value = -(labels * np.log(chances + 1e-12)).sum() + 0.5 * (flat**2).sum()
        return float(value), (table.T @ (chances - labels) + weights).ravel()

    found = minimize(
        loss, np.zeros(len(names) * len(VERBS)), jac=True, method="L-BFGS-B"
    )
    weights = found.x.reshape(len(names), len(VERBS)).round(3)
    path.write_text(json.dumps(dict(zip(names, weights.tolist(), strict=True))) + "\n")
    print(f"{len(rows)} steps, {len(names)} words, {path}")


agent = Honest

if __name__ == "__main__":
    fit(Path(sys.argv[2]))

"""A task file as a dataset of one episode, and its acceptance: the expert solves it first.

Its goal is in the goal language of ``worlds.household.goals``, a condition a line, by the name of
its class: ``- inside: {thing: mug, place: desk, dirty: false}``. A kind means any one of that kind;
a name that the file gave to a thing means that one.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

from wayword.core.dataset import Task, Training
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, suggest
from wayword.core.game import PlanningFailed
from wayword.datasets.household import Household
from wayword.datasets.procedural.floorplans import CORNER, DOOR, FloorPlan, PlanDoor, PlanRoom
from wayword.datasets.procedural.homes.episodes import (
    Case,
    EpisodeSource,
    HomesSettings,
    SourcedTasks,
    home_of,
    read_rules,
    start_in,
)
from wayword.datasets.procedural.homes.furniture import (
    FURNITURE_KINDS,
    Box,
    FurniturePiece,
    find_place,
    front_of,
    threshold,
)
from wayword.datasets.procedural.homes.home import (
    FEWEST,
    MOST,
    Home,
    build_scene,
    home_name,
    reachable_starts,
)
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement, arrange
from wayword.settings import load_yaml
from wayword.worlds.household.goals import (
    Beside,
    GoalCondition,
    Has,
    Held,
    HouseholdReference,
    Ids,
    Inside,
    Lit,
    Near,
    Stacked,
    Trait,
)
from wayword.worlds.household.house import FLAGS
from wayword.worlds.household.layout import Layout, fits
from wayword.worlds.household.scene import TEMPERATURES, HouseObject
from wayword.worlds.household.world import HouseholdWorld

WIDEST = 1000.0
"""Metres, and how many of anything a file may ask for."""


class Fields:
    """A mapping of a YAML file, with where it lies in there for errors.

    Methods take a field and check it; ``end`` raises ``DataError`` for what nobody took.
    """

    def __init__(self, path: Path, where: str, given: Any, example: str) -> None:
        self.path, self.where, self._taken = path, where, set[str]()
        if not isinstance(given, Mapping):
            raise self.error("", f"must hold fields, as in {example}, not {given!r}")
        self._given = given

    def error(self, name: str, problem: str, remedy: str = "") -> DataError:
        """The error for one of the fields."""
        parts = [self.where, f"field {name!r}" if name else ""]
        return DataError(self.path, ", ".join(part for part in parts if part), problem, remedy)

    def get(self, name: str) -> Any:
        """The value as it stands; None where there is none."""
        self._taken.add(name)
        return self._given.get(name)

    def has(self, name: str) -> bool:
        """Whether it is given."""
        return self._given.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """Words. Without a ``default`` they must be there."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.error(
                name, "is missing" if value is None else f"must be words, not {value!r}"
            )
        return value.strip()

    def flag(self, name: str, default: bool) -> bool:
        """``true`` or ``false``."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.error(name, f"must be true or false, not {value!r}")
        return default if value is None else value

    def count(self, name: str, default: int, least: int = 0, most: int = int(WIDEST)) -> int:
        """A whole number."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            problem = f"must be a whole number from {least} to {most}, not {value!r}"
            raise self.error(name, problem)
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A number; metres or degrees. Without a ``default`` it must be there."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not abs(value) <= WIDEST
        ):
            raise self.error(name, f"must be a number, at most {WIDEST:g}, not {value!r}")
        return float(value)

    def pair(self, name: str) -> tuple[float, float]:
        """Two numbers, ``[x, y]`` in metres."""
        value = self.get(name)
        pair = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
        good = [v for v in pair if isinstance(v, int | float) and not isinstance(v, bool)]
        if len(pair) != 2 or len(good) != 2 or not all(abs(v) <= WIDEST for v in good):
            raise self.error(name, f"must be two numbers, as in [1.5, 2], not {value!r}")
        return float(good[0]), float(good[1])

    def list_(self, name: str) -> list[Any]:
        """A list, empty where it is left out."""
        value = self.get(name)
        if value is not None and not isinstance(value, list):
            raise self.error(name, f"must be a list, a line with '- ' for each, not {value!r}")
        return value or []

    def among(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """One of the names in ``known``."""
        value = self.text(name, default)
        if value not in known and value != default:
            raise self.error(name, f"there is no {value!r}", suggest(value, list(known)))
        return value

    def inner(self, name: str, example: str) -> Fields:
        """The fields of a field."""
        where = ", ".join(part for part in (self.where, f"field {name!r}") if part)
        return Fields(self.path, where, self.get(name), example)

    def end(self) -> None:
        """Raises ``DataError`` for the first field that is not known."""
        for name in self._given:
            if name not in self._taken:
                raise self.error(
                    "", f"has no field {name!r}", suggest(str(name), list(self._taken))
                )


# The home of a task file: a generated one, or rooms of one's own; and the things in it.
#
# Rooms of one's own are rectangles with doors where they touch, furnished with what the file lists.
# Furniture without a place finds one, and every piece must be in reach: see ``procedural.homes``.

TRIES = 40
"""How often furniture without a place is set down anew before it is given up."""
MOST_ROOMS = 40
SIDES = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
PIECES = tuple(
    kind
    for kind in FURNITURE_KINDS
    if not any(part.kind == kind for each in FURNITURE_KINDS.values() for part in each.parts)
)
"""Furniture that stands by itself; a microwave comes with its counter."""


def digest(value: Any) -> str:
    """A short checksum of JSON values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def read_home(task: Fields) -> Home:
    """The home that a file asks for by ``home`` or ``rooms``. Its name is made of what they say, so
    that the file may be called anything."""
    if task.has("home") == task.has("rooms"):
        raise task.error(
            "", "needs either a 'home' (generated) or 'rooms' (your own), and not both"
        )
    if task.has("home"):
        return _generated(task.inner("home", "home: {rooms: 4, seed: 7}"))
    return _own(task, f"own-{digest([task.get('rooms'), task.get('doors')])}")


def _generated(given: Fields) -> Home:
    rooms = given.count("rooms", 4, FEWEST, MOST)
    seed, number = given.count("seed", 0, 0, 10**9), given.count("number", 0, 0, 9999)
    given.end()
    return home_of(home_name("own", seed, rooms, number))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A piece of furniture that a file lists; ``at`` and ``facing`` where it says so."""

    kind: str
    room: int
    at: tuple[float, float] | None
    facing: str


def _own(task: Fields, name: str) -> Home:
    listed = task.list_("rooms")
    if not 1 <= len(listed) <= MOST_ROOMS:
        raise task.error("rooms", f"must list 1 to {MOST_ROOMS} rooms, not {len(listed)}")
    example = "{name: kitchen, at: [0, 0], size: [4, 3], furniture: [fridge]}"
    entries = [Fields(task.path, f"room {n}", e, example) for n, e in enumerate(listed, 1)]
    rooms = [_room(entry) for entry in entries]
    for (one, a), (other, b) in combinations(zip(entries, rooms, strict=True), 2):
        if a.name == b.name:
            raise other.error("name", f"{b.name!r} is the name of two rooms")
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 0.01 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.01:
            raise other.error(
                "at", f"{b.name} overlaps {a.name}", f"change {one.where} or this one"
            )
    wanted = [each for n, entry in enumerate(entries) for each in _furniture(entry, n)]
    for entry in entries:
        entry.end()
    doors = _doors(task, rooms)
    plan = FloorPlan(tuple(rooms), tuple(door for door, _ in doors))
    _check_joined(task, rooms, plan.doors)
    return _furnished(task, name, plan, wanted, [shut for _, shut in doors])


def _room(given: Fields) -> PlanRoom:
    name, (x, y), (wide, deep) = given.text("name"), given.pair("at"), given.pair("size")
    if not (1.5 <= wide <= 30 and 1.5 <= deep <= 30):
        raise given.error("size", f"must be 1.5 to 30 m each way, not {wide:g} x {deep:g}")
    return PlanRoom(name, x, y, round(x + wide, 4), round(y + deep, 4))


def _furniture(room: Fields, number: int) -> list[_Wanted]:
    found = []
    for n, given in enumerate(room.list_("furniture"), 1):
        entry = {"kind": given} if isinstance(given, str) else given
        piece = Fields(room.path, f"{room.where}, furniture {n}", entry, "{kind: desk, at: [2, 1]}")
        kind = piece.among("kind", PIECES)
        at = piece.pair("at") if piece.has("at") else None
        found.append(_Wanted(kind, number, at, piece.among("facing", tuple(SIDES), "")))
        piece.end()
    return found


def _doors(task: Fields, rooms: list[PlanRoom]) -> list[tuple[PlanDoor, bool]]:
    """The listed doors and whether each is shut; one in every shared wall where none are listed."""
    if not task.has("doors"):
        pairs = combinations(range(len(rooms)), 2)
        made = [_door(rooms, *pair) for pair in pairs]
        task.get("doors")
        return [(door, False) for door in made if door is not None]
    names = [room.name for room in rooms]
    found = []
    for n, given in enumerate(task.list_("doors"), 1):
        entry = Fields(task.path, f"door {n}", given, "{between: [kitchen, study], shut: true}")
        between = entry.list_("between")
        for name in between:
            if name not in names:
                raise entry.error(
                    "between", f"there is no room {name!r}", suggest(str(name), names)
                )
        if len(set(between)) != 2 or len(between) != 2:
            raise entry.error("between", f"must name two rooms, not {between!r}")
        door = _door(rooms, *sorted(names.index(name) for name in between))
        if door is None:
            problem = f"{between[0]} and {between[1]} share no wall of {DOOR + 2 * CORNER:g} m"
            raise entry.error("between", problem)
        found.append((door, entry.flag("shut", False)))
        entry.end()
    return found


def _door(rooms: list[PlanRoom], one: int, other: int) -> PlanDoor | None:
    """A door in the middle of the wall that two rooms share; None where it is too short."""
    a, b = rooms[one], rooms[other]
    for vertical in (True, False):
        touch = {a.x0, a.x1} & {b.x0, b.x1} if vertical else {a.y0, a.y1} & {b.y0, b.y1}
        low = max(a.y0, b.y0) if vertical else max(a.x0, b.x0)
        high = min(a.y1, b.y1) if vertical else min(a.x1, b.x1)
        if touch and high - low >= DOOR + 2 * CORNER:
            at, middle = touch.pop(), round((low + high) / 2, 4)
            x, y = (at, middle) if vertical else (middle, at)
            return PlanDoor((one, other), x, y, vertical, DOOR)
    return None


def _check_joined(task: Fields, rooms: list[PlanRoom], doors: tuple[PlanDoor, ...]) -> None:
    """Every room is reached from the first one."""
    reached = {0}
    for _ in rooms:
        reached |= {room for door in doors if reached & set(door.rooms) for room in door.rooms}
    for number, room in enumerate(rooms):
        if number not in reached:
            problem = f"no doors lead from {rooms[0].name} to {room.name}"
            raise task.error("doors", problem, "rooms must touch; list a door between them")


def _furnished(
    task: Fields, name: str, plan: FloorPlan, wanted: list[_Wanted], shut: list[bool]
) -> Home:
    problem = ""
    for attempt in range(TRIES):
        pieces, missing = _set_down(random.Random(f"{name}/{attempt}"), plan, wanted)
        if missing:
            problem = f"there is no room left for {missing}"
            continue
        scene = build_scene(name, plan, pieces, shut)
        layout = Layout(scene)
        starts = reachable_starts(layout)
        if starts:
            return Home(name, scene, layout, starts)
        problem = "somebody on foot does not reach every room and piece of furniture"
    raise task.error("rooms", problem, "make rooms larger, or list less furniture")


def _set_down(
    rng: random.Random, plan: FloorPlan, wanted: list[_Wanted]
) -> tuple[list[FurniturePiece], str]:
    """The pieces, those with a place first; and the one that finds no place, as ``a desk in …``."""
    pieces: list[FurniturePiece] = []
    for each in sorted(wanted, key=lambda each: each.at is None):
        room = plan.rooms[each.room]
        here = [piece for piece in pieces if piece.room == each.room]
        taken: list[Box] = [piece.box for piece in here]
        kept = [threshold(door) for door in plan.doors if each.room in door.rooms]
        kept += [box for piece in here for box in front_of(piece)]
        if each.at is None:
            piece = find_place(rng, each.kind, each.room, room, taken, kept)
        else:
            piece = _placed(each, room)
        if piece is None:
            return pieces, f"the {each.kind} in the {room.name}"
        pieces.append(piece)
    return pieces, ""


def _placed(wanted: _Wanted, room: PlanRoom) -> FurniturePiece | None:
    """A piece where the file says (metres from the room's south-west corner), if it fits."""
    spec, (x, y) = FURNITURE_KINDS[wanted.kind], wanted.at or (0.0, 0.0)
    front = SIDES[wanted.facing or "south"]
    wide, deep = (spec.depth, spec.width) if front[0] else (spec.width, spec.depth)
    piece = FurniturePiece(wanted.kind, room.x0 + x, room.y0 + y, wide, deep, front, wanted.room)
    west, south, east, north = piece.box
    inside = room.x0 <= west and room.y0 <= south and east <= room.x1 and north <= room.y1
    return piece if inside else None


# Small things.


def arranged(task: Fields, home: Home) -> tuple[Arrangement, dict[str, str]]:
    """The home with the file's things in it, and the ids of those that have a name of their own.

    ``plenty`` lays the usual small things about first.
    """
    plenty = task.number("plenty", 0.0)
    if not 0 <= plenty <= 50:
        raise task.error("plenty", f"must lie between 0 and 50, not {plenty:g}")
    rng = random.Random(f"{home.name}/things")
    made = Arrangement(home, {each.id: each for each in home.scene.objects})
    if plenty:
        made = arrange(rng, home, plenty)
    named: dict[str, str] = {}
    for n, given in enumerate(task.list_("things"), 1):
        entry = Fields(task.path, f"thing {n}", given, "{kind: mug, place: counter_top}")
        kind = entry.among("kind", tuple(OBJECTS))
        laid = _laid(rng, made, entry, kind)
        if name := entry.text("name", ""):
            if name in named or made.of(name):
                raise entry.error("name", f"{name!r} means something else already")
            named[name] = laid.id
        entry.end()
    return made, named


def _laid(rng: random.Random, made: Arrangement, given: Fields, kind: str) -> HouseObject:
    spec = OBJECTS[kind]
    number = 1 + len(made.of(kind))
    thing = replace(
        spec.make(f"{kind}|{number}", kind),
        dirty=given.flag("dirty", False),
        sliced=given.flag("sliced", False),
    )
    for state, able in (("dirty", "dirtyable"), ("sliced", "sliceable")):
        if getattr(thing, state) and able not in thing.affordances:
            raise given.error(state, f"a {kind} is never {state}")
    laid = made.lay(rng, thing, _spot(made, given, thing))
    heat = given.among("temperature", TEMPERATURES, laid.temperature)
    made.objects[laid.id] = replace(laid, temperature=heat)  # type: ignore[arg-type]
    return made.objects[laid.id]


def _spot(made: Arrangement, given: Fields, thing: HouseObject) -> HouseObject:
    """What a thing is to lie in or on: the first piece of that kind (in that room) with space."""
    kind, room = given.text("place"), given.text("room", "")
    check_room(made, given, room)
    there = [o for o in made.objects.values() if o.type == kind and room in ("", made.room(o))]
    if not there:
        hint = suggest(kind, sorted({o.type for o in made.objects.values() if o.receptacle}))
        where = f"the {room}" if room else "the home"
        raise given.error("place", f"there is no {kind!r} in {where}", hint)
    fits = [o for o in there if o.receptacle and (not o.accepts or thing.type in o.accepts)]
    if not fits:
        raise given.error("place", f"a {thing.type} does not go into or onto a {kind}")
    free = [o for o in fits if made.space(o) > 0]
    if not free:
        raise given.error("place", f"every {kind} there is full")
    return free[0]


def check_room(made: Arrangement, given: Fields, room: str) -> None:
    """Raises ``DataError`` for a room that is none; empty means any."""
    rooms = [each.name for each in made.home.scene.rooms]
    if room and room not in rooms:
        raise given.error("room", f"there is no room {room!r}", suggest(room, rooms))


GOAL_EXAMPLE = "inside: {thing: mug, place: desk}"
LAY = "lay one there, as in things: [{{kind: {kind}, place: desk}}]"


class _Reader:
    """Reads conditions about one arrangement; ``named`` are the file's own names of things."""

    def __init__(self, made: Arrangement, named: Mapping[str, str]) -> None:
        self._made, self._named = made, named

    def ids(self, given: Fields, name: str, room: str = "") -> Ids:
        """The ids of what a field names."""
        what = given.text(name)
        found = [self._named[what]] if what in self._named else [o.id for o in self._made.of(what)]
        if room:
            found = [i for i in found if self._made.room(self._made.objects[i]) == room]
        if not found:
            known = [*self._named, *sorted({o.type for o in self._made.objects.values()})]
            where = f"the {room}" if room else "the home"
            hint = LAY.format(kind=what) if what in OBJECTS else suggest(what, known)
            raise given.error(name, f"there is no {what!r} in {where}", hint)
        return tuple(found)

    def places(self, given: Fields) -> Ids:
        """The receptacles that ``place`` names, of one room where ``room`` says so."""
        room = given.text("room", "")
        check_room(self._made, given, room)
        found = self.ids(given, "place", room)
        if not self._made.objects[found[0]].receptacle:
            raise given.error("place", f"nothing goes into or onto a {given.text('place')}")
        return found

    def parts(self, given: Fields, things: Ids) -> int:
        """How many of the things it takes."""
        count = given.count("count", 1, 1)
        if count > len(things):
            raise given.error("count", f"asks for {count}, and there are {len(things)}")
        return count


def _traits(given: Fields) -> tuple[Trait, ...]:
    found: list[Trait] = [(f, given.flag(f, False)) for f in FLAGS if given.has(f)]
    if given.has("temperature"):
        found.append(("temperature", given.among("temperature", TEMPERATURES)))
    return tuple(found)


def _inside(read: _Reader, given: Fields) -> GoalCondition:
    things = read.ids(given, "thing")
    return Inside(things, read.places(given), _traits(given), read.parts(given, things))


def _has(read: _Reader, given: Fields) -> GoalCondition:
    things, traits = read.ids(given, "thing"), _traits(given)
    if not traits:
        raise given.error("", "names no state", f"there are: {', '.join((*FLAGS, 'temperature'))}")
    return Has(things, traits, read.parts(given, things))


def _stacked(read: _Reader, given: Fields) -> GoalCondition:
    movables = read.ids(given, "movable")
    return Stacked(read.ids(given, "thing"), movables, read.places(given), _traits(given))


READERS: Mapping[str, Callable[[_Reader, Fields], GoalCondition]] = {
    "inside": _inside,
    "has": _has,
    "stacked": _stacked,
    "held": lambda read, given: Held(read.ids(given, "thing")),
    "lit": lambda read, given: Lit(read.ids(given, "thing"), given.number("distance", 1.5)),
    "near": lambda read, given: Near(read.ids(given, "thing"), given.number("distance", 1.5)),
    "beside": lambda read, given: Beside(read.ids(given, "thing"), read.ids(given, "other")),
}


def read_goals(
    task: Fields, made: Arrangement, named: Mapping[str, str]
) -> tuple[GoalCondition, ...]:
    """The conditions that the file lists, at least one."""
    listed, read = task.list_("goal"), _Reader(made, named)
    if not listed:
        raise task.error("goal", "is missing", f"list conditions, as in - {GOAL_EXAMPLE}")
    return tuple(_condition(task, read, n, given) for n, given in enumerate(listed, 1))


def _condition(task: Fields, read: _Reader, number: int, given: object) -> GoalCondition:
    outer = Fields(task.path, f"goal {number}", given, GOAL_EXAMPLE)
    kinds = list(given) if isinstance(given, Mapping) else []
    if len(kinds) != 1:
        raise outer.error("", f"must be one condition, as in {GOAL_EXAMPLE}")
    kind = str(kinds[0])
    if kind not in READERS:
        raise outer.error("", f"there is no condition {kind!r}", suggest(kind, list(READERS)))
    inner = Fields(task.path, f"goal {number} ({kind})", outer.get(kind), GOAL_EXAMPLE)
    condition = READERS[kind](read, inner)
    inner.end()
    return condition


# The dataset.

MARK = "# Checked by the expert; written by `wayword task new`."
EXAMPLE = "words: Put a mug on the desk."
MOST_BYTES = 1_000_000
KIND = "own"


@dataclass(frozen=True)
class OwnSettings(HomesSettings):
    """``actions`` and ``body`` as in ``household``; the file says everything else."""

    useless: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class TaskFile:
    """What a file says. ``accepted`` is the expert's mark: ``steps``, ``task``, ``scene``; empty
    for a draft. ``checksum`` is that of all but that mark."""

    path: Path
    case: Case
    reference: HouseholdReference
    rules: str
    max_steps: int
    accepted: Mapping[str, Json]
    checksum: str

    @property
    def scene(self) -> str:
        """The checksum of the home as this version builds it."""
        return digest(self.case.scene.to_json())


def read_task(path: Path) -> TaskFile:
    """The task of a file. Raises ``DataError`` with one line for what is wrong with it."""
    tree = _tree(path)
    given = Fields(path, "", tree, EXAMPLE)
    name = given.text("name", path.stem)
    words = given.text("words")
    home = read_home(given)
    made, named = arranged(given, home)
    goals = read_goals(given, made, named)
    start = _start(given, home, made)
    rules = given.text("rules", read_rules("household"))
    max_steps = given.count("max_steps", 500, 1, 100_000)
    accepted = given.get("accepted") or {}
    given.end()
    episode = Episode(name, words, home.name, start, extra={"rules": rules})
    steps = accepted.get("steps") if isinstance(accepted, Mapping) else None
    reference = HouseholdReference(name, KIND, goals, steps if isinstance(steps, int) else None)
    case = Case(Task(episode, reference), home, made.scene())
    own = {key: value for key, value in tree.items() if key != "accepted"}
    return TaskFile(path, case, reference, rules, max_steps, accepted, digest(own))


def accept(path: Path, out: Path | None = None) -> TaskFile:
    """Have the expert solve a file's task, and write the file with the mark that says so.

    ``out`` is the file itself where it is None; everything in it stays as it is, comments too.
    Raises ``DataError`` for what is wrong with the file, for a task that is done before it begins,
    and for one that the expert cannot solve, with the reason.
    """
    task = read_task(path)
    reference = task.reference
    world = task.case.world(OwnSettings().make_body())
    world.reset(task.case.task.episode)
    if (
        isinstance(reference, HouseholdReference)
        and reference.met(world.state()) == reference.parts()
    ):
        raise DataError(path, "field 'goal'", "holds already at the start", "ask for a change")
    try:
        steps = len(OwnTasks.of(task).solve(task.case.task))
    except PlanningFailed as reason:
        remedy = "see that the home has what it takes, and that no goals contradict"
        raise DataError(path, "", f"the expert cannot solve this: {reason}", remedy) from reason
    if steps > task.max_steps:
        problem = f"is {task.max_steps}, and the expert takes {steps}"
        raise DataError(path, "field 'max_steps'", problem)
    mark = {"steps": steps, "task": task.checksum, "scene": task.scene}
    text = path.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    target = out or path
    target.write_text(f"{text}\n\n{MARK}\naccepted: {json.dumps(mark)}\n", encoding="utf-8")
    return read_task(target)


class OwnTasks(SourcedTasks[OwnSettings]):
    """The task of one file, as ``wayword run AGENT --on ./task.yaml`` plays it.

    Examples of solved tasks (``shots``) are drawn from ``household``'s generated ones. Raises
    ``DataError`` for a file that was not accepted, or was changed after that.
    """

    name: ClassVar[str] = KIND
    Settings: ClassVar[type[Any]] = OwnSettings
    splits: ClassVar[tuple[str, ...]] = ("test",)
    file: ClassVar[Path]
    max_steps: ClassVar[int] = 500

    def source(self, split: str) -> EpisodeSource:
        """The file's one task."""
        task = self._read()
        vars(self)["max_steps"] = task.max_steps  # this file's own
        return _One(task, self.settings)

    def _read(self) -> TaskFile:
        task = read_task(self.file)
        again = f"check it with `wayword task new {self.file}`"
        if not task.accepted:
            raise DataError(self.file, "", "is a draft that the expert has not solved", again)
        mark = task.accepted if isinstance(task.accepted, Mapping) else {}
        if mark.get("task") != task.checksum:
            raise DataError(self.file, "", "was changed after the expert had solved it", again)
        if mark.get("scene") != task.scene:
            problem = "was accepted by another version of Wayword, whose home is a different one"
            raise DataError(self.file, "", problem, again)
        return task

    def training(self) -> Training:
        """Generated household tasks."""
        return Household("generated_train", None, Household.Settings()).training()

    @classmethod
    def of(cls, task: TaskFile) -> OwnTasks:
        """The dataset of a file that was just read."""

        class Read(cls):  # type: ignore[misc, valid-type]
            file = task.path

            def _read(self) -> TaskFile:
                return task

        return Read("test")


class _One:
    """The source of one task."""

    def __init__(self, task: TaskFile, settings: HomesSettings) -> None:
        self._case, self._body = task.case, settings.make_body()
        self.tasks: Sequence[Task] = (task.case.task,)
        self.files: Mapping[str, Path] = {task.path.name: task.path}

    def world(self, episode: Episode) -> HouseholdWorld:
        """A fresh world."""
        return self._case.world(self._body)


def dataset_of(path: Path) -> type[OwnTasks]:
    """The dataset class of a task file: what ``--on ./task.yaml`` opens."""

    class Own(OwnTasks):
        file = path

    Own.__name__ = Own.__qualname__ = "OwnTasks"
    return Own


def _tree(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(path, "", f"is larger than {MOST_BYTES:,} bytes", "is it a task file?")
        tree = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = "`wayword task example` prints one to start from"
        raise DataError(path, "", (error.strerror or str(error)).lower(), remedy) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise DataError(path, "", f"is not valid YAML: {problem}") from None
    if not isinstance(tree, Mapping):
        raise DataError(path, "", f"must hold fields, as in {EXAMPLE}")
    return tree


def _start(task: Fields, home: Home, made: Arrangement) -> dict[str, Json]:
    """Where the agent starts: a place of its own, a free one of a room, or any free one."""
    rng = random.Random(f"{home.name}/start")
    if not task.has("start"):
        task.get("start")
        return start_in(rng, home, KIND)
    given = task.inner("start", "start: {room: kitchen}")
    room = given.text("room", "")
    check_room(made, given, room)
    places = [at for at in home.starts if room in ("", home.layout.room_at(*at))]
    start = start_in(rng, home, KIND, places)
    if given.has("at"):
        x, y = given.pair("at")
        if not fits(home.layout, 0.2, (x, y), [True] * len(home.scene.doors)):
            raise given.error("at", f"nobody can stand at {x:g}, {y:g}")
        start["poses"]["agent"].update(x=x, y=y)
    if given.has("heading"):
        start["poses"]["agent"]["heading"] = given.number("heading") % 360
    given.end()
    return start


def example() -> str:
    """A task file to start from."""
    text = resources.files("wayword.datasets.sources") / "example.yaml"
    return text.read_text(encoding="utf-8")

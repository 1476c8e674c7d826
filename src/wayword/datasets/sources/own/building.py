"""The home of a task file: a generated one, or rooms of one's own; and the things in it.

Rooms of one's own are rectangles with doors where they touch, furnished with what the file lists.
Furniture without a place finds one, and every piece must be in reach: see ``procedural.homes``.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from wayword.core.errors import suggest
from wayword.datasets.procedural.floorplans import CORNER, DOOR, FloorPlan, PlanDoor, PlanRoom
from wayword.datasets.procedural.homes.episodes import home_of
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
from wayword.datasets.sources.own.fields import Fields
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import TEMPERATURES, HouseObject

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

"""Home of a user's task file: rooms, doors, furniture and the small objects in it.

Custom rooms are rectangles, with doors where they touch and the furniture that the file lists.
Furniture without a position is placed. Every piece must be reachable: see ``procedural.homes``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from wayword.core.errors import suggest
from wayword.core.files import text_checksum
from wayword.datasets.procedural import floorplans
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes import furniture
from wayword.datasets.procedural.homes import home as plans
from wayword.datasets.procedural.homes.home import Home
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement, arrange
from wayword.datasets.sources.own_fields import (
    SIDES,
    DoorEntry,
    ObjectEntry,
    PieceEntry,
    Record,
    TaskEntry,
)
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject

TRIES = 40  # layouts of furniture without a position; a failed one is drawn again from scratch
OVERLAP_M = 0.01
"""Overlap of two rooms (metres) that is taken for rounding in the file."""
DOOR_WALL = floorplans.DOOR + 2 * floorplans.CORNER
"""Minimum length of a wall with a door, in metres."""


def digest(value: Any) -> str:
    """Return a short checksum of values from YAML, or of a dataclass's fields."""
    text = json.dumps(
        value,
        sort_keys=True,
        default=lambda v: sorted(v) if isinstance(v, frozenset) else str(v),
    )
    return text_checksum(text, 16)


def read_home(path: Path, task: TaskEntry, name: str) -> Home:
    """Build the home given by ``home`` or ``rooms``; a home of custom rooms is called ``name``.

    ``path`` is for error messages. ``name`` also seeds the layout of the furniture.
    Raises ``DataError`` for rooms of one name, overlapping or cut off, and if no layout
    of ``TRIES`` has space for every piece and a path to it.
    """
    if task.home:
        return homes.cached_home(
            plans.home_name(
                "own",
                task.home.seed,
                task.home.rooms,
                task.home.number,
            )
        )

    # Any two rooms, numbered from 1; the error is reported at the later one.
    rooms = [each.plan for each in task.rooms]
    for (number, a), (later, b) in combinations(enumerate(rooms, 1), 2):
        where = Record(path, f"room {later}")
        if a.name == b.name:
            raise where.error(
                f"{b.name!r} is also the name of another room",
                field="name",
            )
        # Negative for rooms that are apart along the axis.
        overlap_x = min(a.x1, b.x1) - max(a.x0, b.x0)
        overlap_y = min(a.y1, b.y1) - max(a.y0, b.y0)
        if min(overlap_x, overlap_y) > OVERLAP_M:
            remedy = f"move or shrink room {number} or this one"
            raise where.error(f"{b.name} overlaps {a.name}", remedy, field="at")

    # Every room must be reached from the first one.
    doors = _read_doors(path, task.doors, rooms)
    plan = floorplans.FloorPlan(tuple(rooms), tuple(door for door, _ in doors))
    for number in plan.cut_off:
        problem = f"no doors lead from {rooms[0].name} to {rooms[number].name}"
        remedy = "place rooms wall to wall, and list a door between them"
        raise Record(path).error(problem, remedy, field="doors")

    # Furniture, until a layout has space for all pieces and a path to each.
    listed: list[tuple[int, PieceEntry]] = []
    for number, room in enumerate(task.rooms):
        listed += [(number, entry) for entry in room.furniture]
    problem = ""
    for attempt in range(TRIES):
        pieces, missing = _place_furniture(Random(f"{name}/{attempt}"), plan, listed)
        if missing:
            problem = f"has no free space for {missing}"
            continue
        scene = plans.build_scene(name, plan, pieces, [closed for _, closed in doors])
        layout = Layout(scene)
        starts = plans.reachable_starts(layout)
        if starts:
            return Home(name, scene, layout, starts)
        problem = "has rooms or furniture that cannot be reached on foot"
    # The problem of the last layout stands for all.
    raise Record(path).error(
        problem,
        "enlarge rooms or list less furniture",
        field="rooms",
    )


def _read_doors(
    path: Path,
    listed: list[DoorEntry] | None,
    rooms: list[floorplans.PlanRoom],
) -> list[tuple[floorplans.PlanDoor, bool]]:
    """Read the doors, each with True if it is closed; without a list, one in every shared wall.

    Raises ``DataError`` for an unknown room, and for rooms that share no wall of ``DOOR_WALL``.
    """
    if listed is None:
        pairs = combinations(range(len(rooms)), 2)
        shared = [_shared_door(rooms, one, other) for one, other in pairs]
        return [(door, False) for door in shared if door is not None]
    names = [room.name for room in rooms]
    doors = []
    for n, entry in enumerate(listed, 1):
        where = Record(path, f"door {n}")
        for name in entry.between:
            check_room(where, name, names, "between")
        one, other = sorted(map(names.index, entry.between))
        door = _shared_door(rooms, one, other)
        if door is None:
            problem = f"share no wall that is {DOOR_WALL:g} m long"
            raise where.error(
                f"{' and '.join(entry.between)} {problem}",
                field="between",
            )
        doors.append((door, entry.closed))
    return doors


def _shared_door(
    rooms: list[floorplans.PlanRoom],
    one: int,
    other: int,
) -> floorplans.PlanDoor | None:
    """Return a door in the middle of a wall shared by two rooms, given by number.

    None if they share no wall that is long enough.
    """
    for vertical, line, low, high in floorplans.shared_walls(rooms[one], rooms[other]):
        if high - low < DOOR_WALL:
            continue
        middle = round((low + high) / 2, 4)
        x, y = (line, middle) if vertical else (middle, line)
        return floorplans.PlanDoor(
            (one, other),
            x,
            y,
            vertical,
            floorplans.DOOR,
        )
    return None


def _place_furniture(
    rng: Random,
    plan: floorplans.FloorPlan,
    listed: list[tuple[int, PieceEntry]],
) -> tuple[list[furniture.FurniturePiece], str]:
    """Place furniture, fixed positions first; name a piece that did not fit: ``the desk in …``.

    ``listed`` are pairs of a room's number and a piece. The pieces before the one that
    did not fit are returned as well.
    """
    pieces: list[furniture.FurniturePiece] = []
    for number, entry in sorted(listed, key=lambda pair: pair[1].at is None):
        room = plan.rooms[number]
        if entry.at is None:
            # Clear of doors and of the fronts of other pieces in the room.
            same_room = [other for other in pieces if other.room == number]
            clear = [
                furniture.threshold(door) for door in plan.doors if number in door.rooms
            ]
            clear += [furniture.front_of(other) for other in same_room]
            taken = [other.box for other in same_room]
            piece = furniture.find_place(
                rng,
                entry.kind,
                number,
                room,
                taken,
                clear,
            )
        else:
            piece = _piece_at(room, number, entry, entry.at)
        if piece is None:
            return pieces, f"the {entry.kind} in the {room.name}"
        pieces.append(piece)
    return pieces, ""


def _piece_at(
    room: floorplans.PlanRoom,
    number: int,
    entry: PieceEntry,
    spot: tuple[float, float],
) -> furniture.FurniturePiece | None:
    """Return a piece centered on a spot (metres from the room's corner), None if it sticks out.

    ``number`` is that of the room.
    """
    spec = furniture.FURNITURE_KINDS[entry.kind]
    front = SIDES[entry.facing]
    width = spec.width
    depth = spec.depth
    if front[0]:  # it faces east or west, so its sides are swapped
        width, depth = depth, width
    x = room.x0 + spot[0]
    y = room.y0 + spot[1]
    piece = furniture.FurniturePiece(
        entry.kind,
        x,
        y,
        width,
        depth,
        front,
        number,
    )
    west, south, east, north = piece.box
    is_inside_x = room.x0 <= west and east <= room.x1
    is_inside_y = room.y0 <= south and north <= room.y1
    return piece if is_inside_x and is_inside_y else None


def arrange_objects(
    path: Path,
    task: TaskEntry,
    home: Home,
) -> tuple[Arrangement, dict[str, str]]:
    """Place the usual small objects by ``clutter``, then the file's objects, in the home.

    Return the arrangement and the ids of named objects. Raises ``DataError`` for an
    object that cannot be in that state, fits nowhere, or has a name in use.
    """
    rng = Random(f"{home.name}/things")
    draft = Arrangement(home, home.scene.by_id())
    if task.clutter:
        draft = arrange(rng, home, task.clutter)
    named: dict[str, str] = {}
    for n, entry in enumerate(task.objects, 1):
        where = Record(path, f"object {n}")
        kind = entry.kind
        item = OBJECTS[kind].make(f"{kind}|{1 + len(draft.of(kind))}", kind)
        for state, affordance in (("dirty", "dirtyable"), ("sliced", "sliceable")):
            if getattr(entry, state) and affordance not in item.affordances:
                raise where.error(f"a {kind} cannot be {state}", field=state)
        item = replace(item, dirty=entry.dirty, sliced=entry.sliced)
        holder = _holder_for(draft, where, entry, item.type)
        item = draft.place_on(rng, item, holder)
        if entry.temperature:
            heated = replace(item, temperature=entry.temperature)  # type: ignore[arg-type]
            draft.objects[item.id] = heated
        if entry.name:
            if entry.name in named or draft.of(entry.name):
                problem = f"{entry.name!r} is already an object or a kind of object"
                raise where.error(problem, field="name")
            named[entry.name] = item.id
    return draft, named


def _holder_for(
    draft: Arrangement,
    where: Record,
    entry: ObjectEntry,
    kind: str,
) -> HouseObject:
    """Return the first receptacle of the required kind (in its room) with space for an object.

    ``kind`` is the object's type. Raises ``DataError`` that names what is missing: the
    place, a fit, or space.
    """
    place = entry.place
    room = entry.room
    check_room(where, room, draft.home.rooms)
    objects = draft.objects.values()
    listed = [o for o in objects if o.type == place and room in ("", draft.room(o))]
    if not listed:
        hint = suggest(place, sorted({o.type for o in objects if o.receptacle}))
        inside = f"the {room}" if room else "the home"
        raise where.error(f"there is no {place!r} in {inside}", hint, field="place")
    suitable = [
        o for o in listed if o.receptacle and (not o.accepts or kind in o.accepts)
    ]
    if not suitable:
        raise where.error(f"a {kind} does not fit in or on a {place}", field="place")
    free = [o for o in suitable if draft.free_slots(o) > 0]
    if not free:
        raise where.error(f"every {place} is full", field="place")
    return free[0]


def check_room(
    where: Record,
    room: str,
    rooms: list[str],
    field: str = "room",
) -> None:
    """Raise ``DataError`` for an unknown room; empty means any room."""
    if room and room not in rooms:
        raise where.error(
            f"there is no room {room!r}",
            suggest(room, rooms),
            field=field,
        )

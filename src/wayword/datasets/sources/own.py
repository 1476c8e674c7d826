"""Tasks from a user's YAML file, and their acceptance by running the expert.

Goals use the goal language of ``worlds.household.goals``: one condition per line, under the name
of its class: ``- inside: {object: mug, place: desk, dirty: false}``. A kind matches any object of
that kind; a name given in the file matches that object only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, cast

import pydantic

from wayword.core.dataset import Task, Training
from wayword.core.episode import Episode, Json, JsonObject
from wayword.core.errors import DataError, suggest
from wayword.core.files import read_text, text_checksum
from wayword.core.game import PlanningFailed
from wayword.core.visible import single_line
from wayword.datasets.household import Household
from wayword.datasets.procedural import floorplans
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes import furniture
from wayword.datasets.procedural.homes import home as plans
from wayword.datasets.procedural.homes.home import Home
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement, arrange
from wayword.datasets.sources.rules import read_rules
from wayword.settings import load_yaml
from wayword.worlds.household import goals
from wayword.worlds.household.expert import SolvableHousehold
from wayword.worlds.household.house import FLAGS
from wayword.worlds.household.layout import Layout, can_stand
from wayword.worlds.household.scene import TEMPERATURES, HouseObject
from wayword.worlds.household.world import HouseholdWorld

# The fields of a file.


def _parse_pair(value: Any) -> Any:
    """Return a list of two numbers as a tuple. Other types of entries are found by pydantic."""
    # A bool is an int to Python, and so to pydantic.
    if not isinstance(value, list) or len(value) != 2 or bool in map(type, value):
        raise ValueError(f"must be two numbers, as in [1.5, 2], got {value!r}")
    return tuple(value)


def _allowed_names(
    options: Iterable[str] | Callable[[], Iterable[str]],
) -> pydantic.AfterValidator:
    """Return a validator that accepts these names."""

    def check(value: str) -> str:
        """Raise ``ValueError`` with the nearest option for an unknown value."""
        names = list(options() if callable(options) else options)
        if value not in names:
            raise ValueError(f"there is no {value!r}; {suggest(value, names)}")
        return value

    return pydantic.AfterValidator(check)


SIDES = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
"""Side that furniture faces -> its direction (x east, y north)."""


def _standing_kinds() -> list[str]:
    """Return free-standing furniture kinds; a microwave, for example, comes with its counter."""
    part_kinds = set[str]()
    for spec in furniture.FURNITURE_KINDS.values():
        part_kinds.update(part.kind for part in spec.parts)
    return [kind for kind in furniture.FURNITURE_KINDS if kind not in part_kinds]


Text = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)]
Number = Annotated[float, pydantic.Field(ge=-1000, le=1000)]
"""Metres or degrees."""
Spot = Annotated[
    tuple[Number, Number], pydantic.Strict(False), pydantic.BeforeValidator(_parse_pair)
]
"""``[x, y]`` in metres."""
Temperature = Annotated[str, _allowed_names(TEMPERATURES)]


class FileFields(pydantic.BaseModel):
    """Fields of a file, strictly typed. An empty field counts as omitted.

    ``example`` is quoted in errors. A field that does not exist is refused by its name.
    """

    model_config = pydantic.ConfigDict(
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        defer_build=True,  # an import builds no schema
    )
    example: ClassVar[str] = "instruction: Put a mug on the desk."

    @pydantic.model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: Any) -> Any:
        """Name the field that does not exist, before pydantic complains about another."""
        if not isinstance(values, Mapping):
            raise ValueError(f"must have fields, as in {cls.example}, got {values!r}")
        for key in values:
            if key not in cls.model_fields:
                raise ValueError(
                    f"has no field {key!r}; {suggest(str(key), cls.model_fields)}"
                )
        return {key: value for key, value in values.items() if value is not None}


class HomeEntry(FileFields):
    """A generated home: the one of that ``seed`` and ``number``, with ``rooms`` rooms."""

    example = "home: {rooms: 4, seed: 7}"
    rooms: int = pydantic.Field(4, ge=plans.MIN_ROOMS, le=plans.MAX_ROOMS)
    seed: int = pydantic.Field(0, ge=0, le=10**9)
    number: int = pydantic.Field(0, ge=0, le=9999)


class PieceEntry(FileFields):
    """A piece of furniture.

    ``at`` is its center in metres from the room's south-west corner; without it the
    piece is placed. ``facing`` is the side that its front faces.
    """

    example = "{kind: desk, at: [2, 1]}"
    kind: Annotated[str, _allowed_names(_standing_kinds)]
    at: Spot | None = None
    facing: Annotated[str, _allowed_names(SIDES)] = "south"


class RoomEntry(FileFields):
    """A rectangular room with furniture; a piece may be given by its kind alone.

    ``at`` is its south-west corner, ``size`` its extents to the east and north, in metres.
    """

    example = "{name: kitchen, at: [0, 0], size: [4, 3], furniture: [fridge]}"
    name: Text
    at: Spot
    size: Spot
    furniture: list[PieceEntry] = []

    @pydantic.field_validator("size")
    @classmethod
    def _check_size(cls, size: tuple[float, float]) -> tuple[float, float]:
        """Raise ``ValueError`` for a room that is too small or too large to furnish."""
        if not all(1.5 <= side <= 30 for side in size):
            raise ValueError(
                f"must be 1.5 to 30 m per side, got {size[0]:g} x {size[1]:g}"
            )
        return size

    @pydantic.field_validator("furniture", mode="before")
    @classmethod
    def _parse_kinds(cls, pieces: Any) -> Any:
        """Accept a plain name for a piece without further fields."""
        if not isinstance(pieces, list):
            return pieces  # pydantic raises the error
        return [{"kind": each} if isinstance(each, str) else each for each in pieces]

    @property
    def plan(self) -> floorplans.PlanRoom:
        """Return the room of the floor plan; ``at`` is its south-west corner (metres)."""
        x, y = self.at
        width, depth = self.size
        return floorplans.PlanRoom(
            self.name,
            x,
            y,
            round(x + width, 4),
            round(y + depth, 4),
        )


class DoorEntry(FileFields):
    """A door between two rooms, in the middle of the wall that they share."""

    example = "{between: [kitchen, study], closed: true}"
    between: list[Text] = pydantic.Field(min_length=2, max_length=2)
    closed: bool = False


class ObjectEntry(FileFields):
    """A small object; goals refer to it by ``name``, or by its ``kind``.

    ``place`` is the kind of furniture that it is put on, in ``room`` if that is given.
    """

    example = "{kind: mug, place: counter_top}"
    kind: Annotated[str, _allowed_names(OBJECTS)]
    place: Text
    room: str = ""
    name: str = ""
    dirty: bool = False
    sliced: bool = False
    temperature: Temperature | None = None


class StartEntry(FileFields):
    """The agent's start: a room, or a point in metres, and a heading in degrees."""

    example = "start: {room: kitchen}"
    room: str = ""
    at: Spot | None = None
    heading: Number | None = None


class TaskEntry(FileFields):
    """A full task file; conditions in ``goal`` are read after the home is built.

    Exactly one of ``home`` and ``rooms`` is given. ``clutter`` adds the usual small
    objects: it multiplies the number of each type, 0 for none. ``accepted`` is the
    expert's mark.
    """

    instruction: Text
    name: Text | None = None
    home: HomeEntry | None = None
    rooms: list[RoomEntry] = pydantic.Field([], min_length=1, max_length=40)
    doors: list[DoorEntry] | None = None
    clutter: float = pydantic.Field(0.0, ge=0, le=50)
    objects: list[ObjectEntry] = []
    goal: list[Any] = []
    start: StartEntry | None = None
    rules: Text | None = None
    max_steps: int = pydantic.Field(500, ge=1, le=100_000)
    accepted: Any = None

    @pydantic.model_validator(mode="after")
    def _check_home(self) -> TaskEntry:
        """Raise ``ValueError`` unless the task has a home or rooms, and not both."""
        if bool(self.home) == bool(self.rooms):
            raise ValueError(
                "needs either a 'home' (generated) or 'rooms' (your own), not both"
            )
        return self


class OnObject(FileFields):
    """A condition on an object."""

    example = "inside: {object: mug, place: desk}"
    object: Text


def _on(base: type[Any] = OnObject, **fields: Any) -> Any:
    """Return a model with the fields of a condition, in addition to those of ``base``."""
    return pydantic.create_model("Condition", __base__=base, **fields)


_STATES: Any = dict.fromkeys(FLAGS, (bool | None, None))
_HAS = _on(
    **_STATES,
    temperature=(Temperature | None, None),
    count=(int, pydantic.Field(1, ge=1)),
)
_INSIDE = _on(_HAS, place=(Text, ...), room=(str, ""))
_WITHIN = _on(distance=(Number, 1.5))  # metres
CONDITIONS: Mapping[str, type[Any]] = {
    "inside": _INSIDE,
    "has": _HAS,
    "stacked": _on(_INSIDE, movable=(Text, ...)),
    "held": OnObject,
    "lit": _WITHIN,
    "near": _WITHIN,
    "next_to": _on(other=(Text, ...)),
}
"""Condition -> its fields."""


E = TypeVar("E", bound=FileFields)


class Record(NamedTuple):
    """A file and the record being read, such as ``room 2, furniture 1``, for errors."""

    path: Path
    record: str = ""

    def error(
        self,
        problem: str,
        remedy: str = "",
        field: str = "",
    ) -> DataError:
        """Return the error for the record or for one of its fields."""
        parts = [self.record, f"field {field!r}" if field else ""]
        return DataError(
            self.path,
            ", ".join(part for part in parts if part),
            problem,
            remedy,
        )

    def entry(self, model: type[E], values: Any) -> E:
        """Validate a record as an entry. Raises ``DataError`` for the first invalid field."""
        try:
            return model.model_validate(values)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
        parts = [self.record]
        for key in first["loc"]:
            if isinstance(key, int):  # field 'rooms', 0 -> room 1
                last = parts[-1].removeprefix("field ").strip("'")
                parts[-1] = f"{last.removesuffix('s')} {key + 1}"
            else:
                parts.append(f"field {key!r}")
        problem = first["msg"].removeprefix("Value error, ")
        if first["type"] == "missing":
            problem = "is missing"
        elif first["type"] != "value_error":
            problem = (
                f"{problem.replace('Input should', 'must')}, got {first['input']!r}"
            )
        raise DataError(self.path, ", ".join(part for part in parts if part), problem)


# The home of a task file. Custom rooms are rectangles, with doors where they touch and the
# furniture that the file lists. Furniture without a position is placed. Every piece must be
# reachable: see ``procedural.homes``.

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
        if one == other or door is None:
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
        x = line
        y = round((low + high) / 2, 4)
        if not vertical:
            x, y = y, x
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


# Small objects.


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


MOST_CONDITIONS = 1_000  # each is checked at every step and planned by the expert


def _condition(
    path: Path,
    number: int,
    raw: Any,
    draft: Arrangement,
    named: Mapping[str, str],
) -> goals.GoalCondition:
    """Read condition ``number`` (from 1) of a goal.

    ``named``: name in the file -> object id. Raises ``DataError`` for an unknown
    condition or field, an object that is not in the home, and for more objects than
    there are.
    """
    where = Record(path, f"goal {number}")
    if not isinstance(raw, Mapping) or len(raw) != 1:
        raise where.error(f"must be one condition, as in {OnObject.example}")
    ((kind, fields),) = raw.items()
    if kind not in CONDITIONS:
        raise where.error(
            f"there is no condition {kind!r}",
            suggest(str(kind), CONDITIONS),
        )
    where = Record(path, f"goal {number} ({kind})")
    entry: Any = where.entry(CONDITIONS[kind], fields)
    check_room(where, getattr(entry, "room", ""), draft.home.rooms)

    def ids(field: str, room: str = "") -> goals.Ids:
        """Return the objects that a field refers to, by name or kind."""
        name = getattr(entry, field)
        matches = [named[name]] if name in named else draft.ids(name)
        matches = [i for i in matches if room in ("", draft.room(draft.objects[i]))]
        if not matches:
            inside = f"the {room}" if room else "the home"
            types = sorted({o.type for o in draft.objects.values()})
            hint = suggest(name, [*named, *types])
            if name in OBJECTS:
                hint = f"add one, as in objects: [{{kind: {name}, place: desk}}]"
            raise where.error(f"there is no {name!r} in {inside}", hint, field=field)
        return tuple(matches)

    objects = ids("object")
    match kind:
        case "next_to":
            return goals.NextTo(objects, ids("other"))
        case "lit" | "near":
            within = (objects, entry.distance)
            return goals.Lit(*within) if kind == "lit" else goals.Near(*within)
        case "held":
            return goals.Held(objects)

    # The other conditions require states of a number of objects.
    if entry.count > len(objects):
        problem = f"must be at most {len(objects)}, the number of these objects, got {entry.count}"
        raise where.error(problem, field="count")
    states = {name: getattr(entry, name) for name in (*FLAGS, "temperature")}
    traits: tuple[goals.Trait, ...] = tuple(
        (n, v) for n, v in states.items() if v is not None
    )
    if kind == "has":
        if not traits:
            raise where.error(
                "has no required state",
                f"add one of {', '.join(states)}",
            )
        return goals.Has(objects, traits, entry.count)
    places = ids("place", entry.room)
    if not draft.objects[places[0]].receptacle:
        raise where.error(f"a {entry.place} cannot hold objects", field="place")
    if kind == "inside":
        return goals.Inside(objects, places, traits, entry.count)
    return goals.Stacked(objects, ids("movable"), places, traits)


# The dataset.

COMMENT = "# Checked by the expert; written by `wayword task new`."
"""Line above the expert's mark in a file; what follows it is replaced."""
MOST_BYTES = (
    1_000_000  # a task is a few kilobytes: a larger file is probably not a task
)
KIND = "own"


@dataclass(frozen=True)
class FileSettings(homes.HomesSettings):
    """``actions`` and ``body`` as in ``household``; the rest comes from the file."""

    unused_verbs = ()


@dataclass(frozen=True)
class TaskFile:
    """A task from a file.

    ``accepted`` is the expert's mark: ``steps``, ``task``, ``scene``; empty for a
    draft. ``checksum`` covers everything except the mark, and ``text`` is the task as
    it was written.
    """

    path: Path
    case: homes.Case
    max_steps: int
    accepted: Mapping[str, Json]
    checksum: str
    text: str

    @property
    def scene(self) -> str:
        """Checksum of the home as built by this version."""
        return digest(asdict(self.case.scene))


def read_tasks(path: Path) -> list[TaskFile]:
    """Read the tasks of a file, separated by ``---`` lines, or of all YAML files in a folder.

    Raises ``DataError``, also if two tasks have one name.
    """
    files = _files_in(path) if path.is_dir() else [path]
    tasks: dict[str, TaskFile] = {}
    for file in files:
        for task in _read_file(file):
            name = task.case.task.episode.id
            if tasks.setdefault(name, task) is not task:
                raise DataError(
                    task.path,
                    "field 'name'",
                    f"{name!r} is the name of two tasks",
                )
    return list(tasks.values())


def _files_in(folder: Path) -> list[Path]:
    """Return the YAML files in a folder, sorted by name."""
    return sorted(folder.glob("*.y*ml"))


def _read_file(path: Path) -> list[TaskFile]:
    """Read the tasks of one file; the second of several is ``{file}-2`` unless it has a name.

    Raises ``DataError`` for a file that cannot be read, or is larger than ``MOST_BYTES``.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            problem = f"must be at most {MOST_BYTES:,} bytes long; is it a task file?"
            raise DataError(path, "", problem)
        content = read_text(path)
    except OSError as error:
        problem = error.strerror or str(error)
        remedy = "`wayword task example` prints one to start from"
        raise DataError(path, "", problem.lower(), remedy) from None
    parts = re.split(r"^---.*\n", content, flags=re.MULTILINE)
    # Parts of blank lines and comments only are no tasks; an empty file is a task with no fields.
    texts = [text for text in parts if re.search(r"^[^#\s]", text, re.MULTILINE)]
    texts = texts or parts[:1]
    if len(texts) == 1:
        return [_read_task(path, texts[0], path.stem)]
    return [
        _read_task(path, text, f"{path.stem}-{number}")
        for number, text in enumerate(texts, 1)
    ]


def _read_task(path: Path, text: str, name: str) -> TaskFile:
    """Read one task; ``name`` applies if the text has none.

    Builds its home, places its objects, and reads the goal. Raises ``DataError`` for text that is
    no valid YAML, a wrong field, a home that cannot be built, and a goal without conditions or with
    over ``MOST_CONDITIONS``.
    """
    import yaml

    try:
        tree = load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = single_line(error)
        raise DataError(path, "", f"is not valid YAML: {problem}") from None
    if not isinstance(tree, Mapping):
        raise DataError(path, "", f"must have fields, as in {FileFields.example}")
    entry = Record(path).entry(TaskEntry, tree)
    # The home's name depends on the content only, not on the file name.
    home_name = f"own-{digest([tree.get('rooms'), tree.get('doors')])}"
    home = read_home(path, entry, home_name)
    draft, named = arrange_objects(path, entry, home)

    if not entry.goal:
        remedy = f"list conditions, as in - {OnObject.example}"
        raise Record(path).error("is missing", remedy, field="goal")
    if len(entry.goal) > MOST_CONDITIONS:
        problem = (
            f"must have at most {MOST_CONDITIONS:,} conditions, got {len(entry.goal):,}"
        )
        raise Record(path).error(problem, "split the task", field="goal")
    required = tuple(
        _condition(path, n, e, draft, named) for n, e in enumerate(entry.goal, 1)
    )

    name = entry.name or name
    rules = entry.rules or read_rules("household")
    start = _pose(path, entry.start, home)
    episode = Episode(
        name,
        entry.instruction,
        home.name,
        start,
        extra={"rules": rules},
    )

    # The result of ``accept``, if the file has one: the expert's number of steps. It is no part of
    # the task, so the digest leaves it out.
    accepted = entry.accepted or {}
    steps = accepted.get("steps") if isinstance(accepted, Mapping) else None
    expert_length = steps if isinstance(steps, int) else None
    reference = goals.HouseholdReference(
        name,
        KIND,
        required,
        expert_length,
    )
    case = homes.Case(Task(episode, reference), home, draft.scene())
    content = {key: value for key, value in tree.items() if key != "accepted"}
    return TaskFile(
        path,
        case,
        entry.max_steps,
        accepted,
        digest(content),
        text,
    )


def accept(path: Path, target_path: Path | None = None) -> list[TaskFile]:
    """Solve a file's tasks with the expert, and write the file with the acceptance marks.

    Without ``target_path`` the file (or every file of a folder) is updated in place; comments are
    preserved. Raises ``DataError`` if a file is invalid, a task is already solved at the start, or
    the expert cannot solve it.
    """
    if path.is_dir():
        accepted: list[TaskFile] = []
        for file in _files_in(path):
            accepted += accept(file)
        return accepted
    texts = []
    for task in _read_file(path):
        item = task.case.task
        source = _FileSource([task], FileSettings())
        world = source.world(item.episode)
        reference = item.reference
        world.reset(item.episode)
        assert isinstance(reference, goals.HouseholdReference)
        if reference.met(world.state()) == reference.parts():
            raise DataError(
                path,
                "field 'goal'",
                "is met at the start",
                "require a change",
            )
        try:
            steps = len(source.solve(item))
        except PlanningFailed as reason:
            remedy = "check that the home has the objects and tools, and that no goals conflict"
            raise DataError(
                path,
                "",
                f"the expert cannot solve this: {reason}",
                remedy,
            ) from reason
        if steps > task.max_steps:
            problem = (
                f"must be at least {steps}, the expert's steps, got {task.max_steps}"
            )
            raise DataError(path, "field 'max_steps'", problem)
        mark = {
            "steps": steps,
            "task": task.checksum,
            "scene": task.scene,
        }
        # Only what follows the mark is replaced, which keeps the author's comments.
        text = task.text.partition(COMMENT)[0].rstrip()
        texts.append(f"{text}\n\n{COMMENT}\naccepted: {json.dumps(mark)}\n")
    # Written after all tasks have passed: an error leaves the file as it was.
    target = target_path or path
    target.write_text("---\n".join(texts), encoding="utf-8")
    return _read_file(target)


class FileTasks(homes.SourcedTasks):
    """The tasks of a file or folder, as used by ``wayword run AGENT --on ./task.yaml``.

    Raises ``DataError`` for a task that was not accepted, or was changed since.
    """

    name = KIND
    Settings = FileSettings
    splits = ("test",)
    file: ClassVar[Path]
    max_steps = 500

    def source(self, split: str) -> homes.EpisodeSource:
        """Return the tasks of the file. Raises ``DataError`` for one that the expert
        has not solved.
        """
        tasks = read_tasks(self.file)
        for task in tasks:
            mark = task.accepted if isinstance(task.accepted, Mapping) else {}
            problem = ""
            if not task.accepted:
                problem = "has not been solved by the expert yet"
            elif mark.get("task") != task.checksum:
                problem = "was changed since the expert solved it"
            elif mark.get("scene") != task.scene:
                problem = "was accepted by another version of Wayword, which builds another home"
            if problem:
                remedy = f"check it with `wayword task new {self.file}`"
                raise DataError(task.path, "", problem, remedy)
        # As set in the files
        vars(self)["max_steps"] = max(task.max_steps for task in tasks)
        return _FileSource(tasks, self.settings)

    def training(self) -> Training:
        """Return tasks to learn from: generated homes, as the file has no train split."""
        return Household("generated_train", None, Household.Settings()).training()


class _FileSource(SolvableHousehold):
    """Worlds and expert of tasks from files."""

    tasks: Sequence[Task]
    files: Mapping[str, Path]

    def __init__(
        self,
        tasks: Sequence[TaskFile],
        settings: homes.HomesSettings,
    ) -> None:
        self._cases = {task.case.task.episode.id: task.case for task in tasks}
        self._body = settings.make_body()
        self.tasks = tuple(case.task for case in self._cases.values())
        self.files = {task.path.name: task.path for task in tasks}

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the home of an episode."""
        return self._cases[episode.id].world(self._body)


def dataset_of(path: Path) -> type[FileTasks]:
    """Return the dataset class for a task file or folder, as used by ``--on ./task.yaml``."""
    return cast("type[FileTasks]", type("FileTasks", (FileTasks,), {"file": path}))


def _pose(path: Path, entry: StartEntry | None, home: Home) -> JsonObject:
    """Return the agent's start: the given position, or a free one in the given or any room."""
    rng = Random(f"{home.name}/start")
    if entry is None:
        return homes.draw_start(rng, home, KIND)
    where = Record(path, "field 'start'")
    check_room(where, entry.room, home.rooms)
    places = [at for at in home.starts if entry.room in ("", home.layout.room_at(*at))]
    # Drawn even if a position is given, for the fields that it lacks.
    start = homes.draw_start(rng, home, KIND, places)
    if entry.at:
        x, y = entry.at
        if not can_stand(
            home.layout,
            0.2,
            (x, y),
            [True] * len(home.scene.doors),
        ):
            raise where.error(f"is no free position: [{x:g}, {y:g}]", field="at")
        start["poses"]["agent"].update(x=x, y=y)
    if entry.heading is not None:
        start["poses"]["agent"]["heading"] = entry.heading % 360
    return start

"""A task file as a dataset of one episode, and its acceptance: the expert solves it first.

Its goal is in the goal language of ``worlds.household.goals``, a condition a line, by the name of
its class: ``- inside: {thing: mug, place: desk, dirty: false}``. A kind means any one of that kind;
a name that the file gave to a thing means that one.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from wayword.core.dataset import Task, Training
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, suggest
from wayword.core.game import PlanningFailed
from wayword.datasets.household import Household
from wayword.datasets.procedural.floorplans import CORNER, DOOR, FloorPlan, PlanDoor, PlanRoom
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.furniture import (
    FURNITURE_KINDS,
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
from wayword.worlds.household.expert import SolvableHousehold
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

# What a file may say.


def _pair(value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 2 or bool in map(type, value):
        raise ValueError(f"must be two numbers, as in [1.5, 2], not {value!r}")
    return tuple(value)


def _among(known: Iterable[str] | Callable[[], Iterable[str]]) -> AfterValidator:
    """One of these names."""

    def check(value: str) -> str:
        names = list(known() if callable(known) else known)
        if value not in names:
            raise ValueError(f"there is no {value!r}; {suggest(value, names)}")
        return value

    return AfterValidator(check)


SIDES = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}


def _pieces() -> list[str]:
    """Furniture that stands by itself; a microwave comes with its counter."""
    parts = {part.kind for each in FURNITURE_KINDS.values() for part in each.parts}
    return [kind for kind in FURNITURE_KINDS if kind not in parts]


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Number = Annotated[float, Field(ge=-1000, le=1000)]
"""Metres or degrees."""
Spot = Annotated[tuple[Number, Number], Strict(False), BeforeValidator(_pair)]
"""``[x, y]`` in metres."""
Heat = Annotated[str, _among(TEMPERATURES)]


class FileFields(BaseModel):
    """Fields of a file. A field that is left empty counts as left out."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)
    example: ClassVar[str] = "words: Put a mug on the desk."

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            raise ValueError(f"must hold fields, as in {cls.example}, not {given!r}")
        for name in given:
            if name not in cls.model_fields:
                raise ValueError(
                    f"has no field {name!r}; {suggest(str(name), [*cls.model_fields])}"
                )
        return {name: value for name, value in given.items() if value is not None}


class HomeEntry(FileFields):
    """A generated home."""

    example = "home: {rooms: 4, seed: 7}"
    rooms: int = Field(4, ge=FEWEST, le=MOST)
    seed: int = Field(0, ge=0, le=10**9)
    number: int = Field(0, ge=0, le=9999)


class PieceEntry(FileFields):
    """A piece of furniture; ``at`` is metres from its room's south-west corner."""

    example = "{kind: desk, at: [2, 1]}"
    kind: Annotated[str, _among(_pieces)]
    at: Spot | None = None
    facing: Annotated[str, _among(SIDES)] = "south"


class RoomEntry(FileFields):
    """A rectangle with furniture, which may be given by its kind alone."""

    example = "{name: kitchen, at: [0, 0], size: [4, 3], furniture: [fridge]}"
    name: Words
    at: Spot
    size: Spot
    furniture: list[PieceEntry] = []

    @field_validator("size")
    @classmethod
    def _fair(cls, size: tuple[float, float]) -> tuple[float, float]:
        if not all(1.5 <= side <= 30 for side in size):
            raise ValueError(f"must be 1.5 to 30 m each way, not {size[0]:g} x {size[1]:g}")
        return size

    @field_validator("furniture", mode="before")
    @classmethod
    def _by_kind(cls, given: Any) -> Any:
        listed = given if isinstance(given, list) else []
        return [{"kind": e} if isinstance(e, str) else e for e in listed] if listed else given

    @property
    def plan(self) -> PlanRoom:
        """The room of the floor plan."""
        (x, y), (wide, deep) = self.at, self.size
        return PlanRoom(self.name, x, y, round(x + wide, 4), round(y + deep, 4))


class DoorEntry(FileFields):
    """A door between two rooms."""

    example = "{between: [kitchen, study], shut: true}"
    between: list[str] = Field(min_length=2, max_length=2)
    shut: bool = False


class ThingEntry(FileFields):
    """A small thing; ``name`` is what goals call it."""

    example = "{kind: mug, place: counter_top}"
    kind: Annotated[str, _among(OBJECTS)]
    place: Words
    room: str = ""
    name: str = ""
    dirty: bool = False
    sliced: bool = False
    temperature: Heat | None = None


class StartEntry(FileFields):
    """Where the agent starts."""

    example = "start: {room: kitchen}"
    room: str = ""
    at: Spot | None = None
    heading: Number | None = None


class TaskEntry(FileFields):
    """A whole file; the conditions of ``goal`` are read once the home is there."""

    words: Words
    name: Words | None = None
    home: HomeEntry | None = None
    rooms: list[RoomEntry] = Field([], min_length=1, max_length=40)
    doors: list[DoorEntry] | None = None
    plenty: float = Field(0.0, ge=0, le=50)
    things: list[ThingEntry] = []
    goal: list[Any] = []
    start: StartEntry | None = None
    rules: Words | None = None
    max_steps: int = Field(500, ge=1, le=100_000)
    accepted: Any = None

    @model_validator(mode="after")
    def _one_home(self) -> TaskEntry:
        if bool(self.home) == bool(self.rooms):
            raise ValueError("needs either a 'home' (generated) or 'rooms' (your own), not both")
        return self


class Named(FileFields):
    """A condition on a thing."""

    example = "inside: {thing: mug, place: desk}"
    thing: Words


class Close(Named):
    """``lit`` and ``near``: within so many metres."""

    distance: Number = 1.5


class Besides(Named):
    """``beside``: in or on the same as another thing."""

    other: Words


_STATES: Any = {**dict.fromkeys(FLAGS, (bool | None, None)), "temperature": (Heat | None, None)}
States: type[Any] = create_model("States", __base__=Named, **_STATES, count=(int, Field(1, ge=1)))
"""``has``: the states that so many of the things are in."""
Placed = create_model("Placed", __base__=States, place=(Words, ...), room=(str, ""))
"""``inside``: in or on a place as well."""
Carried = create_model("Carried", __base__=Placed, movable=(Words, ...))
"""``stacked``: in or on something that is in or on a place."""
CONDITIONS: Mapping[str, type[Any]] = {
    "inside": Placed,
    "has": States,
    "stacked": Carried,
    "held": Named,
    "lit": Close,
    "near": Close,
    "beside": Besides,
}


E = TypeVar("E", bound=FileFields)


class Where(NamedTuple):
    """A file, and the record of it that is being read: ``room 2, furniture 1``."""

    path: Path
    record: str = ""

    def error(self, problem: str, remedy: str = "", field: str = "") -> DataError:
        """The error for the record, or for one of its fields."""
        parts = [self.record, f"field {field!r}" if field else ""]
        return DataError(self.path, ", ".join(part for part in parts if part), problem, remedy)

    def entry(self, model: type[E], given: Any) -> E:
        """The entry that some values make. Raises ``DataError`` for the first that does not fit."""
        try:
            return model.model_validate(given)
        except ValidationError as error:
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
            problem = f"{problem.replace('Input should', 'must')}, not {first['input']!r}"
        raise DataError(self.path, ", ".join(part for part in parts if part), problem)


# The home of a task file: a generated one, or rooms of one's own; and the things in it.
#
# Rooms of one's own are rectangles with doors where they touch, furnished with what the file lists.
# Furniture without a place finds one, and every piece must be in reach: see ``procedural.homes``.

TRIES = 40
"""How often furniture without a place is set down anew before it is given up."""


def digest(value: Any) -> str:
    """A short checksum of JSON values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def read_home(path: Path, task: TaskEntry, name: str) -> Home:
    """The home that a file asks for by ``home`` or ``rooms``; the latter is called ``name``."""
    if task.home:
        return homes.home_of(home_name("own", task.home.seed, task.home.rooms, task.home.number))
    rooms = [each.plan for each in task.rooms]
    for (n, a), (m, b) in combinations(enumerate(rooms, 1), 2):
        if a.name == b.name:
            raise Where(path, f"room {m}").error(
                f"{b.name!r} is the name of two rooms", field="name"
            )
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 0.01 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.01:
            remedy = f"change room {n} or this one"
            raise Where(path, f"room {m}").error(f"{b.name} overlaps {a.name}", remedy, field="at")
    doors = _doors(path, task.doors, rooms)
    plan = FloorPlan(tuple(rooms), tuple(door for door, _ in doors))
    reached = {0}
    for _ in rooms:
        reached |= {room for door in plan.doors if reached & set(door.rooms) for room in door.rooms}
    for number, room in enumerate(rooms):
        if number not in reached:
            problem = f"no doors lead from {rooms[0].name} to {room.name}"
            raise Where(path).error(
                problem, "rooms must touch; list a door between them", field="doors"
            )
    pieces = [(number, each) for number, room in enumerate(task.rooms) for each in room.furniture]
    return _furnished(path, name, plan, pieces, [shut for _, shut in doors])


def _doors(
    path: Path, listed: list[DoorEntry] | None, rooms: list[PlanRoom]
) -> list[tuple[PlanDoor, bool]]:
    """The listed doors and whether each is shut; one in every shared wall where none are listed."""
    if listed is None:
        made = [_door(rooms, *pair) for pair in combinations(range(len(rooms)), 2)]
        return [(door, False) for door in made if door is not None]
    names = [room.name for room in rooms]
    found = []
    for n, entry in enumerate(listed, 1):
        one, other = entry.between
        unknown = next((name for name in entry.between if name not in names), None)
        if unknown is not None:
            problem = f"there is no room {unknown!r}"
            raise Where(path, f"door {n}").error(problem, suggest(unknown, names), field="between")
        door = _door(rooms, *sorted((names.index(one), names.index(other))))
        if one == other or door is None:
            problem = f"{one} and {other} share no wall of {DOOR + 2 * CORNER:g} m"
            raise Where(path, f"door {n}").error(problem, field="between")
        found.append((door, entry.shut))
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


def _furnished(
    path: Path, name: str, plan: FloorPlan, wanted: list[tuple[int, PieceEntry]], shut: list[bool]
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
    raise Where(path).error(problem, "make rooms larger, or list less furniture", field="rooms")


def _set_down(
    rng: random.Random, plan: FloorPlan, wanted: list[tuple[int, PieceEntry]]
) -> tuple[list[FurniturePiece], str]:
    """The pieces, those with a place first; and the one that finds no place, as ``a desk in …``."""
    pieces: list[FurniturePiece] = []
    for number, each in sorted(wanted, key=lambda pair: pair[1].at is None):
        room = plan.rooms[number]
        here = [piece for piece in pieces if piece.room == number]
        if each.at is None:
            kept = [threshold(door) for door in plan.doors if number in door.rooms]
            kept += [box for piece in here for box in front_of(piece)]
            taken = [piece.box for piece in here]
            piece = find_place(rng, each.kind, number, room, taken, kept)
        else:
            piece = _placed(each.kind, each.at, SIDES[each.facing], number, room)
        if piece is None:
            return pieces, f"the {each.kind} in the {room.name}"
        pieces.append(piece)
    return pieces, ""


def _placed(
    kind: str, at: tuple[float, float], front: tuple[int, int], number: int, room: PlanRoom
) -> FurniturePiece | None:
    """A piece where the file says, if it fits."""
    spec = FURNITURE_KINDS[kind]
    wide, deep = (spec.depth, spec.width) if front[0] else (spec.width, spec.depth)
    piece = FurniturePiece(kind, room.x0 + at[0], room.y0 + at[1], wide, deep, front, number)
    west, south, east, north = piece.box
    inside = room.x0 <= west and room.y0 <= south and east <= room.x1 and north <= room.y1
    return piece if inside else None


# Small things.


def arranged(path: Path, task: TaskEntry, home: Home) -> tuple[Arrangement, dict[str, str]]:
    """The home with the file's things in it, and the ids of those that have a name of their own.

    ``plenty`` lays the usual small things about first.
    """
    rng = random.Random(f"{home.name}/things")
    made = Arrangement(home, {each.id: each for each in home.scene.objects})
    if task.plenty:
        made = arrange(rng, home, task.plenty)
    named: dict[str, str] = {}
    for n, entry in enumerate(task.things, 1):
        laid = _laid(rng, made, Where(path, f"thing {n}"), entry)
        if entry.name:
            if entry.name in named or made.of(entry.name):
                problem = f"{entry.name!r} means something else already"
                raise Where(path, f"thing {n}").error(problem, field="name")
            named[entry.name] = laid.id
    return made, named


def _laid(rng: random.Random, made: Arrangement, where: Where, entry: ThingEntry) -> HouseObject:
    thing = OBJECTS[entry.kind].make(f"{entry.kind}|{1 + len(made.of(entry.kind))}", entry.kind)
    for state, able in (("dirty", "dirtyable"), ("sliced", "sliceable")):
        if getattr(entry, state) and able not in thing.affordances:
            raise where.error(f"a {entry.kind} is never {state}", field=state)
    thing = replace(thing, dirty=entry.dirty, sliced=entry.sliced)
    laid = made.lay(rng, thing, _spot(made, where, entry, thing.type))
    heat = entry.temperature or laid.temperature
    made.objects[laid.id] = replace(laid, temperature=heat)  # type: ignore[arg-type]
    return made.objects[laid.id]


def _spot(made: Arrangement, where: Where, entry: ThingEntry, thing: str) -> HouseObject:
    """What a thing is to lie in or on: the first piece of that kind (in that room) with space."""
    kind, room = entry.place, entry.room
    check_room(made, where, room)
    there = [o for o in made.objects.values() if o.type == kind and room in ("", made.room(o))]
    if not there:
        hint = suggest(kind, sorted({o.type for o in made.objects.values() if o.receptacle}))
        inside = f"the {room}" if room else "the home"
        raise where.error(f"there is no {kind!r} in {inside}", hint, field="place")
    fits = [o for o in there if o.receptacle and (not o.accepts or thing in o.accepts)]
    if not fits:
        raise where.error(f"a {thing} does not go into or onto a {kind}", field="place")
    free = [o for o in fits if made.space(o) > 0]
    if not free:
        raise where.error(f"every {kind} there is full", field="place")
    return free[0]


def check_room(made: Arrangement, where: Where, room: str) -> None:
    """Raises ``DataError`` for a room that is none; empty means any."""
    rooms = [each.name for each in made.home.scene.rooms]
    if room and room not in rooms:
        raise where.error(f"there is no room {room!r}", suggest(room, rooms), field="room")


MOST_CONDITIONS = 1_000
"""Conditions of one task. Each is checked at every step, and the expert plans for each."""


def read_goals(
    path: Path, task: TaskEntry, made: Arrangement, named: Mapping[str, str]
) -> tuple[GoalCondition, ...]:
    """The conditions that the file lists, at least one."""
    if not task.goal:
        remedy = f"list conditions, as in - {Named.example}"
        raise Where(path).error("is missing", remedy, field="goal")
    if len(task.goal) > MOST_CONDITIONS:
        problem = f"holds {len(task.goal):,} conditions; at most {MOST_CONDITIONS:,} are checked"
        raise Where(path).error(problem, "split the task into several", field="goal")
    return tuple(_condition(path, n, e, made, named) for n, e in enumerate(task.goal, 1))


def _condition(
    path: Path, number: int, given: Any, made: Arrangement, named: Mapping[str, str]
) -> GoalCondition:
    where = Where(path, f"goal {number}")
    if not isinstance(given, Mapping) or len(given) != 1:
        raise where.error(f"must be one condition, as in {Named.example}")
    ((kind, inner),) = given.items()
    if kind not in CONDITIONS:
        raise where.error(f"there is no condition {kind!r}", suggest(str(kind), list(CONDITIONS)))
    where = Where(path, f"goal {number} ({kind})")
    entry: Any = where.entry(CONDITIONS[kind], inner)
    check_room(made, where, room := getattr(entry, "room", ""))

    def ids(field: str, room: str = "") -> Ids:
        """The ids of what a field names."""
        what = getattr(entry, field)
        found = [named[what]] if what in named else made.ids(what)
        found = [i for i in found if room in ("", made.room(made.objects[i]))]
        if not found:
            inside = f"the {room}" if room else "the home"
            hint = suggest(what, [*named, *sorted({o.type for o in made.objects.values()})])
            if what in OBJECTS:
                hint = f"lay one there, as in things: [{{kind: {what}, place: desk}}]"
            raise where.error(f"there is no {what!r} in {inside}", hint, field=field)
        return tuple(found)

    things = ids("thing")
    if isinstance(entry, Besides):
        return Beside(things, ids("other"))
    if isinstance(entry, Close):
        return (Lit if kind == "lit" else Near)(things, entry.distance)
    if kind == "held":
        return Held(things)
    if entry.count > len(things):
        problem = f"asks for {entry.count}, and there are {len(things)}"
        raise where.error(problem, field="count")
    states = {name: getattr(entry, name) for name in (*FLAGS, "temperature")}
    traits: tuple[Trait, ...] = tuple((n, v) for n, v in states.items() if v is not None)
    if kind == "has" and not traits:
        raise where.error("names no state", f"there are: {', '.join(states)}")
    if kind == "has":
        return Has(things, traits, entry.count)
    places = ids("place", room)
    if not made.objects[places[0]].receptacle:
        raise where.error(f"nothing goes into or onto a {entry.place}", field="place")
    if kind == "inside":
        return Inside(things, places, traits, entry.count)
    return Stacked(things, ids("movable"), places, traits)


# The dataset.

MARK = "# Checked by the expert; written by `wayword task new`."
MOST_BYTES = 1_000_000
KIND = "own"


@dataclass(frozen=True)
class OwnSettings(homes.HomesSettings):
    """``actions`` and ``body`` as in ``household``; the file says everything else."""

    useless: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class TaskFile:
    """What a file says. ``accepted`` is the expert's mark: ``steps``, ``task``, ``scene``; empty
    for a draft. ``checksum`` is that of all but that mark."""

    path: Path
    case: homes.Case
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
    entry = Where(path).entry(TaskEntry, tree)
    # Its name is made of what the file says, so that the file may be called anything.
    home = read_home(path, entry, f"own-{digest([tree.get('rooms'), tree.get('doors')])}")
    made, named = arranged(path, entry, home)
    goals = read_goals(path, entry, made, named)
    name, rules = entry.name or path.stem, entry.rules or homes.read_rules("household")
    start = _start(path, entry.start, home, made)
    episode = Episode(name, entry.words, home.name, start, extra={"rules": rules})
    accepted = entry.accepted or {}
    steps = accepted.get("steps") if isinstance(accepted, Mapping) else None
    reference = HouseholdReference(name, KIND, goals, steps if isinstance(steps, int) else None)
    case = homes.Case(Task(episode, reference), home, made.scene())
    own = {key: value for key, value in tree.items() if key != "accepted"}
    return TaskFile(path, case, entry.max_steps, accepted, digest(own))


def accept(path: Path, out: Path | None = None) -> TaskFile:
    """Have the expert solve a file's task, and write the file with the mark that says so.

    ``out`` is the file itself where it is None; everything in it stays as it is, comments too.
    Raises ``DataError`` for what is wrong with the file, for a task that is done before it begins,
    and for one that the expert cannot solve, with the reason.
    """
    task = read_task(path)
    played, reference = _One(task, OwnSettings()), task.case.task.reference
    world = played.world(task.case.task.episode)
    world.reset(task.case.task.episode)
    assert isinstance(reference, HouseholdReference)
    if reference.met(world.state()) == reference.parts():
        raise DataError(path, "field 'goal'", "holds already at the start", "ask for a change")
    try:
        steps = len(played.solve(task.case.task))
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


class OwnTasks(homes.SourcedTasks[OwnSettings]):
    """The task of one file, as ``wayword run AGENT --on ./task.yaml`` plays it.

    Examples of solved tasks (``shots``) are drawn from ``household``'s generated ones. Raises
    ``DataError`` for a file that was not accepted, or was changed after that.
    """

    name: ClassVar[str] = KIND
    Settings: ClassVar[type[Any]] = OwnSettings
    splits: ClassVar[tuple[str, ...]] = ("test",)
    file: ClassVar[Path]
    max_steps: ClassVar[int] = 500

    def source(self, split: str) -> homes.EpisodeSource:
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
        vars(self)["max_steps"] = task.max_steps  # this file's own
        return _One(task, self.settings)

    def training(self) -> Training:
        return Household("generated_train", None, Household.Settings()).training()


class _One(SolvableHousehold):
    """The source of one task."""

    tasks: Sequence[Task]
    files: Mapping[str, Path]

    def __init__(self, task: TaskFile, settings: homes.HomesSettings) -> None:
        self._case, self._body = task.case, settings.make_body()
        self.tasks = (task.case.task,)
        self.files = {task.path.name: task.path}

    def world(self, episode: Episode) -> HouseholdWorld:
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
        raise DataError(path, "", f"must hold fields, as in {FileFields.example}")
    return tree


def _start(path: Path, entry: StartEntry | None, home: Home, made: Arrangement) -> dict[str, Json]:
    """Where the agent starts: a place of its own, a free one of a room, or any free one."""
    rng = random.Random(f"{home.name}/start")
    if entry is None:
        return homes.start_in(rng, home, KIND)
    where = Where(path, "field 'start'")
    check_room(made, where, entry.room)
    places = [at for at in home.starts if entry.room in ("", home.layout.room_at(*at))]
    start = homes.start_in(rng, home, KIND, places)
    if entry.at:
        x, y = entry.at
        if not fits(home.layout, 0.2, (x, y), [True] * len(home.scene.doors)):
            raise where.error(f"nobody can stand at {x:g}, {y:g}", field="at")
        start["poses"]["agent"].update(x=x, y=y)
    if entry.heading is not None:
        start["poses"]["agent"]["heading"] = entry.heading % 360
    return start


def example() -> str:
    """A task file to start from."""
    text = resources.files("wayword.datasets.sources") / "example.yaml"
    return text.read_text(encoding="utf-8")

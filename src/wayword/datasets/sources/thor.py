"""AI2-THOR's object metadata (iTHOR's and RoboTHOR's) as objects of a household scene.

AI2-THOR counts z to the north and y up, and turns clockwise from +z; here x is east, y north, z up,
and headings are clockwise from north, so that (x, y, z) there is (x, z, y) here and angles stay.
Published are axis-aligned boxes, flags, and what is in or on what; nothing was rendered.

    >>> at, centre, size = (1.0, 2.0, 0.9), (1.0, 2.0, 1.0), (0.5, 0.5, 0.5)
    >>> record = ObjectRecord("TVStand|1", "TVStand_1a", "TVStand", at, 0.0, centre, size)
    >>> (record.type, record.bottom, record.pickupable)
    ('tv_stand', 0.75, False)

Source: metadata of AI2-THOR (Kolve et al. 2017) as PyPI's procthor 0.0.1.dev2 ships it;
https://ai2thor.allenai.org/ithor/documentation/objects/object-types
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from wayword.core.errors import DataError, suggest
from wayword.core.files import find, read_field, read_json
from wayword.core.geometry import absolute, relative
from wayword.worlds.household.builder import FLAT, HEADROOM, SceneBuilder, type_name
from wayword.worlds.household.scene import HouseObject, Preposition, Temperature

Point3 = tuple[float, float, float]
"""x east, y north, z up, metres: AI2-THOR's (x, z, y)."""

FLAGS = (
    *("receptacle", "pickupable", "moveable", "openable", "isOpen", "toggleable", "isToggled"),
    *("breakable", "sliceable", "cookable", "dirtyable", "isDirty", "canFillWithLiquid"),
    *("isFilledWithLiquid", "isHeatSource", "isColdSource"),
)
"""Fields of the file that are true or false."""
TEMPERATURES: dict[str, Temperature] = {"RoomTemp": "room", "Hot": "hot", "Cold": "cold"}


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """One object of a scene as it is published.

    ``id`` is its objectId, ``name`` its unique name (what other files call it), ``label`` its
    objectType. ``position`` is its pivot and ``heading`` its turn about the vertical (degrees);
    ``centre`` and ``size`` are those of its axis-aligned box as it lies. ``parents`` are the ids of
    what it is in or on. ``flags`` are those of ``FLAGS`` that are true, and also ``isCooked`` and
    ``isSliced`` where somebody changed it so.
    """

    id: str
    name: str
    label: str
    position: Point3
    heading: float
    centre: Point3
    size: Point3
    parents: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    temperature: Temperature = "room"

    @property
    def type(self) -> str:
        """Its type as the household world spells it: ``CounterTop`` is ``counter_top``."""
        return type_name(self.label)

    @property
    def bottom(self) -> float:
        """Height of its underside, metres."""
        return self.centre[2] - self.size[2] / 2

    @property
    def top(self) -> float:
        """Height of its upper side, metres."""
        return self.centre[2] + self.size[2] / 2

    @property
    def pickupable(self) -> bool:
        """Whether it can be carried."""
        return "pickupable" in self.flags


Records = tuple[ObjectRecord, ...]


def scene_names(folder: Path, file: str) -> tuple[str, ...]:
    """The scenes of a metadata file, in its order. Raises ``DataError``."""
    return tuple(_file(find(folder, file)))


def read_records(folder: Path, file: str, scene: str) -> Records:
    """The objects of a scene, in the file's order; each file and scene is parsed once.

    Raises ``DataError`` naming file, scene, object and field.
    """
    return _records(find(folder, file), scene)


@lru_cache(maxsize=4)
def _file(path: Path) -> Mapping[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise DataError(path, "", "is not a mapping from scenes to objects", "fetch it again")
    return found


@lru_cache(maxsize=256)
def _records(path: Path, scene: str) -> Records:
    scenes = _file(path)
    if scene not in scenes:
        raise DataError(path, f"scene {scene!r}", "is not there", suggest(scene, list(scenes)))
    listed = read_field(path, "", scenes, scene, list)
    return tuple(read_record(path, f"{scene}, object {n}", raw) for n, raw in enumerate(listed))


def read_record(path: Path, where: str, raw: Any) -> ObjectRecord:
    """One object of a metadata file. Raises ``DataError``."""
    box = read_field(path, where, raw, "aabb", dict)
    turn = read_field(path, where, raw, "rotation", dict)
    warmth = raw.get("temperature", "RoomTemp")
    if warmth not in TEMPERATURES:
        raise DataError(path, f"{where}, field 'temperature'", f"is unknown: {warmth!r}")
    return ObjectRecord(
        read_field(path, where, raw, "objectId", str),
        read_field(path, where, raw, "name", str),
        read_field(path, where, raw, "objectType", str),
        read_point(path, where, raw, "position"),
        absolute(float(read_field(path, where, turn, "y", (int, float)))),
        read_point(path, where, box, "center"),
        read_point(path, where, box, "size"),
        tuple(raw.get("parentReceptacles") or ()),
        frozenset(flag for flag in FLAGS if raw.get(flag)),
        TEMPERATURES[warmth],
    )


def read_point(path: Path, where: str, raw: Any, name: str) -> Point3:
    """A point of AI2-THOR, ``{"x", "y", "z"}`` with y up, in this project's frame."""
    try:
        at = raw[name]
        return at["x"] + 0.0, at["z"] + 0.0, at["y"] + 0.0
    except (KeyError, TypeError):  # say which field of which record it is
        point = read_field(path, where, raw, name, dict)
    x, y, z = (float(read_field(path, f"{where}, {name}", point, c, (int, float))) for c in "xzy")
    return x, y, z


# What a type of object can do, takes and hides.
#
# The file's flags are kept. Rules add what they do not say: which taps, hobs and cupboards work on
# what is in them, whether things go in or on a receptacle, what a hob or a towel rail takes, what
# stops a look. Labels are AI2-THOR's object types.
#
# Source: the tables of object types and their properties in AI2-THOR's documentation; ALFRED's
# goals (Shridhar et al. 2020) were a check that nothing they ask for is ruled out.

OF_FLAGS = {
    "pickupable": "pickupable",
    "openable": "openable",
    "toggleable": "toggleable",
    "sliceable": "sliceable",
    "cookable": "cookable",
    "dirtyable": "dirtyable",
    "canFillWithLiquid": "fillable",
    "isHeatSource": "heater",
    "isColdSource": "cooler",
}
"""Flag of the file -> affordance."""
OF_TYPES: dict[str, tuple[str, ...]] = {
    "Knife": ("slicer",),
    "ButterKnife": ("slicer",),
    "Fridge": ("cooler",),
    "SinkBasin": ("cleaner", "filler"),
    "BathtubBasin": ("cleaner", "filler"),
    "CoffeeMachine": ("brewer",),
    "Bread": ("cookable",),  # its slices are, in AI2-THOR; here a sliced loaf is one thing
    "Egg": ("cookable",),
}
"""Affordances that flags do not tell."""

HOLLOW = frozenset(
    (
        *("Fridge", "Microwave", "Cabinet", "Drawer", "Safe", "Box", "LaundryHamper", "Toaster"),
        *("Sink", "SinkBasin", "Bathtub", "BathtubBasin", "GarbageCan", "CoffeeMachine", "Cart"),
        *("Bowl", "Cup", "Mug", "Pot", "Pan"),
    )
)
"""Things go in these, and on all other receptacles."""

DISHES = ("Pot", "Pan", "Kettle")
FOOD = ("Apple", "Bread", "Egg", "Lettuce", "Potato", "Tomato")
CUTLERY = ("ButterKnife", "Fork", "Knife", "Ladle", "Spatula", "Spoon")
TRINKETS = (
    *("CD", "Candle", "CellPhone", "Cloth", "CreditCard", "DishSponge", "KeyChain", "Pen"),
    *("Pencil", "PepperShaker", "SaltShaker", "SoapBar", "TissueBox", "Watch"),
)
CUPS = ("Cup", "Mug")
SERVED = (*FOOD, *CUTLERY, *TRINKETS, *CUPS)
"""What goes in or on a dish that one carries."""

ACCEPTS: dict[str, tuple[str, ...]] = {
    "StoveBurner": (*DISHES, *FOOD, *CUTLERY),
    "Toaster": ("Bread",),
    "CoffeeMachine": CUPS,
    "TowelHolder": ("Towel", "HandTowel"),
    "HandTowelHolder": ("HandTowel", "Towel"),
    "ToiletPaperHanger": ("ToiletPaper",),
    "Plate": SERVED,
    "Pan": (*SERVED, "Plate", "Bowl"),
    "Pot": (*SERVED, "Plate", "Bowl"),
    "Bowl": SERVED,
    "Cup": (*CUTLERY, "Pen", "Pencil", "CreditCard", "KeyChain", "Watch", "Candle", "CD"),
    "Mug": (*CUTLERY, "Pen", "Pencil", "CreditCard", "KeyChain", "Watch", "Candle", "CD"),
}
"""What a receptacle takes; those not listed take anything."""
SPACES = {
    **dict.fromkeys(("StoveBurner", "CoffeeMachine", "TowelHolder", "HandTowelHolder"), 1),
    **dict.fromkeys(("ToiletPaperHanger", "Toaster"), 1),
}
"""How many things a receptacle holds, where there is a bound."""

TALL = frozenset(("Fridge", "Cabinet", "Dresser", "Safe", "Microwave", "ShelvingUnit", "Cart"))
"""What one cannot look through, where it rises above the eye. Shelves, curtains and shower screens
are left out: their boxes are full of air or glass."""
FLAT_ON_WALLS = frozenset(
    (
        *("Window", "Painting", "Poster", "Mirror", "LightSwitch", "Blinds", "Curtains", "Faucet"),
        *("StoveKnob", "StoveBurner", "SinkBasin", "BathtubBasin", "ShowerHead", "TowelHolder"),
        *("HandTowelHolder", "ToiletPaperHanger", "Shelf", "Drawer", "Cabinet", "Television"),
    )
)
"""What bodies do not run into: it hangs, or is part of something that they do run into."""
NO_THING = frozenset(("Floor", "Ceiling", "Wall"))
"""Labels of the file that are no things here."""


def affordances(record: ObjectRecord) -> frozenset[str]:
    """What an object can do or have done to it."""
    told = [able for flag, able in OF_FLAGS.items() if flag in record.flags]
    return frozenset((*told, *OF_TYPES.get(record.label, ())))


def preposition(record: ObjectRecord) -> Preposition:
    """Whether things go in or on it, or "" where it is no receptacle."""
    if "receptacle" not in record.flags or record.label in NO_THING:
        return ""
    return "in" if record.label in HOLLOW else "on"


def accepts(record: ObjectRecord) -> tuple[str, ...]:
    """The types it takes, as the household world spells them; none for all."""
    return tuple(map(type_name, ACCEPTS.get(record.label, ())))


def takes(receptacle: ObjectRecord, thing: ObjectRecord) -> bool:
    """Whether things of that type go in or on it."""
    fits = receptacle.label not in ACCEPTS or thing.label in ACCEPTS[receptacle.label]
    return bool(preposition(receptacle)) and fits and receptacle.id != thing.id


def moved(record: ObjectRecord, position: Point3, heading: float) -> ObjectRecord:
    """The same with its pivot elsewhere, turned about the vertical; what it is in or on is open.

    A box that is turned by a quarter swaps width and depth; other turns leave it as it is, and so
    does any tilt: small things' boxes differ by little, and nobody publishes their shapes.
    """
    turn = relative(heading, record.heading)
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    dx, dy, dz = (c - p for c, p in zip(record.centre, record.position, strict=True))
    x, y, z = position
    centre = (x + dx * cos + dy * sin, y - dx * sin + dy * cos, z + dz)
    width, depth, height = record.size
    if 45.0 < abs(turn) < 135.0:
        width, depth = depth, width
    return replace(
        record,
        position=position,
        heading=absolute(heading),
        centre=centre,
        size=(width, depth, height),
        parents=(),
    )


# What a thing lies in or on, judged by boxes.
#
# The published lists of what is in what name the floor beside the shelf above it, and a chair
# beside the table it stands under; and poses of other files come without any. So the candidates,
# published or all, are judged: by how well the thing's underside fits the receptacle's upper
# side, or its middle the hollow, and among equals by size.

MARGIN = 0.03
"""Metres that the middle of a thing may lie beyond the edge of what carries it."""
SINKS = 0.12
"""Metres that the underside of a thing may lie below the upper side of what carries it."""
FLOATS = 0.08
"""Metres that it may lie above it: boxes and pivots are not exact."""
RIM = 0.03
"""Metres below the upper side of what shuts that whatever is in it lies, at least."""
LOOSE = 0.25
"""Metres from a receptacle's box within which a thing that lies on nothing is taken to be on it."""
LEDGE = 0.1
"""Metres above the floor from which something that stands within furniture lies on it."""
SEAT = 0.45
"""How high seats are, metres."""
SEATS = ("Bed", "Sofa", "ArmChair", "Chair", "Toilet", "Stool", "Ottoman", "DogBed")
FRAMES = ("ShelvingUnit", "TVStand", "Desk", "SideTable", "CoffeeTable", "Dresser", "DiningTable")
RAILS = ("TowelHolder", "HandTowelHolder", "ToiletPaperHanger")


def carrier(
    thing: ObjectRecord, receptacles: Iterable[ObjectRecord], loose: bool = False
) -> ObjectRecord | None:
    """The receptacle a thing is in or on, None where it is none of them (the floor, the air).

    With ``loose``, where none fits, the one that is nearest, up to ``LOOSE``: for things that are
    known not to lie on the floor.
    """
    receptacles = list(receptacles)
    (x, y, _), wide = thing.centre, 3 * MARGIN  # the widest: most are far away
    near = [r for r in receptacles if abs(x - r.centre[0]) <= r.size[0] / 2 + wide]
    near = [r for r in near if abs(y - r.centre[1]) <= r.size[1] / 2 + wide]
    costs = [(misfit(thing, r), r.id, r) for r in near]
    if loose and not any(cost < math.inf for cost, _, _ in costs):
        costs = [(_gap(thing, r), r.id, r) for r in receptacles if takes(r, thing)]
        costs = [each for each in costs if each[0] <= LOOSE and not each[2].pickupable]
    cost, _, best = min(costs, default=(math.inf, "", None))
    return best if cost < math.inf else None


def misfit(thing: ObjectRecord, under: ObjectRecord) -> float:
    """How badly a thing fits in or on a receptacle; infinite where it is not there at all."""
    if not _above(thing, under) or not takes(under, thing):
        return math.inf
    area = under.size[0] * under.size[1]
    if under.pickupable and thing.size[0] * thing.size[1] >= area:
        return math.inf  # so that nothing is ever inside itself
    fit = _FITS.get(under.label, _hollow if under.label in HOLLOW else _surface)
    return fit(thing, under) + 0.01 * area


def parents(records: Records, judged: Sequence[ObjectRecord]) -> dict[str, str]:
    """Thing -> what it is in or on, for ``judged``; those on the floor are left out.

    Published parents are believed before others; things without any are judged against all.
    """
    by_id = {record.id: record for record in records}
    receptacles = [record for record in records if preposition(record)]
    found: dict[str, str] = {}
    for thing in judged:
        told = [by_id[p] for p in thing.parents if p in by_id and takes(by_id[p], thing)]
        best = _best(thing, told) if thing.parents else carrier(thing, receptacles)
        if best is not None:
            found[thing.id] = best.id
    return found


def _best(thing: ObjectRecord, told: Sequence[ObjectRecord]) -> ObjectRecord | None:
    nearest = min(told, key=lambda each: abs(each.top - thing.bottom), default=None)
    return carrier(thing, told) or nearest


def _above(thing: ObjectRecord, under: ObjectRecord) -> bool:
    """Whether the middle of a thing lies within a receptacle's outline."""
    dx, dy = abs(thing.centre[0] - under.centre[0]), abs(thing.centre[1] - under.centre[1])
    margin = 3 * MARGIN if under.label in RAILS else MARGIN
    return dx <= under.size[0] / 2 + margin and dy <= under.size[1] / 2 + margin


def _gap(thing: ObjectRecord, under: ObjectRecord) -> float:
    """From the middle of a thing's underside to a box, metres."""
    x, y, _ = thing.centre
    gaps = (
        max(abs(at - middle) - size / 2, 0.0)
        for at, middle, size in zip((x, y, thing.bottom), under.centre, under.size, strict=True)
    )
    return math.hypot(*gaps)


def _hollow(thing: ObjectRecord, under: ObjectRecord) -> float:
    """In a cupboard or basin: its middle is. Out of basins, bins and dishes things stick; what lies
    at the upper rim of a drawer lies on the furniture that it is part of."""
    if "openable" in under.flags and thing.bottom > under.top - RIM:
        return math.inf
    high = under.top + (0.0 if "openable" in under.flags else FLOATS)
    return 0.0 if under.bottom - 0.03 <= thing.centre[2] <= high else math.inf


def _surface(thing: ObjectRecord, under: ObjectRecord) -> float:
    rise = thing.bottom - under.top
    return abs(rise) if -SINKS <= rise <= FLOATS else math.inf


def _board(thing: ObjectRecord, under: ObjectRecord) -> float:
    """On a shelf: its box is the board, or the air above the board as well."""
    rise = thing.bottom - under.bottom
    return abs(rise) if -0.05 <= rise <= max(under.size[2], FLOATS) else math.inf


def _seat(thing: ObjectRecord, under: ObjectRecord) -> float:
    """On a seat or bed: its upper side is a back rest's or a head board's."""
    rise = thing.bottom - under.bottom
    within = LEDGE <= rise < under.size[2]
    return min(_surface(thing, under), 0.3 + abs(rise - SEAT) if within else math.inf)


def _frame(thing: ObjectRecord, under: ObjectRecord) -> float:
    """On furniture with boards below the upper one, which are not always listed singly."""
    within = under.bottom + LEDGE <= thing.bottom < under.top
    return min(_surface(thing, under), 0.5 if within else math.inf)


def _rail(thing: ObjectRecord, under: ObjectRecord) -> float:
    """On a towel rail or roll: it hangs about it."""
    return 0.0 if thing.bottom <= under.top and under.bottom <= thing.top else math.inf


_FITS: dict[str, Callable[[ObjectRecord, ObjectRecord], float]] = {
    "Shelf": _board,
    **dict.fromkeys(SEATS, _seat),
    **dict.fromkeys(FRAMES, _frame),
    **dict.fromkeys(RAILS, _rail),
}
Controls = Mapping[str, tuple[str, ...]]
"""Id of a switch -> ids of what it switches."""
SWITCHES: dict[str, tuple[str, ...]] = {
    "StoveKnob": ("StoveBurner",),
    "Faucet": ("SinkBasin", "BathtubBasin"),
}
"""Label of a switch -> labels of what it may switch: the nearest."""
FARTHEST = 1.5
"""Metres between a switch and what it switches, at most."""
BOARD = 0.02
"""Metres that a shelf's board is thick."""
ASKEW = 10.0
"""Degrees off a right angle from which furniture counts as turned: its box is larger than it."""


def add(
    builder: SceneBuilder, records: Iterable[ObjectRecord], controls: Controls | None = None
) -> None:
    """Give a scene under construction all the objects, fixed ones first, then what can be carried.

    What each is in or on is judged by ``support``. ``controls`` says what switches what where that
    is published; else each knob and tap works the nearest hob or basin. Fixed objects come first so
    that scenes that differ in small things alone can share a layout. A receptacle that is too small
    for what it holds at first takes as much as that.
    """
    kept = tuple(record for record in records if record.label not in NO_THING)
    under = parents(kept, [record for record in kept if lies(record)])
    wires = {**wired(kept), **(controls or {})}
    crowd = Counter(under.values())
    for record in sorted(kept, key=lambda each: each.pickupable):
        made = house_object(record, under.get(record.id, ""), wires.get(record.id, ()))
        if 0 < made.capacity < crowd[made.id]:  # published starts put a pot and a pan on one hob
            made = replace(made, capacity=crowd[made.id])
        builder.add(made)


def house_object(record: ObjectRecord, parent: str, controls: tuple[str, ...] = ()) -> HouseObject:
    """One record as an object of a scene."""
    width, depth = upright(record)
    stands = (
        record.size[2] > FLAT and record.bottom < HEADROOM and record.label not in FLAT_ON_WALLS
    )
    return HouseObject(
        id=record.id,
        type=record.type,
        x=record.centre[0],
        y=record.centre[1],
        width=width,
        depth=depth,
        bottom=record.bottom,
        height=board(record),
        parent=parent,
        affordances=affordances(record),
        receptacle=preposition(record),
        accepts=accepts(record),
        capacity=SPACES.get(record.label, 0),
        controls=controls,
        solid=stands and not record.pickupable and not parent,
        opaque=record.label in TALL and not askew(record),
        open="isOpen" in record.flags,
        on="isToggled" in record.flags,
        dirty="isDirty" in record.flags,
        sliced="isSliced" in record.flags,
        filled="isFilledWithLiquid" in record.flags,
        cooked="isCooked" in record.flags,
        temperature=record.temperature,
    )


def askew(record: ObjectRecord) -> bool:
    """Whether something stands at an angle to the axes."""
    off = record.heading % 90.0
    return ASKEW < off < 90.0 - ASKEW


def upright(record: ObjectRecord) -> tuple[float, float]:
    """Width and depth (metres) of the box that a scene is given.

    A box about something that stands askew is larger than it. With a turn t and the sides w and d,
    the box is w |cos t| + d |sin t| by w |sin t| + d |cos t|; solved for w and d, and set upright
    again to the nearer quarter turn. Near 45 degrees that has no solution, and a square is assumed.
    """
    width, depth = record.size[0], record.size[1]
    if not askew(record):
        return width, depth
    t = math.radians(record.heading % 180.0)
    cos, sin = abs(math.cos(t)), abs(math.sin(t))
    if abs(cos * cos - sin * sin) > 0.17:
        w = (width * cos - depth * sin) / (cos * cos - sin * sin)
        d = (depth * cos - width * sin) / (cos * cos - sin * sin)
        if min(w, d) > 0.25 * min(width, depth):
            return (w, d) if cos > sin else (d, w)
    return width / (cos + sin), depth / (cos + sin)


def board(record: ObjectRecord) -> float:
    """Height (metres) of the box that a scene is given: the boxes of shelves hold the air above the
    board, and things lie on the board."""
    return min(record.size[2], BOARD) if record.label == "Shelf" else record.size[2]


def wired(records: Records) -> dict[str, tuple[str, ...]]:
    """What each knob and tap works: the nearest hob or basin, hobs once each while any is free."""
    found: dict[str, tuple[str, ...]] = {}
    for label, kinds in SWITCHES.items():
        switches = [record for record in records if record.label == label]
        worked = [record for record in records if record.label in kinds]
        pairs = sorted(
            (math.dist(a.centre, b.centre), a.id, b.id) for a in switches for b in worked
        )
        once = label == "StoveKnob"
        taken: set[str] = set()
        for away, switch, target in pairs:
            if switch not in found and target not in taken and away <= FARTHEST:
                found[switch] = (target,)
                taken.update((target,) if once else ())
    return found


def lies(record: ObjectRecord) -> bool:
    """Whether an object may be in or on another: what can be carried, and appliances and lamps.

    Furniture is built in, or stands on the floor, whatever else the file lists.
    """
    stands = (
        "moveable" in record.flags and record.bottom > 0.2 and record.label not in FLAT_ON_WALLS
    )
    return record.pickupable or stands

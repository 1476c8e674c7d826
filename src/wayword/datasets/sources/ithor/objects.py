"""Records of AI2-THOR's object metadata: iTHOR's and RoboTHOR's files have the same fields.

    >>> at, centre, size = (1.0, 2.0, 0.9), (1.0, 2.0, 1.0), (0.5, 0.5, 0.5)
    >>> record = ObjectRecord("TVStand|1", "TVStand_1a", "TVStand", at, 0.0, centre, size)
    >>> (record.type, record.bottom, record.pickupable)
    ('tv_stand', 0.75, False)

Source: AI2-THOR, https://ai2thor.allenai.org/ithor/documentation/objects/object-types
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import find, read_field, read_json
from wayword.core.geometry import absolute, relative
from wayword.worlds.household.builder import type_name
from wayword.worlds.household.scene import Preposition, Temperature

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


# Other poses and states than the published ones.
#
#     >>> from wayword.datasets.sources.ithor.objects import ObjectRecord
#     >>> at, size = (0.0, 0.0, 1.0), (0.1, 0.1, 0.1)
#     >>> mug = ObjectRecord("Mug|1", "Mug_1a", "Mug", at, 0.0, at, size)
#     >>> away = Change(position=(2.0, 0.0, 0.5), flags={"isDirty": True})
#     >>> (moved,) = changed((mug,), {"Mug_1a": away})
#     >>> (moved.centre, sorted(moved.flags), moved.parents)
#     ((2.0, 0.0, 0.5), ['isDirty'], ())
#
# Datasets that start a scene from another state (ALFRED's ``object_poses``, rearrangement's
# ``starting_poses``, TEACh's initial states) say so by changes.


@dataclass(frozen=True, slots=True)
class Change:
    """How an object differs from its record; what is None or not named stays.

    ``position`` is where its pivot goes (x east, y north, z up, metres) and ``heading`` how it is
    turned then (degrees); what it is in or on is judged anew by boxes, unless ``parent`` names it
    by id ("" for the floor). ``flags`` sets or clears flags of the file (``isOpen``, ``isDirty``,
    ``isToggled``, ``isFilledWithLiquid``, ...), also ``isCooked`` and ``isSliced``. ``gone`` takes
    the object out of the scene.
    """

    position: Point3 | None = None
    heading: float | None = None
    parent: str | None = None
    flags: Mapping[str, bool] = field(default_factory=dict)
    temperature: Temperature | None = None
    gone: bool = False


Changes = Mapping[str, Change]
"""Id or name of an object -> how it differs."""


def changed(records: Records, changes: Changes) -> Records:
    """The records with the changes made. Raises ``UsageError`` for an object that is not there."""
    known = {record.id for record in records} | {record.name for record in records}
    for name in changes:
        if name not in known:
            raise UsageError(f"the scene has no object {name!r}; {suggest(name, sorted(known))}")
    made = []
    for record in records:
        change = changes.get(record.id) or changes.get(record.name)
        if change is None:
            made.append(record)
        elif not change.gone:
            made.append(_changed(record, change))
    return tuple(made)


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


def without(records: Records, names: Iterable[str]) -> Records:
    """The records but those of these ids or names."""
    gone = set(names)
    return tuple(r for r in records if r.id not in gone and r.name not in gone)


def _changed(record: ObjectRecord, change: Change) -> ObjectRecord:
    if change.position is not None or change.heading is not None:
        at = record.position if change.position is None else change.position
        record = moved(record, at, record.heading if change.heading is None else change.heading)
    if change.parent is not None:
        record = replace(record, parents=(change.parent or "Floor",))
    flags = set(record.flags)
    for flag, value in change.flags.items():
        (flags.add if value else flags.discard)(flag)
    warmth = change.temperature or record.temperature
    return replace(record, flags=frozenset(flags), temperature=warmth)

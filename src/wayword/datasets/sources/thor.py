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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from wayword.core.errors import DataError, suggest
from wayword.core.files import read_field, read_json
from wayword.core.geometry import absolute, relative
from wayword.datasets.procedural.tables import Table, Tables
from wayword.worlds.household.builder import FLAT_HEIGHT, HEADROOM, SceneBuilder, type_name
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
    """A published object of a scene.

    ``id`` is its objectId, ``name`` its unique name (what other files call it), ``label`` its
    objectType. ``position`` is its pivot and ``heading`` its turn about the vertical (degrees);
    ``centre`` and ``size`` are those of its axis-aligned box as it lies. ``parents`` are the ids of
    what it is in or on. ``flags`` are those of ``FLAGS`` that are true, and also ``isCooked`` and
    ``isSliced`` where a reader set them.
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
        """True if it can be carried."""
        return "pickupable" in self.flags


Records = tuple[ObjectRecord, ...]


@lru_cache(maxsize=4)
def read_scenes(path: Path) -> Mapping[str, Any]:
    """The scenes of a metadata file, in its order; parsed once. Raises ``DataError``."""
    scenes: Mapping[str, Any] = read_json(path, dict)
    return scenes


@lru_cache(maxsize=256)
def read_records(path: Path, scene: str) -> Records:
    """The objects of a scene, in the file's order; each is parsed once.

    Raises ``DataError`` naming file, scene, object and field.
    """
    scenes = read_scenes(path)
    if scene not in scenes:
        raise DataError(path, f"scene {scene!r}", "is not there", suggest(scene, list(scenes)))
    listed = read_field(path, "", scenes, scene, list)
    return tuple(read_record(path, f"{scene}, object {n}", raw) for n, raw in enumerate(listed))


def read_record(path: Path, where: str, raw: Any) -> ObjectRecord:
    """An object of a metadata file. Raises ``DataError``."""
    box = read_field(path, where, raw, "aabb", dict)
    turn = read_field(path, where, raw, "rotation", dict)
    heat = raw.get("temperature", "RoomTemp")
    if heat not in TEMPERATURES:
        raise DataError(path, f"{where}, field 'temperature'", f"is unknown: {heat!r}")
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
        TEMPERATURES[heat],
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


# Affordances, contents and views: the file's flags, and ``thor.toml`` for what they do not say.


def _expand_groups(names: tuple[str, ...], tables: Tables) -> tuple[str, ...]:
    groups = tables["groups"]
    return tuple(each for name in names for each in groups.get(name, (name,)))


LABELS = Table[frozenset[str]]("thor", "labels", lambda names, _: frozenset(names), __package__)
"""Sets of object types, by what they have in common."""
AFFORDANCES = Table[tuple[str, ...]]("thor", "affordances", package=__package__)
OF_FLAGS = Table[str]("thor", "flags", package=__package__)
ACCEPTS = Table("thor", "accepts", _expand_groups, __package__)
CAPACITY = Table[int]("thor", "capacity", package=__package__)
SWITCHES = Table[tuple[str, ...]]("thor", "switches", package=__package__)


def is_object(record: ObjectRecord) -> bool:
    """False for floors, walls and ceilings, which are listed among the objects."""
    return record.label not in LABELS["structure"]


def preposition(record: ObjectRecord) -> Preposition:
    """``in`` or ``on`` for a receptacle, else ""."""
    if "receptacle" not in record.flags or not is_object(record):
        return ""
    return "in" if record.label in LABELS["hollow"] else "on"


def accepts(receptacle: ObjectRecord, item: ObjectRecord) -> bool:
    """True if objects of the item's type go in or on the receptacle."""
    is_accepted = receptacle.label not in ACCEPTS or item.label in ACCEPTS[receptacle.label]
    return bool(preposition(receptacle)) and is_accepted and receptacle.id != item.id


def move_record(record: ObjectRecord, position: Point3, heading: float) -> ObjectRecord:
    """The record with its pivot at ``position``, turned to ``heading``, in or on nothing known.

    A box that is turned by a quarter swaps width and depth; other turns leave it as it is, and so
    does any tilt: boxes of small objects differ by little, and their shapes are not published.
    """
    turn = relative(heading, record.heading)
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    dx, dy, dz = (c - p for c, p in zip(record.centre, record.position, strict=True))
    x, y, z = position
    centre = (x + dx * cos + dy * sin, y - dx * sin + dy * cos, z + dz)
    width, depth, height = record.size
    size = (depth, width, height) if 45.0 < abs(turn) < 135.0 else record.size
    heading = absolute(heading)
    return replace(record, position=position, heading=heading, centre=centre, size=size, parents=())


# What an object lies in or on, judged by boxes.
#
# The published lists name the floor next to the shelf above it, and a chair next to the table it
# stands under; and poses of other files come without any. So the candidates, published or all, are
# judged: by how well the item's underside fits the receptacle's upper side, or its middle the
# hollow, and among equals by size.

MARGIN = 0.03
"""Metres that the middle of an item may lie beyond the edge of what carries it; thrice on rails."""
MOST_SUNK, MOST_RAISED = 0.12, 0.08
"""Metres that the underside of an item may lie below and above the upper side of what carries it:
boxes and pivots are not exact."""
RIM = 0.03
"""Metres below the upper side of a receptacle with a lid that its contents lie, at least."""
NEAREST_HOLDER = 0.25
"""Metres from a receptacle's box within which an item that lies on nothing is taken to be on it."""
LEDGE = 0.1
"""Metres above the floor from which something that stands within furniture lies on it."""
SEAT = 0.45
"""Height of seats, metres."""


def find_holder(
    item: ObjectRecord, receptacles: Iterable[ObjectRecord], use_nearest: bool = False
) -> ObjectRecord | None:
    """The receptacle an item is in or on, None where it is none of them (the floor, the air).

    With ``use_nearest``, where none fits, the nearest one up to ``NEAREST_HOLDER`` away: for items
    that are known not to lie on the floor.
    """
    receptacles = list(receptacles)
    (x, y, _), wide = item.centre, 3 * MARGIN  # a cheap test first: most are far away
    nearby = [r for r in receptacles if abs(x - r.centre[0]) <= r.size[0] / 2 + wide]
    nearby = [r for r in nearby if abs(y - r.centre[1]) <= r.size[1] / 2 + wide]
    costs = [(holder_cost(item, r), r.id, r) for r in nearby]
    if use_nearest and not any(cost < math.inf for cost, _, _ in costs):
        furniture = [r for r in receptacles if accepts(r, item) and not r.pickupable]
        costs = [(_box_distance(item, r), r.id, r) for r in furniture]
        costs = [each for each in costs if each[0] <= NEAREST_HOLDER]
    cost, _, best = min(costs, default=(math.inf, "", None))
    return best if cost < math.inf else None


def holder_cost(item: ObjectRecord, holder: ObjectRecord) -> float:
    """Cost of taking an item to be in or on a receptacle; infinite where it is not there at all."""
    label, rail = holder.label, holder.label in LABELS["rails"]
    margin = 3 * MARGIN if rail else MARGIN
    dx, dy = abs(item.centre[0] - holder.centre[0]), abs(item.centre[1] - holder.centre[1])
    is_above = dx <= holder.size[0] / 2 + margin and dy <= holder.size[1] / 2 + margin
    if not is_above or not accepts(holder, item):
        return math.inf
    area = holder.size[0] * holder.size[1]
    if holder.pickupable and item.size[0] * item.size[1] >= area:
        return math.inf  # so that nothing is ever inside itself
    above_top, rise = item.bottom - holder.top, item.bottom - holder.bottom
    surface = abs(above_top) if -MOST_SUNK <= above_top <= MOST_RAISED else math.inf
    cost = math.inf
    if label == "Shelf":  # its box is the board, or the air above the board as well
        if -0.05 <= rise <= max(holder.size[2], MOST_RAISED):
            cost = abs(rise)
    elif label in LABELS["seats"]:  # the upper side is a back rest's or a head board's
        cost = min(surface, 0.3 + abs(rise - SEAT) if LEDGE <= rise < holder.size[2] else math.inf)
    elif label in LABELS["frames"]:
        within = holder.bottom + LEDGE <= item.bottom < holder.top
        cost = min(surface, 0.5 if within else math.inf)
    elif rail:  # a towel hangs about it
        cost = 0.0 if item.bottom <= holder.top and holder.bottom <= item.top else math.inf
    elif label not in LABELS["hollow"]:
        cost = surface
    elif "openable" in holder.flags:  # at the upper rim of a drawer: on the furniture around it
        if item.bottom <= holder.top - RIM and holder.bottom - 0.03 <= item.centre[2] <= holder.top:
            cost = 0.0
    elif holder.bottom - 0.03 <= item.centre[2] <= holder.top + MOST_RAISED:  # sticks out of it
        cost = 0.0
    return cost + 0.01 * area


def _box_distance(item: ObjectRecord, holder: ObjectRecord) -> float:
    """From the middle of an item's underside to a box, metres."""
    x, y, _ = item.centre
    gaps = (
        max(abs(at - middle) - size / 2, 0.0)
        for at, middle, size in zip((x, y, item.bottom), holder.centre, holder.size, strict=True)
    )
    return math.hypot(*gaps)


def find_holders(records: Records, judged: Sequence[ObjectRecord]) -> dict[str, str]:
    """Item -> what it is in or on, for ``judged``; those on the floor are left out.

    Published parents have priority; items without any are judged against all receptacles.
    """
    by_id = {record.id: record for record in records}
    receptacles = [record for record in records if preposition(record)]
    holders: dict[str, str] = {}
    for item in judged:
        if item.parents:
            published = [by_id[p] for p in item.parents if p in by_id and accepts(by_id[p], item)]
            nearest = min(published, key=lambda r: abs(r.top - item.bottom), default=None)
            best = find_holder(item, published) or nearest
        else:
            best = find_holder(item, receptacles)
        if best is not None:
            holders[item.id] = best.id
    return holders


def can_lie_on(record: ObjectRecord) -> bool:
    """True if an object may be in or on another: what can be carried, and appliances and lamps.

    Furniture is built in, or stands on the floor, whatever else the file lists.
    """
    is_appliance = "moveable" in record.flags and record.bottom > 0.2
    return record.pickupable or (is_appliance and record.label not in LABELS["mounted"])


# Records as objects of a scene.

Controls = Mapping[str, tuple[str, ...]]
"""Id of a switch -> ids of what it switches."""
FARTHEST = 1.5
"""Metres between a switch and what it switches, at most."""
BOARD = 0.02
"""Thickness of a shelf's board, metres: its box holds the air above, and objects lie on it."""
ASKEW = 10.0
"""Degrees off a right angle from which furniture counts as turned: its box is larger than it."""


def add_objects(
    builder: SceneBuilder, records: Iterable[ObjectRecord], controls: Controls | None = None
) -> None:
    """Add the objects to a scene under construction: fixed ones first, then what can be carried.

    What each is in or on is judged by :func:`parents`. ``controls`` says what switches what where
    that is published; else each knob and tap works the nearest burner or basin. Fixed objects come
    first so that scenes that differ in small objects alone can share a layout. A receptacle too
    small for its initial contents takes as much as that: published starts put a pot and a pan on
    one burner.
    """
    listed = tuple(filter(is_object, records))
    holder_of = find_holders(listed, [record for record in listed if can_lie_on(record)])
    switch_targets = {**wire_switches(listed), **(controls or {})}
    contents = Counter(holder_of.values())
    for record in sorted(listed, key=lambda each: each.pickupable):
        label, flags, parent = record.label, record.flags, holder_of.get(record.id, "")
        affordances = [affordance for flag, affordance in OF_FLAGS.items() if flag in flags]
        capacity = CAPACITY.get(label, 0)
        is_standing = (
            record.size[2] > FLAT_HEIGHT
            and record.bottom < HEADROOM
            and label not in LABELS["mounted"]
        )
        width, depth = upright_size(record)
        builder.add(
            HouseObject(
                id=record.id,
                type=record.type,
                x=record.centre[0],
                y=record.centre[1],
                width=width,
                depth=depth,
                bottom=record.bottom,
                height=min(record.size[2], BOARD) if label == "Shelf" else record.size[2],
                parent=parent,
                affordances=frozenset((*affordances, *AFFORDANCES.get(label, ()))),
                receptacle=preposition(record),
                accepts=tuple(map(type_name, ACCEPTS.get(label, ()))),
                capacity=max(capacity, contents[record.id]) if capacity else 0,
                controls=switch_targets.get(record.id, ()),
                solid=is_standing and not record.pickupable and not parent,
                opaque=label in LABELS["tall"] and not _is_askew(record),
                open="isOpen" in flags,
                on="isToggled" in flags,
                dirty="isDirty" in flags,
                sliced="isSliced" in flags,
                filled="isFilledWithLiquid" in flags,
                cooked="isCooked" in flags,
                temperature=record.temperature,
            )
        )


def _is_askew(record: ObjectRecord) -> bool:
    """True if something stands at an angle to the axes."""
    return ASKEW < record.heading % 90.0 < 90.0 - ASKEW


def upright_size(record: ObjectRecord) -> tuple[float, float]:
    """Width and depth (metres) of the box that a scene is given.

    A box about something that stands askew is larger than it. With a turn t and the sides w and d,
    the box is w |cos t| + d |sin t| by w |sin t| + d |cos t|; solved for w and d, and set upright
    again to the nearer quarter turn. Near 45 degrees that has no solution, and a square is assumed.
    """
    width, depth = record.size[0], record.size[1]
    if not _is_askew(record):
        return width, depth
    t = math.radians(record.heading % 180.0)
    cos, sin = abs(math.cos(t)), abs(math.sin(t))
    if abs(cos * cos - sin * sin) > 0.17:
        w = (width * cos - depth * sin) / (cos * cos - sin * sin)
        d = (depth * cos - width * sin) / (cos * cos - sin * sin)
        if min(w, d) > 0.25 * min(width, depth):
            return (w, d) if cos > sin else (d, w)
    return width / (cos + sin), depth / (cos + sin)


def wire_switches(records: Records) -> dict[str, tuple[str, ...]]:
    """Switch -> the nearest object it may work; burners once each while any is free."""
    targets_of: dict[str, tuple[str, ...]] = {}
    for label, kinds in SWITCHES.items():
        switches = [record for record in records if record.label == label]
        targets = [record for record in records if record.label in kinds]
        pairs = sorted(
            (math.dist(a.centre, b.centre), a.id, b.id) for a in switches for b in targets
        )
        taken: set[str] = set()
        for distance, switch, target in pairs:
            if switch not in targets_of and target not in taken and distance <= FARTHEST:
                targets_of[switch] = (target,)
                if label == "StoveKnob":
                    taken.add(target)
    return targets_of

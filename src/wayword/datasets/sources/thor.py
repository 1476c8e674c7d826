"""AI2-THOR's object metadata (iTHOR's and RoboTHOR's) as objects of a household scene.

AI2-THOR has x east, y up and z north, and rotates clockwise from +z. Here x is east, y north, z
up, and headings are clockwise from north: (x, y, z) there is (x, z, y) here, with equal angles.

    >>> at, center, size = (1.0, 2.0, 0.9), (1.0, 2.0, 1.0), (0.5, 0.5, 0.5)
    >>> record = ObjectRecord("TVStand|1", "TVStand_1a", "TVStand", at, 0.0, center, size)
    >>> (record.type, record.bottom, record.pickupable)
    ('tv_stand', 0.75, False)

Source: metadata of AI2-THOR (Kolve et al. 2017) as shipped in PyPI's procthor 0.0.1.dev2;
https://ai2thor.allenai.org/ithor/documentation/objects/object-types
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, suggest
from wayword.core.files import NUMBER, read_field, read_json
from wayword.core.geometry import absolute, relative
from wayword.datasets.procedural.tables import Table, expand_sets
from wayword.worlds.household.builder import (
    FLAT_HEIGHT,
    HEADROOM,
    SceneBuilder,
    type_name,
)
from wayword.worlds.household.scene import HouseObject, Preposition, Temperature

Point3 = tuple[float, float, float]
"""x east, y north, z up in metres, i.e. AI2-THOR's (x, z, y)."""

FLAGS = (
    "receptacle",
    "pickupable",
    "moveable",
    "openable",
    "isOpen",
    "toggleable",
    "isToggled",
    "breakable",
    "sliceable",
    "cookable",
    "dirtyable",
    "isDirty",
    "canFillWithLiquid",
    "isFilledWithLiquid",
    "isHeatSource",
    "isColdSource",
)
"""Boolean fields of the file."""
TEMPERATURES: dict[str, Temperature] = {
    "RoomTemp": "room",
    "Hot": "hot",
    "Cold": "cold",
}


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """A published object of a scene.

    ``id`` is its objectId, ``name`` its unique name (used in other files), ``label`` its
    objectType. ``position`` is its pivot, ``heading`` its rotation about the vertical (degrees),
    ``center`` and ``size`` describe its axis-aligned box (metres). ``parents``: ids of the
    receptacles it is in or on. ``flags``: those of ``FLAGS`` that are true. ``bottom`` and ``top``
    are heights (metres).
    """

    id: str
    name: str
    label: str
    position: Point3
    heading: float
    center: Point3
    size: Point3
    parents: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    temperature: Temperature = "room"

    @property
    def type(self) -> str:
        """Its type in the household world: ``CounterTop`` is ``counter_top``."""
        return type_name(self.label)

    @property
    def bottom(self) -> float:
        """Height of its underside, metres."""
        return self.center[2] - self.size[2] / 2

    @property
    def top(self) -> float:
        """Height of its top, metres."""
        return self.center[2] + self.size[2] / 2

    @property
    def pickupable(self) -> bool:
        """True if it can be carried."""
        return "pickupable" in self.flags


Records = tuple[ObjectRecord, ...]


@lru_cache(maxsize=4)
def read_scenes(path: Path) -> JsonObject:
    """Return the scenes of a metadata file, in file order; cached. Raises ``DataError``."""
    scenes: JsonObject = read_json(path, dict)
    return scenes


@lru_cache(maxsize=256)
def read_records(path: Path, scene: str) -> Records:
    """Return the objects of a scene, in file order; cached.

    Raises ``DataError`` naming file, scene, object and field.
    """
    scenes = read_scenes(path)
    if scene not in scenes:
        raise DataError(
            path,
            f"scene {scene!r}",
            "is missing",
            suggest(scene, scenes),
        )
    listed = read_field(path, "", scenes, scene, list)
    return tuple(
        read_record(path, f"{scene}, object {n}", raw) for n, raw in enumerate(listed)
    )


def read_record(path: Path, where: str, raw: Any) -> ObjectRecord:
    """Read an object of a metadata file. Raises ``DataError``."""
    read = partial(read_field, path, where, raw)
    box = read("aabb", dict)
    # Turns about the vertical only; boxes are axis-aligned.
    turn = read("rotation", dict)
    heat = raw.get("temperature", "RoomTemp")
    if heat not in TEMPERATURES:
        raise DataError(
            path,
            f"{where}, field 'temperature'",
            f"must be RoomTemp, Hot or Cold, got {heat!r}",
        )
    return ObjectRecord(
        read("objectId", str),
        read("name", str),
        read("objectType", str),
        read_point(path, where, raw, "position"),
        absolute(float(read_field(path, where, turn, "y", NUMBER))),
        read_point(path, where, box, "center"),
        read_point(path, where, box, "size"),
        tuple(raw.get("parentReceptacles") or ()),
        frozenset(flag for flag in FLAGS if raw.get(flag)),
        TEMPERATURES[heat],
    )


def read_point(
    path: Path,
    where: str,
    raw: Any,
    name: str,
) -> Point3:
    """Read an AI2-THOR point, ``{"x", "y", "z"}`` with y up, in this project's frame."""
    try:
        at = raw[name]
        # Adding 0.0 turns integers into floats and minus zero into zero.
        return at["x"] + 0.0, at["z"] + 0.0, at["y"] + 0.0
    except (KeyError, TypeError):  # read it again for an error that names the field
        point = read_field(path, where, raw, name, dict)
    read = partial(read_field, path, f"{where}, {name}", point)
    x, y, z = (float(read(axis, NUMBER)) for axis in ("x", "z", "y"))
    return x, y, z


# Affordances, receptacles and occlusion: the file's flags, supplemented by ``thor.toml``.


LABELS = Table[frozenset[str]](
    "thor", "labels", lambda names, _: frozenset(names), __package__
)
"""Sets of object types with a common property."""
AFFORDANCES = Table[tuple[str, ...]]("thor", "affordances", package=__package__)
"""Object type -> affordances that no flag of the file gives."""
OF_FLAGS = Table[str]("thor", "flags", package=__package__)
"""Flag of the file -> affordance."""
ACCEPTS = Table[tuple[str, ...]](
    "thor",
    "accepts",
    lambda names, tables: expand_sets(names, tables["groups"]),
    __package__,
)
"""Receptacle type -> object types that fit; others take any."""
CAPACITY = Table[int]("thor", "capacity", package=__package__)
"""Receptacle type -> maximum number of objects; others have no limit."""
SWITCHES = Table[tuple[str, ...]]("thor", "switches", package=__package__)
"""Switch type -> object types that it may control."""


def is_object(record: ObjectRecord) -> bool:
    """True unless the record is a floor, wall or ceiling, which the file lists as objects."""
    return record.label not in LABELS["structure"]


def preposition(record: ObjectRecord) -> Preposition:
    """Return ``in`` or ``on`` for a receptacle, else empty."""
    # Structure is listed as a receptacle in some scenes.
    if "receptacle" not in record.flags or not is_object(record):
        return ""
    return "in" if record.label in LABELS["hollow"] else "on"


def accepts(receptacle: ObjectRecord, item: ObjectRecord) -> bool:
    """True if the receptacle takes objects of the item's type."""
    if not preposition(receptacle) or receptacle.id == item.id:
        return False
    # Types without an entry take anything.
    return receptacle.label not in ACCEPTS or item.label in ACCEPTS[receptacle.label]


def move_record(record: ObjectRecord, position: Point3, heading: float) -> ObjectRecord:
    """Return the record with its pivot at ``position``, rotated to ``heading``, without parents.

    Near a quarter turn, width and depth of the box are swapped; other rotations and tilts do not
    change it: the boxes of small objects differ little, and their shapes are not published.
    """
    turn = relative(heading, record.heading)
    cos = math.cos(math.radians(turn))
    sin = math.sin(math.radians(turn))
    # From the pivot to the center, turned with the object.
    dx, dy, dz = (c - p for c, p in zip(record.center, record.position, strict=True))
    x, y, z = position
    center = (x + dx * cos + dy * sin, y - dx * sin + dy * cos, z + dz)
    width, depth, height = record.size
    # Between 45 and 135 degrees, the other pair of sides is closer to the axes.
    size = (depth, width, height) if 45.0 < abs(turn) < 135.0 else record.size
    heading = absolute(heading)
    return replace(
        record,
        position=position,
        heading=heading,
        center=center,
        size=size,
        parents=(),
    )


# Receptacles of objects, judged by boxes.
#
# Published lists may name the floor along with the shelf above it, or the table over a chair, and
# poses in other files come without any. So we score the candidates (published, or all): by how well
# the item's underside fits the receptacle's top, or its center the hollow, and then by size.

MARGIN = 0.03
"""Maximum overhang of an item's center over its receptacle's edge, metres; three times on rails."""
MOST_SUNK = 0.12
"""Maximum depth of an item's underside below a receptacle's top, in metres: boxes are not exact."""
MOST_RAISED = 0.08
"""Maximum height of an item's underside above a receptacle's top, in metres."""

RIM = 0.03
"""Minimum depth of contents below the top of a receptacle with a lid, metres."""
NEAREST_HOLDER = 0.25
"""Maximum distance (metres) to a receptacle's box for an item without support to count as on it."""
LEDGE = 0.1
"""Minimum height above the floor of an item on an inner shelf of furniture, metres."""
SEAT = 0.45
"""Height of seats, metres."""


def find_holder(
    item: ObjectRecord,
    receptacles: Iterable[ObjectRecord],
    use_nearest: bool = False,
) -> ObjectRecord | None:
    """Return the receptacle an item is in or on, or None (on the floor or unsupported).

    With ``use_nearest``, falls back to the nearest one within ``NEAREST_HOLDER``: for items known
    not to be on the floor.
    """
    receptacles = list(receptacles)
    x, y, _ = item.center

    # A cheap test of the floor plan first: most are out of range.
    margin = 3 * MARGIN  # the widest one in use
    nearby = [r for r in receptacles if abs(x - r.center[0]) <= r.size[0] / 2 + margin]
    nearby = [r for r in nearby if abs(y - r.center[1]) <= r.size[1] / 2 + margin]
    costs = [(holder_cost(item, r), r.id, r) for r in nearby]

    # The nearest one, by the distance of the middle of the underside to its box.
    # Only if nothing supports it at all.
    if use_nearest and not any(cost < math.inf for cost, _, _ in costs):
        costs = []
        for r in receptacles:
            if r.pickupable or not accepts(r, item):
                # Portable receptacles are left out: a box near a plate need not be on
                # it.
                continue
            sides = zip(
                (x, y, item.bottom),
                r.center,
                r.size,
                strict=True,
            )
            gaps = [max(abs(at - middle) - side / 2, 0.0) for at, middle, side in sides]
            distance = math.hypot(*gaps)
            if distance <= NEAREST_HOLDER:
                costs.append((distance, r.id, r))

    # Ids break ties, so that the result does not depend on the file's order.
    cost, _, best = min(costs, default=(math.inf, "", None))
    return best if cost < math.inf else None


def holder_cost(item: ObjectRecord, holder: ObjectRecord) -> float:
    """Return the cost of assigning an item to a receptacle; infinite if it cannot be there."""
    # Towels and rolls hang over their rails, so they overhang more.
    is_rail = holder.label in LABELS["rails"]
    margin = 3 * MARGIN if is_rail else MARGIN
    dx = abs(item.center[0] - holder.center[0])
    dy = abs(item.center[1] - holder.center[1])
    is_above = dx <= holder.size[0] / 2 + margin and dy <= holder.size[1] / 2 + margin
    if not is_above or not accepts(holder, item):
        return math.inf
    area = holder.size[0] * holder.size[1]
    if holder.pickupable and item.size[0] * item.size[1] >= area:
        return math.inf  # prevents cycles: nothing can contain itself
    # Of two that fit equally well, the smaller one: a plate rather than the table under it.
    return _height_cost(item, holder) + 0.01 * area


def _height_cost(item: ObjectRecord, holder: ObjectRecord) -> float:
    """Return how badly an item's height fits a receptacle below or around it, mostly in metres;
    infinite if it does not fit."""
    label = holder.label
    above_top = item.bottom - holder.top
    rise = item.bottom - holder.bottom
    # The best case: the underside is at the top.
    surface = abs(above_top) if -MOST_SUNK <= above_top <= MOST_RAISED else math.inf

    if label == "Shelf":  # its box covers the board only, or also the space above it
        is_on_board = -0.05 <= rise <= max(holder.size[2], MOST_RAISED)
        return abs(rise) if is_on_board else math.inf
    if label in LABELS["seats"]:  # the top of the box is a backrest or headboard
        if LEDGE <= rise < holder.size[2]:
            # 0.3 m of cost: a fitting surface wins over a seat.
            return min(surface, 0.3 + abs(rise - SEAT))
        return surface
    if label in LABELS["frames"]:  # may have inner shelves
        is_within = holder.bottom + LEDGE <= item.bottom < holder.top
        # A constant cost: any surface that fits better than half a metre wins.
        return min(surface, 0.5) if is_within else surface
    if label in LABELS["rails"]:  # a towel hangs around it
        overlaps = item.bottom <= holder.top and holder.bottom <= item.top
        return 0.0 if overlaps else math.inf
    if label not in LABELS["hollow"]:
        return surface

    # Contents of an open basin may stick out. An item at the upper rim of a drawer is not in it
    # but on the surrounding furniture.
    highest_center = holder.top + MOST_RAISED
    highest_bottom = math.inf
    if "openable" in holder.flags:
        highest_center = holder.top
        highest_bottom = holder.top - RIM
    is_inside = holder.bottom - 0.03 <= item.center[2] <= highest_center
    return 0.0 if is_inside and item.bottom <= highest_bottom else math.inf


def find_holders(records: Records, judged: Sequence[ObjectRecord]) -> dict[str, str]:
    """Map the ``judged`` items to their receptacles; items on the floor are omitted.

    Published parents have priority; items without any are judged against all receptacles.
    """
    by_id = {record.id: record for record in records}
    receptacles = [record for record in records if preposition(record)]
    holders: dict[str, str] = {}
    for item in judged:
        candidates = receptacles
        if item.parents:
            # Parents that the file lists but does not define are ignored.
            listed = [by_id[parent] for parent in item.parents if parent in by_id]
            candidates = [record for record in listed if accepts(record, item)]
        best = find_holder(item, candidates)
        if best is None and item.parents:
            # The file knows that one of these is right, even if the boxes do not show it.
            best = min(candidates, key=lambda r: abs(r.top - item.bottom), default=None)
        if best is not None:
            holders[item.id] = best.id
    return holders


def can_lie_on(record: ObjectRecord) -> bool:
    """True if an object may be in or on another: portable objects, appliances and lamps.

    Other furniture is built in or on the floor, whatever the file lists.
    """
    # Above 0.2 m a movable appliance stands on something.
    is_appliance = "moveable" in record.flags and record.bottom > 0.2
    return record.pickupable or (is_appliance and record.label not in LABELS["mounted"])


# Records as objects of a scene.

Controls = Mapping[str, tuple[str, ...]]
"""Switch id -> ids of the objects it controls."""
FARTHEST = 1.5
"""Maximum distance between a switch and its target, metres."""
BOARD = 0.02
"""Thickness of a shelf's board, metres: the box includes the space above, but objects are on it."""
ASKEW = 10.0
"""Angle to the axes (degrees) above which furniture counts as askew: its box is larger than it."""


def add_objects(
    builder: SceneBuilder,
    records: Iterable[ObjectRecord],
    controls: Controls | None = None,
) -> None:
    """Add the objects to a scene under construction: fixed ones first, then portable ones, so that
    scenes that differ only in small objects can share a layout.

    ``controls`` lists published switches; other knobs and taps control the nearest burner or basin.
    The capacity of a receptacle is raised to fit its initial contents: some published starts have a
    pot and a pan on one burner.
    """
    # The structure of the room is built from outlines, not from records.
    listed = tuple(filter(is_object, records))
    movable = [record for record in listed if can_lie_on(record)]
    holder_of = find_holders(listed, movable)
    # Published switches win over inferred ones.
    switch_targets = wire_switches(listed) | dict(controls or {})
    contents = Counter(holder_of.values())
    # Stable, so that each group keeps the file's order.
    for record in sorted(listed, key=lambda each: each.pickupable):
        label = record.label
        flags = record.flags
        parent = holder_of.get(record.id, "")
        affordances = [
            affordance for flag, affordance in OF_FLAGS.items() if flag in flags
        ]
        capacity = CAPACITY.get(label, 0)
        if capacity:
            capacity = max(capacity, contents[record.id])
        # A body walks over flat objects and under high ones.
        is_standing = (
            record.size[2] > FLAT_HEIGHT
            and record.bottom < HEADROOM
            and label not in LABELS["mounted"]
        )
        width, depth = upright_size(record)
        height = record.size[2]
        if label == "Shelf":
            height = min(height, BOARD)
        builder.add(
            HouseObject(
                id=record.id,
                type=record.type,
                x=record.center[0],
                y=record.center[1],
                width=width,
                depth=depth,
                bottom=record.bottom,
                height=height,
                parent=parent,
                affordances=frozenset((*affordances, *AFFORDANCES.get(label, ()))),
                receptacle=preposition(record),
                accepts=tuple(map(type_name, ACCEPTS.get(label, ()))),
                capacity=capacity,
                controls=switch_targets.get(record.id, ()),
                # What stands on furniture is met by that furniture.
                solid=is_standing and not record.pickupable and not parent,
                # The box of askew furniture is larger than it, so it would hide too
                # much.
                opaque=label in LABELS["tall"] and not _is_askew(record),
                open="isOpen" in flags,
                on="isToggled" in flags,
                dirty="isDirty" in flags,
                filled="isFilledWithLiquid" in flags,
                temperature=record.temperature,
            )
        )


def _is_askew(record: ObjectRecord) -> bool:
    """True if furniture stands at an angle to the axes."""
    return ASKEW < record.heading % 90.0 < 90.0 - ASKEW


def upright_size(record: ObjectRecord) -> tuple[float, float]:
    """Return the width and depth (metres) of the box to use in a scene.

    The axis-aligned box of an askew object, at an angle to the axes, is too large: for rotation t
    and sides w and d it is w |cos t| + d |sin t| by w |sin t| + d |cos t|. We solve for w and d and
    align the result to the nearest quarter turn. Near 45 degrees we assume a square.
    """
    width = record.size[0]
    depth = record.size[1]
    # Nearly aligned: the box is right.
    if not _is_askew(record):
        return width, depth
    t = math.radians(record.heading % 180.0)
    cos = abs(math.cos(t))
    # Absolute values: the box does not tell the sign of the turn.
    sin = abs(math.sin(t))
    determinant = cos * cos - sin * sin
    # Within 5 degrees of 45 the division would amplify errors of the box.
    if abs(determinant) > 0.17:
        w = (width * cos - depth * sin) / determinant
        d = (depth * cos - width * sin) / determinant
        # A much thinner result means that the object is no cuboid: a square is assumed then.
        if min(w, d) > 0.25 * min(width, depth):
            return (w, d) if cos > sin else (d, w)
    return width / (cos + sin), depth / (cos + sin)


def wire_switches(records: Records) -> dict[str, tuple[str, ...]]:
    """Switch -> the nearest object it may control; each burner gets one knob while any is free."""
    targets_of: dict[str, tuple[str, ...]] = {}
    for label, kinds in SWITCHES.items():
        switches = [record for record in records if record.label == label]
        targets = [record for record in records if record.label in kinds]
        # The nearest pairs first; ids break ties.
        pairs = [
            (math.dist(switch.center, target.center), switch.id, target.id)
            for switch, target in product(switches, targets)
        ]
        taken: set[str] = set()
        for distance, switch_id, target_id in sorted(pairs):
            is_free = switch_id not in targets_of and target_id not in taken
            if is_free and distance <= FARTHEST:
                targets_of[switch_id] = (target_id,)
                # A burner has one knob; lamps may share a switch.
                if label == "StoveKnob":
                    taken.add(target_id)
    return targets_of

"""Records as objects of a scene: what ``SceneBuilder`` is given."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from wayword.datasets.thor.kinds import (
    FLAT_ON_WALLS,
    NO_THING,
    SPACES,
    TALL,
    accepts,
    affordances,
    preposition,
)
from wayword.datasets.thor.metadata import ObjectRecord, Records
from wayword.datasets.thor.support import parents
from wayword.worlds.housework.builder import FLAT, HEADROOM, SceneBuilder
from wayword.worlds.housework.scene import HouseObject

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

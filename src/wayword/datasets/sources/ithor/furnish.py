"""Records as objects of a scene: what ``SceneBuilder`` is given."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from wayword.datasets.sources.ithor.objects import (
    FLAT_ON_WALLS,
    HOLLOW,
    NO_THING,
    SPACES,
    TALL,
    ObjectRecord,
    Records,
    accepts,
    affordances,
    preposition,
    takes,
)
from wayword.worlds.household.builder import FLAT, HEADROOM, SceneBuilder
from wayword.worlds.household.scene import HouseObject

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

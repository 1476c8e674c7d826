"""What a thing lies in or on, judged by boxes.

The published lists of what is in what name the floor beside the shelf above it, and a chair beside
the table it stands under; and poses of other files come without any. So the candidates, published
or all, are judged: by how well the thing's underside fits the receptacle's upper side, or its
middle the hollow, and among equals by size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from wayword.datasets.thor.kinds import HOLLOW, preposition, takes
from wayword.datasets.thor.metadata import ObjectRecord, Records

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
    costs = [(misfit(thing, r), r.id, r) for r in receptacles]
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

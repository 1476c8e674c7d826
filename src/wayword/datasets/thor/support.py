"""What a thing lies in or on, judged by boxes.

The published lists of what is in what name the floor beside the shelf above it, and a chair beside
the table it stands under; and poses of other files come without any. So the candidates, published
or all, are judged: by how well the thing's underside fits the receptacle's upper side, or its
middle the hollow, and among equals by size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from wayword.datasets.thor.kinds import HOLLOW, preposition, takes
from wayword.datasets.thor.metadata import ObjectRecord, Records

MARGIN = 0.03
"""Metres that the middle of a thing may lie beyond the edge of what carries it."""
SINKS = 0.12
"""Metres that the underside of a thing may lie below the upper side of what carries it."""
FLOATS = 0.08
"""Metres that it may lie above it: boxes and pivots are not exact."""
SOFT = frozenset(("Bed", "Sofa", "ArmChair", "Chair", "Toilet", "Stool", "Ottoman", "DogBed"))
"""Seats and beds carry well below their upper side, which is a back rest's or a head board's."""
OPEN_FRAMES = frozenset(("ShelvingUnit", "TVStand", "Desk", "SideTable", "CoffeeTable", "Dresser"))
"""Furniture with boards below the upper one, not always listed singly."""


def carrier(thing: ObjectRecord, receptacles: Iterable[ObjectRecord]) -> ObjectRecord | None:
    """The receptacle a thing is in or on, None where it is none of them (the floor, the air)."""
    found = [(cost, r.id, r) for r in receptacles if (cost := misfit(thing, r)) < math.inf]
    return min(found)[2] if found else None


def misfit(thing: ObjectRecord, under: ObjectRecord) -> float:
    """How badly a thing fits in or on a receptacle; infinite where it is not there at all."""
    if not takes(under, thing) or not _above(thing, under):
        return math.inf
    area = under.size[0] * under.size[1]
    if under.pickupable and thing.size[0] * thing.size[1] >= area:
        return math.inf  # so that nothing is ever inside itself
    if under.label in HOLLOW:
        low, high = under.bottom - 0.03, under.top + (FLOATS if _shallow(under) else 0.0)
        return 0.01 * area if low <= thing.centre[2] <= high else math.inf
    rise = thing.bottom - under.top
    if -SINKS <= rise <= FLOATS:
        return abs(rise) + 0.01 * area
    within = under.bottom <= thing.bottom < under.top
    if within and under.label in SOFT:
        return 0.2 + 0.01 * area
    if within and under.label in OPEN_FRAMES:
        return 0.5 + 0.01 * area
    return math.inf


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
    return dx <= under.size[0] / 2 + MARGIN and dy <= under.size[1] / 2 + MARGIN


def _shallow(under: ObjectRecord) -> bool:
    """Basins, bins and dishes, out of which things stick."""
    return "openable" not in under.flags

"""Invariants: what holds in a house after any actions at all."""

from __future__ import annotations

from wayword.core.geometry import point_segment_distance
from wayword.worlds.household.entities import FLOOR
from wayword.worlds.household.house import House
from wayword.worlds.household.layout import can_stand


def violations(house: House) -> list[str]:
    """One line for each thing that is wrong; empty for a sound house.

    Every object is in exactly one place, hands and receptacles agree and keep their bounds,
    nothing is inside itself, what is shut in is not seen, and nobody stands in a wall, in
    furniture, in a shut door or in somebody else.
    """
    return [*_places(house), *_hands(house), *_bodies(house), *_views(house)]


def _places(house: House) -> list[str]:
    items = house.entities
    wrong = []
    for i in range(items.object_count):
        holder = int(items.inside[i])
        seen = {i}
        if items.first_actor > holder >= items.object_count or holder < FLOOR:
            wrong.append(f"{items.specs[i].id} is in {holder}, which holds nothing")
            continue
        while holder != FLOOR:
            if holder in seen:
                wrong.append(f"{items.specs[i].id} is inside itself")
                break
            seen.add(holder)
            holder = int(items.inside[holder])
    for i, spec in enumerate(items.specs):
        inside = items.contents(i)
        if inside and not spec.receptacle:
            wrong.append(f"{spec.id} is no receptacle but holds {len(inside)}")
        if spec.capacity and len(inside) > spec.capacity:
            wrong.append(f"{spec.id} holds {len(inside)} of {spec.capacity}")
        if "pickupable" not in spec.affordances and (items.x[i], items.y[i]) != (
            spec.x,
            spec.y,
        ):
            wrong.append(f"{spec.id} has moved")
    return wrong


def _hands(house: House) -> list[str]:
    wrong = []
    for a in house.actors.values():
        if sorted(a.hands) != house.entities.contents(a.number):
            wrong.append(f"{a.name}: hands and things disagree")
        if len(a.hands) > a.body.inventory_capacity:
            wrong.append(
                f"{a.name} holds {len(a.hands)} of {a.body.inventory_capacity}"
            )
        if (a.x, a.y) != (house.entities.x[a.number], house.entities.y[a.number]):
            wrong.append(f"{a.name} is in two places")
    return wrong


def _bodies(house: House) -> list[str]:
    wrong = []
    closed = house.entities.closed_doors.tolist()
    for a in house.actors.values():
        if not can_stand(house.layout, a.body.radius, (a.x, a.y), closed):
            wrong.append(
                f"{a.name} stands in a wall, a door or furniture at ({a.x}, {a.y})"
            )
        for _, x, y, radius in house.others(a):
            if (
                point_segment_distance(x, y, a.x, a.y, a.x, a.y)
                < a.body.radius + radius - 1e-5
            ):
                wrong.append(f"{a.name} stands in somebody else")
    return wrong


def _views(house: House) -> list[str]:
    wrong = []
    items = house.entities
    for a in house.actors.values():
        for i in a.view.entities if not a.stopped else ():
            lids = [
                k
                for k in items.holders(i)
                if k < items.object_count and items.encloses[k]
            ]
            if any(not items.open[k] for k in lids):
                wrong.append(f"{a.name} sees {items.specs[i].id} in something shut")
            if house.holder(i) >= items.first_actor and i < items.object_count:
                wrong.append(f"{a.name} sees {items.specs[i].id} in a hand")
            if not a.names.of[i] or a.names.index[a.names.of[i]] != i:
                wrong.append(f"{a.name} sees a thing without a name")
    return wrong

"""Inventory: a home as it should be, in words: what lies where, and which lids are shut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from wayword.worlds.household.goals import Restored
from wayword.worlds.household.scene import HouseObject

OPENING = "Put this home back in order. This is how everything was:"
EMPTY = "Whatever is not listed held nothing."
Spot = Callable[[Restored], str]
"""Where on its receptacle a thing should be, empty where any place there will do."""


def names_of(objects: Iterable[HouseObject]) -> dict[str, str]:
    """Id -> the name of each object, as a world whose things are all named has them."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for each in objects:
        counts[each.type] = counts.get(each.type, 0) + 1
        names[each.id] = f"{each.type}_{counts[each.type]}"
    return names


def inventory(
    objects: Mapping[str, HouseObject],
    wanted: Iterable[Restored],
    room_of: Callable[[HouseObject], str],
    spot: Spot = lambda goal: "",
) -> str:
    """How everything should be, room by room and receptacle by receptacle, a line each.

    ``objects`` are those of the scene, in its order; ``wanted`` how each thing that can be moved or
    opened should be. Fixed furniture, whose place never changes, says which room a line is in.
    """
    names, goals = names_of(objects.values()), {goal.thing: goal for goal in wanted}
    held: dict[str, list[str]] = {}
    for goal in goals.values():
        if "pickupable" in objects[goal.thing].affordances:
            where = spot(goal)
            told = f"{names[goal.thing]}{f' ({where})' if where else ''}"
            held.setdefault(goal.receptacle, []).append(told)
    rooms: dict[str, list[str]] = {}
    for each in objects.values():
        lid = each.id in goals and "openable" in each.affordances
        if each.id in held or lid:
            room = room_of(_standing(each, objects, goals))
            rooms.setdefault(room, []).append(_line(each, names, goals, held.get(each.id, [])))
    lines = [line for room, there in rooms.items() for line in (f"In the {room}:", *there)]
    floor = [f"On the floor: {', '.join(held[''])}."] if held.get("") else []
    return "\n".join((OPENING, *lines, *floor, EMPTY))


def _standing(
    each: HouseObject, objects: Mapping[str, HouseObject], goals: Mapping[str, Restored]
) -> HouseObject:
    """The furniture that a thing should be in or on in the end, the outermost; else itself."""
    under = goals[each.id].receptacle if each.id in goals else each.parent
    return _standing(objects[under], objects, goals) if under else each


def _line(
    each: HouseObject, names: Mapping[str, str], goals: Mapping[str, Restored], held: list[str]
) -> str:
    state = ""
    if each.id in goals and "openable" in each.affordances:
        state = " (open)" if goals[each.id].open else " (closed)"
    if not each.receptacle:
        return f"- {names[each.id]}{state}"
    return f"- {each.receptacle} {names[each.id]}{state}: {', '.join(held) or 'nothing'}"

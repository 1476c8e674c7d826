"""Rearrangement: a home as it should be, and what somebody changed in it.

One to five changes, as in the published episodes: a thing moved to another likely place, or a
receptacle opened or shut. What is changed can be named without doubt: the only thing of its type in
the home, the only receptacle of its type in its room. How it should be is told in words: what lies
where, and which lids are shut.

Source: Weihs et al. 2021, "Visual Room Rearrangement".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from wayword.datasets.procedural.homes.chores import preposition, spoken
from wayword.datasets.procedural.homes.home import surfaces
from wayword.datasets.procedural.homes.objects import OBJECTS, SPARE, Arrangement
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


# What somebody changed.

MOST_CHANGES = 5
SWUNG = 0.3
"""Share of the changes that open or shut something."""

OPENINGS = (
    "Put this home in order again.",
    "Some things are not as they should be here. Put them right.",
    "Restore the home to how it was.",
    "Things got out of place. Please bring them back.",
    "Tidy up: everything below should be as it says.",
)
PLACES = (
    "The {thing} belongs {on} the {place} in the {room}.",
    "The {thing} should be {on} the {place} in the {room}.",
    "The {place} in the {room} is where the {thing} belongs.",
)
LIDS = ("The {place} in the {room} should be {open}.", "Leave the {place} in the {room} {open}.")


@dataclass(frozen=True, slots=True)
class Shuffle:
    """``changed`` and ``others`` say how things should be; ``changes`` tells what changed,
    ``state`` how everything was."""

    changed: tuple[Restored, ...]
    others: tuple[Restored, ...]
    changes: str
    state: str


def shuffle(rng: random.Random, made: Arrangement) -> Shuffle | None:
    """Change some things of an arrangement. None where the home offers nothing to change."""
    named = _named(made)
    for thing in named:  # a home as people leave it: some lids are open
        if "openable" in thing.affordances and rng.random() < 0.15:
            made.objects[thing.id] = replace(thing, open=True)
    wanted = dict(made.objects)
    changed: list[HouseObject] = []
    for _ in range(rng.randint(1, MOST_CHANGES)):
        swings = rng.random() < SWUNG
        one = _swing(rng, made, named, changed) if swings else _move(rng, made, named, changed)
        if one is not None:
            changed.append(one)
    if not changed:
        return None
    goals = tuple(_as_was(wanted[one.id]) for one in changed)
    names = {goal.thing for goal in goals}
    others = tuple(_as_was(o) for o in wanted.values() if o.id not in names and _moves(o))
    lines = [rng.choice(OPENINGS), *(_change(rng, made, wanted[one.id]) for one in changed)]
    state = inventory(made.objects, (*goals, *others), made.room)
    return Shuffle(goals, others, " ".join(lines), state)


def _named(made: Arrangement) -> list[HouseObject]:
    """Receptacles that are the only ones of their type in their room."""
    found = surfaces(made.home.scene)
    places = [(o.type, made.room(o)) for o in found]
    return [made.objects[o.id] for o, p in zip(found, places, strict=True) if places.count(p) == 1]


def _swing(
    rng: random.Random, made: Arrangement, named: list[HouseObject], changed: list[HouseObject]
) -> HouseObject | None:
    done = {one.id for one in changed}
    lids = [o.id for o in named if "openable" in o.affordances and o.id not in done]
    if not lids:
        return None
    lid = made.objects[rng.choice(lids)]
    made.objects[lid.id] = replace(lid, open=not lid.open)
    return lid


def _move(
    rng: random.Random, made: Arrangement, named: list[HouseObject], changed: list[HouseObject]
) -> HouseObject | None:
    done, places = {one.id for one in changed}, {o.id for o in named}
    single = [made.of(kind)[0] for kind in OBJECTS if len(made.of(kind)) == 1]
    things = [o for o in single if o.parent in places and o.id not in done]
    rng.shuffle(things)
    for thing in things:
        likely = [
            made.objects[place]
            for place in sorted(places - {thing.parent})
            if made.objects[place].type in OBJECTS[thing.type].places
            and made.space(made.objects[place]) >= SPARE
        ]
        if likely:
            made.lay(rng, thing, rng.choice(likely))
            return thing
    return None


def _moves(thing: HouseObject) -> bool:
    return not thing.affordances.isdisjoint(("pickupable", "openable"))


def _as_was(thing: HouseObject) -> Restored:
    return Restored(thing.id, thing.parent, thing.open)


def _change(rng: random.Random, made: Arrangement, thing: HouseObject) -> str:
    if thing.type in OBJECTS:
        under = made.objects[thing.parent]
        return rng.choice(PLACES).format(
            thing=spoken(thing.type),
            on=preposition(under.type),
            place=spoken(under.type),
            room=made.room(under),
        )
    state = "open" if thing.open else "closed"
    return rng.choice(LIDS).format(place=spoken(thing.type), room=made.room(thing), open=state)

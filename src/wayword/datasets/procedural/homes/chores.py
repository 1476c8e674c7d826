"""Chores: ALFRED's seven types of household tasks, drawn for a home and the objects in it.

Source: ALFRED (Shridhar et al. 2020), section 3.1 and the goal conditions of section 4.3.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from wayword.core.visible import spaced, with_article
from wayword.datasets.procedural.homes.furniture import FURNITURE_KINDS
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.procedural.tables import (
    Table,
    Wording,
    choose_sentence,
)
from wayword.worlds.household.goals import (
    GoalCondition,
    Has,
    Held,
    Inside,
    Lit,
    Stacked,
    Trait,
)

PICK_AND_PLACE = "pick_and_place_simple"
LOOK_IN_LIGHT = "look_at_obj_in_light"
PICK_CLEAN = "pick_clean_then_place_in_recep"
PICK_HEAT = "pick_heat_then_place_in_recep"
PICK_COOL = "pick_cool_then_place_in_recep"
PICK_TWO = "pick_two_obj_and_place"
PICK_STACK = "pick_and_place_with_movable_recep"
KINDS = (
    PICK_AND_PLACE,
    LOOK_IN_LIGHT,
    PICK_CLEAN,
    PICK_HEAT,
    PICK_COOL,
    PICK_TWO,
    PICK_STACK,
)
"""ALFRED's names of the task types."""

SLICED_SHARE = 0.15
"""Share of tasks with a sliceable object that ask for a slice of it. Chosen without measurement:
in ALFRED's training split it is 0.57 (904 of 1,594)."""
NEVER_GOALS = frozenset(
    (
        "stove_burner",
        "coffee_machine",
        "faucet",
        "microwave",
        "laundry_hamper",
        "bathtub",
    )
)
"""Furniture that is never a destination, except to heat or wash an object."""
TYPES: Mapping[str, tuple[str, ...]] = Table("chores", "types")
"""Object types that can be cleaned, heated or cooled."""
BINNED: Mapping[str, tuple[str, ...]] = Table("chores", "binned")
"""Receptacle -> small objects that may be thrown away into it."""
TREATMENTS: dict[str, tuple[str, Trait, str]] = {
    PICK_CLEAN: ("cleaned", ("dirty", False), "sink_basin"),
    PICK_HEAT: ("heated", ("temperature", "hot"), "microwave"),
    PICK_COOL: ("cooled", ("temperature", "cold"), "fridge"),
}
"""Task type -> object types in ``TYPES``, the required trait, and the furniture that gives it."""


@dataclass(frozen=True)
class Chore:
    """A task: its type, its goals, and the types named in its instruction.

    ``target`` is the object to handle, ``receptacle`` where it goes, ``movable`` the
    dish that it goes with; empty where the kind of task has none.
    """

    kind: str
    goals: tuple[GoalCondition, ...]
    target: str
    receptacle: str = ""
    movable: str = ""
    lamp: str = ""
    sliced: bool = False


def draw_chore(rng: random.Random, arrangement: Arrangement, kind: str) -> Chore | None:
    """Draw a chore of a type, or None if impossible; may make objects of ``arrangement`` dirty.

    The order of draws is part of all generated episodes: keep it.
    """
    if kind == LOOK_IN_LIGHT:
        return _draw_look(rng, arrangement)
    if kind == PICK_STACK:
        return _draw_stack(rng, arrangement)
    if kind in TREATMENTS:
        return _draw_treatment(rng, arrangement, kind)
    # A placement: one object, or two of a type, moved to other furniture.
    count = 2 if kind == PICK_TWO else 1
    for target, receptacle in _pairs(rng, arrangement, tuple(OBJECTS), count):
        traits: tuple[Trait, ...] = ()
        if kind != PICK_TWO:
            traits = _draw_slicing(rng, arrangement, target)
        objects = arrangement.ids(target)
        goals: list[GoalCondition] = [
            Inside(objects, arrangement.ids(receptacle), traits, count)
        ]
        if traits:
            goals.append(Has(objects, traits))
        return Chore(kind, tuple(goals), target, receptacle, sliced=bool(traits))
    return None


def _draw_look(rng: random.Random, arrangement: Arrangement) -> Chore | None:
    """Draw an object (not kitchenware or food) to hold next to a lit lamp; None without either."""
    lamps = [lamp for lamp in ("desk_lamp", "floor_lamp") if arrangement.of(lamp)]
    cooking = {"stove_burner", "fridge"}
    types = [
        t
        for t in OBJECTS
        if arrangement.of(t) and cooking.isdisjoint(OBJECTS[t].places)
    ]
    if not lamps or not types:
        return None
    target = rng.choice(types)
    lamp = rng.choice(lamps)
    goals = (Held(arrangement.ids(target)), Lit(arrangement.ids(lamp)))
    return Chore(LOOK_IN_LIGHT, goals, target, lamp=lamp)


def _draw_treatment(
    rng: random.Random, arrangement: Arrangement, kind: str
) -> Chore | None:
    """Draw a treatment: an object is cleaned, heated or cooled, then moved to other furniture.

    All objects of a type to clean become dirty. None if no object needs a treatment
    that its home has the furniture for.
    """
    types, trait, station = TREATMENTS[kind]
    for target, receptacle in _pairs(rng, arrangement, TYPES[types]):
        parents = {
            arrangement.objects[item.parent].type for item in arrangement.of(target)
        }
        # The treatment must take an act: not at its destination, and not done already.
        if receptacle in (station, "fridge") or station in parents:
            continue
        if not arrangement.of(station):
            continue
        if kind == PICK_CLEAN:
            for each in arrangement.of(target):
                arrangement.objects[each.id] = replace(each, dirty=True)
        slices = _draw_slicing(rng, arrangement, target)
        objects = arrangement.ids(target)
        places = arrangement.ids(receptacle)
        goals: tuple[GoalCondition, ...] = (
            Inside(objects, places, slices),
            Has(objects, (trait,)),
            Inside(objects, places, (*slices, trait)),
            *(Has(objects, slices) for _ in slices),
        )
        return Chore(kind, goals, target, receptacle, sliced=bool(slices))
    return None


def _draw_stack(rng: random.Random, arrangement: Arrangement) -> Chore | None:
    """Draw a stack: an object in or on a movable receptacle, which is moved to other furniture."""
    movables = [
        t for t, spec in OBJECTS.items() if spec.receptacle and arrangement.of(t)
    ]
    rng.shuffle(movables)
    for movable in movables:
        types = [t for t in OBJECTS[movable].accepts if arrangement.of(t)]
        places = _goal_furniture(arrangement, movable)
        if not types or not places:
            continue
        target = rng.choice(types)
        receptacle = rng.choice(places)
        objects, trays, parents = map(arrangement.ids, (target, movable, receptacle))
        goals = (
            Inside(objects, trays),
            Inside(trays, parents),
            Stacked(objects, trays, parents),
        )
        return Chore(PICK_STACK, goals, target, receptacle, movable)
    return None


def _pairs(
    rng: random.Random,
    arrangement: Arrangement,
    types: tuple[str, ...],
    at_least: int = 1,
) -> Iterator[tuple[str, str]]:
    """Yield pairs of an object type and furniture to move it to, in random order.

    Of each type there are ``at_least`` objects, and the furniture has space for as many.
    """
    available = [t for t in types if len(arrangement.of(t)) >= at_least]
    rng.shuffle(available)
    for target in available:
        places = _goal_furniture(arrangement, target, at_least)
        if places:
            yield target, rng.choice(places)


def _goal_furniture(arrangement: Arrangement, target: str, count: int = 1) -> list[str]:
    """Return furniture types that an object may be moved to.

    All furniture of the type has ``count`` free slots, and none holds such an object yet.
    """
    allowed = set(OBJECTS[target].places)
    allowed |= {bin_ for bin_, types in BINNED.items() if target in types}
    taken = {arrangement.objects[o.parent].type for o in arrangement.of(target)}
    kinds = {
        o.type
        for o in arrangement.objects.values()
        if o.receptacle and o.type not in OBJECTS
    }
    return [
        kind
        for kind in sorted(kinds & allowed - NEVER_GOALS - taken)
        if all(arrangement.free_slots(o) >= count for o in arrangement.of(kind))
    ]


def _draw_slicing(
    rng: random.Random, arrangement: Arrangement, target: str
) -> tuple[Trait, ...]:
    """Return the trait "sliced" for a random share of the sliceable objects, else no trait.

    Nothing is drawn where slicing is impossible: without a knife, or for other objects.
    """
    has_knife = any("slicer" in o.affordances for o in arrangement.objects.values())
    if not has_knife or "sliceable" not in OBJECTS[target].affordances:
        return ()
    if rng.random() < SLICED_SHARE:
        return (("sliced", True),)
    return ()


# Chores in words: several wordings per type, as different people would phrase it.
#
# The wording depends on the episode's seed; all wordings name the same objects.

SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "chores")
"""Task type -> its wordings."""

EVERYDAY_NAMES: Mapping[str, str] = Table("chores", "everyday_names")
"""Types whose everyday name differs from the type."""
PLURALS: Mapping[str, str] = Table("chores", "plurals")


def spoken_name(kind: str) -> str:
    """Return a type's everyday name: ``counter`` for ``counter_top``."""
    return EVERYDAY_NAMES.get(kind, spaced(kind))


def plural(words: str) -> str:
    """Return the plural: ``butter knives``, ``heads of lettuce``."""
    front, of, back = words.partition(" of ")
    head, _, last = front.rpartition(" ")
    return f"{head} {PLURALS.get(last, last + 's')}{of}{back}".strip()


def preposition(kind: str) -> str:
    """Return ``on`` or ``in``, as used with a type of furniture."""
    if kind not in FURNITURE_KINDS:
        return "on"
    return FURNITURE_KINDS[kind].receptacle or "on"


def ask_for(rng: random.Random, chore: Chore, wording: Wording = 2) -> str:
    """Phrase a chore as an instruction, in one of the ``SENTENCES`` of its type.

    ``wording`` is the version of the sentences, which decides how one is chosen.
    """
    target = spoken_name(chore.target)
    if chore.sliced:
        target = f"sliced {target}"
    place = spoken_name(chore.receptacle)
    movable = spoken_name(chore.movable)
    words = {
        "things": plural(target),
        "a thing": with_article(target),
        "A thing": with_article(target).capitalize(),
        "on": preposition(chore.receptacle),
        "place": place,
        "the place": f"the {place}",
        "the lamp": f"the {spoken_name(chore.lamp)}",
        "the movable": f"the {movable}",
        "a movable": with_article(movable) if movable else "",
        "into": "on" if chore.movable == "plate" else "in",
    }
    for adjective in ("clean", "hot", "warm", "cold", "chilled"):
        words[f"a {adjective} thing"] = with_article(f"{adjective} {target}")
    return choose_sentence(rng, SENTENCES[chore.kind], wording).format_map(words)

"""Chores: ALFRED's seven types of household tasks, drawn for a home and the things in it.

Source: ALFRED (Shridhar et al. 2020), section 3.1 and the goal conditions of section 4.3.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from wayword.datasets.procedural.homes.furniture import FURNITURE_KINDS
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.procedural.tables import Table
from wayword.worlds.household.goals import (
    GoalCondition,
    Has,
    Held,
    Inside,
    Lit,
    Stacked,
    Trait,
)

PLACE, LIGHT, CLEAN, HEAT, COOL, TWO, STACK = KINDS = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
    "pick_and_place_with_movable_recep",
)
"""ALFRED's names for them."""

SLICED = 0.15
"""Share of the tasks about something that can be sliced that ask for a slice."""
NO_GOAL = frozenset(
    ("stove_burner", "coffee_machine", "faucet", "microwave", "laundry_hamper", "bathtub")
)
"""Furniture that nothing is to be brought to, save by heating and washing."""
CLEANED = (
    *("apple", "tomato", "potato", "lettuce", "egg", "bowl", "plate", "cup", "mug", "pan", "pot"),
    *("kettle", "knife", "butter_knife", "fork", "spoon", "spatula", "ladle", "dish_sponge"),
    *("cloth", "soap_bar"),
)
THROWN = {
    "garbage_can": ("apple", "egg", "potato", "tomato", "newspaper", "tissue_box", "cd", "pen")
}
"""What goes into a bin."""
HEATED = ("apple", "bread", "cup", "egg", "mug", "plate", "potato", "tomato")
COOLED = (
    *("apple", "bowl", "bread", "cup", "egg", "lettuce", "mug", "pan", "plate", "pot", "potato"),
    *("tomato", "wine_bottle"),
)
TREATED: dict[str, tuple[tuple[str, ...], Trait, str]] = {
    CLEAN: (CLEANED, ("dirty", False), "sink_basin"),
    HEAT: (HEATED, ("temperature", "hot"), "microwave"),
    COOL: (COOLED, ("temperature", "cold"), "fridge"),
}
"""Type of task -> types of things, the trait they get, and where they get it."""


@dataclass(frozen=True, slots=True)
class Chore:
    """A task: its type, its goals, and the types that its instruction names."""

    kind: str
    goals: tuple[GoalCondition, ...]
    thing: str
    receptacle: str = ""
    movable: str = ""
    lamp: str = ""
    sliced: bool = False


def draw_chore(rng: random.Random, made: Arrangement, kind: str) -> Chore | None:
    """A chore of that type; ``made`` may get dirtier for it. None where the home offers none."""
    return _DRAW[kind](rng, made, kind)


def _simple(rng: random.Random, made: Arrangement, kind: str) -> Chore | None:
    for thing, receptacle in _pairs(rng, made, tuple(OBJECTS)):
        traits, sliced = _slice(rng, made, thing)
        goal = Inside(made.ids(thing), made.ids(receptacle), traits)
        also = tuple(Has(goal.things, traits) for _ in traits)
        return Chore(kind, (goal, *also), thing, receptacle, sliced=sliced)
    return None


def _treat(rng: random.Random, made: Arrangement, kind: str) -> Chore | None:
    types, trait, where = TREATED[kind]
    for thing, receptacle in _pairs(rng, made, types):
        there = {made.objects[each.parent].type for each in made.of(thing)}
        if receptacle in (where, "fridge") or where in there or not made.of(where):
            continue
        if kind == CLEAN:
            for each in made.of(thing):
                made.objects[each.id] = replace(each, dirty=True)
        slices, sliced = _slice(rng, made, thing)
        things, places = made.ids(thing), made.ids(receptacle)
        goals: tuple[GoalCondition, ...] = (
            Inside(things, places, slices),
            Has(things, (trait,)),
            Inside(things, places, (*slices, trait)),
            *(Has(things, slices) for _ in slices),
        )
        return Chore(kind, goals, thing, receptacle, sliced=sliced)
    return None


def _two(rng: random.Random, made: Arrangement, kind: str) -> Chore | None:
    for thing, receptacle in _pairs(rng, made, tuple(OBJECTS), at_least=2):
        goal = Inside(made.ids(thing), made.ids(receptacle), parts=2)
        return Chore(kind, (goal,), thing, receptacle)
    return None


def _light(rng: random.Random, made: Arrangement, kind: str) -> Chore | None:
    lamps = [lamp for lamp in ("desk_lamp", "floor_lamp") if made.of(lamp)]
    things = [t for t in OBJECTS if made.of(t) and not _cooking(t)]
    if not lamps or not things:
        return None
    thing, lamp = rng.choice(things), rng.choice(lamps)
    goals = (Held(made.ids(thing)), Lit(made.ids(lamp)))
    return Chore(kind, goals, thing, lamp=lamp)


def _stack(rng: random.Random, made: Arrangement, kind: str) -> Chore | None:
    movables = [t for t, spec in OBJECTS.items() if spec.receptacle and made.of(t)]
    rng.shuffle(movables)
    for movable in movables:
        types = [t for t in OBJECTS[movable].accepts if made.of(t)]
        places = [r for r in _places(made) if _suits(made, movable, r)]
        if not types or not places:
            continue
        thing, receptacle = rng.choice(types), rng.choice(places)
        things, trays = made.ids(thing), made.ids(movable)
        parents = made.ids(receptacle)
        goals = (Inside(things, trays), Inside(trays, parents), Stacked(things, trays, parents))
        return Chore(kind, goals, thing, receptacle, movable)
    return None


_DRAW: dict[str, Callable[[random.Random, Arrangement, str], Chore | None]] = {
    PLACE: _simple,
    LIGHT: _light,
    CLEAN: _treat,
    HEAT: _treat,
    COOL: _treat,
    TWO: _two,
    STACK: _stack,
}


def _pairs(
    rng: random.Random, made: Arrangement, types: tuple[str, ...], at_least: int = 1
) -> Iterator[tuple[str, str]]:
    """Types of things and of receptacles for them, at random."""
    things = [t for t in types if len(made.of(t)) >= at_least]
    rng.shuffle(things)
    for thing in things:
        places = [r for r in _places(made) if _suits(made, thing, r, at_least)]
        if places:
            yield thing, rng.choice(places)


def _places(made: Arrangement) -> list[str]:
    """The types of furniture things can be brought to."""
    found = {o.type for o in made.objects.values() if o.receptacle} - NO_GOAL
    return sorted(kind for kind in found if kind not in OBJECTS)


def _suits(made: Arrangement, thing: str, receptacle: str, count: int = 1) -> bool:
    """Whether such a thing may lie there, none does yet, and there is room for it."""
    allowed = receptacle in OBJECTS[thing].places or thing in THROWN.get(receptacle, ())
    there = [made.objects[o.parent].type for o in made.of(thing)]
    room = all(made.space(o) >= count for o in made.of(receptacle))
    return allowed and receptacle not in there and room


def _slice(rng: random.Random, made: Arrangement, thing: str) -> tuple[tuple[Trait, ...], bool]:
    knives = [o for o in made.objects.values() if "slicer" in o.affordances]
    if "sliceable" in OBJECTS[thing].affordances and knives and rng.random() < SLICED:
        return (("sliced", True),), True
    return (), False


def _cooking(thing: str) -> bool:
    """Things nobody looks at under a lamp."""
    places = OBJECTS[thing].places
    return "stove_burner" in places or "fridge" in places


# Chores in words: several ways to ask for each type, as different people would.
#
# The wording is chosen by the episode's seed; every one names the same things.

SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "chores")
"""Type of task -> its wordings."""

SPOKEN = {
    "counter_top": "counter", "sink_basin": "sink", "arm_chair": "armchair", "tv_stand": "TV stand",
    "cd": "CD", "basket_ball": "basketball", "remote_control": "remote",
    "bread": "loaf of bread", "lettuce": "head of lettuce", "toilet_paper": "roll of toilet paper",
    "lamp_table": "bedside table", "garbage_can": "bin", "cell_phone": "phone",
}  # fmt: skip
"""Types whose everyday name is not the type itself."""
PLURALS = {"knife": "knives", "watch": "watches", "tomato": "tomatoes", "potato": "potatoes",
           "box": "boxes", "loaf": "loaves", "glass": "glasses"}  # fmt: skip


def spoken(kind: str) -> str:
    """A type as people say it: ``counter_top`` -> ``counter``."""
    return SPOKEN.get(kind, kind.replace("_", " "))


def plural(words: str) -> str:
    """``butter knife`` -> ``butter knives``, ``head of lettuce`` -> ``heads of lettuce``."""
    front, of, back = words.partition(" of ")
    head, _, last = front.rpartition(" ")
    return f"{head} {PLURALS.get(last, last + 's')}{of}{back}".strip()


def a(words: str) -> str:
    """With its indefinite article."""
    return f"{'an' if words[0].lower() in 'aeiou' else 'a'} {words}"


def preposition(kind: str) -> str:
    """``on`` or ``in``, as one says it of a type of furniture."""
    return FURNITURE_KINDS[kind].receptacle or "on" if kind in FURNITURE_KINDS else "on"


def ask_for(rng: random.Random, chore: Chore) -> str:
    """The instruction of a chore."""
    thing = spoken(chore.thing)
    if chore.sliced:
        thing = f"sliced {thing}"
    place, movable = spoken(chore.receptacle), spoken(chore.movable)
    words = {
        "a thing": a(thing),
        "A thing": a(thing).capitalize(),
        "things": plural(thing),
        "on": preposition(chore.receptacle),
        "the place": f"the {place}",
        "place": place,
        "the lamp": f"the {spoken(chore.lamp)}",
        "the movable": f"the {movable}",
        "into": "on" if chore.movable == "plate" else "in",
    }
    if movable:
        words["a movable"] = a(movable)
    for look in ("clean", "hot", "warm", "cold", "chilled"):
        words[f"a {look} thing"] = a(f"{look} {thing}")
    return rng.choice(SENTENCES[chore.kind]).format_map(words)

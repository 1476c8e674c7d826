"""Jobs for several: C-WAH's kinds of household activities, drawn for a home and its things.

The kinds and the counts (three to five things in all, at most two of a type) are C-WAH's (Zhang et
al. 2023, arXiv:2307.02485, section 4.1). Homes made here have no dishwasher: the dishes go into a
sink. A book is read by holding it, as nobody sits down in this world.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wayword.core.episode import Json
from wayword.datasets.procedural.homes.chores import a, plural, preposition, spoken
from wayword.datasets.procedural.homes.home import Home
from wayword.datasets.procedural.homes.objects import Arrangement
from wayword.worlds.household.goals import GoalCondition, Held, Inside
from wayword.worlds.household.scene import HouseObject

TABLE, FRIDGE, FOOD, DISHES, BOOK = KINDS = (
    "setup_table",
    "put_fridge",
    "prepare_food",
    "put_dishwasher",
    "read_book",
)
"""C-WAH's names for them."""

_EATEN = ("apple", "tomato", "potato", "lettuce", "bread", "egg", "wine_bottle")
_TABLES = ("dining_table", "coffee_table", "desk", "side_table")
THINGS: dict[str, tuple[str, ...]] = {
    TABLE: ("plate", "cup", "bowl", "fork", "spoon", "butter_knife", "mug"),
    FRIDGE: _EATEN,
    FOOD: _EATEN,
    DISHES: ("plate", "cup", "bowl", "mug", "fork", "spoon", "pan", "pot"),
    BOOK: ("apple", "wine_bottle", "cup", "remote_control", "pillow"),
}
"""Kind -> the types it may ask for."""
PLACES: dict[str, tuple[str, ...]] = {
    TABLE: _TABLES,
    FRIDGE: ("fridge",),
    FOOD: _TABLES,
    DISHES: ("sink_basin",),
    BOOK: ("coffee_table", "side_table", "dining_table", "desk", "sofa"),
}
"""Kind -> the types of furniture it may ask for, the likeliest first."""
FEWEST, MOST, OF_A_TYPE = 3, 5, 2
APART = 1.0
"""Metres between two starts, at the least."""

PURPOSES: dict[str, tuple[str, ...]] = {
    TABLE: ("The table is to be laid", "Set the table"),
    FRIDGE: ("The food is to go into the fridge", "Stock the fridge"),
    FOOD: ("A meal is to be got ready", "Get the food ready"),
    DISHES: ("The dishes are to be done", "Gather the dishes"),
    BOOK: ("Somebody is to read, with everything at hand", "Get ready to read"),
}
"""Kind -> how its instruction may begin."""


@dataclass(frozen=True, slots=True)
class Job:
    """``counts``: type of thing -> how many go in or on ``place``; ``held``: types to be held."""

    kind: str
    counts: Mapping[str, int]
    place: HouseObject
    held: tuple[str, ...] = ()


def draw_job(rng: random.Random, made: Arrangement, kind: str) -> Job | None:
    """A job of that kind; None where too few of its things lie anywhere but where they should."""
    places = [o for each in PLACES[kind] for o in made.of(each)[:1]]
    if not places or (kind == BOOK and not made.of("book")):
        return None
    place = places[0] if rng.random() < 0.5 else rng.choice(places)
    free = [t for t in THINGS[kind] for _ in range(min(OF_A_TYPE, _away(made, t, place)))]
    held = ("book",) if kind == BOOK else ()
    count = rng.randint(FEWEST, MOST) - len(held)
    if place.capacity:
        count = min(count, made.space(place))
    if len(free) < count or count < FEWEST - len(held):
        return None
    counts = Counter(rng.sample(free, count))
    return Job(kind, dict(sorted(counts.items())), place, held)


def goals_of(job: Job, made: Arrangement) -> tuple[GoalCondition, ...]:
    """The goal conditions, one a type of thing, each part one thing."""
    inside: list[GoalCondition] = [
        Inside(_ids(made, thing), (job.place.id,), parts=count)
        for thing, count in job.counts.items()
    ]
    return (*inside, *(Held(_ids(made, thing)) for thing in job.held))


def say_job(rng: random.Random, job: Job, room: str, actors: Sequence[str]) -> str:
    """The joint instruction."""
    parts = listed([counted(spoken(thing), n) for thing, n in job.counts.items()])
    place = f"{preposition(job.place.type)} the {spoken(job.place.type)} in the {room}"
    return whole(rng.choice(PURPOSES[job.kind]), parts, place, job.held, actors)


def whole(purpose: str, parts: str, place: str, held: Sequence[str], actors: Sequence[str]) -> str:
    """What is to be done, and by whom."""
    holding = f" In the end somebody must hold {a(spoken(held[0]))}." if held else ""
    alone = f" {listed(actors)} do this together." if len(actors) > 1 else ""
    return f"{purpose}: put {parts} {place}.{holding}{alone}"


def counted(words: str, number: int) -> str:
    """``two plates``."""
    return a(words) if number == 1 else f"{_NUMBERS.get(number, str(number))} {plural(words)}"


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def poses(rng: random.Random, home: Home, actors: Sequence[str]) -> Mapping[str, Json]:
    """A free place for each, apart from the others', and one of twelve headings."""
    chosen: list[tuple[float, float]] = []
    places = list(home.starts)
    while len(chosen) < len(actors):
        x, y = rng.choice(places)
        chosen.append((x, y))
        far = [p for p in places if (p[0] - x) ** 2 + (p[1] - y) ** 2 >= APART**2]
        places = far or places
    return {
        actor: {"x": x, "y": y, "heading": 30.0 * rng.randrange(12)}
        for actor, (x, y) in zip(actors, chosen, strict=True)
    }


def _away(made: Arrangement, kind: str, place: HouseObject) -> int:
    """How many of a type lie elsewhere; none where one lies there already."""
    things = made.of(kind)
    there = any(place.id in _chain(made, each) for each in things)
    return 0 if there else len(things)


def _chain(made: Arrangement, thing: HouseObject) -> list[str]:
    """What a thing is in or on, innermost first."""
    found = []
    while thing.parent:
        found.append(thing.parent)
        thing = made.objects[thing.parent]
    return found


def _ids(made: Arrangement, kind: str) -> tuple[str, ...]:
    return tuple(o.id for o in made.of(kind))

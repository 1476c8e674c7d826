"""Questions about a home: does a room hold such a thing, does a receptacle, how many are there?

The home is changed to fit the answer that was drawn, so that answers are as even as in the
published questions: yes and no half and half, counts from 0 to 3 a quarter each.

Source: IQA (Gordon et al. 2018), section 4: existence, counting and spatial relationship.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from wayword.datasets.procedural.homes.chores import a, plural, preposition, spoken
from wayword.datasets.procedural.homes.home import surfaces
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.procedural.tables import Table
from wayword.worlds.household.goals import Ids
from wayword.worlds.household.scene import HouseObject

EXISTS, CONTAINS, COUNTS = KINDS = ("exists", "contains", "counts")
MOST = 3
"""The highest count asked for."""
HIDDEN = 0.5
"""Share of the things added for a yes or a count that go into something shut, where there is."""

SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "questions")
ENDINGS = {
    EXISTS: "Answer yes or no.",
    CONTAINS: "Answer yes or no.",
    COUNTS: "Answer with a number.",
}


@dataclass(frozen=True, slots=True)
class HomeQuestion:
    """A question, its right answer, and what one must look at to know it: all, or ``enough``."""

    kind: str
    text: str
    answer: str
    look: Ids
    room: str
    enough: int = 0


def draw_question(
    rng: random.Random, made: Arrangement, kind: str, luck: float
) -> HomeQuestion | None:
    """A question of that type; things may be added to or taken from the home for it.

    ``luck`` (0 to 1, below 1) decides the answer: drawn by the caller once, so that questions
    that cannot be had do not make their answers rarer. None where the home offers none.
    """
    places = surfaces(made.home.scene)
    rooms = sorted({made.room(o) for o in places})
    rng.shuffle(rooms)
    for room in rooms:
        there = [o for o in places if made.room(o) == room]
        question = _contains(rng, made, room, there, luck) if kind == CONTAINS else None
        if kind != CONTAINS:
            question = _counted(rng, made, room, there, kind, luck)
        if question is not None:
            return question
    return None


def _counted(
    rng: random.Random,
    made: Arrangement,
    room: str,
    there: list[HouseObject],
    kind: str,
    luck: float,
) -> HomeQuestion | None:
    """Existence or counting: as many of a type in a room as the answer says."""
    types = [t for t in OBJECTS if sum(o.type in OBJECTS[t].places for o in there) >= 2]
    if not types:
        return None
    thing = rng.choice(types)
    if kind == EXISTS:
        yes = luck < 0.5
        present = [o for o in made.of(thing) if made.room(o) == room]
        wanted = max(1, min(MOST, len(present))) if yes else 0
        answer = "yes" if yes else "no"
    else:
        wanted = int(luck * (MOST + 1))
        answer = str(wanted)
    likely = [o for o in there if o.type in OBJECTS[thing].places]
    if not _make(rng, made, thing, room, likely, wanted):
        return None
    found = [o.id for o in made.of(thing) if made.room(o) == room]
    text = _say(rng, kind, thing, room)
    if answer == "yes":
        return HomeQuestion(kind, text, answer, tuple(found), room, enough=1)
    return HomeQuestion(kind, text, answer, (*found, *(o.id for o in there)), room)


def _contains(
    rng: random.Random, made: Arrangement, room: str, there: list[HouseObject], luck: float
) -> HomeQuestion | None:
    """Whether the only receptacle of its type in a room has such a thing in or on it."""
    kinds = [o.type for o in there]
    single = [o for o in there if kinds.count(o.type) == 1]
    pairs = [(o, t) for o in single for t in OBJECTS if o.type in OBJECTS[t].places]
    if not pairs:
        return None
    under, thing = rng.choice(pairs)
    for each in made.of(thing):
        if each.parent == under.id:
            del made.objects[each.id]
    look = [under.id]
    yes = luck < 0.5
    if yes:
        if made.space(under) < 1:
            return None
        look = [_add(rng, made, thing, under).id]
    text = _say(rng, CONTAINS, thing, room, under.type)
    return HomeQuestion(CONTAINS, text, "yes" if yes else "no", tuple(look), room)


def _make(
    rng: random.Random, made: Arrangement, thing: str, room: str, likely: list[HouseObject], n: int
) -> bool:
    """Have exactly ``n`` of a type in a room; False where they find no place."""
    there = [o for o in made.of(thing) if made.room(o) == room]
    for each in there[n:]:
        del made.objects[each.id]
    for _ in range(n - len(there)):
        free = [o for o in likely if made.space(o) > 0]
        shut = [o for o in free if "openable" in o.affordances]
        if not free:
            return False
        weights = [OBJECTS[thing].places[o.type] for o in free]
        (under,) = rng.choices(free, weights=weights)
        _add(rng, made, thing, rng.choice(shut) if shut and rng.random() < HIDDEN else under)
    return True


def _add(rng: random.Random, made: Arrangement, thing: str, under: HouseObject) -> HouseObject:
    number = 1
    while f"{thing}|{number}" in made.objects:
        number += 1
    return made.lay(rng, OBJECTS[thing].make(f"{thing}|{number}", thing), under)


def _say(rng: random.Random, kind: str, thing: str, room: str, place: str = "") -> str:
    words = {
        "a thing": a(spoken(thing)),
        "things": plural(spoken(thing)),
        "room": room,
        "on": preposition(place),
        "place": spoken(place),
    }
    return f"{rng.choice(SENTENCES[kind]).format_map(words)} {ENDINGS[kind]}"

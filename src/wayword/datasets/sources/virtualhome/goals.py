"""Predicates such as ``on_plate_137: 2`` or ``inside_apple_fridge: 1`` as goal conditions.

Source: Watch-And-Help (Puig et al. 2021), section 3: a goal is a set of predicates and how often
each must hold; C-WAH (Zhang et al. 2023) keeps the form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wayword.core.episode import Json
from wayword.worlds.household.goals import GoalCondition, Held, Inside
from wayword.worlds.household.scene import HouseObject, Scene

SIT = "a sit predicate: nobody sits down in this world"
UNKNOWN = "a predicate of no known form"
NO_PLACE = "its place is not in the home"
TOO_FEW = "fewer things of the type than it asks for"
OUT_OF_REACH = "something it asks for is out of reach"

SPOKEN = {
    "coffeepot": "coffee pot",
    "coffeetable": "coffee table",
    "cutleryfork": "fork",
    "kitchentable": "kitchen table",
    "waterglass": "water glass",
    "wineglass": "wine glass",
    "juice": "bottle of juice",
    "wine": "bottle of wine",
}
"""Classes whose everyday name is not the class itself."""
PLURALS = {"glass": "glasses"}


@dataclass(frozen=True, slots=True)
class Predicate:
    """``relation`` is ``on``, ``inside``, ``holds`` or ``sit``; ``place`` a class name or a node's
    id, as published; ``count`` is how often it must hold."""

    relation: str
    thing: str
    place: str
    count: int


def predicates(record: Mapping[str, Json]) -> list[Predicate]:
    """Those that must hold at least once, in file order."""
    found = []
    for key, count in record.items():
        parts = str(key).split("_")
        relation, thing, place = parts[0], "_".join(parts[1:-1]), parts[-1]
        if len(parts) == 2:  # holds_book, sit_sofa
            thing, place = parts[1], ""
        if int(count) > 0:
            found.append(Predicate(relation, thing, place, int(count)))
    return found


def condition(predicate: Predicate, scene: Scene, place: HouseObject | None) -> GoalCondition | str:
    """What a predicate asks of a final state, its place being given; or why it asks nothing."""
    things = tuple(
        o.id for o in scene.objects if o.type == predicate.thing and "pickupable" in o.affordances
    )
    if predicate.relation == "sit":
        return SIT
    if predicate.relation not in ("on", "inside", "holds"):
        return UNKNOWN
    if len(things) < predicate.count:
        return TOO_FEW
    if predicate.relation == "holds":
        return Held(things)
    if place is None or not place.receptacle:
        return NO_PLACE
    return Inside(things, (place.id,), parts=predicate.count)


def spoken(kind: str) -> str:
    """A class as people say it."""
    return SPOKEN.get(kind, kind)


def counted(kind: str, number: int) -> str:
    """``two water glasses``."""
    words = spoken(kind)
    if number == 1:
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
    head, of, rest = words.partition(" of ")
    front, _, last = head.rpartition(" ")
    many = f"{front} {PLURALS.get(last, last + 's')}".strip() + of + rest
    return f"{_NUMBERS.get(number, str(number))} {many}"


_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}

"""Chores in words: several ways to ask for each type, as different people would.

The wording is chosen by the episode's seed; every one names the same things.
"""

from __future__ import annotations

import random

from wayword.datasets.homes.chores import CLEAN, COOL, HEAT, LIGHT, PLACE, STACK, TWO, Chore
from wayword.datasets.homes.furniture import KINDS

SENTENCES: dict[str, tuple[str, ...]] = {
    PLACE: (
        "Put {a thing} {on} {the place}.",
        "Find {a thing} and leave it {on} {the place}.",
        "Could you move {a thing} to {the place}?",
        "I want {a thing} {on} {the place}, please.",
        "Bring {a thing} to {the place} and set it down {on} it.",
        "Take {a thing} from wherever it is and put it {on} {the place}.",
    ),
    LIGHT: (
        "Look at {a thing} by the light of {the lamp}.",
        "Pick up {a thing} and switch on {the lamp}.",
        "Examine {a thing} under {the lamp}.",
        "Hold {a thing} next to {the lamp} with the light on.",
        "Take {a thing} to {the lamp} and turn the light on.",
    ),
    CLEAN: (
        "Put {a clean thing} {on} {the place}.",
        "Wash {a thing} and put it {on} {the place}.",
        "Rinse {a thing} under the tap, then leave it {on} {the place}.",
        "{A thing} needs cleaning; afterwards it goes {on} {the place}.",
        "Clean {a thing} in the sink and take it to {the place}.",
    ),
    HEAT: (
        "Put {a hot thing} {on} {the place}.",
        "Heat {a thing} in the microwave and put it {on} {the place}.",
        "Warm up {a thing}, then set it {on} {the place}.",
        "Microwave {a thing} and leave it {on} {the place}.",
        "I would like {a warm thing} {on} {the place}.",
    ),
    COOL: (
        "Put {a cold thing} {on} {the place}.",
        "Chill {a thing} in the fridge and put it {on} {the place}.",
        "Cool {a thing} down, then set it {on} {the place}.",
        "Refrigerate {a thing} for a moment and bring it to {the place}.",
        "I would like {a chilled thing} {on} {the place}.",
    ),
    TWO: (
        "Put two {things} {on} {the place}.",
        "Find two {things} and leave them {on} {the place}.",
        "Move a pair of {things} to {the place}.",
        "Gather two {things} {on} one and the same {place}.",
        "There should be two {things} {on} {the place}.",
    ),
    STACK: (
        "Put {a thing} {into} {a movable}, and {the movable} {on} {the place}.",
        "Place {a movable} with {a thing} {into} it {on} {the place}.",
        "Set {a thing} {into} {a movable} and carry both to {the place}.",
        "Bring {a movable} holding {a thing} to {the place}.",
        "I need {a movable} {on} {the place} with {a thing} {into} it.",
    ),
}
"""Type of task -> its wordings."""
WORDINGS = min(len(ways) for ways in SENTENCES.values())

SPOKEN = {
    "counter_top": "counter", "sink_basin": "sink", "arm_chair": "armchair", "tv_stand": "TV stand",
    "cd": "CD", "basket_ball": "basketball", "remote_control": "remote",
    "bread": "loaf of bread", "lettuce": "head of lettuce", "toilet_paper": "roll of toilet paper",
    "lamp_table": "bedside table", "garbage_can": "bin", "cell_phone": "phone",
}  # fmt: skip
"""Types whose everyday name is not the type itself."""
PLURALS = {"knife": "knives", "watch": "watches", "tomato": "tomatoes", "potato": "potatoes",
           "box": "boxes", "loaf": "loaves"}  # fmt: skip


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
    return KINDS[kind].receptacle or "on" if kind in KINDS else "on"


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

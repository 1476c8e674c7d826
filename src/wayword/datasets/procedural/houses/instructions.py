"""A route in words: three ways to say it, from terse to chatty, seeded by scene and path."""

from __future__ import annotations

import random
from dataclasses import dataclass

from wayword.datasets.procedural.floorplans import HALLWAY
from wayword.datasets.procedural.houses.house import GeneratedHouse
from wayword.datasets.procedural.houses.routes import Route, Stretch, Turn, turn_word
from wayword.datasets.procedural.houses.views import capital

WORDINGS = 3

TURNS: dict[Turn, tuple[str, ...]] = {
    "straight": ("go straight ahead", "continue straight", "head straight on"),
    "slightly right": ("turn slightly right", "bear right", "veer right"),
    "right": ("turn right", "make a right", "take a right turn"),
    "sharply right": ("turn sharply right", "make a sharp right"),
    "around": ("turn around", "turn all the way around", "make a U-turn"),
    "sharply left": ("turn sharply left", "make a sharp left"),
    "left": ("turn left", "make a left", "take a left turn"),
    "slightly left": ("turn slightly left", "bear left", "veer left"),
}
LEAVE = (
    "leave the {room} through the doorway to the {to}",
    "go out of the {room} by the {to} doorway",
    "exit the {room} through the door into the {to}",
    "walk out of the {room} through the doorway to the {to}",
)
ENTER = ("go through the doorway to the {to}", "go through the {to} doorway")
CROSS = (
    "cross the {room} to the {to} doorway",
    "walk through the {room} to the doorway to the {to}",
    "make your way across the {room} and through the door into the {to}",
)
ALONG = (
    "walk along the {room} to the {to} doorway",
    "follow the {room} as far as the doorway to the {to}",
    "go down the {room} and through the door into the {to}",
)
REACH = (
    "walk to the {thing}",
    "go over to the {thing}",
    "continue as far as the {thing}",
    "head for the {thing}",
)
STEP = ("go a few steps in the {room}", "walk a little way through the {room}")
FINISH = (
    "stop beside the {thing}",
    "stop next to the {thing}",
    "wait by the {thing}",
    "walk to the {thing} and stop there",
    "stop when you are beside the {thing}",
)
FINISH_DOOR = (
    "stop in the doorway to the {to}",
    "wait in the {to} doorway",
    "stop when you are in the door into the {to}",
)
OPENINGS = ("You start in the {room}. ", "You are in the {room} now. ", "Beginning in the {room}: ")


@dataclass(frozen=True, slots=True)
class _Manner:
    """How talkative a wording is: chances of optional parts, and how clauses are joined.

    A ``terse`` one names no room that one is in, and drops an adjective that nothing hangs on.
    """

    past: float
    side: float
    straight: float
    opening: float
    joints: tuple[str, ...]
    terse: bool


MANNERS = (
    _Manner(0.2, 0.0, 0.0, 0.0, (". ", ", then "), terse=True),
    _Manner(0.5, 0.5, 0.3, 0.0, (". ", ". Then ", ", and then "), terse=False),
    _Manner(0.7, 0.7, 0.5, 0.7, (". ", ". After that, ", ". Next, "), terse=False),
)


def instruct(house: GeneratedHouse, route: Route, wording: int) -> str:
    """The instruction of a route in one of ``WORDINGS`` manners."""
    return told(house, route, wording)[0]


def told(house: GeneratedHouse, route: Route, wording: int) -> tuple[str, tuple[int, ...]]:
    """The instruction, and the character at which the words of each stretch begin."""
    rng = random.Random(f"words/{house.scene}/{'-'.join(route.path)}/{wording}")
    manner = MANNERS[wording]
    last = len(route.stretches) - 1
    text, begins = "", []
    for number, stretch in enumerate(route.stretches):
        clause = _clause(rng, house, stretch, manner, ends=number == last)
        joint = rng.choice(manner.joints) if number else ""
        starts = not text or joint == ". "
        begins.append(len(text) + len(joint))
        text += joint + (capital(clause) if starts else clause)
    opening = rng.choice(OPENINGS) if rng.random() < manner.opening else ""
    opening = opening.format(room=house.room_name(route.stretches[0].room))
    return opening + text + ".", tuple(len(opening) + begin for begin in begins)


def _clause(
    rng: random.Random, house: GeneratedHouse, stretch: Stretch, manner: _Manner, *, ends: bool
) -> str:
    parts = []
    turn = turn_word(stretch.angle)
    bare = stretch.door is None and stretch.thing is None
    if turn != "straight" or bare or rng.random() < manner.straight:
        parts.append(rng.choice(TURNS[turn]))
    if stretch.past and rng.random() < manner.past:
        number, side = stretch.past
        told = f" on your {side}" if rng.random() < manner.side else ""
        verb = rng.choice(("walk past", "go past", "pass"))
        parts.append(f"{verb} the {_name(house, number, manner)}{told}")
    names = {
        "room": house.room_name(stretch.room),
        "to": house.room_name(stretch.to) if stretch.to is not None else "",
        "thing": _name(house, stretch.thing, manner) if stretch.thing is not None else "",
    }
    parts.append(rng.choice(_target(stretch, names["room"], manner, ends=ends)).format(**names))
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _target(stretch: Stretch, room: str, manner: _Manner, *, ends: bool) -> tuple[str, ...]:
    if stretch.door is not None:
        if ends:
            return FINISH_DOOR
        if manner.terse:
            return ENTER
        return LEAVE if stretch.start == 0 else ALONG if room == HALLWAY else CROSS
    if stretch.thing is not None:
        return FINISH if ends else REACH
    return STEP


def _name(house: GeneratedHouse, number: int, manner: _Manner) -> str:
    """The full name, or the kind alone where the house has one of the kind and manners allow."""
    thing = house.things[number]
    alone = sum(other.kind == thing.kind for other in house.things) == 1
    return thing.kind if alone and manner.terse else thing.name

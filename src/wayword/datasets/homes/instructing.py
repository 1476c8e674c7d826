"""Single instructions grounded in a home: go to, pick up, open, put on, put next to.

BabyAI's kinds of instructions (Chevalier-Boisvert et al. 2019, section 3.2) for houses, where
things are told apart by their type, not by a colour.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from wayword.datasets.homes.arranging import Arrangement
from wayword.datasets.homes.chores import NO_GOAL, PLACE, draw_chore
from wayword.datasets.homes.goals import Beside, GoalCondition, Has, Held, Inside, Near
from wayword.datasets.homes.objects import OBJECTS
from wayword.datasets.homes.wording import a, preposition, spoken

GO_TO, PICK_UP, OPEN, PUT_ON, PUT_NEXT_TO = KINDS = (
    "go_to",
    "pick_up",
    "open",
    "put_on",
    "put_next_to",
)
SENTENCES: dict[str, tuple[str, ...]] = {
    GO_TO: ("Go to {thing}.", "Walk up to {thing}.", "Go and stand before {thing}."),
    PICK_UP: ("Pick up {thing}.", "Take {thing}.", "Get {thing} and hold it."),
    OPEN: ("Open {thing}.", "Go and open {thing}.", "I want {thing} open."),
    PUT_ON: ("Put {thing} {on} {other}.", "Bring {thing} to {other} and leave it {on} it."),
    PUT_NEXT_TO: ("Put {thing} next to {other}.", "Leave {thing} beside {other}."),
}
"""Kind of instruction -> its wordings."""
BUILT_IN = frozenset(("faucet", "stove_knob", "stove_burner", "sink_basin", "drawer"))
"""Parts of furniture, which nobody is sent to for their own sake."""
FAR = 3.5
"""Metres from all things of the type that one is sent to, at the start."""


@dataclass(frozen=True, slots=True)
class Order:
    """An instruction: its words, its goals, and what it is about (ids)."""

    text: str
    goals: tuple[GoalCondition, ...]
    things: tuple[str, ...]


def draw_order(rng: random.Random, made: Arrangement, kind: str) -> Order | None:
    """An instruction of that kind, or None where the home has nothing for it this time."""
    return _DRAW[kind](rng, made)


def _go_to(rng: random.Random, made: Arrangement) -> Order | None:
    types = sorted({o.type for o in made.objects.values()} - BUILT_IN)
    kind = rng.choice(types)
    things = _ids(made, kind)
    return Order(_say(rng, made, GO_TO, kind), (Near(things),), things)


def _pick_up(rng: random.Random, made: Arrangement) -> Order | None:
    kind = rng.choice([t for t in OBJECTS if made.of(t)])
    things = _ids(made, kind)
    return Order(_say(rng, made, PICK_UP, kind), (Held(things),), things)


def _open(rng: random.Random, made: Arrangement) -> Order | None:
    shut = {o.type for o in made.objects.values() if "openable" in o.affordances}
    types = sorted(t for t in shut if not any(o.open for o in made.of(t)))
    if not types:
        return None
    kind = rng.choice(types)
    things = _ids(made, kind)
    return Order(_say(rng, made, OPEN, kind), (Has(things, (("open", True),)),), things)


def _put_on(rng: random.Random, made: Arrangement) -> Order | None:
    chore = draw_chore(rng, made, PLACE)
    if chore is None or chore.sliced:
        return None
    things, places = _ids(made, chore.thing), _ids(made, chore.receptacle)
    text = _say(rng, made, PUT_ON, chore.thing, chore.receptacle)
    return Order(text, (Inside(things, places),), things)


def _put_next_to(rng: random.Random, made: Arrangement) -> Order | None:
    pairs = [(t, o) for t in OBJECTS for o in OBJECTS if t != o and made.of(t) and made.of(o)]
    rng.shuffle(pairs)
    for thing, other in pairs:
        if _goes_beside(made, thing, other):
            things = _ids(made, thing)
            text = _say(rng, made, PUT_NEXT_TO, thing, other)
            return Order(text, (Beside(things, _ids(made, other)),), things)
    return None


_DRAW: dict[str, Callable[[random.Random, Arrangement], Order | None]] = {
    GO_TO: _go_to,
    PICK_UP: _pick_up,
    OPEN: _open,
    PUT_ON: _put_on,
    PUT_NEXT_TO: _put_next_to,
}


def _goes_beside(made: Arrangement, thing: str, other: str) -> bool:
    """Whether such a thing may lie wherever one of the others does, and none does yet."""
    under = [made.objects[o.parent] for o in made.of(other)]
    there = {o.parent for o in made.of(thing)}
    return all(
        place.id not in there
        and place.type in OBJECTS[thing].places
        and place.type not in NO_GOAL
        and made.space(place) >= 1
        for place in under
    )


def _say(rng: random.Random, made: Arrangement, order: str, thing: str, other: str = "") -> str:
    return rng.choice(SENTENCES[order]).format(
        thing=_called(made, thing),
        other=_called(made, other) if other else "",
        on=preposition(other),
    )


def _called(made: Arrangement, kind: str) -> str:
    """``the fridge`` where there is one, ``a mug`` where there are several."""
    return f"the {spoken(kind)}" if len(made.of(kind)) == 1 else a(spoken(kind))


def _ids(made: Arrangement, kind: str) -> tuple[str, ...]:
    return tuple(o.id for o in made.of(kind))

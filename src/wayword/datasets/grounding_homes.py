"""Instruction grounding in generated homes: one short instruction, in a house of many things."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, suggest
from wayword.datasets.procedural.homes.chores import (
    NO_GOAL,
    PLACE,
    a,
    draw_chore,
    preposition,
    spoken,
)
from wayword.datasets.procedural.homes.episodes import (
    EpisodeSource,
    Generated,
    HomesSettings,
    SourcedTasks,
    named,
    start_in,
)
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.procedural.tables import Table
from wayword.worlds.household.goals import (
    Beside,
    GoalCondition,
    Has,
    Held,
    HouseholdReference,
    Inside,
    Near,
)
from wayword.worlds.household.scene import Point

# Single instructions grounded in a home: go to, pick up, open, put on, put next to.
#
# BabyAI's kinds of instructions (Chevalier-Boisvert et al. 2019, section 3.2) for houses, where
# things are told apart by their type, not by a colour.

GO_TO, PICK_UP, OPEN, PUT_ON, PUT_NEXT_TO = KINDS = (
    "go_to",
    "pick_up",
    "open",
    "put_on",
    "put_next_to",
)
SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "grounding")
"""Kind of instruction -> its wordings."""
BUILT_IN = frozenset(("faucet", "stove_knob", "stove_burner", "sink_basin", "drawer"))
"""Parts of furniture, which nobody is sent to for their own sake."""
FAR = 3.5
"""Metres from all things of the type that one is sent to, at the start."""


@dataclass(frozen=True, slots=True)
class GroundingOrder:
    """An instruction: its words, its goals, and what it is about (ids)."""

    text: str
    goals: tuple[GoalCondition, ...]
    things: tuple[str, ...]


def draw_order(rng: random.Random, made: Arrangement, kind: str) -> GroundingOrder | None:
    """An instruction of that kind, or None where the home has nothing for it this time."""
    return _DRAW[kind](rng, made)


def _go_to(rng: random.Random, made: Arrangement) -> GroundingOrder | None:
    types = sorted({o.type for o in made.objects.values()} - BUILT_IN)
    kind = rng.choice(types)
    things = made.ids(kind)
    return GroundingOrder(_say(rng, made, GO_TO, kind), (Near(things),), things)


def _pick_up(rng: random.Random, made: Arrangement) -> GroundingOrder | None:
    kind = rng.choice([t for t in OBJECTS if made.of(t)])
    things = made.ids(kind)
    return GroundingOrder(_say(rng, made, PICK_UP, kind), (Held(things),), things)


def _open(rng: random.Random, made: Arrangement) -> GroundingOrder | None:
    shut = {o.type for o in made.objects.values() if "openable" in o.affordances}
    types = sorted(t for t in shut if not any(o.open for o in made.of(t)))
    if not types:
        return None
    kind = rng.choice(types)
    things = made.ids(kind)
    return GroundingOrder(_say(rng, made, OPEN, kind), (Has(things, (("open", True),)),), things)


def _put_on(rng: random.Random, made: Arrangement) -> GroundingOrder | None:
    chore = draw_chore(rng, made, PLACE)
    if chore is None or chore.sliced:
        return None
    things, places = made.ids(chore.thing), made.ids(chore.receptacle)
    text = _say(rng, made, PUT_ON, chore.thing, chore.receptacle)
    return GroundingOrder(text, (Inside(things, places),), things)


def _put_next_to(rng: random.Random, made: Arrangement) -> GroundingOrder | None:
    pairs = [(t, o) for t in OBJECTS for o in OBJECTS if t != o and made.of(t) and made.of(o)]
    rng.shuffle(pairs)
    for thing, other in pairs:
        if _goes_beside(made, thing, other):
            things = made.ids(thing)
            text = _say(rng, made, PUT_NEXT_TO, thing, other)
            return GroundingOrder(text, (Beside(things, made.ids(other)),), things)
    return None


_DRAW: dict[str, Callable[[random.Random, Arrangement], GroundingOrder | None]] = {
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


TRIES = 80


@dataclass(frozen=True)
class GroundingHomesSettings(HomesSettings):
    """``kind`` limits the instructions to one: go_to, pick_up, open, put_on, put_next_to."""

    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind and self.kind not in KINDS:
            told = suggest(self.kind, list(KINDS))
            raise UsageError(f"grounding_homes: no kind {self.kind!r}; {told}")


class GroundingHomes(SourcedTasks[GroundingHomesSettings]):
    """BabyAI's kinds of instructions in generated homes: "put a mug next to the laptop".

        >>> homes = GroundingHomes(settings=GroundingHomes.Settings(homes=1, episodes=5))
        >>> [task.reference.kind for task in homes.tasks]
        ['go_to', 'pick_up', 'open', 'put_on', 'put_next_to']

    Success by the final state: to have gone to a thing is to see it within reach; what is next to
    a thing is in or on the same piece of furniture. The kinds take turns, and no instruction is
    fulfilled at the start.
    """

    name: ClassVar[str] = "grounding_homes"
    Settings: ClassVar[type[GroundingHomesSettings]] = GroundingHomesSettings
    max_steps: ClassVar[int] = 500

    def source(self, split: str) -> EpisodeSource:
        kinds = (self.settings.kind,) if self.settings.kind else KINDS
        return Generated(split, self.settings, _draw, kinds, "{scene}/grounding")


def _draw(rng: random.Random, made: Arrangement, arrangement: str) -> Task | None:
    """An instruction of the kind that the arrangement names."""
    kind, scene = arrangement.partition("/")[0], made.home.name
    order = draw_order(rng, made, kind)
    places = _starts(made, order) if order else []
    if not order or not places:
        return None
    name, start = named(scene, arrangement), start_in(rng, made.home, arrangement, places)
    reference = HouseholdReference(name, kind, order.goals)
    return Task(Episode(name, order.text, scene, start), reference)


def _starts(made: Arrangement, order: GroundingOrder) -> list[Point]:
    """Where to start so that nothing asked for is near."""
    things = [made.objects[name] for name in order.things]
    return [
        at
        for at in made.home.starts
        if all(math.dist(at, (thing.x, thing.y)) > FAR for thing in things)
    ]


dataset = GroundingHomes

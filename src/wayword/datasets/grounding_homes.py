"""Instruction grounding in generated homes: one short instruction, in a house of many things."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, suggest
from wayword.datasets.homes.arranging import Arrangement, arrange
from wayword.datasets.homes.episodes import (
    Case,
    Generated,
    HomesSettings,
    Source,
    SourcedTasks,
    home_of,
    start_in,
    turn,
)
from wayword.datasets.homes.goals import RoomsReference
from wayword.datasets.homes.instructing import FAR, KINDS, Order, draw_order
from wayword.worlds.housework.scene import Point

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

    def source(self, split: str) -> Source:
        """Generated homes."""
        return _generated(split, self.settings)


def _generated(split: str, settings: GroundingHomesSettings) -> Source:
    kinds = (settings.kind,) if settings.kind else KINDS

    def arrangement(number: int) -> str:
        return f"{turn(kinds, number, settings.homes)}/{number // settings.homes}"

    return Generated(split, settings, arrangement, _case)


@lru_cache(maxsize=256)
def _case(scene: str, arrangement: str, plenty: float) -> Case:
    """The instruction of that kind and number in that home."""
    kind = arrangement.partition("/")[0]
    home = home_of(scene)
    for attempt in range(TRIES):
        rng = random.Random(f"{scene}/grounding/{arrangement}/{attempt}")
        made = arrange(rng, home, plenty)
        order = draw_order(rng, made, kind)
        places = _starts(made, order) if order else []
        if order and places:
            name = f"{scene}_{arrangement.replace('/', '_')}"
            start = start_in(rng, home, arrangement, places)
            reference = RoomsReference(name, kind, order.goals)
            return Case(
                Task(Episode(name, order.text, scene, start), reference), home, made.scene()
            )
    raise UsageError(f"{scene} has nothing for an instruction of kind {kind}; ask for more rooms")


def _starts(made: Arrangement, order: Order) -> list[Point]:
    """Where to start so that nothing asked for is near."""
    things = [made.objects[name] for name in order.things]
    return [
        at
        for at in made.home.starts
        if all(math.dist(at, (thing.x, thing.y)) > FAR for thing in things)
    ]


dataset = GroundingHomes

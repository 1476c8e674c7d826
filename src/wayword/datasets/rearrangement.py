"""Rearrangement: put back what was displaced, in generated homes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from wayword.core.agent import Demonstration
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.datasets.homes.arranging import arrange
from wayword.datasets.homes.episodes import (
    GENERATED,
    Case,
    Generated,
    HomesSettings,
    Source,
    SourcedTasks,
    check_split,
    demonstrate,
    home_of,
    start_in,
)
from wayword.datasets.homes.goals import RearrangementReference
from wayword.datasets.homes.shuffling import shuffle

TRIES = 50


class Rearrangement(SourcedTasks):
    """Homes in which one to five things are not as they should be.

        >>> tidy = Rearrangement(settings=Rearrangement.Settings(episodes=3))
        >>> 1 <= tidy.tasks[0].reference.parts() <= 5
        True

    A thing lies in or on another receptacle than it should, or a receptacle is open that should be
    shut, or the other way round. The request says how the changed ones should be. All must be
    right in the end, and whatever else is disturbed counts against it: ``misplaced`` and
    ``fixed_strict``. A thing is in place when it is in or on the right receptacle, wherever there.
    """

    Settings: ClassVar[type[HomesSettings]] = HomesSettings
    family: ClassVar[str] = "rooms"
    splits: ClassVar[tuple[str, ...]] = GENERATED
    max_steps: ClassVar[int] = 1000

    def __init__(
        self,
        split: str = GENERATED[0],
        folder: Path | None = None,
        settings: HomesSettings | None = None,
    ) -> None:
        check_split("rearrangement", split, self.splits)
        self.split, self.settings = split, settings or HomesSettings()
        self._source = _generated(split, self.settings)

    def demonstrations(self, count: int, seed: int) -> Sequence[Demonstration]:
        """Episodes of the train split that the expert solved."""
        return demonstrate(_generated(GENERATED[1], self.settings), count, seed)


def _generated(split: str, settings: HomesSettings) -> Source:
    return Generated(split, settings, lambda number: str(number // settings.homes), _case)


@lru_cache(maxsize=256)
def _case(scene: str, arrangement: str, plenty: float) -> Case:
    """The episode of that number in that home."""
    for attempt in range(TRIES):
        rng = random.Random(f"{scene}/rearrangement/{arrangement}/{attempt}")
        made = arrange(rng, home_of(scene), plenty)
        found = shuffle(rng, made)
        if found is not None:
            name = f"{scene}_rearrangement_{arrangement}"
            start = start_in(rng, made.home, arrangement)
            episode = Episode(name, found.instruction, scene, start)
            reference = RearrangementReference(
                name, "rearrangement", found.changed, others=found.others
            )
            return Case(Task(episode, reference), made.home, made.scene())
    raise UsageError(f"{scene} has nothing to rearrange; ask for more rooms or things")


dataset = Rearrangement

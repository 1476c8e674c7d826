"""Household tasks: ALFRED's seven types, in generated homes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from wayword.core.agent import Demonstration
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, suggest
from wayword.datasets.homes.arranging import arrange
from wayword.datasets.homes.chores import KINDS, Chore, draw_chore
from wayword.datasets.homes.episodes import (
    Case,
    HomesSettings,
    HomeTasks,
    demonstrate,
    first_start,
    home_of,
)
from wayword.datasets.homes.goals import RoomsReference
from wayword.datasets.homes.wording import ask_for
from wayword.worlds.housework.body import Body
from wayword.worlds.rooms import RoomsWorld

GENERATED = ("generated_test", "generated_train")


@dataclass(frozen=True)
class HouseholdSettings(HomesSettings):
    """``kind`` limits the tasks to one of ALFRED's types, for example ``look_at_obj_in_light``."""

    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind and self.kind not in KINDS:
            raise UsageError(f"household: no kind {self.kind!r}; {suggest(self.kind, list(KINDS))}")


class Household:
    """Household tasks of ALFRED's seven types in generated homes.

        >>> household = Household("generated_test", None, Household.Settings(homes=1, episodes=7))
        >>> [task.reference.kind for task in household.tasks][:2]
        ['pick_and_place_simple', 'look_at_obj_in_light']

    Each episode has a home, furnished and with things lying where such things lie, a body at a
    free place facing any of twelve ways, and a request in words. Success is judged from the final
    state alone: see ``homes.goals``. The first episodes lie in different homes, and the types take
    turns. Test and train homes come from different streams.
    """

    Settings: ClassVar[type[HouseholdSettings]] = HouseholdSettings
    family: ClassVar[str] = "rooms"
    splits: ClassVar[tuple[str, ...]] = GENERATED
    max_steps: ClassVar[int] = 500

    def __init__(
        self,
        split: str = GENERATED[0],
        folder: Path | None = None,
        settings: HouseholdSettings | None = None,
    ) -> None:
        if split not in self.splits:
            known = suggest(split, list(self.splits))
            raise UsageError(f"household has no split {split!r}; {known}")
        self.split, self.settings = split, settings or HouseholdSettings()
        self.tasks: Sequence[Task] = HomeTasks(self.settings.episodes, self._task)

    @property
    def files(self) -> Mapping[str, Path]:
        """Nothing: all of it is generated."""
        return {}

    def world(self, episode: Episode) -> RoomsWorld:
        """A fresh world for the episode."""
        return case(episode.scene, episode.start["arrangement"]).world(Body())

    def perceiver(self) -> None:
        """Observations say it all."""

    def demonstrations(self, count: int, seed: int) -> Sequence[Demonstration]:
        """Episodes of the train split that the expert solved."""
        source = (
            self if self.split == GENERATED[1] else Household(GENERATED[1], None, self.settings)
        )
        return demonstrate(source, count, seed)

    def _task(self, number: int) -> Task:
        kinds = (self.settings.kind,) if self.settings.kind else KINDS
        kind = kinds[number % len(kinds)]
        scene = self.settings.home(self.split, number)
        return case(scene, f"{kind}/{number // self.settings.homes}").task


@lru_cache(maxsize=256)
def case(scene: str, arrangement: str) -> Case:
    """The episode of that arrangement in that home."""
    kind = arrangement.partition("/")[0]
    for attempt in range(50):
        rng = random.Random(f"{scene}/{arrangement}/{attempt}")
        made = arrange(rng, home_of(scene))
        chore = draw_chore(rng, made, kind)
        if chore is not None:
            break
    else:
        raise UsageError(f"{scene} is too small for a task of kind {kind}; ask for more rooms")
    name = f"{scene}_{arrangement.replace('/', '_')}"
    start = first_start(rng, made.home, arrangement)
    episode = Episode(name, ask_for(rng, chore), scene, start)
    return Case(Task(episode, _reference(name, chore)), made.home, made.scene())


def _reference(name: str, chore: Chore) -> RoomsReference:
    return RoomsReference(name, chore.kind, chore.goals)


dataset = Household

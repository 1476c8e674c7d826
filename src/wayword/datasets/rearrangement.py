"""Rearrangement: put back what was displaced, in generated homes and in iTHOR's rooms."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.datasets.procedural.homes.episodes import (
    GENERATED,
    Case,
    EpisodeSource,
    Generated,
    HomesSettings,
    SourcedTasks,
    home_of,
    read_rules,
    start_in,
)
from wayword.datasets.procedural.homes.objects import arrange
from wayword.datasets.procedural.homes.shuffling import shuffle
from wayword.datasets.sources.ithor.rearrangement import SPLITS
from wayword.datasets.sources.ithor.rearranging import Published
from wayword.worlds.household.goals import RearrangementReference
from wayword.worlds.household.world import HouseholdWorld

TRIES = 50
TRAIN = "2021_train"


Told = Literal["state", "changes"]


@dataclass(frozen=True)
class RearrangementSettings(HomesSettings):
    """``told`` says what an agent is told: ``state``, how everything was before (as in LangSuitE),
    so that it has to find out itself what changed; or ``changes``, how the changed things should
    be, which is easier."""

    told: Told = "state"


class Rearrangement(SourcedTasks[RearrangementSettings]):
    """Homes in which some things are not as they should be.

        >>> tidy = Rearrangement(settings=Rearrangement.Settings(episodes=3))
        >>> 1 <= tidy.tasks[0].reference.parts() <= 5
        True

    A thing lies in or on another receptacle than it should, or a receptacle is open that should be
    shut, or the other way round. The request tells how everything was, by names that all things
    have from the start, or with ``told=changes`` how the changed ones should be. All of these must
    be right in the end (``sr``), and whatever else is disturbed counts against it: ``sr_strict``,
    ``misplaced`` and ``fixed_strict``. A thing is in place when it is in or on the right
    receptacle, wherever there.

    Splits ``generated_test`` and ``generated_train``: one to five changes in generated homes.

    Splits ``2021_train``, ``2021_val``, ``2021_test``: the published episodes of Weihs et al.
    (2021) in iTHOR's rooms. A thing that moved along one piece of furniture is in place within
    half a metre of its target. See ``sources.ithor.rearranging`` for what counts as a change;
    ``omissions`` counts the episodes left out, by cause. All of ``settings`` but ``actions``,
    ``body`` and ``told`` is for generated homes.
    """

    name: ClassVar[str] = "rearrangement"
    Settings: ClassVar[type[RearrangementSettings]] = RearrangementSettings
    splits: ClassVar[tuple[str, ...]] = (*GENERATED, *SPLITS)
    published_train: ClassVar[str] = TRAIN
    max_steps: ClassVar[int] = 1000

    def source(self, split: str) -> EpisodeSource:
        """Generated homes, or the published episodes."""
        if split in SPLITS:
            told = self.settings.told
            return Published(split, self.folder, self.settings.make_body(), told)
        return GeneratedShuffles(split, self.settings)

    def rules(self) -> str:
        """What an agent is told of the task."""
        return read_rules(f"rearrangement_{self.settings.told}")


class GeneratedShuffles(Generated):
    """Generated episodes; those that tell the whole state have a name for everything."""

    def __init__(self, split: str, settings: RearrangementSettings) -> None:
        def case(scene: str, arranged: str, plenty: float) -> Case:
            return _case(scene, arranged, plenty, settings.told)

        self._make, self._named = case, settings.told == "state"
        super().__init__(split, settings, lambda number: str(number // settings.homes), case)

    def world(self, episode: Episode) -> HouseholdWorld:
        """A fresh world."""
        case = self._make(episode.scene, episode.start["arrangement"], self.settings.plenty)
        layout, body = case.home.with_things(case.scene), self.settings.make_body()
        return HouseholdWorld(case.scene, body, named=self._named, layout=layout)


@lru_cache(maxsize=256)
def _case(scene: str, arrangement: str, plenty: float, told: Told) -> Case:
    """The episode of that number in that home."""
    for attempt in range(TRIES):
        rng = random.Random(f"{scene}/rearrangement/{arrangement}/{attempt}")
        made = arrange(rng, home_of(scene), plenty)
        found = shuffle(rng, made)
        if found is not None:
            name = f"{scene}_rearrangement_{arrangement}"
            start = start_in(rng, made.home, arrangement)
            words = found.state if told == "state" else found.changes
            episode = Episode(name, words, scene, start)
            reference = RearrangementReference(
                name, "rearrangement", found.changed, others=found.others
            )
            return Case(Task(episode, reference), made.home, made.scene())
    raise UsageError(f"{scene} has nothing to rearrange; ask for more rooms or things")


dataset = Rearrangement

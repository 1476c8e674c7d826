"""Rearrangement: put back what was displaced, in generated homes and in iTHOR's rooms."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import ClassVar

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.datasets.procedural.homes.episodes import (
    GENERATED,
    Case,
    Generated,
    HomesSettings,
    Source,
    SourcedTasks,
    home_of,
    start_in,
)
from wayword.datasets.procedural.homes.objects import arrange
from wayword.datasets.procedural.homes.shuffling import shuffle
from wayword.datasets.sources.ithor.rearrangement import SPLITS
from wayword.datasets.sources.ithor.rearranging import Published
from wayword.worlds.household.goals import RearrangementReference

TRIES = 50
TRAIN = "2021_train"


class Rearrangement(SourcedTasks[HomesSettings]):
    """Homes in which some things are not as they should be.

        >>> tidy = Rearrangement(settings=Rearrangement.Settings(episodes=3))
        >>> 1 <= tidy.tasks[0].reference.parts() <= 5
        True

    A thing lies in or on another receptacle than it should, or a receptacle is open that should be
    shut, or the other way round. The request says how the changed ones should be. All must be
    right in the end, and whatever else is disturbed counts against it: ``misplaced`` and
    ``fixed_strict``. A thing is in place when it is in or on the right receptacle, wherever there.

    Splits ``generated_test`` and ``generated_train``: one to five changes in generated homes.

    Splits ``2021_train``, ``2021_val``, ``2021_test``: the published episodes of Weihs et al.
    (2021) in iTHOR's rooms. A thing that moved along one piece of furniture is in place within
    half a metre of its target. See ``thor.restoring`` for what counts as a change; ``omissions``
    counts the episodes left out, by cause. All of ``settings`` but ``actions`` is for generated
    homes.
    """

    name: ClassVar[str] = "rearrangement"
    Settings: ClassVar[type[HomesSettings]] = HomesSettings
    splits: ClassVar[tuple[str, ...]] = (*GENERATED, *SPLITS)
    published_train: ClassVar[str] = TRAIN
    max_steps: ClassVar[int] = 1000

    def source(self, split: str) -> Source:
        """Generated homes, or the published episodes."""
        if split in SPLITS:
            return Published(split, self.folder, self.settings.body())
        return _generated(split, self.settings)


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

"""Who answers when an agent asks: a dataset whose worlds have an answerer.

Datasets make their own worlds, and know nothing of who sits at the terminal. So the dataset of a
run is handed on with a ``world`` that sets the answerer of worlds that take one.
"""

from __future__ import annotations

from typing import Any, cast

from wayword.agents.person import AnswersAtTheTerminal, Person
from wayword.core.dataset import Dataset
from wayword.core.episode import Episode
from wayword.core.world import World
from wayword.worlds.housework.messages import Answerer


def answered_by(dataset: Dataset, person: Person) -> Dataset:
    """The dataset, with a person who answers in its worlds."""
    return cast(Dataset, Answered(dataset, AnswersAtTheTerminal(person)))


class Answered:
    """A dataset like the given one; ``answerer`` answers in its worlds."""

    def __init__(self, dataset: Dataset, answerer: Answerer) -> None:
        self._dataset, self._answerer = dataset, answerer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def world(self, episode: Episode) -> World:
        """A fresh world for the episode."""
        return answered(self._dataset.world(episode), self._answerer)


def answered(world: World, answerer: Answerer) -> World:
    """The world, with the answerer where it takes one."""
    if hasattr(world, "answerer"):
        world.answerer = answerer
    return world

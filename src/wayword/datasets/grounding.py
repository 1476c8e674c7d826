"""Instruction grounding: levels of BabyAI, drawn by the package ``minigrid``."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from wayword.core.agent import Demonstration
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError, suggest
from wayword.datasets.babyai.levels import ABSENT, LEVELS, RENAMED, ROOM_FOR, STREAMS, draw, mission
from wayword.datasets.babyai.solving import play
from wayword.datasets.drawn import DrawnTasks
from wayword.worlds.gridworld import Actions, GridWorld


@dataclass(frozen=True)
class GroundingSettings:
    """``levels`` names levels of BabyAI, all of the list's where empty; they take turns.

    ``actions``: ``low`` for the level's own actions, ``high`` for whole errands.
    """

    levels: tuple[str, ...] | str = ()
    episodes: int = 500
    seed: int = 0
    actions: Actions = "low"

    def __post_init__(self) -> None:
        if not 1 <= self.episodes <= ROOM_FOR:
            raise UsageError(f"grounding: episodes={self.episodes} must lie in 1..{ROOM_FOR:,}")
        if self.seed < 0:
            raise UsageError(f"grounding: seed={self.seed} must be at least 0")
        for name in self.chosen():
            if name in ABSENT:
                raise UsageError(f"grounding: the package minigrid has no level {name!r}")
            if not name.isalnum():
                raise UsageError(f"grounding: no level {name!r}; {suggest(name, list(LEVELS))}")

    def chosen(self) -> tuple[str, ...]:
        """The levels, by the package's names."""
        given = self.levels.split(",") if isinstance(self.levels, str) else self.levels
        names = [name.strip() for name in given if name.strip()]
        return tuple(RENAMED.get(name, name) for name in names) or LEVELS


class Grounding:
    """Instructions such as "put a blue ball next to the red door" on a grid of rooms.

        >>> grounding = Grounding(settings=Grounding.Settings(levels="GoToObj", episodes=2))
        >>> [task.episode.instruction for task in grounding.tasks]
        ['go to the green key', 'go to the yellow box']

    The levels are those of LangSuitE's list that the package has (32 of 36), and any other of its
    levels by name. Success, reward and step limit are the level's own. Test and train episodes are
    drawn by different numbers. Needs the extra ``wayword[babyai]``, and no data.
    """

    Settings: ClassVar[type[GroundingSettings]] = GroundingSettings
    family: ClassVar[str] = "grid"
    splits: ClassVar[tuple[str, ...]] = STREAMS
    max_steps: ClassVar[int] = 500
    files: Mapping[str, Path] = {}

    def __init__(
        self,
        split: str = STREAMS[0],
        folder: Path | None = None,
        settings: GroundingSettings | None = None,
    ) -> None:
        if split not in self.splits:
            raise UsageError(f"grounding has no split {split!r}; {suggest(split, list(STREAMS))}")
        self.split, self.settings = split, settings or GroundingSettings()
        self.tasks: Sequence[Task] = self._drawn(split)

    def world(self, episode: Episode) -> GridWorld:
        """A fresh level."""
        return GridWorld(episode.scene, self.settings.actions)

    def perceiver(self) -> None:
        """Observations say it all."""

    def demonstrations(self, count: int, seed: int) -> Sequence[Demonstration]:
        """Episodes of the train split with the expert's actions.

        Raises ``UsageError`` with ``actions=high``, as the expert acts by low-level actions.
        """
        if self.settings.actions != "low":
            raise UsageError("the expert's examples are low-level; set dataset.actions=low")
        tasks = self._drawn("train")
        rng = random.Random(f"demonstrations/{seed}")
        chosen = rng.sample(range(len(tasks)), min(count, len(tasks)))
        return [self._solved(tasks[number].episode) for number in chosen]

    def _solved(self, episode: Episode) -> Demonstration:
        world = self.world(episode)
        world.reset(episode)
        return Demonstration(episode, tuple(play(world)), lambda: self.world(episode))

    def _drawn(self, stream: str) -> Sequence[Task]:
        levels, seed = self.settings.chosen(), self.settings.seed

        def task(number: int) -> Task:
            level, drawn = levels[number % len(levels)], number // len(levels)
            name = f"{level}-{stream}-s{seed}-{drawn:04d}"
            code = draw(stream, seed, drawn)
            episode = Episode(name, mission(level, code), level, {"seed": code})
            return Task(episode, Reference(name))

        return DrawnTasks(self.settings.episodes, task)


dataset = Grounding

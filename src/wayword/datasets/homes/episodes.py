"""What all datasets of generated homes share: settings, tasks made when asked for, worlds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import overload

from wayword.core.agent import Demonstration
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.datasets.homes.goals import RoomsReference
from wayword.datasets.homes.home import Home, build_home, home_name
from wayword.datasets.homes.plan import FEWEST, MOST
from wayword.datasets.homes.solving import play
from wayword.worlds.housework.body import Body
from wayword.worlds.housework.scene import Scene
from wayword.worlds.rooms import RoomsWorld

KEPT = 64
"""Homes held in memory at a time; one left out is built again, the same, when asked for."""


@dataclass(frozen=True)
class HomesSettings:
    """``rooms`` counts a hallway, which homes have from five on. Episodes take homes in turn."""

    homes: int = 20
    episodes: int = 140
    seed: int = 0
    rooms: int = 5

    def __post_init__(self) -> None:
        if self.homes < 1 or self.episodes < 1:
            raise UsageError("the settings homes and episodes must be at least 1")
        if not FEWEST <= self.rooms <= MOST:
            raise UsageError(f"rooms={self.rooms} must lie between {FEWEST} and {MOST}")

    def home(self, split: str, number: int) -> str:
        """The name of the home of an episode's number; the split's last word names the stream."""
        stream = split.rpartition("_")[2]
        return home_name(stream, self.seed, self.rooms, number % self.homes)


@dataclass(frozen=True, eq=False)
class Case:
    """An episode with all it takes to play it."""

    task: Task
    home: Home
    scene: Scene

    def world(self, body: Body) -> RoomsWorld:
        """A fresh world; the home's layout is shared."""
        return RoomsWorld(self.scene, body, layout=self.home.with_things(self.scene))


class HomeTasks(Sequence[Task]):
    """Tasks made when they are looked at; a slice makes only its own."""

    def __init__(self, count: int, make: Callable[[int], Task]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._make(index % self._count)


@lru_cache(maxsize=KEPT)
def home_of(name: str) -> Home:
    """The home of that name, built once."""
    return build_home(name)


def first_start(rng: random.Random, home: Home, arrangement: str) -> dict[str, Json]:
    """An episode's start: a free place, one of twelve headings, and which arrangement it is."""
    x, y = rng.choice(home.starts)
    heading = 30.0 * rng.randrange(12)
    pose = {"x": x, "y": y, "heading": heading}
    return {"scene": home.name, "arrangement": arrangement, "poses": {"agent": pose}}


def demonstrate(source: Dataset, count: int, seed: int) -> list[Demonstration]:
    """Episodes of a generated split with the expert's actions."""
    tasks = source.tasks
    rng = random.Random(f"demonstrations/{seed}")
    chosen = rng.sample(range(len(tasks)), min(count, len(tasks)))
    return [_solved(source, tasks[number]) for number in chosen]


def _solved(source: Dataset, task: Task) -> Demonstration:
    world = source.world(task.episode)
    if not isinstance(world, RoomsWorld) or not isinstance(task.reference, RoomsReference):
        raise UsageError(f"{task.episode.id} is no episode of the rooms world")
    world.reset(task.episode)
    actions = tuple(play(world, world.actors[0], task.reference))
    return Demonstration(task.episode, actions, lambda: source.world(task.episode))

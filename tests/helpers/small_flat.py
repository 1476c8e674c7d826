"""Worlds small enough to read every prompt of: a two-room flat, and one with no voice at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from helpers.playing import Scripted
from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.agent import Agent, Demonstration, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, Json, Reference
from wayword.core.rollout import Judge, Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family, Feedback, Observation, World
from wayword.worlds import household
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld


def flat() -> Scene:
    """A kitchen with a table and a mug on it, a door to the east, a hall with a box."""
    house = SceneBuilder("flat")
    house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    house.room("hall", [(4, 0), (7, 0), (7, 3), (4, 3)])
    house.door("door", (4, 1), (4, 2))
    table = house.furniture("table", 2.0, 2.6, 1.0, 0.6, 0.8, receptacle="on")
    house.item("mug", "fillable", "dirtyable", parent=table, dirty=True)
    house.furniture("box", 6.5, 1.5, 0.4, 0.4, 0.3, "openable", receptacle="in")
    return house.build()


@dataclass(frozen=True)
class NoSettings:
    """Nothing to set."""


@dataclass
class SmallFlat(Dataset):
    """One or more actors in the flat; ``body`` is everybody's."""

    instruction: str = "Bring the mug to the hall."
    poses: Mapping[str, tuple[float, float, float]] = field(
        default_factory=lambda: {"agent": (2.0, 1.5, 0.0)}
    )
    body: Body = field(default_factory=Body)
    extra: Mapping[str, Json] = field(default_factory=dict)
    shown: Sequence[Action] = ()
    """The actions of the one demonstration."""

    Settings: ClassVar[type[Any]] = NoSettings
    family: ClassVar[Family] = household.family
    splits: ClassVar[tuple[str, ...]] = ("all",)
    max_steps: ClassVar[int] = 10
    caveats: tuple[str, ...] = ()

    @property
    def files(self) -> Mapping[str, Path]:
        return {}

    @property
    def tasks(self) -> Sequence[Task]:
        poses = {
            a: {"x": x, "y": y, "heading": h} for a, (x, y, h) in self.poses.items()
        }
        start = {"poses": poses}
        episode = Episode(
            "mug", self.instruction, "flat", start, tuple(self.poses), extra=self.extra
        )
        return [Task(episode, Reference("mug"))]

    def world(self, episode: Episode) -> HouseholdWorld:
        return HouseholdWorld(flat(), self.body, shared_names=True)

    def perceiver(self) -> None:
        return None

    def demonstrations(self, count: int, seed: int) -> Sequence[Demonstration]:
        episode = self.tasks[0].episode
        return [
            Demonstration(episode, tuple(self.shown), lambda: self.world(episode))
        ] * count


@dataclass(frozen=True, slots=True)
class LampSeen(Observation):
    """A lamp of a world that nobody gave a voice."""

    lamp: str


class LampWorld(World):
    """A lamp that can be pressed on; a world from outside."""

    actors = ("agent",)

    def __init__(self) -> None:
        self._on = self._stopped = False

    def reset(self, episode: Episode) -> None:
        self._on = self._stopped = False

    def observe(self, actor: str) -> LampSeen:
        return LampSeen("on" if self._on else "off")

    def action_space(self, actor: str) -> ActionSpace:
        return ActionSpace((Action("press"), STOP))

    def step(self, actor: str, action: Action) -> Feedback:
        if action == STOP:
            self._stopped = True
        else:
            self._on = not self._on
        return Feedback("ok", {"light": self._on})

    def done(self, actor: str) -> bool:
        return self._stopped

    def pose(self, actor: str) -> Mapping[str, Json]:
        return {}

    def state(self) -> Mapping[str, Json]:
        return {"on": self._on}


class Lamp(SmallFlat):
    """The lamp as a dataset."""

    family = Family("lamp")

    def world(self, episode: Episode) -> Any:
        return LampWorld()


def play_in(
    dataset: Dataset,
    agent: type[Any],
    answers: Sequence[str] | Callable[..., str],
    max_steps: int = 10,
    judge: Judge | None = None,
    **settings: Any,
) -> tuple[Trajectory, Scripted]:
    """The dataset's first episode with the given answers, and the model that gave them."""
    model = Scripted(answers)
    chosen = agent.Settings(**settings)

    def build(toolkit: Toolkit, actor: str) -> Agent:
        made: Agent = agent(chosen, toolkit)
        return made

    trials = getattr(chosen, "trials", 1)
    setup = Setup(
        dataset, build, {"main": model}, max_steps=max_steps, trials=trials, judge=judge
    )
    return asyncio.run(rollout(dataset.tasks[0], setup)), model

"""A world of two actors who go on and stop, and an agent who does so: for the run loop alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from wayword.core.action import STOP, Action, ActionSpace, Decision
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.core.model import Sampling, user
from wayword.core.perceiver import Perceiver, Percept
from wayword.core.rollout import Outcome, Setup, rollout, run
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family, Feedback, Observation, World

ON = Action("on")


class Hall(World):
    """A world of two actors who go on, each until it stops or ``ends`` is reached."""

    actors = ("ann", "bob")

    def __init__(self, ends: int = 99, unseen: bool = False) -> None:
        self.at: dict[str, int] = {}
        self.stopped: set[str] = set()
        self.ends = ends
        self.unseen = unseen

    def reset(self, episode: Episode) -> None:
        self.at = dict.fromkeys(self.actors, 0)
        self.stopped = set()

    def observe(self, actor: str) -> Observation:
        return Observation()

    def action_space(self, actor: str) -> ActionSpace:
        assert actor in self.actors
        return ActionSpace((ON, STOP))

    def step(self, actor: str, action: Action) -> Feedback:
        if self.unseen:
            raise OSError("nobody sees what came of it")
        if action == STOP:
            self.stopped.add(actor)
        else:
            self.at[actor] += 1
        return Feedback()

    def done(self, actor: str) -> bool:
        return actor in self.stopped or self.at[actor] >= self.ends

    def pose(self, actor: str) -> Mapping[str, Any]:
        return {"at": self.at[actor]}

    def state(self) -> Mapping[str, Any]:
        return {"sum": sum(self.at.values())}


@dataclass
class Halls(Dataset):
    """Halls of one length; the last episode of ``broken`` cannot be opened."""

    count: int = 4
    ends: int = 99
    unseen: bool = False
    broken: Exception | None = None
    family: Family = field(default_factory=lambda: Family("hall"))
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def tasks(self) -> Sequence[Task]:
        names = [f"e{number}" for number in range(self.count)]
        return [
            Task(Episode(n, "go", "", {}, actors=Hall.actors), PathReference(n, ("0",)))
            for n in names
        ]

    def world(self, episode: Episode) -> Hall:
        if self.broken and episode.id == f"e{self.count - 1}":
            raise self.broken
        return Hall(self.ends, self.unseen)

    def perceiver(self) -> None:
        return None

    def demonstrations(self, count: int, seed: int) -> Sequence[Any]:
        return []


@dataclass
class Goer(Agent):
    """Goes on and stops after ``steps``; asks its model where it has one."""

    toolkit: Toolkit
    actor: str
    steps: int = 3
    raises: Exception | None = None
    gone: int = 0

    Settings: ClassVar[type[Any]] = object
    families: ClassVar[frozenset[str]] = frozenset()
    needs_model: ClassVar[bool] = False

    async def begin(self, episode: Episode) -> None:
        self.toolkit.note("began", who=self.actor)

    async def act(self, observation: Observation, space: ActionSpace) -> Decision:
        self.gone += 1
        if self.toolkit.models:
            await self.toolkit.model().complete([user("on?")], Sampling(max_tokens=1))
        self.toolkit.note("turn", number=self.gone, drawn=self.toolkit.rng.random())
        if self.raises and self.gone > 1:
            raise self.raises
        await asyncio.sleep(0)
        return Decision(STOP if self.gone > self.steps else ON)

    def on_feedback(self, decision: object, feedback: Feedback) -> None:
        return None


def setup(halls: Halls | None = None, **given: Any) -> Setup:
    own = {key: given.pop(key) for key in ("steps", "raises") if key in given}
    make = given.pop("make", lambda toolkit, actor: Goer(toolkit, actor, **own))
    return Setup(halls or Halls(), make, **given)  # type: ignore[arg-type]


def played(halls: Halls | None = None, **given: Any) -> Trajectory:
    halls = halls or Halls()
    return asyncio.run(rollout(halls.tasks[0], setup(halls, **given)))


def all_played(
    halls: Halls, concurrency: int = 2, **given: Any
) -> tuple[Outcome, list[tuple[str, str]]]:
    """The outcome, and id and end of each episode in the order they were handed over."""
    ended: list[tuple[str, str]] = []
    outcome = asyncio.run(
        run(
            halls.tasks,
            setup(halls, **given),
            lambda task, text: ended.append((task.episode.id, text.ended)),
            concurrency,
        )
    )
    return outcome, ended


@dataclass(frozen=True)
class Seen(Observation):
    """Who looks, after how many steps."""

    who: str
    at: int


class Mirror(Perceiver):
    """Says of a place who is there."""

    name = "mirror"

    def perceive(self, scene: str, place: str) -> Percept:
        return Percept((), f"{scene} {place}")


class WatchedHall(Hall):
    """Two steps long; shows who looks, and says who went on."""

    def observe(self, actor: str) -> Observation:
        return Seen(actor, self.at[actor])

    def step(self, actor: str, action: Action) -> Feedback:
        super().step(actor, action)
        return Feedback(details={"who": actor} if action == ON else {})


@dataclass
class Watching(Halls):
    """Halls that are seen, perceived and solved."""

    solutions: ClassVar[tuple[str, ...]] = ("best",)

    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tasks(self) -> Sequence[Task]:
        return [
            replace(task, episode=replace(task.episode, extra=self.extra))
            for task in super().tasks
        ]

    def world(self, episode: Episode) -> WatchedHall:
        return WatchedHall()

    def perceiver(self) -> Mirror:
        return Mirror()

    def make_plan(self, task: Task, world: Any, actor: str, kind: str) -> Any:
        yield Action(f"{actor} {kind} {task.episode.id} {world.at[actor]}")


class Reader(Goer):
    """Reads its surroundings, and asks a judge."""

    async def act(self, observation: Observation, space: ActionSpace) -> Decision:
        assert self.toolkit.perceiver is not None
        self.toolkit.perceiver.perceive("e0", self.actor)
        await self.toolkit.model("judge").complete(
            [user("on?")], Sampling(max_tokens=1)
        )
        self.gone += 1
        return Decision(STOP if self.gone > 1 else ON)

"""A small street graph for tests of VELMA: a road north to a four-way junction, and one east.

        n2                 panoramas stand on a straight road from s0 north to n2;
        n1                 at the junction j a road leads west to w1 and east to e2
w1  j   e1  e2             (w1, e2 and n2 are dead ends)
    s3
    s2  s1  s0 are below
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayword.agents.velma.agent import Velma, VelmaSettings
from wayword.core.action import Action
from wayword.core.agent import Demonstration
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.core.perceiver import Perceiver, Percept
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family
from wayword.perception.landmarks import Scores
from wayword.worlds import street
from wayword.worlds.street.graph import StreetGraph, build
from wayword.worlds.street.moves import Navigator
from wayword.worlds.street.world import StreetWorld

IDS = ("s0", "s1", "s2", "s3", "j", "n1", "n2", "w1", "e1", "e2")
ROADS = ((0, ("s0", "s1", "s2", "s3", "j", "n1", "n2")), (90, ("w1", "j", "e1", "e2")))


def small_graph() -> StreetGraph:
    """The graph of the picture above."""
    links = []
    for heading, road in ROADS:
        for one, other in pairwise(road):
            links += [(one, heading, other), (other, (heading + 180) % 360, one)]
    return build("small", IDS, links)


class Eyes(Perceiver):
    """Perceiver and landmark scorer: a fixed score for (panorama, heading, name), else 0."""

    name = "eyes"

    def __init__(
        self, scores: Mapping[tuple[str, int, str], float], flow: Any = None
    ) -> None:
        self._scores = scores
        self._flow = flow

    def perceive(self, scene: str, place: str) -> Percept:
        return Percept(())

    def score(
        self, scene: str, place: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Scores:
        rows = [
            [self._scores.get((place, heading, name), 0.0) for heading in headings]
            for name in landmarks
        ]
        return np.array(rows, np.float64).reshape(len(landmarks), len(headings))

    def flow(self, scene: str, place: str, heading: int) -> Any:
        return self._flow


PARK_AND_SHOP = {
    ("s2", 270, "a park"): 4.0,
    ("s3", 315, "a park"): 3.6,
    ("s3", 270, "a park"): 3.9,
    ("j", 45, "Corner Shop"): 3.5,
    ("j", 0, "Corner Shop"): 3.49,
}
"""Seen from s2 and s3 to the west, and from j to the north-east."""


class SmallStreet(Dataset):
    """One episode north and then east, and training examples elsewhere on the same graph."""

    family: ClassVar[Family] = street.family
    max_steps = 12

    def __init__(self, eyes: Perceiver | None = None, **extra: Any) -> None:
        self._eyes = eyes
        self._extra = extra
        self.navigator = Navigator(small_graph())

    @property
    def tasks(self) -> list[Task]:
        text = 'Pass the park  and turn\nright at the "Corner Shop". Stop at the second tree.'
        start = {"panorama": "s0", "heading": 0}
        episode = Episode("1", text, "small", start, extra=self._extra)
        return [Task(episode, PathReference("1", ("s0", "s1", "s2", "s3", "j", "e1")))]

    def graph(self, scene: str) -> StreetGraph:
        return self.navigator.graph

    def world(self, episode: Episode) -> StreetWorld:
        return StreetWorld(self.navigator)

    def perceiver(self) -> Perceiver | None:
        return self._eyes

    def demonstrations(self, count: int, seed: int) -> list[Demonstration]:
        """Examples west, north, west, north …"""
        if count > 100:
            raise UsageError(f"{count} examples were asked for; lower shots")
        return [self._example(number + seed) for number in range(count)]

    def _example(self, number: int) -> Demonstration:
        words = ("forward", *(("left",) if number % 2 == 0 else ()), "forward", "stop")
        start = {"panorama": "s3", "heading": 0}
        extra = {"landmarks": ["Corner Shop"]}
        episode = Episode(
            f"x{number}", f"Example {number}.", "small", start, extra=extra
        )
        actions = tuple(Action(word) for word in words)
        return Demonstration(episode, actions, lambda: self.world(episode))


class Script(Model):
    """Says the given words, one a call, and keeps prompts and samplings; tokens are words."""

    name = "script"

    def __init__(self, answers: Sequence[str] | Callable[[str], str]) -> None:
        self._answers = answers
        self.prompts: list[str] = []
        self.samplings: list[Sampling] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        assert isinstance(prompt, str), "VELMA continues raw text"
        self.samplings.append(sampling)
        reply = self._next(prompt)
        return Completion(
            (reply,), ("stop",), Usage(len(prompt.split()), len(reply.split()))
        )

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        assert isinstance(prompt, str), "VELMA continues raw text"
        reply = self._next(prompt)
        values = tuple(0.0 if option == reply else -9.0 for option in options)
        return Choice(tuple(options), values, Usage(len(prompt.split()), 1))

    async def aclose(self) -> None:
        """Nothing to close."""

    def _next(self, prompt: str) -> str:
        self.prompts.append(prompt)
        given = self._answers
        return given(prompt) if callable(given) else given[len(self.prompts) - 1]


def play(
    dataset: Any,
    answers: Sequence[str] | Callable[[str], str],
    settings: VelmaSettings | None = None,
    max_steps: int = 12,
    **models: Any,
) -> tuple[Trajectory, Script]:
    """One episode of VELMA with scripted answers."""
    script = Script(answers)
    chosen = settings or VelmaSettings(shots=0)
    setup = Setup(
        dataset, lambda toolkit, actor: Velma(chosen, toolkit), {"main": script} | models,
        max_steps=max_steps,
    )  # fmt: skip
    return asyncio.run(rollout(dataset.tasks[0], setup)), script


GOLDEN = Path(__file__).parent.parent / "golden"
NORTH_THEN_EAST = ["forward"] * 4 + ["right", "forward", "stop"]

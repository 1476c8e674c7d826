"""Many episodes beside one slow server, and what the run loop itself costs a call.

1. 20 and 200 episodes of 10 steps, a call each, against a server that answers after 200 ms. The
   ideal is every episode at once: 10 × 200 ms. The client is loaded by one call before the clock
   starts, and the best of three rounds counts.
2. The same loop with a scripted model: seconds a call that are neither model nor world.

``python -m benchmarks.server_concurrency`` prints both and exits with 1 above 1.15 times the ideal
(of 200 episodes: 1.35 times) or 0.2 ms a call.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from benchmarks._server import slow_server
from wayword.core.action import Action, ActionSpace, Decision
from wayword.core.agent import Agent, Demonstration, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.core.model import Model, Sampling, user
from wayword.core.rollout import Setup, run
from wayword.core.world import Family, Feedback, Observation, World
from wayword.models.middleware.budget import Account
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.models.scripted import ScriptedModel

STEPS, DELAY, ROUNDS = 10, 0.2, 3
WITHIN, OVERHEAD_MS = {20: 1.15, 200: 1.35}, 0.2
"""Bounds: times the ideal, by how many episodes are under way; the loop's own share of a call."""
GO = Action("go")


class Corridor(World):
    """A world of one action."""

    actors = ("agent",)

    def __init__(self) -> None:
        self.steps = 0

    def reset(self, episode: Episode) -> None:
        self.steps = 0

    def observe(self, actor: str) -> Observation:
        return Observation()

    def action_space(self, actor: str) -> ActionSpace:
        return ActionSpace((GO,))

    def step(self, actor: str, action: Action) -> Feedback:
        self.steps += 1
        return Feedback()

    def done(self, actor: str) -> bool:
        return False

    def pose(self, actor: str) -> Mapping[str, Any]:
        return {"at": self.steps}

    def state(self) -> Mapping[str, Any]:
        return {"at": self.steps}


class Walker(Agent):
    """An agent that asks the model once a step and goes on."""

    families: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, toolkit: Toolkit) -> None:
        self._model = toolkit.model()

    async def begin(self, episode: Episode) -> None:
        return None

    async def act(self, observation: Observation, space: ActionSpace) -> Decision:
        answer = await self._model.complete([user("Go on?")], Sampling(max_tokens=1))
        return Decision(GO, answer.text)

    def on_feedback(self, decision: object, feedback: Feedback) -> None:
        return None


@dataclass(frozen=True)
class Corridors(Dataset):
    """A dataset of equal episodes."""

    count: int
    family = Family("corridor")
    files: Mapping[str, Path] = None  # type: ignore[assignment]

    @property
    def tasks(self) -> Sequence[Task]:
        names = [str(i) for i in range(self.count)]
        return [Task(Episode(n, "go", "", {}), PathReference(n, ("0",))) for n in names]

    def world(self, episode: Episode) -> Corridor:
        return Corridor()

    def perceiver(self) -> None:
        return None

    def demonstrations(self, count: int, seed: int) -> Sequence[Demonstration]:
        return []


async def _seconds(model: Model, episodes: int, steps: int, concurrency: int) -> float:
    data = Corridors(episodes)
    setup = Setup(data, lambda toolkit, actor: Walker(toolkit), {"main": model}, 0, steps)  # type: ignore[arg-type,return-value]
    ended: list[int] = []
    began = time.perf_counter()
    outcome = await run(data.tasks, setup, lambda task, t: ended.append(len(t.steps)), concurrency)
    seconds = time.perf_counter() - began
    assert outcome.finished == episodes, outcome
    assert ended == [steps] * episodes
    return seconds


async def _against_a_server(episodes: int) -> float:
    """Seconds: the best of the rounds."""
    with slow_server(DELAY) as address:
        bare = open_model("openai:slow", {"base_url": address})
        model = wrap(bare, Options(), Account(max_tokens=10**9))
        await model.complete([user("warm up")], Sampling(max_tokens=1))
        seconds = min([await _seconds(model, episodes, STEPS, episodes) for _ in range(ROUNDS)])
        await model.aclose()
    return seconds


async def _overhead() -> float:
    """The best of five rounds, less what the model itself takes: seconds a call."""
    model, sampling = ScriptedModel(answers=lambda prompt, sampling: "on"), Sampling(max_tokens=1)
    calls = 50 * 40
    whole = min([await _seconds(model, 50, 40, 8) for _ in range(5)])
    began = time.perf_counter()
    for _ in range(calls):
        await model.complete([user("Go on?")], sampling)
    return (whole - (time.perf_counter() - began)) / calls


def measure() -> dict[str, float]:
    """``of_ideal_20`` …: times the ideal against the server; ``overhead_ms`` a model call."""
    ideal = STEPS * DELAY
    ratios = {f"of_ideal_{n}": asyncio.run(_against_a_server(n)) / ideal for n in WITHIN}
    return {**ratios, "overhead_ms": 1000 * asyncio.run(_overhead())}


def main() -> int:
    """Print the ratios; 1 where a bound is broken."""
    found = measure()
    for number, bound in WITHIN.items():
        print(f"{number} episodes × {STEPS} steps beside a {1000 * DELAY:.0f} ms server: ", end="")
        print(f"{found[f'of_ideal_{number}']:.3f}× the ideal (at most {bound}×)")
    print(f"run loop a model call: {found['overhead_ms']:.3f} ms (under {OVERHEAD_MS} ms)")
    slow = any(found[f"of_ideal_{number}"] > bound for number, bound in WITHIN.items())
    return int(slow or found["overhead_ms"] >= OVERHEAD_MS)


if __name__ == "__main__":
    sys.exit(main())

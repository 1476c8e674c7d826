"""Many episodes beside one slow server, and what the run loop itself costs a call.

1. 20 and 200 episodes of 10 steps, a call each, against a server that answers after 200 ms, with a
   budget and without. The ideal is every episode at once: 10 × 200 ms. Each round is a process of
   its own, measured from its first call on: start-up aside, nothing is warmed up. The best of three
   rounds counts.
2. The same loop with a scripted model: seconds a call that are neither model nor world.

``python -m benchmarks.server_concurrency`` prints both and exits with 1 above 1.3 times the ideal
or 0.1 ms a call.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from benchmarks._rows import Rows
from benchmarks._server import slow_server
from wayword.core.action import Action, ActionSpace, Decision
from wayword.core.agent import Agent, Demonstration, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.core.model import Model, Sampling, user
from wayword.core.rollout import Setup, run
from wayword.core.trajectory import Step
from wayword.core.world import Family, Feedback, Observation, World
from wayword.models.middleware.budget import Account
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.models.scripted import ScriptedModel
from wayword.runs.config import Spending

STEPS = 10
DELAY = 0.2
ROUNDS = 3
EPISODES, BUDGETS = (20, 200), (0, 10**7)
"""Episodes, all at once; budgets in tokens, 0 for none (the episodes take 202,000)."""
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


async def _seconds(
    model: Model,
    episodes: int,
    steps: int,
    concurrency: int,
    account: Account | None = None,
) -> float:
    data = Corridors(episodes)

    def stepped(episode: str, step: Step) -> None:
        if account is not None:
            account.stepped()

    setup = Setup(
        data,  # type: ignore[arg-type]
        lambda toolkit, actor: Walker(toolkit),  # type: ignore[arg-type,return-value]
        {"main": model},
        max_steps=steps,
        on_step=stepped,
        gate=account,
    )
    ended: list[int] = []
    began = time.perf_counter()
    outcome = await run(
        data.tasks, setup, lambda task, t: ended.append(len(t.steps)), concurrency
    )
    seconds = time.perf_counter() - began
    assert outcome.finished == episodes, outcome
    assert ended == [steps] * episodes
    return seconds


async def _from_the_first_call(address: str, episodes: int, tokens: int) -> float:
    """Seconds of all episodes in this process, which has made no call yet. The ledger is a file."""
    account = Account(max_tokens=tokens or None)
    account.estimate.limit = STEPS
    with tempfile.TemporaryDirectory() as folder:
        account.ledger = ledger = Spending(Path(folder))
        settings = {"base_url": address, "profile": {"window": 100_000}}
        model = wrap(open_model("openai:slow", settings), Options(), account)
        await model.prepare()
        seconds = await _seconds(model, episodes, STEPS, episodes, account)
        ledger.close()
        await model.aclose()
    assert account.tokens == episodes * STEPS * 101, account
    return seconds


def _against_a_server(episodes: int, tokens: int) -> float:
    """Seconds: the best of the rounds."""
    rounds = []
    for _ in range(ROUNDS):
        with slow_server(DELAY) as address:
            command = [
                sys.executable,
                "-m",
                __spec__.name,
                address,
                str(episodes),
                str(tokens),
            ]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            rounds.append(float(done.stdout))
    return min(rounds)


async def _overhead() -> float:
    """The best of five rounds, less what the model itself takes: seconds a call."""
    model = ScriptedModel(answers=lambda prompt, sampling: "on")
    sampling = Sampling(max_tokens=1)
    calls = 50 * 40
    total = min([await _seconds(model, 50, 40, 8) for _ in range(5)])
    began = time.perf_counter()
    for _ in range(calls):
        await model.complete([user("Go on?")], sampling)
    return (total - (time.perf_counter() - began)) / calls


def measure() -> dict[str, float]:
    """``of_ideal_20`` …: times the ideal against the server; ``overhead_ms`` a model call."""
    ideal = STEPS * DELAY
    ratios = {
        f"of_ideal_{n}{'_budget' if tokens else ''}": _against_a_server(n, tokens)
        / ideal
        for n in EPISODES
        for tokens in BUDGETS
    }
    return {**ratios, "overhead_ms": 1000 * asyncio.run(_overhead())}


def main() -> int:
    """Print the ratios; 1 where a bound is broken."""
    found = measure()
    rows = Rows("server_concurrency")
    rows.add("ideal_20", found["of_ideal_20"], at_most=1.15)
    rows.add("ideal_20_budget", found["of_ideal_20_budget"], at_most=1.15)
    rows.add("ideal_200", found["of_ideal_200"], at_most=1.3)
    rows.add("ideal_200_budget", found["of_ideal_200_budget"], at_most=1.3)
    rows.add("overhead_ms", found["overhead_ms"], at_most=0.1)
    return rows.exit_code()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
        print(asyncio.run(_from_the_first_call(*options)))
    else:
        sys.exit(main())

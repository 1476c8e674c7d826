"""Lists of landmarks are requested once, also by episodes that begin together."""

from __future__ import annotations

import asyncio
from typing import Any

from helpers.small_street import Eyes, Script, SmallStreet
from wayword.agents.velma.agent import Velma, VelmaSettings
from wayword.core.errors import ModelError
from wayword.core.model import Completion
from wayword.core.rollout import Setup, rollout

SETTINGS = VelmaSettings(shots=0, landmarks="model")


class SlowLister(Script):
    """Lists landmarks after a moment; the first ``failures`` requests fail."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__(lambda prompt: "\n1. a park")
        self.failures = failures
        self.requests = 0

    async def complete(self, *request: Any, **options: Any) -> Completion:
        self.requests += 1
        await asyncio.sleep(0.01)
        if self.requests <= self.failures:
            raise ModelError("no connection")
        return await super().complete(*request, **options)


def played(lister: SlowLister, episodes: int) -> list[str | None]:
    """Play the same episode several times at once; return how each ended."""
    dataset: Any = SmallStreet(Eyes({("s0", 0, "a park"): 9.0}))
    models: Any = {"main": Script(lambda prompt: "stop"), "landmarks": lister}

    def make(toolkit: Any, actor: str) -> Velma:
        return Velma(SETTINGS, toolkit)

    setup = Setup(dataset, make, models, max_steps=4)

    async def together() -> list[Any]:
        task = dataset.tasks[0]
        return await asyncio.gather(*(rollout(task, setup) for _ in range(episodes)))

    return [trajectory.ended for trajectory in asyncio.run(together())]


def test_a_list_is_requested_once() -> None:
    lister = SlowLister()
    assert played(lister, 8) == ["stopped"] * 8
    assert lister.requests == 1


def test_the_next_episode_asks_after_a_failure() -> None:
    lister = SlowLister(failures=1)
    assert sorted(map(str, played(lister, 4))) == ["failed", *["stopped"] * 3]
    assert lister.requests == 2

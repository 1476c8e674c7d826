"""Little of a budget goes to dropped episodes, whatever their lengths; and none is stuck."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytest

from wayword.core.errors import BudgetExhausted
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.models.middleware import budget
from wayword.models.middleware.budget import Account, PaidModel
from wayword.models.middleware.cache import AnswerCache, CachedModel

TURNS = 30
LENGTHS: dict[str, Callable[[random.Random], int]] = {
    "same": lambda rng: 10,
    "uniform": lambda rng: rng.randint(3, TURNS),
    "geometric": lambda rng: min(TURNS, 2 + int(rng.expovariate(1 / 6))),
    "often at the limit": lambda rng: (
        TURNS if rng.random() < 0.3 else rng.randint(4, 9)
    ),
    "lognormal": lambda rng: max(1, min(TURNS, round(rng.lognormvariate(2, 0.7)))),
}
COSTS: dict[str, Callable[[random.Random, int], int]] = {
    "flat": lambda rng, turn: 1000,
    "growing history": lambda rng, turn: 680 + 120 * turn,
    "reasoning": lambda rng, turn: 500 + round(rng.lognormvariate(6, 0.8)),
}
_TOKENS: ContextVar[int] = ContextVar("tokens")


class Billed(Model):
    """A model whose calls cost what the caller's context names, and take one to five turns of the
    event loop."""

    name = "billed:1"

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        usage = Usage(_TOKENS.get(), 0)
        for _ in range(self.rng.randint(1, 5)):
            await asyncio.sleep(0)
        return Completion(("done",), usage=usage)

    async def choose(self, prompt: Prompt, options: object) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


class Spent(NamedTuple):
    """Shares of a run's bill and budget."""

    dropped: float
    finished: float


def spent(lengths: str, costs: str, worth: int, concurrency: int, seed: int) -> Spent:
    """Spend a budget of ``worth`` mean episodes; what was dropped of the bill, finished of the
    budget."""
    rng = random.Random(seed)
    episodes = [
        [COSTS[costs](rng, turn) for turn in range(LENGTHS[lengths](rng))]
        for _ in range(200)
    ]
    account = Account(max_tokens=round(worth * mean(map(sum, episodes))))
    account.estimate.limit = TURNS
    model = PaidModel(Billed(rng), account)
    bills = {True: 0, False: 0}
    queue = iter(episodes)

    async def work() -> None:
        for episode in queue:
            taken = 0
            is_full = False
            try:
                account.begin()
                for tokens in episode:
                    _TOKENS.set(tokens)
                    await model.complete("x", Sampling())
                    taken += tokens
                    account.stepped()
                    for _ in range(rng.randint(0, 2)):
                        await asyncio.sleep(0)
                is_full = True
            except BudgetExhausted:
                queue.__init__(())  # type: ignore[misc]
                return
            finally:
                bills[is_full] += taken
                account.end(is_full)
            await asyncio.sleep(0)

    async def go() -> None:
        async with asyncio.timeout(600), asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())

    asyncio.run(go())
    assert sum(bills.values()) == account.tokens
    return Spent(bills[False] / account.tokens, bills[True] / (account.max_tokens or 1))


def test_little_of_a_budget_goes_to_episodes_that_are_dropped() -> None:
    """Budgets of 5 to 40 episodes, 8 and 64 at once."""
    found: dict[tuple[str, int], list[Spent]] = {}
    for lengths, costs, worth in itertools.product(LENGTHS, COSTS, (5, 10, 20, 40)):
        for concurrency, seed in ((8, 1), (64, 2)):
            each = spent(lengths, costs, worth, concurrency, seed)
            found.setdefault((lengths, worth), []).append(each)
    runs = [each for some in found.values() for each in some]
    assert mean(run.dropped for run in runs) < 0.05
    assert mean(run.finished for run in runs) > 0.8
    for (lengths, worth), some in found.items():
        assert mean(run.dropped for run in some) < 0.2, (lengths, worth)
    assert (
        max(run.dropped for key, some in found.items() if key[1] >= 20 for run in some)
        < 0.3
    )


def test_an_episode_that_an_older_one_waits_for_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ask the same question: the older one waits for the younger one's answer, which the cache
    keeps, and the younger one for what the older one may still need."""
    monkeypatch.setattr(budget, "_STALL_S", 0.1)
    account = Account(max_tokens=10_000)
    inner = PaidModel(Billed(random.Random(0)), account)
    model = CachedModel(inner, AnswerCache(tmp_path / "cache.db"))
    order: list[str] = []

    async def older() -> None:
        account.begin()
        _TOKENS.set(4000)
        await inner.complete("first", Sampling())
        while not (model._flying or order):
            await asyncio.sleep(0.01)
        await model.complete("same", Sampling())
        order.append("older")
        account.end(True)

    async def younger() -> None:
        account.begin()
        _TOKENS.set(10)
        while not account.calls:
            await asyncio.sleep(0.01)
        await model.complete("same", Sampling())
        order.append("younger")
        account.end(True)

    async def both() -> None:
        async with asyncio.timeout(600):
            await asyncio.gather(older(), younger())
        await model.aclose()

    asyncio.run(both())
    assert sorted(order) == ["older", "younger"]
    assert account.tokens == 4010


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_a_budget_below_one_episode_is_spent_on_one(concurrency: int) -> None:
    rng = random.Random(3)
    account = Account(max_tokens=5_500)
    model = PaidModel(Billed(rng), account)
    calls = [0] * concurrency

    async def work(number: int) -> None:
        account.begin()
        _TOKENS.set(1000)
        for _ in range(10):
            await model.complete("x", Sampling())
            calls[number] += 1

    async def go() -> None:
        async with asyncio.timeout(600):
            await asyncio.gather(*map(work, range(concurrency)), return_exceptions=True)

    asyncio.run(go())
    assert account.tokens == 6_000
    assert max(calls) >= 4

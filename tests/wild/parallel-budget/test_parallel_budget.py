"""A burst of calls exceeds a budget by one call at most."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from wayword.core.errors import BudgetExhausted
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage, user
from wayword.models.middleware.budget import Account, PaidModel
from wayword.models.middleware.prices import Price

COST = 0.01


class Slow(Model):
    """A model that answers later, so that all calls are in progress at once."""

    name = "slow:1"

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        await asyncio.sleep(0.002)
        return Completion(("left",), usage=Usage(1000, 0))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError


@pytest.mark.parametrize("calls", [8, 64])
@pytest.mark.parametrize("budget", [0.000_000_001, 0.045, 0.2])
def test_a_burst_exceeds_a_budget_by_one_call_at_most(
    budget: float, calls: int
) -> None:
    account = Account(max_dollars=budget)
    model = PaidModel(Slow(), account, Price(input=10.0, output=0.0))

    async def burst() -> list[object]:
        sampling = Sampling(max_tokens=5)
        requests = (model.complete([user("Go on.")], sampling) for _ in range(calls))
        return await asyncio.gather(*requests, return_exceptions=True)

    results = asyncio.run(burst())
    assert account.dollars <= budget + COST + 1e-9
    refused = sum(isinstance(each, BudgetExhausted) for each in results)
    assert calls - refused == round(account.dollars / COST)

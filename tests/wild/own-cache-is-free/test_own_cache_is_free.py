"""An answer from the own cache costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage, user
from wayword.models.middleware.budget import Account
from wayword.models.parts.opening import Options, wrap


class Answers(Model):
    name = "openai:m"

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        return Completion(("left",), usage=Usage(1000, 10))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError


def test_an_answer_from_the_own_cache_costs_nothing(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:m: {input: 2.0, output: 8.0}\n", encoding="utf-8")
    options = Options(cache=tmp_path / "cache.db", prices=prices)
    costs = []
    spent = []
    for _ in range(2):
        account = Account()
        model = wrap(Answers(), options, account)

        async def ask(model: Model = model) -> Completion:
            sampling = Sampling(temperature=0.0, max_tokens=20)
            answer = await model.complete([user("Go on.")], sampling)
            await model.aclose()
            return answer

        answer = asyncio.run(ask())
        costs.append(answer.cost)
        spent.append((account.calls, account.tokens, round(account.dollars, 6)))
    assert spent == [(1, 1010, 0.00208), (0, 0, 0.0)]
    assert costs == [0.00208, 0.0]

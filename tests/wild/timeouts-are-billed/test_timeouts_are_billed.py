"""Attempts that time out count like those that are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from wayword.core.errors import BudgetExhausted, ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage, user
from wayword.models.middleware.budget import Account, PaidModel, sending
from wayword.models.middleware.rate import RetryingModel, RetryPolicy

CAP = Usage(900, 200, estimated=True)
ANSWER = Usage(900, 100)


class TimesOut(Model):
    """A model that answers the third attempt of each call, but for the first ten calls."""

    name = "slow:1"

    def __init__(self) -> None:
        self.requests = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        async with sending(CAP) as request:
            self.requests += 1
            if self.requests > 10 and self.requests % 3:
                raise ModelError(
                    "no reply", retryable=True, billed=CAP, lost="time limit"
                )
            request.billed = ANSWER
        return Completion(("left",), usage=ANSWER)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError


async def _no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


def played(account: Account, calls: int) -> tuple[TimesOut, list[Completion]]:
    server = TimesOut()
    policy = RetryPolicy(5, sleep=_no_wait)
    model = PaidModel(RetryingModel(server, policy, account.retried), account)
    answers = list[Completion]()

    async def ask() -> None:
        for _ in range(calls):
            prompt = [user("Go on.")]
            answers.append(await model.complete(prompt, Sampling(max_tokens=200)))

    with suppress(BudgetExhausted):
        asyncio.run(ask())
    return server, answers


def test_each_attempt_is_in_the_account_and_in_the_answer_that_follows() -> None:
    account = Account()
    server, answers = played(account, 30)
    assert server.requests > 60
    assert 0.98 <= account.tokens / (1000 * server.requests) <= 1.3
    in_answers = sum(each.usage.prompt + each.usage.completion for each in answers)
    assert in_answers == account.tokens


def test_no_attempt_is_made_once_the_budget_is_spent() -> None:
    account = Account(max_tokens=20_000)
    server, _ = played(account, 30)
    assert 18 <= server.requests <= 20

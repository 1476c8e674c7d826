"""Rules that hold for every field, every number of calls and every patience."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import ModelError
from wayword.core.model import (
    Choice,
    Completion,
    Image,
    Message,
    Model,
    Prompt,
    Sampling,
    Tool,
    Usage,
)
from wayword.models.middleware import budget
from wayword.models.middleware.budget import Account, PaidModel
from wayword.models.middleware.cache import (
    AnswerCache,
    CachedModel,
    choice_key,
    completion_key,
)
from wayword.models.middleware.prices import Price
from wayword.models.middleware.rate import RetryingModel, RetryPolicy
from wayword.models.scripted import ScriptedModel

OTHER: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "max_tokens": 511,
    "stop": ("\n",),
    "n": 2,
    "seed": 0,
    "json_schema": {"type": "object"},
    "grammar": "root ::= 'a'",
    "choices": ("a",),
    "logprobs": 1,
    "tools": (Tool("look", "Look.", {}),),
    "parallel_calls": True,
}


def test_every_part_of_a_question_is_in_its_key() -> None:
    assert {each.name for each in fields(Sampling)} == set(OTHER), "add the new field"
    plain = Message("user", "Go on.", (Image(b"1"),))
    messages = [
        plain,
        replace(plain, role="assistant"),
        replace(plain, role="system"),
        replace(plain, content="Go on"),
        replace(plain, images=()),
        replace(plain, images=(Image(b"2"),)),
        replace(plain, images=(Image(b"1", media_type="image/webp"),)),
        replace(plain, images=(Image(b"1"), Image(b"1"))),
    ]
    prompts: list[Prompt] = ["Go on.", "Go on", [], [plain, plain]]
    prompts += [[message] for message in messages]
    samplings = [Sampling()]
    samplings += [Sampling(**{name: value}) for name, value in OTHER.items()]
    options = [("a",), ("a", "b"), ("b", "a"), ("ab",)]
    keys = [completion_key(p, s) for p in prompts for s in samplings]
    keys += [choice_key(p, o) for p in prompts for o in options]
    assert len(keys) == len(set(keys))


def test_models_do_not_share_answers(tmp_path: Path) -> None:
    async def answers(text: str) -> list[str]:
        inner = ScriptedModel(answers=lambda prompt, sampling: text)
        inner.identity = text
        inner.choose = picks(text)  # type: ignore[method-assign]
        model = CachedModel(inner, AnswerCache(tmp_path / "cache.db"))
        completion = await model.complete("x", Sampling())
        choice = await model.choose("x", ("left", "right"))
        await model.aclose()
        return [completion.text, choice.best]

    def picks(text: str) -> Any:
        async def choose(prompt: Prompt, options: Sequence[str]) -> Choice:
            values = tuple(0.0 if option == text else -9.0 for option in options)
            return Choice(tuple(options), values)

        return choose

    for text in ("left", "right", "left"):
        assert asyncio.run(answers(text)) == [text, text]


class Metered(Model):
    """Each call costs ten tokens; ``most`` is the largest number at once."""

    name = "metered:1"

    def __init__(self) -> None:
        self.calls = self.most = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.calls += 1
        self.most = max(self.most, self.calls)
        for _ in range(100):
            await asyncio.sleep(0)
        self.calls -= 1
        return Completion(("done",), usage=Usage(10, 0))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("left", [1, 2, 3, 5, 9])
def test_as_many_calls_are_made_at_once_as_the_rest_covers(
    left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "SPREAD", 0.0)  # all cost the same
    inner = Metered()
    account = Account(max_tokens=10 * (1 + left) + 5)
    model = PaidModel(inner, account)

    async def go() -> None:
        calls = [model.complete("x", Sampling()) for _ in range(40)]
        await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(go())
    assert inner.most == max(1, left)
    assert account.tokens <= 10 * (2 + left)
    assert account.pending == 0


class Gone(Model):
    """Answers once, and is away from then on; it asks for a wait of ``retry_after``."""

    name = "gone:1"

    def __init__(self, retry_after: float | None) -> None:
        self.asked = 0
        self.retry_after = retry_after

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        await asyncio.sleep(0)
        self.asked += 1
        if self.asked > 1:
            raise ModelError(
                "503", retryable=True, away=True, retry_after=self.retry_after
            )
        return Completion(("done",), usage=Usage(1, 1))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("patience", [40.0, 300.0, 600.0])
@pytest.mark.parametrize("retry_after", [None, 5.0, 35.0])
@pytest.mark.parametrize("callers", [1, 16])
def test_an_outage_ends_the_run_when_patience_does(
    clock: Any, patience: float, retry_after: float | None, callers: int
) -> None:
    """Not before, and one wait later at the latest."""
    policy = RetryPolicy(sleep=clock.sleep, clock=clock, patience=patience)
    server = Gone(retry_after)
    model = RetryingModel(server, policy)

    async def go() -> list[Any]:
        await model.complete("x", Sampling())
        calls = [model.complete("x", Sampling()) for _ in range(callers)]
        return await asyncio.gather(*calls, return_exceptions=True)

    began = clock()
    failures = asyncio.run(go())
    assert all(isinstance(error, ModelError) and error.fatal for error in failures)
    longest_wait = max(64.0, retry_after or 0.0) + 1.0
    if callers == 1:  # the waits of several callers add up on this clock
        assert clock() - began <= patience + 2 * longest_wait
    assert clock() - began >= patience - longest_wait
    # callers that came first have retries of their own; in the outage, one of them probes
    assert server.asked <= callers * 5 + patience


@pytest.mark.parametrize("patience", [10.0, 30.0])
@pytest.mark.parametrize("failures_before", [0, 1, 4, 6])
def test_no_wait_is_longer_than_patience(
    clock: Any, patience: float, failures_before: int
) -> None:
    away = ModelError("503", retryable=True, away=True)
    asks_long = ModelError("503", retryable=True, away=True, retry_after=patience + 1)
    script: list[ModelError | None] = [None, *[away] * failures_before, asks_long]

    class Scripted(Gone):
        async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
            error = script.pop(0) if len(script) > 1 else script[0]
            if error is not None:
                raise error
            return Completion(("done",), usage=Usage(1, 1))

    policy = RetryPolicy(
        sleep=clock.sleep, clock=clock, patience=patience, longest=patience
    )
    model = RetryingModel(Scripted(None), policy)
    asyncio.run(model.complete("x", Sampling()))
    with pytest.raises(ModelError):
        asyncio.run(model.complete("x", Sampling()))
    assert all(wait <= patience for wait in clock.slept)


# A lower ``long`` is the dearer one, and ``regional`` depends on the address
PARTS = {each.name for each in fields(Price)} - {"long", "regional"}


@pytest.mark.parametrize("name", sorted(PARTS))
def test_of_two_prices_each_part_is_the_higher_one(name: str) -> None:
    shares = {"flex": 0.4, "batch": 0.4, "priority": 1.5}
    low = Price(2.0, 8.0, 0.5, write=2.5, write_hour=4.0, **shares)
    high = replace(low, **{name: getattr(low, name) * 2})
    tier = name if name in shares else "flex"
    used = Usage(1000, 100, 300, written=200, written_hour=50, tier=tier)
    assert low.higher(high) == high.higher(low) == high
    assert high.of(used) > low.of(used)


def test_a_price_without_parts_is_compared_at_what_they_cost() -> None:
    plain = Price(2.0, 8.0)
    cheap = Price(2.0, 8.0, cached=0.1, write_hour=3.0)
    assert plain.higher(cheap) == Price(2.0, 8.0, cached=2.0, write_hour=4.0)


@pytest.mark.parametrize("query", [1.0, 59.0, 61.0, 300.0])
def test_a_server_is_given_the_time_that_it_asks_for(query: float) -> None:
    wait = RetryPolicy(patience=600.0).wait(0, query)
    assert query <= wait <= query + 0.5

"""Retry, rate, budget and pricing, on clocks that only sleeping moves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import BudgetExhausted, DataError, ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.models.middleware.budget import Account, PaidModel
from wayword.models.middleware.ledger import LedgerRow
from wayword.models.middleware.prices import Price, load_prices
from wayword.models.middleware.rate import (
    Limiter,
    RateLimitedModel,
    RetryingModel,
    RetryPolicy,
)
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.models.scripted import ScriptedModel


class Flaky(Model):
    """Raises the errors given, in order, then answers."""

    name = "flaky:1"

    def __init__(self, *errors: ModelError) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self._fail()
        return Completion(("done",), usage=Usage(100, 20, 40))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        self._fail()
        return Choice(tuple(options), tuple(0.0 for _ in options), Usage(100, 1))

    async def aclose(self) -> None:
        self.calls = -1

    def _fail(self) -> None:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)


def _retrying(inner: Model, clock: Any, **policy: Any) -> RetryingModel:
    given = RetryPolicy(sleep=clock.sleep, clock=clock, rng=random.Random(1), **policy)
    return RetryingModel(inner, given)


def _passing(wish: float | None = None) -> ModelError:
    return ModelError("busy", retryable=True, retry_after=wish)


def test_passing_failures_are_tried_again_with_growing_waits(clock: Any) -> None:
    model = _retrying(Flaky(_passing(), _passing(), _passing()), clock)
    assert asyncio.run(model.complete("x", Sampling())).text == "done"
    assert len(clock.slept) == 3
    for k, wait in enumerate(clock.slept):
        assert 0.5 * 2**k <= wait <= 2**k


def test_waits_have_an_upper_bound(clock: Any) -> None:
    model = _retrying(Flaky(*[_passing()] * 9), clock, retries=9, longest=5.0)
    asyncio.run(model.complete("x", Sampling()))
    assert max(clock.slept) <= 5.0


def test_retry_after_is_honoured(clock: Any) -> None:
    model = _retrying(Flaky(_passing(17.0)), clock)
    asyncio.run(model.choose("x", ["a"]))
    assert 17.0 <= clock.slept[0] <= 17.5


def test_gives_up_after_the_last_attempt(clock: Any) -> None:
    inner = Flaky(*[_passing()] * 9)
    with pytest.raises(ModelError, match="busy; gave up after 3 attempts") as caught:
        asyncio.run(_retrying(inner, clock, retries=2).complete("x", Sampling()))
    assert inner.calls == 3
    assert not caught.value.retryable


def test_a_server_that_asks_for_an_hour_ends_the_call(clock: Any) -> None:
    with pytest.raises(ModelError, match="requests a wait of 3600 s"):
        asyncio.run(_retrying(Flaky(_passing(3600.0)), clock).complete("x", Sampling()))
    assert clock.slept == []


def test_lasting_failures_are_not_tried_again(clock: Any) -> None:
    lasting = ModelError("no such model", retry_after=3.0, away=True)
    inner = Flaky(lasting)
    with pytest.raises(ModelError, match="no such model") as caught:
        asyncio.run(_retrying(inner, clock).complete("x", Sampling()))
    assert caught.value is lasting, "its details stay"
    assert inner.calls == 1


def test_requests_a_minute(clock: Any) -> None:
    limiter = Limiter(60, clock=clock, sleep=clock.sleep)
    model = RateLimitedModel(Flaky(), limiter)
    began = clock.now

    async def many() -> None:
        await asyncio.gather(*(model.complete("x", Sampling()) for _ in range(126)))

    asyncio.run(many())
    # six seconds' worth may go at once, the other 120 one a second
    assert clock.now - began == pytest.approx(120, abs=0.01)


def test_turns_are_in_the_order_of_asking(clock: Any) -> None:
    limiter = Limiter(10, clock=clock, sleep=clock.sleep)
    order: list[int] = []

    async def ask(number: int) -> None:
        await limiter.admit()
        order.append(number)

    async def many() -> None:
        await asyncio.gather(*map(ask, range(6)))

    asyncio.run(many())
    assert order == [0, 1, 2, 3, 4, 5]


def test_the_budget_in_tokens_is_one_for_all_models() -> None:
    account = Account(max_tokens=250)
    one = PaidModel(Flaky(), account)
    other = PaidModel(Flaky(), account)
    asyncio.run(one.complete("x", Sampling()))
    asyncio.run(other.choose("x", ["a"]))
    asyncio.run(one.complete("x", Sampling()))
    with pytest.raises(BudgetExhausted, match="250 tokens is spent"):
        asyncio.run(other.complete("x", Sampling()))
    assert (account.calls, account.tokens) == (3, 341)


def test_the_budget_in_dollars() -> None:
    prices = load_prices()
    inner = Flaky()
    inner.name = "openai:gpt-4.1"
    account = Account(max_dollars=0.0002)
    model = PaidModel(inner, account, prices.of(inner.name))
    asyncio.run(model.complete("x", Sampling()))
    # 60 fresh tokens at $2, 40 cached at $0.50, 20 written at $8 a million
    assert account.dollars == pytest.approx((60 * 2 + 40 * 0.5 + 20 * 8) / 1e6)
    with pytest.raises(BudgetExhausted, match=r"\$0.0002 is spent \(\$0.0003 used\)"):
        asyncio.run(model.complete("x", Sampling()))


async def turns(count: int) -> None:
    """Let the event loop turn: calls meet by order, however slow the machine is."""
    for _ in range(count):
        await asyncio.sleep(0)


class Dear(Model):
    """Answers after two hundred turns of the event loop, at a number of tokens a call."""

    name = "dear:1"

    def __init__(self, *tokens: int) -> None:
        self.tokens = list(tokens)
        self.flying = 0
        self.most = [0]

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.flying += 1
        self.most.append(self.flying)
        await turns(200)
        self.flying -= 1
        if prompt == "refused":
            raise ModelError("no")
        cost = self.tokens.pop(0) if len(self.tokens) > 1 else self.tokens[0]
        return Completion(("done",), usage=Usage(cost, 0))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


def _all_at_once(model: Model, *prompts: str) -> list[Completion | BaseException]:
    async def go() -> list[Completion | BaseException]:
        has_question = [model.complete(prompt, Sampling()) for prompt in prompts]
        return await asyncio.gather(*has_question, return_exceptions=True)

    return asyncio.run(go())


@pytest.mark.parametrize(("budget", "spent"), [(5, 10), (10, 10), (25, 30), (400, 200)])
def test_calls_at_once_do_not_pass_the_budget_together(budget: int, spent: int) -> None:
    account = Account(max_tokens=budget)
    inner = Dear(10)
    answers = _all_at_once(PaidModel(inner, account), *["x"] * 20)
    assert account.tokens == spent
    refused = [answer for answer in answers if not isinstance(answer, Completion)]
    assert all(isinstance(error, BudgetExhausted) for error in refused)
    assert len(refused) == 20 - spent // 10
    assert inner.most[1] == 1  # what a call costs is not known yet
    assert account.pending == 0


def test_calls_of_a_wide_budget_are_made_at_once() -> None:
    inner = Dear(10)
    _all_at_once(PaidModel(inner, Account(max_tokens=10_000)), *["x"] * 20)
    assert max(inner.most) == 19
    unlimited = Dear(10)
    _all_at_once(PaidModel(unlimited, Account()), *["x"] * 20)
    assert max(unlimited.most) == 20


def test_calls_of_older_episodes_go_first() -> None:
    """Eight begin at once; whatever order they ask in, the oldest is finished first."""
    account = Account(max_tokens=80)
    done = []
    model = PaidModel(Dear(10), account)

    async def episode(number: int) -> None:
        account.begin()
        await turns(8 - number)  # the youngest asks first
        try:
            for _ in range(4):
                await model.complete("x", Sampling())
            done.append(number)
        finally:
            account.end(number in done)

    async def run() -> None:
        await asyncio.gather(*(episode(n) for n in range(8)), return_exceptions=True)

    asyncio.run(run())
    assert done[:1] == [0]
    assert account.tokens <= 80


def test_a_first_call_that_fails_lets_the_next_one_go() -> None:
    answers = _all_at_once(
        PaidModel(Dear(10), Account(max_tokens=99)), "refused", "x", "x"
    )
    assert isinstance(answers[0], ModelError)
    assert [type(answer) for answer in answers[1:]] == [Completion, Completion]


def test_a_limit_in_dollars_needs_prices() -> None:
    model = PaidModel(Flaky(), Account(max_dollars=1.0))
    assert asyncio.run(model.complete("x", Sampling())).cost is None
    with pytest.raises(BudgetExhausted, match="needs prices"):
        asyncio.run(model.complete("x", Sampling()))


def test_the_users_prices_go_first_and_the_most_specific_wins(tmp_path: Path) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text(
        "openai:gpt-4o: {input: 1, output: 2}\nopenai:gpt-*: {input: 9, output: 9}\n"
    )
    prices = load_prices(own)
    found = {
        name: prices.of(name) for name in ("openai:gpt-4o", "openai:gpt-9", "local:x")
    }
    assert [price.input if price else None for price in found.values()] == [
        1.0,
        9.0,
        0.0,
    ]
    assert prices.of("unheard:of") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "must be a mapping"),
        (
            "a: {input: 1}",
            r"price of a: setting output is missing; write \{input: 1.25",
        ),
        (
            "a: {input: x, output: 1}",
            "price of a: setting input must be a number, got 'x'",
        ),
        (
            "a: {input: 2000000, output: 1}",
            "price of a: setting input must be at most 1,000,000",
        ),
        (
            f"a: {{input: 1{'0' * 400}, output: 1}}",
            r"cannot be read as prices: a whole number must be below 2\*\*63",
        ),
        (f"a: {{input: 1, output: 1{'0' * 5000}}}", "cannot be read as prices"),
        ("a: {input: -1, output: 1}", "price of a: setting input must be at least 0"),
        ("a: {input: .nan, output: 1}", "price of a: setting input must be at most"),
        ("a: 1", "price of a: setting input is missing"),
        ("a: [", "cannot be read as prices"),
    ],
)
def test_a_bad_price_file_is_one_clear_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text(text)
    with pytest.raises(DataError, match=problem) as caught:
        load_prices(own)
    assert "\n" not in str(caught.value)


def test_a_price_file_that_is_not_there_is_stated_in_words(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_prices(tmp_path / "none.yaml")
    assert str(caught.value).endswith(
        "none.yaml: no such file or directory; name a YAML file of prices"
    )


OWN_MODEL = """
from wayword.core.model import Completion
from wayword.models.scripted import ScriptedModel

class Mine(ScriptedModel):
    def __init__(self, name, settings):
        self.name = name
        {assigned}

    {computed}

    async def complete(self, prompt, sampling):
        return Completion(("{answer}",), ("stop",))

model = Mine
"""
IDENTITIES = {
    "default": {"assigned": "pass", "computed": "pass"},
    "assigned": {"assigned": "self.identity = 'mine'", "computed": "pass"},
    "computed": {
        "assigned": "pass",
        "computed": "identity = property(lambda self: 'mine')",
    },
}


@pytest.mark.parametrize("form", IDENTITIES)
def test_a_changed_model_of_ones_own_does_not_answer_from_the_cache(
    form: str, tmp_path: Path
) -> None:
    """However its class states its identity."""
    file = tmp_path / "mine.py"
    found = []
    for answer in ("before", "after"):
        file.write_text(OWN_MODEL.format(answer=answer, **IDENTITIES[form]))
        model = wrap(open_model(f"{file}:x"), Options(cache=tmp_path / "cache.db"))
        found.append(asyncio.run(model.complete("x", Sampling())).text)
        asyncio.run(model.aclose())
    assert found == ["before", "after"]


def test_wrap_puts_the_cache_before_the_budget_and_retries_inside(
    tmp_path: Path,
) -> None:
    inner = Flaky(ModelError("busy", retryable=True, retry_after=0.0))
    account = Account(max_tokens=10_000)
    model = wrap(
        inner, Options(cache=tmp_path / "c.db", requests_per_minute=6000), account
    )

    async def twice() -> tuple[Completion, Completion]:
        first = await model.complete("x", Sampling())
        second = await model.complete("x", Sampling())
        await model.aclose()
        return first, second

    first, second = asyncio.run(twice())
    assert (first.cached, second.cached) == (False, True)
    assert (account.calls, account.tokens) == (1, 120)
    assert inner.calls == -1
    assert model.name == "flaky:1"


def test_wrap_prices_local_answers_at_nothing() -> None:
    model = wrap(ScriptedModel(answers=["a"]), Options(retries=0))
    assert asyncio.run(model.complete("x", Sampling())).cost == 0.0


class Away(Model):
    """A server that is away between two moments of the clock, and answers otherwise."""

    name = "away:1"

    def __init__(self, clock: Any, begin: float, end: float) -> None:
        self.clock = clock
        self.begin = begin
        self.end = end
        self.refused = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        await asyncio.sleep(0)
        if self.begin <= self.clock() < self.end:
            self.refused += 1
            raise ModelError("503", retryable=True, away=True)
        self.clock.now += 0.01
        return Completion(("done",), usage=Usage(1, 1))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


def _many(model: Model, calls: int, at_once: int) -> list[Completion | BaseException]:
    async def go() -> list[Completion | BaseException]:
        left = iter(range(calls))
        found: list[Completion | BaseException] = []

        async def work() -> None:
            for _ in left:
                try:
                    found.append(await model.complete("x", Sampling()))
                except ModelError as error:
                    found.append(error)

        await asyncio.gather(*(work() for _ in range(at_once)))
        return found

    return asyncio.run(go())


@pytest.mark.parametrize("at_once", [1, 64])
def test_an_outage_of_ninety_seconds_fails_no_call(clock: Any, at_once: int) -> None:
    """All wait together and one of them asks: 64 callers do not ask 64 times as often."""
    server = Away(clock, clock() + 1.0, clock() + 91.0)
    found = _many(_retrying(server, clock), 400, at_once)
    assert all(isinstance(one, Completion) for one in found)
    assert server.refused <= 64 + 16


def test_an_outage_without_end_is_fatal_in_the_end(clock: Any) -> None:
    server = Away(clock, clock() + 1.0, clock() + 1e9)
    found = _many(_retrying(server, clock, patience=300.0), 400, 8)
    failed = [one for one in found if isinstance(one, ModelError)]
    assert failed
    assert all(error.fatal for error in failed)
    assert "unavailable for 5 minutes" in str(failed[0])
    assert server.refused < 60


def test_a_prompt_that_a_server_fails_on_is_no_outage(clock: Any) -> None:
    inner = Flaky()
    model = _retrying(inner, clock, retries=2)
    asyncio.run(model.complete("x", Sampling()))
    inner.errors = [ModelError("500", retryable=True)] * 9
    with pytest.raises(ModelError, match="gave up after 3 attempts"):
        asyncio.run(model.complete("x", Sampling()))


def test_useless_answers_are_on_the_bill_of_the_answer_that_follows(clock: Any) -> None:
    half = ModelError("half", retryable=True, billed=Usage(100, 7))
    account = Account()
    model = PaidModel(_retrying(Flaky(half, half), clock), account, Price(1.0, 10.0))
    answer = asyncio.run(model.complete("x", Sampling()))
    assert answer.usage == Usage(300, 34, 40)
    assert answer.cost == account.dollars == pytest.approx((300 + 34 * 10) / 1e6)
    lasting = ModelError("never", billed=Usage(1, 1))
    account = Account()
    paying = PaidModel(_retrying(Flaky(half, lasting), clock), account)
    with pytest.raises(ModelError, match="never"):
        asyncio.run(paying.complete("x", Sampling()))
    assert (account.tokens, account.calls, account.unpriced) == (109, 1, 1)


def test_a_negative_bill_earns_nothing() -> None:
    account = Account(max_tokens=10)
    account.pay(LedgerRow(-500, -3.0))
    assert (account.tokens, account.dollars) == (0, 0.0)
    account.pay(LedgerRow(10, 0.0))
    with pytest.raises(BudgetExhausted):
        account.check()

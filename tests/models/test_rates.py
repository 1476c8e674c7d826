"""Rates, waits and retries by hand, on a clock that only sleeping moves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.models.middleware.rate import (
    Limiter,
    RetryingModel,
    RetryPolicy,
)


class Extreme(random.Random):
    """Draws an end of every interval: its lower one (0) or its upper (1)."""

    def __init__(self, end: int) -> None:
        super().__init__(0)
        self.end = end

    def uniform(self, a: float, b: float) -> float:
        return (a, b)[self.end]


class Failing(Model):
    """Raises each error in turn, None for an answer, and the last for ever."""

    name = "failing:1"

    def __init__(self, *told: ModelError | None) -> None:
        self.told = list(told)
        self.calls = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.calls += 1
        error = self.told.pop(0) if len(self.told) > 1 else self.told[0]
        if error is not None:
            raise error
        return Completion(("done",), usage=Usage(1, 1), cost=0.5)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


def ask_model(model: RetryingModel) -> Completion | ModelError:
    try:
        return asyncio.run(model.complete("x", Sampling()))
    except ModelError as error:
        return error


@pytest.mark.parametrize(
    ("per_minute", "waits"),
    [
        (60, [0, 0, 0, 0, 0, 0, 1, 1]),  # six seconds' worth at once
        (6, [0, 10, 10]),
        (0, [0] * 20),
    ],
)
def test_a_few_seconds_worth_of_requests_go_at_once(
    per_minute: float, waits: list[float], clock: Any
) -> None:
    limiter = Limiter(per_minute, clock=clock, sleep=clock.sleep)
    found = list[float]()

    async def run() -> None:
        for _ in waits:
            before = clock.now
            await limiter.admit()
            found.append(clock.now - before)
        clock.now += 0.25 * 60 / max(per_minute, 1)
        before = clock.now
        await limiter.admit()
        assert clock.now - before == pytest.approx(0.75 * waits[-1])

    asyncio.run(run())
    assert found == pytest.approx(waits)


def test_a_negative_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="a rate limit must be at least 0"):
        Limiter(-1)


@pytest.mark.parametrize(
    ("retry", "after", "low", "high"),
    [
        (0, None, 0.5, 1.0),
        (1, None, 1.0, 2.0),
        (5, None, 16.0, 32.0),
        (6, None, 30.0, 60.0),  # 64 s, at most 60
        (5000, None, 30.0, 60.0),
        (0, 10.0, 10.0, 10.5),
        (5, 10.0, 10.0, 10.5),
        (0, 0.0, 0.0, 0.5),
    ],
)
def test_waits_double_within_their_jitter(
    retry: int, after: float | None, low: float, high: float
) -> None:
    waits = [RetryPolicy(rng=Extreme(end)).wait(retry, after) for end in (0, 1)]
    assert waits == [low, high]
    short = RetryPolicy(rng=Extreme(1), first=0.25)
    assert (short.wait(0, None), short.wait(0, 10.0)) == (0.25, 10.125)


def test_a_server_that_never_answered_is_tried_twice_more_and_one_that_did_five_times(
    clock: Any,
) -> None:
    away = ModelError("no connection", retryable=True, fatal=True)
    policy = RetryPolicy(sleep=clock.sleep, clock=clock, rng=random.Random(1))
    stranger = Failing(away)
    first = ask_model(RetryingModel(stranger, policy))
    assert stranger.calls == 3
    assert str(first) == "no connection; gave up after 3 attempts"
    friend = Failing(None, away)
    model = RetryingModel(friend, policy)
    ask_model(model)
    assert str(ask_model(model)) == "no connection; gave up after 6 attempts"
    assert friend.calls == 1 + 6
    assert str(ask_model(model)) == "no connection; gave up after 6 attempts", (
        "nothing is asked again"
    )
    assert friend.calls == 7


@pytest.mark.parametrize(("trip", "outlived"), [(4, True), (5, False)])
def test_the_fourth_failure_in_a_row_of_a_server_that_answered_is_an_outage(
    clock: Any, trip: int, outlived: bool
) -> None:
    """Three retries are four attempts; an outage from the fourth on costs none."""
    away = ModelError("503", retryable=True, away=True)
    policy = RetryPolicy(
        sleep=clock.sleep, clock=clock, rng=Extreme(1), retries=3, trip=trip
    )
    model = RetryingModel(Failing(None, *[away] * 10, None), policy)
    ask_model(model)
    found = ask_model(model)
    assert isinstance(found, Completion) == outlived
    if not outlived:
        assert str(found) == "503; gave up after 4 attempts"
    # Before each retry 1, 2 and 4 s, then the waits that all calls share, of 32 s at most.
    assert (
        clock.slept
        == [1.0, 2.0, 4.0] + [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0] * outlived
    )


def test_an_answer_ends_an_outage_and_its_waits_heed_the_server(clock: Any) -> None:
    away = ModelError("503", retryable=True, away=True)
    policy = RetryPolicy(sleep=clock.sleep, clock=clock, rng=Extreme(1))
    model = RetryingModel(Failing(None, *[away] * 3, None, *[away] * 3, None), policy)
    for _ in range(3):
        assert isinstance(ask_model(model), Completion)
    assert clock.slept == [1.0, 2.0, 4.0] * 2, "three in a row each time are no outage"
    clock.slept.clear()
    busy = ModelError("503", retryable=True, away=True, retry_after=20.0)
    model = RetryingModel(Failing(None, *[busy] * 6, None), policy)
    for _ in range(2):
        assert isinstance(ask_model(model), Completion)
    assert clock.slept == [20.5] * 6, "as long as it asks for, and up to half a second"


def test_any_passing_failure_during_an_outage_belongs_to_it(clock: Any) -> None:
    """A gateway that limits requests (429) also answers 500 now and then until it is back."""
    busy = ModelError("429", retryable=True, away=True)
    broken = ModelError("500", retryable=True)
    policy = RetryPolicy(sleep=clock.sleep, clock=clock, rng=Extreme(1), patience=600.0)
    model = RetryingModel(Failing(None, *[busy] * 4, *[broken] * 3, busy, None), policy)
    assert all(isinstance(ask_model(model), Completion) for _ in range(2))
    lasting = RetryingModel(Failing(None, *[busy] * 4, broken), policy)
    ask_model(lasting)
    error = ask_model(lasting)
    assert isinstance(error, ModelError)
    assert "unavailable for 10 minutes" in str(error)
    wrong = ModelError("400")
    model = RetryingModel(Failing(None, *[busy] * 4, wrong), policy)
    ask_model(model)
    assert str(ask_model(model)) == "400", "what the server refuses is no outage"


def test_so_many_calls_in_a_row_without_an_answer_are_fatal(clock: Any) -> None:
    policy = RetryPolicy(sleep=clock.sleep, clock=clock, max_failures=3)
    bad = ModelError("nonsense")
    inner = Failing(bad, bad, None, bad)
    model = RetryingModel(inner, policy)
    texts = [ask_model(model) for _ in range(7)]
    fatal = [isinstance(one, ModelError) and one.fatal for one in texts]
    assert fatal == [False, False, False, False, False, True, True]
    assert str(texts[5]) == "nonsense; 3 calls in a row failed without an answer"
    assert inner.calls == 6, "after a fatal failure nothing is asked"


def test_a_server_that_asks_for_more_than_there_is_patience_for_ends_the_call(
    clock: Any,
) -> None:
    policy = RetryPolicy(sleep=clock.sleep, clock=clock, rng=Extreme(0), patience=30.0)
    long = ModelError("busy", retryable=True, retry_after=30.5)
    assert str(ask_model(RetryingModel(Failing(long), policy))) == (
        "busy; it requests a wait of 30 s, above 30 s"
    )
    short = ModelError("busy", retryable=True, retry_after=30.0)
    assert isinstance(
        ask_model(RetryingModel(Failing(short, None), policy)), Completion
    )
    assert clock.slept == [30.0]


def test_useless_answers_are_billed_with_the_one_that_follows(clock: Any) -> None:
    policy = RetryPolicy(sleep=clock.sleep, clock=clock)
    half = ModelError("half", retryable=True, billed=Usage(10, 2))
    answer = ask_model(RetryingModel(Failing(half, half, None), policy))
    assert isinstance(answer, Completion)
    assert answer.usage == Usage(21, 5)
    never = ask_model(RetryingModel(Failing(half, half, ModelError("never")), policy))
    assert isinstance(never, ModelError)
    assert never.billed == Usage(20, 4)
    free = ask_model(RetryingModel(Failing(ModelError("never")), policy))
    assert isinstance(free, ModelError)
    assert free.billed is None


@pytest.mark.parametrize("waits_at_first", [True, False])
@pytest.mark.parametrize("is_fatal", [True, False])
@pytest.mark.parametrize("has_answered", [True, False])
def test_a_server_is_waited_for_if_it_has_answered_or_its_capacity_comes_and_goes(
    clock: Any, has_answered: bool, is_fatal: bool, waits_at_first: bool
) -> None:
    """An address at which no server answers is a mistake, and no lack of capacity."""
    away = ModelError("away", retryable=True, away=True, fatal=is_fatal)
    policy = RetryPolicy(
        sleep=clock.sleep,
        clock=clock,
        rng=Extreme(1),
        trip=2,  # an outage begins before the first contact is given up
        waits_at_first=waits_at_first,
    )
    inner = Failing(*[None] * has_answered, *[away] * 12, None)
    model = RetryingModel(inner, policy)
    if has_answered:
        ask_model(model)
    is_waited_out = has_answered or (waits_at_first and not is_fatal)
    found = ask_model(model)
    assert isinstance(found, Completion) == is_waited_out
    if not is_waited_out:
        assert inner.calls == (3 if is_fatal else 6)


@pytest.mark.parametrize("gap", [0.0, 500.0, 5000.0])
def test_an_outage_is_measured_from_its_own_first_failure(
    clock: Any, gap: float
) -> None:
    """However long ago an earlier failure was, an answer since then ends it."""
    away = ModelError("503", retryable=True, away=True)
    policy = RetryPolicy(sleep=clock.sleep, clock=clock, rng=Extreme(1), patience=100.0)
    model = RetryingModel(Failing(None, away, None, *[away] * 5, None), policy)
    for _ in range(2):
        assert isinstance(ask_model(model), Completion)
    clock.now += gap
    assert isinstance(ask_model(model), Completion)


@pytest.mark.parametrize(
    ("requested", "waits"),
    [
        ([None, None, None], [1.0, 2.0, 4.0]),
        ([20.0, 20.0, 20.0], [20.5, 20.5, 20.5]),
        ([20.0, None, None], [20.5, 2.0, 4.0]),
        ([20.0, None, 5.0], [20.5, 2.0, 5.5]),
        ([None, 5.0, 20.0], [1.0, 5.5, 20.5]),
        ([0.0, 20.0, 0.0], [0.5, 20.5, 0.5]),
    ],
)
def test_each_wait_of_an_outage_is_that_of_the_last_failure(
    clock: Any, requested: list[float | None], waits: list[float]
) -> None:
    failures = [
        ModelError("503", retryable=True, away=True, retry_after=each)
        for each in requested
    ]
    policy = RetryPolicy(sleep=clock.sleep, clock=clock, rng=Extreme(1), trip=1)
    model = RetryingModel(Failing(None, *failures, None), policy)
    for _ in range(2):
        assert isinstance(ask_model(model), Completion)
    assert clock.slept == waits


def test_calls_that_waited_for_the_end_of_an_outage_go_on_without_a_pause() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    away = ModelError("503", retryable=True, away=True)
    policy = RetryPolicy(sleep=sleep, rng=Extreme(1), trip=1)
    model = RetryingModel(Failing(None, away, None), policy)

    async def go() -> list[Completion]:
        await model.complete("x", Sampling())
        calls = [model.complete("x", Sampling()) for _ in range(3)]
        return await asyncio.gather(*calls)

    assert len(asyncio.run(go())) == 3
    assert slept == [1.0], "one call probes"


def test_a_call_that_another_one_s_fatal_failure_ends_keeps_its_bill() -> None:
    useless = ModelError("no choices", retryable=True, billed=Usage(7, 3))
    failing = Failing(useless, ModelError("wrong key", fatal=True))

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    model = RetryingModel(failing, RetryPolicy(sleep=sleep))

    async def go() -> list[Any]:
        calls = [model.complete("x", Sampling()) for _ in range(2)]
        return await asyncio.gather(*calls, return_exceptions=True)

    billed, fatal = asyncio.run(go())
    assert (billed.fatal, str(billed)) == (True, "wrong key")
    assert billed.billed == Usage(7, 3)
    assert (fatal.fatal, fatal.billed, failing.calls) == (True, None, 2)

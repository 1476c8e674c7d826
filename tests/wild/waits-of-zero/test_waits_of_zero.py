"""Pauses before retries where the server asks for none."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.models.middleware.rate import RetryingModel, RetryPolicy
from wayword.models.servers.waits import retry_after

NONE_STATED = {
    "zero": {"Retry-After": "0"},
    "zero with a point": {"Retry-After": "0.0"},
    "zero with a unit": {"Retry-After": "0s"},
    "zero milliseconds": {"retry-after-ms": "0"},
    "negative": {"Retry-After": "-3"},
    "a past date": {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"},
}


class Refusing(Model):
    """Refuses for a while, with the wait that its headers state, then answers."""

    name = "refusing:1"

    def __init__(self, wait: float | None, times: int, away: bool) -> None:
        self.left = times + 1
        self.error = ModelError("429", retryable=True, away=away, retry_after=wait)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.left -= 1
        if self.left > 0:
            raise self.error
        return Completion(("done",))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


def pauses(wait: float | None, times: int, trip: int) -> list[float]:
    slept = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    policy = RetryPolicy(
        sleep=sleep, rng=random.Random(0), trip=trip, waits_at_first=True
    )
    refusing = Refusing(wait, times, away=trip == 1)
    asyncio.run(RetryingModel(refusing, policy).complete("x", Sampling()))
    return slept


@pytest.mark.parametrize("trip", [1, 99], ids=["an outage", "retries"])
@pytest.mark.parametrize("name", NONE_STATED)
def test_pauses_grow_where_no_wait_is_stated(name: str, trip: int) -> None:
    slept = pauses(retry_after(NONE_STATED[name]), 5, trip)
    assert len(slept) == 5
    assert all(later > earlier for earlier, later in pairwise(slept[1:]))
    assert sum(slept) > 15


@pytest.mark.parametrize("trip", [1, 99], ids=["an outage", "retries"])
def test_a_stated_wait_is_kept(trip: int) -> None:
    assert all(7.0 <= pause <= 7.5 for pause in pauses(7.0, 5, trip))
    assert all(0.02 <= pause <= 0.52 for pause in pauses(0.02, 5, trip))

"""A tier that costs more than the usual one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import chat, serving
from wayword.core.model import Sampling, Usage, user
from wayword.models.middleware.prices import Price
from wayword.models.openai import OpenAIModel
from wayword.models.servers.requests import ServerSettings

PRICE = Price(input=2.0, output=8.0)
USUAL = 0.0028  # dollars: 1,000 tokens read and 100 written


def billed(tier: Any, **settings: Any) -> Usage:
    """The usage of an answer whose reply names a tier."""
    counts = {"prompt_tokens": 1000, "completion_tokens": 100}
    reply = {**chat("here"), "usage": counts, "service_tier": tier}
    with serving(lambda *_: (200, reply)) as server:
        model = OpenAIModel("m", ServerSettings(base_url=server.address, **settings))
        return asyncio.run(model.complete([user("Where?")], Sampling())).usage


@pytest.mark.parametrize("tier", ["priority", "PRIORITY"])
def test_an_answer_of_the_tier_priority_costs_twice_as_much(tier: str) -> None:
    assert PRICE.of(billed(tier)) == pytest.approx(2 * USUAL)


@pytest.mark.parametrize("top", [{}, {"service_tier": None}, {"service_tier": ""}])
def test_the_tier_may_stand_in_the_counts(top: dict[str, Any]) -> None:
    counts = {"prompt_tokens": 1000, "completion_tokens": 100}
    for tier, cost in (("priority", 2 * USUAL), ("standard", USUAL), (None, USUAL)):
        reply = {**chat("here"), "usage": {**counts, "service_tier": tier}, **top}
        with serving(lambda *_, reply=reply: (200, reply)) as server:
            model = OpenAIModel("m", ServerSettings(base_url=server.address))
            answer = asyncio.run(model.complete([user("Where?")], Sampling()))
        assert PRICE.of(answer.usage) == pytest.approx(cost)


@pytest.mark.parametrize("tier", ["default", "standard", "auto", "scale", "", None, 1])
def test_other_tiers_have_the_usual_price(tier: Any) -> None:
    extra = {"service_tier": "priority"}
    assert PRICE.of(billed(tier, extra=extra)) == pytest.approx(USUAL)


def test_a_price_may_have_a_multiple_of_its_own() -> None:
    usage = Usage(1000, 100, tier="priority")
    assert Price(2.0, 8.0, priority=1.75).of(usage) == pytest.approx(1.75 * USUAL)


def test_a_sum_of_two_tiers_counts_at_the_dearer_one() -> None:
    dear = Usage(1, 1, tier="priority")
    for other in (Usage(1, 1), Usage(1, 1, tier="flex"), Usage(), dear):
        assert (dear + other).tier == (other + dear).tier == "priority"

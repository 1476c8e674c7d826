"""A tier that costs more than the usual one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import chat, serving
from wayword.core.model import Sampling, Usage, user
from wayword.models.middleware.prices import Price, load_prices
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


@pytest.mark.parametrize(
    ("model", "read", "written", "dollars"),
    [
        ("gpt-4o-mini", 9, 2, 4.25e-6),
        ("gpt-4o", 9, 1, 5.525e-5),
        ("gpt-4.1", 9, 1, 4.55e-5),
        ("gpt-4.1-mini", 9, 1, 9.1e-6),
        ("gpt-4o-2024-08-06", 9, 1, 5.525e-5),
    ],
)
def test_the_table_has_the_multiples_that_differ(
    model: str, read: int, written: int, dollars: float
) -> None:
    price = load_prices().of(f"openai:{model}")
    assert price is not None
    usage = Usage(read, written, tier="priority")
    assert price.of(usage) == pytest.approx(dollars, rel=1e-3)


@pytest.mark.parametrize(
    ("traffic", "multiple"),
    [
        ("ON_DEMAND", 1.0),
        ("ON_DEMAND_FLEX", 0.5),
        ("ON_DEMAND_PRIORITY", 2.0),
        ("PROVISIONED_THROUGHPUT", 1.0),
        (None, 1.0),
    ],
)
def test_google_names_the_tier_as_a_type_of_traffic(
    traffic: str | None, multiple: float
) -> None:
    counts: dict[str, Any] = {"prompt_tokens": 1000, "completion_tokens": 100}
    counts["extra_properties"] = {"google": {"traffic_type": traffic}}
    with serving(lambda *_: (200, {**chat("here"), "usage": counts})) as server:
        model = OpenAIModel("m", ServerSettings(base_url=server.address))
        answer = asyncio.run(model.complete([user("Where?")], Sampling()))
    assert PRICE.of(answer.usage) == pytest.approx(multiple * USUAL)

"""Ways to pay: what a forecast says of each, and the options of the command line."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.cli.running import tier_settings
from wayword.core.errors import UsageError
from wayword.core.model import Message, Usage, system, user
from wayword.models.middleware.prices import Price
from wayword.runs import Plan, tiers
from wayword.runs.forecast import Forecast, forecast, lines

PRICE = Price(input=2.0, output=8.0, cached=0.2)
LONG = system("Rules of the walk. " * 400)


def of(agent: str, **model: Any) -> Forecast:
    settings = {"model": model, "dataset": {"houses": 1, "episodes": 8}}
    plan = Plan(agent, "houses", "openai:gpt-5.1", settings, limit=2)
    return forecast(plan, rehearsed=1)


def test_tokens_that_a_prompt_shares_with_any_earlier_one_are_cached() -> None:
    prefixes = tiers.Prefixes()
    chat = [LONG, user("Where?")]
    assert prefixes.shared(chat, 2000) == 0
    grown = [*chat, Message("assistant", "left"), user("Now?")]
    assert 1900 < prefixes.shared(grown, 2000) < 2000
    assert prefixes.shared([system("Other rules."), user("Where?")], 2000) == 0
    assert 1900 < prefixes.shared([LONG, user("And you?")], 2000) < 2000
    assert prefixes.shared(grown, 1000) == 0, "too short for a cache"


@pytest.mark.parametrize(
    ("prompt", "write", "cached"),
    [
        (2000, None, 500 * 2.0 + 1500 * 0.2),
        (2000, 2.5, 500 * 2.5 + 1500 * 0.2),
        # too short to be written to a cache
        (1024, 2.5, 24 * 2.5 + 1000 * 0.2),
        (1023, 2.5, 23 * 2.0 + 1000 * 0.2),
    ],
)
def test_each_way_has_the_price_of_what_is_read_written_and_shared(
    prompt: int, write: float | None, cached: float
) -> None:
    """In millionths of a dollar, with 800 for the answer; tiers cost one half."""
    shared = 1500 if prompt == 2000 else 1000
    price = Price(input=2.0, output=8.0, cached=0.2, write=write)
    found = tiers.costs(price, Usage(prompt, 100), shared)
    assert {way: 1e6 * dollars for way, dollars in found.items()} == pytest.approx(
        {
            tiers.STANDARD: prompt * 2.0 + 800,
            tiers.CACHED: cached + 800,
            tiers.FLEX: (cached + 800) / 2,
            tiers.BATCH: (prompt * 2.0 + 800) / 2,
        }
    )


def test_a_chat_that_shares_most_of_its_prompts_should_not_be_batched() -> None:
    """Of 10,000 tokens 5,600 are cached: at a tenth of the price, or a twentieth with flex."""
    usage = Usage(10_000, 100)
    dollars = tiers.costs(PRICE, usage, shared=5_600)
    assert dollars[tiers.STANDARD] == pytest.approx(0.0208)
    assert dollars[tiers.CACHED] == pytest.approx((4400 * 2 + 5600 * 0.2 + 800) / 1e6)
    assert dollars[tiers.FLEX] == pytest.approx(dollars[tiers.CACHED] / 2)
    assert dollars[tiers.BATCH] == pytest.approx(0.0104)
    kept = {way: 100 * dollars[way] for way in (tiers.CACHED, tiers.BATCH)}
    assert "cheapest: batch (--batch" in tiers.described(kept, 0.56)
    most = tiers.costs(PRICE, usage, shared=9_000)
    kept = {way: 100 * most[way] for way in (tiers.CACHED, tiers.BATCH)}
    assert "cheapest: standard with cache;" in tiers.described(kept, 0.9)


@pytest.mark.parametrize(
    ("address", "ways"),
    [
        ("", (tiers.CACHED, tiers.FLEX, tiers.BATCH)),
        ("https://api.anthropic.com/v1", (tiers.BATCH,)),
        ("https://api.mistral.ai/v1", (tiers.CACHED, tiers.BATCH)),
        ("http://127.0.0.1:9/v1", ()),
    ],
)
def test_a_forecast_counts_what_the_provider_offers(
    address: str, ways: tuple[str, ...]
) -> None:
    estimate = of("react", **({"base_url": address} if address else {}))
    assert tuple(estimate.ways)[1:] == ways
    assert any("ways to pay" in line for line in lines(estimate)) == bool(ways)


@pytest.mark.parametrize("tier", ["flex", "batch"])
def test_a_forecast_and_its_upper_end_have_the_price_of_the_tier(tier: str) -> None:
    full = of("navgpt")
    half = of("navgpt", tier=tier)
    assert full.dollars is not None
    assert full.max_dollars is not None
    assert half.dollars == pytest.approx(full.dollars / 2)
    assert half.max_dollars == pytest.approx(full.max_dollars / 2)
    assert half.ways == pytest.approx(full.ways)
    assert full.ways[tiers.STANDARD] == pytest.approx(full.dollars)
    assert full.ways[tiers.BATCH] == pytest.approx(full.dollars / 2)


def test_options_of_the_command_line() -> None:
    assert tier_settings("", False) == []
    assert tier_settings("flex", False) == ["model.tier=flex"]
    assert tier_settings("", True) == ["model.tier=batch"]
    with pytest.raises(UsageError, match="exclude each other"):
        tier_settings("flex", True)

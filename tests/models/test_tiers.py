"""The flex tier and prefix caches: what is sent, waited for, and paid."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from helpers.loopback import chat, refusal, serving
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Message, Sampling, Usage, system, user
from wayword.models.middleware.budget import EPISODE as CURRENT
from wayword.models.middleware.budget import Account
from wayword.models.middleware.need import Meter
from wayword.models.middleware.prices import Price
from wayword.models.middleware.rate import RetryingModel, RetryPolicy
from wayword.models.openai import OpenAIModel
from wayword.models.parts.opening import Options, wrap
from wayword.models.servers import requests
from wayword.models.servers.requests import ServerSettings

PRICE = Price(input=2.0, output=8.0, cached=0.2, write=2.5)
QUESTION = [user("Where?")]


def reply(tier: str | None, **counts: int) -> dict[str, Any]:
    """An answer that is billed by a tier."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, **counts}
    named = {} if tier is None else {"service_tier": tier}
    return {**chat("here"), "usage": usage, **named}


def asked(
    answer: Any, **settings: Any
) -> tuple[Any, OpenAIModel, list[dict[str, Any]]]:
    """One question: its answer, the model, and the bodies that it sent."""
    with serving(lambda *_: (200, answer)) as server:
        model = OpenAIModel("m", ServerSettings(base_url=server.address, **settings))
        done = asyncio.run(model.complete(QUESTION, Sampling()))
    return done, model, server.asked


@pytest.mark.parametrize(
    ("tier", "dollars", "warned"),
    [("flex", 0.0014, False), ("default", 0.0028, True), (None, 0.0028, True)],
)
def test_the_tier_of_the_reply_is_billed(
    tier: str | None, dollars: float, warned: bool
) -> None:
    """1,000 tokens read at $2 and 100 written at $8 a million, or half of it."""
    done, model, (body,) = asked(reply(tier), tier="flex")
    assert body["service_tier"] == "flex"
    assert PRICE.of(done.usage) == pytest.approx(dollars)
    assert any("full price" in line for line in model.warnings) == warned


def test_calls_are_held_at_the_address_that_a_provider_has_for_the_tier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DashScope's replies do not name a tier, and it refuses unknown fields."""
    monkeypatch.setattr(requests, "HELD", {"localhost": "127.0.0.1"})
    with serving(lambda *_: (200, reply(None))) as server:
        address = server.address.replace("127.0.0.1", "localhost")
        model = OpenAIModel("m", ServerSettings(base_url=address, tier="flex"))
        done = asyncio.run(model.complete(QUESTION, Sampling()))
    (body,) = server.asked
    assert "service_tier" not in body
    assert done.usage.tier == "flex"
    assert PRICE.of(done.usage) == pytest.approx(0.0014)
    assert model.warnings == []


@pytest.mark.parametrize("tier", ["", "flex"])
def test_the_address_of_held_calls_can_be_given_itself(tier: str) -> None:
    held = "https://batch.dashscope.aliyuncs.com/compatible-mode/v1"
    assert requests.held_address(
        "https://dashscope.aliyuncs.com/compatible-mode/v1"
    ) == (held)
    settings = ServerSettings(base_url=held, tier=tier)
    assert settings.seconds == 3600
    abroad = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"
    assert requests.held_address(abroad) == abroad


def test_a_tier_that_was_not_requested_is_billed_too() -> None:
    done, model, _ = asked(reply("flex"), extra={"service_tier": "flex"})
    assert PRICE.of(done.usage) == pytest.approx(0.0014)
    assert list(model.warnings) == []


@pytest.mark.parametrize("tier", ["flex", "batch"])
def test_a_tier_costs_one_half_or_its_own_share(tier: str) -> None:
    usage = Usage(1000, 100, tier=tier)
    assert PRICE.of(usage) == PRICE.of(replace(usage, tier="")) / 2
    assert Price(2.0, 8.0, **{tier: 1.0}).of(usage) == pytest.approx(0.0028)
    assert Price(2.0, 8.0, **{tier: 0.25}).of(usage) == pytest.approx(0.0007)
    # one half, where only the other price states a share
    assert getattr(PRICE.higher(Price(1.0, 9.0, **{tier: 0.7})), tier) == 0.7
    assert getattr(PRICE.higher(Price(1.0, 9.0, **{tier: 0.3})), tier) == 0.5


def test_usages_of_two_tiers_have_none() -> None:
    flex = Usage(1, 1, tier="flex")
    assert (
        (Usage() + flex).tier == (flex + Usage()).tier == (flex + flex).tier == "flex"
    )
    assert (flex + Usage(1, 1)).tier == ""


def test_a_tier_without_capacity_is_waited_for_from_the_first_call() -> None:
    """Twenty refusals, four times as many as there are retries; each wait is asked for by name."""
    waits: list[float] = []
    count = 0

    def answer(*_: Any) -> tuple[int, Any]:
        nonlocal count
        count += 1
        if count <= 20:
            return 429, refusal("Resource Unavailable", code="resource_unavailable")
        return 200, reply("flex")

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    with serving(answer) as server:
        model = OpenAIModel("m", ServerSettings(base_url=server.address, tier="flex"))
        policy = RetryPolicy(
            5, patience=model.patience, waits_at_first=True, sleep=sleep
        )
        done = asyncio.run(RetryingModel(model, policy).complete(QUESTION, Sampling()))
    assert (done.text, len(waits)) == ("here", 20)


def test_an_address_without_a_server_is_not_waited_for() -> None:
    async def sleep(seconds: float) -> None:
        assert len(waits) < 10
        waits.append(seconds)

    waits: list[float] = []
    settings = ServerSettings(base_url="http://127.0.0.1:9/v1", tier="flex")
    model = OpenAIModel("m", settings)
    policy = RetryPolicy(5, patience=model.patience, waits_at_first=True, sleep=sleep)
    with pytest.raises(ModelError, match="no connection"):
        asyncio.run(RetryingModel(model, policy).complete(QUESTION, Sampling()))


def test_a_model_without_the_tier_ends_the_run_and_is_not_asked_for_the_full_price() -> (
    None
):
    line = "Invalid service_tier argument: flex is not available for this model"
    with serving(lambda *_: (400, refusal(line, "service_tier"))) as server:
        model = OpenAIModel("m", ServerSettings(base_url=server.address, tier="flex"))
        with pytest.raises(ModelError, match="service_tier") as failed:
            asyncio.run(model.complete(QUESTION, Sampling()))
    assert failed.value.fatal
    assert len(server.asked) == 1


def test_the_tier_has_more_time_and_patience() -> None:
    plain = ServerSettings(base_url="http://127.0.0.1:9/v1")
    flex = ServerSettings(base_url="http://127.0.0.1:9/v1", tier="flex")
    assert (plain.seconds, flex.seconds) == (600.0, 900.0)
    assert wrap(OpenAIModel("m", flex), Options())._inner._policy.waits_at_first  # type: ignore[attr-defined]
    assert not wrap(OpenAIModel("m", plain), Options())._inner._policy.waits_at_first  # type: ignore[attr-defined]


def test_the_bill_of_a_run_counts_both_tiers_to_the_cent() -> None:
    replies = [reply("flex"), reply("default"), reply("flex", cached_tokens=800)]
    account = Account(max_dollars=1.0)

    with serving(lambda *_: (200, replies[len(server.asked)])) as server:
        settings = ServerSettings(base_url=server.address, tier="flex")
        model = wrap(OpenAIModel("m", settings), Options(), account)
        account.prices[model.name] = PRICE

        async def three() -> list[float | None]:
            answers = [await model.complete(QUESTION, Sampling()) for _ in range(3)]
            return [answer.cost for answer in answers]

        costs = asyncio.run(three())
    # 200 fresh tokens and 800 cached ones at a tenth, at half the price
    expected = [0.0014, 0.0028, (200 * 2.0 + 800 * 0.2 + 100 * 8.0) / 2e6]
    assert costs == pytest.approx(expected)
    assert account.dollars == pytest.approx(sum(expected))


CHAT = [
    system("Rules. " * 900),
    user("Where?"),
    Message("assistant", "a"),
    user("Now?"),
]


def body_of(prompt: Any, name: str = "m", meter: int = 0, **settings: Any) -> Any:
    with serving(lambda *_: (200, reply(None))) as server:
        model = OpenAIModel(name, ServerSettings(base_url=server.address, **settings))

        async def ask() -> None:
            CURRENT.set(Meter(meter) if meter else None)
            await model.complete(prompt, Sampling())

        asyncio.run(ask())
    return server.asked[0]


def test_a_key_names_the_episode() -> None:
    first = body_of(CHAT, meter=1, cache="key")["prompt_cache_key"]
    assert first.endswith("-1")
    assert len(first) <= 64
    assert "prompt_cache_key" not in body_of(CHAT, cache="key")
    assert "prompt_cache_key" not in body_of(CHAT, meter=1)


def marked(body: Any) -> list[int]:
    """The messages with a mark."""
    return [
        number
        for number, message in enumerate(body["messages"])
        if isinstance(message["content"], list)
        and "cache_control" in message["content"][-1]
    ]


def test_marks_end_the_prefixes_that_later_requests_share() -> None:
    assert marked(body_of(CHAT, cache="marks")) == [0, 3]
    assert marked(body_of(CHAT[:2], cache="marks")) == [0]
    assert marked(body_of(CHAT)) == []


def test_prefixes_below_the_provider_s_least_length_are_not_marked() -> None:
    assert marked(body_of(CHAT, "claude-haiku-4-5", cache="marks")) == []
    assert marked(body_of([system("Short."), *CHAT[1:]], cache="marks")) == []


def test_a_broken_address_is_one_line_with_the_tier_too() -> None:
    settings = ServerSettings(base_url="http://[::1/v1", tier="flex")
    with pytest.raises(UsageError, match="is not an address"):
        OpenAIModel("m", settings)

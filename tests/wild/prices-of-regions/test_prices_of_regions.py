"""Addresses of one region cost more."""

from __future__ import annotations

import pytest

from wayword.core.model import Usage
from wayword.models.middleware.budget import Account
from wayword.models.middleware.prices import Price, Prices, load_prices
from wayword.models.openai import OpenAIModel
from wayword.models.parts.opening import wrap
from wayword.models.servers.requests import ServerSettings

USAGE = Usage(1000, 100, reused=100, written=50)
EU = "https://eu.api.openai.com/v1"
USUAL = "https://api.openai.com/v1"


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-5.4-nano", "gpt-6-sol"])
@pytest.mark.parametrize("address", [EU, "https://us.api.openai.com:443/v1"])
def test_a_region_costs_a_tenth_more(model: str, address: str) -> None:
    prices = load_prices()
    usual, regional = (prices.of(f"openai:{model}", each) for each in ("", address))
    assert usual is not None
    assert regional is not None
    assert regional.of(USAGE) == pytest.approx(1.1 * usual.of(USAGE))
    assert regional.long == usual.long


@pytest.mark.parametrize(
    "address",
    [
        *(
            "",
            USUAL,
            "http://localhost:8000/v1",
            "https://eu.api.openai.com.example.org",
        ),
        *("https://x.openai.azure.com/openai/v1", "https://proxy.eu/api.openai.com"),
    ],
)
def test_other_addresses_have_the_usual_price(address: str) -> None:
    prices = load_prices()
    assert prices.of("openai:gpt-5.5", address) == prices.of("openai:gpt-5.5")


def test_models_without_it_and_own_prices_count_as_written() -> None:
    prices = load_prices()
    assert prices.of("openai:gpt-4o", EU) == prices.of("openai:gpt-4o")
    own = Price(1.0, 2.0, cached=0.5)
    assert Prices({"openai:m": own}).of("openai:m", EU) == own


def test_a_run_has_the_price_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    inputs = {}
    for address in (EU, USUAL, ""):
        account = Account()
        model = OpenAIModel("gpt-5.5", ServerSettings(base_url=address))
        wrap(model, account=account)
        price = account.prices["openai:gpt-5.5"]
        assert price is not None
        inputs[address] = price.input
    assert inputs == {EU: pytest.approx(5.5), USUAL: 5.0, "": 5.0}

"""Versions of a model with a date in their name."""

from __future__ import annotations

import pytest

from wayword.models.middleware.prices import Price, Prices, load_prices


@pytest.mark.parametrize(
    ("version", "model"),
    [
        ("gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-5-nano-2025-08-07", "gpt-5-nano"),
        ("gpt-5.5-2026-04-23", "gpt-5.5"),
    ],
)
def test_a_version_costs_what_its_model_costs(version: str, model: str) -> None:
    prices = load_prices()
    price = prices.of(f"openai:{version}")
    assert price is not None
    assert price == prices.of(f"openai:{model}")


@pytest.mark.parametrize(
    "other",
    [
        *("gpt-5-pro", "gpt-5-pro-2025-10-06", "gpt-4o-audio-preview-2024-12-17"),
        *(
            "gpt-4-0613",
            "gpt-5-99-99",
            "gpt-5-2025-13",
            "gpt-5-20250807x",
            "gpt-5.6-sol",
        ),
        *("gpt-5-2025-08-07-eu", "gpt-52025-08-07", "gpt-5-2025-99-07"),
    ],
)
def test_other_names_have_no_price(other: str) -> None:
    assert load_prices().of(f"openai:{other}") is None


def test_an_entry_of_its_own_comes_first() -> None:
    old = load_prices().of("openai:gpt-4o-2024-05-13")
    assert old == Price(input=5.0, output=15.0)
    table = {"m": Price(1, 1), "m-2025-01-01": Price(2, 2), "n": Price(3, 3)}
    prices = Prices({**table, "n-*": Price(4, 4)})
    assert prices.of("m-2025-01-01") == Price(2, 2)
    assert prices.of("m-2025-01-02") == Price(1, 1)
    assert prices.of("n-2025-01-01") == Price(4, 4)

"""Long prompts cost more for each token."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.core.errors import DataError
from wayword.core.model import Usage
from wayword.models.middleware.prices import Price, load_prices

PRICE = Price(input=2.5, output=15.0, cached=0.25, write=3.0, long=272_000)
LONG = 272_001


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(LONG, 1000), 2 * 2.5 * LONG + 1.5 * 15 * 1000),
        (Usage(LONG, 0, reused=LONG), 2 * 0.25 * LONG),
        (Usage(LONG, 0, written=LONG), 2 * 3.0 * LONG),
        (Usage(LONG, 1000, tier="flex"), (2 * 2.5 * LONG + 1.5 * 15 * 1000) / 2),
        # the neighbours, at the usual price
        (Usage(272_000, 1000), 2.5 * 272_000 + 15 * 1000),
        (Usage(200_000, 128_000), 2.5 * 200_000 + 15 * 128_000),
        (Usage(1000, 10), 2.5 * 1000 + 15 * 10),
        (Usage(), 0),
    ],
)
def test_a_long_prompt_costs_more(usage: Usage, dollars: float) -> None:
    assert 1e6 * PRICE.of(usage) == pytest.approx(dollars)


def test_length_does_not_matter_without_it() -> None:
    usage = Usage(900_000, 1000)
    assert 1e6 * Price(2.5, 15.0).of(usage) == pytest.approx(2.5 * 900_000 + 15_000)


@pytest.mark.parametrize("model", ["gpt-6-sol", "gpt-5.5", "gpt-5.4"])
def test_shipped_prices_know_it(model: str) -> None:
    price = load_prices().of(f"openai:{model}")
    assert price is not None
    assert price.long == 272_000


def test_a_resumed_run_keeps_the_shorter_length() -> None:
    plain = Price(2.5, 15.0)
    assert plain.higher(PRICE).long == PRICE.higher(plain).long == 272_000
    assert PRICE.higher(Price(1.0, 1.0, long=200_000)).long == 200_000
    assert plain.higher(plain).long is None


def test_files_of_prices_may_have_it(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("m: {input: 1.25, output: 10, long: 200000}")
    price = load_prices(file).of("m")
    assert price is not None
    assert price.long == 200_000
    assert "long 200000" in str(price)
    for wrong in ("0", "-5", "many", "1.5"):
        file.write_text(f"m: {{input: 1.25, output: 10, long: {wrong}}}")
        with pytest.raises(DataError, match="long"):
            load_prices(file)

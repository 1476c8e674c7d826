"""Each prompt token has one price, in every provider's form of the counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from wayword.core.model import Usage
from wayword.models.middleware.prices import Price
from wayword.models.servers.answers import usage
from wayword.models.servers.requests import Request

ROWS = yaml.safe_load(Path(__file__).with_name("counts.yaml").read_text())
PRICE = Price(2.0, 10.0, cached=0.2, write=2.5, write_hour=4.0)
REQUEST = Request("/chat/completions", {}, "Go on.", limit=100)


def _counted(row: dict[str, Any]) -> Usage:
    choices = [{"message": {"content": "left"}, "finish_reason": "stop"}]
    reply = {"choices": choices, "usage": row["usage"]}
    return usage(reply, REQUEST, lambda: Usage(9999, 9999, estimated=True))


@pytest.mark.parametrize("row", ROWS, ids=[row["form"] for row in ROWS])
def test_each_prompt_token_has_one_price(row: dict[str, Any]) -> None:
    counted = _counted(row)
    expected = Usage(
        row["prompt"],
        row.get("completion", 10),
        row.get("reused", 0),
        written=row.get("written", 0),
        written_hour=row.get("hour", 0),
    )
    assert counted == expected
    assert 1e6 * PRICE.of(counted) == pytest.approx(row["dollars"])


def test_reasoning_next_to_the_answer_is_no_part_of_the_prompt() -> None:
    counts: dict[str, Any] = {
        "prompt_tokens": 120,
        "completion_tokens": 7,
        "total_tokens": 177,
    }
    for name, key in (("prompt", "cached"), ("completion", "reasoning")):
        counts[f"{name}_tokens_details"] = {f"{key}_tokens": 50}
    assert _counted({"usage": counts}) == Usage(120, 57, 50, reasoning=50)


def test_writes_without_a_price_of_their_own_cost_more_than_input() -> None:
    plain = Price(2.0, 10.0, cached=0.2)
    used = Usage(1000, 10, 500, written=300, written_hour=100)
    # 200 at 2, 500 at 0.2, 200 at 2.5, 100 at 4, 10 at 10
    assert 1e6 * plain.of(used) == pytest.approx(400 + 100 + 500 + 400 + 100)


def test_an_estimated_prompt_may_have_been_written() -> None:
    guess = Usage(1000, 10, estimated=True)
    assert 1e6 * PRICE.of(guess) == pytest.approx(2500 + 100)
    assert 1e6 * Price(2.0, 10.0).of(guess) == pytest.approx(2000 + 100)


def test_free_models_stay_free() -> None:
    assert Price(0.0, 0.0).of(Usage(1000, 10, written=1000)) == 0.0

"""The price of a model in a table, and the tokens that a prompt counts for before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wayword.core.errors import BudgetExhausted
from wayword.core.model import Choice, Image, Message, Prompt, Sampling, Usage
from wayword.models.middleware.budget import Account, PaidModel, rough_tokens
from wayword.models.middleware.ledger import LedgerRow
from wayword.models.middleware.prices import Price, Prices
from wayword.models.scripted import ScriptedModel

TABLE = {"a:m": 1, "a:m*": 2, "a:*": 3, "a:*-mini": 4, "a:m-large-*": 5, "b:[x]": 6}


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("a:m", 1),  # exact, although a longer pattern matches
        ("a:m-2", 2),
        ("a:n", 3),
        ("a:m-mini", 4),
        ("a:m-large-mini", 5),
        ("b:[x]", 6),  # exact, although its brackets stand for one sign
        ("b:x", 6),
        ("b:y", None),
        ("m", None),
    ],
)
def test_a_models_own_name_goes_first_and_then_the_longest_pattern(
    model: str, price: int | None
) -> None:
    found = Prices({name: Price(each, 0.0) for name, each in TABLE.items()}).of(model)
    assert (found and found.input) == price


@pytest.mark.parametrize("text", ["", "Turn left.", "向左转，然后停下。", "\ud800"])
def test_a_prompt_is_taken_for_half_its_bytes_and_each_picture_for_1500_tokens(
    text: str,
) -> None:
    size = len(text.encode(errors="replace"))
    assert rough_tokens(text) == size // 2 + 1
    message = Message("user", text)
    shown = Message("user", text, (Image(b"1"), Image(b"2")))
    assert rough_tokens([message]) == size // 2 + 8
    assert rough_tokens([message, message]) == 2 * rough_tokens([message])
    assert rough_tokens([message, shown]) == 2 * rough_tokens([message]) + 2 * 1500


@pytest.mark.parametrize("write", [None, 1.0, 2.5])
@pytest.mark.parametrize("estimated", [False, True])
def test_an_estimate_is_priced_at_the_dearer_of_reading_and_writing(
    estimated: bool, write: float | None
) -> None:
    used = Usage(1_000_000, 0, estimated=estimated)
    dearer = max(2.0, write or 0.0)
    assert Price(2.0, 8.0, write=write).of(used) == (dearer if estimated else 2.0)


@pytest.mark.parametrize("hour", [0, 100, 300])
@pytest.mark.parametrize("written", [300, 500])
def test_every_prompt_token_is_billed_once(written: int, hour: int) -> None:
    """Of equal prices for all kinds, a prompt costs the same however it was read."""
    price = Price(2.0, 0.0, cached=2.0, write=2.0, write_hour=2.0)
    used = Usage(1_000, 0, 200, written=written, written_hour=hour)
    assert price.of(used) == pytest.approx(1_000 * 2.0 / 1e6)
    free = Price(0.0, 0.0, cached=0.0, write=3.0, write_hour=5.0)
    expected = (written - hour) * 3.0 + hour * 5.0
    assert free.of(used) == pytest.approx(expected / 1e6)


@pytest.mark.parametrize(
    ("before", "now", "kept"),
    [(2.0, 3.0, 3.0), (3.0, 2.0, 3.0), (2.0, None, 2.0), (2.0, 2.0, 2.0)],
)
def test_a_resumed_run_keeps_the_higher_price_and_says_so(
    before: float, now: float | None, kept: float
) -> None:
    account = Account()
    current = None if now is None else Price(now, 1.0)
    account.prices = {"m": current, "other": Price(9.0, 9.0)}
    notices = account.keep_prices({"m": Price(before, 1.0), "gone": Price(7.0, 7.0)})
    assert account.prices == {"m": Price(kept, 1.0), "other": Price(9.0, 9.0)}
    assert len(notices) == (before != now)


@pytest.mark.parametrize("options", [1, 2, 5])
@pytest.mark.parametrize("samples", [1, 3])
def test_a_reservation_has_a_prompt_for_each_option_and_for_each_sample(
    options: int, samples: int
) -> None:
    rows: list[LedgerRow] = []

    class Quiet(ScriptedModel):
        async def choose(self, prompt: Prompt, names: Sequence[str]) -> Choice:
            return Choice(tuple(names), (0.0,) * len(names), Usage(1, 1))

    account = Account(ledger=cast("Any", SimpleNamespace(write=rows.append)))
    model = PaidModel(Quiet(answers=lambda *_: "x"), account)
    prompt = "Where to? " * 20
    names = ["kitchen"] * options

    async def ask() -> None:
        await model.choose(prompt, names)
        await model.complete(prompt, Sampling(max_tokens=50, n=samples))

    asyncio.run(ask())
    choice, completion = (row for row in rows if row.open)
    assert choice.tokens == options * (rough_tokens(prompt) + len("kitchen"))
    assert completion.tokens == samples * (rough_tokens(prompt) + 50)


@pytest.mark.parametrize("price", [None, Price(0.0, 0.0), Price(2.0, 8.0)])
@pytest.mark.parametrize("has_limit", [True, False])
def test_only_an_unknown_price_stops_a_run_with_a_limit_of_dollars(
    has_limit: bool, price: Price | None
) -> None:
    """A free answer has a price, which is 0."""
    account = Account(max_dollars=1.0 if has_limit else None)
    model = PaidModel(ScriptedModel(answers=lambda *_: "x"), account, price)

    async def ask() -> None:
        for _ in range(3):
            await model.complete("Where to?", Sampling())

    if has_limit and price is None:
        with pytest.raises(BudgetExhausted, match="a dollar limit needs prices"):
            asyncio.run(ask())
    else:
        asyncio.run(ask())
    assert bool(account.unpriced) == (price is None)
    assert account.pending == 0


@pytest.mark.parametrize(
    "part", [{"reused": 900}, {"written": 900}, {"written": 900, "written_hour": 900}]
)
def test_parts_of_a_prompt_cost_a_multiple_of_its_price_not_of_the_answer_s(
    part: dict[str, int],
) -> None:
    usage = Usage(1000, 0, **part)
    cheap, dear = (Price(3.0, output).of(usage) for output in (7.0, 50.0))
    assert cheap == dear > 0
    assert Price(6.0, 7.0).of(usage) == pytest.approx(2 * cheap)

"""The price of a model in a table, and the tokens that a prompt counts for before it is sent."""

from __future__ import annotations

import pytest

from wayword.core.model import Image, Message
from wayword.models.middleware.budget import rough_tokens
from wayword.models.middleware.prices import Price, Prices

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

"""Schemas are closed, closed lists become grammars, and options meet their prompt at a blank."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.core.errors import ModelError
from wayword.core.model import Sampling, user
from wayword.models.parts.decoding import (
    close_schema,
    continued,
    json_values,
    llamacpp_form,
    longest,
)
from wayword.models.servers.profile import Profile
from wayword.models.servers.requests import ServerSettings, request


def test_every_object_is_closed_and_free_white_space_is_off() -> None:
    schema = {
        "type": "object",
        "properties": {
            "action": {"enum": [{"type": "object"}, "left"]},
            "type": {"type": "string"},
            "inner": {
                "type": "array",
                "items": {"type": "object", "properties": {"a": {}}},
            },
        },
        "$defs": {"open": {"type": "object", "additionalProperties": True}},
    }
    closed = close_schema(schema)
    assert closed["additionalProperties"] is False
    assert closed["x-guidance"] == {"whitespace_flexible": False}
    assert closed["properties"]["inner"]["items"]["additionalProperties"] is False
    assert closed["properties"]["action"]["enum"] == [{"type": "object"}, "left"]
    assert closed["properties"]["type"] == {"type": "string"}
    assert closed["$defs"]["open"]["additionalProperties"] is True
    assert "additionalProperties" not in schema


def test_hosted_servers_get_no_key_they_would_refuse() -> None:
    assert "x-guidance" not in close_schema({"type": "object"}, guidance=False)


def test_a_property_called_properties_is_a_property() -> None:
    closed = close_schema({"properties": {"properties": {"type": "integer"}}})
    assert closed["properties"] == {"properties": {"type": "integer"}}


def test_choices_are_quoted_for_the_grammar() -> None:
    choices = 'a "b"', "back\\slash", "two\nlines", "bell\a"
    grammar = llamacpp_form(Sampling(choices=choices))["grammar"]
    assert grammar == (
        r'root ::= "a \"b\"" | "back\\slash" | "two\nlines" | "bell\U00000007"'
    )


def test_no_choices_is_an_error() -> None:
    with pytest.raises(ModelError, match="at least one"):
        llamacpp_form(Sampling(choices=()))


def test_the_longest_choice_fits_even_at_a_byte_a_token() -> None:
    assert longest(["go", "größer"]) == len("größer".encode()) + 1


@pytest.mark.parametrize("limit", [1, 7, 8, 9, 500])
@pytest.mark.parametrize("choices", [None, ("go", "größer")])
@pytest.mark.parametrize("thinking", [0, 300])
def test_a_request_has_room_for_its_own_limit_and_for_the_longest_choice(
    limit: int, choices: tuple[str, ...] | None, thinking: int
) -> None:
    room = max(limit, longest(choices or [""]))
    sent = request(
        "m",
        [user("Where to?")],
        Sampling(max_tokens=limit, choices=choices),
        ServerSettings(thinking=thinking),
        Profile(),
    )
    assert sent.limit == sent.body["max_tokens"] == room + thinking


@pytest.mark.parametrize(
    ("prompt", "option", "expected"),
    [
        ("5.", "left", ("5.", " left")),
        ("5. ", "left", ("5.", " left")),
        ("5.", " left", ("5.", " left")),
        ("line\n", "left", ("line\n", "left")),
        ("(", "A", ("(", "A")),
        ("", "left", ("", "left")),
    ],
)
def test_the_blank_belongs_to_the_option(
    prompt: str, option: str, expected: tuple[str, str]
) -> None:
    assert continued(prompt, option) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"thought": "left (a, b,] or right"}', {"thought": "left (a, b,] or right"}),
        ('{"action": "stop", }', {"action": "stop"}),
        ("{'action': 'goto[a,]',}", {"action": "goto[a,]"}),
    ],
)
def test_a_comma_is_dropped_after_the_last_entry_alone(text: str, value: Any) -> None:
    assert [found for found, _, _ in json_values(text, "{", bool)] == [value]

"""One refusal, one meaning."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wayword.models.servers.profile import Profile
from wayword.models.servers.refusals import learn, read

ROWS = tomllib.loads(Path(__file__).with_name("cases.toml").read_text())["case"]


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_wording_has_one_meaning(row: dict[str, Any]) -> None:
    body = {"max_tokens": 4496, "temperature": 0.0, **row.get("sent", {})}
    error = {"error": {"message": row["text"]}}
    refusal = read(row.get("status", 400), error, tuple(body))
    assert refusal.kind == row["is"]
    assert row.get("remedy", "") in refusal.remedy
    lesson = learn(refusal, Profile(), body)
    changes = json.loads(json.dumps(lesson[0])) if lesson else {}
    assert row.get("changes", {}).items() <= changes.items()
    if not refusal.teaches:
        assert changes == row.get("changes", {})
    if "room" in row:
        assert refusal.window - refusal.prompt == row["room"]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Model m/Small-2.5 is not supported for provider p", "wrong address"),
        ("The parameter seed is not supported for provider p", "field unknown"),
        ("response_format is not supported for provider p", "field unknown"),
        ("The model is unavailable in your region", "wrong address"),
        ("The model is temporarily unavailable in your region", "overloaded"),
    ],
)
def test_a_field_or_a_pause_is_no_wrong_address(text: str, meaning: str) -> None:
    fields = ("max_tokens", "seed", "response_format")
    assert read(400, {"error": {"message": text}}, fields).kind == meaning


@pytest.mark.parametrize(
    ("status", "text", "meaning"),
    [
        (400, "the seed is out of int32 range", "value out of range"),
        (400, "the seed must fit into a 32-bit signed integer", "value out of range"),
        (400, "a tensor of type int32 for the seed", "unknown"),
        (400, "the image must be a 32-bit PNG, max_tokens is 5", "unknown"),
        (400, "messages exceed the maximum allowed nesting depth", "unknown"),
        (400, "messages: exceeds the maximum nesting depth", "unknown"),
        (400, "The model is disabled", "wrong address"),
        (500, "The model is currently disabled for maintenance", "overloaded"),
        (500, "our safety systems are down, try again", "overloaded"),
        (400, "failed to validate JSON schema in response_format", "unknown"),
    ],
)
def test_words_next_to_those_of_a_rule_have_another_meaning(
    status: int, text: str, meaning: str
) -> None:
    fields = ("messages", "max_tokens", "seed", "response_format")
    assert read(status, {"error": {"message": text}}, fields).kind == meaning


def test_a_prompt_that_a_safety_system_rejects_is_billed() -> None:
    text = "Your request was rejected as a result of our safety system."
    assert read(400, {"error": {"message": text}}, ()).billed == "likely"

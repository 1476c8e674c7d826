"""The table of refusals, by the wordings of the servers that people use, in our own few words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from wayword.core.secrets import MASK, remember
from wayword.models.servers import refusals
from wayword.models.servers.profile import Profile
from wayword.models.servers.refusals import (
    ServerRefusal,
    learn,
    read,
    remedy_of,
    window,
)

BODY: dict[str, Any] = {
    "max_tokens": 4496,
    "temperature": 0.0,
    "top_p": 0.9,
    "stop": ["a", "b", "c", "d", "e"],
    "n": 3,
    "seed": 7,
    "logprobs": True,
    "top_logprobs": 20,
    "response_format": {"type": "json_schema"},
    "lengths": None,
}
WORDINGS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8")
)


def _error(row: dict[str, Any]) -> Any:
    """The JSON of an error, or its text."""
    error = row["error"]
    try:
        return json.loads(error) if isinstance(error, str) else error
    except ValueError:
        return error


@pytest.mark.parametrize(
    "row",
    WORDINGS,
    ids=[f"{number}: {row['server']}" for number, row in enumerate(WORDINGS)],
)
def test_each_wording_has_one_meaning_and_one_lesson(row: dict[str, Any]) -> None:
    refusal = read(row["status"], _error(row), tuple(BODY))
    assert refusal.kind == row["is"]
    lesson = learn(refusal, Profile(), BODY)
    assert (lesson is None) == (row["changes"] is None)
    if lesson is not None:
        changes = json.loads(json.dumps(lesson[0]))
        # A refusal of one field changes the traits of that field alone
        if not refusal.teaches:
            assert changes == row["changes"]
        assert row["changes"].items() <= changes.items()


@pytest.mark.parametrize("shown", range(0, 31, 3))
def test_no_part_of_a_key_is_left_where_a_long_message_is_cut(shown: int) -> None:
    key = "gateway-key-of-thirty-characters"
    remember(key)
    before = "x" * (300 - shown)
    message = read(400, {"message": f"{before}{key} and more"}, ()).message
    assert message == f"{before}{MASK} and more"[:300]


@pytest.mark.parametrize(
    ("name", "value", "bounds", "changes"),
    [
        ("temperature", 0.5, {"most": 2.0}, None),
        ("temperature", 0.5, {}, {"without": ("temperature",)}),
        ("temperature", "warm", {"most": 2.0}, {"without": ("temperature",)}),
        ("max_tokens", 100, {}, None),
        ("max_tokens", 100, {"most": 50.0}, {"output": 50}),
        ("top_p", 1.0, {"most": 0.99}, {"most": {"top_k": 9, "top_p": 0.99}}),
        ("top_p", 0.0, {"least": 0.01}, {"least": {"seed": 0, "top_p": 0.01}}),
        ("top_p", 0.0, {"least": 0.0}, {"without": ("top_p",)}),
        ("logprobs", True, {"most": 5.0}, {"logprobs": 5}),
    ],
)
def test_a_value_out_of_range_becomes_the_nearest_allowed_one(
    name: str, value: Any, bounds: dict[str, float], changes: dict[str, Any] | None
) -> None:
    profile = Profile(most={"top_k": 9}, least={"seed": 0})
    refusal = ServerRefusal("value out of range", "", fields=(name,), **bounds)
    lesson = learn(refusal, profile, {**BODY, name: value})
    assert (lesson and lesson[0]) == changes


def test_a_refused_value_names_the_setting_of_agents() -> None:
    refusal = read(400, {"error": "max_tokens must be at most 8"}, ("max_tokens",))
    assert refusal.kind == "value out of range"
    assert remedy_of(refusal, {}).startswith("change --set max_tokens, or leave")


def test_the_table_is_closed_and_known_by_at_least_sixteen_servers() -> None:
    table = refusals._table()
    kinds = set(get_args(refusals.Kind))
    assert {rule["is"] for rule in table["rules"]} == kinds
    assert table["remedies"].keys() == kinds
    assert len({row["server"] for row in WORDINGS}) >= 16
    assert {row["is"] for row in WORDINGS} == kinds


def test_a_request_that_an_error_repeats_proves_nothing() -> None:
    echoed = {"content": "insufficient credits, 'stop'"}
    error = {"loc": ["body", "messages"], "msg": "Should be a list", "input": echoed}
    assert read(400, {"detail": [error]}, tuple(BODY)).kind == "unknown"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (429, "This API key has exceeded the rate limit of 60 requests per minute"),
        (429, "Free tier rate limit exceeded"),
        (429, "Exceeds the number of images per minute"),
        (503, "Model not loaded yet, loading"),
        (503, "The model is not yet loaded"),
    ],
)
def test_what_passes_in_a_minute_is_waited_for(status: int, text: str) -> None:
    assert read(status, {"error": text}, ("model", *BODY)).kind == "overloaded"


def test_the_field_of_an_example_is_the_refused_one() -> None:
    refusal = read(400, {"error": "this model only supports n=1"}, ("model", "n"))
    assert (refusal.fields, refusal.most) == (("n",), 1)


@pytest.mark.parametrize(
    ("text", "room"),
    [
        ("'max_tokens' too large: 4496 > 4096 - 900", (4096, 900)),
        ("exceed context limit: 188240 + 21333 > 200000", (200000, 188240)),
        ("context length is 4,096; the request has 900 prompt tokens", (4096, 900)),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 900", (4096, 900)),
    ],
)  # fmt: skip
def test_window_and_prompt_are_read(text: str, room: tuple[int, int]) -> None:
    refusal = read(400, {"error": text}, tuple(BODY))
    assert (refusal.window, refusal.prompt) == room


@pytest.mark.parametrize(
    ("described", "size"),
    [
        ({"data": [{"id": "m", "max_model_len": 4096}, {"id": "n", "max_model_len": 9}]}, 4096),
        ({"data": [{"id": "other", "meta": {"n_ctx_train": 2048}}]}, 2048),
        ({"data": [{"id": "a", "context_length": 1}, {"id": "b", "context_length": 2}]}, 0),
        ({"data": [{"id": "m", "context_window": 131072}]}, 131072),
        ({"data": [{"id": "m", "max_context_length": 32768}]}, 32768),
        ({"default_generation_settings": {"n_ctx": 8192}}, 8192),
        ({"model_id": "x", "max_input_tokens": 4000, "max_total_tokens": 8000}, 8000),
        ({"data": [{"id": "m", "max_context_length": 40960, "loaded_context_length": 4096}]}, 4096),
        ({"models": [{"name": "m", "context_length": 4096}]}, 4096),
        ({"parameters": "num_ctx  8192\nstop x", "model_info": {"x.context_length": 9}}, 8192),
        ({"license": "x" * 9000, "model_info": {"qwen3.context_length": 40960}}, 40960),
        ({"data": [{"id": "m", "max_model_len": "many"}]}, 0),
        (None, 0),
        ([3], 0),
    ],
)  # fmt: skip
def test_the_window_of_a_server_in_each_form(described: Any, size: int) -> None:
    assert window(json.loads(json.dumps(described)), "m") == size


@pytest.mark.parametrize("field", ["id", "name", "model"])
@pytest.mark.parametrize("listed", ["data", "models"])
def test_of_several_models_the_window_is_that_of_the_one_that_is_used(
    listed: str, field: str
) -> None:
    """Servers name their models in one of three fields, next to other names."""
    sizes = {"l": 1024, "m": 4096, "n": 9}
    entries = [
        {"digest": "m", "title": "m", field: name, "context_length": size}
        for name, size in sizes.items()
    ]
    for name, size in sizes.items():
        assert window({listed: entries}, name) == size
    assert window({listed: entries}, "o") == 0


@pytest.mark.parametrize("known", [0, 4_096, 8_192, 32_768])
@pytest.mark.parametrize("stated", [4_096, 8_192, 0])
def test_a_window_only_ever_shrinks(stated: int, known: int) -> None:
    """A lesson is never reversed: another server of the same name may state a larger one."""
    refusal = ServerRefusal("prompt too long", "too long", window=stated)
    lesson = learn(refusal, Profile(window=known), {})
    smallest = min(filter(None, (stated, known)), default=0)
    assert (lesson and lesson[0]) == ({"window": smallest} if stated else None)


def test_all_fields_of_a_refusal_are_left_out_with_those_before() -> None:
    refusal = ServerRefusal("field unknown", "", fields=("mood", "tone"))
    lesson = learn(refusal, Profile(without=("user",)), {})
    assert lesson == ({"without": ("user", "mood", "tone")}, "without mood, tone")

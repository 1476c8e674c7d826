"""The table of refusals, by the wordings of the servers that people use, in our own few words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wayword.models.servers import refusals
from wayword.models.servers.profile import Profile
from wayword.models.servers.refusals import Kind, learn, read, window

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
NEW = {**BODY, "max_completion_tokens": 4496}
del NEW["max_tokens"]


def _error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def _detail(field: str, message: str, kind: str = "value_error") -> dict[str, Any]:
    """A validation error as pydantic writes it."""
    return {"detail": [{"type": kind, "loc": ["body", field], "msg": message}]}


REASONING = {"temperature": False, "limit": "max_completion_tokens"}
"""Some of the traits that a reasoning model is known by."""

# server, status, error, meaning, some of the changed traits (None: nothing is learnt)
WORDINGS: list[tuple[str, int, Any, Kind, dict[str, Any] | None]] = [
    # prompt and answer together
    ("vllm", 400, _error("'max_tokens' or 'max_completion_tokens' is too large: 4496. This model's maximum context length is 4096 tokens and your request has 900 input tokens (4496 > 4096 - 900)."), "prompt too long", {"window": 4096}),
    ("vllm", 400, _error("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (4504 in the messages, 4496 in the completion)."), "prompt too long", {"window": 8192}),
    ("vllm", 400, _error("max_tokens must be at least 1, got -186."), "prompt too long", None),
    ("sglang", 400, _error("Requested token count exceeds the model's maximum context length of 32,768 tokens. You requested a total of 33000 tokens: 28504 tokens from the input messages and 4496 tokens for the completion."), "prompt too long", {"window": 32768}),
    ("sglang", 400, _error("The input (40000 tokens) is longer than the model's context length (32768 tokens)."), "prompt too long", {"window": 32768}),
    ("tgi", 422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 900 `inputs` tokens and 4496 `max_new_tokens`", "error_type": "validation"}, "prompt too long", {"window": 4096}),
    ("tgi", 422, {"error": "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000", "error_type": "validation"}, "prompt too long", {"window": 4096}),
    ("llama.cpp", 400, _error("the request exceeds the available context size, try increasing it", type="exceed_context_size_error", n_prompt_tokens=9000, n_ctx=8192), "prompt too long", {"window": 8192}),
    ("ollama", 500, {"error": "the input length exceeds the context length"}, "prompt too long", None),
    ("lm studio", 400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}, "prompt too long", {"window": 4096}),
    ("openai", 400, _error("This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", code="context_length_exceeded"), "prompt too long", {"window": 128000}),
    ("openai", 429, _error("Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 34000.", code="rate_limit_exceeded"), "prompt too long", {"window": 30000}),
    ("azure", 400, _error("Your input exceeds the context window of this model.", code="context_length_exceeded"), "prompt too long", None),
    ("anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}, "prompt too long", {"window": 200000}),
    ("anthropic", 400, {"type": "error", "error": {"message": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`"}}, "prompt too long", {"window": 200000}),
    ("gemini", 400, [_error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", status="INVALID_ARGUMENT")], "prompt too long", {"window": 1048576}),
    ("mistral", 400, {"object": "error", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", "code": "3051"}, "prompt too long", {"window": 32768}),
    ("deepseek", 400, _error("This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (61808 in the messages, 8192 in the completion)."), "prompt too long", {"window": 65536}),
    ("dashscope", 400, _error("Range of input length should be [1, 30720]", code="invalid_parameter_error"), "prompt too long", {"window": 30720}),
    ("groq", 413, _error("Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7200, reduce your message size.", code="rate_limit_exceeded"), "prompt too long", {"window": 6000}),
    ("openrouter", 400, _error("This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens (4504 of text input, 4496 in the output)."), "prompt too long", {"window": 8192}),
    ("dynamo", 500, _error("Input is too long: prompt exceeds the model's context length of 4096"), "prompt too long", {"window": 4096}),
    ("nginx", 413, "<html><h1>413 Request Entity Too Large</h1></html>", "prompt too long", None),
    # values
    ("tgi", 422, {"error": "Input validation error: `temperature` must be strictly positive", "error_type": "validation"}, "value out of range", {"without": ("temperature",)}),
    ("openai", 400, _error("max_tokens is too large: 4496. This model supports at most 4096 completion tokens, whereas you provided 4496.", param="max_tokens"), "value out of range", {"output": 4096}),
    ("openai", 400, _error("[a, b, c, d, e] is too long - 'stop': maximum length 4", param="stop"), "value out of range", {"stop": 4}),
    ("openai", 400, _error("Invalid value for 'top_logprobs': must be less than or equal to 5.", param="top_logprobs"), "value out of range", {"logprobs": 5}),
    ("vllm", 400, _error("Requested sample logprobs of 20, which is greater than max allowed: 5"), "value out of range", {"logprobs": 5}),
    ("anthropic", 400, _error("max_tokens: 4496 > 4096, which is the maximum allowed number of output tokens for x"), "value out of range", {"output": 4096}),
    ("gemini", 400, [_error("it has a max_tokens value of 4496 but the supported range is from 1 (inclusive) to 4097 (exclusive).")], "value out of range", {"output": 4096}),
    ("deepseek", 400, _error("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"), "value out of range", {"output": 4096}),
    ("dashscope", 400, _error("Range of max_tokens should be [1, 2000]"), "value out of range", {"output": 2000}),
    ("groq", 400, _error("`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens` is less than the `context_window` for this model"), "value out of range", {"output": 4096}),
    ("mistral", 422, _detail("n", "Input should be less than or equal to 2", "less_than_equal"), "value out of range", {"most": {"n": 2.0}}),
    ("azure", 400, _error("Invalid 'max_tokens': integer below minimum value. Expected a value >= 5000, but got 4496.", param="max_tokens"), "value out of range", {"least": {"max_tokens": 5000.0}}),
    ("kimi", 400, _error("invalid temperature: only 1 is allowed for this model"), "value out of range", {"without": ("temperature",)}),
    # one choice
    ("llama.cpp", 400, _error("Only one completion choice is allowed"), "one choice only", {"samples": False}),
    ("groq", 400, _error("'n' : number must be at most 1"), "one choice only", {"samples": False}),
    ("gemini", 400, [_error("Multiple candidates is not enabled for this model")], "one choice only", {"samples": False}),
    # fields
    ("openai", 400, _error("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", param="max_tokens", code="unsupported_parameter"), "field unknown", REASONING),
    ("azure", 400, _error("Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.", param="temperature", code="unsupported_value"), "field unknown", REASONING),
    ("openai", 400, _error("Unsupported parameter: 'stop' is not supported with this model.", param="stop", code="unsupported_parameter"), "field unknown", {"without": ("stop",)}),
    ("openai", 400, _error("In context=('properties', 'a'), 'maxLength' is not permitted.", param="response_format"), "field unknown", {"max_length": False}),
    ("mistral", 422, {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 7}, {"type": "extra_forbidden", "loc": ["body", "logprobs"], "msg": "Extra inputs are not permitted", "input": True}]}}, "field unknown", {"without": ("seed",), "logprobs": 0}),
    ("gemini", 400, [_error('Invalid JSON payload received. Unknown name "seed": Cannot find field.\nInvalid JSON payload received. Unknown name "n": Cannot find field.')], "field unknown", {"without": ("seed",), "samples": False}),
    ("groq", 400, _error("property 'logprobs' is unsupported"), "field unknown", {"logprobs": 0}),
    ("anthropic", 400, _error("`temperature` and `top_p` cannot both be specified for this model."), "field unknown", {"without": ("top_p",)}),
    ("anthropic", 400, _error("`temperature` is deprecated for this model."), "field unknown", {"without": ("temperature",)}),
    ("deepseek", 400, _error("This response_format type is unavailable now"), "field unknown", {"schema": "json_object"}),
    ("dashscope", 400, _error("<400> InternalError: parameter.response_format json_schema is not supported by this model"), "field unknown", {"schema": "json_object"}),
    ("openrouter", 404, _error("No endpoints found that support the parameter: seed"), "field unknown", {"without": ("seed",)}),
    ("dynamo", 400, _error("Validation: unknown field `seed`, expected one of `model`, `messages`, `temperature`"), "field unknown", {"without": ("seed",)}),
    ("sglang", 400, _error("logprobs is not supported with this speculative algorithm"), "field unknown", {"logprobs": 0}),
    ("vllm", 400, _error("Grammar error: unsupported schema: maxLength"), "field unknown", {"max_length": False}),
    ("xai", 400, _error("Argument not supported on this model: stop"), "field unknown", {"without": ("stop",)}),
    # the template
    ("vllm", 400, {"object": "error", "message": "Conversation roles must alternate user/assistant/user/assistant/...", "code": 400}, "no system role", {"system": False}),
    ("llama.cpp", 500, _error("System role not supported at row 1: raise_exception"), "no system role", {"system": False}),
    ("gemini", 400, [_error("Developer instruction is not enabled for models/gemma-x")], "no system role", {"system": False}),
    ("openai", 400, _error("Unsupported value: 'messages[0].role' does not support 'system' with this model.", param="messages[0].role"), "no system role", {"system": False}),
    ("lm studio", 400, {"error": "Only user and assistant roles are supported!"}, "no system role", {"system": False}),
    # credit
    ("openrouter", 402, _error("This request requires more credits, or fewer max_tokens. You requested up to 4496 tokens, but can only afford 31", code=402), "no credit", None),
    ("openai", 429, _error("You exceeded your current quota, check your plan and billing details.", code="insufficient_quota"), "no credit", None),
    ("anthropic", 400, _error("Your credit balance is too low to access the API."), "no credit", None),
    ("deepseek", 402, _error("Insufficient Balance"), "no credit", None),
    ("dashscope", 400, _error("Access denied, make sure your account is in good standing.", code="Arrearage"), "no credit", None),
    ("kimi", 429, _error("Your account is suspended, please check your plan and billing details", type="exceeded_current_quota_error"), "no credit", None),
    # keys
    ("openai", 401, _error("Incorrect API key provided: sk-x.", code="invalid_api_key"), "wrong key", None),
    ("azure", 401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key or wrong API endpoint."}}, "wrong key", None),
    ("gemini", 400, [_error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT")], "wrong key", None),
    ("groq", 403, _error("Forbidden"), "wrong key", None),
    ("mistral", 401, {"detail": "Unauthorized"}, "wrong key", None),
    # addresses
    ("ollama", 404, {"error": "model 'x' not found, try pulling it first"}, "wrong address", None),
    ("vllm", 404, _error("The model `x` does not exist.", type="NotFoundError"), "wrong address", None),
    ("deepseek", 400, _error("Model Not Exist"), "wrong address", None),
    ("openrouter", 400, _error("x/y is not a valid model ID"), "wrong address", None),
    ("lm studio", 200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, "wrong address", None),
    ("groq", 404, _error("Unknown request URL: POST /v1/v1/chat/completions", code="unknown_url"), "wrong address", None),
    ("azure", 404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}}, "wrong address", None),
    ("fastapi", 404, {"detail": "Not Found"}, "wrong address", None),
    ("a page", 200, "<!doctype html><html></html>", "wrong address", None),
    ("a stream", 200, ": keep-alive\n\ndata: {}\n\n", "wrong address", None),
    # later
    ("openai", 429, _error("Rate limit reached for x on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000. Please try again in 6s."), "overloaded", None),
    ("gemini", 429, [_error("You exceeded your current quota, check your plan and billing details. Please retry in 5.1s.", status="RESOURCE_EXHAUSTED")], "overloaded", None),
    ("anthropic", 529, _error("Overloaded", type="overloaded_error"), "overloaded", None),
    ("groq", 498, _error("Flex tier capacity exceeded", type="capacity_exceeded"), "overloaded", None),
    ("llama.cpp", 503, _error("Loading model", type="unavailable_error"), "overloaded", None),
    ("tgi", 429, {"error": "Model is overloaded", "error_type": "overloaded"}, "overloaded", None),
    ("dynamo", 503, _error("no instances available for endpoint"), "overloaded", None),
    ("openrouter", 502, _error("Provider returned error", metadata={"raw": "upstream connect error"}), "overloaded", None),
    ("openrouter", 200, _error("Rate limit exceeded", code=429), "overloaded", None),
    # nothing is refused
    ("openai", 400, _error("Could not finish the message because max_tokens or model output limit was reached."), "unknown", None),
    ("azure", 400, _error("The response was filtered due to the prompt triggering the content management policy: don't stop here", code="content_filter"), "unknown", None),
    ("anyone", 400, _error("something else went wrong"), "unknown", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("server", "status", "error", "kind", "changes"),
    WORDINGS,
    ids=[f"{number} {row[0]} {row[3]}" for number, row in enumerate(WORDINGS)],
)
def test_each_wording_has_one_meaning_and_one_lesson(
    server: str, status: int, error: Any, kind: Kind, changes: dict[str, Any] | None
) -> None:
    refusal = read(status, error, tuple(BODY))
    assert refusal.kind == kind
    lesson = learn(refusal, Profile(), BODY)
    if changes is None:
        assert lesson is None
    else:
        assert lesson is not None
        assert {trait: lesson[0].get(trait) for trait in changes} == changes


def test_only_the_refused_field_is_left_out() -> None:
    """Refusals of one field change the traits of that field alone."""
    for _, status, error, kind, changes in WORDINGS:
        if kind == "field unknown" and changes is not REASONING:
            lesson = learn(read(status, error, tuple(BODY)), Profile(), BODY)
            assert lesson is not None
            assert lesson[0] == changes, error


def test_the_table_is_closed_and_every_rule_is_used() -> None:
    """Every rule of the table is the first that fits for one of the wordings."""
    table = refusals._table()
    assert {rule["is"] for rule in table["rules"]} <= set(table["remedies"])
    assert len({server for server, *_ in WORDINGS}) >= 16
    for rule in table["rules"]:
        for pattern in rule.get("words", []):
            re.compile(pattern)


def test_a_request_that_an_error_repeats_proves_nothing() -> None:
    echoed = _detail("messages", "Input should be a list")
    echoed["detail"][0]["input"] = {"content": "insufficient credits, 'stop'"}
    assert read(400, echoed, tuple(BODY)).kind == "unknown"


@pytest.mark.parametrize(
    ("text", "room"),
    [
        ("'max_tokens' too large: 4496 > 4096 - 900", (4096, 900)),
        ("exceed context limit: 188240 + 21333 > 200000", (200000, 188240)),
        ("context length is 4,096; the request has 900 prompt tokens", (4096, 900)),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 900 `inputs` tokens", (4096, 900)),
    ],
)  # fmt: skip
def test_window_and_prompt_are_read(text: str, room: tuple[int, int]) -> None:
    refusal = read(400, _error(text), tuple(BODY))
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
        ({"parameters": "num_ctx    16384\nstop x", "model_info": {"qwen3.context_length": 40960}}, 16384),
        ({"license": "x" * 9000, "model_info": {"qwen3.context_length": 40960}}, 40960),
        ({"data": [{"id": "m", "max_model_len": "many"}]}, 0),
        (None, 0),
        ([3], 0),
    ],
)  # fmt: skip
def test_the_window_of_a_server_in_each_form(described: Any, size: int) -> None:
    assert window(json.loads(json.dumps(described)), "m") == size


def test_the_shipped_table_is_text_that_a_person_edits() -> None:
    assert isinstance(refusals.TABLE, Path)
    assert all(len(line) < 160 for line in refusals.TABLE.read_text().splitlines())

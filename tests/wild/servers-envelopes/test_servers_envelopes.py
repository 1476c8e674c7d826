"""Replies inside a field of a gateway, and replies of other interfaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import serving
from helpers.served_runs import good, played, send_request
from wayword.core.errors import ModelError

REPLY = {
    "choices": [{"message": {"role": "assistant", "content": "hi"}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1},
}


@pytest.mark.parametrize("field", ["data", "result", "response"])
def test_a_reply_inside_a_field_is_read(field: str) -> None:
    with serving(lambda *_: (200, {field: REPLY, "success": True})) as server:
        answer = send_request(server.address)
    assert not isinstance(answer, ModelError)


def test_an_error_inside_a_field_is_that_error() -> None:
    """A function behind a gateway that does not unwrap what it returns."""
    body = '{"error": {"message": "Too many requests"}}'
    with serving(lambda *_: (200, {"statusCode": 429, "body": body})) as server:
        error = send_request(server.address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (False, True)
    assert "Too many requests" in str(error)


def test_the_gateways_own_error_comes_before_one_in_a_field() -> None:
    reply = {"error": {"message": "Too many requests"}, "data": {"error": "failed"}}
    with serving(lambda *_: (429, reply)) as server:
        error = send_request(server.address)
    assert "Too many requests" in str(error)


OTHERS: dict[str, Any] = {
    "Ollama": {"model": "m", "message": {"content": "hi"}, "done_reason": "stop"},
    "Gemini": {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]},
    "text-generation-inference": [{"generated_text": "hi"}],
    "Bedrock, Converse": {
        "output": {"message": {"content": [{"text": "hi"}]}},
        "stopReason": "end_turn",
    },
    "Bedrock, Titan": {"results": [{"outputText": "hi", "tokenCount": 1}]},
    "Bedrock, Llama": {"generation": "hi", "stop_reason": "stop"},
    "Cohere": {"finish_reason": "COMPLETE", "message": {"content": [{"text": "hi"}]}},
    "Cohere, first version": {"text": "hi", "generation_id": "g"},
    "Vertex": {"predictions": ["hi"], "deployedModelId": "1"},
    "Ollama, generate": {"model": "m", "response": "hi", "done": True},
    "Cloudflare, run": {"result": {"response": "hi"}, "success": True},
    "llama.cpp": {"content": "hi", "stop": True, "tokens_predicted": 1},
    "KServe": {"outputs": [{"name": "text", "datatype": "BYTES", "data": ["hi"]}]},
    "Triton": {"model_name": "m", "text_output": "hi"},
    "a list of models": {"object": "list", "data": [{"id": "m", "object": "model"}]},
    "an error in an envelope": {
        "success": False,
        "errors": [{"code": 7003, "message": "Could not route to /run"}],
    },
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_reply_of_another_interface_is_fatal_at_once(name: str) -> None:
    with serving(lambda *_: (200, OTHERS[name])) as server:
        error = send_request(server.address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (True, False)
    assert "model.base_url" in str(error)


UNNAMED: dict[str, Any] = {
    "a text": {"text": "hi"},
    "an output": {"output": {"text": "hi"}, "request_id": "r"},
    "content alone": {"content": [{"type": "text", "text": "hi"}], "role": "assistant"},
    "a message": {"message": "hi"},
    "success and data": {"code": 0, "message": "success", "data": {"answer": "hi"}},
    "a list": [{"content": "hi"}],
    "a string": "hi",
    "nothing": {},
}


@pytest.mark.parametrize("name", UNNAMED)
def test_a_first_reply_without_choices_is_fatal_at_once(name: str) -> None:
    with serving(lambda *_: (200, UNNAMED[name])) as server:
        error = send_request(server.address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (True, False)
    assert error.billed, "the server may have processed it"
    assert "set model.base_url to its OpenAI-compatible one" in str(error)


MOMENTARY: dict[str, Any] = {
    "no choices yet": {"choices": []},
    "null": {"choices": None},
    "a completion": {"id": "c", "object": "chat.completion", "usage": {}},
    "an error": {"success": False, "msg": "try later"},
    "errors": {"errors": ["cut off"]},
}


@pytest.mark.parametrize("name", MOMENTARY)
def test_a_reply_of_this_interface_without_choices_is_retried(
    name: str,
) -> None:
    with serving(lambda *_: (200, MOMENTARY[name])) as server:
        error = send_request(server.address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (False, True)


def test_after_an_answer_a_reply_without_choices_is_a_fault_of_the_moment(
    tmp_path: Path,
) -> None:
    count = [0]

    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        count[0] += 1
        return (200, {"text": "hi"}) if count[0] == 2 else good(body)

    run = played(answer, tmp_path / "run", retries=3)
    assert run.outcome.finished == 3

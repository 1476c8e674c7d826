"""Replies inside a field of a gateway, and replies of other interfaces."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.loopback import serving
from helpers.served_runs import send_request
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

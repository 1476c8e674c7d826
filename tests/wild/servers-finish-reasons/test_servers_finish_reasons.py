"""Ends of an answer as servers name them, and as they are recorded."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.loopback import chat, serving
from helpers.served_runs import send_request
from wayword.core.model import Completion
from wayword.models.servers.answers import finish_of

NAMES: dict[str, tuple[Any, ...]] = {
    "stop": (
        "stop",
        "STOP",
        "eos",
        "eos_token",
        "end_turn",
        "stop_sequence",
        "COMPLETE",
        "stop:",
        "stop_sequence: \nObservation:",
        "null",
        "None",
    ),
    "length": (
        *(
            "length",
            "MAX_TOKENS",
            "FinishReason.MAX_TOKENS",
            "max_tokens",
            "max_output",
        ),
        *("max_length", "model_length", "model_context_window_exceeded", "ERROR_LIMIT"),
        *("max_output_tokens", {"type": "length"}, "maxTokens", "MaxTokens"),
        *("max tokens", "FINISH_REASON_MAX_TOKENS", "length:", "stop: max_tokens"),
    ),
    "tool_calls": ("tool_calls", "tool_use", "function_call", "toolUse", "tool-calls"),
    "content_filter": (
        *("content_filter", "SAFETY", "recitation", "PROHIBITED_CONTENT", "refusal"),
        *("sensitive", "ERROR_TOXIC", "guardrail_intervened", "content-filter"),
        *("content_filter: OF_SOME_KIND", "content_filter:"),
        *("content_filter: RECITATION", "IMAGE_PROHIBITED_CONTENT", "contentFiltered"),
    ),
    "error": (
        *("error", "network_error", "FinishReason.MALFORMED_RESPONSE"),
        *("function_call_filter: MALFORMED_FUNCTION_CALL", "TOO_MANY_TOOL_CALLS"),
        "MISSING_THOUGHT_SIGNATURE",
    ),
    "": (None, "", 5),
    "pause_turn": ("pause_turn", "PAUSE_TURN"),
}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(ours, each) for ours, names in NAMES.items() for each in names],
)
def test_a_name_of_an_end_is_that_of_the_chat_api(ours: str, theirs: Any) -> None:
    assert finish_of({"finish_reason": theirs}) == ours


def test_it_may_stand_in_another_field() -> None:
    assert finish_of({"finishReason": "MAX_TOKENS"}) == "length"
    assert finish_of({"finish_reason": None, "stop_reason": "max_tokens"}) == "length"
    # vLLM's stop_reason is the stop text next to a finish reason.
    assert finish_of({"finish_reason": "stop", "stop_reason": "length"}) == "stop"


def test_a_call_that_the_server_could_not_read_is_an_error() -> None:
    reply = chat("")
    reply["choices"][0]["finish_reason"] = "MALFORMED_FUNCTION_CALL"
    with serving(lambda *_: (200, reply)) as server:
        error = send_request(server.address)
    assert not isinstance(error, Completion)


def test_the_record_has_the_name_of_the_chat_api() -> None:
    reply = chat("go")
    reply["choices"][0]["finish_reason"] = "FinishReason.MAX_TOKENS"
    with serving(lambda *_: (200, reply)) as server:
        answer = send_request(server.address)
    assert isinstance(answer, Completion)
    assert answer.finish == ("length",)

"""Choices and contents in forms that only some servers send."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import serving
from helpers.served_runs import send_request
from wayword.core.model import Completion, Sampling, user
from wayword.models.parts.opening import open_model

USAGE = {"prompt_tokens": 5, "completion_tokens": 1}


def says(content: Any, **more: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content}, **more}


CHOICES: dict[str, tuple[Any, str]] = {
    "a number": ([says(3)], "3"),
    "zero": ([says(0)], "0"),
    "a fraction": ([says(0.5)], "0.5"),
    "a refusal as a part": (
        [says([{"type": "refusal", "refusal": "I may not"}])],
        "I may not",
    ),
    "parts that are texts": ([says(["go ", "left"])], "go left"),
    "one choice without a list": (says("hi"), "hi"),
    "a null among them": ([None, says("hi")], "hi"),
    "in the order of their ends": ([says("b", index=1), says("a", index=0)], "a"),
    "equal indices": ([says("a", index=0), says("b", index=0)], "a"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_the_first_choice_is_read(name: str) -> None:
    choices, text = CHOICES[name]
    with serving(lambda *_: (200, {"choices": choices, "usage": USAGE})) as server:
        answer = send_request(server.address)
    assert isinstance(answer, Completion)
    assert answer.text == text


def completed(prompt: Any, reply: dict[str, Any], **sampling: Any) -> Completion:
    """The answer to a prompt, by a server with one reply."""
    with serving(lambda *_: (200, reply)) as server:

        async def ask() -> Completion:
            model = open_model("openai:mine", {"base_url": server.address})
            try:
                return await model.complete(prompt, Sampling(**sampling))
            finally:
                await model.aclose()

        return asyncio.run(ask())


def test_raw_text_is_read_from_the_form_of_a_chat_and_without_the_prompt() -> None:
    chat_form = {"choices": [says(" go left")], "usage": USAGE}
    echo = {"choices": [{"text": "Where? go left"}], "usage": USAGE}
    for reply in (chat_form, echo):
        assert completed("Where?", reply).text == " go left"


CALL = {"function": {"name": "answer", "arguments": '{"a": "x"}'}, "id": "1"}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
}


def test_a_schema_that_a_gateway_has_sent_as_a_tool_is_answered_by_a_call() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    reply = {"choices": [{"message": message}], "usage": USAGE}
    answered = completed([user("Where?")], reply, json_schema=SCHEMA)
    assert answered.text == '{"a": "x"}'
    # Without a schema, a call that was not offered is no answer.
    assert completed([user("Where?")], reply).text == ""

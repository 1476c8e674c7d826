"""An error inside a reply of status 200."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import serving
from helpers.served_runs import send_request
from wayword.core.errors import ModelError
from wayword.core.model import Sampling, user
from wayword.models.openai import OpenAIModel
from wayword.models.servers.requests import ServerSettings


def _in_choice(code: int, text: str) -> dict[str, Any]:
    error = {"code": code, "message": text}
    message = {"role": "assistant", "content": "half"}
    choice = {"message": message, "finish_reason": "error", "error": error}
    return {"choices": [choice]}


def _as_answer(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


REPLIES: dict[str, tuple[dict[str, Any], bool, bool]] = {
    # reply, fatal, retried
    "key": ({"error": {"message": "No auth credentials", "code": 401}}, True, False),
    "credit": (
        {"error": {"message": "Insufficient credits", "code": 402}},
        True,
        False,
    ),
    "rate": ({"error": {"message": "Rate limit exceeded", "code": 429}}, False, True),
    "text": ({"error": "upstream error"}, False, True),
    "null choices": (
        {"choices": None, "error": {"message": "x", "code": "502"}},
        False,
        True,
    ),
    "own fields": (
        {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
        True,
        False,
    ),
    "choice": (_in_choice(502, "provider disconnected"), False, True),
    "choice with a key": (_in_choice(401, "invalid api key"), True, False),
    "finish": (
        {"choices": [{"message": {"content": "x"}, "finish_reason": "error"}]},
        False,
        True,
    ),
    "finish of the upstream": (
        {
            "choices": [
                {
                    "message": {"content": ""},
                    "finish_reason": "stop",
                    "native_finish_reason": "network_error",
                }
            ]
        },
        False,
        True,
    ),
    "finish without resources": (
        {
            "choices": [
                {
                    "message": {"content": "half"},
                    "finish_reason": "insufficient_system_resource",
                }
            ]
        },
        False,
        True,
    ),
    "nothing generated": (
        {
            "choices": [
                {
                    "message": {"role": "assistant", "content": ""},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        },
        False,
        True,
    ),
    "text of an answer": (
        _as_answer('API Error: 401 {"error": {"message": "bad key", "code": 401}}'),
        True,
        False,
    ),
    "text of an answer in Chinese": (
        _as_answer('错误: API请求失败 (429): {"error": {"message": "x", "code": 429}}'),
        False,
        True,
    ),
    "JSON as the text": (
        _as_answer('{"error": {"message": "no capacity", "code": "503"}}'),
        False,
        True,
    ),
    # https://github.com/diegosouzapw/OmniRoute/issues/3424
    "text of a gateway": (
        _as_answer("[OmniRoute] Upstream returned an empty response. Please retry."),
        False,
        True,
    ),
    # https://github.com/saberjack/SHTUCodeProxy/pull/4
    "text of a proxy": (_as_answer("[Proxy Error] upstream reset"), False, True),
    "text of a proxy about a prompt": (
        _as_answer("[Proxy Error] This model's maximum context length is 128 tokens."),
        False,
        False,
    ),
    # https://github.com/azrtydxb/Fastllm-proxy/issues/28
    "limit of a worker": (
        {
            "error": {
                "message": "ResourceExhausted: request limit reached (1)",
                "code": 502,
            }
        },
        False,
        True,
    ),
    "detail": ({"detail": "Not authenticated"}, True, False),
    "another API": (
        {"type": "message", "content": [{"type": "text", "text": "hi"}]},
        True,
        False,
    ),
    "responses": ({"object": "response", "output": []}, True, False),
}


@pytest.mark.parametrize("name", REPLIES)
def test_an_error_is_never_an_answer(name: str) -> None:
    reply, fatal, retried = REPLIES[name]
    with serving(lambda *_: (200, reply)) as server:
        error = send_request(server.address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (fatal, retried)


@pytest.mark.parametrize(
    "text",
    [
        '{"error": {"message": "no path", "type": "plan"}}',
        '{"error": {"message": "x", "code": 404}, "action": "stop"}',
        '{"error": "I cannot", "action": "stop"}',
        'The sign says {"error": {"message": "x", "code": 404}}',
        'Error 404 was on the sign. {"action": "stop"}',
        'Error: {"error": {"message": "x", "code": 404}}\nAction: stop',
        '{"error": {"code": 404}}',
        "[Thought] Upstream is a door.\nAction: stop",
        "[error] I cannot go there.\nAction: stop",
        "[stop]",
    ],
)
def test_an_answer_about_an_error_is_an_answer(text: str) -> None:
    with serving(lambda *_: (200, _as_answer(text))) as server:
        assert not isinstance(send_request(server.address), ModelError)


@pytest.mark.parametrize("shown", [True, False])
def test_an_error_that_the_prompt_shows_is_repeated_by_the_model(shown: bool) -> None:
    text = '{"error": {"message": "No such room", "code": 404}}'
    prompt = f"The world says: {text}" if shown else "Where?"
    with serving(lambda *_: (200, _as_answer(text))) as server:
        model = OpenAIModel("m", ServerSettings(base_url=server.address))
        call = model.complete([user(prompt)], Sampling(max_tokens=50))
        if shown:
            assert asyncio.run(call).texts == (text,)
        else:
            with pytest.raises(ModelError):
                asyncio.run(call)


def test_an_answer_with_an_empty_error_is_an_answer() -> None:
    choice = {"message": {"content": "hi"}, "error": None, "finish_reason": "stop"}
    with serving(lambda *_: (200, {"choices": [choice], "error": None})) as server:
        assert not isinstance(send_request(server.address), ModelError)

"""The OpenAI adapter against a server on loopback: what it asks, what it makes of the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from wayword.core.errors import ModelError, UsageError
from wayword.core.model import (
    Completion,
    Image,
    Message,
    Model,
    Prompt,
    Sampling,
    Usage,
    system,
    user,
)
from wayword.models.middleware.budget import Account, PaidModel
from wayword.models.openai import OpenAIModel
from wayword.models.parts.decoding import UNPICKED_LOGPROB
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.models.servers.waits import retry_after

HELLO = [user("hello")]


def chat_answer(*texts: str, **more: Any) -> dict[str, Any]:
    """A chat answer."""
    choices = [
        {
            "index": i,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        for i, text in enumerate(texts)
    ]
    counted = {"prompt_tokens": 10, "completion_tokens": 2 * len(texts)}
    counted |= {"prompt_tokens_details": {"cached_tokens": 4}}  # type: ignore[dict-item]
    return {"object": "chat.completion", "choices": choices, "usage": counted, **more}


def listed(**tokens: float) -> dict[str, Any]:
    """A text completion of one token, with the likeliest ones; ``_`` stands for a blank."""
    named = {name.replace("_", " "): value for name, value in tokens.items()}
    first = next(iter(named))
    logprobs = {
        "tokens": [first],
        "token_logprobs": [named[first]],
        "top_logprobs": [named],
    }
    choice = {
        "index": 0,
        "text": first,
        "finish_reason": "length",
        "logprobs": logprobs,
    }
    return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}


class ServedModel(Model):
    """One call against a fake server: the answer or error, and what the server saw."""

    def __init__(self, serving: Any, *replies: Any, **settings: object) -> None:
        self.serving = serving
        self.replies = replies
        self.settings = settings
        self.server: Any = None

    def complete(
        self, prompt: Prompt = "", sampling: Sampling | None = None
    ) -> Completion:
        return asyncio.run(
            self._go("complete", prompt or HELLO, sampling or Sampling())
        )

    def choose(self, prompt: Prompt, options: Sequence[str]) -> Any:
        return asyncio.run(self._go("choose", prompt, options))

    async def _go(self, verb: str, *arguments: Any) -> Any:
        async with self.serving(*self.replies) as server:
            self.server = server
            model = open_model(
                "openai:m", {"base_url": server.address, **self.settings}
            )
            try:
                return await getattr(model, verb)(*arguments)
            finally:
                await model.aclose()


def test_a_conversation_with_a_picture(serving: Any, reply: Any) -> None:
    model = ServedModel(serving, reply(chat_answer("hi")))
    prompt = [
        system("be brief"),
        Message("user", "what?", (Image(b"png", "image/png"),)),
    ]
    sampling = Sampling(
        temperature=0.5, top_p=0.9, max_tokens=7, stop=("\n",), seed=3, logprobs=2
    )
    answer = model.complete(prompt, sampling)
    assert (answer.text, answer.finish, answer.usage) == (
        "hi",
        ("stop",),
        Usage(10, 2, 4),
    )
    body = model.server.asked[0]
    assert model.server.routes == ["/v1/chat/completions"]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}
    assert body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "what?"}, picture]},
    ]
    limit = {
        "model": "m",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "stop": ["\n"],
    }
    limit |= {"seed": 3, "logprobs": True, "top_logprobs": 2}
    assert {name: body[name] for name in limit} == limit
    assert "n" not in body


@pytest.mark.parametrize(
    ("has_role", "prompt", "sent"),
    [
        (True, [system("be brief")], [("system", "be brief")]),
        (False, [system("be brief")], [("user", "be brief")]),
        (False, [system("be brief"), user("go")], [("user", "be brief\n\ngo")]),
        (False, [user("go")], [("user", "go")]),
    ],
)
def test_a_template_without_the_systems_role_gets_its_text_from_the_user(
    serving: Any, reply: Any, has_role: bool, prompt: Any, sent: list[tuple[str, str]]
) -> None:
    profile = {"system": has_role}
    model = ServedModel(serving, reply(chat_answer("hi")), profile=profile)
    model.complete(prompt, Sampling())
    messages = model.server.asked[0]["messages"]
    assert [(message["role"], message["content"]) for message in messages] == sent


@pytest.mark.parametrize(
    ("settings", "unsent"),
    [
        ({}, ()),
        ({"profile": "reasoning"}, ("temperature", "top_p")),
        ({"omit": ["temperature"]}, ("temperature",)),
        ({"extra": {"temperature": 1.0}}, ("temperature",)),
        ({"profile": {"schema": "json_object"}}, ("json_schema",)),
        ({"omit": ["response_format"]}, ("json_schema",)),
    ],
)
def test_an_answer_says_what_of_its_sampling_was_not_sent(
    serving: Any, reply: Any, settings: dict[str, Any], unsent: tuple[str, ...]
) -> None:
    model = ServedModel(serving, reply(chat_answer("{}")), **settings)
    schema = {"type": "object", "properties": {}}
    sampling = Sampling(top_p=0.9, seed=3, stop=("\n",), json_schema=schema)
    assert model.complete([user("x")], sampling).unsent == unsent


def test_raw_text_goes_to_the_completions_route(serving: Any, reply: Any) -> None:
    model = ServedModel(serving, reply(listed(_left=-0.5, _right=-1.5)))
    answer = model.complete("go", Sampling(logprobs=2))
    assert model.server.routes == ["/v1/completions"]
    assert model.server.asked[0]["prompt"] == "go"
    assert answer.text == " left"
    assert answer.logprobs[0].alternatives == {" left": -0.5, " right": -1.5}


def test_a_server_that_ignores_n_is_queried_again(serving: Any, reply: Any) -> None:
    model = ServedModel(
        serving,
        reply(chat_answer("a")),
        reply(chat_answer("b")),
        reply(chat_answer("c")),
    )
    answer = model.complete(sampling=Sampling(n=3, seed=5, temperature=1.0))
    assert sorted(answer.texts) == ["a", "b", "c"]
    assert [body.get("n") for body in model.server.asked] == [3, None, None]
    assert sorted(body["seed"] for body in model.server.asked) == [5, 6, 7]
    assert answer.usage == Usage(30, 6, 12)


def test_n_samples_from_one_answer(serving: Any, reply: Any) -> None:
    model = ServedModel(serving, reply(chat_answer("a", "b")))
    assert model.complete(sampling=Sampling(n=2, temperature=1.0)).texts == ("a", "b")
    assert len(model.server.asked) == 1


def test_choices_are_wrapped_in_json_and_unwrapped(serving: Any, reply: Any) -> None:
    model = ServedModel(serving, reply(chat_answer('{"answer": "go left"}')))
    assert (
        model.complete(sampling=Sampling(choices=("go left", "stop"))).text == "go left"
    )
    expected = model.server.asked[0]["response_format"]["json_schema"]
    assert expected["strict"] is True
    assert expected["schema"]["properties"] == {
        "answer": {"type": "string", "enum": ["go left", "stop"]}
    }


def test_an_answer_that_breaks_the_wrapping_is_handed_on(
    serving: Any, reply: Any
) -> None:
    model = ServedModel(serving, reply(chat_answer("I think left")))
    assert model.complete(sampling=Sampling(choices=("left",))).text == "I think left"


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("dialect", "sampling", "field", "value"),
    [
        ("llamacpp", Sampling(choices=("a",)), "grammar", 'root ::= "a"'),
        ("llamacpp", Sampling(grammar="root ::= x"), "grammar", "root ::= x"),
        ("vllm", Sampling(choices=("a",)), "structured_outputs", {"choice": ["a"]}),
        (
            "vllm",
            Sampling(grammar="root ::= x"),
            "structured_outputs",
            {"grammar": "root ::= x"},
        ),
        (
            "vllm",
            Sampling(json_schema=SCHEMA),
            "structured_outputs",
            {"json": {**SCHEMA, "additionalProperties": False}},
        ),
        (
            "openai",
            Sampling(json_schema=SCHEMA),
            "response_format",
            {
                "type": "json_schema",
                "json_schema": {
                    "name": "answer",
                    "schema": {**SCHEMA, "additionalProperties": False},
                    "strict": False,
                },
            },
        ),
    ],
)
def test_each_dialect_asks_in_its_own_way(
    serving: Any,
    reply: Any,
    dialect: str,
    sampling: Sampling,
    field: str,
    value: object,
) -> None:
    model = ServedModel(serving, reply(chat_answer("a")), dialect=dialect)
    model.complete(sampling=sampling)
    assert model.server.asked[0][field] == value


def test_what_a_dialect_cannot_say_is_an_error_and_not_left_out(
    serving: Any, reply: Any
) -> None:
    for prompt, sampling in (
        ("raw", Sampling(choices=("a",))),
        (HELLO, Sampling(grammar="x")),
    ):
        model = ServedModel(serving, reply(chat_answer("a")), text_as="completion")
        with pytest.raises(ModelError, match="setting 'dialect'"):
            model.complete(prompt, sampling)
        assert model.server.asked == []


@pytest.mark.parametrize("settings", [{"timeout": 0.0}, {"thinking": -1}])
def test_a_time_limit_or_thinking_below_its_least_is_refused(
    settings: dict[str, Any],
) -> None:
    with pytest.raises(UsageError, match="timeout must be above 0, and thinking"):
        OpenAIModel.Settings(**settings)


def test_a_choice_among_no_answers_is_refused(serving: Any, reply: Any) -> None:
    model = ServedModel(serving, reply(chat_answer("a")))
    with pytest.raises(ModelError, match="at least one answer"):
        model.complete(sampling=Sampling(choices=()))


def test_fields_can_be_left_out_and_added(serving: Any, reply: Any) -> None:
    extra = {"reasoning_effort": "low"}
    model = ServedModel(
        serving,
        reply(chat_answer("a")),
        omit=["temperature"],
        extra=extra,
        text_as="message",
    )
    model.complete("raw")
    body = model.server.asked[0]
    assert "temperature" not in body
    assert body["reasoning_effort"] == "low"
    (message,) = body["messages"]
    assert message["content"].startswith(
        "raw\n\n(The text breaks off here. Continue it"
    )


def test_the_key_comes_from_the_environment(
    serving: Any, reply: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "k123")
    model = ServedModel(serving, reply(chat_answer("a")), key_env="MY_KEY")
    model.complete()
    assert model.server.keys == ["bearer k123"]


def test_choose_follows_options_of_several_tokens(serving: Any, reply: Any) -> None:
    model = ServedModel(
        serving,
        reply(listed(_turn=-0.25, _left=-2.0, _le=-9.0, x=-8.0)),
        reply(listed(_around=-0.5, _back=-1.0)),
    )
    choice = model.choose("5. ", ["left", "turn around", "turn back", "zigzag"])
    # what is not listed gets the lowest listed value: its upper bound
    assert choice.logprobs == pytest.approx((-2.0, -0.75, -1.25, -9.0))
    assert choice.logprobs[-1] < -9.0
    assert choice.best == "turn around"
    assert [body["prompt"] for body in model.server.asked] == ["5.", "5. turn"]
    assert choice.usage == Usage(6, 2, 0)


def test_choose_after_a_conversation_ranks_by_the_first_token(
    serving: Any, reply: Any
) -> None:
    def top(token: str, value: float) -> dict[str, Any]:
        return {"token": token, "logprob": value}

    others = [top("left", -0.5), top("tur", -1.0)]
    answer = chat_answer("left")
    answer["choices"][0]["logprobs"] = {
        "content": [{**others[0], "top_logprobs": others}]
    }
    choice = ServedModel(serving, reply(answer)).choose(HELLO, ["turn", "left"])
    assert choice.logprobs == (-1.0, -0.5)
    with pytest.raises(ModelError, match="several options begin with the token 'tur'"):
        ServedModel(serving, reply(answer), choose="logprobs").choose(
            HELLO, ["turn", "turf"]
        )


@pytest.mark.parametrize(
    ("answer", "problem"),
    [(chat_answer("a"), "returns no log-probabilities"), (None, "no option is among")],
)
def test_choose_says_what_the_server_lacks(
    serving: Any, reply: Any, answer: Any, problem: str
) -> None:
    body = answer or listed(_up=-0.5)
    with pytest.raises(ModelError, match=f"{problem}.*choose=constrained"):
        ServedModel(serving, reply(body), choose="logprobs").choose(
            HELLO if answer else "x", ["left", "right"]
        )


def test_choose_constrained_names_a_winner(serving: Any, reply: Any) -> None:
    model = ServedModel(
        serving, reply(chat_answer('{"answer": "right"}')), choose="constrained"
    )
    choice = model.choose(HELLO, ["left", "right"])
    assert (choice.best, choice.logprobs) == ("right", (UNPICKED_LOGPROB, 0.0))
    model = ServedModel(serving, reply(chat_answer("both")), choose="constrained")
    choice = model.choose(HELLO, ["left", "right"])
    assert (choice.other_text, *choice.logprobs) == (
        "both",
        UNPICKED_LOGPROB,
        UNPICKED_LOGPROB,
    )


@pytest.mark.parametrize("prompt", [HELLO, "1. "], ids=["chat", "raw text"])
def test_choose_without_log_probabilities_wastes_no_call(
    serving: Any, reply: Any, prompt: Prompt
) -> None:
    answer = chat_answer("left")
    answer["choices"][0]["text"] = " left"
    model = ServedModel(serving, reply(answer))
    choice = model.choose(prompt, ["left", "right"])
    assert (choice.best, choice.picked, len(model.server.asked)) == ("left", True, 1)


def refusal(message: str, code: str = "") -> dict[str, Any]:
    return {"error": {"message": message, "code": code, "type": code}}


@pytest.mark.parametrize(
    ("status", "body", "retryable", "message"),
    [
        (429, refusal("slow down"), True, "replied 429: slow down"),
        (429, refusal("pay", "insufficient_quota"), False, "replied 429: pay"),
        (500, refusal("oops"), True, "replied 500: oops"),
        (503, b"<html>busy</html>", True, "replied 503"),
        (400, refusal("too\nlong"), False, "replied 400: too long"),
        (401, refusal("bad key"), False, "refused the key"),
        (404, refusal("no such model"), False, "replied 404: no such model"),
        (200, b'{"choices": [', True, "unreadable reply"),
        (200, b"<html>hello</html>", False, "it sent a page and not an API's reply"),
        (200, {"choices": []}, True, "has no choices"),
        (200, {"choices": [3]}, True, "has no choices"),
        (200, [1, 2], False, "it answers in the form of another API"),
    ],
)
def test_failures_say_what_happened_and_whether_to_try_again(
    serving: Any, reply: Any, status: int, body: Any, retryable: bool, message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        ServedModel(serving, reply(body, status)).complete()
    assert caught.value.retryable is retryable
    assert "\n" not in str(caught.value)


def test_a_late_answer_and_a_dropped_connection_may_be_tried_again(
    serving: Any, reply: Any
) -> None:
    with pytest.raises(ModelError, match="did not reply within") as late:
        ServedModel(serving, reply(chat_answer("a"), delay=2.0), timeout=0.1).complete()
    with pytest.raises(ModelError, match="no connection") as dropped:
        ServedModel(serving, reply(drop=True)).complete()
    assert late.value.retryable
    assert dropped.value.retryable


def test_no_one_listens(reply: Any) -> None:
    model = OpenAIModel("m", OpenAIModel.Settings(base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(
        ModelError, match=r"no connection to http://127\.0\.0\.1:9/v1"
    ) as caught:
        asyncio.run(model.complete(HELLO, Sampling()))
    assert caught.value.retryable


def test_retry_after_reaches_the_retry_wrapper(serving: Any, reply: Any) -> None:
    async def go() -> tuple[Completion, int]:
        headers = {"retry-after-ms": "30"}
        async with serving(
            reply(refusal("x"), 429, headers), reply(chat_answer("hi"))
        ) as server:
            model = wrap(
                open_model("openai:m", {"base_url": server.address}), Options()
            )
            answer = await model.complete(HELLO, Sampling())
            await model.aclose()
            return answer, len(server.asked)

    answer, requests = asyncio.run(go())
    assert (answer.text, requests) == ("hi", 2)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 01 Jan 99999 00:00:00 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        # Of several limits that are reached, the last one decides.
        (
            {
                "x-ratelimit-remaining-a": "0",
                "x-ratelimit-reset-a": "3",
                "x-ratelimit-remaining-b": "0",
                "x-ratelimit-reset-b": "7s",
                "x-ratelimit-remaining-c": "5",
                "x-ratelimit-reset-c": "9",
            },
            7.0,
        ),
        ({"ratelimit": '"minute";r=0;t=4, "day";r=0;t=8, "hour";r=1;t=9'}, 8.0),
    ],
)
def test_retry_after_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=10.0) == seconds


@pytest.mark.parametrize("prefix", ["a-", "x-vendor-"])
@pytest.mark.parametrize("unit", ["", "-ms"])
def test_the_usual_name_of_a_wait_comes_before_a_vendor_s(
    prefix: str, unit: str
) -> None:
    """In whatever order they are sent; without it, the vendor's counts."""
    vendors = {f"{prefix}retry-after{unit}": "3"}
    usual = {f"retry-after{unit}": "7"}
    scale = 0.001 if unit else 1.0
    for headers in (vendors | usual, usual | vendors):
        assert retry_after(headers, now=10.0) == 7 * scale
    assert retry_after(vendors, now=10.0) == 3 * scale
    assert retry_after({f"{prefix}retry-after{unit}-policy": "3"}, now=10.0) is None


@pytest.mark.parametrize("order", ["{} {}", "{1} {0}"])
def test_a_wait_is_read_at_the_ends_of_a_long_error(order: str) -> None:
    page = order.format("<p>retry 1.1</p>" * 100_000, "try again in 5s")
    assert retry_after({}, page) == 5.0


def test_one_model_serves_several_event_loops(serving: Any, reply: Any) -> None:
    """``asyncio.run`` twice: connections of a closed loop are not used again."""
    texts = []
    model: list[Any] = []

    async def go() -> None:
        async with serving(reply(chat_answer("hi"))) as server:
            model[:] = [OpenAIModel("m", OpenAIModel.Settings(base_url=server.address))]
            texts.append((await model[0].complete(HELLO, Sampling())).text)
            await model[0].aclose()
            texts.append((await model[0].complete(HELLO, Sampling())).text)
            await model[0].aclose()

    asyncio.run(go())
    asyncio.run(go())
    assert texts == ["hi"] * 4
    assert json.dumps(texts)


def test_after_the_first_answer_of_a_shape_all_that_wait_go_at_once() -> None:
    """The server answers its first request, and then none until all others have come."""
    came = [0]
    everyone = asyncio.Event()

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(head.split("content-length: ")[1].split("\r")[0]))
        came[0] += 1
        if came[0] == 30:
            everyone.set()
        if came[0] > 1:
            await everyone.wait()
        raw = json.dumps(chat_answer("hi")).encode()
        fields = f"content-length: {len(raw)}\r\nconnection: close\r\n\r\n".encode()
        writer.write(b"HTTP/1.1 200 OK\r\n" + fields + raw)
        await writer.drain()
        writer.close()

    async def go() -> int:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = OpenAIModel(
            "m", OpenAIModel.Settings(f"http://127.0.0.1:{port}/v1", timeout=600)
        )
        try:
            answers = await asyncio.gather(
                *(model.complete(HELLO, Sampling()) for _ in range(30))
            )
        finally:
            await model.aclose()
            server.close()
        return len(answers)

    assert asyncio.run(go()) == 30


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(serving: Any, reply: Any, status: int) -> None:
    """Neither the prompt nor the headers reach the server that it names."""

    async def go() -> tuple[int, str, bool]:
        async with serving(reply(chat_answer("hi"))) as other:
            moved = {"location": f"{other.address}/chat/completions?key=abcd1234"}
            async with serving(reply(b"", status, moved)) as server:
                headers = {"extra_headers": {"x-api-key": "abcd1234"}}
                settings = {"base_url": server.address, "extra": headers}
                model = open_model("openai:m", settings)
                with pytest.raises(ModelError) as caught:
                    await model.complete(HELLO, Sampling())
                await model.aclose()
            return len(other.routes), str(caught.value), caught.value.fatal

    reached, line, fatal = asyncio.run(go())
    assert (reached, fatal) == (0, True)
    assert "it redirects to http://127.0.0.1" in line
    assert "set model.base_url" in line
    assert "abcd1234" not in line


# What of a failure is billed: an upward estimate where the server may have done the work.

WRITTEN = 512  # the limit of an answer, where no answer is known yet
LEAST = 6  # tokens of the prompt, a fifth more than by its characters


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ({"drop": True}, WRITTEN),
        ({"body": chat_answer("a"), "delay": 5.0}, WRITTEN),
        ({"body": json.dumps(chat_answer("a")).encode()[:60]}, WRITTEN),
        (
            {"body": b"half", "headers": {"content-length": "999"}, "drop_after": True},
            WRITTEN,
        ),
        ({"body": refusal("oops"), "status": 500}, WRITTEN),
        ({"body": b"bad gateway", "status": 502}, WRITTEN),
        ({"body": b"late", "status": 504}, WRITTEN),
        ({"body": refusal("filtered", "content_filter"), "status": 400}, WRITTEN),
        ({"body": {"error": "inside a 200"}}, WRITTEN),
        ({"body": {"choices": [], "usage": chat_answer("a")["usage"]}}, 2),
        ({"body": {**chat_answer("a"), "choices": [3]}}, 2),
        ({"body": refusal("slow down"), "status": 429}, None),
        ({"body": b"", "status": 503}, None),
        ({"body": refusal("overloaded"), "status": 529}, None),
        ({"body": refusal("bad key"), "status": 401}, None),
        ({"body": refusal("too long", "context_length_exceeded"), "status": 400}, None),
    ],
)
def test_a_failure_carries_what_may_have_been_billed(
    serving: Any, reply: Any, answer: dict[str, Any], written: int | None
) -> None:
    with pytest.raises(ModelError) as caught:
        ServedModel(
            serving, reply(**answer), timeout=0.3 if "delay" in answer else 600
        ).complete()
    found = caught.value.billed
    assert (None if found is None else found.completion) == written
    assert found is None or LEAST <= found.prompt <= 10


@pytest.mark.parametrize(
    ("statuses", "lost"),
    [
        ((400, 401, 404, 429, 503, 529), ""),
        ((500, 502, 520, 521, 523, 525, 526, 527), "error"),
        ((408, 504, 522, 524), "cut off"),
    ],
)
def test_a_status_tells_if_the_model_may_have_worked_on_a_lost_answer(
    serving: Any, reply: Any, statuses: tuple[int, ...], lost: str
) -> None:
    for status in statuses:
        with pytest.raises(ModelError) as caught:
            ServedModel(serving, reply(b"", status)).complete()
        assert (status, caught.value.lost) == (status, lost)


def test_no_connection_is_not_billed() -> None:
    model = OpenAIModel("m", OpenAIModel.Settings(base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ModelError) as caught:
        asyncio.run(model.complete(HELLO, Sampling()))
    assert caught.value.billed is None


def test_a_lost_answer_is_billed_like_the_others_once_some_are_known(
    serving: Any, reply: Any
) -> None:
    account = Account()

    async def go() -> Usage | None:
        async with serving(*[reply(chat_answer("a"))] * 4, reply(b"", 500)) as server:
            inner = open_model("openai:m", {"base_url": server.address})
            model = PaidModel(inner, account)
            for _ in range(4):
                await model.complete(HELLO, Sampling())
            with pytest.raises(ModelError) as caught:
                await model.complete(HELLO, Sampling())
            await model.aclose()
            return caught.value.billed

    billed = asyncio.run(go())
    assert billed is not None
    # 10 + 2 tokens each of four answers; up to 2.5 times as many, and 1/16 of the limit
    assert 12 <= billed.prompt + billed.completion <= 90
    assert account.tokens == 48 + billed.prompt + billed.completion


def test_siblings_of_a_failed_sample_are_on_its_bill(serving: Any, reply: Any) -> None:
    """The server sends one sample a request; the third of five fails, and two answer after it."""
    slow = reply(chat_answer("d"), delay=0.2)
    replies = [
        reply(chat_answer("a")),
        reply(chat_answer("b")),
        reply(refusal("busy"), 429),
        slow,
        slow,
    ]
    with pytest.raises(ModelError, match="busy") as caught:
        ServedModel(serving, *replies).complete(sampling=Sampling(n=5, temperature=1.0))
    assert caught.value.billed == Usage(40, 8, 16)


def test_what_ranking_cost_is_on_the_bill_of_the_pick_that_follows(
    serving: Any, reply: Any
) -> None:
    top = [{"token": "t", "logprob": -0.5}]
    listed_first = chat_answer("t")
    listed_first["choices"][0]["logprobs"] = {
        "content": [{**top[0], "top_logprobs": top}]
    }
    picked = chat_answer('{"answer": "turn left"}')
    options = ("turn left", "turn right")
    choice = ServedModel(serving, reply(listed_first), reply(picked)).choose(
        HELLO, options
    )
    assert (choice.picked, choice.usage) == (True, Usage(20, 4, 8))
    with pytest.raises(ModelError, match="busy") as caught:
        ServedModel(serving, reply(listed_first), reply(refusal("busy"), 429)).choose(
            HELLO, options
        )
    assert caught.value.billed == Usage(10, 2, 4)


def test_a_walk_over_options_that_breaks_off_is_billed_for_its_steps(
    serving: Any, reply: Any
) -> None:
    first = reply(listed(_turn=-0.25, x=-8.0))
    with pytest.raises(ModelError, match="busy") as caught:
        ServedModel(serving, first, reply(refusal("busy"), 429)).choose(
            "5. ", ["turn around", "turn"]
        )
    assert caught.value.billed == Usage(3, 1)
    model = ServedModel(serving, reply(chat_answer("both")), choose="constrained")
    assert model.choose(HELLO, ["left", "right"]).usage == Usage(20, 4, 8)

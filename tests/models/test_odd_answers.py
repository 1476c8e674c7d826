"""Answers that are missing something, too large, too slow, or make no sense."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import Answerer, chat, refusal, serving
from wayword.core.errors import BudgetExhausted, ModelError
from wayword.core.model import (
    Choice,
    Completion,
    Sampling,
    Usage,
    estimated_tokens,
    user,
)
from wayword.models.middleware.budget import Account
from wayword.models.openai import OpenAIModel
from wayword.models.parts.opening import Options, wrap
from wayword.models.scripted import ScriptedModel
from wayword.models.servers.answers import logprobs, usage
from wayword.models.servers.connection import MOST_BYTES
from wayword.models.servers.profile import Profile
from wayword.models.servers.requests import ServerSettings, request
from wayword.runs.codec import from_json, to_json

HELLO = [user("hello, which way is the kitchen from here?")]


def ask(
    answer: Answerer, sampling: Sampling | None = None, **settings: Any
) -> Completion:
    async def go() -> Completion:
        with serving(answer) as server:
            model = OpenAIModel("m", OpenAIModel.Settings(server.address, **settings))
            try:
                return await model.complete(HELLO, sampling or Sampling())
            finally:
                await model.aclose()

    return asyncio.run(go())


def _uncounted(usage: Any) -> dict[str, Any]:
    return {**chat("the kitchen is on the left"), "usage": usage}


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "many",
        {"prompt_tokens": -5, "completion_tokens": 3},
        {"prompt_tokens": 5, "completion_tokens": -3},
        {"prompt_tokens": True, "completion_tokens": 3},
        {"prompt_tokens": 0, "completion_tokens": 0},
    ],
)
def test_tokens_that_are_not_counted_are_estimated_and_marked(usage: Any) -> None:
    found = ask(lambda *_: (200, _uncounted(usage))).usage
    assert found == Usage(
        18, 9, 0, 0, estimated=True
    )  # 15 and 7 by the characters, and a fifth


def test_the_form_of_an_answer_is_part_of_an_estimated_prompt() -> None:
    """A schema is read by the model, and billed, as the messages are."""

    def prompt_tokens(words: str) -> int:
        schema = {"type": "object", "properties": {"room": {"enum": [words]}}}
        sampling = Sampling(json_schema=schema)
        return ask(lambda *_: (200, _uncounted(None)), sampling).usage.prompt

    rooms = "kitchen " * 100
    added = prompt_tokens(rooms) - prompt_tokens("")
    # rounded up twice
    assert added == pytest.approx(1.2 * estimated_tokens(rooms), abs=2)


@pytest.mark.parametrize(
    ("usage", "billed"),
    [
        # thoughts next to the completion: in the total, or larger than the completion
        (
            {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 955},
            Usage(50, 905),
        ),
        (
            {
                "prompt_tokens": 50,
                "completion_tokens": 5,
                "total_tokens": 955,
                "completion_tokens_details": {"reasoning_tokens": 900},
            },
            Usage(50, 905, 0, 900),
        ),
        (
            {
                "prompt_tokens": 50,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 900},
            },
            Usage(50, 905, 0, 900),
        ),
        # thoughts inside the completion
        (
            {
                "prompt_tokens": 50,
                "completion_tokens": 905,
                "total_tokens": 955,
                "completion_tokens_details": {"reasoning_tokens": 900},
            },
            Usage(50, 905, 0, 900),
        ),
        # cached tokens are the cheap ones: no more of them than there are
        (
            {
                "prompt_tokens": 50,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 51},
            },
            Usage(50, 5),
        ),
        (
            {
                "prompt_tokens": 50,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 50},
            },
            Usage(50, 5, 50),
        ),
        # nor more that are written: they are the rest of the prompt at most
        (
            {
                "prompt_tokens": 50,
                "completion_tokens": 5,
                "prompt_tokens_details": {
                    "cached_tokens": 30,
                    "cache_write_tokens": 40,
                },
            },
            Usage(50, 5, 30, written=20),
        ),
        # written for each lifetime, without a sum
        (
            {
                "input_tokens": 50,
                "output_tokens": 5,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 10,
                    "ephemeral_1h_input_tokens": 20,
                },
            },
            Usage(80, 5, written=30, written_hour=20),
        ),
        # an answer of no tokens is not counted, and the prompt is
        (
            {"prompt_tokens": 50, "completion_tokens": 0},
            Usage(50, 9, estimated=True),
        ),
        # a total smaller than its parts says nothing
        (
            {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 7},
            Usage(50, 5),
        ),
    ],
)
def test_usage_is_read_as_it_may_be_billed(usage: Any, billed: Usage) -> None:
    assert ask(lambda *_: (200, _uncounted(usage))).usage == billed


def test_a_refusal_in_a_field_of_its_own_is_the_answer() -> None:
    refused = chat(None, refusal="I cannot help with that.")
    assert ask(lambda *_: (200, refused)).text == "I cannot help with that."


def test_the_first_token_of_a_completion_may_have_no_log_probability() -> None:
    listed = logprobs(
        {
            "logprobs": {
                "tokens": ["a", "b", "c"],
                "token_logprobs": [None, -1.0, float("nan")],
                "top_logprobs": [None, {"b": -1.0, "x": -2.0}, None],
            }
        }
    )
    assert [(each.token, each.logprob) for each in listed] == [("a", 0.0), ("b", -1.0)]
    assert listed[1].alternatives == {"b": -1.0, "x": -2.0}


def test_an_answer_that_the_limit_cut_is_billed_and_tells_the_usual_length() -> None:
    """It is no lost answer, which would be billed like the others."""
    cut = refusal("Could not finish the message because max_tokens was reached")
    filtered = refusal("The response was filtered: content_filter")
    lost = []
    for error in (cut, filtered):
        with pytest.raises(ModelError) as caught:
            ask(lambda *_, error=error: (400, error), Sampling(max_tokens=100))
        assert caught.value.billed is not None
        assert caught.value.billed.completion == 100
        lost.append(caught.value.lost)
    assert lost == ["", "error"]


def test_hidden_thoughts_that_are_not_counted_may_be_as_long_as_allowed() -> None:
    found = ask(
        lambda *_: (200, _uncounted(None)), Sampling(max_tokens=100), thinking=900
    ).usage
    assert (found.completion, found.estimated) == (1000, True)


def test_a_budget_holds_where_the_server_counts_nothing() -> None:
    async def go() -> int:
        with serving(lambda *_: (200, _uncounted(None))) as server:
            inner = OpenAIModel("m", OpenAIModel.Settings(server.address))
            model = wrap(inner, Options(), Account(max_tokens=60))
            try:
                for _ in range(10):
                    await model.complete(HELLO, Sampling())
            except BudgetExhausted:
                return len(server.asked)
            finally:
                await model.aclose()
        return -1

    assert asyncio.run(go()) == 3


def test_an_answer_may_not_be_larger_than_a_megabyte() -> None:
    with pytest.raises(ModelError, match="larger than 1 MB") as caught:
        ask(lambda *_: (200, chat("x" * MOST_BYTES)), Sampling(max_tokens=300))
    assert caught.value.billed == Usage(
        18, 300, estimated=True
    )  # by its tokens, not its bytes


def test_the_deadline_is_for_the_full_call() -> None:
    """A server that sends a byte now and then would never run into a limit a read."""

    async def go() -> None:
        async def drip(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
            try:
                while True:
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.02)
            except (ConnectionError, asyncio.CancelledError):
                writer.close()

        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = OpenAIModel("m", OpenAIModel.Settings(address, timeout=0.3))
        with pytest.raises(ModelError, match="did not reply within"):
            async with asyncio.timeout(
                600
            ):  # far below the 2,000 s of the whole answer
                await model.complete(HELLO, Sampling())
        await model.aclose()
        server.close()

    asyncio.run(go())


def test_a_log_probability_that_is_no_number_never_wins() -> None:
    assert Choice(("a", "b", "c"), (math.nan, -3.0, -2.0)).best == "c"
    top = [{"token": "left", "logprob": math.nan}, {"token": "right", "logprob": -1.0}]
    answer = chat("left")
    odd = {"token": ["a", "list"], "logprob": -2.0}
    answer["choices"][0]["logprobs"] = {
        "content": [{**top[1], "top_logprobs": [*top, odd]}]
    }

    async def go() -> Choice:
        with serving(lambda *_: (200, answer)) as server:
            model = OpenAIModel("m", OpenAIModel.Settings(server.address))
            try:
                return await model.choose(HELLO, ("left", "right"))
            finally:
                await model.aclose()

    choice = asyncio.run(go())
    assert choice.best == "right"
    assert not any(math.isnan(value) for value in choice.logprobs)


@pytest.mark.parametrize("order", [(-0.5, -1.5), (-1.5, -0.5), (-0.5, -0.5)])
def test_of_tokens_with_the_same_text_the_most_likely_one_counts(
    order: tuple[float, float],
) -> None:
    listed = [{"token": "left", "logprob": value} for value in order]
    listed.insert(1, {"token": "right", "logprob": -1.0})
    row = {"token": "left", "logprob": order[0], "top_logprobs": listed}
    (token,) = logprobs({"logprobs": {"content": [row]}})
    assert token.alternatives == {"left": -0.5, "right": -1.0}


@pytest.mark.parametrize("total", [None, 30, 40])
@pytest.mark.parametrize("reasoning", [None, 0, 5, 20, 60])
@pytest.mark.parametrize("completion", [10, 20])
def test_reasoning_is_part_of_the_completion_however_it_was_counted(
    completion: int, reasoning: int | None, total: int | None
) -> None:
    counts = {"prompt_tokens": 10, "completion_tokens": completion}
    if total is not None:
        counts["total_tokens"] = total
    if reasoning is not None:
        counts["reasoning_tokens"] = reasoning
    answer = {**chat("left"), "usage": counts}
    made = request("m", HELLO, Sampling(), ServerSettings(), Profile())
    found = usage(answer, made, lambda: Usage(99, 99))
    assert found.prompt == 10
    assert found.reasoning <= found.completion
    assert found.completion >= max(completion, (total or 0) - 10)


TOOL = {"tool_calls": [{"function": {"name": "move", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    "answer",
    [chat(None), chat(""), chat(None, **TOOL), {**chat("cut"), "finish": "x"}],
    ids=["null", "empty", "tool", "text"],
)
def test_empty_answers_are_not_cached(tmp_path: Path, answer: dict[str, Any]) -> None:
    async def go() -> int:
        with serving(lambda *_: (200, answer)) as server:
            inner = OpenAIModel("m", OpenAIModel.Settings(server.address))
            model = wrap(inner, Options(cache=tmp_path / "c.db"))
            for _ in range(2):
                await model.complete(HELLO, Sampling())
            await model.aclose()
            return len(server.asked)

    text = answer["choices"][0]["message"]["content"]
    assert asyncio.run(go()) == (1 if text else 2)


def test_a_ranking_that_is_no_number_is_not_cached(tmp_path: Path) -> None:
    class Odd(ScriptedModel):
        calls = 0

        async def choose(self, prompt: Any, options: Any) -> Choice:
            self.calls += 1
            return Choice(tuple(options), (math.nan, 0.0))

    async def go() -> int:
        inner = Odd(answers=[])
        model = wrap(inner, Options(cache=tmp_path / "c.db"))
        for _ in range(2):
            await model.choose("x", ("a", "b"))
        await model.aclose()
        return inner.calls

    assert asyncio.run(go()) == 2


def test_reasoning_and_picks_survive_the_cache_and_the_run_folder(
    tmp_path: Path,
) -> None:
    from wayword.core.trajectory import ModelCall, Trajectory

    full = Completion(
        ("a",), ("stop",), Usage(9, 8, 0, 7, True), reasoning=("because",)
    )
    picked = Choice(("a", "b"), (0.0, -1000.0), Usage(1, 1), picked=True)
    calls = [ModelCall("main", "x", full, Sampling()), ModelCall("main", "y", picked)]
    trajectory = Trajectory("e", {}, opening_calls=calls)
    assert from_json(json.loads(json.dumps(to_json(trajectory)))) == trajectory

    async def again() -> Completion:
        model = wrap(ScriptedModel(answers=[full]), Options(cache=tmp_path / "c.db"))
        await model.complete("x", Sampling())
        kept = await model.complete("x", Sampling())
        await model.aclose()
        return kept

    kept = asyncio.run(again())
    assert (kept.cached, kept.reasoning, kept.usage) == (
        True,
        ("because",),
        full.usage,
    )


def test_the_window_is_known_by_name_or_queried_of_the_server() -> None:
    assert (
        OpenAIModel("gpt-4o", OpenAIModel.Settings("http://127.0.0.1:1/v1")).window
        == 128000
    )

    async def request_of() -> int:
        texts_by_key = {
            "data": [
                {"id": "m", "max_model_len": 1234},
                {"id": "n", "max_model_len": 9},
            ]
        }
        with serving(lambda *_: (500, {}), texts_by_key) as server:
            model = wrap(OpenAIModel("m", OpenAIModel.Settings(server.address)))
            await model.prepare()
            await model.aclose()
            return model.window

    assert asyncio.run(request_of()) == 1234

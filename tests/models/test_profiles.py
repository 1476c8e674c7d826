"""What models take: known by name, learn from refusals, met by the adapter."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import Loopback, chat, refusal, serving
from wayword.core.errors import DataError, ModelError, UsageError
from wayword.core.model import (
    Completion,
    Image,
    Message,
    Prompt,
    Sampling,
    Usage,
    system,
    user,
)
from wayword.models.openai import OpenAIModel
from wayword.models.parts.opening import open_model
from wayword.models.servers.profile import Profile, profile_of, shipped
from wayword.models.servers.requests import ServerSettings, request

HELLO = [user("hello")]
SCHEMA = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "maxLength": 9},
        "act": {"enum": ["a", "b"]},
    },
    "required": ["thought", "act"],
}


def thinker(
    route: str, body: dict[str, Any], headers: dict[str, str]
) -> tuple[int, Any]:
    """A reasoning model's server: one refusal a field it does not take."""
    if not route.endswith("/chat/completions"):
        return 404, refusal("This is a chat model and not supported in v1/completions")
    hints = {"max_tokens": " Use 'max_completion_tokens' instead."}
    for name in ("max_tokens", "temperature", "top_p", "stop", "logprobs", "n"):
        if name in body:
            words = f"Unsupported parameter: '{name}' is not supported with this model."
            return 400, refusal(
                words + hints.get(name, ""), name, "unsupported_parameter"
            )
    if "maxLength" in json.dumps(body):
        return 400, refusal("In context=('properties',), 'maxLength' is not permitted")
    if body["max_completion_tokens"] < 1000:
        answer = chat("")
        answer["choices"][0]["finish_reason"] = "length"
        return 200, answer
    answer = chat("forward" if "response_format" not in body else _obeyed(body))
    answer["choices"][0]["message"]["reasoning_content"] = "Let me see."
    details = {"reasoning_tokens": 900}
    answer["usage"] = {"prompt_tokens": 50, "completion_tokens": 950}
    answer["usage"]["completion_tokens_details"] = details
    return 200, answer


def _obeyed(body: dict[str, Any]) -> str:
    schema = body["response_format"]["json_schema"]["schema"]["properties"]
    return json.dumps(
        {k: v["enum"][0] if "enum" in v else "x" for k, v in schema.items()}
    )


def ask_profile(
    server: Loopback, calls: Sequence[tuple[str, Any, Any]], name: str = "m", **s: Any
) -> Any:
    """The answers to ``(verb, prompt, sampling or options)``, one after the other."""

    async def go() -> list[Any]:
        model = open_model(f"openai:{name}", {"base_url": server.address, **s})
        try:
            return [
                await getattr(model, verb)(prompt, how) for verb, prompt, how in calls
            ]
        finally:
            await model.aclose()

    return asyncio.run(go())


def complete(
    server: Loopback, prompt: Prompt, sampling: Sampling, **more: Any
) -> Completion:
    (answer,) = ask_profile(server, [("complete", prompt, sampling)], **more)
    return answer  # type: ignore[no-any-return]


def test_a_reasoning_model_of_an_unknown_name_is_learnt_with_two_refusals_at_most() -> (
    None
):
    sampling = Sampling(0.5, stop=("\n",), n=2, seed=1, max_tokens=80, logprobs=3)
    calls = [
        ("complete", HELLO, sampling),
        ("complete", HELLO, Sampling(json_schema=SCHEMA)),
        ("choose", "1. forward\n2.", ("forward", "left")),
        ("complete", "raw text", Sampling(stop=("w",))),
    ]
    with serving(thinker) as server:
        free, bound, choice, raw = ask_profile(server, calls)
    assert server.refused <= 2
    assert free.texts == ("forward", "forward")
    assert json.loads(bound.text) == {"thought": "x", "act": "a"}
    assert (choice.best, choice.picked) == ("forward", True)
    assert (raw.text, raw.finish) == (
        "for",
        ("stop",),
    )  # cut here, as the server takes no stop


def test_a_reasoning_model_that_is_known_is_refused_nothing() -> None:
    calls = [
        (
            "complete",
            HELLO,
            Sampling(0.5, stop=("\n",), json_schema=SCHEMA, logprobs=5),
        ),
        ("choose", "1.", ("forward", "left")),
    ]
    with serving(thinker) as server:
        answer, choice = ask_profile(server, calls, name="gpt-5-mini")
    assert server.refused == 0
    assert choice.best == "forward"
    assert server.asked[0]["max_completion_tokens"] == 512 + 8192
    assert answer.usage == Usage(50, 950, 0, 900)
    assert answer.reasoning == ("Let me see.",)


def test_many_calls_at_once_meet_a_refusal_once() -> None:
    with serving(thinker) as server:

        async def go() -> list[Completion]:
            model = OpenAIModel("m", OpenAIModel.Settings(base_url=server.address))
            calls = (
                model.complete(HELLO, Sampling(0.5, stop=("x",))) for _ in range(20)
            )
            found = await asyncio.gather(*calls)
            await model.aclose()
            return found

        assert {answer.text for answer in asyncio.run(go())} == {"forward"}
    assert server.refused == 1


def test_the_thinking_allowance_is_a_setting_apart_from_the_answer() -> None:
    with serving(lambda *_: (200, chat("hi"))) as server:
        complete(server, HELLO, Sampling(max_tokens=7), name="o3", thinking=100)
        complete(server, HELLO, Sampling(max_tokens=7), name="gpt-4o")
        complete(server, HELLO, Sampling(max_tokens=10**6), name="gpt-4o")
    limits = [body["max_completion_tokens"] for body in server.asked]
    assert limits == [107, 7, 16384]


@pytest.mark.parametrize(
    ("content", "text", "thought"),
    [
        ("<think>hm</think>\n\nGo", "Go", "hm"),
        ("hm, left</think>Go", "Go", "hm, left"),
        ("<think>never ends", "", "never ends"),
        ("Go <think>late</think>", "Go", "late"),
    ],
)
def test_thoughts_inside_the_answer_are_distinguished(
    content: str, text: str, thought: str
) -> None:
    with serving(lambda *_: (200, chat(content))) as server:
        answer = complete(server, HELLO, Sampling())
    assert (answer.text, "".join(answer.reasoning)) == (text, thought)


def test_a_model_without_schemas_is_queried_in_words() -> None:
    with serving(lambda *_: (200, chat("**Left.**"))) as server:
        calls = [
            ("choose", HELLO, ("left", "right")),
            ("complete", HELLO, Sampling(json_schema=SCHEMA)),
        ]
        choice, _ = ask_profile(server, calls, name="anthropic/claude-opus-4")
    assert (choice.best, choice.picked) == ("left", True)
    first, second = (body["messages"][-1]["content"] for body in server.asked)
    assert "exactly one of these lines" in first
    assert '"maxLength": 9' in second
    assert all("response_format" not in body for body in server.asked)


def test_a_model_that_calls_tools_is_held_to_a_schema_by_one() -> None:
    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        requests_for = body["tools"][0]["function"]["parameters"]["properties"]
        replies = {k: v.get("enum", ["x"])[-1] for k, v in requests_for.items()}
        call = {
            "type": "function",
            "function": {"name": "answer", "arguments": json.dumps(replies)},
        }
        return 200, chat(None, tool_calls=[{"id": "1", **call}])

    calls = [
        ("choose", HELLO, ("left", "right")),
        ("complete", HELLO, Sampling(json_schema=SCHEMA)),
    ]
    with serving(answer) as server:
        how = {"profile": {"schema": "tool_call", "logprobs": 0}}
        choice, bound = ask_profile(server, calls, **how)
    assert (choice.best, choice.picked) == ("right", True)
    assert json.loads(bound.text) == {"thought": "x", "act": "b"}
    assert server.asked[0]["tool_choice"]["function"] == {"name": "answer"}
    assert all("response_format" not in body for body in server.asked)


def test_a_server_without_tools_is_queried_in_words() -> None:
    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        if "tools" in body:
            return 400, refusal("'tools' is not supported by this model", "tools")
        return 200, chat('{"thought": "x", "act": "a"}')

    with serving(answer) as server:
        how = {"profile": {"schema": "tool_call"}}
        (bound,) = ask_profile(
            server, [("complete", HELLO, Sampling(json_schema=SCHEMA))], **how
        )
    assert (server.refused, json.loads(bound.text)["act"]) == (1, "a")


def test_an_answer_that_is_no_option_is_requested_once_more_and_never_guessed() -> None:
    replies = iter(["I would go on", "right", "hm", "hm"])
    with serving(lambda *_: (200, chat(next(replies)))) as server:
        calls = [("choose", "1.", ("left", "right"))]
        (choice,) = ask_profile(server, calls, name="claude-x")
        assert choice.best == "right"
        assert server.asked[1]["messages"][-2]["content"] == "I would go on"
        (choice,) = ask_profile(server, calls, name="claude-x")
        assert choice.other_text == "hm"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('Sure: {this}.\n```json\n{"answer": "left"}\n```', "left"),
        ('{"answer": "left"}, that is {"answer": "left"}', "left"),
        (
            '{"answer": "left"} or {"answer": "right"}',
            '{"answer": "left"} or {"answer": "right"}',
        ),
        ('{"answer": 3}', '{"answer": 3}'),
    ],
)
def test_a_wrapped_choice_is_found_in_prose_and_fences(content: str, text: str) -> None:
    with serving(lambda *_: (200, chat(content))) as server:
        assert complete(server, HELLO, Sampling(choices=("left", "right"))).text == text


@pytest.mark.parametrize(
    ("sent", "received"),
    [(0.0, 0.01), (0.01, 0.01), (0.5, 0.5), (1.0, 1.0), (1.5, 1.0)],
)
def test_a_value_outside_a_stated_range_becomes_the_nearest(
    sent: float, received: float
) -> None:
    profile = Profile(least={"temperature": 0.01, "n": 2}, most={"temperature": 1.0})
    made = request("m", HELLO, Sampling(sent), ServerSettings(), profile)
    assert made.body["temperature"] == received
    assert "n" not in made.body


def test_more_stop_sequences_than_a_server_takes_are_cut_here() -> None:
    with serving(lambda *_: (200, chat("one;two"))) as server:
        answer = complete(
            server, HELLO, Sampling(stop=("a", "b", "c", "d", ";")), name="gpt-4o"
        )
    assert server.asked[0]["stop"] == ["a", "b", "c", "d"]
    assert (answer.text, answer.finish) == ("one", ("stop",))


def test_what_the_system_says_and_pictures() -> None:
    prompt = [system("be brief"), user("go")]
    with serving(lambda *_: (200, chat("hi"))) as server:
        complete(server, prompt, Sampling(), profile={"system": False})
        assert server.asked[0]["messages"] == [
            {"role": "user", "content": "be brief\n\ngo"}
        ]
        picture = [Message("user", "what?", (Image(b"x"),))]
        with pytest.raises(ModelError, match="cannot see pictures") as caught:
            complete(server, picture, Sampling(), name="deepseek-chat")
    assert caught.value.fatal


def test_profiles_by_name_the_longest_key_wins(tmp_path: Path) -> None:
    assert profile_of("gpt-4o-mini").thinking == 0
    assert profile_of("openai/o3-mini").thinking == 8192
    assert profile_of("gpt-5-chat-latest").temperature
    assert profile_of("Qwen/Qwen3-8B").thinking == 4096
    assert profile_of("never-heard-of") == Profile()
    assert profile_of("never-heard-of", hosted=True).limit == "max_completion_tokens"
    assert profile_of("x", {"stop": "0", "thinking": 5}) == Profile(stop=0, thinking=5)
    own = tmp_path / "mine.yaml"
    own.write_text("my-*: {like: reasoning, window: 777}\n")
    assert profile_of("my-model", str(own)).window == 777
    assert profile_of("my-model", "reasoning").limit == "max_completion_tokens"


def test_every_shipped_profile_can_be_made() -> None:
    for name in shipped():
        made = profile_of(name.replace("*", "x"))
        own = {key: value for key, value in shipped()[name].items() if key != "like"}
        assert {key: getattr(made, key) for key in own} == own, name
        assert 0 <= made.output <= (made.window or made.output)
    assert {"default", "hosted", "reasoning"} < set(shipped())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "must be a mapping"),
        (
            "a: {tempertaure: false}",
            "unknown trait 'tempertaure'; did you mean 'temperature'",
        ),
        ("a: reasoning", "must be a mapping of traits"),
        ("a: [", "cannot be read as model profiles"),
    ],
)
def test_a_bad_profile_file_is_one_clear_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(text)
    with pytest.raises(DataError, match=problem):
        profile_of("a", str(own))


def test_a_profile_of_no_such_name_or_that_goes_in_a_circle(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'reasoning'"):
        profile_of("a", "reasonign")
    own = tmp_path / "mine.yml"
    own.write_text("a: {like: b}\nb: {like: a}\n")
    with pytest.raises(UsageError, match="forms a cycle"):
        profile_of("a", str(own))


def test_a_users_own_field_that_is_refused_names_the_way_out() -> None:
    text = refusal("Unknown parameter: 'mood'", "mood", "unknown_parameter")
    with (
        serving(lambda *_: (400, text)) as server,
        pytest.raises(ModelError, match=r"model\.omit=\[mood\]") as caught,
    ):
        complete(server, HELLO, Sampling(), extra={"mood": "good"})
    assert caught.value.fatal


def test_a_refused_value_of_a_users_field_names_its_setting() -> None:
    said = "Unsupported value: 'reasoning_effort' does not support 'minimal'"
    text = refusal(said, "reasoning_effort", "unsupported_value")
    with (
        serving(lambda *_: (400, text)) as server,
        pytest.raises(
            ModelError, match=r"change --set model\.extra\.reasoning_effort, or"
        ),
    ):
        complete(server, HELLO, Sampling(), extra={"reasoning_effort": "minimal"})


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 32768),
        ("meta-llama/Llama-3.3-70B-Instruct", 131072),
        ("mistralai/Mistral-Small-3.2", 131072),
        ("google/gemma-3-27b-it", 131072),
        ("deepseek-ai/DeepSeek-V3", 65536),
        ("zai-org/GLM-4.6", 131072 - 8192),
        ("moonshotai/Kimi-K2", 131072),
        ("never-heard-of", 32768),
    ],
)
def test_a_window_that_no_server_states_is_the_familys(name: str, tokens: int) -> None:
    model = OpenAIModel(name, OpenAIModel.Settings("http://127.0.0.1:9/v1"))
    assert model.window == tokens


def test_thinking_takes_at_most_half_of_a_window() -> None:
    profile = {"window": 4096, "thinking": 8192}
    settings = OpenAIModel.Settings("http://127.0.0.1:9/v1", profile=profile)
    assert OpenAIModel("m", settings).window == 2048

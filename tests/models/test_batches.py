"""Batches against providers' rules: what is sent, billed, and recorded, over faults and kills."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.batch_stub import KEY, PRICE, Books, batching
from helpers.loopback import serving
from helpers.sampling import LONG
from wayword.core.errors import DataError, ModelError, UsageError
from wayword.core.model import Message, Sampling, Tool, ToolCall, system, user
from wayword.models.middleware.budget import Account
from wayword.models.middleware.prices import Price
from wayword.models.middleware.rate import RetryPolicy
from wayword.models.openai import OpenAIModel
from wayword.models.parts import opening
from wayword.models.parts.opening import Options, wrap
from wayword.models.servers import batch_forms, batches, connection
from wayword.models.servers.batch_anthropic import AnthropicForm, messages_request
from wayword.models.servers.batch_forms import OpenAIForm
from wayword.models.servers.batch_gemini import content_request
from wayword.models.servers.connection import Missing
from wayword.models.servers.requests import ServerSettings
from wayword.runs import Plan, run
from wayword.runs.config import billed

pytestmark = pytest.mark.usefixtures("shared_data")
FORMS = ("openai", "mistral", "anthropic", "gemini")
TOOL = Tool("look", "Look around.", {"type": "object", "properties": {}})


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "QUIET_S", 0.05)
    monkeypatch.setattr(batches, "POLL_S", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    policy = partial(RetryPolicy, first=0.001, longest=0.002)
    monkeypatch.setattr(opening.rate, "RetryPolicy", policy)


def opened(books: Books, **more: Any) -> OpenAIModel:
    batch: Any = books.form
    settings = ServerSettings(books.address, tier="batch", batch=batch, **more)
    return OpenAIModel("m", settings)


def ask(model: Any, count: int, sampling: Sampling | None = None) -> list[Any]:
    """Ask ``count`` different questions at once."""

    async def all_at_once() -> list[Any]:
        questions = [[user(f"Where is number {n}?")] for n in range(count)]
        asked = [model.complete(each, sampling or Sampling()) for each in questions]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        await model.aclose()
        return answers

    return asyncio.run(all_at_once())


def priced(books: Books, account: Account, **options: Any) -> Any:
    """The model with the wrappers of a run, at the provider's price."""
    model = wrap(opened(books), Options(**options), account)
    account.prices[model.name] = Price(**PRICE)
    return model


@pytest.mark.parametrize("form", FORMS)
def test_calls_that_wait_together_are_one_batch(form: str) -> None:
    with batching(form) as books:
        account = Account()
        answers = ask(priced(books, account), 5)
    assert [answer.text for answer in answers] == ["forward"] * 5
    assert books.batches == [5]
    assert all(answer.usage.tier == "batch" for answer in answers)
    assert sum(answer.cost for answer in answers) == pytest.approx(books.dollars)
    assert account.dollars == pytest.approx(books.dollars)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fault", ["expire", "fail"])
def test_requests_without_an_answer_are_sent_again_and_cost_nothing(
    form: str, fault: str
) -> None:
    with batching(form, **{fault: 2}) as books:
        account = Account()
        model = priced(books, account)
        answers = ask(model, 4)
    assert [answer.text for answer in answers] == ["forward"] * 4
    assert len(books.processed) == 4
    assert model.warnings == [], "none of them is lost"
    assert account.dollars == pytest.approx(books.dollars)


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_whose_id_was_lost_is_found(form: str) -> None:
    with batching(form, lose=1) as books:
        account = Account()
        answers = ask(priced(books, account), 3)
    assert len(answers) == 3
    assert books.batches == [3], "it is not made twice"
    assert account.dollars == pytest.approx(books.dollars)


@pytest.mark.parametrize(
    "garble",
    ["<html>Bad gateway</html>", '{"id": "batch_', '{"status": "created"}'],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_batch_whose_reply_is_unreadable_is_found(form: str, garble: str) -> None:
    with batching(form, garble=garble) as books:
        account = Account()
        answers = ask(priced(books, account), 3)
    assert len(answers) == 3
    assert books.batches == [3], "it is not made twice"
    assert account.dollars == pytest.approx(books.dollars)


@pytest.mark.parametrize("newer", range(6))
@pytest.mark.parametrize("form", FORMS)
def test_a_lost_batch_is_found_behind_newer_ones(
    form: str, newer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On each of the pages, as the first and as the last one of it."""
    monkeypatch.setattr(batch_forms, "PAGE", 2)

    def others(method: str, route: str) -> None:
        """Other runs send batches of the same size while the connection breaks."""
        if books.lose and books.jobs:
            (job,) = books.jobs.values()
            books.files["results"] = b""
            other = {**job, "metadata": {}, "name": "other", "results": "results"}
            for n in range(newer):
                books.jobs[f"x{n}"] = {**other, "id": f"x{n}"}

    with batching(form, lose=1) as books:
        books.on_request = others
        answers = ask(opened(books), 3)
    assert [answer.text for answer in answers] == ["forward"] * 3
    assert books.batches == [3], "it is not made twice"


def test_a_batch_of_another_run_that_works_keeps_none_from_its_own() -> None:
    ended = {"processing_status": "ended", "request_counts": {"succeeded": 1}}
    working = {"processing_status": "in_progress", "request_counts": {"processing": 1}}
    read = []

    class Provider:
        own = "a-2"

        async def exchange(self, method: str, route: str, *_: Any) -> bytes:
            if "?" in route:
                jobs = [{"id": "working", **working}, {"id": "ended", **ended}]
                return json.dumps({"data": jobs}).encode()
            read.append(route)
            line = {"custom_id": self.own, "result": {"type": "expired"}}
            return json.dumps(line).encode()

    provider: Any = Provider()
    form = AnthropicForm()
    for _ in range(3):
        with pytest.raises(ModelError, match="has not ended") as raised:
            asyncio.run(form.find(provider, "b", ["a-1"], []))
        assert raised.value.retryable
    assert len(read) == 1, "results of another batch are read once"
    assert asyncio.run(form.find(provider, "b", ["a-2"], [])) == "ended"


def test_a_batch_without_id_or_numbers_does_not_end_the_search() -> None:
    ended = {"processing_status": "ended"}
    jobs = [
        {**ended, "request_counts": {"succeeded": 1}},
        {"id": "odd", **ended, "request_counts": {"succeeded": None, "errored": "1"}},
        {"id": None, **ended},
        {"id": "own", **ended, "request_counts": {"succeeded": 1, "expired": None}},
    ]

    class Provider:
        async def exchange(self, method: str, route: str, *_: Any) -> bytes:
            if "?" in route:
                return json.dumps({"data": jobs}).encode()
            assert route == "/messages/batches/own/results"
            return json.dumps({"custom_id": "a-1", "result": {}}).encode()

    provider: Any = Provider()
    assert asyncio.run(AnthropicForm().find(provider, "b", ["a-1"], [])) == "own"
    assert asyncio.run(AnthropicForm().find(provider, "b", ["a-2"], [])) is None


def test_a_lost_batch_is_looked_for_among_those_that_are_not_the_run_s_others() -> None:
    queries: list[tuple[str, list[str], list[str]]] = []

    async def find(_: Any, batch: str, names: list[str], known: list[str]) -> str:
        queries.append((batch, names, known))
        return "job-2"

    async def go() -> bool:
        settings = ServerSettings("http://127.0.0.1:1/v1", batch="anthropic")
        server = batches.BatchConnection("http://127.0.0.1:1/v1", KEY, settings)
        server._kept.begin("one", {"a-1": "s-1", "a-2": "s-2"})
        server._kept.submitted("one", "job-1")
        server._kept.begin("two", {"b-1": "s-3"})
        form: Any = SimpleNamespace(find=find)
        server._form = form
        is_there = await server._find("two")
        queries.append((str(server._kept.job_id("two")), [], server._kept.job_ids()))
        await server.aclose()
        return is_there

    assert asyncio.run(go())
    assert queries == [("two", ["b-1"], ["job-1"]), ("job-2", [], ["job-1", "job-2"])]


def test_a_list_without_end_is_given_up() -> None:
    routes = []

    class Provider:
        async def exchange(self, method: str, route: str, *_: Any) -> bytes:
            routes.append(route)
            return json.dumps({"data": [{"id": "a&b"}], "has_more": True}).encode()

    provider: Any = Provider()
    assert asyncio.run(OpenAIForm().find(provider, "b", ["a-1"], [])) is None
    assert len(routes) == batch_forms.MOST_PAGES
    assert routes[1] == "/batches?limit=100&after=a%26b"


@pytest.mark.parametrize(
    ("denials", "is_gone"),
    [
        ((10,), False),
        ((11,), True),
        ((10, 10), False),
        ((4, 7, 10), False),
        ((1, 11), True),
    ],
)
def test_a_batch_is_gone_once_it_was_denied_for_so_long_in_a_row(
    denials: tuple[int, ...], is_gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the provider is away in between, it denies nothing."""
    monkeypatch.setattr(batches, "POLL_S", 60.0)
    assert batches.LONGEST_POLL_S == 60.0
    assert batches.DENIED_S == 600.0

    async def at_once(seconds: float) -> None:
        """Nothing is waited for."""

    monkeypatch.setattr(batches.asyncio, "sleep", at_once)
    replies: list[ModelError | None] = []
    for number in denials:
        replies += [Missing("no such batch")] * number
        replies.append(ModelError("503", retryable=True, away=True))
    replies[-1] = None

    async def ask() -> str:
        if (error := replies.pop(0)) is not None:
            raise error
        return "done"

    async def go() -> str:
        settings = ServerSettings("http://127.0.0.1:1/v1", batch="openai")
        server = batches.BatchConnection("http://127.0.0.1:1/v1", KEY, settings)
        try:
            return await server._persist(ask)
        finally:
            await server.aclose()

    if is_gone:
        with pytest.raises(Missing):
            asyncio.run(go())
    else:
        assert asyncio.run(go()) == "done"


def test_a_provider_that_is_away_is_waited_for_while_its_batch_works() -> None:
    with batching() as books:

        def away_after_the_batch(method: str, route: str) -> None:
            if method == "POST" and route.endswith("/batches"):
                books.away = 5

        books.on_request = away_after_the_batch
        assert len(ask(opened(books), 2)) == 2
    assert books.batches == [2]


def test_a_full_queue_is_waited_for_and_another_refusal_ends_the_run() -> None:
    with batching(refuse="token_limit_exceeded") as books:
        (error,) = ask(opened(books), 1)
        assert (error.retryable, error.fatal) == (True, False)
    with batching(refuse="invalid_model") as books:
        (error,) = ask(opened(books), 1)
        assert isinstance(error, ModelError)
        assert error.fatal
        assert "the queue is full" in str(error)
    assert books.dollars == 0.0


def test_a_field_that_is_refused_is_left_out_of_all_requests() -> None:
    with batching(unknown="seed") as books:
        answers = ask(opened(books), 3, Sampling(seed=7))
    assert [answer.text for answer in answers] == ["forward"] * 3
    assert len(books.processed) == 3
    assert all("seed" not in body for body in books.bodies)


@pytest.mark.parametrize("limit", [0.0005, 0.002, 0.01])
def test_the_budget_holds(limit: float) -> None:
    """Requests are admitted by the most that they may cost, several at a time."""
    with batching() as books:
        account = Account(max_dollars=limit)
        ask(priced(books, account, retries=0), 40, Sampling(max_tokens=50))
    assert 0 < books.dollars <= limit
    assert account.dollars == pytest.approx(books.dollars)
    assert len(books.batches) < len(books.processed) or len(books.processed) == 1


def test_a_limit_in_dollars_needs_a_price() -> None:
    with batching() as books:
        account = Account(max_dollars=1.0)
        model = wrap(opened(books), Options(), account)
        (error,) = ask(model, 1)
    assert "needs prices" in str(error)
    assert books.batches == []


def test_the_messages_of_other_providers_are_translated() -> None:
    called = Message("assistant", "I look.", calls=(ToolCall("toolu_0", "look", "{}"),))
    seen = Message("tool", "A door.", call_id="toolu_0", tool="look")
    prompt = [system("Rules."), user("Where?"), called, seen, user("Go on.")]
    with batching("anthropic") as books:
        model = opened(books)

        async def go() -> Any:
            answer = await model.complete(prompt, Sampling(tools=(TOOL,), stop=("X",)))
            await model.aclose()
            return answer

        answer = asyncio.run(go())
    (body,) = books.bodies
    assert body["system"] == [{"type": "text", "text": "Rules."}]
    assert [message["role"] for message in body["messages"]] == [
        *("user", "assistant", "user")
    ]
    assert body["messages"][1]["content"][1] == {
        "type": "tool_use",
        "id": "toolu_0",
        "name": "look",
        "input": {},
    }
    assert body["messages"][2]["content"][0]["tool_use_id"] == "toolu_0"
    assert body["tools"][0]["input_schema"] == TOOL.parameters
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("look", '{"at": "left"}')
    ]


def test_stop_sequences_of_white_space_are_left_out_for_anthropic() -> None:
    """Its server refuses them: "each stop sequence must contain non-whitespace"."""
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "x"}],
    }
    params = messages_request({**body, "stop": ["\n\n", "X", " "]})
    assert params["stop_sequences"] == ["X"]
    assert "stop_sequences" not in messages_request({**body, "stop": ["\n"]})


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}


def chat_with_calls() -> dict[str, Any]:
    """A chat request with a picture, and two calls with their results."""
    signed = {**_wire_call("a", '{"at": "left"}'), "thoughtSignature": "s"}
    results = [
        {"role": "tool", "tool_call_id": name, "name": "look", "content": text}
        for name, text in (("a", "A door."), ("b", "A wall."))
    ]
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "t"}
    thinking = [thought, {"type": "text", "text": ""}]
    calling = {"tool_calls": [signed, _wire_call("b", "left?")], "content": thinking}
    function = {"name": "look", "parameters": TOOL.parameters}
    return {
        "model": "m",
        "max_completion_tokens": 9,
        "messages": [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": [{"type": "text", "text": "Where?"}, PICTURE]},
            {"role": "assistant", **calling},
            *results,
        ],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
    }


def _wire_call(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": "look", "arguments": arguments}
    return {"id": name, "type": "function", "function": function}


def test_anthropic_gets_pictures_thoughts_and_calls_as_blocks() -> None:
    params = messages_request(chat_with_calls())
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    use = {"type": "tool_use", "name": "look"}
    assert params["max_tokens"] == 9
    assert params["tool_choice"] == {"type": "tool", "name": "look"}
    assert params["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Where?"},
                {"type": "image", "source": source},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "t"},
                {**use, "id": "a", "input": {"at": "left"}},
                {**use, "id": "b", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "A door."},
                {"type": "tool_result", "tool_use_id": "b", "content": "A wall."},
            ],
        },
    ]


def test_gemini_gets_pictures_and_calls_as_parts() -> None:
    chat = chat_with_calls()
    chat["messages"][2]["content"] = None
    request = content_request(chat)
    called = {"name": "look", "args": {"at": "left"}}
    assert request["systemInstruction"] == {"parts": [{"text": "Rules."}]}
    assert request["contents"] == [
        {
            "role": "user",
            "parts": [
                {"text": "Where?"},
                {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"functionCall": called, "thoughtSignature": "s"},
                {"functionCall": {"name": "look", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look", "response": {"result": text}}}
                for text in ("A door.", "A wall.")
            ],
        },
    ]
    declared = {"name": "look", "description": ""}
    declared["parametersJsonSchema"] = TOOL.parameters
    assert request["tools"] == [{"functionDeclarations": [declared]}]


def test_a_call_from_gemini_goes_back_with_its_signature() -> None:
    with batching("gemini") as books:
        model = opened(books)

        async def go() -> None:
            sampling = Sampling(tools=(TOOL,))
            first = await model.complete([user("Where?")], sampling)
            (call,) = first.calls
            answer = Message("assistant", "", calls=(call,), verbatim=first.verbatim)
            result = Message("tool", "A door.", call_id=call.id, tool=call.name)
            await model.complete([user("Where?"), answer, result], sampling)
            await model.aclose()

        asyncio.run(go())
    _, body = books.bodies
    assert body["contents"][1]["parts"] == [
        {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "s"}
    ]


@pytest.mark.parametrize("limit", ["most", "most_bytes"])
def test_a_batch_holds_as_much_as_its_provider_takes(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with batching() as books:
        ask(opened(books), 1)
        (body,) = books.bodies
        size = {"most": 1, "most_bytes": len(json.dumps(body))}[limit]
        monkeypatch.setattr(OpenAIForm, limit, 2 * size)
        answers = ask(opened(books), 5)
    assert [answer.text for answer in answers] == ["forward"] * 5
    assert sorted(books.batches[1:]) == [1, 2, 2]


def test_a_resumed_run_sends_the_requests_of_a_refused_batch_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with batching() as books:
        with monkeypatch.context() as patch:
            patch.setattr(OpenAIForm, "job", lambda *_: {})
            refused = opened(books)
            refused.keep_in(tmp_path / "batches.sqlite")
            (error,) = ask(refused, 1)
        resumed = opened(books)
        resumed.keep_in(tmp_path / "batches.sqlite")
        (answer,) = ask(resumed, 1)
    assert error.fatal
    assert answer.text == "forward"
    assert books.batches == [1]


def test_an_answer_that_an_earlier_session_paid_has_its_cost_and_no_new_bill(
    tmp_path: Path,
) -> None:
    costs = []
    bills = []
    with batching() as books:
        for _ in range(2):
            account = Account()
            model = priced(books, account)
            model.keep_in(tmp_path / "batches.sqlite")
            costs.append([answer.cost for answer in ask(model, 2)])
            bills.append(account.dollars)
    assert books.batches == [2]
    assert bills == [pytest.approx(books.dollars), 0.0]
    assert sum(costs[0]) == pytest.approx(books.dollars)
    assert costs[0] == costs[1]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a"), ("b",)])
def test_a_resumed_episode_has_its_own_answer_to_a_question_that_others_ask(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    """Whichever of the episodes asks first, or asks at all."""
    with batching() as books:
        names = {}
        for episodes in (("a", "b"), order):
            model: Any = opened(books)
            model.keep_in(tmp_path / "batches.sqlite")
            posted = names_of_requests(model, episodes)
            for episode, name in posted.items():
                assert names.setdefault(episode, name) == name
            asyncio.run(model.aclose())
    assert names["a"] != names["b"]


def names_of_requests(model: Any, episodes: tuple[str, ...]) -> dict[str, str]:
    """Names of equal requests of several episodes, in this order."""
    request = SimpleNamespace(route="/chat/completions", body={"prompt": "Where?"})
    names = {}
    for episode in episodes:
        account = Account()
        account.begin(episode=episode)
        names[episode] = model._server._name(request)
        account.end(complete=True)
    return names


def test_the_calls_of_a_batch_that_fails_have_errors_of_their_own() -> None:
    """Each notes its own bill in it."""
    with batching(refuse="invalid_model") as books:
        errors = ask(opened(books), 3)
    assert [str(error) for error in errors] == [str(errors[0])] * 3
    assert len({id(error) for error in errors}) == 3


def test_a_cancelled_call_is_not_sent() -> None:
    with batching() as books:
        model = opened(books)

        async def go() -> None:
            calls = [
                asyncio.ensure_future(model.complete([user(text)], Sampling()))
                for text in ("Where?", "Whither?")
            ]
            await asyncio.sleep(0.01)
            calls[0].cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            await model.aclose()

        asyncio.run(go())
    assert [body["messages"][-1]["content"] for body in books.bodies] == ["Whither?"]


def test_results_beyond_the_largest_file_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MOST_FILE_BYTES", 1000)
    with batching() as books:
        errors = ask(opened(books), 5)
    assert books.batches == [5]
    assert all(error.fatal and "is too large" in str(error) for error in errors)


def test_a_key_that_is_refused_while_a_batch_works_ends_the_calls() -> None:
    denial = (401, {"error": {"message": "Incorrect API key provided"}})
    with batching(gone=1, denial=denial) as books:
        errors = ask(opened(books), 2)
    assert books.batches == [2]
    assert [error.fatal for error in errors] == [True, True]
    assert all("replied 401: Incorrect API key" in str(error) for error in errors)


def test_a_page_in_place_of_a_reply_about_a_batch_is_waited_out() -> None:
    class Gateway:
        async def exchange(self, *_: Any) -> bytes:
            return b"<html>Bad gateway</html>"

    with pytest.raises(ModelError, match="is not JSON: '<html>Bad") as caught:
        asyncio.run(batch_forms.read_json(Gateway(), "GET", "/batches/b"))
    assert (caught.value.away, caught.value.fatal) == (True, False)


@pytest.mark.parametrize(
    ("status", "is_missing"), [(404, True), (400, True), (410, True), (503, False)]
)
def test_a_batch_is_missing_unless_the_server_is_away(
    status: int, is_missing: bool
) -> None:
    text = {"error": {"message": "this batch does not exist"}}
    with serving(lambda *_: (status, text)) as server:

        async def go() -> ModelError:
            made = connection.Connection(server.address, KEY, ServerSettings())
            with pytest.raises(ModelError) as caught:
                await made.exchange("POST", "/batches/b", {})
            await made.aclose()
            return caught.value

        error = asyncio.run(go())
    assert isinstance(error, connection.Missing) == is_missing
    assert (error.away, error.fatal) == (not is_missing, is_missing)


@pytest.mark.parametrize("job", [{}, {"id": ""}, {"id": 7}, []])
def test_a_batch_without_an_id_is_an_error(job: Any) -> None:
    with pytest.raises(ModelError, match="has no id"):
        batch_forms.id_of(job)


def test_a_store_of_other_content_is_named(tmp_path: Path) -> None:
    file = tmp_path / "batches.sqlite"
    file.write_text("no database", encoding="utf-8")
    with pytest.raises(DataError, match=r"is not a store of batches.*move it out"):
        batches.BatchStore(file)


# Runs.


def plan_of(books: Books, folder: Path, **more: Any) -> Plan:
    prices = folder / "prices.yaml"
    prices.write_text(f"openai:m: {PRICE}\n".replace("'", ""))
    model = {"base_url": books.address, "tier": "batch", "batch": books.form}
    options: dict[str, Any] = {"limit": 4, "concurrency": 4, "max_steps": 3, **more}
    return Plan(
        "react",
        "houses",
        "openai:m",
        {"model": model, "dataset": {"houses": 1, "episodes": 8}},
        out=folder / "run",
        prices=prices,
        retries=6,
        **options,
    )


@pytest.mark.parametrize("form", FORMS)
def test_the_steps_of_a_run_are_batches(form: str, tmp_path: Path) -> None:
    with batching(form) as books:
        result = run(plan_of(books, tmp_path))
    assert result.outcome.finished == 4
    assert books.batches[0] == 4
    assert len(books.batches) <= 4, "a batch a step, and of an episode that is late"
    _, dollars = billed(result.path)
    assert dollars == pytest.approx(books.dollars, abs=1e-8)


def killed(
    plan: Plan,
    books: Books,
    at: Callable[[str, str], bool],
    number: int = signal.SIGKILL,
) -> None:
    """Play in a process of its own, which gets a signal once a request meets the condition."""
    with warnings.catch_warnings():
        # The child has the threads of the stub no more, and needs none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            run(plan)
        finally:
            os._exit(0)

    def kill(method: str, route: str) -> None:
        if at(method, route):
            books.on_request = lambda method, route: None
            os.kill(child, number)

    books.on_request = kill
    os.waitpid(child, 0)
    (plan.out / ".lock").unlink(missing_ok=True)  # type: ignore[operator]


MOMENTS = {
    "the file is uploaded": lambda method, route: route.endswith("/files"),
    "the batch is made": lambda method, route: method == "POST" and of_batches(route),
    "the batch is looked at": lambda method, route: (
        method == "GET" and of_batches(route.rpartition("/")[0])
    ),
    "the answers are read": lambda method, route: route.endswith(
        ("/content", "/results")
    ),
}


def of_batches(route: str) -> bool:
    return route.endswith(("/batches", "/batch/jobs", ":batchGenerateContent"))


def happens(moment: str, form: str) -> bool:
    """False for what a provider's interface has not: Anthropic's has no file of requests, and
    Gemini's no files. All others are killed once where the long form is not asked for."""
    if form != "openai" and not LONG:
        return moment == "the batch is made"
    if form == "gemini":
        return moment in ("the batch is made", "the batch is looked at")
    return form != "anthropic" or moment != "the file is uploaded"


@pytest.mark.parametrize(
    ("form", "moment"),
    [(form, moment) for form in FORMS for moment in MOMENTS if happens(moment, form)],
)
def test_nothing_is_paid_twice_over_kills(
    form: str, moment: str, tmp_path: Path
) -> None:
    with batching(form) as books:
        plan = plan_of(books, tmp_path)
        killed(plan, books, MOMENTS[moment])
        # and once more in the second step
        seen = len(books.batches)
        killed(
            plan,
            books,
            lambda method, route: (
                len(books.batches) > seen and MOMENTS[moment](method, route)
            ),
        )
        result = run(plan)
    assert result.outcome.finished == 4
    assert len(books.processed) == len(set(books.processed)) == 12
    _, dollars = billed(result.path)
    assert dollars == pytest.approx(books.dollars, abs=1e-8)


def test_ctrl_c_leaves_the_batch_to_the_next_session(tmp_path: Path) -> None:
    with batching() as books:
        plan = plan_of(books, tmp_path, max_dollars=0.1)
        killed(plan, books, MOMENTS["the batch is looked at"], signal.SIGINT)
        assert len(books.batches) == 1
        result = run(plan)
    assert result.outcome.finished == 4
    assert len(books.processed) == len(set(books.processed)) == 12
    assert billed(result.path)[1] == pytest.approx(books.dollars, abs=1e-8)


def test_batches_are_gathered_in_one_process(tmp_path: Path) -> None:
    with batching() as books, pytest.raises(UsageError, match="--engine"):
        run(plan_of(books, tmp_path, engine="ray"))

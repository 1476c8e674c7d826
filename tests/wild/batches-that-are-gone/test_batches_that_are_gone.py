"""Batches that their provider denies, for a while or for good."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helpers.batch_stub import KEY, PRICE, Books, batching
from wayword.models.middleware.rate import RetryPolicy
from wayword.models.parts import opening
from wayword.models.servers import batches
from wayword.models.servers.batch_anthropic import AnthropicForm
from wayword.models.servers.batch_forms import (
    LOST,
    NOT_PROCESSED,
    MistralForm,
    OpenAIForm,
)
from wayword.models.servers.batch_gemini import GeminiForm
from wayword.models.servers.batches import form_of
from wayword.models.servers.connection import Missing
from wayword.runs import Plan, run
from wayword.runs.config import billed
from wayword.runs.tiers import offers

FORMS = ("openai", "mistral", "anthropic", "gemini")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "QUIET_S", 0.05)
    monkeypatch.setattr(batches, "POLL_S", 0.01)
    monkeypatch.setattr(batches, "DENIED_S", 0.05)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    policy = partial(RetryPolicy, first=0.001, longest=0.002)
    monkeypatch.setattr(opening.rate, "RetryPolicy", policy)


def plan_of(books: Books, folder: Path) -> Plan:
    prices = folder / "prices.yaml"
    prices.write_text(f"openai:m: {PRICE}\n".replace("'", ""))
    model = {"base_url": books.address, "tier": "batch", "batch": books.form}
    tree = {"model": model, "dataset": {"houses": 1, "episodes": 8}}
    options: dict[str, Any] = {"limit": 2, "concurrency": 2, "max_steps": 2}
    out = folder / "run"
    return Plan("react", "houses", "openai:m", tree, out=out, prices=prices, **options)


DENIALS = {
    "an error of status 200": (200, {"error": {"message": "no such batch"}}),
    "not found": (404, {"error": {"message": "No batch found with id 'batch-1'"}}),
    "gone": (410, {}),
    "no permission": (403, {"error": {"message": "no permission, or may not exist"}}),
    "a page": (404, "<html>Not found</html>"),
}


@pytest.mark.parametrize(
    ("form", "denial"),
    [
        *(("openai", denial) for denial in DENIALS),
        *((form, "not found") for form in FORMS[1:]),
    ],
)
def test_its_requests_are_sent_again_and_its_cost_stays_in_the_bill(
    form: str, denial: str, tmp_path: Path
) -> None:
    with batching(form, gone=1, denial=DENIALS[denial]) as books:
        result = run(plan_of(books, tmp_path))
    assert result.outcome.finished == 2
    # The provider has billed the batch that is gone: two requests more.
    assert len(books.processed) == 6
    _, dollars = billed(result.path)
    assert dollars >= books.dollars, "an estimate, and rather too high"
    assert dollars < 10 * books.dollars, "less than the most that was reserved"
    (line,) = [each for each in result.notices if "answers are gone" in each]
    assert "2 answers are gone" in line


def test_a_resumed_run_continues_past_it(tmp_path: Path) -> None:
    """Without a store moved by hand: an earlier session has sent the batch."""
    with batching(polls=10**9) as books:
        plan = plan_of(books, tmp_path)

        async def stop(task: asyncio.Task[Any]) -> None:
            while not books.batches:
                await asyncio.sleep(0.01)
            task.cancel()

        async def interrupted() -> None:
            task = asyncio.ensure_future(_run(plan))
            await stop(task)
            await asyncio.gather(task, return_exceptions=True)

        asyncio.run(interrupted())
        books.polls = 1
        for job in books.jobs.values():
            job["is_gone"] = True
        result = run(plan)
    assert result.outcome.finished == 2
    assert sum("answers are gone" in each for each in result.notices) == 1
    assert billed(result.path)[1] >= books.dollars


async def _run(plan: Plan) -> Any:
    from wayword.runs.running import run_async

    return await run_async(plan)


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_that_is_denied_for_a_moment_is_waited_for(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "DENIED_S", 60.0)
    with batching(form, gone=1) as books:

        def found(method: str, route: str) -> None:
            if method == "GET" and books.jobs:
                for job in books.jobs.values():
                    job["is_gone"] = False

        books.on_request = found
        result = run(plan_of(books, tmp_path))
    assert result.outcome.finished == 2
    assert len(books.processed) == 4, "none is sent twice"
    assert not [each for each in result.notices if "gone" in each]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_results_that_are_deleted_are_answers_that_are_gone(
    form: str, tmp_path: Path
) -> None:
    with batching(form, gone_files=20) as books:

        def later(method: str, route: str) -> None:
            if len(books.batches) > 1:
                books.gone_files = 0

        books.on_request = later
        result = run(plan_of(books, tmp_path))
    assert result.outcome.finished == 2
    assert [each for each in result.notices if "2 answers are gone" in each]
    assert billed(result.path)[1] >= books.dollars


def of_gemini(state: str, **more: Any) -> Any:
    return {"name": "batches/b", "metadata": {"state": state}, **more}


STATES: list[tuple[OpenAIForm, Any, bool, int | None]] = [
    # (form, the batch as it is shown, has it ended, the status of what has no result)
    (OpenAIForm(), {"status": "completed"}, True, LOST),
    (OpenAIForm(), {"status": "COMPLETED"}, True, LOST),
    (OpenAIForm(), {"status": "expired"}, True, NOT_PROCESSED),
    (OpenAIForm(), {"status": "EXPIRED"}, True, NOT_PROCESSED),
    (OpenAIForm(), {"status": "canceled"}, True, NOT_PROCESSED),
    (OpenAIForm(), {"status": "cancelled"}, True, NOT_PROCESSED),
    (OpenAIForm(), {"status": "cancelling"}, False, None),
    (OpenAIForm(), {"status": "finalizing"}, False, None),
    (OpenAIForm(), {"status": "validating"}, False, None),
    (MistralForm(), {"status": "TIMEOUT_EXCEEDED"}, True, NOT_PROCESSED),
    (MistralForm(), {"status": "SUCCESS"}, True, LOST),
    (MistralForm(), {"status": "CANCELLATION_REQUESTED"}, False, None),
    (AnthropicForm(), {"processing_status": "ended"}, True, LOST),
    (AnthropicForm(), {"processing_status": "canceling"}, False, None),
    (GeminiForm(), of_gemini("BATCH_STATE_SUCCEEDED", done=True), True, LOST),
    (GeminiForm(), of_gemini("BATCH_STATE_SUCCEEDED"), True, LOST),
    (GeminiForm(), of_gemini("BATCH_STATE_PENDING"), False, None),
    (GeminiForm(), of_gemini("JOB_STATE_EXPIRED"), True, NOT_PROCESSED),
    (GeminiForm(), of_gemini("BATCH_STATE_CANCELLED"), True, NOT_PROCESSED),
    (GeminiForm(), of_gemini("JOB_STATE_PARTIALLY_SUCCEEDED"), True, NOT_PROCESSED),
    (GeminiForm(), {"name": "b", "done": True, "error": {"code": 13}}, True, 0),
]


@pytest.mark.parametrize(("form", "job", "has_ended", "status"), STATES)
def test_each_state_ends_the_wait_or_does_not(
    form: OpenAIForm, job: Any, has_ended: bool, status: int | None
) -> None:
    class Server:
        async def exchange(self, *_: Any) -> bytes:
            return json.dumps(job).encode()

    server: Any = Server()
    shown = asyncio.run(form.poll(server, "b"))
    assert (shown is not None) == has_ended
    if shown is not None:
        assert form.without_result(shown) == status


def test_a_batch_is_found_among_older_ones_whose_results_are_gone() -> None:
    ended = {"processing_status": "ended", "request_counts": {"succeeded": 1}}
    jobs = [{"id": "old", **ended}, {"id": "new", **ended}]
    line = {"custom_id": "a-1", "result": {"type": "expired"}}

    class Server:
        async def exchange(self, method: str, route: str, *_: Any) -> bytes:
            if "old" in route:
                raise Missing("results are available for 29 days")
            if "new" in route:
                return json.dumps(line).encode()
            return json.dumps({"data": jobs}).encode()

    server: Any = Server()
    found = asyncio.run(AnthropicForm().find(server, "b", ["a-1"], []))
    assert found == "new"


@pytest.mark.parametrize(
    ("host", "form", "offered"),
    [
        ("api.anthropic.com", AnthropicForm, True),
        ("evilanthropic.com", OpenAIForm, False),
        ("generativelanguage.googleapis.com.evil.example", OpenAIForm, False),
        ("api.mistral.ai", MistralForm, True),
        ("eu.api.openai.com", OpenAIForm, True),
        ("myapi.openai.com", OpenAIForm, False),
        ("me.openai.azure.com", OpenAIForm, True),
    ],
)
def test_a_provider_is_known_by_its_domain(
    host: str, form: type[OpenAIForm], offered: bool
) -> None:
    assert type(form_of(host, "auto")) is form
    assert bool(offers("openai:m", {"base_url": f"https://{host}/v1"})) == offered

"""Stored results of a batch that a later session asks for again, and others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import serving
from wayword.core.errors import ModelError
from wayword.models.servers.batch_forms import LOST, NOT_PROCESSED, Result
from wayword.models.servers.connection import Connection, Missing
from wayword.models.servers.requests import ServerSettings


def refused(text: str) -> Any:
    return {"error": {"message": text, "type": "invalid_request_error"}}


RESULTS = [
    # (status, reply, may the same request have another result?)
    (200, {"choices": []}, False),
    (NOT_PROCESSED, {}, True),
    (LOST, {}, True),
    (500, refused("internal"), True),
    (429, refused("rate limit reached"), True),
    (408, refused("timeout"), True),
    (400, refused("Your credit balance is too low to access the API."), True),
    (401, refused("invalid api key"), True),
    (403, refused("no access"), True),
    (404, refused("model: m"), True),
    (400, refused("Unrecognized request argument supplied: seed"), False),
    (400, refused("max_tokens must be less than or equal to 10"), False),
    (400, refused("prompt is too long: 9 tokens > 8 maximum"), False),
    (400, refused("content_filter"), False),
]


@pytest.mark.parametrize(("status", "reply", "passes"), RESULTS)
def test_a_refusal_that_passes_is_no_result(
    status: int, reply: Any, passes: bool
) -> None:
    assert Result("a-1", status, reply).is_failure == passes


EXCHANGES = [
    (400, "Cannot find file 'file-1', or project does not have access to it", "away"),
    (400, "server is busy, try again later", "away"),
    (503, "", "away"),
    (404, "No batch found with id 'batch-1'; try again later", "missing"),
    (400, "invalid purpose", "fatal"),
    (401, "invalid api key", "fatal"),
]


@pytest.mark.parametrize(("status", "text", "kind"), EXCHANGES)
def test_each_refusal_about_a_batch_is_waited_for_missing_or_fatal(
    status: int, text: str, kind: str
) -> None:
    async def ask(address: str) -> ModelError:
        connection = Connection(address, "", ServerSettings())
        try:
            with pytest.raises(ModelError) as caught:
                await connection.exchange("POST", "/batches", {})
            return caught.value
        finally:
            await connection.aclose()

    with serving(lambda *_: (status, refused(text))) as server:
        error = asyncio.run(ask(server.address))
    assert error.away == error.retryable == (kind == "away")
    assert isinstance(error, Missing) == (kind == "missing")
    assert error.fatal == (kind != "away")

"""Calls end if their batch cannot be stored."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import pytest

from helpers.batch_stub import KEY, batching
from wayword.core.errors import ModelError
from wayword.core.model import Sampling, user
from wayword.models.openai import OpenAIModel
from wayword.models.servers import batches
from wayword.models.servers.requests import ServerSettings


@pytest.mark.parametrize(
    "problem", ["database or disk is full", "disk I/O error", "x" * 999]
)
def test_the_calls_end_with_the_error(
    problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "QUIET_S", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def refuse(*_: Any) -> None:
        raise sqlite3.OperationalError(problem)

    monkeypatch.setattr(batches.BatchStore, "begin", refuse)
    with batching() as books:
        model = OpenAIModel("m", ServerSettings(books.address, tier="batch"))

        async def ask() -> list[Any]:
            calls = [model.complete([user(f"{n}?")], Sampling()) for n in range(2)]
            async with asyncio.timeout(5):
                answers = await asyncio.gather(*calls, return_exceptions=True)
            await model.aclose()
            return answers

        answers = asyncio.run(ask())
    for error in answers:
        assert isinstance(error, ModelError)
        assert error.fatal
        assert problem[:150] in str(error)
        assert len(str(error)) < 300
    assert books.batches == []

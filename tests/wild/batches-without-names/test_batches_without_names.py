"""Gemini's answers without the metadata that name their requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.batch_stub import KEY, batching
from wayword.core.errors import ModelError
from wayword.core.model import Sampling, user
from wayword.models.openai import OpenAIModel
from wayword.models.servers import batches
from wayword.models.servers.requests import ServerSettings


def asked(count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[int]]:
    """The answers to questions of one batch without names, and the sizes of all batches."""
    monkeypatch.setattr(batches, "QUIET_S", 0.02)
    monkeypatch.setattr(batches, "POLL_S", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with batching("gemini") as books:

        def drop_names(method: str, route: str) -> None:
            for job in books.jobs.values():
                for row in job.get("rows", ()):
                    row.pop("metadata", None)

        books.on_request = drop_names
        settings = ServerSettings(books.address, tier="batch", batch="gemini")
        model = OpenAIModel("m", settings)

        async def ask() -> list[Any]:
            calls = [model.complete([user(f"{n}?")], Sampling()) for n in range(count)]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            await model.aclose()
            return answers

        return asyncio.run(ask()), books.batches


def test_several_are_not_matched_by_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, sizes = asked(3, monkeypatch)
    assert sizes == [3], "nothing is paid again"
    for error in answers:
        assert isinstance(error, ModelError)
        assert error.fatal
        assert "do not name their requests" in str(error)


def test_a_single_one_belongs_to_the_single_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (answer,), sizes = asked(1, monkeypatch)
    assert answer.text == "forward"
    assert sizes == [1]

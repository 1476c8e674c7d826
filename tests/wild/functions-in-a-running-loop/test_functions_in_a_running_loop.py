"""Functions that block, called inside an event loop as in a notebook's cell."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import wayword
from wayword.core import registry
from wayword.core.blocking import blocking
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.testing.contracts import check_agent


def test_each_works_in_a_cell(tmp_path: Path) -> None:
    async def cell() -> int:
        houses = registry.load("dataset", "houses")
        dataset = houses("test", None, houses.Settings(houses=1, episodes=2))
        check_agent(registry.load("agent", "random"), dataset)
        plan = Plan("random", "houses", limit=2, max_steps=2, out=tmp_path / "planned")
        planned = run(plan)
        called = wayword.run(
            "random", "houses", limit=1, max_steps=2, out=tmp_path / "r"
        )
        return len(planned.episodes) + len(called.episodes)

    assert asyncio.run(cell()) == 3


def test_an_error_is_the_functions_own() -> None:
    async def failing() -> None:
        raise ValueError("no such place")

    async def cell() -> None:
        blocking(failing())

    with pytest.raises(ValueError, match="no such place"):
        asyncio.run(cell())

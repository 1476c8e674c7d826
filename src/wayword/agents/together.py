"""Several questions at once, so that they take one round trip, and none outlives the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from wayword.core.errors import WaywordError

A = TypeVar("A")
B = TypeVar("B")


async def both(one: Coroutine[Any, Any, A], other: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """The answers of both. Where one fails the other is cancelled, and the failure is raised.

    A bare ``gather`` would leave the other running: its tokens would be in no trajectory.
    """
    try:
        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(one), group.create_task(other)
    except* WaywordError as failed:
        raise failed.exceptions[0] from None
    return first.result(), second.result()


async def everyone(questions: Sequence[Coroutine[Any, Any, A]]) -> list[A]:
    """The answers of all, in order; where one fails the rest are cancelled, as in ``both``."""
    try:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(question) for question in questions]
    except* WaywordError as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in asked]

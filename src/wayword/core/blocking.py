"""Run a coroutine to its end, also where an event loop runs already, as in notebooks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

Result = TypeVar("Result")


def blocking(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine. Inside an event loop it runs in a loop of its own, in a
    thread; Ctrl-C (a notebook's stop button) cancels it, and it ends normally."""
    try:
        # Without a running loop this raises, and the work can have the thread's own.
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    tasks: list[asyncio.Task[Any]] = []

    async def started() -> Result:
        """Note the running task, and wait for its work."""
        tasks.extend(filter(None, [asyncio.current_task()]))
        return await work

    # A thread may have a loop of its own; context variables are copied into it.
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(copy_context().run, asyncio.run, started())
        try:
            return future.result()
        except KeyboardInterrupt:
            # Cancelled, not killed, so that the work can store what it has.
            for task in tasks:
                task.get_loop().call_soon_threadsafe(task.cancel)
            raise

"""Run a coroutine to its end, also where an event loop runs already, as in notebooks.

A user's code that never gives control back to the loop is named: on Ctrl-C, and while it runs.
After Ctrl-C it has some seconds to return; then it is interrupted.
"""

from __future__ import annotations

import _thread
import asyncio
import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from types import FrameType
from typing import Any, TypeVar

from wayword.core import interrupts
from wayword.core.blame import running_place
from wayword.core.visible import visible

Result = TypeVar("Result")

PATIENCE = 10.0
"""Seconds until code that blocks the loop is named; then twice as many each time."""
BEAT = 0.5
"""Seconds between looks at the loop."""
GRACE = 5.0
"""Seconds that a user's code has to return after Ctrl-C, and between attempts to interrupt it."""
_THREADS = "wayword-to-thread"
ATTEMPTS = 2
"""Attempts to interrupt a user's code before the process ends: a bare ``except`` ignores them."""


def blocking(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine. Inside an event loop it runs in a loop of its own, in a
    thread; Ctrl-C (a notebook's stop button) cancels it, and it ends normally."""
    watched = _Watched()
    try:
        # Without a running loop this raises, and the work can have the thread's own.
        asyncio.get_running_loop()
    except RuntimeError:
        with _interrupts(watched):
            try:
                return asyncio.run(watched.run(work))
            except asyncio.CancelledError:
                if watched.stops:
                    raise KeyboardInterrupt from None
                raise

    # A thread may have a loop of its own; context variables are copied into it.
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(copy_context().run, asyncio.run, watched.run(work))
        try:
            return future.result()
        except KeyboardInterrupt:
            interrupts.request()
            watched.stop()
            raise


class _Watched:
    """A coroutine in an event loop, and what keeps the loop from going on."""

    def __init__(self) -> None:
        self.thread = 0
        self.stops = 0
        self._stopped_at = 0.0
        self._attempts = 0
        self._is_interrupting = False
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop
        self._last_beat = 0.0
        self._is_over = threading.Event()

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Note the running task, and wait for its work."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_unless_interrupted)
        self._loop.set_default_executor(_Threads(self))
        self._task = asyncio.current_task()
        self.thread = threading.get_ident()
        self._beat()
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            return await work
        finally:
            self._is_over.set()
            watcher.join()

    def stop(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Cancel the work, so that it can store what it has; a second time, raise
        ``KeyboardInterrupt`` where the loop's thread is."""
        # The code may have returned since the watcher looked.
        if self._is_interrupting:
            self._is_interrupting = False
            if not running_place(frame):
                return
        self.stops += 1
        if self._task is None or self.stops > 1:
            raise KeyboardInterrupt
        self._stopped_at = time.monotonic()
        self._loop.call_soon_threadsafe(self._task.cancel)
        if place := self._place():
            _say(
                f"{place} has not returned; stopping when it does, in {GRACE:.0f} s, or at a "
                "second Ctrl-C"
            )

    def _place(self) -> str:
        """Return the line of the user's code that the loop's thread runs."""
        return running_place(sys._current_frames().get(self.thread))

    def _beat(self) -> None:
        """Note that the loop goes on."""
        self._last_beat = time.monotonic()

    def _watch(self) -> None:
        """Name code of a user's that blocks the loop, from another thread."""
        patience = PATIENCE
        while not self._is_over.wait(BEAT):
            silent = time.monotonic() - self._last_beat
            if self.stops:
                if time.monotonic() - max(self._stopped_at, self._last_beat) >= GRACE:
                    self._interrupt()
            elif silent < PATIENCE:
                patience = PATIENCE
            elif silent >= patience and (place := self._place()):
                patience *= 2
                _say(f"{place} has not returned for {silent:.0f} s")
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._beat)

    def _interrupt(self) -> None:
        """Raise ``KeyboardInterrupt`` in a user's code that has not returned after a stop; end the
        process if it catches that again and again."""
        place = self._place()
        if not place:
            return
        self._attempts += 1
        self._stopped_at = time.monotonic()
        is_main = self.thread == threading.main_thread().ident
        if self._attempts > ATTEMPTS:
            # A notebook's process is the user's.
            if is_main:
                _say(f"{place} ignores interrupts; the process ends")
                logging.shutdown()
                os._exit(128 + signal.SIGINT)
            return
        _say(f"{place} has not returned; interrupting it")
        if not is_main:
            kind = ctypes.py_object(KeyboardInterrupt)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self.thread), kind
            )
            return
        self._is_interrupting = True
        # A signal to the thread ends a sleep as well; Windows has none.
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(self.thread, signal.SIGINT)
        else:
            _thread.interrupt_main()


class _Threads(ThreadPoolExecutor):
    """Threads of ``asyncio.to_thread``, which nothing can interrupt: a stopped run waits for them
    ``GRACE`` seconds at most."""

    def __init__(self, watched: _Watched) -> None:
        super().__init__(thread_name_prefix=_THREADS)
        self._watched = watched

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads, as the loop does at its end."""
        if not (wait and self._watched.stops):
            super().shutdown(wait, cancel_futures=cancel_futures)
            return
        super().shutdown(wait=False, cancel_futures=True)
        if place := _thread_place():
            _say(f"{place} has not returned; waiting for {GRACE:.0f} s")
        until = time.monotonic() + GRACE
        for thread in _running_threads():
            thread.join(max(0.0, until - time.monotonic()))


def end_process(code: int) -> None:
    """End the process of a stopped run with a code if a thread of its user's still runs, for which
    Python would wait; else return."""
    if not _running_threads():
        return
    _say(f"{_thread_place() or 'a thread'} has not returned; the process ends")
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _running_threads() -> list[threading.Thread]:
    """Return the threads of ``asyncio.to_thread`` that have not ended."""
    return [each for each in threading.enumerate() if each.name.startswith(_THREADS)]


def _thread_place() -> str:
    """Return the line of a user's code that one of these threads runs; empty if none does."""
    frames = sys._current_frames()
    for thread in _running_threads():
        frame = frames.get(thread.ident or 0)
        if place := running_place(frame, "concurrent.futures.thread"):
            return place
    return ""


@contextmanager
def _interrupts(watched: _Watched) -> Iterator[None]:
    """Let Ctrl-C stop the work. A handler of the caller's is kept; threads have none."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, watched.stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _unless_interrupted(
    loop: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    """Report an error that no task has read, except that the user stopped them all."""
    error = context.get("exception")
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not isinstance(error, KeyboardInterrupt):
        loop.default_exception_handler(context)


def _say(text: str) -> None:
    """Log a line, which Python prints on stderr."""
    logging.getLogger("wayword").warning("wayword: %s", visible(text))

"""Ctrl-C in code that blocks an event loop, which by itself would react only afterwards.

with listening():                        # around a run
    ...
    with listening(robot.interrupt):     # around a wait: called at Ctrl-C,
        wait()                           # or at once if it came earlier in the run
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

_listeners: list[Callable[[], None]] = []
# No lock: a handler that interrupts its own thread would wait for it forever.
_requested = False


def request() -> None:
    """Call every listener, and those that follow until the outermost ``listening`` has ended."""
    global _requested
    _requested = True
    for listener in tuple(_listeners):
        listener()


def is_requested() -> bool:
    """True if a stop is requested: what ends the work may be :func:`end`'s."""
    return _requested


@dataclass(frozen=True)
class _Handler:
    """Notify the listeners, then do what the signal did before."""

    previous: Callable[[int, FrameType | None], object]

    def __call__(self, number: int, frame: FrameType | None) -> None:
        request()
        self.previous(number, frame)


@contextmanager
def listening(listener: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Call ``listener`` at Ctrl-C, from the signal's handler; at once if a stop is requested."""
    global _requested
    _listeners.append(listener)
    try:
        with _handling():
            if _requested:
                listener()
            yield
    finally:
        _listeners.remove(listener)
        if not _listeners:
            _requested = False


def end() -> NoReturn:
    """Raise what ends the work: a loop has seen the signal too, and cancels the task."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise KeyboardInterrupt from None
    raise asyncio.CancelledError from None


@contextmanager
def _handling() -> Iterator[None]:
    """Notify listeners of SIGINT. In another thread than the main one, ``request`` has to be
    called."""
    handler = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    # Only the main thread may set handlers, and SIG_IGN cannot be called.
    if not in_main or not callable(handler) or isinstance(handler, _Handler):
        yield
        return
    own = _Handler(handler)
    signal.signal(signal.SIGINT, own)
    try:
        yield
    finally:
        # A handler that was set meanwhile is kept.
        if signal.getsignal(signal.SIGINT) is own:
            signal.signal(signal.SIGINT, handler)

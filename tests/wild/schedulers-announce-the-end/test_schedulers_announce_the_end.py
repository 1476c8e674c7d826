"""Signals before the end of a job stop the command like Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from wayword.cli import _STOPPING, _stop_as_ctrl_c


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """The handlers of this process, put back after the test."""
    names = [*_STOPPING, "SIGINT"]
    before = {name: signal.getsignal(getattr(signal, name)) for name in names}
    yield
    for name, handler in before.items():
        signal.signal(getattr(signal, name), handler)


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGTERM", "SIGHUP"])
def test_a_signal_interrupts_and_is_noted(name: str) -> None:
    number = getattr(signal, name)
    signal.signal(number, signal.SIG_DFL)
    stopped = _stop_as_ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    assert stopped == [number]


def test_a_handler_that_is_set_is_kept() -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    stopped = _stop_as_ctrl_c()
    os.kill(os.getpid(), signal.SIGUSR1)
    assert stopped == []

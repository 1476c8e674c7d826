"""Processes of engines that die, hang or are left during a request."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from wayword.core.errors import DataError
from wayword.worlds.alfworld import processes
from wayword.worlds.alfworld.processes import Lease

ECHO = """
import json, os, sys, time
for line in sys.stdin:
    command = json.loads(line).get("command")
    if command == "die":
        os._exit(3)
    if command == "die while writing":
        os.write(1, b'{"te')
        os._exit(3)
    if command == "hang":
        time.sleep(60)
    print(json.dumps({"text": command, "id": os.getpid()}), flush=True)
"""


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines that repeat a command, in place of TextWorld's, and none of other tests."""
    monkeypatch.setattr(processes, "COMMAND", [sys.executable, "-I", "-S", "-c", ECHO])
    monkeypatch.setattr(processes, "_idle", [])
    yield
    gc.collect()
    for process in processes._idle:
        process.close()


def answer(lease: Lease, command: str) -> dict[str, Any]:
    return lease.ask({"command": command})


def test_a_process_is_used_for_the_next_world() -> None:
    first = answer(Lease(), "look")
    assert answer(Lease(), "look")["id"] == first["id"]


@pytest.mark.parametrize("command", ["die", "die while writing"])
def test_the_world_after_a_dead_engine_has_another_one(command: str) -> None:
    lease = Lease()
    with pytest.raises(DataError, match="ended with code 3"):
        answer(lease, command)
    del lease
    assert answer(Lease(), "look")["text"] == "look"


def test_an_engine_that_died_while_idle_is_replaced() -> None:
    answer(Lease(), "look")
    (process,) = processes._idle
    process.close()
    assert answer(Lease(), "look")["text"] == "look"


def test_an_engine_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SECONDS", 0.1)
    with pytest.raises(DataError, match=r"or took 0\.1 s"):
        answer(Lease(), "hang")


def test_the_answer_to_an_interrupted_request_reaches_no_other_world(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lease = Lease()
    with monkeypatch.context() as patched:
        patched.setattr(lease._process._process.stdout, "readline", interrupt)
        with pytest.raises(KeyboardInterrupt):
            answer(lease, "of the first world")
    del lease
    assert answer(Lease(), "look")["text"] == "look"


def interrupt() -> str:
    raise KeyboardInterrupt

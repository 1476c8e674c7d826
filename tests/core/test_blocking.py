"""Code of a user's that never gives control back: it is named, and two signals end the run."""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wayword
from wayword.core import blocking

AGENT = """
import time
from wayword.core.action import Decision, STOP
from wayword.core.agent import Agent

class Slow(Agent):
    async def act(self, observation, space):
        self.wait()
        return Decision(STOP)

    def wait(self):
        print("waiting", flush=True)
        time.sleep({seconds})

agent = Slow
"""
LINE = 13


def test_code_that_blocks_the_loop_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(blocking, "PATIENCE", 0.9)
    monkeypatch.setattr(blocking, "BEAT", 0.1)
    agent = tmp_path / "slow.py"
    agent.write_text(AGENT.format(seconds=1.5), encoding="utf-8")

    with caplog.at_level(logging.WARNING, "wayword"):
        wayword.run(str(agent), "houses", limit=1, out=tmp_path / "run")

    # A busy machine looks later than at 0.9 s.
    named = re.escape(f"wayword: {agent}:{LINE}: act has not returned for ")
    (message,) = caplog.messages
    assert re.fullmatch(rf"{named}\d+ s", message)


ENDLESS = """
import time
from wayword.core.agent import Agent

class Endless(Agent):
    async def begin(self, episode):
        {begin}

    async def act(self, observation, space):
        {act}

def work():
    print("waiting", flush=True)
    {work}

agent = Endless
"""


def _stopped_once(
    tmp_path: Path, number: signal.Signals, **code: str
) -> tuple[int, str, Path]:
    """Return the exit code and the messages of a run that gets one signal, and its agent."""
    agent = tmp_path / "endless.py"
    parts = {"begin": "pass", "act": "work()", **code}
    agent.write_text(ENDLESS.format(**parts), encoding="utf-8")
    command = [sys.executable, "-m", "wayword", "run", str(agent), "--on", "houses"]
    running = subprocess.Popen(
        [*command, "--limit", "3", "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "waiting\n"
    time.sleep(0.3)  # past the line that prints
    running.send_signal(number)
    _, messages = running.communicate(timeout=40)
    return running.returncode, messages, agent


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, {"work": "while True: pass"}),
        (signal.SIGINT, {"work": "while True: time.sleep(60)"}),
        (signal.SIGTERM, {"begin": "work()", "work": "while True: pass"}),
    ],
)
def test_one_signal_ends_a_run_whose_agent_never_returns(
    tmp_path: Path, number: signal.Signals, code: dict[str, str]
) -> None:
    status, messages, agent = _stopped_once(tmp_path, number, **code)

    method = "begin" if "begin" in code else "act"
    assert status == 128 + number
    assert f"{agent}:14: {method} has not returned; interrupting it" in messages
    assert "stopped; finished episodes are kept" in messages
    assert "Traceback" not in messages


def test_one_signal_ends_an_agent_that_catches_interrupts(tmp_path: Path) -> None:
    work = "while True:\n        try: time.sleep(60)\n        except: pass"

    status, messages, agent = _stopped_once(tmp_path, signal.SIGTERM, work=work)

    assert status == 130
    assert f"{agent}:15: act ignores interrupts; the process ends" in messages


def test_code_that_returns_within_the_grace_is_not_interrupted(tmp_path: Path) -> None:
    work = "time.sleep(1)"

    status, messages, agent = _stopped_once(tmp_path, signal.SIGTERM, work=work)

    assert status == 143
    assert f"{agent}:14: act has not returned; stopping when it does" in messages
    assert "interrupting" not in messages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_a_run_whose_agent_waits_for_a_thread(
    tmp_path: Path, number: signal.Signals
) -> None:
    code = {
        "act": "import asyncio; await asyncio.to_thread(work)",
        "work": "while True: time.sleep(0.1)",
    }

    status, messages, agent = _stopped_once(tmp_path, number, **code)

    assert status == 128 + number
    assert f"{agent}:14: work has not returned; waiting for 5 s" in messages
    assert f"{agent}:14: work has not returned; the process ends" in messages
    assert "stopped; finished episodes are kept" in messages
    assert "Traceback" not in messages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_two_signals_end_a_run_whose_agent_blocks(
    tmp_path: Path, number: signal.Signals
) -> None:
    agent = tmp_path / "slow.py"
    agent.write_text(AGENT.format(seconds=60), encoding="utf-8")
    command = [sys.executable, "-m", "wayword", "run", str(agent), "--on", "houses"]
    running = subprocess.Popen(
        [*command, "--limit", "3", "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "waiting\n"
    for _ in range(2):
        time.sleep(0.3)  # two signals at once are one
        running.send_signal(number)
    _, said = running.communicate(timeout=20)

    assert running.returncode == 128 + number
    assert f"{agent}:{LINE}: act has not returned; stopping when it does" in said
    assert "stopped; finished episodes are kept" in said
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said

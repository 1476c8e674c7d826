"""A run that is killed at any moment loses nothing that was finished, and ends the same."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.records import torn
from wayword.runs.record import RunFolder

SLOW_WALKER = '''
"""A random walker that takes its time, so that it can be killed on the way."""
import asyncio
from wayword.agents.baselines.simple import RandomAgent

class Slow(RandomAgent):
    async def act(self, observation, space):
        await asyncio.sleep(0.004)
        return await super().act(observation, space)

agent = Slow
'''
EPISODES = 60
ACCOUNTING = {"seconds"}


def command(agent: Path, out: Path) -> list[str]:
    run = [sys.executable, "-m", "wayword", "run", str(agent), "--on", "houses"]
    return [*run, "--limit", str(EPISODES), "--out", str(out), "--concurrency", "3"]


def table(run: Path) -> list[object]:
    """The JSON table, wall time left out."""
    ask = [sys.executable, "-m", "wayword", "table", str(run), "--format", "json"]
    output = subprocess.run(ask, check=True, capture_output=True, text=True).stdout
    row = json.loads(output)["rows"][0]
    return [
        row["n"],
        row["of"],
        {k: v for k, v in row["metrics"].items() if k not in ACCOUNTING},
    ]


@pytest.fixture
def walker(tmp_path: Path) -> Path:
    path = tmp_path / "slow.py"
    path.write_text(SLOW_WALKER, encoding="utf-8")
    return path


def test_a_run_killed_at_random_moments_ends_like_an_uninterrupted_one(
    walker: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "whole"
    broken = tmp_path / "broken"
    subprocess.run(command(walker, folder), check=True, capture_output=True)
    kept: set[str] = set()
    rng = random.Random(4)
    for _ in range(4):
        running = subprocess.Popen(
            command(walker, broken),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        first = len(kept)
        deadline = time.monotonic() + 30
        while finished_in(broken) <= first and running.poll() is None:
            assert time.monotonic() < deadline, "the run never finished an episode"
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.15))
        running.send_signal(signal.SIGKILL)
        running.wait()
        now = names_in(broken)
        assert kept <= now, "an episode that was finished is gone"
        kept = now
    assert 0 < len(kept) < EPISODES, "the kills came at telling moments"
    subprocess.run(command(walker, broken), check=True, capture_output=True)
    records = [record.episode_id for record in RunFolder.read(broken).records()]
    assert len(records) == len(set(records)) == EPISODES
    assert table(broken) == table(folder)


def test_the_same_command_after_the_end_plays_nothing_again(
    walker: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    subprocess.run(command(walker, out), check=True, capture_output=True)
    before = (out / "episodes.jsonl.gz").read_bytes()
    again = subprocess.run(
        command(walker, out), check=True, capture_output=True, text=True
    )
    assert (out / "episodes.jsonl.gz").read_bytes() == before
    assert f"{EPISODES} episodes were already finished" in again.stderr


def finished_in(run: Path) -> int:
    return len(torn(run))


def names_in(run: Path) -> set[str]:
    """Episodes with a whole record on disk, read without the library."""
    return {line["episode"] for line in torn(run)}

"""A run that is killed at any moment loses nothing that was finished, and ends the same."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helpers.records import torn
from helpers.sampling import LONG
from wayword.cli.app import app
from wayword.runs.record import RunFolder
from wayword.runs.reports import table

SLOW_WALKER = '''
"""A random walker that takes its time where it is to be killed on the way."""
import asyncio
import os
from wayword.agents.baselines.simple import RandomAgent

class Slow(RandomAgent):
    async def act(self, observation, space):
        await asyncio.sleep(float(os.environ.get("WALKER_PAUSE", "0")))
        return await super().act(observation, space)

agent = Slow
'''
EPISODES = 60
ACCOUNTING = {"seconds"}
KILLS = 4 if LONG else 2


def words(agent: Path, out: Path) -> list[str]:
    """The command's words."""
    run = ["run", str(agent), "--on", "houses", "--limit", str(EPISODES)]
    return [*run, "--out", str(out), "--concurrency", "3"]


def wayword(agent: Path, out: Path) -> str:
    """The command in this process, to its end; what it prints."""
    done = CliRunner().invoke(app, words(agent, out), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def figures(run: Path) -> list[object]:
    """The JSON table, wall time left out."""
    row = json.loads(table([run], "json"))["rows"][0]
    return [
        row["n"],
        row["of"],
        {k: v for k, v in row["metrics"].items() if k not in ACCOUNTING},
    ]


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("walker") / "slow.py"
    path.write_text(SLOW_WALKER, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def full_run(walker: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    out = tmp_path_factory.mktemp("full") / "run"
    wayword(walker, out)
    return out


def test_a_run_killed_at_random_moments_ends_like_an_uninterrupted_one(
    walker: Path, full_run: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    kept: set[str] = set()
    rng = random.Random(4)
    for _ in range(KILLS):
        running = subprocess.Popen(
            [sys.executable, "-m", "wayword", *words(walker, broken)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "WALKER_PAUSE": "0.004"},
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
    wayword(walker, broken)
    records = [record.episode_id for record in RunFolder.read(broken).records()]
    assert len(records) == len(set(records)) == EPISODES
    assert figures(broken) == figures(full_run)


def test_the_same_command_after_the_end_plays_nothing_again(
    walker: Path, full_run: Path
) -> None:
    before = (full_run / "episodes.jsonl.gz").read_bytes()
    printed = wayword(walker, full_run)
    assert (full_run / "episodes.jsonl.gz").read_bytes() == before
    assert f"{EPISODES} episodes were already finished" in printed


def finished_in(run: Path) -> int:
    return len(torn(run))


def names_in(run: Path) -> set[str]:
    """Episodes with a whole record on disk, read without the library."""
    return {line["episode"] for line in torn(run)}

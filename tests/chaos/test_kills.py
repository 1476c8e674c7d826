"""``kill -9`` at random moments of a run, its first write and its table included."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from helpers.records import forget, torn
from wayword.runs.record import RunFolder

EPISODES = 36
SLOW = """
import asyncio
from wayword.agents.baselines.simple import RandomAgent

class Slow(RandomAgent):
    async def act(self, observation, space):
        await asyncio.sleep(0.003)
        return await super().act(observation, space)

agent = Slow
"""


def test_nothing_finished_is_lost_or_doubled(
    tmp_path: Path, rounds: Callable[[int, int], int], count: Callable[[str, int], None]
) -> None:
    agent = tmp_path / "slow.py"
    agent.write_text(SLOW, encoding="utf-8")
    kills = rounds(1, 500)
    folder = 0
    rng = random.Random(11)
    kept: set[str] = set()
    for _ in range(kills):
        out = tmp_path / f"run{folder}"
        command = [
            *(sys.executable, "-m", "wayword", "run", str(agent), "--on", "houses"),
            *("--set", "dataset.houses=1", "--set", f"dataset.episodes={EPISODES}"),
            *("--out", str(out), "--concurrency", "3", "--max-steps", "12"),
        ]
        (out / ".lock").unlink(missing_ok=True)  # left by the one killed before
        if rng.random() < 0.3:
            forget()
        running = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _wait_for_life(out, running)
        time.sleep(rng.choice([0.0, rng.uniform(0, 0.05), rng.uniform(0, 0.6)]))
        running.send_signal(signal.SIGKILL)
        _, reply = running.communicate()
        assert b"Traceback" not in reply
        now = _names(out)
        assert kept <= now, "a finished episode is gone"
        if (out / "run.json").exists():
            assert len(RunFolder.read(out).scores()) == len(now)
        kept = now
        if len(kept) == EPISODES:
            folder = folder + 1
            kept = set()
    count("kills", kills)


def _wait_for_life(out: Path, running: subprocess.Popen[bytes]) -> None:
    """Until the run has made its folder: what comes before it touches no file."""
    deadline = time.monotonic() + 60
    while running.poll() is None and time.monotonic() < deadline:
        if (out / ".lock").exists():
            return
        time.sleep(0.01)


def _names(out: Path) -> set[str]:
    """Episodes with a whole record on disk, read without the library."""
    names = [record["episode"] for record in torn(out)]
    assert len(names) == len(set(names)), "an episode is there twice"
    return set(names)

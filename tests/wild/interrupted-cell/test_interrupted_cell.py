"""An interrupted call of ``wayword.run`` keeps its episodes, and the same call plays the rest."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

import wayword

EPISODES = 12
BEFORE_INTERRUPT = 4


def test_an_interrupted_run_leaves_no_thread_and_resumes(tmp_path: Path) -> None:
    interrupted_at: list[int] = []

    def interrupt(done: int, total: int, scores: object) -> None:
        if done == BEFORE_INTERRUPT and not interrupted_at:
            interrupted_at.append(done)
            signal.raise_signal(signal.SIGINT)

    def run_cell() -> wayword.RunResult:
        return wayword.run(
            "random",
            "houses",
            limit=EPISODES,
            max_steps=3,
            concurrency=1,
            out=tmp_path / "run",
            on_progress=interrupt,
        )

    threads = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        run_cell()
    assert set(threading.enumerate()) <= threads
    finished = len(wayword.RunResult.read(tmp_path / "run").episodes)
    assert BEFORE_INTERRUPT <= finished < EPISODES

    result = run_cell()
    assert result.resumed == finished
    assert len(result.episodes) == EPISODES

"""The pace of a run whose machine's clock is set while it plays."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from wayword.runs.active import PROGRESS, Reporter
from wayword.viewer.figures import duration
from wayword.viewer.library import progress_of

BEGAN = 1_000_000.0


@pytest.mark.parametrize("jump", [-3600.0, 0.0, 3600.0, 1e9])
def test_the_time_left_is_that_of_the_episodes(
    jump: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "time", lambda: BEGAN)
    reporter = Reporter(tmp_path, total=6, max_steps=10)
    clock[0] += 60.0
    monkeypatch.setattr(time, "time", lambda: BEGAN + 60.0 + jump)
    reporter.write(3)
    written = BEGAN + 60.0 + jump
    os.utime(tmp_path / PROGRESS, (written, written))
    progress = progress_of(tmp_path)
    assert progress is not None
    assert progress.pace == f"about {duration(60.0)} left"


def test_a_report_of_an_older_run_is_read(tmp_path: Path) -> None:
    path = tmp_path / PROGRESS
    report = {"process": 1, "done": 3, "total": 6, "began": BEGAN - 60.0}
    path.write_text(json.dumps(report), encoding="utf-8")
    os.utime(path, (BEGAN, BEGAN))
    progress = progress_of(tmp_path)
    assert progress is not None
    assert progress.pace == f"about {duration(60.0)} left"

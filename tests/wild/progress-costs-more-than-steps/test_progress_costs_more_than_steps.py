"""A progress bar is redrawn a few times a second, and ends with the last state."""

from __future__ import annotations

from typing import Any

import pytest
from rich.progress import Progress

from wayword.cli.show import progress

STEPS = 5_000


def test_fast_steps_redraw_the_bar_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    update = Progress.update

    def counted(self: Progress, task: Any, **fields: Any) -> None:
        drawn.append(fields["completed"])
        update(self, task, **fields)

    monkeypatch.setattr(Progress, "update", counted)
    now = 0.0

    def clock() -> float:
        return now

    monkeypatch.setattr("wayword.cli.show.time.monotonic", clock)
    with progress("oracle on houses") as report:
        for number in range(1, STEPS + 1):
            now += 0.001
            report(number, STEPS, {"sr": 1.0})
    assert len(drawn) <= STEPS * 0.001 / 0.1 + 2
    assert drawn[0] == 1
    assert drawn[-1] == STEPS

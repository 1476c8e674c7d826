"""Weights & Biases with another run open, and offline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from wayword.runs import Plan, run
from wayword.runs.tracking import tracked


class Run:
    """A run of the tracker."""

    def __init__(self, resumed: bool) -> None:
        self.resumed = resumed
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.finished = False

    def log(self, values: dict[str, float], step: int) -> None:
        assert not self.finished
        self.logged.append((step, values))

    def finish(self) -> None:
        self.finished = True


class Library:
    """A tracker's module, which returns the open run unless a new one is requested."""

    def __init__(self, offline: bool = False) -> None:
        self.offline = offline
        self.runs: list[Run] = []

    def init(self, reinit: str = "return_previous", **options: Any) -> Run:
        is_open = bool(self.runs) and not self.runs[-1].finished
        if not is_open or reinit == "create_new":
            self.runs.append(Run(bool(self.runs) and not self.offline))
        return self.runs[-1]


def session(out: Path, limit: int) -> None:
    plan = Plan("oracle", "houses", limit=limit, out=out)
    with tracked("wandb:walks", plan, None, print) as progress:
        run(plan, on_progress=progress)


def test_an_open_run_of_the_program_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "wandb", library)  # type: ignore[arg-type]
    user_run = library.init()
    session(tmp_path / "r", 2)
    assert (user_run.logged, user_run.finished) == ([], False)
    (_, new) = library.runs
    assert [step for step, _ in new.logged] == [1, 2]
    assert new.finished


@pytest.mark.parametrize(("offline", "steps"), [(True, [1, 2, 3, 4]), (False, [3, 4])])
def test_the_last_part_of_an_offline_run_is_complete(
    offline: bool, steps: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(offline)
    monkeypatch.setitem(sys.modules, "wandb", library)  # type: ignore[arg-type]
    session(tmp_path / "r", 2)
    session(tmp_path / "r", 4)
    first, second = library.runs
    assert [step for step, _ in first.logged] == [1, 2]
    assert [step for step, _ in second.logged] == steps
    if offline:
        assert second.logged[:2] == first.logged

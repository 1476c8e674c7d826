"""A tracker that drops earlier steps shows the means of the table, also after ``--redo``."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from wayword.runs import Plan, run
from wayword.runs.record import RunFolder
from wayword.runs.tracking import Means, Tracker, tracked


class Monotone:
    """A tracker that ignores what comes at a step below its current one, as W&B does."""

    def __init__(self) -> None:
        self.step = 0
        self.latest: dict[str, float] = {}
        self.ignored = 0

    def init(self, **_: Any) -> None: ...

    def log(self, values: dict[str, float], step: int) -> None:
        if step < self.step:
            self.ignored += 1
            return
        self.step = step + 1
        self.latest = values

    def finish(self) -> None: ...


def test_the_means_are_those_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Monotone()
    monkeypatch.setitem(sys.modules, "wandb", library)  # type: ignore[arg-type]
    out = tmp_path / "r"
    for redo in ((), None, None):
        plan = Plan("random", "houses", limit=6, max_steps=6, out=out)
        if redo is None:
            finished = [episode for episode, _ in RunFolder.read(out).scores()]
            plan = Plan(
                *("random", "houses"),
                limit=6,
                max_steps=6,
                out=out,
                redo=tuple(finished[:2]),
            )
        with tracked("wandb:walks", plan, None, pytest.fail) as progress:
            run(plan, on_progress=progress)
    assert library.ignored == 0
    table = [scores["tl"] for _, scores in RunFolder.read(out).scores()]
    assert library.latest["mean/tl"] == pytest.approx(fmean(table))
    assert library.latest["episodes"] == 6


def test_names_have_only_the_characters_that_mlflow_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logged: list[dict[str, float]] = []

    class MLflow:
        def set_experiment(self, name: str) -> None: ...

        def start_run(self, **_: Any) -> None: ...

        def log_params(self, values: dict[str, str]) -> None: ...

        def log_metrics(self, values: dict[str, float], step: int) -> None:
            logged.append(values)

    monkeypatch.setitem(sys.modules, "mlflow", MLflow())  # type: ignore[arg-type]
    tracker = Tracker("mlflow:walks", "r", {}, pytest.fail)
    Means(tracker)(1, 1, {"sr:near": 1.0, "osr@3m": 1.0, "50%": 0.0, "größe (m)": 2.0})
    names = {name.removeprefix("episode/") for name in logged[0] if name[0] == "e"}
    assert names == {"sr/near", "osr_3m", "50_", "gr__e _m_", "episodes"}


def test_a_run_that_was_deleted_in_the_tracker_gets_another_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids: list[str] = []

    class WandB:
        def init(self, **options: Any) -> None:
            ids.append(options["id"])
            if len(ids) == 1:
                raise RuntimeError("run r was previously created and deleted")

    monkeypatch.setitem(sys.modules, "wandb", WandB())  # type: ignore[arg-type]
    Tracker("wandb:walks", "r", {}, pytest.fail, run_id="abc")
    assert ids == ["abc", "abc-2"]

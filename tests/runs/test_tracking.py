"""Trackers: what each library is called with, that none ends a run, and that no secret gets out."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.core.errors import UsageError
from wayword.core.secrets import environment_secrets
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.runs.tracking import Means, open_tracker, tracked

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


class Library:
    """Stands in for a tracker's module: it keeps the calls, and fails where it is told to."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[Call] = []
        self.fails = fails

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> None:
            if name == self.fails:
                raise RuntimeError("disk full")
            self.calls.append((name, given, named))

        return call

    def named(self, name: str) -> list[Call]:
        return [call for call in self.calls if call[0] == name]


def installed(monkeypatch: pytest.MonkeyPatch, kind: str, fails: str = "") -> Library:
    library = Library(fails)
    monkeypatch.setitem(sys.modules, kind, library)  # type: ignore[arg-type]
    return library


@pytest.mark.parametrize("kind", ["trackio", "wandb"])
def test_a_run_is_reported_episode_by_episode(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = installed(monkeypatch, kind)
    plan = Plan("oracle", "houses", limit=3, out=tmp_path / "first", concurrency=1)
    seen: list[int] = []
    messages: list[str] = []

    def progress(done: int, total: int, scores: Mapping[str, float]) -> None:
        seen.append(done)

    with tracked(f"{kind}:walks", plan, progress, messages.append) as both:
        run(plan, both)
    (started,) = library.named("init")
    assert started[2]["project"] == "walks"
    assert started[2]["name"].partition("-")[0] == "first"
    assert started[2]["config"]["agent"] == "oracle"
    logged = library.named("log")
    assert [named["step"] for _, _, named in logged] == [1, 2, 3]
    assert logged[-1][1][0]["mean/sr"] == 1.0
    assert logged[-1][1][0]["episodes"] == 3
    assert "entity" not in started[2]
    assert library.calls[-1][0] == "finish"
    assert seen[-1] == 3
    assert not messages


def test_a_resumed_run_folder_is_one_run_of_the_tracker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with more episodes; a folder that was started again is another run."""
    library = installed(monkeypatch, "wandb")
    plan = Plan("oracle", "houses", limit=1, out=tmp_path / "run")

    def play(plan: Plan) -> str:
        with tracked("wandb:walks", plan, None, print) as both:
            run(plan, both)
        return str(library.named("init")[-1][2]["id"])

    first = play(plan)
    assert play(replace(plan, limit=2)) == first
    assert play(replace(plan, seed=1, out=tmp_path / "other")) != first
    config = tmp_path / "run" / "run.json"
    written = json.loads(config.read_text())
    config.write_text(json.dumps({**written, "started": "2020-01-01T00:00:00+00:00"}))
    assert play(replace(plan, limit=3)) != first


def test_mlflow_has_its_own_calls_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    library = installed(monkeypatch, "mlflow")
    with closing(
        open_tracker("mlflow:houses", "one", {"agent": "act"}, print)
    ) as tracker:
        tracker.log({"dev/walker houses:dev": 0.5, "worst": float("nan")}, 7)
    assert [name for name, _, _ in library.calls] == [
        "set_experiment",
        "start_run",
        "log_params",
        "log_metrics",
        "end_run",
    ]
    assert library.named("log_metrics")[0][1:] == (
        ({"dev/walker houses/dev": 0.5},),
        {"step": 7},
    )


def test_wandb_takes_an_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    library = installed(monkeypatch, "wandb")
    open_tracker("wandb:lab/walks", "one", {}, print).close()
    assert library.named("init")[0][2]["entity"] == "lab"


def test_means_leave_out_what_is_no_episode() -> None:
    logged: list[Mapping[str, float]] = []
    sink = SimpleNamespace(
        log=lambda values, step: logged.append(values), close=lambda: None
    )
    means = Means(sink)
    means(0, 2, {})
    means(0, 2, {"steps_so_far": 4})
    means(1, 2, {"sr": 1.0, "ne": float("nan")})
    means(2, 2, {"sr": 0.0, "ne": 3.0})
    assert [each["mean/sr"] for each in logged] == [1.0, 0.5]
    assert logged[-1]["mean/ne"] == 3.0


@pytest.mark.parametrize("fails", ["log", "finish"])
def test_a_tracker_that_fails_ends_no_run(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, "trackio", fails)
    plan = Plan("oracle", "houses", limit=2, out=tmp_path / "run")
    messages: list[str] = []
    with tracked("trackio:walks", plan, None, messages.append) as both:
        assert run(plan, both).outcome.complete
    (line,) = messages
    assert (
        line
        == "--track trackio:walks: RuntimeError: disk full; the run continues without it"
    )


def test_no_secret_reaches_a_tracker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key-1234567890")
    environment_secrets()  # as the start of a run does
    library = installed(monkeypatch, "trackio")
    config = {"settings": '{"key": "sk-very-secret-key-1234567890"}'}
    open_tracker("trackio:walks", "one", config, print).close()
    assert "very-secret" not in str(library.calls)


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("trackoi:walks", "did you mean 'trackio'"),
        ("wandb", "the project is missing"),
        ("mlflow:walks", r"mlflow is not installed: make -C .* extra-mlflow"),
    ],
)
def test_mistakes_end_in_one_line(
    spec: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as where it is not installed
    with pytest.raises(UsageError, match=line):
        open_tracker(spec, "one", {}, print)


def test_one_that_does_not_begin_is_an_error_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(monkeypatch, "wandb", "init")
    with pytest.raises(
        UsageError, match="--track wandb:walks: RuntimeError: disk full"
    ):
        open_tracker("wandb:walks", "one", {}, print)

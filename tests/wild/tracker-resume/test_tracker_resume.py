"""Sessions of one run folder continue one run of the tracker, with means over all episodes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.core.errors import UsageError
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder
from wayword.runs.tracking import MLFLOW_TAG, tracked


class Library:
    """A tracker's module that keeps its calls, and finds MLflow runs by their tag."""

    def __init__(self) -> None:
        self.opened: list[dict[str, Any]] = []
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.runs: dict[str, str] = {}

    def init(self, **options: Any) -> None:
        self.opened.append(options)

    def log(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))

    def finish(self) -> None: ...

    def set_experiment(self, name: str) -> None: ...

    def search_runs(self, filter_string: str, output_format: str) -> list[Any]:
        assert output_format == "list", "pandas may be missing"
        ids = [own for own, tag in self.runs.items() if f"'{tag}'" in filter_string]
        return [SimpleNamespace(info=SimpleNamespace(run_id=own)) for own in ids]

    def start_run(self, **options: Any) -> None:
        self.opened.append(options)
        if "tags" in options:
            self.runs[f"run{len(self.runs)}"] = options["tags"][MLFLOW_TAG]

    def log_params(self, values: dict[str, str]) -> None:
        self.opened[-1]["params"] = values

    log_metrics = log
    end_run = finish


def session(kind: str, out: Path, limit: int, seed: int = 0) -> None:
    plan = Plan("random", "houses", limit=limit, max_steps=6, out=out, seed=seed)
    notices: list[str] = []
    with tracked(f"{kind}:walks", plan, None, notices.append) as progress:
        run(plan, on_progress=progress)
    assert notices == []


@pytest.mark.parametrize("kind", ["wandb", "trackio", "mlflow"])
def test_sessions_of_a_folder_are_one_run_with_means_over_all(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, kind, library)  # type: ignore[arg-type]
    for limit in (3, 6, 6):
        session(kind, tmp_path / "r", limit)

    first, second = library.opened  # the third session had nothing to play
    if kind == "wandb":
        assert first["id"] == second["id"]
        assert first["resume"] == second["resume"] == "allow"
    elif kind == "trackio":
        assert first["name"] == second["name"]
        assert first["resume"] == second["resume"] == "allow"
    else:
        assert second == {"run_id": "run0"}
    assert [step for step, _ in library.logged] == [1, 2, 3, 4, 5, 6]
    errors = [scores["ne"] for _, scores in RunFolder.read(tmp_path / "r").scores()]
    last = library.logged[-1][1]
    assert last["episodes"] == 6
    assert last["mean/ne"] == pytest.approx(sum(errors) / 6)


class Opened:
    """A run of W&B, which is resumed, or of Trackio, which has a next step."""

    def __init__(self, library: Library, kind: str, has_steps: bool) -> None:
        self.log = library.log
        self.finish = library.finish
        if kind == "wandb":
            self.resumed = has_steps
        else:
            self._next_step = 5 * has_steps


class Forgetful(Library):
    """A tracker without earlier runs. W&B gives the ID of a deleted run to no other."""

    def __init__(self, kind: str, deleted: bool = False) -> None:
        super().__init__()
        self.kind = kind
        self.deleted = deleted
        self.names: set[str] = set()

    def init(self, **options: Any) -> Any:
        name = str(options.get("id", options["name"]))
        if self.deleted and not name.endswith("-2"):
            raise RuntimeError(f"run {name} was previously created and deleted")
        opened = Opened(self, self.kind, name in self.names)
        self.names.add(name)
        return opened


@pytest.mark.parametrize(
    ("kind", "deleted"),
    [("wandb", False), ("wandb", True), ("trackio", False), ("mlflow", False)],
)
def test_a_tracker_that_lacks_earlier_episodes_gets_them_once(
    kind: str, deleted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Forgetful(kind, deleted)
    monkeypatch.setitem(sys.modules, kind, library)  # type: ignore[arg-type]
    out = tmp_path / "r"
    run(Plan("random", "houses", limit=2, max_steps=6, out=out))
    for limit in (4, 6):
        session(kind, out, limit)
    assert [step for step, _ in library.logged] == [1, 2, 3, 4, 5, 6]
    errors = [scores["ne"] for _, scores in RunFolder.read(out).scores()]
    assert [values["episode/ne"] for _, values in library.logged] == errors


def test_folders_of_one_name_are_two_runs_in_trackio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "trackio", library)  # type: ignore[arg-type]
    for seed, parent in enumerate(("a", "b")):
        session("trackio", tmp_path / parent / "run", 1, seed=seed)
    first, second = (options["name"] for options in library.opened)
    assert first != second
    assert first.startswith("run-")
    assert second.startswith("run-")


def test_another_run_and_one_started_again_have_other_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "wandb", library)  # type: ignore[arg-type]
    session("wandb", tmp_path / "a", 1)
    session("wandb", tmp_path / "b", 1, seed=1)
    folder = tmp_path / "a"
    text = (folder / "run.json").read_text()
    shutil.rmtree(folder)
    monkeypatch.setattr(
        "wayword.runs.active.datetime",
        SimpleNamespace(
            now=lambda zone: SimpleNamespace(isoformat=lambda **_: "later")
        ),
    )
    session("wandb", folder, 1)
    assert (folder / "run.json").read_text() != text
    assert len({options["id"] for options in library.opened}) == 3


def test_a_tracker_that_is_missing_ends_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UsageError, match="wandb is not installed"):
        session("wandb", tmp_path / "r", 1)
    assert not (tmp_path / "r").exists()

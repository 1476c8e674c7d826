"""Folders of commands that were refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from wayword.core.errors import UsageError
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder

REFUSED = {"redo": {"redo": ("nope",)}, "ray": {"engine": "ray"}}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_run_leaves_nothing(name: str, tmp_path: Path) -> None:
    if name == "ray" and importlib.util.find_spec("ray") is not None:
        pytest.skip("Ray is installed")
    out = tmp_path / "run"
    with pytest.raises(UsageError):
        run(Plan("random", "houses", limit=1, out=out, **REFUSED[name]))  # type: ignore[arg-type]
    assert not out.exists()


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    with pytest.raises(UsageError), RunFolder.open(tmp_path, {"identity": {}}):
        raise UsageError("refused")
    assert (tmp_path / "run.json").exists()


def test_another_error_keeps_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyError), RunFolder.open(out, {"identity": {}}):
        raise KeyError("a fault")
    assert (out / "run.json").exists()

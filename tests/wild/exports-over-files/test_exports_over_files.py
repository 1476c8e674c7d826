"""Exports to a file that exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from wayword.cli.app import app
from wayword.core.errors import RecordingError
from wayword.runs import Plan, run
from wayword.runs.export import Export, export


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with an episode to export, and one without."""
    top = tmp_path_factory.mktemp("exports")
    run(Plan("expert", "household:generated_train", limit=1, out=top / "gold"))
    run(
        Plan(
            "random", "household:generated_train", limit=1, max_steps=1, out=top / "bad"
        )
    )
    return top


def exported(path: Path, out: Path) -> Result:
    return CliRunner().invoke(app, ["export", str(path), "--out", str(out)])


def test_a_file_from_elsewhere_is_left_alone(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "train.jsonl"
    out.write_text("precious\n", encoding="utf-8")
    for name in ("gold", "bad"):
        result = exported(runs / name, out)
        assert isinstance(result.exception, RecordingError)
        assert "exists and is no export; give another --out" in str(result.exception)
        assert out.read_text(encoding="utf-8") == "precious\n"
    with pytest.raises(RecordingError, match="is no export"):
        export([runs / "gold"], out, Export("act", "chat", {}))


def test_an_export_is_replaced_only_by_another(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "train.jsonl"
    for _ in range(2):
        assert exported(runs / "gold", out).exit_code == 0
    content = out.read_bytes()
    result = exported(runs / "bad", out)
    assert "nothing to export" in str(result.exception)
    assert out.read_bytes() == content


def test_nothing_to_export_leaves_no_file(runs: Path, tmp_path: Path) -> None:
    assert exported(runs / "bad", tmp_path / "train.jsonl").exit_code
    assert not (tmp_path / "train.jsonl").exists()

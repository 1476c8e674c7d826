"""A run whose folder is renamed, or whose disk takes no new file, once all episodes are stored."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.records import records
from wayword import cli
from wayword.runs import json_lines
from wayword.runs.active import ActiveRun
from wayword.runs.record import Line

WORDS = ["wayword", "run", "oracle", "--on", "houses", "--limit", "2", "--out", "run"]


def wayword(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", WORDS)
    monkeypatch.setattr(cli, "_stop_as_ctrl_c", list)
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


def test_a_renamed_folder_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    record = ActiveRun.record

    def renaming(active: ActiveRun, line: Line) -> None:
        record(active, line)
        if active.done == 1:
            Path("run").rename("renamed")

    monkeypatch.setattr(ActiveRun, "record", renaming)
    assert wayword(monkeypatch) == 0
    output = capsys.readouterr().err
    assert "wall time was not recorded" in output
    assert "all episodes were stored" in output
    assert "Traceback" not in output
    assert len(records(tmp_path / "renamed")) == 2


def test_a_disk_without_inodes_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    appender = json_lines.Appender

    def full(path: Path) -> Any:
        if path.name == "sessions.jsonl":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return appender(path)

    monkeypatch.setattr(json_lines, "Appender", full)
    assert wayword(monkeypatch) == 0
    captured = capsys.readouterr()
    assert "wall time was not recorded" in captured.err
    assert "oracle" in captured.out
    assert len(records(tmp_path / "run")) == 2

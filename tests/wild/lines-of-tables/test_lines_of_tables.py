"""CSV on the command line: as many lines as rows, and the head."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.runs import Plan, run


@pytest.mark.parametrize("command", ["table", "compare"])
def test_csv_has_no_blank_line(command: str, tmp_path: Path) -> None:
    runs = []
    for agent in ("oracle", "random"):
        runs.append(tmp_path / agent)
        run(Plan(agent, "houses", limit=3, out=runs[-1]))
    arguments = [command, *map(str, runs), "--format", "csv"]
    printed = CliRunner().invoke(app, arguments).stdout
    lines = printed.split("\n")
    assert lines.pop() == ""
    assert all(lines)
    if command == "table":
        assert len(lines) == 3

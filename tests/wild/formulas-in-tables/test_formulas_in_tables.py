"""Text of a run never begins a cell of CSV as a formula does."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from wayword.metrics.table import csv_text
from wayword.runs import reports
from wayword.runs.plan import Plan
from wayword.runs.running import run

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0")


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_text_that_a_spreadsheet_would_compute_gets_an_apostrophe(
    formula: str,
) -> None:
    text = csv_text([{"run": formula, "sr": -0.5, "agent": f"a{formula}"}])
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row == {"run": f"'{formula}", "sr": "-0.5", "agent": f"a{formula}"}


def test_a_text_ends_no_line() -> None:
    text = csv_text([{"run": "a\rb,1", "agent": 'c\n"d'}])
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row == {"run": "a␍b,1", "agent": 'c\n"d'}


def test_a_run_of_another_person_is_no_formula(tmp_path: Path) -> None:
    folder = tmp_path / "=run"
    run(Plan("oracle", "houses", limit=2, out=folder))
    path = folder / "run.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["identity"]["agent"] = "=HYPERLINK(1)"
    config["split"] = "@houses"
    path.write_text(json.dumps(config), encoding="utf-8")
    (row,) = csv.DictReader(io.StringIO(reports.table([folder], "csv")))
    assert not [value for value in row.values() if value[:1] in tuple("=+@")]
    assert row["run"] == "'=run"
    assert json.loads(reports.table([folder], "json"))["rows"][0]["run"] == "=run"

"""Bounds of benchmarks stand twice: where they are judged, and dated with a reason in a table.

A bound that a commit loosens on the way shows here: the table is changed in a commit of its own
that says the old and the new figure.
"""

from __future__ import annotations

import ast
import tomllib
from datetime import date
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TABLE = tomllib.loads((BENCHMARKS / "bounds.toml").read_text(encoding="utf-8"))


def judged() -> dict[str, dict[str, float]]:
    """Row -> its bound, from the calls of ``Rows.add`` in all benchmarks."""
    found: dict[str, dict[str, float]] = {}
    for path in sorted(BENCHMARKS.glob("[a-z]*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(
                node.func, ast.Attribute
            ):
                continue
            if node.func.attr == "add" and len(node.args) == 2 and node.keywords:
                name = ast.literal_eval(node.args[0])
                bounds = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
                found[f"{path.stem}.{name}"] = bounds
    return found


def test_every_bound_is_that_of_the_table() -> None:
    table = {
        f"{benchmark}.{row}": {
            key: entry[key] for key in ("at_least", "at_most") if key in entry
        }
        for benchmark, rows in TABLE.items()
        for row, entry in rows.items()
    }
    assert judged() == table


def test_every_bound_has_a_date_a_figure_and_a_reason() -> None:
    for benchmark, rows in TABLE.items():
        for row, entry in rows.items():
            assert isinstance(entry["date"], date), (benchmark, row)
            # Without a figure, the row has not been measured since the table was begun.
            assert isinstance(entry.get("figure", 0), int | float), (benchmark, row)
            assert len(entry["reason"].split()) >= 3, (benchmark, row)


def test_every_benchmark_has_rows() -> None:
    names = {
        path.stem
        for path in BENCHMARKS.glob("[a-z]*.py")
        if "def main" in path.read_text(encoding="utf-8")
    }
    assert names == set(TABLE)

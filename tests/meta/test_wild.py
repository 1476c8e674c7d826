"""Every case of ``tests/wild`` names its report, says what is right, and is run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from helpers.looping import for_each

WILD = Path(__file__).parents[1] / "wild"
FOLDERS = sorted(
    path for path in WILD.iterdir() if path.is_dir() and path.name != "__pycache__"
)


@for_each("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_case_names_its_source_and_what_is_right(folder: Path) -> None:
    page = folder / "CASE.md"
    assert page.is_file(), "no CASE.md"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# "), "CASE.md has no title"
    report = re.search(r"^Report: .*https://\S+", text, re.MULTILINE)
    source = re.search(r"^Source: \S.{9,}", text, re.MULTILINE)
    assert report or source, "CASE.md has neither 'Report: https://…' nor 'Source: …'"
    assert re.search(r"^Happened: \S", text, re.MULTILINE), "no 'Happened: …'"
    assert re.search(r"^Right: \S", text, re.MULTILINE), "no 'Right: …'"


@for_each("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_case_is_run(folder: Path) -> None:
    own_test = any(folder.glob("test_*.py"))
    played_by_a_common_test = (folder / "case.py").is_file() and any(
        WILD.glob("test_*.py")
    )
    assert own_test or played_by_a_common_test, "nothing runs it"


def test_a_row_of_a_table_names_its_source() -> None:
    for path in sorted(WILD.glob("*/cases.toml")):
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        names = [row["name"] for row in rows]
        assert len(names) == len(set(names)), f"{path}: a name stands twice"
        for row in rows:
            assert row.get("source"), f"{path}: {row['name']} has no source"

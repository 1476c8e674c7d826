"""The list of shipped weights: every file is the listed one, and has its card."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "weights.py"))


def test_the_shipped_weights_are_those_of_the_list() -> None:
    assert TOOL["problems"](TOOL["FOLDER"]) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    (tmp_path / "small.md").write_text("A card.")
    lines = [f"{digest}  {name}" for name, digest in TOOL["found"](tmp_path).items()]
    (tmp_path / "SHA256SUMS").write_text("\n".join(lines))
    return tmp_path


def test_another_a_missing_and_an_unlisted_file_are_told(folder: Path) -> None:
    assert TOOL["problems"](folder) == []
    (folder / "small.gguf").write_bytes(b"GGUX")
    assert TOOL["problems"](folder) == ["small.gguf: another file than listed"]
    (folder / "small.gguf").rename(folder / "other.gguf")
    told = TOOL["problems"](folder)
    assert told[:2] == ["other.gguf: not in SHA256SUMS", "small.gguf: is missing"]
    assert told[2] == "other.md: the card is missing"

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
    (tmp_path / "small.md").write_text(
        "".join(f"{line}0.1\n" for line in TOOL["CARD_LINES"])
    )
    lines = [f"{digest}  {name}" for name, digest in TOOL["found"](tmp_path).items()]
    (tmp_path / "SHA256SUMS").write_text("\n".join(lines))
    return tmp_path


def test_another_a_missing_and_an_unlisted_file_are_reported(folder: Path) -> None:
    assert TOOL["problems"](folder) == []
    (folder / "small.gguf").write_bytes(b"GGUX")
    assert TOOL["problems"](folder) == ["small.gguf: another file than listed"]
    (folder / "small.gguf").rename(folder / "other.gguf")
    text = TOOL["problems"](folder)
    assert text[:2] == ["other.gguf: not in SHA256SUMS", "small.gguf: is missing"]
    assert text[2] == "other.md: the card is missing"


def test_a_card_says_what_the_weights_add_to_rules_and_to_few_weights(
    folder: Path,
) -> None:
    text = "| Splits | houses:train |\n- Against the rules: 92.8 instead of 80.0"
    (folder / "small.md").write_text(text)
    assert TOOL["problems"](folder) == [
        "small.md: no line '- Against the simplest learner: '"
    ]

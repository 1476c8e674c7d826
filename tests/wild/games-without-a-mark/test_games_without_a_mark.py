"""Published games whose files do not say whether they are solvable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wayword.datasets import alfworld
from wayword.datasets.alfworld import Alfworld

GAME = {
    "pddl_domain": "(define (domain alfred))",
    "grammar": 'grammar :: """ "rhs": "Your task is to: put a mug in shelf." """',
    "pddl_problem": "(define (problem home))",
    "walkthrough": ["look"],
}
MARKS = {
    "solvable": {"solvable": True},
    "unsolvable": {"solvable": False},
    "null": {"solvable": None},
    "unmarked": {},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(alfworld, "check_installed", lambda: None)
    monkeypatch.setattr(alfworld, "_version", lambda name: "1")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    # As many as these tests store: fewer than published are a caveat.
    monkeypatch.setattr(alfworld, "PUBLISHED", {"valid_unseen": 1}, raising=False)
    return tmp_path / "json_2.1.1/valid_unseen"


def store(folder: Path, *marks: str) -> None:
    for number, mark in enumerate(marks):
        name = f"pick_and_place_simple-Mug-None-Shelf-1/trial_{number}"
        path = folder / name / "game.tw-pddl"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({**GAME, **MARKS[mark]}))


def test_games_without_a_mark_are_counted(folder: Path) -> None:
    store(folder, "solvable", "unmarked", "unsolvable", "unmarked")
    dataset = Alfworld("valid_unseen")
    assert len(dataset.tasks) == 1
    assert "left out: 2 whose files lack 'solvable'" in dataset.caveats[1]


@pytest.mark.parametrize("mark", ["unsolvable", "null"])
def test_a_game_that_is_marked_is_no_caveat(folder: Path, mark: str) -> None:
    store(folder, "solvable", mark)
    dataset = Alfworld("valid_unseen")
    assert len(dataset.tasks) == len(dataset.caveats) == 1


def test_games_that_an_archive_lacks_are_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(folder, "solvable", "unmarked", "solvable")
    (folder / "pick_and_place_simple-Mug-None-Shelf-2/trial_9").mkdir(parents=True)
    monkeypatch.setattr(alfworld, "PUBLISHED", {"valid_unseen": 134})
    caveats = Alfworld("valid_unseen").caveats
    assert caveats[1] == "3 of the 134 published games"
    assert "left out: 1 whose files lack 'solvable'" in caveats[2]

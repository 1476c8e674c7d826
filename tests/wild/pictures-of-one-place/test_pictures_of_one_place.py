"""A folder of panoramas, and the headings of their centers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wayword.core.errors import DataError, UsageError
from wayword.runs.perceive import Perceiving, _pictures


def plan(folder: Path, norths: dict[str, float]) -> Perceiving:
    file = folder.parent / "norths.json"
    file.write_text(json.dumps(norths), encoding="utf-8")
    return Perceiving(folder, folder.parent / "out", captioner="x", norths=file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two pictures, which are not read."""
    folder = tmp_path / "panoramas"
    folder.mkdir()
    for name in ("hall.jpg", "den.png"):
        (folder / name).write_bytes(b"")
    return folder


def test_headings_are_those_of_places(folder: Path) -> None:
    pictures, norths = _pictures(plan(folder, {"hall": 90}))
    assert sorted(pictures) == ["den", "hall"]
    assert norths == {"hall": 90.0}


@pytest.mark.parametrize("name", ["hall.jpg", "Hall", "panoramas/hall", "hal"])
def test_a_heading_of_no_place_is_refused(name: str, folder: Path) -> None:
    with pytest.raises(DataError, match="is no place") as error:
        _pictures(plan(folder, {name: 90}))
    assert "hall" in str(error.value)
    assert "\n" not in str(error.value)


def test_two_pictures_of_one_place_are_refused(folder: Path) -> None:
    (folder / "hall.PNG").write_bytes(b"")
    with pytest.raises(UsageError, match="is of the same place; keep one"):
        _pictures(plan(folder, {}))

"""Connectivity files: what is read, and what is refused with its record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import DataError
from wayword.worlds.indoor.graph import load


def records() -> list[dict[str, Any]]:
    """Two viewpoints, 2 m apart, that see each other."""
    both = []
    for number in range(2):
        pose = [0.0] * 16
        pose[3] = 2.0 * number
        sees = [number != 0, number != 1]
        both.append(
            {
                "image_id": f"v{number}",
                "pose": pose,
                "included": True,
                "unobstructed": sees,
            }
        )
    return both


def written(value: Any, folder: Path) -> Path:
    path = folder / "scan_connectivity.json"
    path.write_text(json.dumps(value))
    return path


def test_a_viewpoint_is_not_its_own_neighbor(tmp_path: Path) -> None:
    given = records()
    given[0]["unobstructed"] = [True, True]
    graph = load(written(given, tmp_path))
    assert graph.adjacent == {"v0": ("v1",), "v1": ("v0",)}


def test_a_viewpoint_that_is_not_included_is_none(tmp_path: Path) -> None:
    given = records()
    given[1]["included"] = False
    graph = load(written(given, tmp_path))
    assert (graph.ids, graph.adjacent) == (("v0",), {"v0": ()})


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "a row too long": ({"unobstructed": [False] * 3}, "has the wrong shape"),
    "a repeated id": ({"image_id": "v1"}, "record 1, field 'image_id': repeats viewpoint 'v1'"),
    "no position": ({"pose": [None] * 16}, "record 0, field 'pose': is not finite"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_damage_is_named(name: str, tmp_path: Path) -> None:
    given = records()
    change, message = CHANGES[name]
    given[0] |= change
    if name == "a row too long":
        given[1]["unobstructed"] = [True]  # as many cells as two rows of two
    with pytest.raises(DataError, match=message):
        load(written(given, tmp_path))


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a JSON list"):
        load(written({"v0": {}}, tmp_path))

"""Mistakes in ``tour.json``, each refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import DataError
from wayword.datasets.tour import Tour, TourSettings


def tour(folder: Path, **changes: Any) -> Tour:
    """A tour of three places in a row, and one without an edge."""
    spots = {"a": (0, 0), "b": (0, 2), "c": (2, 2), "far": (9, 9)}
    places: dict[str, Any] = {
        name: {"x": x, "y": y, "picture": f"{name}.jpg"}
        for name, (x, y) in spots.items()
    }
    for name, fields in changes.pop("places", {}).items():
        places[name] |= fields
    episode = {"id": "1", "path": ["a", "b", "c"], "instruction": "Go."}
    content: dict[str, Any] = {"edges": [["a", "b"], ["b", "c"]], "episodes": [episode]}
    content |= {"places": places, **changes}
    (folder / "tour.json").write_text(json.dumps(content), encoding="utf-8")
    return Tour("all", None, TourSettings(str(folder)))


def episodes(*changed: dict[str, Any]) -> dict[str, Any]:
    plain = {"id": "1", "path": ["a", "b", "c"], "instruction": "Go."}
    return {"episodes": [{**plain, **each} for each in changed]}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "an edge to itself": (
        {"edges": [["a", "b"], ["b", "b"]]},
        "edge 1: 'b' and 'b' are at",
    ),
    "one position": (
        {"places": {"b": {"y": 0}}},
        "edge 0: 'a' and 'b' are at one position",
    ),
    "an edge of three": ({"edges": [["a", "b", "c"]]}, "must join two of the places"),
    "an edge of lists": ({"edges": [["a", ["b"]]]}, "must join two of the places"),
    "a gap": (episodes({"path": ["a", "c"]}), "no edge joins 'a' and 'c'"),
    "an island": (episodes({"path": ["a", "far"]}), "no edge joins 'a' and 'far'"),
    "one id": (episodes({}, {"id": 1}), "episode 1, field 'id': '1' is also the id of"),
    "a heading of null": (
        episodes({"heading": None}),
        "field 'heading': must be a number",
    ),
    "a heading in words": (
        episodes({"heading": "north"}),
        "field 'heading': must be a number",
    ),
    "a height of null": (
        {"places": {"b": {"z": None}}},
        "field 'z': must be a number",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(name: str, tmp_path: Path) -> None:
    changes, message = MISTAKES[name]
    with pytest.raises(DataError, match=message) as error:
        len(tour(tmp_path, **changes).tasks)
    assert "tour.json" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_place_above_another_is_another_position(tmp_path: Path) -> None:
    above = {"b": {"y": 0, "z": 4.5}}
    (task,) = tour(tmp_path, places=above, **episodes({"heading": "90"})).tasks
    assert task.episode.start == {"viewpoint": "a", "heading": 90.0}

"""Recorded observations: percepts to the letter, and one line for files that are broken."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from wayword.core.errors import DataError, UsageError
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.perception.recorded import (
    RecordedFiles,
    RecordedPerceiver,
    RecordedSettings,
    SymbolicPerceiver,
    camera_headings,
    pack_sightings,
    reverie_sightings,
)

DESCRIBED = {
    "observations_list_summarized": "s.json",
    "observations_summarized": "s_summarized.json",
}


@pytest.mark.parametrize("broken", DESCRIBED)
def test_a_file_of_another_form_is_refused_in_one_line(
    broken: str, tmp_path: Path
) -> None:
    good = {
        "observations_list_summarized": ["a wall"] * 8,
        "observations_summarized": "a room",
    }
    for part, name in DESCRIBED.items():
        (tmp_path / part).mkdir()
        text = "null" if part == broken else json.dumps({"a": good[part]})
        (tmp_path / part / name).write_text(text)
    perceiver = RecordedPerceiver(tmp_path, lambda scene, place: [[] for _ in range(8)])
    with pytest.raises(DataError, match=r"has an unexpected value") as refused:
        perceiver.perceive("s", "a")
    assert "\n" not in str(refused.value)
    assert "scan s" in str(refused.value) or "s.json" in str(refused.value)


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def pack(folder: Path, count: int, groups: int = 0) -> RecordedPerceiver:
    """A pack with one viewpoint "a" of scan "s", and objects in its first and second direction."""
    write(
        folder / "observations_list_summarized" / "s.json", {"a": [" a wall "] * count}
    )
    write(folder / "observations_summarized" / "s_summarized.json", {"a": " hall. "})
    seen: list[dict[str, object]] = [{} for _ in range(groups or count)]
    seen[0] = {
        " lamp ": {"heading": -22.5, "distance": 1.25},
        "far lamp": {"heading": 337.5, "distance": None},
    }
    seen[1] = {"door": {"heading": None, "distance": 0.5}}
    write(folder / "objects_list" / "s.json", {"a": seen})
    return RecordedPerceiver(folder, pack_sightings(folder))


@pytest.mark.parametrize("count", [6, 8, 12])
def test_a_pack_is_read_to_the_letter(count: int, tmp_path: Path) -> None:
    width = 360.0 / count
    lamps = (Sighting("lamp", 337.5, 1.25), Sighting("far lamp", 337.5, None))
    items = [lamps, (Sighting("door", 0.0, 0.5),), *[()] * (count - 2)]
    expected = Percept(
        tuple(Sector(n * width, width, "a wall", seen) for n, seen in enumerate(items)),
        "The scene from the viewpoint is a hall.",
    )
    perceiver = pack(tmp_path, count)
    assert perceiver.perceive("s", "a") == expected
    assert perceiver.perceive("s", "a") is perceiver.perceive("s", "a"), "read once"
    chosen = RecordedFiles(RecordedSettings(str(tmp_path)), None)
    assert (chosen.perceive("s", "a"), chosen.name) == (
        expected,
        f"recorded:{tmp_path.name}",
    )


def test_a_place_without_a_summary_has_none(tmp_path: Path) -> None:
    perceiver = pack(tmp_path, 8)
    write(tmp_path / "observations_summarized" / "s_summarized.json", {})
    assert perceiver.perceive("s", "a").summary == ""


@pytest.mark.parametrize(
    ("count", "groups", "place", "problem"),
    [
        (8, 8, "b", "viewpoint 'b', is not among the 1 recorded places"),
        (7, 8, "a", "viewpoint 'a', must have 6, 8 or 12 sentences"),
        (8, 7, "a", "viewpoint 'a', must have 6, 8 or 12 groups of objects"),
        (8, 12, "a", "viewpoint 'a', has 8 sentences, but 12 groups of objects"),
    ],
)
def test_a_pack_that_does_not_fit_is_refused(
    count: int, groups: int, place: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as refused:
        pack(tmp_path, count, groups).perceive("s", place)
    assert problem.replace(",", "") in str(refused.value).replace(":", "").replace(
        ",", ""
    )


def test_recorded_files_need_their_folder() -> None:
    with pytest.raises(UsageError, match=r"--set perceiver\.folder=DIR"):
        RecordedFiles(RecordedSettings(), None)


@pytest.mark.parametrize("repeats", [True, False])
def test_reveries_boxes_are_objects_near_a_viewpoint(
    repeats: bool, tmp_path: Path
) -> None:
    boxes = {
        "1": {"name": "coffee#table", "visible_pos": [0]},
        "2": {"name": "lamp", "visible_pos": []},
        "3": {"name": "sofa", "visible_pos": [1]},
        "4": {"name": "without position", "visible_pos": [1]},
        "5": {"name": "shelf", "visible_pos": [1]},
    }
    record = {"a": boxes} if repeats else boxes
    write(tmp_path / "bbox_by_scan" / "s.json", {"a": record})
    places = {
        "1": [2.0, 1.0, 2.0],
        "2": [1.0, 1.1, 1.0],
        "3": [1.0, 9.0, 1.0],
        "5": [1, 3, 1],
    }
    write(tmp_path / "objpos.json", {"s": places})
    graph = SimpleNamespace(positions=np.array([[1.0, 1.0, 1.0]]), index={"a": 0})
    see = reverie_sightings(tmp_path, lambda scene: graph)  # type: ignore[arg-type,return-value]
    found = see("s", "a")
    assert found[2] == [Sighting("coffee table", 90.0, pytest.approx(2**0.5))]
    assert found[0] == [Sighting("shelf", 0.0, 2.0)]
    assert sum(map(len, found)) == 2


def test_cameras_face_where_their_third_axis_points(tmp_path: Path) -> None:
    east = [0.0] * 16
    east[2] = 1.0
    write(tmp_path / "c.json", [{"image_id": "a", "pose": east}])
    assert camera_headings(tmp_path / "c.json") == {"a": 90.0}


def test_a_generator_without_the_place_is_one_line() -> None:
    empty = SymbolicPerceiver("mine", lambda scene: {})
    with pytest.raises(DataError, match="has no percept"):
        empty.perceive("house", "hall")

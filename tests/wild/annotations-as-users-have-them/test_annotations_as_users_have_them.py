"""Annotations in the forms that tools leave, and headings in degrees."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from helpers.small_scan import SCAN, write_scan
from wayword.core.errors import DataError
from wayword.core.files import read_json, read_json_lines
from wayword.datasets.r2r import R2R, R2RSettings, Reverie, RxR, RxRSettings
from wayword.datasets.sources.alfred import Trajectories

PATH = ["s", "a"]
WALK = {"scan": SCAN, "path": PATH, "heading": 1.5, "distance": 2.0, "path_id": 7}
R2R_RECORD = {**WALK, "instructions": ["Go."]}
RXR_RECORD = {**WALK, "instruction_id": 3, "language": "en-US", "instruction": "Go."}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_scan(folder)
    boxes = folder / "reverie" / "bbox_by_scan"
    boxes.mkdir(parents=True)
    lamp = {"name": "lamp", "visible_pos": [12], "bbox2d": []}
    (boxes / f"{SCAN}.json").write_text(json.dumps({"a": {"a": {"5": lamp}}}))
    return folder


def r2r(data: Path, content: bytes) -> R2R:
    file = data / "own.json"
    file.write_bytes(content)
    return R2R("val_seen", data, R2RSettings(annotations=str(file)))


def rxr(data: Path, **changes: Any) -> list[str]:
    folder = data / "rxr"
    folder.mkdir(exist_ok=True)
    record = json.dumps({**RXR_RECORD, **changes})
    (folder / "rxr_val_seen_guide.jsonl").write_text(record)
    dataset = RxR("val_seen", data, RxRSettings())
    return [task.episode.id for task in dataset.tasks]


def target(data: Path, **changes: Any) -> str:
    record = {**R2R_RECORD, "id": "7_5", "objId": 5, **changes}
    (data / "reverie" / "REVERIE_val_seen.json").write_text(json.dumps([record]))
    dataset = Reverie("val_seen", data, R2RSettings())
    return getattr(dataset.tasks[0].reference, "object_id", "")


@pytest.mark.parametrize("heading", [270.0, -90.0, 6.3])
def test_a_heading_in_degrees_is_named(data: Path, heading: float) -> None:
    content = json.dumps([{**R2R_RECORD, "heading": heading}]).encode()
    with pytest.raises(DataError, match="field 'heading': must be in radians"):
        _ = r2r(data, content).tasks
    with pytest.raises(DataError, match="field 'heading': must be in radians"):
        rxr(data, heading=heading)


FORMS = {
    "a list": json.dumps([R2R_RECORD]).encode(),
    "JSON lines": b"\n".join(
        json.dumps({**R2R_RECORD, "path_id": n}).encode() for n in (7, 8)
    ),
    "gzipped under its plain name": gzip.compress(json.dumps([R2R_RECORD]).encode()),
    "a number as text": json.dumps([{**R2R_RECORD, "heading": "1.5"}]).encode(),
    "an id as text": json.dumps([{**R2R_RECORD, "path_id": "7"}]).encode(),
    "other fields": json.dumps([{**R2R_RECORD, "instr_encodings": [[1]]}]).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_read_in_every_form(data: Path, form: str) -> None:
    task = r2r(data, FORMS[form]).tasks[0]
    assert task.episode.id == "7_0"
    assert task.episode.start["heading"] == pytest.approx(85.94, abs=0.01)


@pytest.mark.parametrize("language", ["en-US", "EN-us", "en_IN", "en"])
def test_a_language_is_read_in_every_spelling(data: Path, language: str) -> None:
    assert rxr(data, language=language) == ["3"]


@pytest.mark.parametrize("language", ["hi-IN", "te"])
def test_other_languages_are_named(data: Path, language: str) -> None:
    with pytest.raises(DataError, match=f"set dataset.language={language[:2]}"):
        rxr(data, language=language)


@pytest.mark.parametrize(
    ("object_id", "expected"),
    [(5, "5"), ("5", "5"), (5.0, "5"), ("5.0", "5"), (0, "0"), (None, "")],
)
def test_an_object_has_one_id(data: Path, object_id: Any, expected: str) -> None:
    assert target(data, objId=object_id) == expected


def test_lines_and_lists_are_the_same_records(tmp_path: Path) -> None:
    records = [{"id": 1}, {"id": 2}]
    lines = tmp_path / "lines.json"
    lines.write_text("\r\n".join(map(json.dumps, records)))
    listed = tmp_path / "listed.jsonl"
    listed.write_text(json.dumps(records, indent=1))
    assert read_json(lines, list) == records
    assert list(read_json_lines(listed)) == [(1, {"id": 1}), (2, {"id": 2})]


def test_a_file_of_json_lines_may_have_one_line(tmp_path: Path) -> None:
    for name in ("one.jsonl", "one.jsonl.gz"):
        path = tmp_path / name
        path.write_text('{"id": 1}\n')
        assert read_json(path, list) == [{"id": 1}]


def test_a_record_in_several_lines_is_the_only_one(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"id": 1}, indent=2))
    assert list(read_json_lines(path)) == [(1, {"id": 1})]
    path.write_text('{"id": 1}\n{\n"id": 2}\n')
    with pytest.raises(DataError, match="line 2: is not valid JSON"):
        list(read_json_lines(path))


def test_one_object_is_no_list(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps({"episodes": []}, indent=1))
    with pytest.raises(DataError, match="is not a JSON list"):
        read_json(path, list)


TRAJECTORY = {
    "task_id": "trial_1",
    "task_type": "pick_and_place_simple",
    "scene": {"floor_plan": "FloorPlan1"},
    "turk_annotations": {"anns": [{}]},
    "pddl_params": {},
}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(TRAJECTORY),
        json.dumps(TRAJECTORY, indent=4),
        json.dumps([TRAJECTORY]),
        json.dumps([TRAJECTORY], indent=4).replace("\n", "\r\n"),
    ],
)
def test_a_trajectory_of_alfred_has_any_layout(content: str, tmp_path: Path) -> None:
    path = tmp_path / "traj_data.json"
    path.write_text(content)
    reader = Trajectories(tmp_path, "valid_seen", str(path))
    (entry,) = map(reader.entry, reader.lines)
    assert (entry.line, entry.task_id) == (1, "trial_1")


def test_alfreds_own_folders_are_named_with_the_way_to_join_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "alfred" / "json_2.1.0" / "valid_seen").mkdir(parents=True)
    with pytest.raises(DataError, match=r"join them: find .* > .*traj_valid_seen"):
        Trajectories(tmp_path, "valid_seen")

"""The form that is read is named where a file has the form of another benchmark."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from helpers.robothor_files import episode, write
from helpers.small_scan import SCAN, write_scan
from wayword.core.errors import DataError, UsageError
from wayword.datasets.r2r import R2R, R2RSettings, Reverie, RxR, RxRSettings
from wayword.datasets.robothor import Robothor
from wayword.datasets.touchdown import StreetSettings

WALK: dict[str, Any] = {"scan": SCAN, "path": ["s", "a"], "heading": 1.5, "path_id": 7}
GUIDE = {**WALK, "instruction_id": 3, "language": "hi-IN", "instruction": "Go."}
CONTINUOUS = {
    "episode_id": 1,
    "scene_id": f"mp3d/{SCAN}/{SCAN}.glb",
    "reference_path": [[1.0, 0.1, 2.0]],
    "instruction": {"instruction_text": "Go.", "language": "en-US"},
}
SOON = {"scan": SCAN, "path": [["s", "a"]], "instructions": [["Go."]], "bboxes": []}
RXR_FORM = '"language": "en-US", "instruction": "TEXT"'
R2R_FORM = '"instructions": ["TEXT", …]'


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_scan(folder)
    return folder


def message(data: Path, kind: type[R2R], *records: Any) -> str:
    file = data / "own.json"
    file.write_text("\n".join(map(json.dumps, records)))
    settings = kind.Settings(annotations=str(file))
    with pytest.raises(DataError) as error:
        _ = kind("val_seen", data, settings).tasks[0]
    return str(error.value)


@pytest.mark.parametrize(
    "record", [{"episodes": [CONTINUOUS]}, CONTINUOUS], ids=["a file", "an episode"]
)
def test_an_episode_of_vln_ce_names_the_form_of_a_guide(
    data: Path, record: Any
) -> None:
    refusal = message(data, RxR, record)
    assert "is of VLN-CE, which has no viewpoints" in refusal
    assert RXR_FORM in refusal


def test_an_episode_of_vln_ce_names_the_form_of_annotations(data: Path) -> None:
    refusal = message(data, R2R, CONTINUOUS, CONTINUOUS)
    assert "is of VLN-CE, which has no viewpoints" in refusal
    assert R2R_FORM in refusal


def test_a_missing_field_names_the_form(data: Path) -> None:
    follower = {"demonstration_id": 1, "instruction_id": 1, "path": ["s", "a"]}
    assert RXR_FORM in message(data, RxR, follower)
    assert RXR_FORM in message(data, RxR, {**WALK, "instructions": ["Go."]})
    assert R2R_FORM in message(data, R2R, SOON, SOON)
    assert R2R_FORM in message(data, R2R, GUIDE, GUIDE)
    assert '"objId": 2' in message(data, Reverie, SOON, SOON)


def test_the_languages_of_a_file_are_named(data: Path) -> None:
    refusal = message(
        data, RxR, GUIDE, {**GUIDE, "instruction_id": 4, "language": "te"}
    )
    assert refusal.endswith("is hi or te in all records; set dataset.language=hi")


def test_settings_are_checked_in_python() -> None:
    wrong: list[tuple[Any, dict[str, str]]] = [
        (RxRSettings, {"language": "fr"}),
        (R2RSettings, {"objects": "boxes"}),
        (StreetSettings, {"transition": "other"}),
    ]
    for settings, values in wrong:
        with pytest.raises(UsageError, match="must be"):
            settings(**values)


def test_a_folder_may_be_a_text(data: Path) -> None:
    file = data / "one.json"
    file.write_text(json.dumps([{**WALK, "instructions": ["Go."]}]))
    dataset = R2R("val_seen", str(data), R2RSettings(annotations=str(file)))
    assert len(dataset.tasks) == 1


HM3D = {
    "goals_by_category": {"x.glb_chair": [{"object_id": 3, "position": [1, 2, 3]}]},
    "episodes": [{"episode_id": "0", "start_position": [1, 0, 2]}],
}


@pytest.mark.parametrize(
    "content",
    [HM3D, {"episodes": [], "category_to_task_category_id": {"chair": 0}}],
    ids=["a scene", "a split"],
)
def test_a_file_of_habitat_names_the_form_of_robothor(
    tmp_path: Path, content: Any
) -> None:
    file = tmp_path / "robothor" / "episodes" / "val" / "val.json.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(DataError, match=r"is one of Habitat's; .*initial_position"):
        len(Robothor("val", tmp_path).tasks)


def test_a_horizon_that_is_no_number_is_named(tmp_path: Path) -> None:
    write(tmp_path, "val", [episode(0, 0.5, 0.5, initial_horizon="down")])
    with pytest.raises(DataError, match="'initial_horizon': must be a number"):
        _ = Robothor("val", tmp_path).tasks[0]

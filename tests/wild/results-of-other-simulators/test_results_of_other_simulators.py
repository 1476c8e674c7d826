"""Result files of other simulators: read, or refused with what to write."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from helpers.small_house import SmallHouse
from wayword.core.errors import DataError
from wayword.metrics import predictions

WALK = ["s", "b", "c"]
RECORD = {"instr_id": "to_c", "trajectory": WALK}
READ: dict[str, Any] = {
    "a prediction next to the reference": [
        {"route_id": "to_c", "route_panoids": ["s", "b"], "pred_route_panoids": WALK}
    ],
    "panoramas": [{"route_id": "to_c", "pred_panos": WALK}],
    "a path that is null": [{"instr_id": "to_c", "trajectory": None, "path": WALK}],
    "poses of four parts": [
        {"instr_id": "to_c", "trajectory": [[each, 0.1, 0.0, 1] for each in WALK]}
    ],
    "images": [{"instr_id": "to_c", "trajectory": [{"image_id": p} for p in WALK]}],
    "a split of another name": {"version": 1, "val_unseen": [RECORD]},
    "a follower's path": [
        {"instruction_id": "to_c", "path": WALK, "demonstration_id": None}
    ],
}


def scored(path: Path) -> tuple[float, float]:
    house = SmallHouse()
    (scores,) = predictions.read(path, house).score(house)
    return scores["sr"], scores["tl"]


@pytest.mark.parametrize("name", READ)
def test_a_record_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(READ[name]), encoding="utf-8")
    assert scored(path) == (1.0, 4.0)


@pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_content_decides_whether_a_file_is_gzipped(
    name: str, pack: Any, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(pack(json.dumps([RECORD]).encode()))
    assert scored(tmp_path / name) == (1.0, 4.0)


STEP = {"action": "MoveAhead_25", "forceAction": True}
REFUSED: dict[str, tuple[Any, str]] = {
    "ALFRED": ({"tests_seen": [{"trial_1": [STEP]}]}, r"write .* goto\[mug_1\]"),
    "Habitat": (
        [{"episode_id": "to_c", "actions": ["MOVE_FORWARD", "STOP"]}],
        "'MOVE_FORWARD' is no action here; there are: goto, stop",
    ),
    "RoboTHOR": (
        {"episodes": {"to_c": {"trajectory": [{"x": 0, "y": 0.9, "z": 1}]}}},
        "has positions in metres",
    ),
    "RxR's own annotations": (
        [{"instruction_id": "to_c", "path": WALK, "instruction": "Go."}],
        "is the dataset's own record",
    ),
    "no path": (
        [{"instruction_id": "to_c", "path": None}],
        "field 'path': must be a list, got None",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_file_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match=message) as error:
        predictions.read(path, SmallHouse())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("stop", ["STOP", "stop"])
def test_a_stop_in_common_makes_no_actions_of_this_world(
    stop: str, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    record = {"episode_id": "to_c", "actions": ["turn_left", "MOVE_FORWARD", stop]}
    path.write_text(json.dumps([record]), encoding="utf-8")
    with pytest.raises(DataError, match="'turn_left' is no action here"):
        predictions.read(path, SmallHouse())


def test_a_player_may_invent_all_actions_of_an_episode(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    records = [
        {"episode_id": "to_c", "actions": ["goto[b]", "goto[c]", "stop"]},
        {"episode_id": "to_d", "actions": ["jump", "stop"]},
    ]
    path.write_text(json.dumps(records), encoding="utf-8")
    house = SmallHouse()
    first, second = predictions.read(path, house).score(house)
    assert (first["sr"], second["sr"]) == (1.0, 0.0)
    assert second["illegal_moves"] == 1

"""Result files of other codebases: the same walk in each format has the same scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.small_house import SmallHouse
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError
from wayword.metrics import predictions
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.reports import score
from wayword.worlds.indoor.world import ObjectReference

WALK = ["s", "b", "c"]
FILES: dict[str, tuple[str, Any]] = {
    "R2R": ("p.json", [{"instr_id": "to_c", "trajectory": WALK}]),
    "R2R with poses": (
        "p.json",
        [{"instr_id": "to_c", "trajectory": [[each, 0.5, 0.0] for each in WALK]}],
    ),
    "NavGPT": (
        "p.json",
        [{"instr_id": "to_c", "trajectory": [[each] for each in WALK], "a_t": {}}],
    ),
    "VLN-DUET": (
        "p.json",
        [{"instr_id": "to_c", "trajectory": [["s"], ["b", "c"]], "pred_objid": None}],
    ),
    "RxR": ("p.jsonl", [{"instruction_id": "to_c", "path": WALK, "annotator_id": 2}]),
    "RxR in .json": ("p.json", {"instruction_id": "to_c", "path": WALK}),
    "VELMA": (
        "p.json",
        {"instances": {"to_c": {"idx": 0, "agent_pano_path": WALK, "metrics": {}}},
         "metrics": {"tc": 100.0}},
    ),
    "Touchdown": ("p.json", [{"route_id": "to_c", "route_panoids": WALK}]),
    "a mapping to walks": ("p.json", {"to_c": WALK}),
    "a mapping to records": ("p.json", {"to_c": {"path": WALK}}),
    "predictions": ("p.json", {"predictions": [{"id": "to_c", "path": WALK}]}),
    "results": ("p.json", {"results": {"to_c": WALK}, "agent": "x"}),
    "SOON": (
        "p.json",
        [{"instr_id": "to_c",
          "trajectory": [{"path": [[each, 0, 0] for each in WALK], "obj_heading": [1.0]}]}],
    ),
    "data": ("p.json", {"data": [{"id": "to_c", "predicted_path": WALK}], "split": "x"}),
    "preds": ("p.json", {"preds": {"to_c": {"viewpoints": WALK}}}),
    "trajectories": ("p.json", {"trajectories": [{"episode_id": "to_c", "traj": WALK}]}),
    "pred_path": ("p.json", [{"instr_id": "to_c", "pred_path": WALK}]),
    "CVDN": (
        "p.json", [{"inst_idx": "to_c", "trajectory": [[each, 0, 0] for each in WALK]}]
    ),
    "SOON, one path": (
        "p.json",
        [{"instr_id": "to_c",
          "trajectory": {"path": [[each] for each in WALK], "obj_heading": [0.7]}}],
    ),
    "poses by name": (
        "p.json",
        [{"instr_id": "to_c",
          "trajectory": [{"viewpoint": each, "heading": 0.1} for each in WALK]}],
    ),
    "viewpointId of the simulator": (
        "p.json", {"to_c": [{"viewpointId": each} for each in WALK]}
    ),
    "poses of each step": (
        "p.json",
        [{"instr_id": "to_c", "trajectory": [[["s", 0, 0]], [["b", 0, 0], ["c", 0, 0]]]}],
    ),
    "the split's name": ("p.json", {"all": [{"instr_id": "to_c", "trajectory": WALK}]}),
}  # fmt: skip
"""Format: the file's name and its content."""


@pytest.mark.parametrize("form", FILES)
def test_the_same_walk_in_every_format_has_the_same_scores(
    form: str, tmp_path: Path
) -> None:
    # s (0, 0) - b (0, 2) - c (2, 2): 4 m, the reference path itself
    name, content = FILES[form]
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    house = SmallHouse()
    (scores,) = predictions.read(path, house).score(house)
    assert (scores["sr"], scores["spl"], scores["tl"]) == (1.0, 1.0, 4.0)
    assert (scores["steps"], scores["illegal_moves"]) == (2.0, 0.0)


def test_json_lines_in_a_json_file_are_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    lines = [{"id": "to_c", "path": WALK}, {"id": "to_d", "path": ["s", "b"]}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    house = SmallHouse()
    first, second = predictions.read(path, house).score(house)
    assert (first["sr"], first["ne"]) == (1.0, 0.0)
    assert (second["sr"], second["ne"]) == (1.0, 2.0), "b is 2 m from d"


POSITIONS = (
    [{"episode_id": "to_c", "path": [{"x": 0.0, "y": 0.1, "z": 2.0}]}],
    {"to_c": [{"position": [0, 0, 0], "heading": 0.0, "stop": False}]},  # VLN-CE
    [
        {"episode_id": "to_c", "path": [[0.0, 0.1, 2.0], [0.0, 0.1, 1.75]]}
    ],  # RxR-Habitat
)


@pytest.mark.parametrize("content", POSITIONS)
def test_positions_are_refused_with_the_way_to_convert_them(
    content: Any, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match="map each position to its nearest viewpoint"):
        predictions.read(path, SmallHouse())


SCORES: tuple[Any, ...] = (
    [
        {
            "scene_id": "small",
            "episode_id": "to_c",
            "success": 1.0,
            "spl": 0.9,
            "ne": 0.2,
        }
    ],
    {"to_c": {"distance_to_goal": 0.2, "success": 1.0, "path_length": 4.0}},
)


@pytest.mark.parametrize("content", SCORES)
def test_scores_of_another_program_are_not_read(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match="name a file with walks"):
        predictions.read(path, SmallHouse())


def test_a_file_of_episodes_is_not_a_result_file(tmp_path: Path) -> None:
    path = tmp_path / "val_seen.json"
    path.write_text(json.dumps({"episodes": [{"episode_id": 1}]}), encoding="utf-8")
    with pytest.raises(DataError, match="contains episodes, not predictions"):
        predictions.read(path, SmallHouse())


class ObjectHouse(SmallHouse):
    """One episode: find object 5, in view from c."""

    def __init__(self) -> None:
        super().__init__()
        start = {"viewpoint": "s", "heading": 0.0}
        reference = ObjectReference(
            "7_5_0", tuple(WALK), object_id="5", visible_from=frozenset("c")
        )
        self.tasks = [Task(Episode("7_5_0", "Dust it.", "small", start), reference)]


@pytest.mark.parametrize("field", ["predObjId", "pred_objid"])
@pytest.mark.parametrize(
    ("value", "rgs"),
    [("5", 1), (5, 1), (5.0, 1), ("5.0", 1), (" 5 ", 1), ("9", 0), (-1, 0), (None, 0)],
)
def test_the_object_of_a_submission_is_the_one_named_at_the_stop(
    field: str, value: object, rgs: int, tmp_path: Path
) -> None:
    path = tmp_path / "submission.json"
    record = {"instr_id": "7_5_0", "trajectory": [[each] for each in WALK]}
    path.write_text(json.dumps([{**record, field: value}]), encoding="utf-8")
    house = ObjectHouse()
    (scores,) = predictions.read(path, house).score(house)
    assert (scores["sr"], scores["rgs"], scores["rgspl"]) == (1.0, rgs, rgs)


def test_an_object_that_is_no_id_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "submission.json"
    record = {"instr_id": "7_5_0", "trajectory": WALK, "pred_objid": [5]}
    path.write_text(json.dumps([record]), encoding="utf-8")
    with pytest.raises(DataError, match="field 'pred_objid': is not an object's id"):
        predictions.read(path, ObjectHouse())


def test_a_table_of_predictions_shows_every_column_if_wide(tmp_path: Path) -> None:
    plan = Plan("score", "houses")
    task = open_dataset(plan).tasks[0]
    path = tmp_path / "p.json"
    places = list(task.reference.path)  # type: ignore[attr-defined]
    record = {"instr_id": task.episode.id, "trajectory": places}
    path.write_text(json.dumps([record]), encoding="utf-8")
    shown = score(path, plan, wide=True).text
    assert "--wide" not in shown
    assert "CLS" in shown

"""Result files of ALFWorld and EmbodiedBench: their own means again, with intervals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import DataError, UsageError
from wayword.metrics import outcomes
from wayword.runs.reports import score_outcomes

GAMES = (
    "pick_and_place_simple-Mug-None-Desk-308/trial_T20190909_0001",
    "pick_and_place_simple-Mug-None-Desk-308/trial_T20190909_0002",
    "pick_heat_then_place_in_recep-Egg-None-Fridge-10/trial_T20190909_0003",
    "look_at_obj_in_light-Book-None-DeskLamp-308/trial_T20190909_0004",
)
POINTS, PARTS, STEPS = [1.0, 0.0, 1.0, 1.0], [1.0, 0.5, 1.0, 1.0], [9.0, 50.0, 21.0, 6.0]


def alfworld(path: Path, **changed: Any) -> Path:
    told = zip(GAMES, POINTS, STEPS, strict=True)
    whole = {
        "average_points": 0.75,
        "average_goal_condition_points": 0.875,
        "average_steps": 21.5,
        "res_points": POINTS,
        "res_gcs": PARTS,
        "res_steps": STEPS,
        "res_info": [f"{game}, score: {won}, step: {steps}" for game, won, steps in told],
    }
    path.write_text(json.dumps({**whole, **changed}), encoding="utf-8")
    return path


def embodied(folder: Path, **sets: list[dict[str, Any]]) -> Path:
    for name, episodes in sets.items():
        where = folder / name / "results"
        where.mkdir(parents=True)
        for number, episode in enumerate(episodes, 1):
            path = where / f"episode_{number}_final_res.json"
            path.write_text(json.dumps(episode), encoding="utf-8")
        (where / "summary.json").write_text('{"task_success": 9}', encoding="utf-8")
    return folder


def episode(success: float, progress: float, steps: int) -> dict[str, Any]:
    return {"reward": 0.1, "task_success": success, "task_progress": progress, "num_steps": steps,
            "num_invalid_action_ratio": 0.25, "instruction": "Put a mug on the desk."}  # fmt: skip


def test_alfworld_s_means_and_types_and_rooms(tmp_path: Path) -> None:
    (found,) = outcomes.read(alfworld(tmp_path / "eval.json"))
    row = found.row()
    means = {key: value.mean for key, value in row.values.items()}
    assert (means["sr"], means["goal_sr"], means["steps"]) == (0.75, 0.875, 21.5)
    assert means["sr_pick_and_place_simple"] == 0.5
    assert means["sr_look_at_obj_in_light"] == 1.0
    assert found.rooms == ("308", "308", "10", "308")
    assert (row.n, row.dataset) == (4, "ALFWorld")


def test_rooms_are_resampled_whole(tmp_path: Path) -> None:
    """Three of four games share a room, so that they count as less than three."""
    (found,) = outcomes.read(alfworld(tmp_path / "eval.json"))
    alone = outcomes.Outcomes(found.name, found.source, found.ids, found.scores, found.kinds)
    assert found.row().values["sr"].half != alone.row().values["sr"].half


def test_a_file_from_before_goal_conditions(tmp_path: Path) -> None:
    (found,) = outcomes.read(alfworld(tmp_path / "eval.json", res_gcs=None))
    assert "goal_sr" not in found.row().values


def test_embodiedbench_s_folders_a_row_a_set(tmp_path: Path) -> None:
    base = [episode(1.0, 1.0, 12), episode(0.0, 0.5, 30)]
    top = embodied(tmp_path / "gpt", base=base, long_horizon=[episode(0.0, 0.25, 30)])
    rows = {found.name: found.row() for found in outcomes.read(top)}
    assert set(rows) == {"base", "long_horizon"}
    means = {key: value.mean for key, value in rows["base"].values.items()}
    assert means == {"sr": 0.5, "goal_sr": 0.75, "steps": 21.0, "invalid": 0.25}
    (one,) = outcomes.read(top / "base" / "results")
    assert (one.name, one.ids) == ("base", ("1", "2"))


def test_the_command_s_table_and_lines(tmp_path: Path) -> None:
    path = alfworld(tmp_path / "eval.json")
    assert "75.0" in score_outcomes(path, "markdown").text
    lines = [json.loads(line) for line in score_outcomes(path, per_episode=True).text.splitlines()]
    assert lines[1]["episode"] == "pick_and_place_simple/trial_T20190909_0002"
    assert (lines[1]["sr"], lines[1]["goal_sr"]) == (0.0, 0.5)


def test_what_is_neither_asks_for_the_split(tmp_path: Path) -> None:
    path = tmp_path / "walks.json"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError, match="name the split that this is about, with --on"):
        score_outcomes(path)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"res_points": [1.0]}, "lists of different lengths"),
        ({"res_info": []}, "field 'res_info': is no list of games"),
        ({"res_info": ["a game"] * 4}, "res_info, item 0: does not begin with a game"),
        ({"res_points": [1.0, 0.0, 1.0, 2.0]}, "res_points, item 3: is no possible sr: 2.0"),
        ({"res_steps": [1, 2, 3, "x"]}, "res_steps, item 3: is no possible steps: 'x'"),
    ],
)
def test_a_broken_file_ends_in_one_line(changed: Any, line: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=line):
        outcomes.read(alfworld(tmp_path / "eval.json", **changed))


def test_an_empty_folder_and_a_foreign_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no episode_N_final_res"):
        outcomes.read(tmp_path)
    top = embodied(tmp_path, base=[{"score": 1}])
    with pytest.raises(DataError, match="field 'task_success': is missing"):
        outcomes.read(top)

"""Records with several ids, or with several walks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.small_house import SmallHouse
from wayword.core.errors import DataError
from wayword.metrics import predictions
from wayword.metrics.predictions import Predictions

TO_C = ["s", "b", "c"]
TO_D = ["s", "b", "d"]


class House(SmallHouse):
    """Episodes whose ids are numbers, as in RxR, and numbers of a path, as in R2R."""

    def __init__(self) -> None:
        super().__init__()
        walks = {"3": TO_D, "9": TO_C, "7_0": TO_D, "12_0": TO_C, "12_1": TO_C}
        self.tasks = [
            self._task(name, "Go.", tuple(walk)) for name, walk in walks.items()
        ]


def read(record: dict[str, Any], tmp_path: Path) -> Predictions:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([record]), encoding="utf-8")
    return predictions.read(path, House())


@pytest.mark.parametrize(
    ("ids", "episode"),
    [
        ({"id": 3, "instruction_id": 9}, "9"),
        ({"id": 3, "episode_id": 9}, "9"),
        ({"id": 7, "path_id": 12}, "12_0"),
        ({"episode_id": 7, "path_id": 12}, "12_0"),
        ({"path_id": 3, "id": 9}, "9"),
        ({"path_id": 12, "instr_id": "12_1"}, "12_1"),
        ({"id": 0, "instr_id": 9}, "9"),
        ({"id": "9"}, "9"),
    ],
)
def test_the_name_that_says_the_most_counts(
    ids: dict[str, Any], episode: str, tmp_path: Path
) -> None:
    (task,) = read({**ids, "trajectory": TO_C}, tmp_path).tasks
    assert task.episode.id == episode


@pytest.mark.parametrize("ids", [{"path_id": 9}, {"instr_id": "12_5", "path_id": 12}])
def test_a_path_is_no_instruction(ids: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not an episode of all"):
        read({**ids, "trajectory": TO_C}, tmp_path)


@pytest.mark.parametrize("name", ["path", "trajectory", "route_panoids"])
@pytest.mark.parametrize("other", ["prediction", "visited", "path_pred", "rollout"])
@pytest.mark.parametrize(
    "form", [list, lambda walk: [[each, 0.1, 0.0] for each in walk]]
)
def test_the_reference_next_to_another_walk_is_not_scored(
    name: str, other: str, form: Any, tmp_path: Path
) -> None:
    record = {"instr_id": "9", name: TO_C, other: form(TO_D)}
    with pytest.raises(DataError, match=f"{other!r} holds another walk"):
        read(record, tmp_path)


@pytest.mark.parametrize(
    "record",
    [
        {"trajectory": TO_C, "gt_path": TO_D},
        {"trajectory": TO_C, "ground_truth": TO_D},
        {"trajectory": TO_C, "path": TO_C},
        {"trajectory": TO_C, "turns": ["s", "s", "b", "c", "c"]},
        {"trajectory": TO_C, "note": "sbd"},
        {"trajectory": TO_C, "candidates": ["b", "d"]},
        {"trajectory": TO_C, "thoughts": ["Go on.", "Stop."]},
        {"trajectory": TO_C, "headings": [0.0, 1.5]},
        {"path": TO_D, "pred_path": TO_C},
    ],
)
def test_one_walk_next_to_other_fields_is_read(
    record: dict[str, Any], tmp_path: Path
) -> None:
    assert read({"instr_id": "9", **record}, tmp_path).walks == [TO_C]


BEAMS: list[Any] = [
    [TO_C, TO_D],
    [[[each, 0.1, 0.0] for each in walk] for walk in (TO_C, TO_D)],
    [{"path": TO_C, "score": 0.1}, {"path": TO_D, "score": 0.9}],
]


@pytest.mark.parametrize("beams", BEAMS)
def test_walks_of_a_beam_are_not_joined(beams: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds 2 walks from one start; keep one"):
        read({"instr_id": "9", "trajectory": beams}, tmp_path)


def test_steps_of_one_walk_are_joined(tmp_path: Path) -> None:
    record = {"instr_id": "9", "trajectory": [["s"], ["b", "d"], ["b", "c"]]}
    assert read(record, tmp_path).walks == [["s", "b", "d", "b", "c"]]

"""The reference in a record is never scored as its prediction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.small_house import SmallHouse
from wayword.core.errors import DataError
from wayword.metrics import predictions

GOLD = ["s", "b", "c"]
WALK = ["s", "b", "a"]


@pytest.mark.parametrize(
    "name", ["pred_path", "predicted_path", "agent_path", "trajectory"]
)
def test_a_prediction_wins_over_the_reference(name: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([{"instr_id": "to_c", "path": GOLD, name: WALK}]))
    house = SmallHouse()
    (scores,) = predictions.read(path, house).score(house)
    # s (0, 0) - b (0, 2) - a (-3, 2): 5 m, and 5 m from the goal c (2, 2)
    assert (scores["sr"], scores["tl"], scores["ne"]) == (0.0, 5.0, 5.0)


@pytest.mark.parametrize(
    "other",
    [WALK, {"trajectory": WALK}, {"steps": 2, "walk": str(WALK)}, str(WALK)],
    ids=["list", "object", "text in an object", "text"],
)
def test_another_walk_next_to_the_reference_is_refused(
    other: object, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([{"instr_id": "to_c", "path": GOLD, "answer": other}]))
    with pytest.raises(DataError, match="'answer' holds another walk"):
        predictions.read(path, SmallHouse())


@pytest.mark.parametrize("other", [GOLD, {"score": 1.0}, "text", [0.5], {}, str(GOLD)])
def test_another_field_changes_nothing(other: object, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([{"instr_id": "to_c", "path": GOLD, "answer": other}]))
    (walk,) = predictions.read(path, SmallHouse()).walks
    assert [*walk] == GOLD


@pytest.mark.parametrize(
    "record",
    [
        {"path_id": "to", "scan": "small", "path": GOLD, "instructions": ["Go."]},
        {"route_id": "to_c", "route_panoids": GOLD, "navigation_text": "Go."},
    ],
)
def test_a_record_of_the_dataset_is_refused(
    record: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "val_seen.json"
    path.write_text(json.dumps([record]))
    with pytest.raises(DataError, match="its path is the reference"):
        predictions.read(path, SmallHouse())

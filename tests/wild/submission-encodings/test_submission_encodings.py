"""Encodings of a submission that are read, and mistakes that are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.small_house import SmallHouse
from wayword.core.errors import DataError
from wayword.metrics import predictions

WALK = ["s", "b", "c"]
RECORD = {"instr_id": "to_c", "trajectory": WALK}
TEXT = json.dumps([RECORD])
ENCODED = {
    "byte order mark": ("p.json", b"\xef\xbb\xbf" + TEXT.encode()),
    "UTF-16": ("p.json", TEXT.encode("utf-16")),
    "CRLF": ("p.jsonl", (json.dumps(RECORD) + "\r\n\r\n").encode()),
    "indented": ("p.json", json.dumps([RECORD], indent=2).encode()),
}


@pytest.mark.parametrize("name", ENCODED)
def test_an_encoding_changes_nothing(name: str, tmp_path: Path) -> None:
    file, content = ENCODED[name]
    (tmp_path / file).write_bytes(content)
    house = SmallHouse()
    (scores,) = predictions.read(tmp_path / file, house).score(house)
    assert (scores["sr"], scores["tl"]) == (1.0, 4.0)


def test_an_id_may_be_an_integer(tmp_path: Path) -> None:
    house = SmallHouse()
    task = house.tasks[0]
    house.tasks = [replace(task, episode=replace(task.episode, id="6047"))]
    path = tmp_path / "p.json"
    path.write_text(json.dumps([{"instr_id": 6047, "trajectory": WALK}]))
    assert len(predictions.read(path, house).pairs) == 1


MISTAKES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a float id": ([{**RECORD, "instr_id": 6047.0}], "field 'instr_id': is not an id"),
    "a repeated id": ([RECORD, RECORD], "record 1: repeats episode 'to_c'"),
    "capitals": ([{**RECORD, "trajectory": ["S", "B"]}], "'S' is not a place"),
    "NaN": ([{**RECORD, "trajectory": [["s", float("nan"), 0.0]]}], "NaN"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str, tmp_path: Path) -> None:
    records, message = MISTAKES[name]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(records))
    with pytest.raises(DataError, match=message):
        predictions.read(path, SmallHouse())


def test_a_wrong_start_is_an_impossible_move(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([{**RECORD, "trajectory": ["b", "c"]}]))
    house = SmallHouse()
    (scores,) = predictions.read(path, house).score(house)
    assert scores["illegal_moves"] == 1

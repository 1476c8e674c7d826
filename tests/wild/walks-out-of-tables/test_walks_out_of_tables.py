"""A walk that went through a table is a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.small_house import SmallHouse
from wayword.core.errors import DataError
from wayword.metrics import predictions

WALK = ["s", "b", "c"]
POSES = [(place, 0.5, 0.0) for place in WALK]


def read(tmp_path: Path, walk: Any, name: str = "p.json") -> list[str]:
    file = tmp_path / name
    file.write_text(json.dumps([{"instr_id": "to_c", "trajectory": walk}]))
    (found,) = predictions.read(file, SmallHouse()).walks
    assert not isinstance(found, predictions.Trajectory)
    return [*found]


@pytest.mark.parametrize(
    "text", [str(WALK), json.dumps(WALK), f" {WALK}\n", str(POSES), json.dumps(POSES)]
)
def test_a_text_is_read_as_the_list_that_it_writes(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == WALK


@pytest.mark.parametrize(
    "text",
    [
        *("s,b,c", "s -> b -> c", "['s', 'b'", "[s, b, c]", ""),
        *("['s', ..., 'c']", "[b's']", "[{('s', 1): 2}]"),
        *("{'a': ['s']}", "[__import__('os').getcwd()]", "[" * 9000),
    ],
)
def test_other_texts_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="must be a list"):
        read(tmp_path, text)


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz"])
def test_a_table_is_refused_with_the_way_to_convert_it(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(DataError, match="to_json"):
        read(tmp_path, WALK, name)

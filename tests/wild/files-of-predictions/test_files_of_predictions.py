"""Encodings, names and forms of prediction files."""

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
LINE = json.dumps(RECORD)
FILES = {
    "capitals": ("p.JSON", LINE.encode()),
    "capitals, zipped": ("p.json.GZ", gzip.compress(LINE.encode())),
    "ndjson": ("p.ndjson", LINE.encode()),
    "UTF-16 lines": ("p.jsonl", f"{LINE}\r\n\r\n".encode("utf-16")),
    "UTF-16 lines in .json": ("p.json", f"{LINE}\n\n".encode("utf-16")),
    "carriage returns": ("p.jsonl", f"{LINE}\r\r".encode()),
    "byte order mark and lines": ("p.jsonl", b"\xef\xbb\xbf" + LINE.encode()),
}
RECORDS: dict[str, Any] = {
    "headings as texts": [
        {"instr_id": "to_c", "trajectory": [[p, "0.5", "-0.25"] for p in WALK]}
    ],
    "a running number": [{"id": 0, "episode_id": "to_c", "path": WALK}],
    "several places in a step": [
        {"instr_id": "to_c", "trajectory": [["s"], ["b"], ["b", "c"]]}
    ],
    "a name that is null": [{"instr_id": None, "id": "to_c", "path": WALK}],
    "two containers": {"results": {"predictions": [RECORD]}},
    "positions next to names": [
        {"instr_id": "to_c",
         "trajectory": [{"viewpoint_id": p, "position": [0, 0, 0]} for p in WALK]}
    ],
}  # fmt: skip


def scored(path: Path, content: bytes) -> tuple[float, float]:
    path.write_bytes(content)
    house = SmallHouse()
    (scores,) = predictions.read(path, house).score(house)
    return scores["sr"], scores["tl"]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read(name: str, tmp_path: Path) -> None:
    file, content = FILES[name]
    assert scored(tmp_path / file, content) == (1.0, 4.0)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_read(name: str, tmp_path: Path) -> None:
    content = json.dumps(RECORDS[name]).encode()
    assert scored(tmp_path / "p.json", content) == (1.0, 4.0)


BAD = {
    "another scan": (
        json.dumps([{**RECORD, "scan_id": "other"}]),
        "episode to_c is in small",
    ),
    "whole numbers are places": (
        json.dumps([{"instr_id": "to_c", "trajectory": [["s", "1", "0"]]}]),
        "'1' is not a place",
    ),
    "places of a path": (
        json.dumps([{"instr_id": "to_c", "path": [{"position": {"x": 0, "y": 0}}]}]),
        "has positions in metres",
    ),
    "deep nesting": (
        f'[{{"instr_id": "to_c", "path": {"[" * 5000}{"]" * 5000}}}]',
        "not valid JSON",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_one_line(name: str, tmp_path: Path) -> None:
    text, message = BAD[name]
    with pytest.raises(DataError, match=message) as error:
        scored(tmp_path / "p.json", text.encode())
    assert "\n" not in str(error.value)


def test_null_headings_are_refused_with_the_way_to_leave_them_out(
    tmp_path: Path,
) -> None:
    walk = [[place, None, None] for place in WALK]
    content = json.dumps([{"instr_id": "to_c", "trajectory": walk}]).encode()
    with pytest.raises(DataError, match="not scored: write the place alone"):
        scored(tmp_path / "p.json", content)


WALKS = json.dumps(WALK)
REPEATED = {
    "ids of a mapping": f'{{"to_c": {WALKS}, "to_c": ["s"]}}',
    "ids inside a list's field": f'{{"instances": {{"to_c": {WALKS}, "to_c": ["s"]}}}}',
    "the same walk": f'{{"to_c": {WALKS}, "to_c": {WALKS}}}',
}
BY_COLUMNS = {
    "columns": {"instr_id": {"0": "to_c"}, "trajectory": {"0": WALK}},
    "lists": {"instr_id": ["to_c"], "trajectory": [WALK]},
    "split": {"columns": ["instr_id"], "index": [0], "data": [["to_c"]]},
}


@pytest.mark.parametrize("name", REPEATED)
def test_an_id_that_is_a_key_twice_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="record 'to_c': is a key twice"):
        scored(tmp_path / "p.json", REPEATED[name].encode())


@pytest.mark.parametrize("name", BY_COLUMNS)
def test_a_table_by_columns_is_refused_with_its_remedy(
    name: str, tmp_path: Path
) -> None:
    content = json.dumps(BY_COLUMNS[name]).encode()
    with pytest.raises(DataError, match=r"by columns; .*orient='records'"):
        scored(tmp_path / "p.json", content)


NUMBERS: dict[str, tuple[list[Any], bool]] = {
    "from 0": ([0, 1, 2], True),
    "one twice": ([1, 1, 2], True),
    "no number": ([0, None, 1], True),
    "words": (["a", "c", "b"], True),
    "another order": ([2, 0, 1], False),
    "sorted as texts": (["1", "10", "2"], False),
}


@pytest.mark.parametrize("field", ["step", "timestamp", "step_id"])
@pytest.mark.parametrize("name", NUMBERS)
def test_steps_in_another_order_than_their_numbers_are_refused(
    name: str, field: str, tmp_path: Path
) -> None:
    numbers, is_right = NUMBERS[name]
    walk = [{field: n, "viewpoint": v} for n, v in zip(numbers, WALK, strict=True)]
    content = json.dumps([{**RECORD, "trajectory": walk}]).encode()
    if is_right:
        assert scored(tmp_path / "p.json", content) == (1.0, 4.0)
        return
    with pytest.raises(DataError, match=r"item \d: has the .* write the steps in"):
        scored(tmp_path / "p.json", content)


@pytest.mark.parametrize(
    "rest",
    [LINE[:30].encode(), b"\0" * 40 + b"\n", b"\0\n" + LINE.encode()],
    ids=["cut off", "zeros", "zeros before a line"],
)
def test_what_a_crash_leaves_is_named_by_its_line(rest: bytes, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(LINE.encode() + b"\n" + rest)
    with pytest.raises(DataError, match="line 2"):
        predictions.read(path, SmallHouse())

"""Prediction files: every shape that is read, and one clear line for every one that is not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.metric_keys import OF_OBJECTS

from wayword.core.errors import DataError, UsageError
from wayword.core.world import Family
from wayword.metrics import predictions, table
from wayword.metrics.accounting import PREDICTED_METRICS
from wayword.metrics.predictions import Predictions, trajectory_from_actions
from wayword.metrics.scoring import scorer
from wayword.metrics.summary import summarize

Read = Callable[..., Predictions]


@pytest.fixture
def dataset(split: Callable[..., Any]) -> Any:
    return split(("7_0", "ABCD"), ("7_1", "ABCD"), ("8_0", "CD"))


@pytest.fixture
def read(tmp_path: Path, dataset: Any) -> Read:
    """``read(record, …, name="p.json")`` writes the records to a file and reads it back."""

    def make(*records: Any, name: str = "p.json") -> Predictions:
        path = tmp_path / name
        if ".jsonl" in name:
            text = "\n".join(json.dumps(record) for record in records)
        else:
            text = json.dumps(list(records))
        raw = text.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return predictions.read(path, dataset)

    return make


def places(found: Predictions) -> list[list[str]]:
    return [
        [p["viewpoint"] for p in walked.visited("agent")] for _, walked in found.pairs
    ]


@pytest.mark.parametrize(
    "trajectory",
    [
        ["A", "B", "X"],
        [["A", 0.5, 0.0], ["B", 1.57, 0.0], ["X", 3, -0.5]],
        [["A"], ["B", "X"]],
        [["A", 0.5, 0.0], ["A", 1.57, 0.0], ["B", 1.57, 0.0], ["X", 0, 0]],
    ],
    ids=["names", "poses", "nested", "turning"],
)
def test_an_r2r_submission_is_read(read: Read, trajectory: Any) -> None:
    found = read({"instr_id": "7_0", "trajectory": trajectory})
    assert places(found) == [["A", "B", "X"]]
    assert found.illegal_moves == [0]
    assert (found.of, found.missing) == (3, 2)


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz", "p.json.gz"])
def test_json_lines_and_gzipped_files_are_read(read: Read, name: str) -> None:
    found = read(
        {"id": "8_0", "path": ["C", "D"]}, {"id": "7_1", "path": ["A"]}, name=name
    )
    assert [task.episode.id for task, _ in found.pairs] == ["8_0", "7_1"]


@pytest.mark.parametrize("path_id", [7, "7"])
def test_a_path_id_means_the_paths_first_instruction(read: Read, path_id: Any) -> None:
    found = read(
        {"scan": "flat", "path_id": path_id, "trajectory": ["A"]}, name="p.jsonl"
    )
    assert found.pairs[0][0].episode.id == "7_0"


def test_actions_are_replayed_in_the_world(read: Read) -> None:
    found = read({"id": "7_0", "actions": ["goto[B]", " goto[ C ] ", "stop"]})
    assert places(found) == [["A", "B", "C", "C"]]
    assert found.pairs[0][1].ended == "stopped"
    assert found.pairs[0][1].steps[0].pose["heading"] == pytest.approx(90.0)


def test_actions_that_are_not_on_the_menu_change_nothing_and_are_counted(
    read: Read,
) -> None:
    found = read(
        {"id": "7_0", "actions": ["goto[D]", "jump", "goto[B]", "stop", "goto[C]"]}
    )
    assert places(found) == [["A", "A", "A", "B", "B", "B"]]
    assert found.illegal_moves == [3]


def test_a_walk_no_agent_could_make_is_scored_and_counted(
    read: Read, dataset: Any
) -> None:
    # C is not the start, C -> A is no edge, A -> A is no move, A -> B is legal, B -> D is no edge.
    found = read({"id": "7_0", "path": ["C", "A", "A", "B", "D"]})
    assert found.illegal_moves == [3]
    (scores,) = found.score(dataset)
    assert scores["sr"] == 1
    assert scores["illegal_moves"] == 3
    assert scores["steps"] == 3
    assert (
        set(scores)
        == {metric.key for metric in (*scorer("indoor").metrics, *PREDICTED_METRICS)}
        - OF_OBJECTS
    )


def test_a_table_of_predictions_says_how_many_are_missing(
    read: Read, dataset: Any
) -> None:
    found = read({"id": "7_0", "path": ["A", "B", "D"]})
    row = summarize("theirs", found.score(dataset), family="indoor", of=found.of)
    text = table.render([row], "markdown")
    assert "1 of 3" in text
    assert "Illegal" in text
    assert "Cost" not in text  # nothing is known of it


GOOD = {"id": "7_0", "path": ["A"]}


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ("7_0", "record 1: must be an object with an id and a trajectory"),
        ({"path": ["A"]}, "record 1: has none of the fields instr_id, id"),
        ({"id": None, "path": ["A"]}, "record 1, field 'id': is not an id: None"),
        ({"id": True, "path": ["A"]}, "record 1, field 'id': is not an id: True"),
        ({"id": "", "path": ["A"]}, "record 1, field 'id': is not an id: ''"),
        (
            {"id": "9_0", "path": ["A"]},
            "record 1, field 'id': '9_0' is not an episode of made; did you",
        ),
        (
            {"instr_id": 9, "path": ["A"]},
            "record 1, field 'instr_id': 9 is not an episode of made",
        ),
        ({"id": "7_0", "path": ["A"]}, "record 1: repeats episode '7_0' of record 0"),
        ({"path_id": 7, "path": ["A"]}, "record 1: repeats episode '7_0' of record 0"),
        (
            {"id": "8_0", "scan": "s", "path": ["C"]},
            "field 'scan': 's', but episode 8_0 is in flat",
        ),
        ({"id": "8_0"}, "record 1: has none of the fields trajectory, path, actions"),
        (
            {"id": "8_0", "path": "CD"},
            "record 1, field 'path': must be a list, got 'CD'",
        ),
        (
            {"id": "8_0", "path": []},
            "record 1, field 'path': must contain at least the start",
        ),
        (
            {"id": "8_0", "path": ["C", "Q"]},
            "record 1, field 'path': 'Q' is not a place in flat",
        ),
        ({"id": "8_0", "path": ["C", 4]}, "field 'path', item 1: must be a place or"),
        (
            {"id": "8_0", "path": [["C", None, 0]]},
            "field 'path', item 0: must be a place or",
        ),
        ({"id": "8_0", "path": [[]]}, "field 'path', item 0: must be a place or"),
        ({"id": "8_0", "trajectory": [{"a": "C" * 99}]}, "must be a place or"),
        (
            {"id": "8_0", "actions": [3]},
            "field 'actions', item 0: must be an action such as",
        ),
        (
            {"id": "8_0", "actions": ["go to D"]},
            "field 'actions', item 0: must be an action",
        ),
    ],
)
def test_a_bad_record_is_named_in_one_line(read: Read, record: Any, line: str) -> None:
    with pytest.raises(DataError) as caught:
        read(GOOD, record)
    text = str(caught.value)
    assert "p.json: record 1" in text
    assert line in text
    assert "\n" not in text
    assert len(text) < 400


def test_all_bad_records_are_listed(read: Read, tmp_path: Path) -> None:
    unknown = {"id": "9_9", "path": ["A"]}
    elsewhere = {"id": "8_0", "path": ["C", "nowhere"]}
    with pytest.raises(DataError) as caught:
        read(unknown, GOOD, [], elsewhere)
    *lines, last = str(caught.value).split("\n")
    path = tmp_path / "p.json"
    starts = [f"{path}: record {number}" for number in (0, 2, 3)]
    assert [line[: len(starts[0])] for line in lines] == starts
    assert last == f"{path}: 3 bad records; correct or remove them"


def test_many_bad_records_are_counted(read: Read) -> None:
    with pytest.raises(DataError) as caught:
        read(*[{"id": f"x{number}", "path": ["A"]} for number in range(1000)])
    lines = str(caught.value).split("\n")
    assert len(lines) == predictions.MOST_LISTED + 2
    assert lines[-2] == "… and 980 more"
    assert "1,000 bad records" in lines[-1]


def test_a_broken_line_and_a_nan_hide_no_other_bad_record(
    tmp_path: Path, dataset: Any
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "7_0", "pa\n{"id": "9_9", "path": ["A"]}\n')
    with pytest.raises(DataError, match=r"(?s)line 1: is not valid.*line 2, field"):
        predictions.read(path, dataset)
    path = tmp_path / "p.json"
    path.write_text(
        '[{"id": "7_0", "path": [["A", NaN, 0]]}, {"id": "9_9", "path": []}]'
    )
    with pytest.raises(DataError, match=r"(?s)record 0, field 'path'.*record 1, field"):
        predictions.read(path, dataset)


def test_json_lines_are_named_by_their_number(tmp_path: Path, dataset: Any) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('\n{"id": "7_0", "path": ["A"]}\n{"id": "8_0", "pa')
    with pytest.raises(DataError, match=r"p\.jsonl: line 3: is not valid JSON"):
        predictions.read(path, dataset)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("p.txt", b"[]", "must end in .json or .jsonl"),
        ("p", b"[]", "must end in .json or .jsonl"),
        ("p.json", b'{"7_0": 3}', "record '7_0': must be an object with an id"),
        ("p.json", b"[]", "contains no predictions"),
        ("p.jsonl", b"\n", "contains no predictions"),
        ("p.json", b"{", "is not valid JSON"),
        ("p.json", b"\xff\xfe", "is not valid JSON"),
        ("p.json.gz", b"\x1f\x8bno gzip file", "cannot be read"),
        ("none.json", None, "no such file"),
    ],
)
def test_a_bad_file_is_named_in_one_line(
    tmp_path: Path, dataset: Any, name: str, content: bytes | None, line: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        predictions.read(tmp_path / name, dataset)
    assert f"{name}: {line}" in str(caught.value)


class ActionsOnly:
    """A scorer that cannot tell a possible walk from an impossible one."""

    metrics = ()

    def score(self, dataset: Any, pairs: Any) -> list[dict[str, float]]:
        return [{} for _ in pairs]


def test_places_alone_need_a_family_that_knows_them(dataset: Any, read: Read) -> None:
    dataset.family = Family("maze", scorer=ActionsOnly())
    with pytest.raises(
        DataError, match="cannot be scored: this dataset needs the field 'actions'"
    ):
        read(GOOD)


def test_actions_of_several_actors_cannot_be_read(
    dataset: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = dataset.world(dataset.tasks[0].episode)
    team = ("ann", "bob")
    monkeypatch.setattr(type(world), "actors", team)
    episode = replace(dataset.tasks[0].episode, actors=team)
    with pytest.raises(UsageError, match="7_0 has several actors"):
        trajectory_from_actions(dataset, episode, [])

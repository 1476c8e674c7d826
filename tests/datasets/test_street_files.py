"""Touchdown and Map2seq on a small street: what is read, what is refused, what is drawn."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from wayword.core.agent import Demonstration
from wayword.core.dataset import Dataset
from wayword.core.episode import PathReference
from wayword.core.errors import DataError, UsageError
from wayword.datasets.touchdown import Map2seq, Touchdown

# A street of six panoramas, p0 to p5 from south to north; the first four are the training area.
NODES = "".join(
    f"p{i},0,40.{i},-73.0,{'seen' if i < 4 else 'unseen'}\n" for i in range(6)
)
LINKS = "".join(f"p{i},0,p{i + 1}\np{i + 1},180,p{i}\n" for i in range(5))


def map2seq(number: int, route: list[str], **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "instructions_id": number,
        "route_panoids": route,
        "navigation_text": f"Go {number}.",
        "start_heading": 0,
        **more,
    }


def touchdown(number: int, route: list[str], **more: Any) -> dict[str, Any]:
    made = map2seq(number, route, **more)
    return {"route_id": made.pop("id"), "city": "nyc", **made}


def write(path: Path, records: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records)
    path.write_bytes(
        gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode()
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("touchdown", "map2seq"):
        graph = tmp_path / name / "graph"
        graph.mkdir(parents=True)
        (graph / "nodes.txt").write_text(NODES)
        (graph / "links.txt").write_text(LINKS)
    write(tmp_path / "map2seq/unseen/dev.json", [map2seq(1, ["p4", "p5"])])
    seen = [
        map2seq(2, ["p0", "p1"]),
        map2seq(3, ["p1", "p2"]),
        map2seq(4, ["p3", "p4"]),
    ]
    write(tmp_path / "map2seq/seen/dev.json", seen)
    write(tmp_path / "map2seq/seen/test.json", [map2seq(5, ["p0", "p1", "p2"])])
    facing = touchdown(9, ["p5", "p4"], start_heading=120.5, navigation_text=" Turn. ")
    write(tmp_path / "touchdown/data/dev.json", [facing])
    return tmp_path


def open_(cls: Any, split: str, folder: Path | None, **settings: Any) -> Any:
    return cls(split, folder, cls.Settings(**settings))


def test_episodes_and_references(folder: Path) -> None:
    dataset = open_(Map2seq, "unseen_dev", folder)
    assert isinstance(dataset, Dataset)
    (task,) = dataset.tasks
    assert task.episode.id == "1"
    assert task.episode.instruction == "Go 1."
    assert task.episode.start == {"panorama": "p4", "heading": 0}
    assert task.episode.extra == {"opening": ["forward"]}
    assert task.reference == PathReference("1", ("p4", "p5"))
    assert (dataset.family.name, dataset.max_steps) == ("street", 55)
    assert {path.name for path in dataset.files.values()} == {
        "dev.json",
        "nodes.txt",
        "links.txt",
    }


def test_touchdown_snaps_the_start_heading_and_has_no_opening(folder: Path) -> None:
    (task,) = open_(Touchdown, "unseen_dev", folder).tasks
    assert task.episode.instruction == "Turn."
    assert task.episode.start == {"panorama": "p5", "heading": 180}
    assert task.episode.extra == {}


def test_the_data_folder_may_be_the_datasets_own(folder: Path) -> None:
    assert len(open_(Map2seq, "seen_dev", folder / "map2seq").tasks) == 3


def test_a_test_split_is_found_when_it_is_put_alongside(folder: Path) -> None:
    with pytest.raises(DataError, match=r"map2seq/unseen/test\.json: no such file"):
        open_(Map2seq, "unseen_test", folder).tasks  # noqa: B018 - reading is lazy
    write(
        folder / "map2seq/unseen/test.json.gz",
        [map2seq(8, ["p5", "p4"], start_heading=180)],
    )
    write(folder / "touchdown/data/test.json", [touchdown(8, ["p5", "p4"])])
    assert len(open_(Map2seq, "unseen_test", folder).tasks) == 1
    assert len(open_(Touchdown, "unseen_test", folder).tasks) == 1


def test_the_layout_of_the_release_is_read_too(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "release"
    write(other / "touchdown_unseen/data/dev.json", [touchdown(9, ["p5", "p4"])])
    graph = other / "touchdown_unseen" / "graph"
    graph.mkdir()
    (graph / "nodes.txt").write_text(NODES)
    (graph / "links.txt").write_text(LINKS)
    assert len(open_(Touchdown, "unseen_dev", other).tasks) == 1


def test_recorded_landmarks_reach_the_episode(folder: Path) -> None:
    recorded = {"instances": {"1": {"id": 1, "unfiltered": ["a bank"]}}}
    path = folder / "map2seq/landmarks/gpt3_5shot_unfiltered.json.gz"
    write(path, [recorded])
    dataset = open_(Map2seq, "unseen_dev", folder)
    assert dataset.tasks[0].episode.extra["landmarks"] == ["a bank"]
    assert dataset.files["landmarks"] == path
    assert "landmarks" not in open_(Map2seq, "seen_dev", folder).tasks[0].episode.extra


def test_settings_reach_the_world(folder: Path) -> None:
    dataset = open_(
        Map2seq, "unseen_dev", folder, transition="original", dead_ends="released"
    )
    world = dataset.world(dataset.tasks[0].episode)
    assert (world.navigator.transition, world.dead_ends) == ("original", "released")


BAD = [
    (
        map2seq(7, ["p4", "zz"]),
        "id 7, field 'route_panoids': 'zz' is not in the street graph",
    ),
    (
        map2seq(7, ["p4", 3]),
        "id 7, field 'route_panoids': 3 is not in the street graph",
    ),
    (map2seq(7, []), "id 7, field 'route_panoids': is empty"),
    (map2seq(7, ["p1", "p3"]), "field 'route_panoids': 'p1' has no link to 'p3'"),
    (
        map2seq(7, ["p4"], navigation_text=" \n"),
        "id 7, field 'navigation_text': is empty",
    ),
    (
        map2seq(7, ["p4"], navigation_text=None),
        "field 'navigation_text': must be a text, got None",
    ),
    (map2seq(7, ["p4"], start_heading=float("nan")), "NaN is not valid in JSON"),
    (
        map2seq(7, ["p4"], start_heading="north"),
        "field 'start_heading': must be a number",
    ),
    (map2seq(1, ["p4"]), "line 2, field 'id': is a duplicate: 1"),
    ({"route_panoids": ["p4"]}, "line 2, field 'id': is missing"),
    ("[]", "line 2: must be an object, got []"),
    ("{", "line 2: is not valid JSON"),
]


@pytest.mark.parametrize(("record", "message"), BAD)
def test_bad_records_are_named(folder: Path, record: Any, message: str) -> None:
    path = folder / "map2seq/unseen/dev.json"
    write(path, [map2seq(1, ["p4", "p5"]), record])
    with pytest.raises(DataError) as caught:
        open_(Map2seq, "unseen_dev", folder).tasks  # noqa: B018 - reading is lazy
    line = str(caught.value)
    assert line.startswith(f"{path}: line 2")
    assert message in line
    assert "\n" not in line


def test_unknown_splits_and_no_folder_are_refused(folder: Path) -> None:
    with pytest.raises(
        UsageError, match="map2seq has no split 'unsen_dev'; did you mean"
    ):
        open_(Map2seq, "unsen_dev", folder)
    with pytest.raises(UsageError, match="touchdown needs its data: set --data FOLDER"):
        open_(Touchdown, "unseen_dev", None)


def ids(drawn: list[Demonstration]) -> list[str]:
    return sorted(shown.episode.id for shown in drawn)


def test_examples_come_from_seen_routes_of_other_files(folder: Path) -> None:
    """4 leaves the seen area; a split's own file, and its own ids, are never drawn from."""
    assert ids(open_(Map2seq, "unseen_dev", folder).demonstrations(3, 0)) == [
        "2",
        "3",
        "5",
    ]
    assert ids(open_(Touchdown, "unseen_dev", folder).demonstrations(3, 0)) == [
        "2",
        "3",
        "5",
    ]
    assert ids(open_(Map2seq, "seen_dev", folder).demonstrations(1, 0)) == ["5"]
    assert ids(open_(Map2seq, "seen_test", folder).demonstrations(2, 0)) == ["2", "3"]
    write(folder / "map2seq/unseen/dev.json", [map2seq(2, ["p4", "p5"])])
    assert ids(open_(Map2seq, "unseen_dev", folder).demonstrations(2, 0)) == ["3", "5"]


def test_examples_are_solved(folder: Path) -> None:
    (shown,) = open_(Map2seq, "seen_dev", folder).demonstrations(1, 0)
    assert [str(action) for action in shown.actions] == ["forward", "forward", "stop"]
    world = shown.world()
    world.reset(shown.episode)
    for action in shown.actions:
        world.step("agent", action)
    assert world.state() == {"panorama": "p2", "heading": 0, "stopped": True}


def test_a_published_training_file_comes_first(folder: Path) -> None:
    train = touchdown(20, ["p2", "p1", "p0"], start_heading=3)
    write(folder / "touchdown/data/train.json", [train])
    (shown,) = open_(Touchdown, "unseen_dev", folder).demonstrations(1, 0)
    assert shown.episode.id == "20"
    assert [str(a) for a in shown.actions] == [
        "turn_around",
        "forward",
        "forward",
        "stop",
    ]


def test_examples_that_are_not_there_are_refused(folder: Path) -> None:
    with pytest.raises(
        UsageError, match="4 examples were requested but the training split has 3"
    ):
        open_(Map2seq, "unseen_dev", folder).demonstrations(4, 0)
    with pytest.raises(
        UsageError, match="map2seq:unseen_train is the training split; set shots=0"
    ):
        open_(Map2seq, "unseen_train", folder).demonstrations(1, 0)


def test_touchdowns_recorded_landmarks_reach_the_episode_too(folder: Path) -> None:
    (name,) = [task.episode.id for task in open_(Touchdown, "unseen_dev", folder).tasks]
    path = folder / "touchdown/landmarks/gpt3_5shot_unfiltered.json"
    write(path, [{"instances": {name: {"unfiltered": ["a bank"]}}}])
    dataset = open_(Touchdown, "unseen_dev", folder)
    assert dataset.tasks[0].episode.extra["landmarks"] == ["a bank"]
    assert dataset.files["landmarks"] == path

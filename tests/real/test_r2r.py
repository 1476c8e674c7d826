"""R2R as published: counts, graphs, the text pack, and the oracle's perfect scores."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from helpers.navgpt_page import write_direction
from helpers.sampling import LONG
from wayword.core.episode import PathReference
from wayword.core.errors import DataError
from wayword.core.geometry import absolute, relative
from wayword.datasets.r2r import R2R, R2RSettings
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.verbalize import indoor

pytestmark = pytest.mark.real


def r2r(data: Path, split: str = "val_seen", **settings: object) -> R2R:
    return R2R(split, data, R2RSettings(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("split", "instructions", "paths", "scans"),
    [("train", 14_039, 4_675, 61), ("val_seen", 1_021, 340, 56)],
)
def test_every_instruction_is_an_episode(
    data: Path, split: str, instructions: int, paths: int, scans: int
) -> None:
    tasks = r2r(data, split).tasks
    assert len(tasks) == instructions
    assert len({task.episode.id.rsplit("_", 1)[0] for task in tasks}) == paths
    assert len({task.episode.scene for task in tasks}) == scans


@pytest.mark.parametrize("split", ["val_seen", "train"])
def test_the_oracle_is_perfect(data: Path, tmp_path: Path, split: str) -> None:
    shard = "1/10" if split == "train" and not LONG else ""
    result = run(
        Plan("oracle", f"r2r:{split}", shard=shard, data=data, out=tmp_path / "run")
    )
    scores = [one for _, one in RunFolder.read(result.path).scores()]
    assert len(scores) == {"train": 14_039 if LONG else 1_404, "val_seen": 1_021}[split]
    assert {one["sr"] for one in scores} == {1.0}
    assert min(one["spl"] for one in scores) == pytest.approx(1.0)
    assert max(one["ne"] for one in scores) == 0.0


def test_the_pack_and_our_graphs_agree_on_every_way(data: Path) -> None:
    dataset = r2r(data)
    worst = 0.0
    for scan in sorted({task.episode.scene for task in dataset.tasks}):
        graph = dataset.graph(scan)
        file = data / "r2r" / "navigable" / f"{scan}_navigable.json.gz"
        for viewpoint, around in json.loads(gzip.decompress(file.read_bytes())).items():
            neighbors = {way.viewpoint: way for way in graph.neighbors(viewpoint)}
            assert set(neighbors) == set(around)
            for name, text in around.items():
                heading = absolute(math.degrees(text["heading"]))
                if text["distance"] > 0.05:  # a few pairs stand millimetres apart
                    worst = max(worst, abs(relative(neighbors[name].heading, heading)))
                assert neighbors[name].distance == pytest.approx(
                    text["distance"], abs=1e-4
                )
    assert worst < 1e-3


def test_no_way_is_hidden_at_the_wrap_of_the_circle(data: Path) -> None:
    """Headings above 337.5° belong to the sector of north: 7% of all ways lie there."""
    dataset = r2r(data)
    wrapped = 0
    for scan in sorted({task.episode.scene for task in dataset.tasks})[:8]:
        graph = dataset.graph(scan)
        for viewpoint in graph.ids:
            world = dataset.world(dataset.tasks[0].episode).__class__(graph)
            start = {"viewpoint": viewpoint, "heading": 0.0}
            episode = dataset.tasks[0].episode
            world.reset(type(episode)(episode.id, "Go.", scan, start))
            seen = world.observe("agent")
            text = indoor.observation(
                seen,
                dataset.perceiver().perceive(scan, viewpoint),
                write_direction,
            )
            assert all(f"'{way.viewpoint}'" in text for way in seen.neighbors)
            wrapped += sum(way.heading > 337.5 for way in seen.neighbors)
    assert wrapped > 50


def test_objects_of_the_pack_lie_in_their_sector_and_within_three_metres(
    data: Path,
) -> None:
    dataset = r2r(data)
    scene = dataset.tasks[0].episode.scene
    count = 0
    for viewpoint in dataset.graph(scene).ids:
        for part in dataset.perceiver().perceive(scene, viewpoint).sectors:
            for seen in part.sightings:
                count += 1
                assert abs(relative(seen.heading, part.heading)) <= 22.5 + 1e-6
                assert seen.distance is not None
                assert seen.distance <= 3.0
    assert count > 100


def test_reverie_boxes_are_a_second_source_of_objects(data: Path) -> None:
    dataset = r2r(data, objects="reverie")
    scene = dataset.tasks[0].episode.scene
    names = set()
    count = 0
    for viewpoint in dataset.graph(scene).ids:
        for part in dataset.perceiver().perceive(scene, viewpoint).sectors:
            for seen in part.sightings:
                count += 1
                names.add(seen.name)
                assert abs(relative(seen.heading, part.heading)) <= 22.5 + 1e-6
                assert seen.distance is not None
                assert seen.distance <= 3.0
    assert count > 100
    assert not any("#" in name for name in names)


def test_sub_instructions_are_shown_to_the_agent_and_their_places_are_not(
    data: Path,
) -> None:
    first = r2r(data, sub_instructions=True).tasks[0].episode
    assert first.extra["sub_instructions"][0] == "exit the bedroom"
    assert set(first.extra) == {"sub_instructions"}


def test_sub_instructions_are_parts_of_the_instruction_along_its_path(
    data: Path,
) -> None:
    dataset = r2r(data)
    narrated = {
        task.episode.id: (task, dataset.narrated(task)) for task in dataset.tasks
    }
    assert sum(bool(parts) for _, parts in narrated.values()) == 1_020, (
        "one is not in FGR2R"
    )
    task, parts = narrated["711_0"]
    assert isinstance(task.reference, PathReference)
    assert parts == [(0, 2), (19, 6), (43, 6)]
    assert task.episode.instruction[19:43] == "Walk past bedroom door. "
    for task, parts in narrated.values():
        assert isinstance(task.reference, PathReference)
        assert all(0 <= end < len(task.reference.path) for _, end in parts)
        starts = [begin for begin, _ in parts]
        assert starts == sorted(starts)
    assert not r2r(data, "train").narrated(r2r(data, "train").tasks[0])


def test_demonstrations_come_from_train(data: Path) -> None:
    dataset = r2r(data)
    shown = dataset.demonstrations(3, seed=0)
    evaluated = {task.episode.id for task in dataset.tasks}
    assert len(shown) == 3
    assert not evaluated & {one.episode.id for one in shown}
    world = shown[0].world()
    world.reset(shown[0].episode)
    for action in shown[0].actions:
        assert action in world.action_space("agent")
        world.step("agent", action)
    assert world.done("agent")


def test_the_sample_of_72_scenes_needs_both_of_its_parts(
    data: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="R2R_val_unseen"):
        r2r(_with_unseen(data, tmp_path, 0), "sample72").tasks  # noqa: B018
    folder = _with_unseen(data, tmp_path, 11)
    sample = r2r(folder, "sample72").tasks
    assert len(sample) == 216
    assert len({task.episode.scene for task in sample}) == 72
    again = r2r(folder, "sample72").tasks
    assert [task.episode.id for task in again] == [task.episode.id for task in sample]
    other = r2r(folder, "sample72", sample_seed=1).tasks
    assert [task.episode.id for task in other] != [task.episode.id for task in sample]


def _with_unseen(data: Path, tmp_path: Path, scans: int) -> Path:
    """The published train file beside ``scans`` made-up unseen scans of one path each."""
    folder = tmp_path / f"data{scans}" / "r2r" / "annotations"
    folder.mkdir(parents=True)
    (folder / "R2R_train.json.gz").symlink_to(
        data / "r2r" / "annotations" / "R2R_train.json.gz"
    )
    records = [
        {
            "path_id": 90_000 + i, "scan": f"unseen{i}", "path": ["a", "b"], "heading": 0.0,
            "distance": 5.0, "instructions": ["Go on.", "Go ahead.", "Walk."],
        }
        for i in range(scans)
    ]  # fmt: skip
    if scans:
        (folder / "R2R_val_unseen.json").write_text(json.dumps(records))
    return folder.parent.parent


def test_a_split_without_goals_can_be_walked_but_not_scored(
    tmp_path: Path, data: Path
) -> None:
    folder = tmp_path / "r2r" / "annotations"
    folder.mkdir(parents=True)
    (folder.parent / "connectivity").symlink_to(data / "r2r" / "connectivity")
    known = r2r(data).tasks[0]
    record = {
        "path_id": 1, "scan": known.episode.scene, "heading": 0.0, "instructions": ["Go."],
        "path": [known.episode.start["viewpoint"]],
    }  # fmt: skip
    (folder / "R2R_test.json").write_text(json.dumps([record]))
    task = r2r(tmp_path, "test").tasks[0]
    assert not isinstance(task.reference, PathReference)

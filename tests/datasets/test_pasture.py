"""PASTURE's files as published, over one small apartment made up for the purpose."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helpers.robothor_files import apartment, episode
from helpers.thor_events import Controller
from wayword.agents.baselines.oracles import ShortestPathOracle
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import NoSettings
from wayword.core.errors import DataError, UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets import pasture
from wayword.datasets.pasture import Pasture, PastureSettings
from wayword.metrics.scoring import score
from wayword.testing.contracts import check_dataset, check_world
from wayword.worlds.objectnav.world import ObjectNavReference

SCENE = "FloorPlan_Val1_1"
MUG = "Mug|2.0|2.6"
LOOKS = "small, white, ceramic mug"
PLACE = "mug on a side table near a laptop"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    apartment(tmp_path, "val", SCENE)
    templates = tmp_path / "pasture" / "class_templates"
    templates.mkdir(parents=True)
    both = {SCENE: {"Mug": [PLACE, LOOKS, ["mug on a side table"]]}}
    (templates / "spatial_appearence_map.json").write_text(json.dumps(both))
    (templates / "hidden_map.json").write_text(
        json.dumps({SCENE: {"Mug": "mug under the bed"}})
    )
    return tmp_path


def publish(folder: Path, part: str, label: str = "Mug", **fields: Any) -> None:
    """Two episodes in PASTURE's own layout."""
    there = (
        folder
        / "pasture"
        / "datasets"
        / f"robothor-objectnav-{part}"
        / "val"
        / "episodes"
    )
    there.mkdir(parents=True, exist_ok=True)
    records = [episode(n, 0.5, 0.5 + n / 4, SCENE, label, **fields) for n in (0, 1)]
    (there / f"{SCENE}.json").write_text(json.dumps(records))


def oracle(dataset: Pasture, task: Task) -> Trajectory:
    """A walk by the shortest way."""

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return ShortestPathOracle(NoSettings(), toolkit)

    return asyncio.run(rollout(task, Setup(dataset, build, max_steps=60)))


def in_view(dataset: Pasture, task: Task) -> dict[str, str]:
    """Id -> words of what is in view where the published path ends."""
    world = dataset.world(task.episode)
    start = {"x": 2.0, "y": 2.0, "heading": 0.0, "horizon": 0.0}
    world.reset(replace(task.episode, start=start))
    return {shown.id: shown.words for shown in world.observe("agent").shown}


def test_a_description_is_looked_for_from_the_published_starts(folder: Path) -> None:
    publish(folder, "normal", object_id="Mug|+02.01|+00.72|+02.60")
    looks = Pasture("appearance", folder)
    near = Pasture("spatial", folder)
    task = looks.tasks[0]
    assert isinstance(task.reference, ObjectNavReference)
    assert task.episode.instruction == f"Find the {LOOKS}."
    assert near.tasks[0].episode.instruction == f"Find the {PLACE}."
    assert task.episode.start["horizon"] == 0.0
    assert task.reference.targets == {
        "Mug|2.0|2.6"
    }  # the id of this version of the metadata
    assert task.reference.middles == ((2.0, 2.6),)
    assert (len(looks.tasks), looks.max_steps) == (2, 250)
    assert not any("not here" in line for line in looks.caveats)
    check_dataset(looks)
    check_world(looks, episodes=1, steps=8)
    assert in_view(looks, task) == {
        "Mug|2.0|2.6": LOOKS,
        "SideTable|2.0|2.6": "side table",
    }
    (scores,) = score(looks, [(task, oracle(looks, task))])
    assert scores["success_challenge"] == scores["sr_mug"] == 1.0


def test_robothors_starts_stand_in_for_episodes_that_are_not_here(folder: Path) -> None:
    dataset = Pasture("appearance", folder)
    assert len(dataset.tasks) > 50
    assert any("PASTURE's episodes missing" in line for line in dataset.caveats)


@pytest.mark.parametrize(
    "split", ["uncommon", "hidden", "hidden_distractors", "spatial_distractors"]
)
def test_what_only_the_authors_builds_know_is_refused_in_words(
    split: str, folder: Path
) -> None:
    with pytest.raises(
        UsageError, match=r"dataset.simulator=thor and dataset.build=pasture_build"
    ):
        Pasture(split, folder)


@pytest.mark.parametrize(
    ("split", "part", "label", "fields", "target", "words"),
    [
        (
            "hidden",
            "hidden",
            "Mug",
            {"object_id": "Mug|2.0|2.6"},
            "Mug|2.0|2.6",
            "mug under the bed",
        ),
        ("uncommon", "longtail", "Crate", {}, "Crate", "green plastic crate"),
    ],
)
def test_in_the_authors_builds_the_described_object_is_the_target(
    split: str,
    part: str,
    label: str,
    fields: dict[str, Any],
    target: str,
    words: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against events in AI2-THOR's format; the build holds what the metadata does not."""
    apartment(folder / "build", "val", SCENE, label)
    full = {SCENE: {label: ["", "", []]}}
    maps = folder / "build" / "pasture" / "spatial_appearence_map.json"
    maps.parent.mkdir()
    maps.write_text(json.dumps(full))
    place = Pasture("appearance", folder / "build").place(SCENE)
    publish(folder, part, label, **fields)
    build = folder / "part.x86_64"
    build.write_text("")
    monkeypatch.setattr("wayword.datasets.robothor.check_installed", lambda: None)
    monkeypatch.setattr(pasture, "launch", partial(Controller, place))
    dataset = Pasture(
        split, folder, PastureSettings(simulator="thor", build=str(build))
    )
    task = dataset.tasks[0]
    assert isinstance(task.reference, ObjectNavReference)
    assert task.reference.targets == {target}
    assert task.episode.instruction == f"Find the {words}."
    assert in_view(dataset, task)[target] == words


def test_missing_files_are_named_with_where_to_take_them_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pasture" / "class_templates" / "spatial_appearence_map.json").unlink()
    with pytest.raises(
        DataError, match=r"spatial_appearence_map.json: no such file; take it"
    ):
        Pasture("appearance", folder).tasks[0]
    monkeypatch.setattr("wayword.datasets.robothor.check_installed", lambda: None)
    with pytest.raises(UsageError, match=r"dataset.build=\(empty\): no such file"):
        Pasture("uncommon", folder, PastureSettings(simulator="thor"))
    (folder / "build.x86_64").write_text("")
    build = PastureSettings(simulator="thor", build=str(folder / "build.x86_64"))
    with pytest.raises(
        DataError, match=r"robothor-objectnav-longtail/val/episodes: no such folder"
    ):
        Pasture("uncommon", folder, build).tasks[0]
    with pytest.raises(UsageError, match="pasture has no split 'visible'"):
        Pasture("visible", folder)

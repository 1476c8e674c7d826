"""TEACh's definitions and floors: read whole, restated faithfully, playable in iTHOR's rooms."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from helpers.rehearsing import rehearse
from wayword.agents.team.agent import Team, TeamSettings
from wayword.core.agent import Agent, Toolkit
from wayword.core.rollout import Setup, rollout
from wayword.datasets.ma_household import SPLITS, MaHousehold, read_floors
from wayword.datasets.sources.teach import (
    CLASSES,
    FOLDER,
    Definition,
    definitions,
    read_classes,
)
from wayword.worlds.household.skills import PlannedReference

pytestmark = pytest.mark.real
COUNTS = {
    "train": 108, "valid_seen": 88, "valid_unseen": 4, "test_seen": 107, "test_unseen": 8,
}  # fmt: skip


def test_the_restated_tasks_are_the_published_ones(data: Path) -> None:
    folder = data / FOLDER / "task_definitions"
    own = definitions()
    files = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    published = {
        d.task_name: d for d in TypeAdapter(list[Definition]).validate_python(files)
    }
    assert list(published) == list(own)
    assert len(own) == 25
    for name, definition in published.items():
        mine = own[name]
        assert definition.components == mine.components
        assert definition.relations == mine.relations
        assert (definition.task_id, definition.task_nparams) == (
            mine.task_id,
            mine.task_nparams,
        )
        assert (definition.task_anchor_object or "") == (mine.task_anchor_object or "")


def test_the_classes_of_generated_homes_are_parts_of_the_published_ones(
    data: Path,
) -> None:
    published = read_classes(data)
    for name, kinds in CLASSES.items():
        assert set(kinds) <= set(published[name]), name


def test_the_lists_of_floors_are_complete_and_unseen_ones_are_unseen(
    data: Path,
) -> None:
    floors = {split: set(read_floors(data, split)) for split in SPLITS}
    assert {split: len(found) for split, found in floors.items()} == COUNTS
    for split in ("valid_unseen", "test_unseen"):
        assert not floors[split] & floors["train"]


@pytest.mark.parametrize(("split", "missing"), [("valid_seen", 0), ("valid_unseen", 2)])
def test_the_expert_and_the_team_solve_tasks_in_published_rooms(
    data: Path, split: str, missing: int
) -> None:
    dataset = MaHousehold(split, data, MaHousehold.Settings(episodes=25))
    assert len(dataset.omissions) == missing
    assert all("Bathtub" in cause for cause in dataset.omissions)

    def make(toolkit: Toolkit, actor: str) -> Agent:
        return Team(TeamSettings(), toolkit)

    for task in dataset.tasks:
        world = dataset.world(task.episode)
        reference = task.reference
        assert isinstance(reference, PlannedReference)
        rehearse(world, task.episode, reference)
        assert reference.met(world.state()) == reference.parts(), task.episode.id
        trajectory = asyncio.run(
            rollout(task, Setup(dataset, make, max_steps=dataset.max_steps))
        )
        assert reference.met(trajectory.state) == reference.parts(), task.episode.id


def test_episodes_of_a_split_have_ids_of_their_own_and_play_in_its_rooms(
    data: Path,
) -> None:
    dataset = MaHousehold("valid_unseen", data, MaHousehold.Settings(episodes=60))
    floors = set(read_floors(data, "valid_unseen"))
    assert len({task.episode.id for task in dataset.tasks}) == 60
    assert {task.episode.scene for task in dataset.tasks} <= floors
    assert any("custom_object_classes" in name for name in dataset.files)

"""The published rearrangement episodes: what is kept, what is left out, and that an expert solves
them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from helpers.rehearsing import rehearse
from wayword.core.dataset import Task
from wayword.core.errors import DataError, UsageError
from wayword.core.game import PlanningFailed
from wayword.datasets.rearrangement import Rearrangement
from wayword.metrics.household import rearranged
from wayword.worlds.household.goals import RearrangementReference

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def val(data: Path) -> Rearrangement:
    return Rearrangement("2021_val", data)


def solved(dataset: Rearrangement, tasks: Iterable[Task]) -> list[bool]:
    found = []
    for task in tasks:
        world = dataset.world(task.episode)
        reference = task.reference
        assert isinstance(reference, RearrangementReference)
        world.reset(task.episode)
        start = world.state()
        assert reference.met(start) == 0, "everything named is out of place at first"
        assert all(other.met(start) for other in reference.others), (
            "and nothing else is"
        )
        try:
            rehearse(world, task.episode, reference)
        except PlanningFailed:
            found.append(False)
            continue
        scores = rearranged(reference, world.state())
        restored = {"sr_strict": 1.0, "misplaced": 0.0, "fixed_strict": 1.0}
        assert scores == restored, task.episode.id
        found.append(True)
    return found


def test_every_episode_is_kept_or_left_out_for_a_cause(val: Rearrangement) -> None:
    assert len(val.tasks) == 962
    assert val.omissions == {"nothing_displaced": 38}
    assert len(val.tasks) + sum(val.omissions.values()) == 1000
    assert "rearrangement/2021_val.json.gz" in val.files


def test_the_expert_solves_nearly_all_and_disturbs_nothing(val: Rearrangement) -> None:
    every = solved(val, val.tasks[::37])
    assert sum(every) / len(every) >= 0.9


def test_requests_name_what_the_world_calls_so_from_the_start(
    val: Rearrangement,
) -> None:
    for task in val.tasks[:40]:
        world = val.world(task.episode)
        reference = task.reference
        assert isinstance(reference, RearrangementReference)
        world.reset(task.episode)
        words = task.episode.instruction.lower()
        for goal in reference.goals:
            i = world.layout.index[goal.object]
            lid = "pickupable" not in world.scene.objects[i].affordances
            if lid or not goal.receptacle:
                named = [goal.object]
            else:
                named = [goal.object, goal.receptacle]
            assert all(str(world.name("agent", name)) in words for name in named)


def test_train_loads_in_full_and_shows_how_it_is_done(
    data: Path, val: Rearrangement
) -> None:
    train = Rearrangement("2021_train", data)
    assert len(train.tasks) == 3832
    assert train.omissions == {
        "nothing_displaced": 146,
        "unknown_object": 21,
        "target_on_nothing_known": 1,
    }
    assert {task.episode.scene for task in train.tasks[::500]}.isdisjoint(
        task.episode.scene for task in val.tasks[::100]
    )
    (shown,) = train.demonstrations(1, seed=0)
    assert "2021_train" in shown.episode.id


def test_a_split_that_is_not_there_is_named(data: Path) -> None:
    if not (data / "rearrangement" / "2021_test.json.gz").exists():
        with pytest.raises(DataError, match=r"2021_test\.json.*no such file"):
            Rearrangement("2021_test", data)
    with pytest.raises(UsageError, match="needs its data"):
        Rearrangement("2021_val")

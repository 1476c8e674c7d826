"""Rearrangement: named without doubt, solved by the expert with nothing else disturbed."""

from __future__ import annotations

import re

import pytest

from helpers.invariants import violations
from helpers.rehearsing import play
from helpers.sampling import some
from wayword.datasets.procedural.homes.chores import spoken_name
from wayword.datasets.rearrangement import Rearrangement
from wayword.metrics.household import rearranged
from wayword.worlds.household.goals import RearrangementReference
from wayword.worlds.household.verbs import LOW_LEVEL

UNTOUCHED = {"sr_strict": 0.0, "misplaced": 1.0, "fixed_strict": 0.0}
RESTORED = {"sr_strict": 1.0, "misplaced": 0.0, "fixed_strict": 1.0}


@pytest.fixture(scope="module")
def dataset() -> Rearrangement:
    return Rearrangement(
        settings=Rearrangement.Settings(homes=8, episodes=60, request="changes")
    )


def as_rearrangement(reference: object) -> RearrangementReference:
    assert isinstance(reference, RearrangementReference)
    return reference


def test_the_expert_restores_every_home_and_disturbs_nothing(
    dataset: Rearrangement,
) -> None:
    counts = set()
    for task in some(dataset.tasks, 3):
        world = dataset.world(task.episode)
        reference = as_rearrangement(task.reference)
        world.reset(task.episode)
        start = world.state()
        assert reference.met(start) == 0, "everything named is out of place at first"
        assert all(other.met(start) for other in reference.others), (
            "and nothing else is"
        )
        assert rearranged(reference, start) == UNTOUCHED
        actions = play(world, "agent", reference)
        assert {action.name for action in actions} <= set(LOW_LEVEL)
        end = world.state()
        assert rearranged(reference, end) == RESTORED, task
        assert end["actors"]["agent"]["low_level"] == len(actions) - 1, (
            "no action failed"
        )
        assert len(actions) <= dataset.max_steps
        assert not violations(world.house)
        counts.add(len(reference.goals))
    assert counts == {1, 2, 3, 4, 5}


def test_requests_name_objects_and_receptacles_that_are_the_only_ones(
    dataset: Rearrangement,
) -> None:
    swung = 0
    for task in dataset.tasks[:30]:
        world = dataset.world(task.episode)
        reference = as_rearrangement(task.reference)
        specs = {o.id: o for o in world.scene.objects}
        rooms = {i: world.layout.room_at(o.x, o.y) for i, o in specs.items()}
        sentences = re.findall(r"[^.:!]+[.:!]", task.episode.instruction)
        requests = sentences[-len(reference.goals) :]
        for goal, sentence in zip(reference.goals, requests, strict=True):
            kind = specs[goal.object].type
            assert spoken_name(kind) in sentence, "goals have the order of requests"
            place = goal.receptacle or goal.object
            assert spoken_name(kind) in task.episode.instruction
            assert f"in the {rooms[place]}" in task.episode.instruction
            if goal.receptacle:
                assert sum(o.type == kind for o in specs.values()) == 1
            else:
                swung += 1
            alike = [i for i, o in specs.items() if o.type == specs[place].type]
            assert sum(rooms[i] == rooms[place] for i in alike) == 1
    assert swung


def test_every_movable_object_counts(dataset: Rearrangement) -> None:
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    reference = as_rearrangement(task.reference)
    moving = {
        o.id
        for o in world.scene.objects
        if not o.affordances.isdisjoint(("pickupable", "openable"))
    }
    assert {goal.object for goal in (*reference.goals, *reference.others)} == moving

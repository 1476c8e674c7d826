"""Short instructions in homes: clear, not fulfilled at the start, solved by the expert."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.rehearsing import play
from helpers.sampling import LONG
from wayword.core.errors import UsageError
from wayword.datasets.grounding_homes import KINDS, GroundingHomes
from wayword.datasets.procedural.homes.chores import spoken_name
from wayword.worlds.household.goals import HouseholdReference, Near, NextTo
from wayword.worlds.household.verbs import LOW_LEVEL

EACH = 16 if LONG else 6
"""Episodes of each kind of instruction."""


def homes(split: str = "generated_test", **settings: Any) -> GroundingHomes:
    return GroundingHomes(split, None, GroundingHomes.Settings(**settings))


@pytest.mark.parametrize("kind", KINDS)
def test_the_expert_solves_every_instruction_and_none_is_fulfilled_before(
    kind: str,
) -> None:
    dataset = homes(kind=kind, homes=EACH // 2, episodes=EACH)
    for task in dataset.tasks:
        world = dataset.world(task.episode)
        reference = task.reference
        assert isinstance(reference, HouseholdReference)
        world.reset(task.episode)
        assert reference.met(world.state()) == 0, task.episode.instruction
        actions = play(world, "agent", reference)
        assert reference.met(world.state()) == 1, task.episode.instruction
        assert {action.name for action in actions} <= set(LOW_LEVEL)
        assert len(actions) <= dataset.max_steps


def test_instructions_name_the_one_object_and_any_of_several() -> None:
    dataset = homes(kind="pick_up", homes=5, episodes=20)
    for task in dataset.tasks:
        (goal,) = task.reference.goals  # type: ignore[attr-defined]
        kind = spoken_name(goal.objects[0].partition("|")[0])
        text = task.episode.instruction
        assert kind in text
        assert (f" the {kind}" in text) == (len(goal.objects) == 1), text


def test_near_asks_for_sight_and_reach() -> None:
    goal = Near(("mug|1", "mug|2"))
    for sees, met in (
        ({}, 0),
        ({"mug|2": 1.6}, 0),
        ({"cup|1": 0.5}, 0),
        ({"mug|2": 1.5}, 1),
    ):
        assert goal.met({"actors": {"agent": {"sees": sees}}}) == met


def test_alongside_asks_for_one_and_the_same_receptacle() -> None:
    goal = NextTo(("mug",), ("cup", "bowl"))
    for mug, cup, bowl, met in (
        ("table", "shelf", "desk", 0),
        ("table", "shelf", "table", 1),
        ("", "", "desk", 0),
    ):
        objects = {"mug": {"in": mug}, "cup": {"in": cup}, "bowl": {"in": bowl}}
        assert goal.met({"objects": objects}) == met


def test_kinds_take_turns_and_wrong_ones_are_refused() -> None:
    kinds = [task.reference.kind for task in homes(homes=5, episodes=10).tasks]  # type: ignore[attr-defined]
    assert kinds[:5] == list(KINDS)
    assert sorted(kinds) == sorted([*KINDS, *KINDS])
    with pytest.raises(UsageError, match="unknown kind 'fetch'"):
        GroundingHomes.Settings(kind="fetch")

"""Household tasks: drawn fairly, worded fully, solved by the expert's low-level actions alone."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from helpers.invariants import violations
from helpers.rehearsing import play
from helpers.sampling import LONG
from wayword.core.dataset import of_ids
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.game import Game
from wayword.datasets.household import Household
from wayword.datasets.procedural.homes.chores import (
    KINDS,
    SENTENCES,
    Chore,
    ask_for,
    plural,
)
from wayword.datasets.procedural.homes.episodes import kind_in_turn
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.verbs import LOW_LEVEL

EACH = 9 if LONG else 4
"""Episodes of each of the seven types."""


def household(split: str = "generated_test", **settings: int | str) -> Household:
    given: dict[str, object] = {"homes": 9, "episodes": EACH * len(KINDS), **settings}
    return Household(split, None, Household.Settings(**given))  # type: ignore[arg-type]


def goals(reference: object) -> HouseholdReference:
    assert isinstance(reference, HouseholdReference)
    return reference


@pytest.mark.parametrize("kind", KINDS)
def test_the_expert_solves_every_episode_by_low_level_actions_that_all_succeed(
    kind: str,
) -> None:
    dataset = household(kind=kind, episodes=EACH)
    for task in dataset.tasks:
        world = dataset.world(task.episode)
        reference = goals(task.reference)
        world.reset(task.episode)
        assert reference.met(world.state()) < reference.parts(), (
            "not solved from the start"
        )
        actions = play(world, "agent", reference)
        assert {action.name for action in actions} <= set(LOW_LEVEL)
        state = world.state()
        assert reference.met(state) == reference.parts(), task.episode.id
        assert state["actors"]["agent"]["low_level"] == len(actions) - 1, (
            "no action failed"
        )
        assert actions[-1].name == "stop"
        assert len(actions) <= dataset.max_steps
        assert not violations(world.house)


@pytest.mark.parametrize("rooms", [1, 3, 10])
def test_homes_of_other_sizes_are_solved_too(rooms: int) -> None:
    dataset = household(rooms=rooms, homes=2, episodes=len(KINDS))
    for task in dataset.tasks:
        world = dataset.world(task.episode)
        reference = goals(task.reference)
        world.reset(task.episode)
        play(world, "agent", reference)
        assert reference.met(world.state()) == reference.parts(), task.episode.id


@pytest.mark.parametrize("actions", ["low", "all"])
def test_a_body_that_reaches_farther_than_counts_as_lit_goes_up_to_the_lamp(
    actions: str,
) -> None:
    """LangSuitE's released body reaches 2 m; ALFRED's lamp counts from 1.5 m."""
    body = {"view_distance": 2.0, "manipulation_distance": 2.0, "pan_degrees": 0.0}
    given = {"actions": actions, "body": body, "kind": "look_at_obj_in_light"}
    dataset = household(episodes=EACH, **given)  # type: ignore[arg-type]
    for task in dataset.tasks:
        world = dataset.world(task.episode)
        game = Game(world, task.episode)
        for _ in game.follow("agent", dataset.plan(task, world, "agent", "expert")):
            pass
        assert goals(task.reference).met(world.state()) == goals(task.reference).parts()


@pytest.mark.parametrize("homes", [1, 6, 7, 14, 20])
def test_types_come_equally_often_and_each_home_has_them_all(homes: int) -> None:
    tasks = [(kind_in_turn(KINDS, n, homes), n % homes) for n in range(7 * 7 * homes)]
    assert set(Counter(kind for kind, _ in tasks).values()) == {7 * homes}
    assert len(set(tasks)) == 7 * homes


def test_types_take_turns_and_the_first_episodes_lie_in_different_homes() -> None:
    tasks = household().tasks
    assert [goals(task.reference).kind for task in tasks[:7]] == list(KINDS)
    assert len({task.episode.scene for task in tasks[:9]}) == 9
    assert len({task.episode.id for task in tasks}) == len(tasks)


def test_an_episode_means_the_same_for_any_number_of_episodes() -> None:
    few = household(episodes=5)
    many = household(episodes=50)
    assert list(few.tasks) == list(many.tasks[:5])
    assert tuple(few.world(few.tasks[0].episode).scene.objects) == tuple(
        many.world(many.tasks[0].episode).scene.objects
    )


def test_an_episode_names_no_object_of_its_goals_by_id() -> None:
    for task in household().tasks[:21]:
        instruction = json.dumps([task.episode.instruction, dict(task.episode.start)])
        ids = {
            i
            for goal in goals(task.reference).goals
            for i in getattr(goal, "objects", ())
        }
        assert not [name for name in ids if name in instruction]
        assert isinstance(task.episode, Episode)


@pytest.mark.parametrize("kind", KINDS)
def test_every_wording_names_the_object_and_the_place(kind: str) -> None:
    chore = Chore(kind, (), "butter_knife", "counter_top", "plate", "floor_lamp")
    wordings = {ask_for(random.Random(seed), chore) for seed in range(200)}
    assert len(wordings) == len(SENTENCES[kind]) >= 5
    for sentence in wordings:
        assert "butter kni" in sentence.lower()
        assert ("floor lamp" in sentence) == (kind == "look_at_obj_in_light")
        assert ("counter" in sentence) == (kind != "look_at_obj_in_light")
        assert ("plate" in sentence) == (kind == "pick_and_place_with_movable_recep")
        assert "{" not in sentence


def test_plurals() -> None:
    found = [
        plural(words) for words in ("butter knife", "loaf of bread", "watch", "apple")
    ]
    assert found == ["butter knives", "loaves of bread", "watches", "apples"]


def test_demonstrations_come_from_the_train_split_and_solve_it() -> None:
    dataset = household()
    shown = dataset.demonstrations(2, seed=1)
    ids = [each.episode.id for each in shown]
    assert ids == [each.episode.id for each in dataset.demonstrations(2, seed=1)]
    assert len(set(ids)) == 2
    train = of_ids(dataset.training().tasks, ids)
    for each in shown:
        world = each.world()
        reference = goals(train[each.episode.id].reference)
        world.reset(each.episode)
        for action in each.actions:
            world.step("agent", action)
        assert reference.met(world.state()) == reference.parts()
        assert "train" in each.episode.scene


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown kind 'cook'"):
        Household.Settings(kind="cook")
    with pytest.raises(UsageError, match="rooms must be at most 100, got 101"):
        Household.Settings(rooms=101)
    with pytest.raises(UsageError, match="has no split"):
        Household("valid")


def test_rooms_in_instructions_are_those_of_the_objects_and_change_no_draw() -> None:
    plain = household(homes=1, episodes=7)
    named = household(homes=1, episodes=7, instructions="rooms")
    for task, other in zip(plain.tasks, named.tasks, strict=True):
        assert (task.episode.start, task.reference) == (
            other.episode.start,
            other.reference,
        )
        first, *hints = other.episode.instruction.split(" Look for the ")
        assert first == task.episode.instruction
        world = named.world(other.episode)
        objects = {each.id: each for each in world.scene.objects}
        goal: Any = goals(other.reference).goals[0]
        places = (objects[name] for name in goal.objects)
        rooms = {world.layout.room_at(each.x, each.y) for each in places}
        assert (
            set(hints[0].rstrip(".").partition(" in the ")[2].split(" and the "))
            == rooms
        )
    with pytest.raises(
        UsageError, match="generated_test has no steps; set instructions=goal"
    ):
        household(instructions="steps")

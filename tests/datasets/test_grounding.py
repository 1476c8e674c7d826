"""Instruction grounding: every level solved by the expert, scored by the level's own verdict."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from helpers.sampling import LONG
from wayword.agents.baselines.oracles import Expert
from wayword.core.action import Decision
from wayword.core.episode import NoSettings
from wayword.core.errors import UsageError
from wayword.core.game import Game, PlanningFailed
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.grounding import LEVEL_NUMBERS, LEVELS, Grounding, level_seed
from wayword.metrics.scoring import score
from wayword.testing.contracts import check_dataset, check_world
from wayword.worlds.babyai.expert import expert_length, plan
from wayword.worlds.babyai.level import Level
from wayword.worlds.babyai.world import HIGH_LEVEL, BabyAIWorld

EACH = 16 if LONG else 4
"""Episodes of each of the 36 levels."""


def grounding(split: str = "test", **settings: object) -> Grounding:
    return Grounding(split, None, Grounding.Settings(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("level", LEVELS)
def test_the_expert_solves_every_episode_of_every_level(level: str) -> None:
    for number in range(EACH):
        opened = Level(level)
        opened.start(level_seed("test", 0, number))
        for code in plan(opened):
            opened.act(code)
        assert opened.reward > 0, f"{level} {number}"
        assert opened.steps <= Grounding.max_steps


def played(dataset: Grounding, number: int) -> Trajectory:
    setup = Setup(dataset, lambda kit, _: Expert(NoSettings(), kit), max_steps=500)
    return asyncio.run(rollout(dataset.tasks[number], setup))


def test_the_expert_as_an_agent_scores_full_marks() -> None:
    dataset = grounding(
        levels=("KeyInBox", "UnlockPickupDist", "PutNextS5N2"), episodes=6
    )
    trajectories = [played(dataset, number) for number in range(6)]
    assert {trajectory.ended for trajectory in trajectories} == {"stopped"}
    assert all(step.feedback.ok for each in trajectories for step in each.steps)
    scores = score(dataset, list(zip(dataset.tasks, trajectories, strict=True)))
    assert [found["sr"] for found in scores] == [1.0] * 6
    assert [found["plw_sr"] for found in scores] == [1.0] * 6
    assert [found["low_level"] for found in scores] == [
        len(each.steps) for each in trajectories
    ]
    assert all(0.1 < found["reward"] < 1 for found in scores)


def test_path_weights_and_failures_by_hand() -> None:
    dataset = grounding(levels="GoToObj", episodes=1)
    (task,) = dataset.tasks
    best = expert_length("GoToObj", 0)
    assert best == 3
    done = Trajectory(
        task.episode.id, {}, state={"success": True, "reward": 0.9, "steps": 5}
    )
    lost = replace(done, state={"success": False, "reward": 0.0, "steps": 4, "idle": 2})
    failed = replace(done, state={}, ended="failed")
    found = score(dataset, [(task, done), (task, lost), (task, failed)])
    assert [each["plw_sr"] for each in found] == [pytest.approx(0.6), 0.0, 0.0]
    assert [each["low_level"] for each in found] == [5.0, 6.0, 0.0]
    assert [each["reward"] for each in found] == [0.9, 0.0, 0.0]


def test_where_the_bot_gives_up_the_expert_says_so() -> None:
    level = Level("UnlockPickup")
    level.start(0)
    for item in [t for t in level.env.grid.grid if t is not None and t.type == "key"]:
        x, y = level.find(item) or (0, 0)
        level.env.grid.set(x, y, None)
    with pytest.raises(PlanningFailed, match="UnlockPickup: the package's bot"):  # noqa: PT012 - each is a step
        for code in plan(level):
            level.act(code)


@pytest.mark.parametrize(
    "level", ["PutNextLocalS6N4", "GoToObjMazeS4", "KeyInBox", "GoToSeqS5R2"]
)
def test_an_expert_that_runs_skills_solves_levels_too(level: str) -> None:
    dataset = grounding(levels=level, episodes=1, actions="high")
    (task,) = dataset.tasks
    actions = dataset.solve(task)
    assert {action.name for action in actions} <= set(HIGH_LEVEL)
    game = Game(dataset.world(task.episode), task.episode)
    steps = [game.act("agent", Decision(action)) for action in actions]
    assert steps[-1].feedback.details["succeeded"]


@pytest.mark.parametrize("actions", ["low", "high"])
def test_the_contracts_hold(actions: str) -> None:
    for split in Grounding.splits:
        dataset = grounding(split, episodes=64, actions=actions)
        check_dataset(dataset)
        check_world(dataset, episodes=4)


def test_levels_take_turns_and_streams_share_no_draw() -> None:
    test = grounding(episodes=64)
    train = grounding("train", episodes=64)
    assert [task.episode.scene for task in test.tasks] == [*LEVELS, *LEVELS]
    draws = [
        {(t.episode.scene, t.episode.start["seed"]) for t in each.tasks}
        for each in (test, train, grounding(episodes=64, seed=1))
    ]
    assert len(set.union(*draws)) == 3 * 64
    assert grounding(episodes=3).tasks[2] == test.tasks[2]


def test_no_train_episode_equals_a_test_episode() -> None:
    """Levels of few states draw many twice; the generator leaves those of the test split out."""

    def states(split: str, **settings: Any) -> list[str]:
        dataset = grounding(split, levels="GoToObjS4", **settings)
        found = []
        for task in dataset.tasks:
            world = dataset.world(task.episode)
            world.reset(task.episode)
            found.append(json.dumps(world.state(), sort_keys=True))
        return found

    test = {*states("test", episodes=500)}
    train = states("train", episodes=40)
    assert len(test) < 500
    assert len({*train}) > 10
    for found in (
        train,
        states("train", seed=3, episodes=40),
        states("train", length=2, episodes=8),
    ):
        assert not test & {*found}


def test_a_level_whose_states_are_all_tested_has_no_train_split() -> None:
    train = grounding("train", levels="OpenRedDoor", episodes=3)
    with pytest.raises(
        UsageError, match="level OpenRedDoor has too few states for train episodes"
    ):
        train.tasks[0]
    assert (
        grounding("test", levels="OpenRedDoor", episodes=3).tasks[0].episode.instruction
    )


def test_demonstrations_solve_train_episodes() -> None:
    for shown in grounding(levels="GoToObjDoor,Pickup").demonstrations(2, 3):
        assert "-train-" in shown.episode.id
        world = shown.world()
        assert isinstance(world, BabyAIWorld)
        world.reset(shown.episode)
        for action in shown.actions:
            world.step("agent", action)
        assert world.state()["success"]


def test_settings_that_cannot_be_are_refused() -> None:
    assert len(LEVEL_NUMBERS) == 36
    assert Grounding.Settings(levels="1RoomS20").level_names() == ("OneRoomS20",)
    for wrong, text in (
        ({"levels": "TestGoToBlocked"}, "has no level 'TestGoToBlocked'"),
        ({"levels": ("GoToObj", "../x")}, "no level '../x'"),
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ):
        with pytest.raises(UsageError, match=text):
            Grounding.Settings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no split 'val'"):
        Grounding("val")

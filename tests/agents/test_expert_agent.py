"""The expert as an agent: in the run loop, with company in the house, and where it is stuck."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.small_cave import Caves
from wayword import run
from wayword.agents.baselines.oracles import Expert
from wayword.core.action import STOP
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import NoSettings
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.datasets.household import Household
from wayword.datasets.ma_wah import MaWah
from wayword.datasets.procedural.homes.home import build_home
from wayword.worlds.household.goals import Held, HouseholdReference
from wayword.worlds.household.verbs import LOW_LEVEL


def played(dataset: Household | MaWah, task: Task) -> Trajectory:
    def make(toolkit: Toolkit, actor: str) -> Agent:
        return Expert(NoSettings(), toolkit)

    return asyncio.run(rollout(task, Setup(dataset, make, max_steps=dataset.max_steps)))


def household() -> Household:
    return Household(settings=Household.Settings(homes=2, episodes=7))


def test_every_decision_is_a_low_level_action_that_succeeds() -> None:
    dataset = household()
    trajectory = played(dataset, dataset.tasks[0])
    assert trajectory.ended == "stopped"
    assert {action.name for action in trajectory.actions("agent")} <= set(LOW_LEVEL)
    assert all(step.feedback.ok for step in trajectory.steps)


def test_where_it_cannot_go_on_it_stops_and_a_note_says_why() -> None:
    dataset = household()
    task = dataset.tasks[0]
    fridge = HouseholdReference(task.episode.id, "impossible", (Held(("fridge|1",)),))
    trajectory = played(dataset, replace(task, reference=fridge))
    notes = [note for step in trajectory.steps for note in step.notes]
    assert [note.kind for note in notes] == ["expert_stuck"]
    assert notes[0].details["reason"] == "pick_up fridge|1: not_pickupable"
    assert trajectory.ended == "stopped"


def test_two_experts_in_one_home_do_not_stop_each_other() -> None:
    dataset = household()
    task = dataset.tasks[0]
    goal = task.reference
    here = task.episode.start["poses"]["agent"]
    assert isinstance(goal, HouseholdReference)
    free = build_home(task.episode.scene).starts
    x, y = next(at for at in free if 0.6 < math.dist(at, (here["x"], here["y"])) < 1.2)
    poses = {"agent": here, "other": {"x": x, "y": y, "heading": 0.0}}
    start = {**task.episode.start, "poses": poses}
    episode = replace(task.episode, start=start, actors=("agent", "other"))
    trajectory = played(dataset, replace(task, episode=episode))
    assert trajectory.ended == "stopped", trajectory.error
    assert goal.met(trajectory.state) == goal.parts()


def test_experts_of_a_shared_job_try_again_where_another_foiled_a_plan() -> None:
    dataset = MaWah(settings=MaWah.Settings(homes=3, episodes=4))
    foiled = 0
    for task in dataset.tasks:
        trajectory = played(dataset, task)
        goal = task.reference
        assert isinstance(goal, HouseholdReference)
        assert trajectory.ended == "stopped", trajectory.error
        assert goal.met(trajectory.state) == goal.parts(), task.episode.id
        assert not [note for step in trajectory.steps for note in step.notes]
        foiled += any(not step.feedback.ok for step in trajectory.steps)
    assert foiled  # otherwise there was nothing to try again


class SolvedCaves(Caves):
    """A user's world whose dataset has a plan."""

    solutions = ("expert",)

    def make_plan(self, task: Task, world: World, actor: str, kind: str) -> ActionPlan:
        yield STOP


def test_it_follows_the_plan_of_a_users_dataset(tmp_path: Path) -> None:
    result = run("expert", SolvedCaves, limit=1, out=tmp_path / "solved")
    assert (result.outcome.finished, result.outcome.failed) == (1, 0)
    with pytest.raises(UsageError, match="expert acts in alfworld, babyai, household"):
        run("expert", Caves, limit=1, out=tmp_path / "unsolved")

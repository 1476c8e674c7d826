"""Replay gives again what was recorded, and plays lists and plans by the same rules."""

from __future__ import annotations

import asyncio

import pytest

from helpers.small_flat import SmallFlat
from helpers.small_house import SmallHouse
from wayword.agents.baselines.random import RandomAgent, RandomSettings
from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.replay import ActionPlan, PlanningFailed, ReasonedPlan, replay
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Step, Trajectory

HOUSE = SmallHouse()
TASK = HOUSE.tasks[0]
B, C = Action("goto", ("b",)), Action("goto", ("c",))


def places(steps: list[Step]) -> list[str]:
    return [step.pose["viewpoint"] for step in steps]


def played(actions: object) -> list[Step]:
    turns = replay(HOUSE.world(TASK.episode), TASK.episode, actions)  # type: ignore[arg-type]
    return [turn.step() for turn in turns]


def test_a_recorded_episode_is_gone_through_step_for_step() -> None:
    flat = SmallFlat(poses={"ann": (1.0, 1.5, 0.0), "bob": (3.0, 1.5, 180.0)})
    task = flat.tasks[0]
    setup = Setup(flat, lambda tools, actor: RandomAgent(RandomSettings(steps=6), tools))
    told = asyncio.run(rollout(task, setup))
    assert {step.actor for step in told.steps} == {"ann", "bob"}
    world = flat.world(task.episode)
    again = [turn.step() for turn in replay(world, task.episode, told)]
    for one, other in zip(told.steps, again, strict=True):
        assert (one.actor, one.observation, one.decision) == (
            other.actor,
            other.observation,
            other.decision,
        )
        assert (one.feedback, one.pose) == (other.feedback, other.pose)
    assert world.state() == told.state


def test_a_turn_is_shown_before_its_action_is_carried_out_and_that_only_once() -> None:
    world = HOUSE.world(TASK.episode)
    turns = replay(world, TASK.episode, [B, C])
    assert world.pose("agent")["viewpoint"] == "s", "reset at once"
    first = next(turns)
    assert world.pose("agent")["viewpoint"] == "s"
    assert first.execute() is first.execute()
    assert world.pose("agent")["viewpoint"] == "b"
    assert next(turns).action == C
    assert next(turns, None) is None
    assert world.pose("agent")["viewpoint"] == "c", "carried out when the loop goes on"


def test_what_is_not_legal_is_a_rejection_and_changes_nothing() -> None:
    steps = played([C, B, STOP, C])
    assert places(steps) == ["s", "b", "b", "b"]
    kinds = [s.decision.kind if isinstance(s.decision, Rejection) else "" for s in steps]
    assert kinds == ["illegal", "", "", "illegal"]
    assert steps[0].feedback.status == "rejected"
    assert steps[0].feedback.details["reason"] == "goto[c] is not a legal action here"


def test_a_recorded_rejection_stays_one() -> None:
    told = Trajectory("to_c", {"agent": {}})
    for decision in (Rejection("empty", "nothing was said"), Decision(B)):
        told.steps.append(Step("agent", {}, decision, played([B])[0].feedback, {}))
    steps = played(told)
    assert steps[0].decision == Rejection("empty", "nothing was said")
    assert places(steps) == ["s", "b"]


def test_a_plan_hears_what_came_of_each_action_and_ends_with_its_actor() -> None:
    heard: list[str] = []

    def plan() -> ActionPlan:
        heard.append((yield B).status)
        heard.append((yield Action("goto", ("nowhere",))).status)
        yield STOP
        raise AssertionError("asked after its actor was done")

    assert places(played(plan())) == ["b", "b", "b"]
    assert heard == ["ok", "rejected"]


def test_a_plan_may_end_before_its_actor_does_or_fail() -> None:
    def short() -> ActionPlan:
        yield B

    def stuck() -> ActionPlan:
        yield B
        raise PlanningFailed("a wall")

    assert places(played(short())) == ["b"]
    with pytest.raises(PlanningFailed, match="a wall"):
        played(stuck())


def test_a_list_names_its_actors_or_is_played_by_the_one_that_is_asked_for() -> None:
    flat = SmallFlat(poses={"ann": (1.0, 1.5, 0.0), "bob": (3.0, 1.5, 180.0)})
    task = flat.tasks[0]
    left = Action("turn_left")
    for actor, alone in (("", "ann"), ("bob", "bob")):
        turns = replay(flat.world(task.episode), task.episode, [left, ("ann", left)], actor)
        assert [turn.step().actor for turn in turns] == [alone, "ann"]


def test_a_plan_may_say_why_it_takes_each_action() -> None:
    asked: list[str] = []

    def plan() -> ActionPlan:
        asked.append("b is on the way")
        yield B
        asked.append("this is it")
        yield STOP

    steps = played(ReasonedPlan(plan(), lambda: asked[-1]))
    assert [step.decision.thought for step in steps] == ["b is on the way", "this is it"]
    assert [step.decision.thought for step in played(plan())] == ["", ""], "no reasons, no thoughts"


def test_a_turn_of_a_rejection_has_no_action() -> None:
    (refused,) = replay(HOUSE.world(TASK.episode), TASK.episode, [C])
    (legal,) = replay(HOUSE.world(TASK.episode), TASK.episode, [B])
    assert (refused.action, legal.action) == (None, B)

"""An agent's prompts as a view: the words that a run of the agent asks, byte for byte."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from wayword.core.dataset import Dataset, Task
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.envs import make
from wayword.models.parts.opening import open_model
from wayword.runs.opening import open_agent
from wayword.runs.plan import Plan

ONE = {"houses": 1, "episodes": 2}


def rolled_out(agent: str, dataset: Dataset, task: Task) -> Trajectory:
    """The agent's own run, with a model that says the first thing it may."""
    plan = Plan(agent, "houses", "scripted:first")
    setup = Setup(
        dataset, open_agent(plan, dataset).make, {"main": open_model("scripted:first")},
        max_steps=4,
    )  # fmt: skip
    return asyncio.run(rollout(task, setup))


@pytest.mark.parametrize("agent", ["navgpt", "walker", "react"])
def test_the_policy_is_queried_what_a_run_asks(agent: str) -> None:
    with make("houses", view=agent, settings=ONE, max_steps=4) as env:
        played = rolled_out(agent, env.dataset, env.tasks[0])
        seen, _ = env.reset(episode=0)
        for call in played.calls():
            prompts = call.prompt
            if not isinstance(prompts, str):
                prompts = [
                    {"role": one.role, "content": one.content} for one in prompts
                ]  # type: ignore[assignment]
            assert seen == prompts
            assert call.answer is not None
            if hasattr(call.answer, "best"):
                answer = call.answer.best
            else:
                answer = call.answer.text
            seen, _, ended, cut, _ = env.step(answer)
        assert ended or cut
        mine = env.trajectory()
        assert [step.decision for step in mine.steps] == [
            s.decision for s in played.steps
        ]
        assert [c.prompt for c in mine.calls()] == [c.prompt for c in played.calls()]


def test_a_choice_that_is_none_is_queried_again_and_costs_a_turn() -> None:
    with make("houses", view="walker", settings=ONE) as env:
        seen, info = env.reset()
        assert info["options"] == ["no", "yes"]
        again, _, _, _, info = env.step("somewhere nice")
        assert again == seen
        assert info["rejected"]
        assert info["steps"] == 1


def test_constraints_of_an_answer_are_reported() -> None:
    with make("houses", view="navgpt", settings=ONE) as env:
        _, info = env.reset()
        assert info["json_schema"]["required"] == ["thought", "arrived", "action"]


def test_clones_are_played_again() -> None:
    with make("houses", view="walker", settings=ONE) as env:
        env.reset()
        env.step("no")
        with env.clone() as other:
            assert other.step("yes")[0] == env.step("yes")[0]


def test_dropped_in_a_turn_it_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Trainers drop environments in the middle of an episode: that is no error of theirs."""
    env = make("houses", view="navgpt", settings=ONE)
    env.reset()
    env.step("nonsense")
    env.reset()
    copy = env.clone()
    del copy, env
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == []


def test_it_can_be_stepped_where_a_loop_is_running() -> None:
    async def inside() -> Any:
        with make("houses", view="navgpt", settings=ONE) as env:
            env.reset()
            return env.step("nonsense")[4]

    assert asyncio.run(inside())["rejected"]

"""No agent carries out what is not legal, however it is written: the run loop looks for itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from wayword.agents.baselines.simple import RandomAgent
from wayword.core.action import Action, Decision, Rejection
from wayword.core.dataset import Dataset
from wayword.core.rollout import Setup, rollout
from wayword.runs import Plan
from wayword.runs.opening import open_dataset


class Cheat(RandomAgent):
    """Answers with an action of its own making, as a buggy or hostile agent may."""

    answer: Any = None
    heard: list[Any] = []  # noqa: RUF012 - one agent at a time

    async def act(self, observation: Any, space: Any) -> Any:
        return Decision(self.answer, "I may")

    def on_feedback(self, decision: Any, feedback: Any) -> None:
        self.heard.append((decision, feedback))


@pytest.fixture(scope="module")
def houses() -> Dataset:
    return open_dataset(
        Plan("random", "houses", settings={"dataset": {"houses": 1, "episodes": 3}})
    )


@pytest.mark.parametrize(
    "action",
    [
        Action("goto", ("nonsense",)),
        Action("fly"),
        Action("stop", ("here",)),
        Action("", ()),
        Action("goto", ()),
        Action("__class__"),
    ],
)
def test_an_illegal_action_becomes_a_rejection(houses: Dataset, action: Action) -> None:
    Cheat.answer = action
    Cheat.heard = []
    setup = Setup(
        houses, lambda toolkit, actor: Cheat(Cheat.Settings(), toolkit), max_steps=2
    )
    trajectory = asyncio.run(rollout(houses.tasks[0], setup))
    assert (trajectory.ended, len(trajectory.steps)) == ("step_limit", 2)
    start = trajectory.start["agent"]
    for step in trajectory.steps:
        assert isinstance(step.decision, Rejection)
        assert step.decision.kind == "illegal"
        assert step.decision.thought == "I may"
        assert step.pose["viewpoint"] == start["viewpoint"], "the world has moved"
    assert [type(decision) for decision, _ in Cheat.heard] == [Rejection, Rejection]

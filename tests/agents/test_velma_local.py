"""VELMA with the embedded model: every token of an episode's prompt is evaluated once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from wayword.agents.velma.agent import Velma, VelmaSettings
from wayword.core.agent import Agent, Toolkit
from wayword.core.model import Choice
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.towns import Towns
from wayword.models.local import LocalModel, LocalSettings

pytestmark = pytest.mark.local_model
STEPS = 12


def walk(settings: VelmaSettings) -> Trajectory:
    """The first steps of the first town, with a model of its own."""
    towns = Towns()

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return Velma(settings, toolkit)

    async def run() -> Trajectory:
        model = LocalModel("smollm2", LocalSettings(slots=1))
        try:
            setup = Setup(towns, build, {"main": model}, max_steps=STEPS)
            return await rollout(towns.tasks[0], setup)
        finally:
            await model.aclose()

    return asyncio.run(run())


def test_each_prompt_token_is_evaluated_once() -> None:
    trajectory = walk(VelmaSettings(shots=0))
    assert trajectory.error == ""
    usages = [call.answer.usage for call in trajectory.calls() if call.answer]
    assert len(usages) == len(trajectory.steps) - 1 >= 5, (
        "all but the opening are asked for"
    )
    assert usages[0].reused == 0
    evaluated = sum(usage.prompt - usage.reused for usage in usages)
    assert evaluated <= 1.05 * usages[-1].prompt
    assert all(isinstance(call.answer, Choice) for call in trajectory.calls())


def test_a_completion_answers_several_steps_of_a_quiet_street() -> None:
    small = VelmaSettings(shots=2, **Velma.small_model)
    settings = replace(small, decoding="complete", draw="run")
    trajectory = walk(settings)
    assert trajectory.error == ""
    assert len(list(trajectory.calls())) < len(trajectory.steps) - 1

"""Homes say what changed: an honest player solves as much, and reads less."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers import honest_player as honest
from helpers.playing import Scripted
from helpers.small_flat import SmallFlat
from wayword.agents.strategies.agents import Act
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import HISTORY_DROPPED
from wayword.datasets.household import Household
from wayword.datasets.iqa import InteractiveQuestions
from wayword.metrics.household import score_state

EPISODES = 4


def played(dataset: Any, script: Any, view: Any) -> tuple[float, int]:
    """Solved episodes, and the characters of all messages."""
    solved = 0.0
    characters = 0
    for task in dataset.tasks:
        model = honest.Honest(script)
        settings = Act.Settings(decoding="free", context=100_000, view=view)
        setup = Setup(
            dataset,
            lambda toolkit, actor, chosen=settings: Act(chosen, toolkit),
            {"main": model},
            max_steps=150,
        )
        ended = asyncio.run(rollout(task, setup))
        solved += score_state(task.reference, ended.state)["sr"]
        characters += sum(len(prompt[-1].content) for prompt in model.prompts)  # type: ignore[union-attr]
    return solved, characters


@pytest.mark.parametrize(
    ("kind", "script"),
    [(Household, honest.household), (InteractiveQuestions, honest.question)],
)
def test_changes_are_enough_and_shorter(kind: Any, script: Any) -> None:
    dataset = kind(settings=kind.Settings(homes=2, episodes=EPISODES))
    solved, characters = played(dataset, script, "full")
    solved_by_changes, fewer = played(dataset, script, "changes")
    assert solved_by_changes >= solved >= EPISODES - 1
    # The full views are grouped by furniture, too.
    assert fewer <= 0.7 * characters, fewer / characters


@pytest.mark.parametrize("context", [1_300, 1_500, 100_000])
def test_what_is_in_view_is_described_in_the_prompt_though_old_steps_were_dropped(
    context: int,
) -> None:
    """Of one who turns in a room, and has seen all of it after a few steps."""
    dataset = SmallFlat()
    model = Scripted(["Action: turn_left"])
    settings = Act.Settings(decoding="free", context=context, view="changes")
    setup = Setup(
        dataset,
        lambda toolkit, actor: Act(settings, toolkit),
        {"main": model},
        max_steps=24,
    )
    ended = asyncio.run(rollout(dataset.tasks[0], setup))
    assert bool(ended.noted(HISTORY_DROPPED)) == (context < 2_000)
    shown = [prompt.partition("<user>")[2] for prompt in model.prompts]
    for number, (step, prompt) in enumerate(zip(ended.steps, shown, strict=True), 1):
        view: Any = step.observation
        names = [each.name for each in (*view.objects, *view.doors)]
        assert [name for name in names if name not in prompt] == [], number
    repeated = sum("nothing new" in prompt.rpartition("<user>")[2] for prompt in shown)
    assert repeated, "and is not described at each step"

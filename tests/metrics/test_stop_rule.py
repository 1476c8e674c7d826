"""Each dataset states what a walk without a stop is worth; the score and the prompt follow it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from wayword.agents.pages import Prompts
from wayword.agents.strategies import strategy
from wayword.core.action import Action, ActionSpace, Decision
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset
from wayword.core.rollout import Setup, rollout
from wayword.core.world import Observation
from wayword.datasets.apartments import Apartments
from wayword.datasets.grounding import Grounding
from wayword.datasets.household import Household
from wayword.datasets.houses import Houses
from wayword.datasets.rearrangement import Rearrangement
from wayword.datasets.towns import Towns
from wayword.metrics.scoring import score


class Player(Agent):
    """Takes the actions of a solution."""

    def __init__(self, actions: list[Action]) -> None:
        self._actions = actions

    async def act(self, observation: Observation, space: ActionSpace) -> Decision:
        return Decision(self._actions.pop(0))


def success(dataset: Dataset, stops: bool) -> float:
    task = dataset.tasks[0]
    actions = list(dataset.solve(task))
    if not stops and actions[-1].name == "stop":
        actions.pop()

    def build(toolkit: Toolkit, actor: str) -> Agent:
        assert toolkit.needs_stop == dataset.needs_stop
        return Player(list(actions))

    played = asyncio.run(rollout(task, Setup(dataset, build, max_steps=len(actions))))
    assert played.ended == ("stopped" if stops else "step_limit"), played.error
    (scores,) = score(dataset, [(task, played)])
    return scores[dataset.family.success]


WORLDS: dict[str, Any] = {
    "houses": lambda: Houses(settings=Houses.Settings()),
    "towns": lambda: Towns(),
    "household": lambda: Household(settings=Household.Settings(homes=1, episodes=1)),
    "rearrangement": lambda: Rearrangement(
        settings=Rearrangement.Settings(homes=1, episodes=1)
    ),
    "apartments": lambda: Apartments(settings=Apartments.Settings(homes=1, episodes=1)),
}


@pytest.mark.parametrize("world", WORLDS)
def test_a_solution_without_its_stop_is_worth_what_the_dataset_says(world: str) -> None:
    dataset = WORLDS[world]()
    assert success(dataset, stops=True) == 1.0
    assert success(dataset, stops=False) == float(not dataset.needs_stop)


def test_a_grid_ends_by_itself() -> None:
    pytest.importorskip("minigrid")
    dataset = Grounding(settings=Grounding.Settings(levels="GoToObj", episodes=1))
    assert not dataset.needs_stop


def test_the_prompt_says_the_rule() -> None:
    prompts = Prompts(strategy.__file__, page=strategy.Strategy.page)
    failing = prompts.fill("step_limit", limit=9, needs_stop=True)
    assert "Without a stop you fail" in failing
    staying = prompts.fill("step_limit", limit=9, needs_stop=False)
    assert "the episode ends as it is" in staying

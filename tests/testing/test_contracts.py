"""The contracts of agents and worlds name each broken promise."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.core.action import STOP, Action, ActionSpace, Decision
from wayword.core.agent import Agent
from wayword.core.episode import Episode
from wayword.core.trajectory import Verdict
from wayword.core.world import Feedback, Observation
from wayword.datasets.houses import Houses
from wayword.testing import check_agent, check_world
from wayword.worlds.indoor.world import IndoorWorld


class Stops(Agent):
    learns = True

    def __init__(self, settings: Any, toolkit: Any) -> None:
        pass

    async def begin(self, episode: Episode) -> None:
        pass

    async def act(self, observation: Observation, space: ActionSpace) -> Decision:
        return Decision(STOP)

    async def reflect(self, verdict: Verdict) -> bool:
        raise ValueError("no lesson in the answer")


def test_a_learning_agent_reflects_on_noise() -> None:
    with pytest.raises(AssertionError, match="no lesson in the answer"):
        check_agent(Stops, Houses())


class CountsRefusals(IndoorWorld):
    """A refused action changes a list of the state in place."""

    def reset(self, episode: Episode) -> None:
        super().reset(episode)
        self._tried: list[str] = []

    def step(self, actor: str, action: Action) -> Feedback:
        self._tried.append(action.name)
        return super().step(actor, action)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "tried": self._tried}


def test_a_refused_action_changes_no_list_of_the_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = Houses()
    graph = dataset.graph(dataset.tasks[0].episode.scene)
    monkeypatch.setattr(dataset, "world", lambda episode: CountsRefusals(graph))
    with pytest.raises(AssertionError, match="changed the state"):
        check_world(dataset, episodes=1)

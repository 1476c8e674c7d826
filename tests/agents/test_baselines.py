"""Baselines and the shortest-path oracle on a graph worked out by hand."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from helpers.playing import play
from wayword.agents.baselines.oracles import ShortestPathOracle
from wayword.agents.baselines.simple import ForwardAgent, RandomAgent, RandomSettings
from wayword.core.action import STOP, Action, ActionSpace, Decision
from wayword.core.episode import NoSettings
from wayword.core.world import SLIPPED, Feedback
from wayword.worlds.indoor.world import IndoorObservation
from wayword.worlds.street.world import StreetObservation


def test_the_oracle_goes_straight_to_each_goal() -> None:
    for episode, goal in ((0, "c"), (1, "d")):
        trajectory = play(ShortestPathOracle, NoSettings(), {}, episode)
        assert [p["viewpoint"] for p in trajectory.visited("agent")] == [
            "s",
            "b",
            goal,
            goal,
        ]
        assert trajectory.ended == "stopped"


def test_random_stops_after_its_steps_and_repeats_itself() -> None:
    first = play(RandomAgent, RandomSettings(steps=4), {})
    again = play(RandomAgent, RandomSettings(steps=4), {})
    assert len(first.actions("agent")) == 5
    assert str(first.actions("agent")[-1]) == "stop"
    assert first.visited("agent") == again.visited("agent")


class Neighbor(NamedTuple):
    viewpoint: str
    heading: float


def agent_of(kind: Any, settings: Any = None) -> Any:
    toolkit = SimpleNamespace(rng=random.Random(0))
    return kind(settings or RandomSettings(), toolkit)


def acts(agent: Any, observation: Any, space: ActionSpace, most: int = 60) -> list[str]:
    """The names of an agent's actions at one place, up to its stop."""
    names = []
    for _ in range(most):
        decision = asyncio.run(agent.act(observation, space))
        names.append(decision.action.name)
        if decision.action == STOP:
            break
        agent.on_feedback(decision, Feedback("ok"))
    return names


FORWARD = ActionSpace((Action("forward"), Action("left"), Action("right"), STOP))


def street(exits: int) -> Any:
    observation = object.__new__(StreetObservation)
    object.__setattr__(observation, "angles", (0.0,) * exits)
    return observation


def house(heading: float, *exits: float) -> Any:
    observation = object.__new__(IndoorObservation)
    neighbors = tuple(Neighbor(f"v{number}", each) for number, each in enumerate(exits))
    object.__setattr__(observation, "heading", heading)
    object.__setattr__(observation, "neighbors", neighbors)
    return observation


GOTO = ActionSpace((Action("goto", ("v0",)), STOP))


def test_a_walk_without_a_model_has_the_moves_of_a_typical_route() -> None:
    assert acts(agent_of(ForwardAgent), street(2), FORWARD) == ["forward"] * 39 + [
        "stop"
    ]
    assert acts(agent_of(ForwardAgent), house(0, 0), GOTO) == ["goto"] * 5 + ["stop"]
    assert len(acts(agent_of(RandomAgent), street(2), FORWARD)) == 40
    assert len(acts(agent_of(RandomAgent), house(0, 0), GOTO)) == 6
    for steps in (1, 3):
        for seen, space in ((street(2), FORWARD), (house(0, 0), GOTO)):
            agent = agent_of(RandomAgent, RandomSettings(steps=steps))
            assert len(acts(agent, seen, space)) == steps + 1


@pytest.mark.parametrize(
    ("exits", "draws"), [(1, False), (2, False), (3, True), (4, True)]
)
def test_in_the_street_a_turn_is_drawn_at_the_start_and_at_intersections(
    exits: int, draws: bool
) -> None:
    firsts = set()
    others = set()
    for seed in range(30):
        agent = agent_of(RandomAgent)
        agent._rng.seed(seed)
        first, *rest = acts(agent, street(exits), FORWARD, 6)
        firsts.add(first)
        others |= set(rest)
    assert firsts == {"forward", "left", "right"}
    assert others == (firsts if draws else {"forward"})


@pytest.mark.parametrize("heading", [0.0, 10.0, 350.0])
@pytest.mark.parametrize("turn", [0, 60, 90, 91, 180])
def test_indoors_the_exit_straight_ahead_is_taken_up_to_90_degrees_to_either_side(
    turn: int, heading: float
) -> None:
    for sign in (1, -1):
        exits = ((heading + sign * turn) % 360, (heading + 180) % 360)
        decision = asyncio.run(agent_of(ForwardAgent).act(house(heading, *exits), GOTO))
        expected = Action("goto", ("v0",)) if turn <= 90 else STOP
        assert decision.action == expected


@pytest.mark.parametrize("status", ["ok", "slipped", "blocked", "failed"])
def test_an_oracle_repeats_only_what_slipped(status: Any) -> None:
    agent = ShortestPathOracle(NoSettings(), SimpleNamespace(note=None))  # type: ignore[arg-type]
    agent.reveal(None, None, lambda kind: iter([Action("a"), Action("b")]))  # type: ignore[arg-type, return-value]
    asyncio.run(agent.begin(None))  # type: ignore[arg-type]
    taken = []
    for _ in range(3):
        decision = asyncio.run(agent.act(None, GOTO))  # type: ignore[arg-type]
        assert isinstance(decision, Decision)
        taken.append(decision.action.name)
        agent.on_feedback(decision, Feedback(status if len(taken) == 1 else "ok"))
    assert taken == (["a", "a", "b"] if status == SLIPPED else ["a", "b", "stop"])

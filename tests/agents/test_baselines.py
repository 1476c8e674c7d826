"""Baselines and the shortest-path oracle on a graph worked out by hand."""

from __future__ import annotations

from helpers.playing import play
from wayword.agents.baselines.oracles import ShortestPathOracle
from wayword.agents.baselines.simple import RandomAgent, RandomSettings
from wayword.core.episode import NoSettings


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

"""Searching with bodies that do not do exactly what they are told."""

from __future__ import annotations

import asyncio

import pytest

from helpers.imprecise_base import ImpreciseBase
from wayword.agents.search.frontier import FrontierAgent, FrontierSettings
from wayword.core.episode import Episode
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.apartments import Apartments
from wayword.metrics.objectnav import scorer
from wayword.worlds.objectnav.simulated import SimulatedBase
from wayword.worlds.objectnav.world import ObjectNavWorld


class Imprecise(Apartments):
    """Apartments whose body halts up to 0.2 m short and turns with a deviation of 4 degrees."""

    def world(self, episode: Episode) -> ObjectNavWorld:
        base = super().world(episode).base
        assert isinstance(base, SimulatedBase)
        return ObjectNavWorld(ImpreciseBase(base, short=0.2, turning=4.0))


HOMES = Imprecise(settings=Imprecise.Settings(homes=3, episodes=6))


def search(number: int) -> Trajectory:
    settings = FrontierSettings(grounding="perfect")
    setup = Setup(
        HOMES, lambda toolkit, actor: FrontierAgent(settings, toolkit), max_steps=500
    )
    return asyncio.run(rollout(HOMES.tasks[number], setup))


@pytest.mark.parametrize("number", range(6))
def test_what_a_perfect_detector_sees_is_found_and_faced(number: int) -> None:
    """A body that must stand on a cell's center, or face a thing to half a degree, would turn to
    and fro until the limit, run into corners, or back off to where it began."""
    trajectory = search(number)
    assert trajectory.ended == "stopped"
    (scores,) = scorer.score(HOMES, [(HOMES.tasks[number], trajectory)])
    assert scores["success_challenge"] == 1.0

"""Only an agent that says so is shown the answer."""

from __future__ import annotations

from helpers.playing import play
from wayword.agents.baselines.oracles import ShortestPathOracle
from wayword.agents.baselines.simple import RandomAgent, RandomSettings
from wayword.core.agent import MakePlan, sees_answer
from wayword.core.episode import Reference
from wayword.core.world import World


class Sneaky(RandomAgent):
    """Has an oracle's method, and does not declare it."""

    shown = False

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        Sneaky.shown = True


def test_a_method_called_reveal_is_not_enough() -> None:
    play(Sneaky, RandomSettings(), {})
    assert not Sneaky.shown
    assert not sees_answer(Sneaky)
    assert sees_answer(ShortestPathOracle)

"""BabyAI's levels that begin with an object in hand are solved, by motions and by skills."""

from __future__ import annotations

import pytest

from wayword.core.episode import Episode
from wayword.core.game import Game
from wayword.worlds.babyai.expert import LevelPlanner, expert_length
from wayword.worlds.babyai.world import BabyAIWorld

LEVELS = ("PutNextS5N2Carrying", "PutNextS6N3Carrying", "PutNextS7N4Carrying")


@pytest.mark.parametrize("level", LEVELS)
def test_the_expert_goes_on_with_what_it_holds(level: str) -> None:
    lengths = [expert_length(level, seed) for seed in range(12)]
    assert None not in lengths


@pytest.mark.parametrize("level", LEVELS)
def test_skills_solve_them_too(level: str) -> None:
    for seed in range(12):
        world = BabyAIWorld(level, "high")
        game = Game(world, Episode("1", "x", level, {"seed": seed}))
        game.actions("agent", LevelPlanner(world).plan())
        assert game.world.state()["success"], seed

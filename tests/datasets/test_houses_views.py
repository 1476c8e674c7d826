"""Fewer and more views a viewpoint: NavGPT's Table 2 on generated houses."""

from __future__ import annotations

import pytest

from wayword.datasets.houses import Houses, HousesSettings
from wayword.verbalize import indoor


@pytest.mark.parametrize(("views", "directions"), [(12, 6), (24, 8), (36, 12)])
def test_views_change_what_is_told_and_nothing_else(views: int, directions: int) -> None:
    usual = Houses("test", None, HousesSettings(houses=1, episodes=3))
    other = Houses("test", None, HousesSettings(houses=1, episodes=3, views=views))  # type: ignore[arg-type]
    task = other.tasks[0]
    assert task == usual.tasks[0]
    world = other.world(task.episode)
    world.reset(task.episode)
    seen = world.observe("agent")
    percept = other.perceiver().perceive(seen.scene, seen.viewpoint)
    assert len(percept.sectors) == directions
    text = indoor.observation(seen, percept)
    assert text.count("Navigable Viewpoints:") == directions
    assert all(f"'{way.viewpoint}'" in text for way in seen.neighbors)

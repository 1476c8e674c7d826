"""Fewer and more views a viewpoint: NavGPT's Table 2 on generated houses."""

from __future__ import annotations

import pytest

from helpers.navgpt_page import write_direction
from wayword.datasets.houses import Houses, HousesSettings
from wayword.verbalize import indoor


@pytest.mark.parametrize(("views", "directions"), [(12, 12), (24, 8), (36, 12)])
def test_views_change_what_is_reported_and_nothing_else(
    views: int, directions: int
) -> None:
    usual = Houses("test", None, HousesSettings(houses=1, episodes=3))
    other = Houses("test", None, HousesSettings(houses=1, episodes=3, views=views))  # type: ignore[arg-type]
    task = other.tasks[0]
    assert task == usual.tasks[0]
    world = other.world(task.episode)
    world.reset(task.episode)
    seen = world.observe("agent")
    percept = other.perceiver().perceive(seen.scene, seen.viewpoint)
    assert len(percept.sectors) == directions
    text = indoor.observation(seen, percept, write_direction)
    assert text.count("Navigable Viewpoints:") == directions
    assert all(f"'{way.viewpoint}'" in text for way in seen.neighbors)


def test_twelve_views_of_sixty_degrees_overlap() -> None:
    """NavGPT's Table 2, variant 1: what lies between two headings is told in both views."""
    texts_by_key = {}
    for views in (12, 36):
        houses = Houses("test", None, HousesSettings(houses=1, episodes=3, views=views))  # type: ignore[arg-type]
        task = houses.tasks[0]
        percept = houses.perceiver().perceive(
            task.episode.scene, task.reference.path[0]
        )  # type: ignore[attr-defined]
        named = [
            s.caption.count(" and ") + s.caption.count(",") for s in percept.sectors
        ]
        texts_by_key[views] = percept.sectors[0].width, sum(named)
        assert (
            sum(len(s.sightings) for s in percept.sectors) <= 30
        )  # none is told twice
    assert (texts_by_key[12][0], texts_by_key[36][0]) == (60.0, 30.0)
    assert texts_by_key[12][1] > texts_by_key[36][1]

"""Indoor observations in words."""

from __future__ import annotations

from helpers.navgpt_page import write_direction
from helpers.small_house import SmallHouse
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.verbalize import indoor


def test_two_objects_of_one_name_are_both_reported() -> None:
    house = SmallHouse()
    world = house.world(house.tasks[0].episode)
    world.reset(house.tasks[0].episode)
    chairs = (Sighting("chair", 10.0, 1.0), Sighting("chair", 350.0, 2.5))
    north = Sector(0.0, 45.0, "chairs", (*chairs, Sighting("bed", 5.0, 2.0)))
    others = tuple(Sector(45.0 * i, 45.0, "") for i in range(1, 8))
    text = indoor.observation(
        world.observe("agent"), Percept((north, *others)), write_direction
    )
    output = "'chair': 'right 10.00, 1.00m', 'chair_2': 'left 10.00, 2.50m', 'bed'"
    assert f"Front Objects in 3m: {{{output}" in text

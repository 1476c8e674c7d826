"""Indoor observations in words."""

from __future__ import annotations

import pytest

from helpers.navgpt_page import write_direction
from helpers.small_house import SmallHouse
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.verbalize import indoor
from wayword.verbalize.indoor import Detail, numbered_exits, sort_clockwise


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


@pytest.mark.parametrize("captions", [True, False])
@pytest.mark.parametrize("objects", [True, False])
def test_each_description_has_the_parts_that_are_chosen_and_no_others(
    captions: bool, objects: bool
) -> None:
    house = SmallHouse()
    world = house.world(house.tasks[0].episode)
    world.reset(house.tasks[0].episode)
    view = world.observe("agent")
    sectors = tuple(
        Sector(45.0 * i, 45.0, "A wide hall.", (Sighting("piano", 45.0 * i, 2.0),))
        for i in range(8)
    )
    percept = Percept(sectors)
    detail = Detail(captions=captions, objects=objects)
    exits = sort_clockwise(view)
    assert exits
    listed = numbered_exits(exits, view.heading, percept, detail, ())
    full = indoor.observation(view, percept, write_direction, detail)
    for text in (listed, full):
        assert ("wide hall" in text) == captions
        assert ("piano" in text) == objects

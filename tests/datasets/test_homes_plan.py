"""Generated homes: the same on every machine, of any size, with a way to everything."""

from __future__ import annotations

import random
from functools import cache
from itertools import combinations

import pytest

from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.datasets.procedural.homes.furniture import furnish
from wayword.datasets.procedural.homes.home import (
    Home,
    build_home,
    draw_home_plan,
    home_name,
)
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement, arrange
from wayword.worlds.household.scene import validate
from wayword.worlds.household.world import HouseholdWorld


@pytest.mark.parametrize("rooms", [1, 2, 3, 4, 5, 8, 12, 17])
def test_homes_have_the_rooms_requested_and_places_to_start_from(rooms: int) -> None:
    home = build_home(home_name("test", 0, rooms, 0))
    assert len(home.scene.rooms) == rooms
    assert len(home.starts) > 5 * rooms
    types = {o.type for o in home.scene.objects}
    assert {"fridge", "microwave", "sink_basin", "faucet", "counter_top"} <= types


def test_a_name_gives_the_same_home_again_and_another_name_another() -> None:
    one = build_home(home_name("test", 0, 5, 3))
    again = build_home(home_name("test", 0, 5, 3))
    assert one.scene == again.scene
    assert one.starts == again.starts
    assert build_home(home_name("train", 0, 5, 3)).scene.objects != one.scene.objects


def test_a_name_that_is_none_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="is not a generated home"):
        build_home("FloorPlan1")


@pytest.mark.parametrize("seed", range(5))
def test_no_two_pieces_of_furniture_overlap_and_all_are_in_their_rooms(
    seed: int,
) -> None:
    rng = random.Random(seed)
    plan = draw_home_plan(rng, 9)
    pieces = furnish(rng, plan)
    for one, other in combinations(pieces, 2):
        a = one.box
        b = other.box
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, f"{one} overlaps {other}"
    for piece in pieces:
        room, (west, south, east, north) = plan.rooms[piece.room], piece.box
        assert room.x0 <= west < east <= room.x1
        assert room.y0 <= south < north <= room.y1


@cache
def home_of_six_rooms() -> Home:
    return build_home(home_name("test", 0, 6, 1))


def _arranged(seed: int) -> Arrangement:
    return arrange(random.Random(seed), home_of_six_rooms())


@pytest.mark.parametrize("seed", range(3))
def test_objects_lie_where_such_objects_lie_within_their_receptacles(seed: int) -> None:
    made = _arranged(seed)
    scene = made.scene()
    validate(scene)
    small = [o for o in scene.objects if "pickupable" in o.affordances]
    assert len(small) > 30
    for item in small:
        under = made.objects[item.parent]
        assert under.type in OBJECTS[item.type].places
        assert abs(item.x - under.x) <= under.width / 2
        assert abs(item.y - under.y) <= under.depth / 2
        assert made.free_slots(under) >= 0
        assert (item.temperature == "cold") == (under.type == "fridge")


def test_arrangements_differ_by_seed_and_share_the_furniture() -> None:
    one = _arranged(0)
    other = _arranged(1)
    assert one.objects != other.objects
    furniture = [o for o in one.objects.values() if "pickupable" not in o.affordances]
    assert furniture == list(one.home.scene.objects)


def test_plenty_multiplies_the_objects() -> None:
    home = home_of_six_rooms()
    few, many = (arrange(random.Random(0), home, clutter) for clutter in (1.0, 5.0))
    assert len(many.objects) > 2 * len(few.objects)


@pytest.mark.parametrize("number", [4, 27])
def test_everything_can_be_seen_and_reached_on_foot(number: int) -> None:
    home = build_home(home_name("test", 0, 5, number))
    for seed in range(2):
        scene = arrange(random.Random(seed), home).scene()
        world = HouseholdWorld(scene, layout=home.layout.with_scene(scene))
        x, y = home.starts[0]
        start = {"poses": {"agent": {"x": x, "y": y, "heading": 0.0}}}
        world.reset(Episode("1", "Look around.", home.name, start))
        for obj in scene.objects:
            assert world.doors_to_open("agent", obj.id) is not None, obj

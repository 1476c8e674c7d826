"""Ground and ways on a floor of six cells, and what an oracle walks in a flat, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.core.geometry import Point, path_length
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.objectnav.base import goto, parse_numbers
from wayword.worlds.objectnav.ground import Ground, ground_of
from wayword.worlds.objectnav.world import ObjectNavWorld, floor_distance

# Half-metre cells with centers at x 1.0, 1.5, 2.0 and y 2.0 (the row below) and 2.5.
#   2.5   .  #  .
#   2.0   .  .  .
FLOOR = Ground(
    1.0, 2.0, np.array([[True, True, True], [True, False, True]]), spacing=0.5
)
OPEN = Ground(1.0, 2.0, np.ones((2, 3), dtype=np.bool_), spacing=0.5)


def test_a_place_counts_as_its_nearest_cell() -> None:
    assert (FLOOR.cell(1.0, 2.0), FLOOR.cell(1.6, 2.4), FLOOR.cell(0.7, 1.7)) == (
        (0, 0),
        (1, 1),
        (-1, -1),
    )
    assert [FLOOR.point(cell) for cell in (0, 2, 4)] == [
        (1.0, 2.0),
        (2.0, 2.0),
        (1.5, 2.5),
    ]
    free = {(1.0, 2.0), (2.2, 2.7), (0.8, 1.8)}
    taken = {(1.5, 2.5), (0.7, 2.0), (2.3, 2.0), (1.0, 1.7), (1.0, 2.8)}
    assert all(FLOOR.at(*place) for place in free)
    assert not any(FLOOR.at(*place) for place in taken)


def test_a_straight_way_ends_before_what_is_taken() -> None:
    assert FLOOR.clear((1.0, 2.0), (2.0, 2.0))
    assert not FLOOR.clear((1.0, 2.5), (2.0, 2.5))
    assert not FLOOR.clear((1.0, 2.0), (1.0, 3.0)), "off the floor"
    assert FLOOR.stop_before((1.0, 2.0), (2.0, 2.1)) == (2.0, 2.1)
    # Looked at every 0.25 m: 1.75 is nearest to the free cell at 2.0, 1.25 to the taken one.
    assert FLOOR.stop_before((2.0, 2.5), (1.0, 2.5)) == (1.75, 2.5)
    assert FLOOR.stop_before((1.0, 2.5), (2.0, 2.5)) == (1.0, 2.5)


def test_the_nearest_free_place() -> None:
    assert FLOOR.nearest(1.1, 2.1) == (1.1, 2.1), "itself, where it is free"
    assert FLOOR.nearest(1.5, 2.4) == (1.5, 2.0)
    assert FLOOR.nearest(1.5, 2.4, max_distance=0.3) is None
    assert FLOOR.nearest(1.5, 2.4, max_distance=0.5) == (1.5, 2.0)
    assert FLOOR.nearest(4.0, 2.5, max_distance=2.0) == (2.0, 2.5)
    nowhere = Ground(0.0, 0.0, np.zeros((2, 2), dtype=np.bool_))
    assert nowhere.nearest(0.0, 0.0) is None
    assert np.isinf(nowhere.reach((0.0, 0.0))).all()


def test_metres_in_eight_directions_and_no_corner_is_cut() -> None:
    away = FLOOR.reach((1.0, 2.5))
    assert away.tolist() == [[0.5, 1.0, 1.5], [0.0, math.inf, 2.0]]
    straight = OPEN.reach((1.0, 2.5))
    slope = math.sqrt(2) / 2
    assert straight.tolist() == [
        pytest.approx([0.5, slope, slope + 0.5]),
        pytest.approx([0, 0.5, 1.0]),
    ]


def test_a_way_leads_to_the_nearest_goal_that_is_free() -> None:
    start = (1.0, 2.5)
    assert FLOOR.path(start, [(2.0, 2.5), (1.0, 2.1)]) == [start, (1.0, 2.1)]
    round_it = FLOOR.path(start, [(1.5, 2.5), (2.0, 2.5)])
    assert round_it is not None
    assert (round_it[0], round_it[-1]) == (start, (2.0, 2.5))
    assert 1.4 < path_length(round_it) <= 2.0
    assert FLOOR.path(start, [(1.5, 2.5), (9.0, 9.0)]) is None
    assert path_length([(0.0, 0.0), (3.0, 4.0), (3.0, 6.0)]) == 7.0


def flat() -> ObjectNavWorld:
    """A room with a table 1 m by 0.6 m in the middle of its north wall, a mug on it."""
    house = SceneBuilder("flat")
    house.room("kitchen", [(0, 0), (6, 0), (6, 4), (0, 4)])
    table = house.furniture(
        "table", 3, 3.5, 1.0, 0.6, 0.8, receptacle="on", name="table"
    )
    house.item("mug", parent=table, name="mug")
    return ObjectNavWorld.of(house.build())


def started(x: float, y: float, heading: float) -> ObjectNavWorld:
    world = flat()
    world.reset(Episode("1", "Find it.", "flat", {"x": x, "y": y, "heading": heading}))
    return world


@pytest.mark.parametrize(
    ("x", "y", "metres"),
    [(3, 1.2, 2.0), (5, 3.5, 1.5), (0.5, 3.6, 2.0), (6.5, -0.8, 5.0), (3.2, 3.6, 0.0)],
)
def test_the_gap_to_an_object_is_to_its_box(x: float, y: float, metres: float) -> None:
    (table,) = (o for o in flat().base.place.surfaces.objects if o.id == "table")  # type: ignore[attr-defined]
    assert floor_distance(table, x, y) == pytest.approx(metres)


@pytest.mark.parametrize(
    ("corners", "heading", "turn"),
    [
        # East to (5, 1.5): the mug is at (3, 3.5), 45 degrees west of north, so 135 to the left.
        ([(3.0, 1.5), (5.0, 1.5)], 0.0, -135.0),
        ([(3.0, 1.5), (1.0, 1.5)], 0.0, 135.0),
        # Who stays turns from where it faces.
        ([(3.0, 1.5)], 90.0, -90.0),
        ([(3.0, 1.5), (3.0, 1.5)], 90.0, -90.0),
    ],
)
def test_a_walk_goes_along_its_corners_and_faces_the_target(
    corners: list[Point], heading: float, turn: float
) -> None:
    *moves, last = started(3.0, 1.5, heading).walk(corners, {"mug"})
    assert moves == [goto(x, y) for x, y in corners[1:]]
    assert last.name == "rotate"
    assert parse_numbers(last) == pytest.approx((turn,), abs=0.01)
    assert started(3.0, 1.5, heading).walk(corners, {"vase"}) == moves


def test_an_oracle_goes_no_farther_than_it_must() -> None:
    world = started(3.0, 1.0, 180.0)
    actions, problem = world.find({"mug"}, 1.5)
    assert problem == ""
    gone = sum(
        float(world.step("agent", action).details["metres"]) for action in actions
    )
    world.step("agent", Action("stop"))
    (mug,) = (seen for seen in world.state()["in_view"] if seen["id"] == "mug")
    assert mug["distance"] <= 1.5
    # From y 1.0 straight on to the first place on the 0.25 m grid that is near enough: y 2.0.
    assert gone == pytest.approx(1.0)
    assert world.find({"vase"}, 1.5) == ([], "no_target")
    assert world.find({"mug"}, 0.1) == ([], "out_of_sight"), "the table is in the way"


def kitchen() -> SceneBuilder:
    """A room of 4 m by 3 m with a table, 1.0 m wide and 0.4 m deep, in the middle of it."""
    house = SceneBuilder("kitchen")
    house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    house.furniture("table", 2.0, 1.5, 1.0, 0.4, 0.8)
    return house


def test_the_ground_of_a_scene_keeps_clear_of_furniture_and_walls_on_both_axes() -> (
    None
):
    ground = ground_of(kitchen().build(), radius=0.2)
    taken = {
        (2.0, 1.5),
        (2.65, 1.5),
        (1.35, 1.5),
        (2.0, 1.85),
        (2.0, 1.15),
        (2.65, 1.85),
    }
    taken |= {(0.1, 1.5), (3.9, 1.5), (2.0, 0.1), (2.0, 2.9)}
    free = {
        (2.75, 1.5),
        (1.25, 1.5),
        (2.0, 1.95),
        (2.0, 1.05),
        (2.65, 1.95),
        (2.75, 1.85),
    }
    free |= {(0.25, 1.5), (3.75, 1.5), (2.0, 0.25), (2.0, 2.75)}
    assert [place for place in sorted(taken) if ground.at(*place)] == []
    assert [place for place in sorted(free) if not ground.at(*place)] == []
    assert ground_of(kitchen().build(), radius=0.4).at(2.75, 1.5) is False


def test_two_rooms_are_one_ground_where_they_join_and_two_behind_a_closed_door() -> (
    None
):
    def routes(closed_ids: bool) -> list[tuple[float, float]] | None:
        house = SceneBuilder("flat")
        house.room("kitchen", [(0, 0), (2, 0), (2, 3), (0, 3)])
        house.room("hall", [(2, 0), (4, 0), (4, 3), (2, 3)])
        house.door("door", (2, 1), (2, 2), closed=closed_ids)
        return ground_of(house.build(), radius=0.2).path((1.0, 0.5), [(3.0, 0.5)])

    assert routes(True) is None
    found = routes(False)
    assert found is not None
    assert 2.2 < path_length(found) < 3.0

"""Plane geometry by hand, and against Shapely at random."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import shapely

from wayword.core.geometry import (
    Point,
    Segment,
    absolute,
    angles_apart,
    apparent_size,
    box_distance,
    box_distances,
    crossing,
    elevation,
    enters,
    grid_index,
    inside_polygon,
    leftover,
    point_segment_distance,
    polygon_distance,
    relative,
    sector,
    segment_distance,
    unit,
)

HOOK = ((0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (2.0, 2.0), (2.0, 4.0), (0.0, 4.0))
"""An L: 4 m along the ground and 4 m up its left side, 2 m thick."""
SKEW = ((0.0, -3.0), (5.0, 1.0), (2.0, 4.0), (-3.0, 3.0), (-1.0, 1.0))
"""No side along an axis, and a corner that points inwards."""
WALL = ((0.0, 0.0), (10.0, 0.0))


@pytest.mark.parametrize(
    ("degrees", "heading"),
    [(-90, 270), (360, 0), (725, 5), (-1e-15, 0), (359.5, 359.5)],
)
def test_headings_lie_from_0_to_below_360(degrees: float, heading: float) -> None:
    assert absolute(degrees) == heading


@pytest.mark.parametrize(
    ("heading", "facing", "turn"),
    [
        (10, 350, 20),
        (350, 10, -20),
        (180, 0, 180),
        (0, 180, 180),
        (181, 0, -179),
        (5, 5, 0),
    ],
)
def test_turns_are_right_positive_and_half_a_turn_is_a_right_one(
    heading: float, facing: float, turn: float
) -> None:
    assert relative(heading, facing) == turn
    assert angles_apart(np.array([float(heading)]), facing).tolist() == [abs(turn)]


def test_sectors_are_centred_on_north_and_go_clockwise() -> None:
    eight = {0: 0, 22: 0, 23: 1, 45: 1, 90: 2, 180: 4, 337: 7, 338: 0, 359: 0, -45: 7}
    assert {heading: sector(heading) for heading in eight} == eight
    four = {44: 0, 46: 1, 180: 2, 314: 3, 316: 0}
    assert {heading: sector(heading, 4) for heading in four} == four


def test_cardinal_directions_are_exact() -> None:
    assert [unit(h) for h in (0.0, 90.0, 180.0, 270.0)] == [
        (0, 1),
        (1, 0),
        (0, -1),
        (-1, 0),
    ]
    assert unit(30.0) == pytest.approx((0.5, math.sqrt(3) / 2))


def test_what_is_seen_from_a_metre_off() -> None:
    assert (elevation(1, 1), elevation(-1, 1), elevation(0, 3)) == pytest.approx(
        (45, -45, 0)
    )
    # 1 m across at half a metre: 45 degrees each side. From eye level down to 1 m below, at 1 m.
    assert apparent_size(1.0, -0.5, 0.0, 0.5) == pytest.approx((90, 45))
    assert apparent_size(2.0, 0.0, math.sqrt(3), 1.0) == pytest.approx((90, 60))


@pytest.mark.parametrize(
    ("x", "y", "inside", "away"),
    [
        (1, 3, True, 1.0),
        (3, 1, True, 1.0),
        (3, 3, False, 1.0),  # in the notch
        (5, 1, False, 1.0),
        (-2, 2, False, 2.0),  # beside the side that closes the polygon
        (1, 7, False, 3.0),
        (7, -4, False, 5.0),  # off the corner (4, 0)
    ],
)
def test_a_hooked_room(x: float, y: float, inside: bool, away: float) -> None:
    assert inside_polygon(x, y, HOOK) is inside
    assert polygon_distance(x, y, HOOK) == pytest.approx(away)


def test_a_segment_is_nearest_at_its_foot_or_at_an_end() -> None:
    texts = [
        point_segment_distance(x, y, 0, 0, 1, 0) for x, y in ((-3, 4), (0.5, 2), (4, 4))
    ]
    assert texts == pytest.approx([5, 2, 5])
    assert point_segment_distance(3, 4, 0, 0, 0, 0) == 5, "a segment of no length"


@pytest.mark.parametrize(
    ("p", "q", "a", "b", "crosses"),
    [
        ((0, 0), (2, 2), (0, 2), (2, 0), True),
        ((0, 0), (2, 0), (1, 0), (1, 5), True),  # the second begins on the first
        ((0, 0), (2, 0), (1, -5), (1, 0), True),
        ((1, 0), (1, 5), (0, 0), (2, 0), True),
        ((1, -5), (1, 0), (0, 0), (2, 0), True),
        ((0, 0), (4, 0), (2, 1), (2, 3), False),
        ((0, 0), (4, 0), (2, -3), (2, -1), False),
        ((3, 0), (5, 0), (2, -1), (2, 1), False),
        ((0, 0), (1, 0), (2, -1), (2, 1), False),
        ((0, 0), (1, 0), (0, 1), (1, 1), False),  # parallel
    ],
)
def test_segments_cross_or_touch(
    p: Point, q: Point, a: Point, b: Point, crosses: bool
) -> None:
    assert crossing(p, q, a, b) is crosses
    assert (segment_distance(p, q, a, b) == 0) is crosses


def test_distances_agree_with_shapely() -> None:
    rng = random.Random(4)
    for _ in range(300):
        p, q, a, b = ((rng.uniform(-5, 5), rng.uniform(-5, 5)) for _ in range(4))
        lines = shapely.LineString([p, q]), shapely.LineString([a, b])
        assert crossing(p, q, a, b) == lines[0].intersects(lines[1])
        assert segment_distance(p, q, a, b) == pytest.approx(
            lines[0].distance(lines[1])
        )
        at = shapely.Point(p)
        for outline in (HOOK, SKEW):
            room = shapely.Polygon(outline)
            assert inside_polygon(*p, outline) == room.contains(at)
            assert polygon_distance(*p, outline) == pytest.approx(
                room.exterior.distance(at)
            )
        west, east = sorted((q[0], a[0]))
        south, north = sorted((q[1], a[1]))
        box = (west, south, east, north)
        off = shapely.box(*box).distance(at)
        assert box_distance(*p, box) == pytest.approx(off)
        assert box_distances(*p, np.array(box)[:, None]).tolist() == pytest.approx(
            [off]
        )
        assert enters(p, b, box) == shapely.LineString([p, b]).intersects(
            shapely.box(*box)
        )


@pytest.mark.parametrize(
    ("p", "q", "through"),
    [
        ((-1, 1), (3, 1), True),
        ((1, -1), (1, 3), True),
        ((0.5, 0.5), (1.5, 1.5), True),  # never leaves it
        ((-3, 1), (0.5, 1), True),
        ((-3, 1), (-1, 1), False),
        ((-3, 1), (0, 1), False),  # ends on its edge
        ((2, 1), (4, 1), False),
        ((-1, 0), (3, 0), False),  # along its edges
        ((-1, 2), (3, 2), False),
        ((0, -1), (0, 3), False),
        ((2, -1), (2, 3), False),
        ((-1, 1), (1, 3), False),  # through its corner (0, 2)
        ((-1, 0.5), (1, 2.5), True),
    ],
)
def test_only_a_way_through_the_interior_enters_a_box(
    p: Point, q: Point, through: bool
) -> None:
    assert enters(p, q, (0.0, 0.0, 2.0, 2.0)) is through


@pytest.mark.parametrize(
    ("gap", "left"),
    [
        (((4, 0), (6, 0)), [((0, 0), (4, 0)), ((6, 0), (10, 0))]),
        (
            ((6, 0.1), (4, -0.1)),
            [((0, 0), (4, 0)), ((6, 0), (10, 0))],
        ),  # on either face
        (((0, 0), (2, 0)), [((2, 0), (10, 0))]),
        (((8, 0), (12, 0)), [((0, 0), (8, 0))]),
        (((-1, 0), (11, 0)), []),
        (((12, 0), (14, 0)), [WALL]),
        (((-4, 0), (-2, 0)), [WALL]),
        (((4, 0), (6, 0.2)), [WALL]),  # one end is off the wall's line
        (((4, -0.2), (6, 0)), [WALL]),
    ],
)
def test_what_a_doorway_leaves_of_a_wall(gap: Segment, left: list[Segment]) -> None:
    assert leftover(WALL, gap) == left


def test_a_doorway_in_a_wall_askew_and_a_wall_of_no_length() -> None:
    ((a, b), (c, d)) = leftover(((1.0, -2.0), (4.0, 2.0)), ((1.6, -1.2), (2.2, -0.4)))
    assert (*a, *b) == pytest.approx((1, -2, 1.6, -1.2))
    assert (*c, *d) == pytest.approx((2.2, -0.4, 4, 2))
    assert leftover(((1.0, 1.0), (1.0, 1.0)), WALL) == []
    assert len(leftover(WALL, ((4.0, 0.3), (6.0, 0.3)), slack=0.4)) == 2


def test_the_nearest_cell_of_a_grid_with_an_origin() -> None:
    assert [grid_index(x, 1.0, 0.5) for x in (0.74, 0.76, 1.24, 1.26, 2.0)] == [
        -1,
        0,
        0,
        1,
        2,
    ]

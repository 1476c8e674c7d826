"""Searchers by rule: directions of what is listed, turns that face a target, and given-up goals."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wayword.agents.search.costmap import (
    CELL,
    FLOOR_HEIGHT,
    HEAD_HEIGHT,
    Costmap,
    frontiers,
)
from wayword.agents.search.frontier import (
    SPENT_RADIUS,
    FrontierAgent,
    FrontierSettings,
)
from wayword.agents.search.lgx import (
    QUARTERS,
    first_word_fits,
    names_around,
    quarter_captions,
)
from wayword.agents.search.searcher import (
    APPROACHES,
    MOST_AIM_TURNS,
    MOST_MISSES,
    REACH,
    REPLANS,
    Aim,
    Approach,
    Return,
    TargetSighting,
)
from wayword.core.action import Action, Decision
from wayword.core.perceiver import Detection
from wayword.core.world import Feedback
from wayword.worlds.objectnav.observation import View, from_laser


def view(heading: float = 0.0, x: float = 0.0, y: float = 0.0) -> Any:
    return SimpleNamespace(heading=heading, x=x, y=y)


class Detector:
    """Sees in each view, by its number, objects at bearings and distances."""

    def __init__(self, *seen: Sequence[tuple[str, float, float | None]]) -> None:
        self._seen = seen
        self._at = 0

    def detect(self, seen: Any) -> list[Any]:
        listed = self._seen[self._at]
        self._at += 1
        return [
            Detection(name, bearing, distance, score=1.0)
            for name, bearing, distance in listed
        ]


@pytest.mark.parametrize("first", [0.0, 70.0, 200.0, 350.0])
@pytest.mark.parametrize("side", QUARTERS)
@pytest.mark.parametrize("bearing", [-20.0, 0.0, 20.0])
def test_an_object_is_in_the_quarter_of_its_direction_from_the_first_view(
    bearing: float, side: str, first: float
) -> None:
    """Whichever view shows it, and wherever in that view."""
    center = (first + QUARTERS[side]) % 360
    views = [view(first), view((center - bearing) % 360)]
    captions = quarter_captions(Detector([], [("sofa", bearing, 2.0)]), views)  # type: ignore[arg-type]
    assert [name for name, text in captions.items() if "sofa" in text] == [side]


@pytest.mark.parametrize("distances", [(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (None, 9.0)])
def test_a_name_leads_to_its_nearest_object_the_first_of_equals(
    distances: tuple[float | None, float],
) -> None:
    first, second = distances
    views = [("sofa", 10.0, first), ("bed", 0.0, 1.0)], [("sofa", -10.0, second)]
    detector = Detector(*views)
    headings = names_around(detector, [view(0.0), view(90.0)])  # type: ignore[arg-type]
    is_second_nearer = first is None or second < first
    assert headings == {"sofa": 80.0 if is_second_nearer else 10.0, "bed": 0.0}
    assert list(headings) == ["sofa", "bed"], "in order of first sight"


@pytest.mark.parametrize("off", [0.0, 0.4, 0.6, 90.0, 179.0])
@pytest.mark.parametrize("heading", [0.0, 359.8])
def test_a_heading_is_faced_in_a_limited_number_of_turns_either_way(
    heading: float, off: float
) -> None:
    for sign in (1, -1):
        aim = Aim()
        turns = 0
        while aim.turn(view(heading), (heading + sign * off) % 360) is not None:
            turns += 1
        assert turns == (MOST_AIM_TURNS if off >= 0.5 else 0)


def floor() -> Costmap:
    """An open floor of 4 m around the origin."""
    costmap = Costmap(0.0, 0.0, half=2.0)
    costmap.free[:] = True
    return costmap


@pytest.mark.parametrize("distances", [(3.0, 2.0, 2.5), (2.0, 3.0), (1.5,)])
def test_an_approach_remembers_the_nearest_sighting(distances: Sequence[float]) -> None:
    approach = Approach((0.0, 9.0), 90.0)
    for distance in distances:
        approach.step(view(), floor(), TargetSighting((0.0, 0.0), 0.0, distance))
    assert approach.nearest_sighting is not None
    assert approach.nearest_sighting.distance == min(distances)


@pytest.mark.parametrize(
    "distances",
    [(3.0, 2.0, None, 4.0), (2.0, 3.0, 2.5, None), (None, None, 3.0, 3.5), (None,) * 4],
)
def test_of_several_approaches_the_nearest_sighting_is_accepted_in_the_end(
    distances: Sequence[float | None],
) -> None:
    """The stop rule gives up so many objects; the agent returns to the one it saw best."""
    toolkit = SimpleNamespace(eyes=None, note=lambda *_, **__: None)
    agent = FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)  # type: ignore[arg-type]
    agent.view = view()
    agent._sighting = lambda _: None  # type: ignore[method-assign]
    agent.costmap = floor()
    seen = [each for each in distances if each is not None]
    for number, distance in enumerate(distances, 1):
        sighting = distance and TargetSighting((0.0, 0.0), 0.0, distance)
        approach = SimpleNamespace(
            step=lambda *_: None, nearest_sighting=sighting, is_confirmed=False
        )
        agent._approach = approach  # type: ignore[assignment]
        agent._approach_count = number
        decision = agent._stop_at_target()
        goes_back = number == APPROACHES and bool(seen)
        assert (decision is not None) == goes_back
    nearest = agent._nearest_sighting
    assert (nearest and nearest.distance) == (min(seen) if seen else None)
    if seen:
        assert isinstance(agent._approach, Return)
        assert agent._approach.goal is nearest


def test_all_approaches_of_a_search_know_the_places_tried_so_far() -> None:
    """The object may be grounded again from elsewhere; the next search starts without them."""
    toolkit = SimpleNamespace(eyes=None, note=lambda *_, **__: None)
    region = SimpleNamespace(score=1.0, bearing=0.0, distance=2.0)
    tried: list[tuple[float, float]] = []
    for search in range(2):
        agent = FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)  # type: ignore[arg-type]
        agent._sighting = lambda _: (region, 0.0)  # type: ignore[assignment, method-assign, return-value]
        for number in range(3):
            agent._look_for_target(view())
            approach = agent._approach
            assert isinstance(approach, Approach)
            assert approach.tried_points == tried[3 * search :]
            approach.tried_points.append((search, number))
            tried.append((search, number))
            agent._approach = None


@pytest.mark.parametrize("distance", [REACH - 0.01, REACH, REACH + 0.01])
def test_an_object_within_reach_is_faced_and_nothing_more(distance: float) -> None:
    approach = Approach((0.0, 9.0), 90.0)
    sighting = TargetSighting((0.0, 0.0), 0.0, distance)
    action = approach.step(view(0.0), floor(), sighting)
    assert (action is None) == (distance <= REACH)


@pytest.mark.parametrize("is_seen", [True, False])
def test_only_places_without_a_sight_of_the_object_are_misses(is_seen: bool) -> None:
    """A place that faces it in vain is tried once; three of them end the approach."""
    point = (0.0, 0.5)
    approach = Approach(point, 90.0)
    sighting = TargetSighting((0.0, 0.0), 0.0, REACH + 1) if is_seen else None
    for number in range(1, MOST_MISSES + 1):
        approach._facing = True
        approach._aim = Aim(0)
        approach.plan = []
        action = approach.step(view(), floor(), sighting)
        assert len(approach.tried_points) == number
        ends = not is_seen and number == MOST_MISSES
        assert approach._misses == (0 if is_seen else number)
        assert (action is None) == ends


@pytest.mark.parametrize("cells", [0.0, 1.4, 1.6, 4.0, 6.0])
def test_a_goal_that_is_never_reached_gets_so_many_routes(cells: float) -> None:
    """One that is at hand needs none; the next goal has all of its own."""
    toolkit = SimpleNamespace(eyes=None, note=lambda *_, **__: None)
    agent = FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)  # type: ignore[arg-type]
    agent.costmap = floor()
    agent.view = view()
    for goal in ((cells * CELL, 0.0), (0.0, cells * CELL)):
        agent._goal = goal
        agent._replans = 0
        routes = 0
        while agent._next_run() is not None:
            agent._plan = []  # a collision on the way
            routes += 1
        assert routes == (REPLANS if cells > 1.5 else 0)


@pytest.mark.parametrize("distance", [1.0, 2.0, 2.0 + CELL, 2.1 + CELL, 5.0])
def test_a_return_ends_where_the_target_is_seen_from_as_near_as_before(
    distance: float,
) -> None:
    back = Return(TargetSighting((1.0, 1.0), 0.0, 2.0))
    action = back.step(view(0.0), floor(), TargetSighting((0.0, 0.0), 0.0, distance))
    assert (action is None) == (distance <= 2.0 + CELL)


@pytest.mark.parametrize("is_viewed", [True, False])
def test_a_frontier_is_not_viewed_twice_from_one_place(is_viewed: bool) -> None:
    """Half of the floor is known; the place of a full turn is no point to view it from."""
    toolkit = SimpleNamespace(eyes=None, note=lambda *_, **__: None)
    agent = FrontierAgent(FrontierSettings(grounding="perfect", reach=0.0), toolkit)  # type: ignore[arg-type]
    agent.costmap = floor()
    agent.costmap.free[:, agent.costmap.free.shape[1] // 2 + 1 :] = False
    agent.view = view(0.0, 0.0, 0.0)
    (option,) = agent._options()
    if is_viewed:
        agent._viewed_points.append(option.point)
        (other,) = agent._options()
        assert np.hypot(*np.subtract(other.point, option.point)) > SPENT_RADIUS
    assert option.metres == pytest.approx(np.hypot(*option.point), abs=CELL)


@pytest.mark.parametrize("up", [0.05, 0.1, 0.11, 0.8, 1.39, 1.4, 2.0])
def test_only_what_stands_between_floor_and_head_is_an_obstacle(
    up: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Costmap, "_free_floor", lambda *_: None)
    costmap = floor()
    points = np.array([1.0]), np.array([0.0]), np.array([up])
    depth = SimpleNamespace(points=lambda eye: points)
    costmap.add(
        SimpleNamespace(x=0.0, y=0.0, heading=90.0, eye=1.5, floor=None, depth=depth)
    )  # type: ignore[arg-type]
    expected = [costmap.cell(1.0, 0.0)] * (FLOOR_HEIGHT < up < HEAD_HEIGHT)
    assert [tuple(cell) for cell in np.argwhere(costmap.occupied).tolist()] == expected


@pytest.mark.parametrize("eye", [0.05, 0.1, 0.2, 0.9, 2.0])
def test_a_wall_that_a_laser_hit_is_an_obstacle_at_each_height_of_the_eye(
    eye: float,
) -> None:
    """Of a low one, all rows that look down or level see the wall below ``FLOOR_HEIGHT``."""
    bearings = tuple(range(-30, 31, 2))
    ranges = np.full(len(bearings), 2.0)
    depth = from_laser(ranges, bearings, eye, 5.0)
    costmap = floor()
    costmap.add(View("", 0.0, 0.0, 90.0, eye, 60.0, depth))
    assert costmap.occupied[costmap.cell(2.0, 0.0)]


@pytest.mark.parametrize("least", [1, 2, 3, 4])
def test_a_frontier_has_at_least_so_many_cells(least: int) -> None:
    """Three free cells in a row, with unknown ones on both sides."""
    free = np.zeros((5, 5), dtype=bool)
    free[2, 1:4] = True
    assert len(frontiers(free, free, least)) == (least <= 3)


@pytest.mark.parametrize("status", ["ok", "blocked", "lost", "cancelled", "rejected"])
def test_only_a_collision_closes_the_way(status: Any) -> None:
    """Neither a broken connection nor another client's order is an obstacle."""
    toolkit = SimpleNamespace(eyes=None, note=lambda *_, **__: None)
    agent = FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)  # type: ignore[arg-type]
    agent._plan = [Action("goto", ("9", "9"))]
    agent.on_feedback(Decision(Action("goto", ("1", "2"))), Feedback(status))
    assert agent._blocked_at == ((1.0, 2.0) if status == "blocked" else None)
    assert bool(agent._plan) == (status in ("ok", "rejected"))


@pytest.mark.parametrize(
    ("status", "is_avoided"), [("cancelled", True), ("lost", False)]
)
def test_a_goal_that_is_cancelled_twice_is_avoided(
    status: Any, is_avoided: bool
) -> None:
    """An obstacle that depth does not show ends each try: a table's edge above the laser."""
    toolkit = SimpleNamespace(eyes=None, note=lambda *_, **__: None)
    agent = FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)  # type: ignore[arg-type]
    for goal in (("1", "2"), ("3", "4"), ("1", "2")):
        assert agent._blocked_at is None
        agent.on_feedback(Decision(Action("goto", goal)), Feedback(status))
    assert agent._blocked_at == ((1.0, 2.0) if is_avoided else None)


@pytest.mark.parametrize(
    ("verb", "status", "is_free"),
    [
        ("goto", "ok", True),
        ("goto", "blocked", False),
        ("goto", "lost", False),
        ("rotate", "ok", False),  # a base drifts as it turns, also against an obstacle
        ("rotate", "blocked", False),
        ("goto", "rejected", False),
    ],
)
def test_only_a_place_that_was_arrived_at_is_free_to_go_back_to(
    verb: str, status: Any, is_free: bool
) -> None:
    toolkit = SimpleNamespace(eyes=None, note=lambda *_, **__: None)
    agent = FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)  # type: ignore[arg-type]
    agent.costmap = SimpleNamespace(add=lambda _: None)  # type: ignore[assignment]
    agent._has_started = True
    agent._target_heading = 0.0  # nothing is looked for on the way
    agent._take_in(view(x=1.0, y=1.0))
    assert agent._last_free_point == (1.0, 1.0)
    action = Action(verb, ("9", "9")[: 2 if verb == "goto" else 1])
    agent.on_feedback(Decision(action), Feedback(status))
    agent._blocked_at = None
    agent._take_in(view(x=1.1, y=1.0))
    assert agent._last_free_point == ((1.1, 1.0) if is_free else (1.0, 1.0))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("sofa", True),
        ("Sofa, I think", True),
        ("so it is", True),  # a part of a name counts, as in the released code
        ("the sofa", False),
        ("**TV**", True),
        ("tvs", False),
        ("", False),
    ],
)
def test_the_first_word_of_an_answer_is_part_of_a_name_in_any_case(
    text: str, fits: bool
) -> None:
    assert first_word_fits(text, ["Sofa Bed", "TV"]) == fits

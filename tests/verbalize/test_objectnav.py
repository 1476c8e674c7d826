"""Free ways in words: a round body between things that stand to its sides."""

from __future__ import annotations

import numpy as np
import pytest

from wayword.core.world import Feedback
from wayword.verbalize.objectnav import clearances, feedback
from wayword.worlds.objectnav.observation import DepthImage, View

REACH = 5.0


def ahead_of(*points: tuple[float, float]) -> float:
    """Metres free straight ahead where posts stand at these metres (ahead, to the right)."""
    bearings = tuple(
        float(np.degrees(np.arctan2(right, ahead))) for ahead, right in points
    )
    metres = np.array([[float(np.hypot(*point)) for point in points]])
    depth = DepthImage.of(metres, bearings, (0.0,), REACH)
    view = View("flat", 0.0, 0.0, 0.0, 0.9, 80.0, depth)
    return dict(clearances(view))[0]


def test_what_stands_at_the_sides_of_a_narrow_passage_stops_no_one() -> None:
    assert ahead_of((0.1, 0.2), (0.5, -0.2), (2.0, 0.21)) == REACH


def test_a_round_body_comes_nearer_to_what_is_not_straight_ahead() -> None:
    assert ahead_of((1.0, 0.0)) == pytest.approx(0.81, abs=0.02)
    assert ahead_of((1.0, 0.15)) == pytest.approx(0.88, abs=0.02)


def test_what_touches_the_body_leaves_no_way() -> None:
    assert ahead_of((0.15, 0.05)) == 0.0


@pytest.mark.parametrize(
    ("height", "stops"), [(0.05, False), (0.2, True), (1.2, True), (1.4, False)]
)
def test_what_is_under_a_body_or_above_it_stops_no_one(
    height: float, stops: bool
) -> None:
    up = float(np.arctan2(height - 0.9, 1.0))
    metres = np.array([[1.0 / np.cos(up)]])
    depth = DepthImage.of(metres, (0.0,), (float(np.degrees(up)),), REACH)
    view = View("flat", 0.0, 0.0, 0.0, 0.9, 80.0, depth)
    free = dict(clearances(view))[0]
    assert free == (pytest.approx(0.81, abs=0.03) if stops else REACH)


def test_a_reason_is_not_repeated() -> None:
    details = {"action": "goto", "metres": 0.5, "reason": "something is in the way"}
    text = feedback(Feedback("blocked", details))
    assert text == "Something is in the way: you went 0.50 m."
    text = feedback(Feedback("blocked", {**details, "reason": "aborted"}))
    assert text == "Something is in the way: you went 0.50 m. (aborted)"

"""Rules of an episode's course and of the lines of a step, over many values."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from wayword.metrics.progress import GoalProgress
from wayword.viewer.episode import new_details

distances = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=7)


@given(distances)
def test_nearest_is_shown_only_if_the_walk_went_on_from_there(
    values: list[float],
) -> None:
    course = GoalProgress(tuple(values))
    nearest = values.index(min(values))
    is_between = 0 < nearest < len(values) - 1
    assert course.best_step == nearest
    assert bool(course.summary()) == is_between
    if is_between:
        assert course.summary() == f"nearest: {min(values):.1f} m, after step {nearest}"


@given(st.lists(st.integers(0, 3).map(float), min_size=1, max_size=6))
def test_conditions_met_earlier_are_shown_only_if_they_were_more(
    values: list[float],
) -> None:
    course = GoalProgress(tuple(values), conditions=3)
    summary = course.summary()
    assert summary.startswith(f"{values[-1]:.0f} of 3 goal conditions met")
    if max(values) > values[-1]:
        best = values.index(max(values))
        assert summary.endswith(f", {max(values):.0f} after step {best}")
    else:
        assert "after step" not in summary


def test_a_detail_that_is_a_word_of_the_action_is_not_repeated() -> None:
    words = ("goto", "kitchen", "mug", "table")
    for key, value in product(("action", "executed", "object", "place", "to"), words):
        step = {
            "decision": {"action": "goto", "arguments": ["kitchen", "mug"]},
            "feedback": {"details": {key: value, "why": value}},
            "pose": {},
        }
        shown = new_details(step)
        assert shown["why"] == value
        assert (key in shown) == (value == "table"), (key, value)


def test_the_heading_is_not_repeated_next_to_a_pose_that_has_one() -> None:
    for pose in ({}, {"heading": 90.0}):
        step = {
            "decision": {"action": "turn"},
            "feedback": {"details": {"heading": 90.0, "heading_before": 0.0}},
            "pose": pose,
        }
        assert bool(new_details(step)) == (not pose)


def test_runs_of_equal_motions_are_counted() -> None:
    motions = ["move_ahead"] * 3 + ["turn_left"] + ["move_ahead"] * 2
    step = {"decision": {}, "feedback": {"details": {"low_level": motions}}, "pose": {}}
    assert new_details(step) == {
        "low_level": ["move_ahead × 3", "turn_left", "move_ahead × 2"]
    }

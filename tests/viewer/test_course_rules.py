"""Rules of an episode's course and of the lines of a step, over many values."""

from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.metrics.progress import GoalProgress, length_in
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


@given(distances)
def test_every_step_and_the_start_have_the_distance_that_is_left(
    values: list[float],
) -> None:
    course = GoalProgress(tuple(values))
    is_informative = len(set(values)) > 1
    assert course.informative == is_informative
    for step in range(-1, len(values) + 1):
        text = course.describe(step)
        if not is_informative or not 0 <= step < len(values):
            assert text == ""
            continue
        assert text.startswith(f"{values[step]:.1f} m to go")
        worse = step > 0 and values[step] > values[step - 1]
        assert ("further" in text) == worse
        assert course.kind(step) == ("led worse" if worse else "led")


@given(distances)
def test_the_first_step_away_from_the_goal_and_the_farthest_one_are_known(
    values: list[float],
) -> None:
    course = GoalProgress(tuple(values))
    growth = {n: values[n] - values[n - 1] for n in range(1, len(values))}
    losses = [n for n, metres in growth.items() if metres > 0]
    assert course.first_loss == min(losses, default=0)
    assert course.worst_step == values.index(max(values))


@given(st.lists(st.integers(0, 3).map(float), min_size=1, max_size=7))
def test_a_condition_is_lost_if_as_many_never_hold_again(values: list[float]) -> None:
    course = GoalProgress(tuple(values), conditions=3)
    losses = [
        n
        for n in range(1, len(values))
        if values[n] < values[n - 1] and max(values[n:]) < values[n - 1]
    ]
    assert course.first_loss == min(losses, default=0)
    for step in range(1, len(values)):
        change = values[step] - values[step - 1]
        assert course.change(step) == change
        kind = "led"
        if change:
            kind = "led better" if change > 0 else "led worse"
        assert course.kind(step) == kind


@pytest.mark.parametrize("conditions", [0, 24_000])
def test_the_course_of_a_long_episode_is_read_in_linear_time(conditions: int) -> None:
    """Every step of a page asks for its change: pairs of 24,000 steps would take minutes."""
    steps = 24_000
    course = GoalProgress(tuple(map(float, range(steps, 0, -1))), conditions)
    began = time.process_time()
    texts = [course.describe(step) for step in range(steps)]
    assert course.first_loss == (1 if conditions else 0)
    assert time.process_time() - began < 5
    assert all(texts[1:])


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


@pytest.mark.parametrize(
    ("length", "metres", "links"),
    [
        (0.0, "0.0 m", "0 links"),
        (1.0, "1.0 m", "1 link"),
        (1.4, "1.4 m", "1 link"),
        (1.6, "1.6 m", "2 links"),
        (1234.0, "1234.0 m", "1,234 links"),
        (float("inf"), "no path", "no path"),
    ],
)
def test_a_length_is_given_in_metres_or_in_whole_links(
    length: float, metres: str, links: str
) -> None:
    assert (length_in("m", length), length_in("links", length)) == (metres, links)

"""Street instructions cut into legs, and what of a place agrees with the leg that is followed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from helpers.small_street import SmallStreet
from wayword.agents.velma.agent import Velma, VelmaSettings
from wayword.agents.velma.legs import (
    RouteProgress,
    TurnCounts,
    count_crossings,
    goal_part,
    legs,
    step_count,
    stop_place,
)
from wayword.core.agent import Shared, Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.rollout import Setup, rollout


def test_a_leg_ends_in_its_turn_and_the_last_one_where_one_stops() -> None:
    text = "Go past a gym. At the second light, with a bank on the corner, take a right. Turn left "
    text += "at the park and stop in front of the deli on your left. If you see a zoo, go back."
    assert [(leg.text, leg.turn) for leg in legs(text)] == [
        (
            "Go past a gym. At the second light, with a bank on the corner, take a right",
            "right",
        ),
        ("Turn left at the park and stop in front of the deli on your left", "left"),
        ("If you see a zoo, go back", ""),
    ]


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (
            "Make a right, then another right at the light. Stop.",
            ["right", "right", ""],
        ),
        ("Bear slightly left. Stop by the deli.", ["left", ""]),
        ("Go left past the bank and stop.", [""]),
        ("Pass the gym on your left. Stop.", [""]),
        ("Turn right at the light", ["right", ""]),
        ("", [""]),
    ],
)
def test_turns_that_are_made_are_reported_from_sides(
    text: str, turns: list[str]
) -> None:
    assert [leg.turn for leg in legs(text)] == turns


def test_legs_know_where_they_begin() -> None:
    text = "Go to the light, and turn left. Then take a right, and stop by the deli."
    assert [text[leg.clause.begin :][:9] for leg in legs(text)] == [
        "Go to the",
        ". Then ta",
        ", and sto",
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("turn left at the light", (1, False)),
        ("At the third traffic light turn left", (3, False)),
        ("Go through the next light. At the second light turn right", (2, False)),
        ("Go through two lights, and at the next one make a right", (3, False)),
        (
            "go straight through the next one and turn left at the one after that",
            (2, False),
        ),
        ("Go through the next two sets of lights and stop", (2, True)),
        ("Pass the gym, cross the street and stop", (1, True)),
        ("Go to the light. A bank is at this corner. Pass that light", (1, True)),
        ("turn left at the bank", None),
    ],
)
def test_crossings_are_counted(text: str, number: tuple[int, bool] | None) -> None:
    assert count_crossings(text) == number


def test_one_turns_at_the_crossing_behind_those_that_are_passed() -> None:
    (leg, _) = legs("Pass through two sets of lights and then turn left")
    assert leg.crossings == 3


@pytest.mark.parametrize(
    ("text", "place", "steps"),
    [
        ("Stop half way down the block", "half", None),
        ("stop 2/3 to the next light", "two thirds", None),
        ("Stop in the middle of the intersection", "in it", None),
        ("stop a few steps before the next light", "near the end", 3),
        ("take a step or two and stop", "", 2),
        ("Stop just past the bank", "soon", None),
        ("stop by the deli", "", None),
    ],
)
def test_where_a_leg_stops_is_read(text: str, place: str, steps: int | None) -> None:
    assert (stop_place(text), step_count(text)) == (place, steps)


def test_a_warning_is_no_goal() -> None:
    assert goal_part("Stop by the bank. If you see a zoo, you have gone too far") == (
        "Stop by the bank"
    )
    assert goal_part("Pass a zoo. Stop by the bank") == " Stop by the bank"
    assert goal_part("Stop by the bank, which is on your left").endswith("on your left")


def course(text: str, *, sees: bool = True) -> RouteProgress:
    return RouteProgress(legs(text), sees)


def test_a_landmark_of_the_leg_is_reported_with_its_side_where_that_is_another() -> (
    None
):
    def adjacent(text: str, name: str = "a bank") -> list[str]:
        walk = course(text)
        walk.see(2, light_ahead=False, landmarks=[(name, "on your left")])
        return [sign for sign in walk.signs() if "beside" in sign]

    assert adjacent("Stop at the bank") == ["beside it"]
    assert adjacent("Stop at the bank on the left") == ["beside it"]
    assert adjacent("Stop at the bank on your right") == ["beside it, other side"]
    assert adjacent("Stop at the bank", "7-11") == []


def test_crossings_are_reported_with_what_the_leg_counts() -> None:
    walk = course("Turn left at the second light. Stop.")
    walk.see(4, light_ahead=True, landmarks=())
    assert list(walk.signs()) == ["at intersection 1", "1 of 2 lights", "turn left"]
    walk.take("forward")
    walk.see(3, light_ahead=True, landmarks=())
    assert list(walk.signs()) == [
        "at intersection 2", "1 of 2 crossroads", "2 of 2 lights reached", "turn left",
    ]  # fmt: skip
    walk.take("forward")
    walk.see(4, light_ahead=True, landmarks=())
    assert "3 of 2 lights passed" in walk.signs()


def test_lights_are_intersections_where_nothing_is_seen() -> None:
    walk = course("Turn left at the light. Stop.", sees=False)
    walk.see(4, light_ahead=False, landmarks=())
    assert "1 of 1 intersections reached" in walk.signs()


def test_a_leg_that_is_done_gives_way_with_the_next_action() -> None:
    walk = course("Turn left at the light. Go two steps and stop.")
    assert (walk.announce_leg(), walk.announce_leg(), walk.leg_may_end()) == (
        True,
        False,
        False,
    )
    walk.see(4, light_ahead=True, landmarks=())
    assert walk.leg_may_end()
    walk.leg_done = True
    walk.take("left")
    assert (walk.followed, walk.is_last, walk.announce_leg()) == (2, True, True)
    walk.see(0, light_ahead=False, landmarks=())
    for steps in range(3):
        how = " reached" if steps == 2 else ""
        assert list(walk.signs())[-3:] == [
            "stop",
            f"{steps} of 2 steps{how}",
            f"{steps} in all",
        ]
        assert walk.leg_may_end()
        walk.take("forward")
        walk.see(2, light_ahead=False, landmarks=())
    walk.leg_done = True
    walk.take("stop")
    assert walk.followed == 2


def test_half_a_block_is_reported_in_steps_once_a_block_was_walked() -> None:
    walk = course("Go through two lights and stop half way down the block.", sees=False)
    for exits in (4, 2, 2, 2, 2, 2, 4, 2):
        walk.see(exits, light_ahead=False, landmarks=())
        walk.take("forward")
    walk.see(2, light_ahead=False, landmarks=())
    assert list(walk.signs())[-3:] == ["stop half", "2 of 3 steps", "8 in all"]


def test_steps_blocks_and_crossings_are_counted_since_the_turn() -> None:
    since = TurnCounts()
    since.see(2, light_ahead=True)
    since.take("forward")
    since.see(4, light_ahead=False)  # the light was seen a step before
    since.take("forward")
    since.see(3, light_ahead=False)  # and this one has none
    assert (since.steps, since.junctions, since.crossroads, since.lights) == (
        2,
        2,
        1,
        1,
    )
    assert (since.stretch_steps, since.block_steps) == (0, 1)
    since.take("turn_around")
    assert since == TurnCounts("turn around", 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(("reply", "action"), [("yes", "stop"), ("no", "forward")])
def test_between_intersections_one_stops_or_goes_on(reply: str, action: str) -> None:
    class Says(Model):
        name = "says"

        async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
            raise AssertionError("nothing is written")

        async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
            assert list(options) == ["no", "yes"], (
                "between intersections nothing else is asked"
            )
            assert "1 action" not in str(prompt), "trained without a limit"
            return Choice(
                tuple(options), tuple(float(option == reply) for option in options)
            )

    street = SmallStreet()
    episode = Episode("1", "Go on.", "small", {"panorama": "s0", "heading": 0})
    task = Task(episode, PathReference("1", ("s0", "s1")))

    def build(toolkit: Toolkit, actor: str) -> Velma:
        settings = VelmaSettings(shots=0, follow=True)
        return Velma(settings, replace(toolkit, models={"main": Says()}))

    played = asyncio.run(
        rollout(task, Setup(street, build, shared=Shared(), max_steps=1))
    )
    assert not played.error
    assert played.steps[0].decision.action.name == action
    assert played.noted("clauses") == [{"texts": ["Go on"], "begins": [0]}]
    assert played.noted("followed") == [
        {"number": 1, "done": [1] if action == "stop" else []}
    ]


@pytest.mark.parametrize(
    ("text", "crossings"),
    [
        ("Go through two lights and turn left.", [3, None]),
        ("Go through two lights and stop.", [2]),
        ("At the second light turn left.", [2, None]),
        ("Stop at the second light.", [2]),
        (
            "Go past three intersections. Turn right. Go through one light and stop.",
            [4, 1],
        ),
    ],
)
def test_a_turn_is_at_the_crossing_after_those_passed_and_a_stop_is_not(
    text: str, crossings: list[int | None]
) -> None:
    assert [leg.crossings for leg in legs(text)] == crossings


@pytest.mark.parametrize("mark", ["", ".", "!", " ", "?", ")", '")', ". "])
def test_marks_after_the_last_turn_are_no_leg(mark: str) -> None:
    found = legs(f"Go on and turn left{mark}")
    assert [(leg.text, leg.turn) for leg in found] == [
        ("Go on and turn left", "left"),
        ("stop", ""),
    ]

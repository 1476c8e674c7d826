"""What VELMA makes of a model's answers: one word, several steps at once, and noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.small_street import PARK_AND_SHOP, Eyes, SmallStreet, play
from wayword.agents.velma.agent import VelmaSettings, read_actions
from wayword.core.action import Action, Decision, Rejection
from wayword.worlds.street.moves import WORDS

COMPLETE = VelmaSettings(shots=0, decoding="complete")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" forward", ["forward"]),
        ("forward\n", ["forward"]),
        ("5. forward", ["forward"]),
        (" `Left`.", ["left"]),
        ("turn around", ["turn_around"]),
        ("**stop**", ["stop"]),
        (" forward\n6. forward\n7. left", ["forward", "forward", "left"]),
        (
            " forward\n6. forward\nThere is a 4-way intersection.\n7. left",
            ["forward"] * 2,
        ),
        (" forward\n7. left", ["forward"]),
        (" forward\nforward", ["forward"]),
        (" stop\n6. forward", ["stop"]),
        (" forward\n6. stop\n\nNavigation Instructions:", ["forward", "stop"]),
        (" forward\n6. fly\n7. left", ["forward"]),
        (" forward\n6. left" + "\n7. right" * 3, ["forward", "left", "right"]),
        ("<think>left?</think>\nforward", ["forward"]),
        ("I see a crossing.\n**Action:** left", ["left"]),
        ('```json\n{"action": "turn around"}\n```', ["turn_around"]),
        ("forward, because the road goes on", ["forward"]),
        ("Go on:\nforward", ["forward"]),
        ("**5. left**", ["left"]),
        ("**5.** left\n**6.** right", ["left", "right"]),
        ("Next action: left", ["left"]),
        ("```\n5. left\n6. right\n```", ["left", "right"]),
        ("```text\nNext action: `turn around`\n```", ["turn_around"]),
    ],
)
def test_actions_are_read_as_far_as_they_are_numbered_in_sequence(
    text: str, words: list[str]
) -> None:
    assert read_actions(text, 5) == words


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("fly", "unknown"),
        ("6. forward", "unknown"),  # the fifth action was asked for
        ("I would go straight on here.", "no_action"),
        ("forward and then left", "several_actions"),
        ("- forward\n- left\n- right\n- turn_around\n- stop", "several_actions"),
        ("5. forward\n6. left\n7. right\n8. turn_around\n9. stop", "several_actions"),
        ("../../etc/passwd; rm -rf", "no_action"),
        ("\x00" * 5000, "unknown"),
        ("9" * 6000 + ". forward", "unknown"),
    ],
)
def test_what_is_no_action_is_a_rejection_of_bounded_size(text: str, kind: str) -> None:
    read = read_actions(text, 5)
    assert isinstance(read, Rejection)
    assert read.kind == kind
    assert len(read.said) <= 500
    assert len(read.reason) < 500


@given(st.text(max_size=300), st.integers(1, 60))
def test_no_text_breaks_the_reader(text: str, number: int) -> None:
    read = read_actions(text, number)
    assert isinstance(read, Rejection) or set(read) <= set(WORDS)


def test_one_completion_answers_several_steps_while_nothing_new_is_seen() -> None:
    answers = [
        " forward\n2. forward\n3. forward\n4. forward\n5. forward\n6. stop",
        " right\n6. forward\n7. stop",
    ]
    trajectory, script = play(SmallStreet(), answers, COMPLETE)
    words = [str(action) for action in trajectory.actions("agent")]
    assert words == ["forward"] * 4 + ["right", "forward", "stop"]
    assert len(script.prompts) == 2, "the junction after the fourth step was new"
    assert script.prompts[1].endswith("There is a 4-way intersection.\n5.")
    assert [len(step.calls) for step in trajectory.steps] == [1, 0, 0, 0, 1, 0, 0]


def test_a_landmark_in_view_is_something_new() -> None:
    street = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=["a park"])
    answers = [
        " forward\n2. forward\n3. forward\n4. forward",
        " forward\n4. stop",
        " stop",
    ]
    trajectory, script = play(street, answers, COMPLETE)
    assert len(script.prompts) == 3
    assert trajectory.visited("agent")[-1]["panorama"] == "s3"


def test_a_plan_ends_where_the_street_did_something_else() -> None:
    answers = [" forward\n2. left\n3. forward\n4. forward", " stop"]
    trajectory, script = play(SmallStreet(), answers, COMPLETE)
    assert script.prompts[1].endswith("1. forward\n2. forward\n3.")
    assert trajectory.steps[1].feedback.status == "no_turn"


def test_an_answer_that_is_no_action_becomes_forward_and_says_so() -> None:
    answers = ["I am not sure.", " forward\n3. stop"]
    trajectory, script = play(SmallStreet(), answers, COMPLETE)
    first = trajectory.steps[0].decision
    assert isinstance(first, Decision)
    assert first.action == Action("forward")
    assert first.fallback_for == Rejection(
        "no_action",
        "'I am not sure.' must be one of: forward, left, right, turn_around, stop",
        "I am not sure.",
    )
    assert script.prompts[1].endswith("1. forward\n2."), (
        "what was carried out is in the prompt"
    )
    later = [step.decision for step in trajectory.steps[1:]]
    assert all(isinstance(d, Decision) and d.fallback_for is None for d in later)


def test_ranking_takes_the_most_probable_word_and_no_rejection_is_possible() -> None:
    trajectory, script = play(SmallStreet(), ["turn_around", "no such word", "stop"])
    words = [str(action) for action in trajectory.actions("agent")]
    assert words[:2] == ["turn_around", "forward"]
    assert not script.samplings


def test_sampling_is_requested_with_a_seed_of_its_own() -> None:
    warm = VelmaSettings(shots=0, decoding="complete", temperature=0.7, max_tokens=9)
    _, script = play(SmallStreet(), [" forward", " forward", " stop"], warm)
    seeds = [sampling.seed for sampling in script.samplings]
    assert len(set(seeds)) == 3
    assert None not in seeds
    assert {sampling.max_tokens for sampling in script.samplings} == {9}
    _, again = play(SmallStreet(), [" forward", " forward", " stop"], warm)
    assert [sampling.seed for sampling in again.samplings] == seeds

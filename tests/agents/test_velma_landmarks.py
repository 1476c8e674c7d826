"""Landmark lists: recorded or asked for, tidied, and never fatal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.small_street import Eyes, Script, SmallStreet, play
from wayword.agents.velma.agent import (
    LONGEST_LANDMARK,
    MOST_LANDMARKS,
    Landmarks,
    VelmaSettings,
    read_landmarks,
    tidy_landmarks,
)

SEEN = {("s0", 0, "a park"): 9.0}
ASK = VelmaSettings(shots=0, landmarks="model")


@pytest.mark.parametrize(
    ("listed", "kept"),
    [
        ([], ()),
        (["", "  ", "\n"], ()),
        (["None"], ()),
        (["a park", "A park", "the  park", "park"], ("a park",)),
        ([' "Staples" ', "**AMC**"], ("Staples", "AMC")),
        ([3, None], ("3",)),
        (["Ann's", "McDonald's"], ("Ann's", "McDonald's")),
        (["a park", "a parking lot"], ("a park", "a parking lot")),
    ],
)
def test_lists_are_tidied(listed: list[object], kept: tuple[str, ...]) -> None:
    assert tidy_landmarks(listed) == Landmarks(kept)


def test_a_landmark_of_ten_kilobytes_is_put_aside_not_cut() -> None:
    assert tidy_landmarks(["x" * 10_000, "a park"]) == Landmarks(("a park",), ignored=1)
    assert tidy_landmarks(["x" * LONGEST_LANDMARK]).names == ("x" * LONGEST_LANDMARK,)
    assert tidy_landmarks(f"place {n}" for n in range(MOST_LANDMARKS + 3)).ignored == 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("\n1. a park\n2. Staples", ("a park", "Staples")),
        (" 1) a park\n 2) Staples\n", ("a park", "Staples")),
        ("Landmarks:\n1: a park\nThat is all.\n2. no more", ("a park",)),
        ("None", ()),
        ("1. None", ()),
        ("", ()),
        ("There are no landmarks.", ()),
        ("1.\n2. a park", ("a park",)),
    ],
)
def test_numbered_lists_are_parsed(text: str, names: tuple[str, ...]) -> None:
    assert read_landmarks(text).names == names


@given(st.text(max_size=400))
def test_any_text_is_a_list_of_bounded_size(text: str) -> None:
    names = read_landmarks(text).names
    assert len(names) <= MOST_LANDMARKS
    assert all(0 < len(name) <= LONGEST_LANDMARK and "\n" not in name for name in names)


def test_the_model_is_queried_once_with_five_examples() -> None:
    lister = Script(["\n1. a park\n2. Staples"])
    trajectory, script = play(SmallStreet(Eyes(SEEN)), ["stop"], ASK, landmarks=lister)
    (prompt,) = lister.prompts
    assert prompt.count("Landmarks:\n") == 5
    assert prompt.endswith("Stop at the second tree.\nLandmarks:")
    assert "Landmarks:\nNone\n" in prompt, "one example has no landmarks at all"
    assert [call.role for call in trajectory.opening_calls] == ["landmarks"]
    assert "You see a park ahead." in script.prompts[0]


@pytest.mark.parametrize("answer", ["None", "", "nothing to see", "1."])
def test_zero_landmarks_are_fine(answer: str) -> None:
    trajectory, script = play(
        SmallStreet(Eyes(SEEN)), ["stop"], ASK, landmarks=Script([answer])
    )
    assert trajectory.ended == "stopped"
    assert "You see" not in script.prompts[0]


def test_an_over_long_landmark_is_noted() -> None:
    lister = Script(["1. a park\n2. " + "very " * 2_000 + "long"])
    trajectory, script = play(SmallStreet(Eyes(SEEN)), ["stop"], ASK, landmarks=lister)
    (note,) = trajectory.opening_notes
    assert (note.kind, note.details["count"]) == ("landmarks_ignored", 1)
    assert len(script.prompts[0]) < 500


def test_without_pictures_landmarks_are_not_looked_for() -> None:
    lister = Script([])
    trajectory, _ = play(SmallStreet(landmarks=["a park"]), ["stop"], landmarks=lister)
    assert trajectory.ended == "stopped"
    assert not lister.prompts


def test_a_missing_record_is_noted_and_the_walk_goes_on() -> None:
    trajectory, _ = play(SmallStreet(Eyes(SEEN)), ["stop"])
    assert [note.kind for note in trajectory.opening_notes] == ["no_recorded_landmarks"]
    assert trajectory.ended == "stopped"
    none = VelmaSettings(shots=0, landmarks="none")
    trajectory, _ = play(SmallStreet(Eyes(SEEN)), ["stop"], none)
    assert not trajectory.opening_notes

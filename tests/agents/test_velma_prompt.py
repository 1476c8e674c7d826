"""VELMA's prompt: what it says, that it only grows, and what happens where it would not fit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from helpers.small_house import SmallHouse
from helpers.small_street import (
    GOLDEN,
    NORTH_THEN_EAST,
    PARK_AND_SHOP,
    Eyes,
    Script,
    SmallStreet,
    play,
)
from wayword.agents.velma.agent import Velma, VelmaSettings
from wayword.core.agent import Demonstration, Toolkit
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Prompt, Usage
from wayword.datasets.towns import Towns
from wayword.models.scripted import ScriptedModel
from wayword.settings import make
from wayword.verbalize import street

NAMES = ["a park", "Corner Shop"]
WITH_LANDMARKS = """\
Follow the route description and stop where it ends!
Action Space: forward, left, right, turn_around, stop
You have 12 actions, including the stop. Then the walk ends where you are.

Navigation Instructions:
"Pass the park and turn right at the 'Corner Shop'. Stop at the second tree."
Action Sequence:
1. forward
2. forward
You see a park on your left.
3. forward
You see a park on your left.
4. forward
There is a 4-way intersection.
You see Corner Shop slightly right.
5. right
You see Corner Shop slightly left.
6. forward
7."""


def test_the_prompt_of_the_last_step_holds_the_full_walk() -> None:
    street = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=NAMES)
    trajectory, script = play(street, NORTH_THEN_EAST)
    assert script.prompts[-1] == WITH_LANDMARKS
    assert trajectory.ended == "stopped"
    assert trajectory.visited("agent")[-1]["panorama"] == "e1"


def test_actions_are_explained_where_requested(tmp_path: Path) -> None:
    street = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=NAMES)
    _, script = play(street, NORTH_THEN_EAST, VelmaSettings(shots=0, glosses=True))
    task, space, *walk = script.prompts[-1].splitlines()
    assert [task, *walk] == [
        line for n, line in enumerate(WITH_LANDMARKS.splitlines()) if n != 1
    ]
    words = [
        part.partition(" (")[0]
        for part in space.removeprefix("Action Space: ").split("), ")
    ]
    assert words == ["forward", "left", "right", "turn_around", "stop"]
    (tmp_path / "task.txt").write_text("Go.")
    custom = VelmaSettings(shots=0, glosses=True, prompts=str(tmp_path))
    _, script = play(street, NORTH_THEN_EAST, custom)
    assert script.prompts[-1].startswith("Go.\n\nNavigation Instructions:")


def test_without_pictures_only_junctions_are_reported() -> None:
    _, script = play(SmallStreet(landmarks=NAMES), NORTH_THEN_EAST)
    assert "You see" not in script.prompts[-1]
    assert script.prompts[-1].count("There is a 4-way intersection.") == 1
    _, script = play(
        SmallStreet(Eyes(PARK_AND_SHOP), landmarks=NAMES),
        NORTH_THEN_EAST,
        VelmaSettings(shots=0, scores="none"),
    )
    assert "You see" not in script.prompts[-1]


def test_turning_in_place_tells_landmarks_again_but_not_the_junction() -> None:
    eyes = Eyes({("j", 0, "a park"): 5.0, ("j", 270, "a park"): 5.0})
    answers = ["forward"] * 4 + ["left", "stop"]
    _, script = play(SmallStreet(eyes, landmarks=["a park"]), answers)
    assert script.prompts[-1].splitlines()[-5:] == [
        "There is a 4-way intersection.",
        "You see a park on your left.",  # of two equal views the one further left
        "5. left",
        "You see a park ahead.",
        "6.",
    ]


@pytest.mark.parametrize("decoding", ["choose", "complete"])
@pytest.mark.parametrize("shots", [0, 2])
def test_prompts_only_grow(decoding: str, shots: int) -> None:
    street = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=NAMES)
    settings = VelmaSettings(shots=shots, decoding=decoding)  # type: ignore[arg-type]
    answers = [
        "forward",
        "forward",
        "forward",
        "turn_around",
        "nonsense",
        "turn_around",
    ] * 2
    _, script = play(street, answers, settings)
    assert len(script.prompts) >= 5
    for shorter, longer in pairwise(script.prompts):
        assert longer.startswith(shorter)
        assert len(longer) > len(shorter)


def test_what_was_carried_out_is_written_down_not_what_was_stated() -> None:
    _, script = play(SmallStreet(), ["forward", "left", "turn_around", "stop"])
    assert script.prompts[-1].endswith("1. forward\n2. forward\n3. turn_around\n4.")


def test_the_opening_is_walked_without_asking() -> None:
    trajectory, script = play(SmallStreet(opening=["forward"]), ["forward", "stop"])
    assert [str(action) for action in trajectory.actions("agent")] == [
        "forward"
    ] * 2 + ["stop"]
    assert script.prompts[0].endswith("Action Sequence:\n1. forward\n2.")
    assert not trajectory.steps[0].calls


@pytest.mark.parametrize(
    ("flow", "line"),
    [
        ("with", "You face the way the traffic flows."),
        ("against", "You face the oncoming traffic."),
        (None, ""),
    ],
)
def test_the_flow_of_traffic_is_reported_once_at_the_start(
    flow: str | None, line: str
) -> None:
    answers = ["forward", "turn_around", "stop"]
    _, script = play(SmallStreet(Eyes({}, flow)), answers)
    if line:
        start = f"Action Sequence:\n{line}\n1. forward\n2. turn"
    else:
        start = "Sequence:\n1. forward"
    assert start in script.prompts[-1]
    for other in (
        play(SmallStreet(Eyes({}, flow), opening=["forward"]), answers),
        play(
            SmallStreet(Eyes({}, flow)), answers, VelmaSettings(shots=0, traffic=False)
        ),
    ):
        assert "traffic" not in other[1].prompts[-1]


def test_examples_are_complete_gold_walks_with_their_own_landmarks() -> None:
    eyes = Eyes({("j", 45, "Corner Shop"): 9.0, ("j", 0, "Corner Shop"): 1.0})
    _, script = play(SmallStreet(eyes), ["stop"], VelmaSettings(shots=2, draw="run"))
    assert script.prompts[0].split("\n\n")[1:3] == [
        'Navigation Instructions:\n"Example 0."\nAction Sequence:\n1. forward\n'
        "There is a 4-way intersection.\nYou see Corner Shop slightly right.\n"
        "2. left\n3. forward\n4. stop",
        'Navigation Instructions:\n"Example 1."\nAction Sequence:\n1. forward\n'
        "There is a 4-way intersection.\nYou see Corner Shop slightly right.\n"
        "2. forward\n3. stop",
    ]


def test_examples_that_do_not_fit_are_dropped_in_full_and_reported() -> None:
    _, full = play(SmallStreet(), ["stop"], VelmaSettings(shots=30))
    assert full.prompts[0].count("Example ") == 30
    trajectory, script = play(
        SmallStreet(), ["stop"], VelmaSettings(shots=30, context=2000)
    )
    (note,) = [
        note for note in trajectory.opening_notes if note.kind == "examples_dropped"
    ]
    left = note.details["left"]
    assert 1 <= left < 30
    assert note.details["count"] == 30 - left
    task, *examples, route = script.prompts[0].split("\n\n")
    assert len(examples) == left
    assert all(
        block.startswith("Navigation Instructions:") for block in (*examples, route)
    )
    assert all(example.endswith(". stop") for example in examples)
    assert full.prompts[0].endswith("\n\n".join([*examples, route])), (
        "the last ones stay"
    )
    assert full.prompts[0].startswith(task)


def test_examples_are_dropped_later_if_tokens_turn_out_shorter_than_thought() -> None:
    class Spelling(Script):
        """Counts every character as a token."""

        async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
            choice = await super().choose(prompt, options)
            return replace(choice, usage=Usage(len(str(prompt)), 1))

    spelling = Spelling(NORTH_THEN_EAST)
    settings = VelmaSettings(shots=40, context=3600, draw="run", max_tokens=80)
    trajectory, _ = play(SmallStreet(), [], settings, main=spelling)
    assert trajectory.ended == "stopped"
    assert "examples_dropped" not in [note.kind for note in trajectory.opening_notes]
    assert [note.kind for note in trajectory.steps[1].notes] == ["examples_dropped"]
    assert len(spelling.prompts[0]) > 3600 - settings.max_tokens
    assert all(
        len(prompt) <= 3600 - settings.max_tokens for prompt in spelling.prompts[1:]
    )


def test_more_examples_than_there_are_end_in_one_line() -> None:
    with pytest.raises(UsageError, match="101 examples were asked for; lower shots"):
        play(SmallStreet(), ["stop"], VelmaSettings(shots=101))
    with pytest.raises(UsageError, match="shots must be at least 0, got -1"):
        make(VelmaSettings, {"shots": -1}, "velma")


def test_own_texts_replace_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "task.txt").write_text("Walk!")
    _, script = play(
        SmallStreet(), ["stop"], VelmaSettings(shots=0, prompts=str(tmp_path))
    )
    assert script.prompts[0].startswith("Walk!\n\nNavigation Instructions:\n")


def test_the_prompt_of_a_generated_town_is_the_golden_one() -> None:
    towns = Towns()
    task = towns.tasks[2]
    gold = [action.name for action in towns.solve(task)]

    class Town(SmallStreet):
        tasks = [task]  # noqa: RUF012
        world, perceiver = towns.world, towns.perceiver  # type: ignore[assignment]
        demonstrations = towns.demonstrations  # type: ignore[assignment]

    trajectory, script = play(
        Town(), gold[1:], VelmaSettings(shots=1, draw="run"), max_steps=55
    )
    assert trajectory.ended == "stopped"
    golden = GOLDEN / "velma_towns.txt"
    assert script.prompts[-1] == golden.read_text(encoding="utf-8").rstrip("\n")


def test_only_street_observations_are_read() -> None:
    with pytest.raises(
        UsageError, match="acts in street worlds, and SmallHouse is an indoor dataset"
    ):
        play(SmallHouse(), ["stop"])


def test_a_step_can_be_one_line_as_in_the_released_code() -> None:
    """The release's line is capitalized, and the landmarks of a view are joined."""
    released = street.Sentences(landmark="{landmark} {direction}.")
    seen = [("Starbucks", 0), ("a bank", 0), ("a park", 2)]
    assert street.joined_observation(4, True, seen, None, released) == [
        "There is a 4-way intersection. Starbucks and a bank on your left. A park ahead."
    ]
    assert street.joined_observation(4, False) == []
    town = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=NAMES)
    _, script = play(
        town, NORTH_THEN_EAST, VelmaSettings(shots=0, observations="joined")
    )
    assert (
        "There is a 4-way intersection. You see Corner Shop slightly right.\n5. right"
        in script.prompts[-1]
    )


def test_sentences_of_observations_are_texts_that_a_folder_may_replace(
    tmp_path: Path,
) -> None:
    (tmp_path / "junction.txt").write_text("{ways} streets meet here.\n")
    _, script = play(SmallStreet(), ["stop"], VelmaSettings(shots=0))
    sentences = street.Sentences(junction="{ways} streets meet here.")
    assert street.observation(3, True, sentences=sentences) == ["3 streets meet here."]
    assert street.observation(3, True) == ["There is a 3-way intersection."]
    agent = Velma(
        VelmaSettings(shots=0, prompts=str(tmp_path)), Toolkit({"main": script})
    )
    assert agent._sentences == sentences


def test_examples_are_drawn_for_each_episode_unless_for_the_run() -> None:
    def seeds(**settings: Any) -> list[int]:
        requests: list[int] = []

        def draw(count: int, seed: int) -> list[Demonstration]:
            requests.append(seed)
            return []

        toolkit = Toolkit({"main": ScriptedModel(answers=[])}, demonstrations=draw)
        for number in range(2):
            episode = replace(SmallStreet().tasks[0].episode, id=f"episode {number}")
            asyncio.run(Velma(VelmaSettings(**settings), toolkit).begin(episode))
        return requests

    assert seeds(draw="run") == [0, 0]
    assert len({*seeds(), *seeds(examples=1)}) == 4
    assert seeds() == seeds()

"""State accuracy: what an agent states about itself against what is true at that moment."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from helpers.small_flat import SmallFlat, play_in
from helpers.small_house import SmallHouse
from wayword.agents.strategies.agents import ReAct, ReActEmMem
from wayword.core.trajectory import Trajectory
from wayword.datasets.houses import Houses
from wayword.datasets.towns import Towns
from wayword.metrics.scoring import score
from wayword.metrics.state_accuracy import (
    METRICS,
    TOLERANCE,
    claims,
    holding_is_right,
    measure,
    place_is_right,
)
from wayword.runs.record import EpisodeRecord, RunFolder


def says(place: str, facing: str, holding: str, action: str) -> str:
    state = f"State:\n  place: {place}\n  facing: {facing}\n  holding: {holding}\n"
    return f"{state}Plan: go on\nAction: {action}"


def flat_episode() -> Trajectory:
    answers = [
        says("the kitchen", "north", "nothing", "go_grab[mug_1]"),  # all right
        says("hall", "north", "mug_1 (dirty)", "turn_right"),  # wrong place
        says("kitchen", "north", "a mug", "turn_right"),  # heading not updated
        "Action: turn_right",  # says nothing
        says("kitchen", "270°", "mug_1, knife_1", "stop"),  # one thing too many
    ]
    trajectory, _ = play_in(SmallFlat(), ReActEmMem, answers, decoding="free")
    assert trajectory.ended == "stopped"
    return trajectory


def test_statements_are_compared_with_the_truth_before_the_step() -> None:
    assert measure(flat_episode()) == {
        "state_heading": pytest.approx(3 / 5),
        "state_holding": pytest.approx(3 / 5),
        "state_place": pytest.approx(3 / 5),
    }


def test_an_episode_read_back_is_measured_the_same(tmp_path: Path) -> None:
    trajectory = flat_episode()
    with RunFolder.open(tmp_path / "run", {"identity": {}}) as folder:
        folder.append(EpisodeRecord("mug", {}, trajectory))
    (record,) = RunFolder.read(tmp_path / "run").records()
    assert record.trajectory.steps[0].notes == trajectory.steps[0].notes
    assert measure(record.trajectory) == measure(trajectory)


def test_constrained_states_are_measured_too() -> None:
    state = {"place": "b", "facing": "90 degrees", "holding": "nothing"}
    answers = [
        json.dumps({"state": state, "plan": "on", "action": "goto[b]"}),
        json.dumps({"state": state, "plan": "on", "action": "goto[c]"}),
        json.dumps({"state": state, "plan": "on", "action": "stop"}),
    ]
    trajectory, _ = play_in(SmallHouse(), ReActEmMem, answers)
    assert measure(trajectory) == {
        "state_heading": pytest.approx(1 / 3),  # east only after the move to c
        "state_place": pytest.approx(1 / 3),  # at b only after the first move
    }


def test_in_the_street_only_the_heading_is_scored() -> None:
    towns = Towns()
    heading = towns.tasks[0].episode.start["heading"]
    answers = [says("a street", f"{heading}", "nothing", "stop")]
    trajectory, _ = play_in(towns, ReActEmMem, answers, decoding="free")
    assert set(measure(trajectory)) == {"state_heading"}


def test_agents_that_state_nothing_get_no_such_metric() -> None:
    house = SmallHouse()
    trajectory, _ = play_in(house, ReAct, ["Action: stop"], decoding="free")
    assert measure(trajectory) == {}
    (scores,) = score(house, [(house.tasks[0], trajectory)])
    assert not [key for key in scores if key.startswith("state_")]
    emmem, _ = play_in(
        house, ReActEmMem, [says("s", "north", "", "stop")], decoding="free"
    )
    (scores,) = score(house, [(house.tasks[0], emmem)])
    assert (scores["state_heading"], scores["state_place"]) == (1.0, 1.0)
    assert {"state_heading", "state_place"} <= {metric.key for metric in METRICS}


def test_each_actor_is_measured_by_its_own_truth() -> None:
    pair = SmallFlat(poses={"anna": (2.0, 1.5, 0.0), "ben": (5.0, 1.5, 90.0)})
    answers = [
        says("kitchen", "north", "nothing", "stop"),
        says("kitchen", "north", "nothing", "stop"),
    ]
    trajectory, _ = play_in(pair, ReActEmMem, answers, decoding="free")
    scores = measure(trajectory)
    assert scores == {"state_heading": 0.5, "state_holding": 1.0, "state_place": 0.5}


def repeated(prompt: Any, sampling: Any) -> str:
    """An answer that states what the prompt tells last, and does something legal at random."""
    has_question = "\n".join(message.content for message in prompt)
    place = re.findall(r"You are (?:in the|at) (.+?), facing", has_question)
    facing = re.findall(r"(?:facing|You face) (.+?)(?:\.|, holding .+)\n", has_question)
    holding = re.findall(r", holding (.+?)\.\n", has_question)
    parts = {"place": place, "facing": facing, "holding": holding}
    state = {name: found[-1] for name, found in parts.items() if found}
    actions = sampling.json_schema["properties"]["action"]["enum"]
    moves = [action for action in actions if action not in ("stop", "chat", "ask")]
    return json.dumps(
        {"state": state, "action": random.Random(has_question).choice(moves)}
    )


@pytest.mark.parametrize("dataset", [SmallFlat, SmallHouse, Houses, Towns])
def test_who_repeats_what_is_shown_is_always_right(dataset: Any) -> None:
    trajectory, _ = play_in(dataset(), ReActEmMem, repeated, max_steps=12)
    scores = measure(trajectory)
    assert scores
    assert set(scores.values()) == {1.0}


def test_who_repeats_what_was_shown_at_the_start_is_not() -> None:
    trajectory, _ = play_in(
        SmallFlat(), ReActEmMem, repeated, max_steps=12, own_state="start", menu="all"
    )
    assert measure(trajectory)["state_heading"] < 1.0


@pytest.mark.parametrize(
    ("stated", "true", "right"),
    [
        (["mug_1"], ["mug_1"], True),
        (["mug"], ["mug_1"], True),
        (["mug", "mug_1"], ["mug_1", "mug_2"], True),
        (["mug", "mug 1"], ["mug_1", "mug"], True),
        (["mug_2"], ["mug_1"], False),
        (["mug_1", "mug_1"], ["mug_1", "mug_2"], False),
        ([], [], True),
        (None, [], False),
        ("nothing", [], False),
        ([1], ["mug_1"], False),
        (["mug_1"], [], False),
    ],
)
def test_holdings(stated: Any, true: list[str], right: bool) -> None:
    assert holding_is_right(stated, true) is right


@pytest.mark.parametrize(
    ("stated", "true", "right"),
    [
        ("in the Living Room, by the sofa", "living_room", True),
        ("room_11", "room_1", False),
        ("viewpoint 89be07", "89be07", True),
        ("", "kitchen", False),
        (None, "kitchen", False),
    ],
)
def test_places(stated: str | None, true: str, right: bool) -> None:
    assert place_is_right(stated, true) is right


@pytest.mark.parametrize("heading", [0.0, 5.0, 90.0, 355.0])
@pytest.mark.parametrize("off", [0.0, 22.0, 22.5, 23.0, 180.0])
def test_a_heading_is_right_within_the_tolerance_to_both_sides_of_north(
    off: float, heading: float
) -> None:
    for sign in (1, -1):
        stated = {"heading": (heading + sign * off) % 360}
        (claim,) = claims(stated, {"heading": heading}, {})
        assert claim.right == (off <= TOLERANCE)
    for none in (None, "north", True, float("nan")):
        (claim,) = claims({"heading": none}, {"heading": heading}, {})
        assert not claim.right
    assert list(claims({"heading": 0.0}, {"heading": True}, {})) == []

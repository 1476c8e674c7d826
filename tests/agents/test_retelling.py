"""Instructions and drawings from a finished walk."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

from helpers.playing import Scripted, play
from helpers.small_house import SmallHouse, SmallPerceiver
from wayword.agents.baselines.oracle import OracleSettings, ShortestPathOracle
from wayword.runs.retell import drawing, history, instruction, judge, layout, moves

WALK = play(ShortestPathOracle, OracleSettings(), {})  # s, b, then right to c
GRAPH = SmallHouse().graph("small")
TRUTH = [[0.0, 0.0], [0.0, 2.0], [2.0, 2.0]]


def points(*pairs: tuple[float, float]) -> str:
    return json.dumps({"points": [{"x": x, "y": y} for x, y in pairs]})


def test_moves_are_the_turns_and_lengths_walked() -> None:
    found = [(round(move.turn, 6), round(move.length, 6)) for move in moves(WALK, GRAPH)]
    assert found == [(0.0, 2.0), (90.0, 2.0)]


def test_the_layout_is_seen_from_the_start() -> None:
    assert layout(WALK, GRAPH) == pytest.approx(np.array(TRUTH), abs=1e-9)


def test_the_layout_turns_with_the_first_heading() -> None:
    east = play(ShortestPathOracle, OracleSettings(), {})
    east.start = {"agent": {"viewpoint": "s", "heading": 90.0}}
    # Facing east, north lies to the left: what was ahead is now at negative x.
    turned = np.array([[0.0, 0.0], [-2.0, 0.0], [-2.0, 2.0]])
    assert layout(east, GRAPH) == pytest.approx(turned, abs=1e-9)


def test_the_history_holds_no_thoughts_and_no_ids() -> None:
    told = history(WALK, SmallPerceiver(), "small")
    assert "Thought" not in told
    assert "Turn heading direction 90.00 degrees" in told
    assert told.count("The scene from the viewpoint") == 3


def test_an_instruction_is_written_from_the_history() -> None:
    model = Scripted(["Walk ahead\nand turn right."])
    written = asyncio.run(instruction(WALK, SmallPerceiver(), "small", model))
    assert written == "Walk ahead and turn right."
    assert "Go ahead and turn right." not in model.prompts[0]


def test_a_true_drawing_has_no_error_and_a_shifted_one_has_its_shift() -> None:
    right = asyncio.run(drawing(WALK, GRAPH, Scripted([points((0, 0), (0, 2), (2, 2))])))
    assert right.mean_error == pytest.approx(0.0)
    shifted = judge(points((0, 3), (0, 5), (2, 5)), np.array(TRUTH))
    assert shifted.mean_error == pytest.approx(3.0)
    assert shifted.end_error == pytest.approx(3.0)


@pytest.mark.parametrize("answer", ["", "{}", "[1, 2]", points((0, 0)), '{"points": [{"x": "a"}]}'])
def test_an_answer_without_the_points_is_rejected(answer: str) -> None:
    drawn = judge(answer, np.array(TRUTH))
    assert drawn.points is None
    assert drawn.rejection is not None

"""Houses in words, to the letter."""

from __future__ import annotations

import pytest

from helpers.rooms_scenes import act, flat, start
from wayword.core.world import Feedback
from wayword.verbalize.household import STATES, describe, facing, feedback, listed


def test_an_observation_in_words() -> None:
    world = start(flat(), (2.0, 1.0, 0.0), (2.75, 1.5, 0.0))
    act(world, "chat look on the table", "agent_2")
    assert describe(world.observe("agent_1")).splitlines() == [
        "You are in the kitchen, facing north.",
        "You hold nothing.",
        "On your left: fridge_1 (closed, 1.8 m).",
        "Ahead: table_1 (1.4 m), knife_1 (on table_1, 1.6 m), mug_1 (dirty, on table_1, 1.6 m).",
        "On your right: agent_2 (0.7 m), microwave_1 (closed, off, 1.8 m).",
        "agent_2 says: look on the table",
    ]


def test_holding_doors_and_nothing_in_words() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    act(world, "pick_up mug_1")
    act(world, "turn_right")
    text = describe(world.observe("agent"))
    assert "You hold mug_1 (dirty)." in text
    assert "door_1 (open, to the hall, 2.0 m)" in text
    act(world, "turn_right")
    act(world, "pan_right")
    assert "facing 210°" in describe(world.observe("agent"))


def test_one_word_for_what_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATES, "closed", "shut tight")
    world = start(flat(), (2.0, 1.0, 0.0))
    assert "fridge_1 (shut tight, 1.8 m)" in describe(world.observe("agent"))
    world = start(flat(), (2.5, 1.5, 90.0))
    act(world, "close door_1")
    assert "door_1 (shut tight, to the hall" in describe(world.observe("agent"))


@pytest.mark.parametrize(
    ("status", "details", "sentence"),
    [
        ("ok", {"action": "move_ahead", "distance": 0.25}, "You moved ahead 0.25 m."),
        ("ok", {"action": "stop", "answer": "two"}, "You stopped and answered: two"),
        ("ok", {"action": "stop", "answer": None}, "You stopped."),
        (
            "ok",
            {"action": "open", "object": "box_1", "contents": [], "kind": "receptacle"},
            "You opened box_1. In it: nothing.",
        ),
        ("ok", {"action": "open", "object": "door_1", "kind": "thing"}, "You opened door_1."),
        (
            "hands_full",
            {"action": "pick_up", "object": "a_1", "holding": ["b_1", "c_1"]},
            "Your hands are full: you hold b_1 and c_1.",
        ),
        (
            "wrong_tool",
            {"action": "slice", "object": "apple_1", "tool": ""},
            "You hold nothing that cuts apple_1.",
        ),
        ("rejected", {"kind": "unknown", "reason": "no verb"}, "That was no action: no verb"),
        ("a_status_of_another_world", {}, "a_status_of_another_world"),
    ],
)
def test_feedback_in_words(status: str, details: dict[str, object], sentence: str) -> None:
    assert feedback(Feedback(status, details)) == sentence


def test_lists_and_headings() -> None:
    assert [listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        *("nothing", "a", "a and b", "a, b and c")
    ]
    assert [facing(h) for h in (0.0, 45.0, 270.0, 30.0)] == ["north", "north-east", "west", "30°"]

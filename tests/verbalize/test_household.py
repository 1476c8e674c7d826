"""Houses in words, to the letter."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from helpers.rooms_scenes import act, flat, start
from wayword.agents.answers import pattern
from wayword.agents.legal import Legal
from wayword.core.action import Action
from wayword.core.world import Feedback
from wayword.verbalize.household import (
    KnownObjects,
    briefing,
    describe,
    facing_words,
    feedback,
    join_names,
    verbalizer,
)
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.observation import SeenObject
from wayword.worlds.household.verbs import Body, parse_spot


def test_an_observation_in_words() -> None:
    world = start(flat(), (2.0, 1.0, 0.0), (2.75, 1.5, 0.0))
    act(world, "chat look on the table", "agent_2")
    assert describe(world.observe("agent_1")).splitlines() == [
        "You are in the kitchen, facing north, holding nothing.",
        "On your left: fridge_1 (closed, 1.8 m).",
        "Ahead: table_1 (1.4 m); on table_1: knife_1 (1.6 m), mug_1 (dirty, 1.6 m).",
        "On your right: agent_2 (0.7 m), microwave_1 (closed, off, 1.8 m).",
        "agent_2 says: look on the table",
    ]


def test_holding_doors_and_nothing_in_words() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    act(world, "pick_up mug_1")
    act(world, "turn_right")
    text = describe(world.observe("agent"))
    assert ", holding mug_1 (dirty)." in text
    assert "door_1 (open, to the hall, 2.0 m)" in text
    act(world, "turn_right")
    act(world, "pan_right")
    assert "facing 210°" in describe(world.observe("agent"))


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        ("0.4 m west and 0.2 m north", (-0.4, 0.2)),
        ("0.2 m north and 0.4 m west of the middle", (-0.4, 0.2)),
        ("0.5 m east and 0.25 m east", (0.75, 0.0)),
        ("1 m south and 0.5 m south", (0.0, -1.5)),
        ("0.75 m east and 0.25 m west", (0.5, 0.0)),
        ("2 m south", (0.0, -2.0)),
        ("in the middle", (0.0, 0.0)),
        ("0.4 m up", None),
        ("0.4 m west and", None),
    ],
)
def test_the_offsets_of_a_spot_add_up(
    text: str, spot: tuple[float, float] | None
) -> None:
    assert parse_spot(text) == spot


@pytest.mark.parametrize(
    ("size", "has_spots"), [((1.2, 0.3), True), ((0.3, 1.2), True), ((0.5, 0.5), False)]
)
def test_furniture_is_long_by_its_longer_side(
    size: tuple[float, float], has_spots: bool
) -> None:
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (4, 0), (4, 3), (0, 3)])
    shelf = house.furniture("shelf", 2.0, 2.3, *size, 0.8, receptacle="on")
    house.item("mug", parent=shelf, x=2.1)
    world = start(house.build(), (2.0, 1.5, 0.0), spots=True)
    text = describe(world.observe("agent"))
    assert "mug_1" in text
    assert (" of the middle" in text or "in the middle" in text) == has_spots, text


def test_spots_on_long_furniture_are_reported_and_can_be_chosen() -> None:
    world = start(
        flat(), (2.0, 1.5, 0.0), body=Body(manipulation_distance=1.2), spots=True
    )
    assert "mug_1 (dirty, 0.3 m east of the middle, 1.1 m)" in describe(
        world.observe("agent")
    )
    rule = briefing(world.action_space("agent"))["touch"]
    assert "0.3 m past the edge nearest to you" in rule
    example = re.search(r"put\[(.+?)\]", rule)
    assert example
    assert parse_spot(example[1].split(", ")[2]) == (-0.8, 0.2)
    act(world, "pick_up mug_1")
    assert feedback(act(world, "put mug_1 table_1")) == (
        "You put mug_1 on table_1, 0.1 m north of the middle."
    )
    act(world, "pick_up mug_1")
    far = "0.4 m west and 0.2 m north"
    refused = world.step("agent", Action("put", ("mug_1", "table_1", far)))
    assert feedback(refused) == (
        "That spot on table_1 is too far away: 1.36 m, and you reach 1.2 m."
    )
    put = world.step("agent", Action("go_put", ("table_1", far)))
    assert (
        feedback(put)
        == f"You went to table_1 and put mug_1 on it, {far} of the middle."
    )
    assert f"mug_1 (dirty, {far} of the middle" in describe(world.observe("agent"))
    assert not world.action_space("agent").forms  # with empty hands
    act(world, "go_grab mug_1")
    space = world.action_space("agent")
    form = re.compile(pattern(space))
    for action in (
        f"put[mug_1, table_1, {far}]",
        f"go_put[table_1, {far} of the middle]",
    ):
        assert form.match(action), action
        assert Legal(space).read(action) in space, action
    for wrong in (f"put[mug_1, moon_1, {far}]", "go_put[table_1, 0.4 m up]"):
        assert not form.match(wrong), wrong
    plain = start(flat(), (2.0, 1.5, 0.0))
    assert "middle" not in describe(plain.observe("agent"))
    assert "put[" not in briefing(plain.action_space("agent"))["touch"]


def test_an_explored_room_is_reported_with_what_objects_are_on() -> None:
    text = feedback(act(start(flat(), (2.0, 1.0, 0.0)), "go_explore kitchen"))
    assert re.search(r"saw: .*\btable_1, .*; on table_1: .*mug_1", text)


def test_names_that_all_actors_share_are_declared_shared() -> None:
    both = (2.0, 1.0, 0.0), (2.75, 1.5, 0.0)
    shared, own = (start(flat(), *both, shared_names=names) for names in (True, False))
    assert "by any of you" in briefing(shared.action_space("agent_1"))["names"]
    assert "by any of you" not in briefing(own.action_space("agent_1"))["names"]


def test_one_word_for_what_is_closed() -> None:
    world = start(flat(), (2.0, 1.0, 0.0))
    assert "fridge_1 (closed, 1.8 m)" in describe(world.observe("agent"))
    world = start(flat(), (2.5, 1.5, 90.0))
    act(world, "close door_1")
    assert "door_1 (closed, to the hall" in describe(world.observe("agent"))


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
        (
            "ok",
            {"action": "open", "object": "door_1", "kind": "object"},
            "You opened door_1.",
        ),
        (  # what is out of view may lie there, too
            "ok",
            {
                "action": "go_check",
                "receptacle": "bed_1",
                "preposition": "on",
                "contents": [],
            },
            "You checked bed_1. On it you see: nothing.",
        ),
        (
            "ok",
            {
                "action": "go_explore",
                "room": "bedroom 2",
                "seen": ["bed_1"],
                "closed": [],
            },
            "You explored bedroom 2. There you saw: bed_1.",
        ),
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
        (
            "rejected",
            {"kind": "unknown", "reason": "no verb"},
            "Not an action: no verb",
        ),
        ("a_status_of_another_world", {}, "a_status_of_another_world"),
    ],
)
def test_feedback_in_words(
    status: str, details: dict[str, object], sentence: str
) -> None:
    assert feedback(Feedback(status, details)) == sentence


def test_lists_and_headings() -> None:
    assert [
        join_names(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])
    ] == [*("nothing", "a", "a and b", "a, b and c")]
    assert [facing_words(h) for h in (0.0, 45.0, 270.0, 30.0)] == [
        "north",
        "north-east",
        "west",
        "30°",
    ]


def test_an_object_is_described_again_where_it_is_elsewhere_or_otherwise() -> None:
    known = KnownObjects()

    def is_new(holder: str, *states: str) -> bool:
        on = "on" if holder else ""
        seen = SeenObject("mug_1", "left", 0.0, 1.0, on, holder, states, None)
        return known.notice(seen)

    assert is_new("table_1")
    assert not is_new("table_1")
    assert is_new("desk_1")
    assert not is_new("desk_1")
    assert is_new("desk_1", "dirty")
    assert not is_new("", "dirty"), "its furniture is out of sight"
    assert is_new("table_1", "dirty")


def test_an_object_that_was_taken_is_described_again_where_it_is_put() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    known = KnownObjects()
    changes = verbalizer.changes
    assert changes is not None
    assert "mug_1" in changes(world.observe("agent"), known)
    assert changes(world.observe("agent"), known) == "You see nothing new."
    act(world, "pick_up mug_1")
    changes(world.observe("agent"), known)
    act(world, "put mug_1 table_1")
    assert "on table_1: mug_1" in changes(world.observe("agent"), known)


SEEN = SeenObject("mug_1", "left", -20.0, 1.5, "on", "desk_1", ("dirty",), (0.2, 0.1))


@pytest.mark.parametrize(
    ("changed", "is_new"),
    [
        ({}, False),
        ({"direction": "right", "bearing": 5.0, "distance": 0.5}, False),
        ({"attributes": ("dirty", "filled")}, True),
        ({"attributes": ()}, True),
        ({"preposition": "in"}, True),
        ({"container": "desk_2"}, True),
        ({"spot": (0.2, 0.3)}, True),
        ({"spot": (-0.2, 0.1)}, True),
        ({"spot": None}, True),
        # Its furniture is out of sight: taken to be still there.
        ({"preposition": "", "container": ""}, False),
    ],
)
def test_an_object_is_described_again_once_anything_but_the_point_of_view_changed(
    changed: dict[str, Any], is_new: bool
) -> None:
    known = KnownObjects()
    assert known.notice(SEEN)
    assert not known.notice(SEEN)
    assert known.notice(replace(SEEN, **changed)) == is_new
    assert not known.notice(replace(SEEN, **changed)), "described once"

"""Every action and every way it can fail: the status, the sentence, and nothing changed."""

from __future__ import annotations

import re

import pytest

from helpers.rooms_scenes import Pose, act, flat, start
from wayword.core.episode import Json
from wayword.verbalize.generic import sentences
from wayword.verbalize.household import describe, feedback
from wayword.worlds.household import verbs as statuses
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.house import Fail
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.verbs import VERBS, Body

FRIDGE: Pose = (1.0, 1.5, 330.0)
TABLE: Pose = (2.0, 1.5, 0.0)
STOVE: Pose = (2.75, 1.75, 30.0)
SINK: Pose = (2.75, 1.0, 120.0)
DOOR: Pose = (3.0, 1.5, 90.0)
BOX: Pose = (5.0, 1.25, 0.0)
BOWL: Pose = (1.0, 1.25, 180.0)
SIDE = Body(pan_degrees=0)
TWO = Body(inventory_capacity=2)
SHORT = Body(manipulation_distance=1.0)
SHORTER = Body(manipulation_distance=0.5)

GRAB_APPLE = "open fridge_1; pick_up apple_1"
"""From FRIDGE."""
BOWL_IN_HAND = "pick_up bowl_1; turn_right; turn_right"
CHECK = "go_check microwave_1"
AT_FREEZER = "pick_up knife_1; goto door_1; goto freezer_1"
AT_TUB = "pick_up knife_1; goto door_1; goto tub_1"
BACK = "turn_left; turn_left; move_ahead; turn_right; turn_right"
CUT = "open fridge_1; go_grab knife_1; goto apple_1; slice apple_1"
FETCHED = "goto mug_1; pick_up mug_1; goto door_1; close door_1"
"""From DOOR: the mug in the hand, the kitchen shut off from the hall."""

OUT = "goto mug_1; pick_up mug_1"

Case = tuple[Pose, str, str] | tuple[Pose, str, str, Body]

CASES: dict[tuple[str, str], Case] = {
    ("move_ahead", "blocked"): ((2.0, 0.25, 180.0), "", "move_ahead"),
    ("pan_left", "blocked"): ((2.0, 0.25, 270.0), "", "pan_left", SIDE),
    ("pan_right", "blocked"): ((2.0, 0.25, 90.0), "", "pan_right", SIDE),
    ("pick_up", "no_such_object"): (TABLE, "", "pick_up unicorn_1"),
    ("pick_up", "not_visible"): (TABLE, "turn_left; turn_left", "pick_up mug_1"),
    ("pick_up", "closed"): (FRIDGE, "open fridge_1; close fridge_1", "pick_up apple_1"),
    ("pick_up", "too_far"): ((2.0, 0.5, 0.0), "", "pick_up mug_1"),
    ("pick_up", "not_pickupable"): (TABLE, "", "pick_up table_1"),
    ("pick_up", "hands_full"): (TABLE, "pick_up mug_1", "pick_up knife_1"),
    ("pick_up", "already_held"): (TABLE, "pick_up mug_1", "pick_up mug_1"),
    ("drop", "no_such_object"): (TABLE, "", "drop unicorn_1"),
    ("drop", "not_holding"): (TABLE, "", "drop mug_1"),
    ("put", "no_such_object"): (TABLE, "pick_up mug_1", "put mug_1 unicorn_1"),
    ("put", "not_holding"): (TABLE, "", "put mug_1 table_1"),
    ("put", "no_spot"): (TABLE, "pick_up mug_1", "put mug_1 table_1 somewhere"),
    ("go_put", "no_spot"): (TABLE, "pick_up mug_1", "go_put table_1 somewhere"),
    ("put", "not_visible"): (TABLE, "pick_up mug_1; turn_left; turn_left", "put mug_1 table_1"),
    ("put", "closed"): (FRIDGE, f"{GRAB_APPLE}; close fridge_1", "put apple_1 fridge_1"),
    ("put", "too_far"): (BOWL, BOWL_IN_HAND, "put bowl_1 table_1", SHORT),
    ("put", "not_receptacle"): (TABLE, "pick_up mug_1", "put mug_1 knife_1"),
    ("put", "full"): (TABLE, "go_grab pen_1; goto table_1", "put pen_1 table_1"),
    ("put", "does_not_fit"): (TABLE, f"pick_up knife_1; {CHECK}", "put knife_1 microwave_1"),
    ("put", "inside_itself"): (BOWL, "pick_up bowl_1", "put bowl_1 bowl_1"),
    ("open", "no_such_object"): (TABLE, "", "open unicorn_1"),
    ("open", "not_visible"): (FRIDGE, "turn_left; turn_left", "open fridge_1"),
    ("open", "closed"): (BOX, "open box_1; close box_1", "open tin_1"),
    ("open", "too_far"): (FRIDGE, "", "open fridge_1", SHORTER),
    ("open", "not_openable"): (TABLE, "", "open table_1"),
    ("open", "already_open"): (DOOR, "", "open door_1"),
    ("open", "running"): (STOVE, "toggle_on microwave_1", "open microwave_1"),
    ("close", "no_such_object"): (TABLE, "", "close unicorn_1"),
    ("close", "not_visible"): (FRIDGE, "open fridge_1; turn_left; turn_left", "close fridge_1"),
    ("close", "closed"): (BOX, "open box_1; close box_1", "close tin_1"),
    ("close", "too_far"): ((2.0, 1.5, 90.0), "", "close door_1"),
    ("close", "not_openable"): (TABLE, "", "close table_1"),
    ("close", "already_closed"): (FRIDGE, "", "close fridge_1"),
    ("close", "blocked"): (DOOR, "move_ahead; move_ahead; move_ahead; move_ahead", "close door_1"),
    ("toggle_on", "no_such_object"): (TABLE, "", "toggle_on unicorn_1"),
    ("toggle_on", "not_visible"): (STOVE, "turn_left; turn_left", "toggle_on microwave_1"),
    ("toggle_on", "closed"): (BOX, "open box_1; close box_1", "toggle_on lamp_1"),
    ("toggle_on", "too_far"): (STOVE, "", "toggle_on microwave_1", SHORTER),
    ("toggle_on", "not_toggleable"): (TABLE, "", "toggle_on table_1"),
    ("toggle_on", "already_on"): (STOVE, "toggle_on microwave_1", "toggle_on microwave_1"),
    ("toggle_on", "must_be_closed"): (STOVE, "open microwave_1", "toggle_on microwave_1"),
    ("toggle_off", "no_such_object"): (TABLE, "", "toggle_off unicorn_1"),
    ("toggle_off", "not_visible"): (STOVE, "turn_left; turn_left", "toggle_off microwave_1"),
    ("toggle_off", "closed"): (BOX, "open box_1; close box_1", "toggle_off lamp_1"),
    ("toggle_off", "too_far"): (STOVE, "", "toggle_off microwave_1", SHORTER),
    ("toggle_off", "not_toggleable"): (TABLE, "", "toggle_off table_1"),
    ("toggle_off", "already_off"): (STOVE, "", "toggle_off microwave_1"),
    ("slice", "no_such_object"): (TABLE, "", "slice unicorn_1"),
    ("slice", "not_visible"): (FRIDGE, "open fridge_1; turn_left; turn_left", "slice apple_1"),
    ("slice", "closed"): (FRIDGE, "open fridge_1; close fridge_1", "slice apple_1"),
    ("slice", "too_far"): (FRIDGE, f"open fridge_1; {BACK}", "slice apple_1", SHORT),
    ("slice", "not_sliceable"): (TABLE, "pick_up knife_1", "slice mug_1"),
    ("slice", "already_sliced"): (FRIDGE, CUT, "slice apple_1"),
    ("slice", "wrong_tool"): (FRIDGE, "open fridge_1", "slice apple_1"),
    ("goto", "no_such_object"): (TABLE, "", "goto unicorn_1"),
    ("goto", "not_visible"): (TABLE, "", "goto agent_2"),
    ("goto", "no_path"): (DOOR, "close door_1", "goto cabinet_1"),
    ("heat", "no_such_object"): (TABLE, "pick_up mug_1", "heat mug_1 unicorn_1"),
    ("heat", "not_visible"): (TABLE, "pick_up mug_1", "heat mug_1 oven_1"),
    ("heat", "no_path"): (DOOR, FETCHED, "heat mug_1 stove_1"),
    ("heat", "not_holding"): (TABLE, "", "heat mug_1 microwave_1"),
    ("heat", "wrong_tool"): (TABLE, "pick_up mug_1", "heat mug_1 table_1"),
    ("heat", "full"): (TABLE, "go_grab pen_1; goto grill_1", "heat pen_1 grill_1"),
    ("heat", "does_not_fit"): (TABLE, "pick_up knife_1", "heat knife_1 microwave_1"),
    ("heat", "running"): (STOVE, "toggle_on microwave_1; go_grab mug_1", "heat mug_1 microwave_1"),
    ("heat", "no_switch"): (DOOR, OUT, "heat mug_1 hob_1"),
    ("clean", "no_switch"): (DOOR, OUT, "clean mug_1 hob_1"),
    ("cool", "no_such_object"): (TABLE, "pick_up mug_1", "cool mug_1 unicorn_1"),
    ("cool", "not_visible"): (TABLE, "pick_up mug_1", "cool mug_1 cooler_1"),
    ("cool", "no_path"): (DOOR, FETCHED, "cool mug_1 freezer_1"),
    ("cool", "not_holding"): (TABLE, "", "cool mug_1 fridge_1"),
    ("cool", "wrong_tool"): (TABLE, "pick_up mug_1", "cool mug_1 table_1"),
    ("cool", "full"): (TABLE, "go_grab pen_1; goto grill_1", "cool pen_1 grill_1"),
    ("cool", "does_not_fit"): (TABLE, AT_FREEZER, "cool knife_1 freezer_1"),
    ("clean", "no_such_object"): (TABLE, "pick_up mug_1", "clean mug_1 unicorn_1"),
    ("clean", "not_visible"): (TABLE, "pick_up mug_1", "clean mug_1 basin_1"),
    ("clean", "no_path"): (DOOR, FETCHED, "clean mug_1 tub_1"),
    ("clean", "not_holding"): (TABLE, "", "clean mug_1 sink_1"),
    ("clean", "wrong_tool"): (TABLE, "pick_up mug_1", "clean mug_1 table_1"),
    ("clean", "full"): (TABLE, "go_grab pen_1; goto grill_1", "clean pen_1 grill_1"),
    ("clean", "does_not_fit"): (TABLE, AT_TUB, "clean knife_1 tub_1"),
    ("go_explore", "no_such_room"): (TABLE, "", "go_explore attic"),
    ("go_explore", "no_path"): (DOOR, "close door_1", "go_explore hall"),
    ("go_check", "no_such_object"): (TABLE, "", "go_check unicorn_1"),
    ("go_check", "not_visible"): (TABLE, "", "go_check oven_1"),
    ("go_check", "no_path"): (DOOR, "close door_1", "go_check cabinet_1"),
    ("go_check", "not_receptacle"): (TABLE, "", "go_check knife_1"),
    ("go_check", "running"): (STOVE, "toggle_on microwave_1", "go_check microwave_1"),
    ("go_grab", "no_such_object"): (TABLE, "", "go_grab unicorn_1"),
    ("go_grab", "not_visible"): (TABLE, "", "go_grab coin_1"),
    ("go_grab", "no_path"): (DOOR, "close door_1", "go_grab ball_1"),
    ("go_grab", "closed"): (FRIDGE, "open fridge_1; close fridge_1", "go_grab apple_1"),
    ("go_grab", "not_pickupable"): (TABLE, "", "go_grab table_1"),
    ("go_grab", "hands_full"): (TABLE, "pick_up mug_1", "go_grab knife_1"),
    ("go_grab", "already_held"): (TABLE, "pick_up mug_1", "go_grab mug_1"),
    ("go_put", "no_such_object"): (TABLE, "pick_up mug_1", "go_put unicorn_1"),
    ("go_put", "not_visible"): (TABLE, "pick_up mug_1", "go_put oven_1"),
    ("go_put", "no_path"): (DOOR, FETCHED, "go_put cabinet_1"),
    ("go_put", "hands_empty"): (TABLE, "", "go_put table_1"),
    ("go_put", "not_receptacle"): (TABLE, "pick_up mug_1", "go_put knife_1"),
    ("go_put", "full"): (TABLE, "go_grab pen_1", "go_put table_1"),
    ("go_put", "does_not_fit"): (TABLE, "pick_up knife_1", "go_put microwave_1"),
    ("go_put", "inside_itself"): (BOWL, "pick_up bowl_1", "go_put bowl_1"),
    ("go_put", "running"): (STOVE, "toggle_on microwave_1; go_grab mug_1", "go_put microwave_1"),
    ("chat", "no_listener"): (TABLE, "", "chat hello"),
    ("ask", "no_answer"): (TABLE, "", "ask where?"),
}  # fmt: skip
"""(verb, status) -> where to stand, what to do first, and what then fails so."""


def scene() -> Scene:
    """The flat, with what some failures need: small boxes in a box, a room behind the hall."""
    house = SceneBuilder("flat")
    base = flat()
    for room in base.rooms:
        house.room(room.name, room.polygon, walls=False)
    for wall in base.walls:
        house.wall(wall.a, wall.b)
    for obj in base.objects:
        house.add(obj)
    house.opening((4, 1), (4, 2))
    house.door("door", (4, 1), (4, 2))
    house.item("tin", "openable", parent="box", receptacle="in")
    house.item("lamp", "toggleable", parent="box")
    for kind, tool in (("stove", "heater"), ("freezer", "cooler"), ("tub", "cleaner")):
        y = {"stove": 0.3, "freezer": 2.7, "tub": 1.0}[kind]
        accepts = ("mug",) if kind != "stove" else ()
        x = {"stove": 6.0, "freezer": 6.0, "tub": 6.7}[kind]
        house.furniture(
            *(kind, x, y, 0.4, 0.4, 0.8, tool, "toggleable"),
            receptacle="in",
            accepts=accepts,
        )
    house.furniture(
        "hob", 6.7, 1.6, 0.3, 0.3, 0.5, "heater", "cleaner", receptacle="on"
    )
    house.item("ball", x=5.5, y=1.5)
    house.furniture(
        *(
            "grill",
            0.4,
            1.4,
            0.4,
            0.4,
            0.8,
            "heater",
            "cooler",
            "cleaner",
            "toggleable",
        ),
        receptacle="on",
        capacity=1,
    )
    house.item("pot", parent="grill|1")
    house.item("plate", parent="table")
    house.item("pen", x=2.5, y=0.6)
    # Never seen: behind the start's back and shut in. agent_2 names them.
    hidden = {"oven": "heater", "cooler": "cooler", "basin": "cleaner"}
    for n, (kind, tool) in enumerate(hidden.items()):
        house.furniture(
            *(kind, 8.5 + n / 2, 2.5, 0.3, 0.3, 0.8, tool, "toggleable"),
            receptacle="in",
        )
    house.room("store", [(8, 0), (11, 0), (11, 3), (8, 3)])
    house.item("coin", x=9.0, y=1.0)
    return house.build()


@pytest.mark.parametrize(("verb", "status"), CASES, ids=str)
def test_it_fails_so_says_so_and_changes_nothing(verb: str, status: str) -> None:
    pose, before, action, *body = CASES[verb, status]
    alone = status == "no_listener"
    options = {"body": body[0] if body else TWO if "pen_1" in before else None}
    poses = [pose] if alone else [pose, (9.0, 2.0, 180.0)]
    world = start(scene(), *poses, shared_names=not alone, **options)
    actor = "agent" if alone else "agent_1"
    if not alone:
        for turn in ("turn_right",) * 4:
            act(world, turn, "agent_2")
    for turn in ("turn_right",) * 4:
        act(world, turn, actor)  # have a look around
    for earlier in filter(None, before.split("; ")):
        answer = act(world, earlier, actor)
        assert answer.ok, (earlier, answer)
    assert action.split()[0] == verb
    state = world.state()
    text = describe(world.observe(actor))
    answer = act(world, action, actor)
    assert answer.status == status, answer
    sentence = feedback(answer)
    assert sentence != status
    assert not re.search(r"[{}]|None", sentence), sentence
    after = world.state()
    for person in (*state["actors"].values(), *after["actors"].values()):
        person.pop("actions")
    assert after == state
    assert describe(world.observe(actor)) == text


def test_no_failure_is_without_a_case() -> None:
    assert set(CASES) == {
        (verb.name, fail) for verb in VERBS.values() for fail in verb.failures
    }


def test_every_status_and_every_success_has_a_sentence() -> None:
    assert set(statuses.STATUSES) - {"ok"} <= set(sentences("household"))
    assert {f"ok.{verb}" for verb in VERBS} <= set(sentences("household"))
    stems = {key.split(".")[0] for key in sentences("household")} - {"rejected"}
    assert stems == set(statuses.STATUSES)


def test_a_failed_attempt_forgets_what_was_named_during_it() -> None:
    world = start(scene(), TABLE)
    untouched = start(scene(), TABLE)
    me = world.house.actors["agent"]
    before = list(me.names.order)

    def turn_and_fail() -> dict[str, Json]:
        for heading in (90.0, 180.0, 270.0):
            me.heading = heading
            world.house.refresh()
        assert len(me.names.order) > len(before), "it saw nothing new"
        raise Fail("blocked")

    with pytest.raises(Fail):
        world.house.attempt(turn_and_fail)
    assert me.names.order == before
    assert world.state() == untouched.state()
    for turn in ("turn_left",) * 4:  # other objects first, so other numbers
        act(world, turn)
        act(untouched, turn)
        assert world.observe("agent") == untouched.observe("agent")

"""Every verb of the grid world, what it does, and every failure that it can answer with."""

from __future__ import annotations

import pytest

from helpers.small_grid import drawn
from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.verbalize.babyai import feedback
from wayword.verbalize.generic import sentences
from wayword.worlds.babyai.world import HIGH_LEVEL, LOW_LEVEL, BabyAIWorld

CASES: dict[tuple[str, str], tuple[str, list[str]]] = {
    ("move_ahead", "blocked"): (".... .>r. ....", ["move_ahead"]),
    ("pick_up", "nothing_there"): (".>.. ....", ["pick_up"]),
    ("pick_up", "not_pickupable"): (".>d. ....", ["pick_up"]),
    ("pick_up", "hands_full"): (".>rb ....", ["pick_up", "move_ahead", "pick_up"]),
    ("drop", "hands_empty"): (".>.. ....", ["drop"]),
    ("drop", "taken"): (".>rb ....", ["pick_up", "move_ahead", "drop"]),
    ("toggle", "nothing_there"): (".>.. ....", ["toggle"]),
    ("toggle", "not_openable"): (".>r. ....", ["toggle"]),
    ("toggle", "locked"): (".>l. ....", ["toggle"]),
    ("goto", "no_such_object"): (".>.. ....", ["goto[red_ball_1]"]),
    ("goto", "already_held"): (
        ".>r. ....",
        ["go_grab[red_ball_1]", "goto[red_ball_1]"],
    ),
    ("goto", "no_path"): (">.drb ..### ###", ["goto[red_ball_1]"]),
    ("go_grab", "no_such_object"): (".>.. ....", ["go_grab[wall]"]),
    ("go_grab", "already_held"): (
        ".>r. ....",
        ["go_grab[red_ball_1]", "go_grab[red_ball_1]"],
    ),
    ("go_grab", "no_path"): (">.xrb ..### ###", ["go_grab[red_ball_1]"]),
    ("go_grab", "not_pickupable"): (".>.d ....", ["go_grab[red_door_1]"]),
    ("go_grab", "hands_full"): (
        ".>.rb ....",
        ["go_grab[red_ball_1]", "go_grab[blue_ball_1]"],
    ),
    ("go_open", "no_such_object"): (".>.. ....", ["go_open[red_door_1]"]),
    ("go_open", "already_held"): (
        ".>x. ....",
        ["go_grab[grey_box_1]", "go_open[grey_box_1]"],
    ),
    ("go_open", "no_path"): (">.rd. ..### ###", ["go_open[red_door_1]"]),
    ("go_open", "not_openable"): (".>.r ....", ["go_open[red_ball_1]"]),
    ("go_open", "locked"): (".>.l ....", ["go_open[red_door_1]"]),
    ("go_open", "already_open"): (".>.o ....", ["go_open[red_door_1]"]),
    ("go_put", "no_such_object"): (".>.. ....", ["go_put[red_ball_1]"]),
    ("go_put", "already_held"): (
        ".>r. ....",
        ["go_grab[red_ball_1]", "go_put[red_ball_1]"],
    ),
    ("go_put", "no_path"): (
        ">rxb## ###### ###### ###### ###### ######",
        ["go_grab[red_ball_1]", "go_put[blue_ball_1]"],
    ),
    ("go_put", "hands_empty"): (".>.r ....", ["go_put[red_ball_1]"]),
    ("go_explore", "nothing_unseen"): (
        ">..... ...... ...... ...... ...... ......",
        ["go_explore"] * 12,
    ),
}
BEHIND_A_DOOR = {("goto", "no_path"), ("go_grab", "no_path"), ("go_open", "no_path")}


def act(world: BabyAIWorld, words: str) -> tuple[str, str]:
    """One action: its status, and the sentence for it."""
    verb, _, rest = words.partition("[")
    answer = world.step("agent", Action(verb, (rest[:-1],) if rest else ()))
    return answer.status, feedback(answer)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_each_failure_is_shown_and_changes_nothing_but_the_time(
    case: tuple[str, str],
) -> None:
    rows, actions = CASES[case]
    world = drawn(rows, "low" if case[0] in LOW_LEVEL else "high")
    if case in BEHIND_A_DOOR:  # seen once, shut off since
        hidden = [
            t for t in world.level.env.grid.grid if t and t.type in ("ball", "door")
        ]
        for each in hidden:
            world.names.name_of(each)
    *before, last = actions
    for each in before:
        assert act(world, each)[0] == "ok" or case[0] == "go_explore"
    then = {**world.state(), "steps": 0, "idle": 0}
    status, words = act(world, last)
    assert status == case[1]
    assert words
    assert "{" not in words
    assert {**world.state(), "steps": 0, "idle": 0} == then


def test_every_failure_has_a_case_and_a_sentence() -> None:
    listed = sentences("babyai")
    assert {verb for verb, _ in CASES} <= {*LOW_LEVEL, *HIGH_LEVEL}
    assert {status for _, status in CASES} == {
        key for key in listed if not key.startswith("ok.")
    }
    assert {f"ok.{verb}" for verb in (*LOW_LEVEL, *HIGH_LEVEL)} <= set(listed)


def test_a_failed_motion_takes_time_and_a_failed_skill_takes_none() -> None:
    low = drawn(".>r. ....")
    high = drawn(".>r. ....", "high")
    act(low, "toggle")
    act(high, "go_open[red_ball_1]")
    assert (low.state()["steps"], low.state()["idle"]) == (1, 0)
    assert (high.state()["steps"], high.state()["idle"]) == (0, 1)


def test_an_object_is_carried_and_put_alongside_another() -> None:
    world = drawn(">..... .r.... ...... ...b.. ......", "high")
    assert act(world, "turn_right")[0] == "ok"
    assert (
        act(world, "go_grab[red_ball_1]")[1]
        == "You went up to red_ball_1 and picked it up."
    )
    assert [held.name for held in world.observe("agent").holding] == ["red_ball_1"]
    assert (
        act(world, "go_put[blue_ball_1]")[1]
        == "You put red_ball_1 next to blue_ball_1."
    )
    at = {item["colour"]: (item["x"], item["y"]) for item in inside(world)}
    assert abs(at["red"][0] - at["blue"][0]) + abs(at["red"][1] - at["blue"][1]) == 1


def test_a_locked_door_opens_with_its_key_and_no_other() -> None:
    world = drawn(">Kk... ..l... ######", "high")
    assert act(world, "go_grab[blue_key_1]")[0] == "ok"
    world.names.name_of(world.level.at(10, 9))
    assert act(world, "go_open[red_door_1]") == (
        "locked",
        "red_door_1 is locked, and you do not hold a red key.",
    )
    world = drawn(">k.... ..l... ######", "high")
    act(world, "go_grab[red_key_1]")
    world.names.name_of(world.level.at(10, 9))
    assert act(world, "go_open[red_door_1]")[0] == "ok"
    assert [t["state"] for t in inside(world) if t["kind"] == "door"] == ["open"]


def test_an_opened_box_leaves_what_was_in_it_and_its_name_means_nothing_more() -> None:
    world = drawn(".>.x.. ......", "high")
    assert act(world, "go_open[grey_box_1]")[0] == "ok"
    assert [seen.name for seen in world.observe("agent").objects] == ["green_key_1"]
    assert act(world, "goto[grey_box_1]")[0] == "no_such_object"


def test_a_skill_walks_only_where_it_has_seen_a_way() -> None:
    """The way round the wall is free but was never in view."""
    rows = ">.#r.. ..#... ..#... ..#... ..#... ......"
    world = drawn(rows, "high")
    world.names.name_of(world.level.at(11, 8))
    assert act(world, "goto[red_ball_1]")[0] == "no_path"
    for _ in range(9):
        if act(world, "go_explore")[0] != "ok":
            break
    assert act(world, "goto[red_ball_1]")[0] == "ok"


def inside(world: BabyAIWorld) -> list[dict[str, int | str]]:
    return [
        t for t in world.state()["things"] if 8 <= t["x"] <= 13 and 8 <= t["y"] <= 13
    ]


def test_exploring_ends_at_the_first_sight_of_something_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = 0
    taken = []
    for seed in range(5):
        world = BabyAIWorld("GoTo", "high")
        world.reset(Episode("1", "?", "GoTo", {"seed": seed}))
        carried_out = world.level.act
        known = list[int]()

        def counted(code: int) -> None:
            known.append(len(world.names.objects))  # noqa: B023 - called in this round alone
            carried_out(code)  # noqa: B023

        monkeypatch.setattr(world.level, "act", counted)
        taken.append(0)
        while act(world, "go_explore")[0] == "ok":
            taken[-1] += len(known)
            assert len(set(known)) == 1, "something new was in view, and it went on"
            found += len(world.names.objects) > known[0]
            known.clear()
    assert found > 6
    assert taken == [5, 9, 8, 3, 8], "steps in all, until nothing is left unseen"

"""The objects of goal conditions in the final world, and a condition that was undone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from helpers.rooms_scenes import flat, start
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.conditions import Condition, Sought, goal_ids, shown
from wayword.metrics.mistakes import EpisodeFacts, find_mistake, household
from wayword.metrics.mistakes.behavior import failures
from wayword.metrics.mistakes.household import first_views
from wayword.metrics.progress import GoalProgress
from wayword.worlds.household.goals import (
    Held,
    HouseholdReference,
    Inside,
    Lit,
    Restored,
    Stacked,
)
from wayword.worlds.household.world import HouseholdWorld


def two_in_a_flat() -> HouseholdWorld:
    return start(flat(), (2.0, 1.5, 0.0), (5.0, 1.5, 0.0))


def ids(world: HouseholdWorld, *kinds: str) -> tuple[str, ...]:
    found = [each.id for each in world.scene.objects if each.type in kinds]
    assert found
    return tuple(found)


@pytest.mark.parametrize(
    ("kinds", "room", "is_small"),
    [
        (("mug",), "kitchen", True),
        (("box",), "hall", True),
        (("cabinet",), "hall", False),
        (("mug", "knife"), "kitchen", True),
        (("mug", "box"), "", True),
        (("table", "mug"), "kitchen", True),
        (("table", "sink"), "kitchen", False),
    ],
)
def test_objects_of_a_goal_have_a_room_if_all_are_in_it_and_are_small_if_one_is(
    kinds: tuple[str, ...], room: str, is_small: bool
) -> None:
    world = two_in_a_flat()
    names = ids(world, *kinds)
    found = Sought.of(Held(names), world)
    assert (found.room, found.small, tuple(found.ids)) == (room, is_small, names)
    assert len(found.points) == len(names)
    shown = {world.name(actor, each) for actor in world.actors for each in names}
    assert found.names == set(filter(None, shown))


def test_a_place_to_look_at_for_an_answer_is_sought_by_its_id() -> None:
    world = two_in_a_flat()
    (mug,) = ids(world, "mug")
    assert Sought.of(mug, world).ids == [mug]


@pytest.mark.parametrize("capacities", [(1, 1), (1, 3), (3, 1)])
def test_hands_are_those_of_the_actor_that_can_hold_most(
    capacities: tuple[int, int],
) -> None:
    world = two_in_a_flat()
    actors = world.house.actors.values()
    for actor, capacity in zip(actors, capacities, strict=True):
        actor.body = replace(actor.body, inventory_capacity=capacity)
    found = Sought.of(Held(ids(world, "mug")), world)
    assert found.hands == max(capacities)


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (Inside(("a", "b"), ("box",)), ["a", "b"]),
        (Stacked(("a",), ("bowl",), ("box",)), ["a"]),
        (Lit(("lamp", "torch")), ["lamp", "torch"]),
        (Restored("a", "box", open=False), ["a"]),
        ("shelf", ["shelf"]),
    ],
)
def test_a_goal_is_about_its_objects_and_lamps_and_not_its_destination(
    goal: Any, expected: list[str]
) -> None:
    assert goal_ids(goal) == expected


PLACED = "apple in or on box"
BOTH = HouseholdReference("1", goals=(Inside(("a", "b"), ("box",), parts=2),))


@pytest.mark.parametrize(
    ("met", "step"),
    [
        ((0, 1, 2, 1), 3),
        ((0, 2, 1, 1), 2),
        ((0, 1, 1, 0), 3),
        ((0, 1, 0, 1), 0),
        ((0, 0, 1, 1), 0),
    ],
)
def test_a_condition_is_undone_at_the_step_after_which_fewer_of_its_parts_held(
    met: tuple[int, ...], step: int
) -> None:
    """Compared with the step before, whatever held in earlier ones."""
    history: dict[int, list[Condition]] = {
        number: [(PLACED, count, 2)] for number, count in enumerate(met)
    }
    decisions = [Decision(Action("put", ("apple_1", "box_1")))] * 2 + [Decision(STOP)]
    steps = [Step("agent", {}, each, Feedback("ok"), {"x": 0}) for each in decisions]
    walked = Trajectory("1", {"agent": {}}, steps, {}, "stopped")
    evidence = EpisodeFacts(
        walked,
        {"sr": 0.0},
        task=Task(Episode("1", "Go.", "", {}), BOTH),
        history=history,
        progress=GoalProgress(tuple(map(float, met)), conditions=2),
    )
    found = find_mistake(evidence)
    assert found is not None
    undone = [fact for fact in found.fact.get("more", ()) if fact["kind"] == "at_step"]
    assert [fact["step"] for fact in undone] == ([step] if step else [])


@pytest.mark.parametrize(
    ("actions", "ended", "expected"),
    [
        ("go stop", "stopped", "stopped"),
        ("go stop", "step_limit", "stopped"),
        ("stop go", "step_limit", "ran out of steps"),
        ("go go", "step_limit", "ran out of steps"),
        ("go go", "stopped", "took its last action"),
        ("", "stopped", "took its last action"),
    ],
)
def test_an_actor_of_several_ended_by_its_own_last_action(
    actions: str, ended: Any, expected: str
) -> None:
    steps = [
        Step("ann", {}, Decision(Action(name)), Feedback("ok"), {})
        for name in actions.split()
    ]
    steps.append(Step("bob", {}, Decision(STOP), Feedback("ok"), {}))
    both = Trajectory("1", {"ann": {}, "bob": {}}, steps, ended=ended)
    assert EpisodeFacts(both, {}).end("ann") == expected
    alone = Trajectory("1", {"ann": {}}, steps[:-1], ended=ended)
    of_episode = "stopped" if ended == "stopped" else "ran out of steps"
    assert EpisodeFacts(alone, {}).end("ann") == of_episode


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mug in or on shelf", "mug in or on shelf (now: table, hall)"),
        ("mug next to cup", "mug next to cup (now: table, hall)"),
    ],
)
def test_an_unmet_goal_has_the_place_of_its_object(words: str, expected: str) -> None:
    about = Sought("mug", frozenset(), "", ("mug_1",))
    placed = {"in": "table_1", "room": "hall"}
    assert about.ended(words, {"objects": {"mug_1": placed}}) == expected


@pytest.mark.parametrize(
    ("record", "required", "expected"),
    [
        (("counter|1", True), ("counter|1", False), "box: open, should be closed"),
        (
            ("sink|1", False),
            ("counter|1", False),
            "box: in the sink, should be on the counter",
        ),
        (
            ("sink|1", True),
            ("", False),
            "box: in the sink and open, should be on the floor and closed",
        ),
        # Of several, the one with the actor's name for it
        (
            ("shelf|1", False),
            ("shelf|2", False),
            "box: on shelf 4, should be on the shelf",
        ),
        (
            ("shelf|3", False),
            ("shelf|2", False),
            "box: on another shelf, should be on the shelf",
        ),
        (
            ("counter|1", False),
            ("counter|1", False),
            "box: on the counter, but too far from its place there",
        ),
    ],
)  # fmt: skip
def test_what_has_to_be_restored_is_what_was_found_and_what_should_be(
    record: tuple[str, bool], required: tuple[str, bool], expected: str
) -> None:
    shelves = ("shelf|1", "shelf|2", "shelf|3")
    places = {"counter|1": "on", "sink|1": "in", **dict.fromkeys(shelves, "on")}
    about = Sought(
        "box", frozenset(), "", ("box|1",), labels={"shelf|1": "shelf 4", "sink|1": "sink 1"},
        restored=Restored("box|1", *required), several={"shelf"}, prepositions=places,
    )  # fmt: skip
    placed = {"in": record[0], "open": record[1], "room": "hall"}
    assert about.ended("", {"objects": {"box|1": placed}}) == expected


@pytest.mark.parametrize(
    ("small", "expected"), [(False, "box closed"), (True, "box on the counter")]
)
def test_a_restored_object_has_its_state_or_its_place(
    small: bool, expected: str
) -> None:
    goal = Restored("box|1", "counter|1", False)
    about = Sought(
        "box", frozenset(), "", ("box|1",), small,
        restored=goal, prepositions={"counter|1": "on"},
    )  # fmt: skip
    assert shown([(goal.words, 1, 1)], [about], {}) == [(expected, 1, 1)]


@pytest.mark.parametrize(
    ("failed", "steps", "expected"),
    [(1, 4, "step_failed"), (1, 5, ""), (2, 8, "steps_failed"), (2, 9, ""), (0, 1, "")],
)
def test_a_quarter_of_failed_steps_is_worth_a_fact(
    failed: int, steps: int, expected: str
) -> None:
    statuses = ["blocked"] * failed + ["ok"] * (steps - failed)
    done = [
        Step("agent", {}, Decision(Action("go")), Feedback(status), {})
        for status in statuses
    ]
    found = failures(Trajectory("1", {"agent": {}}, done), steps / 4)
    assert [fact["kind"] for fact in found] == ([expected] if expected else [])


def test_the_step_that_failed_is_named_as_its_action() -> None:
    decision = Decision(Action("pick_up", ("mug_1",)))
    step = Step("agent", {}, decision, Feedback("failed"), {})
    (found,) = failures(Trajectory("1", {"agent": {}}, [step]), 1)
    assert found["action"] == "pick up mug 1"


def test_an_object_counts_as_seen_at_the_first_step_that_showed_it() -> None:
    shown = {"objects": [{"name": "mug_1"}]}
    route = {"seen": ["cup_1"]}
    steps = [
        Step("agent", {}, Decision(Action("go")), Feedback("ok"), {}),
        Step("agent", shown, Decision(Action("go")), Feedback("ok"), {}),
        Step("agent", shown, Decision(Action("go")), Feedback("ok", details=route), {}),
        Step("agent", shown, Decision(Action("go")), Feedback("ok", details=route), {}),
    ]
    views = first_views(Trajectory("1", {"agent": {}}, steps))
    assert views == {"mug_1": 2, "cup_1": 3}


def test_a_goal_with_used_objects_is_explained_by_the_latest_use() -> None:
    uses = [
        ("open", "box_1"),
        ("open", "box_2"),
        ("close", "box_1"),
        ("look", "wall_1"),
    ]
    steps = [
        Step(
            "agent",
            {},
            Decision(Action(verb, (name,))),
            Feedback("ok"),
            {},
        )
        for verb, name in uses
    ]
    walked = Trajectory("1", {"agent": {}}, steps, {}, "step_limit")
    about = Sought("box", frozenset({"box_1", "box_2", "box_3"}), "")
    evidence = EpisodeFacts(
        walked,
        {"sr": 0.0},
        task=Task(Episode("1", "Go.", "", {}), BOTH),
        history={4: [(PLACED, 0, 2)]},
        sought=[about],
    )
    found = find_mistake(evidence)
    assert found is not None
    assert "close box 1" in str(found.fact)
    assert "box 1" in str(found.fact)
    assert "box 2" not in str(found.fact)


@pytest.mark.parametrize(
    ("kind", "number", "long", "short"),
    [
        ("mug", 1, "the mug was", "it was"),
        ("mug", 2, "both mugs were", "both were"),
        ("mug", 3, "all 3 mugs were", "they were"),
        ("mug or bowl", 2, "both objects were", "both were"),
        ("mug or bowl", 4, "all 4 objects were", "they were"),
    ],
)
def test_a_sentence_agrees_with_the_number_of_its_objects(
    kind: str, number: int, long: str, short: str
) -> None:
    ids = [f"id_{n}" for n in range(number)]
    about = Sought(kind, frozenset(), "", ids)
    assert (household._named_were(about), household._were(about)) == (long, short)

"""Causes of failure in an episode's record, each with the first step that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from wayword.core.dataset import Task
from wayword.core.episode import Episode, Extra, PathReference
from wayword.metrics.mistakes.causes import find_causes, reports_target
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.worlds.household.goals import HouseholdReference, Inside
from wayword.worlds.objectnav.world import ObjectNavReference

Row = Mapping[str, Any]


def step(action: str, x: float = 0.0, *arguments: str, **fields: Any) -> Row:
    """A step of actor ``a`` that ends at a point on a line."""
    decision = {"action": action, "arguments": list(arguments)}
    pose = {"x": x, "y": 0.0}
    return {"actor": "a", "decision": decision, "pose": pose, **fields}


def failed(action: str) -> Row:
    return step(action, feedback={"status": "blocked"})


def rejected(kind: str) -> Row:
    return {"actor": "a", "decision": {"rejected": kind}, "pose": {"x": 0.0, "y": 0.0}}


def causes(
    steps: Sequence[Row], ended: str = "step_limit", instruction: str = ""
) -> dict[str, int]:
    """The causes of an episode that began at the origin."""
    start = {str(each["actor"]): {"x": 0.0, "y": 0.0} for each in steps}
    written = {"start": start, "steps": steps, "ended": ended}
    found = find_causes(written, {"sr": 0.0}, instruction)
    return {name: at for name, at in found.items() if name != "ran_out"}


WALK = [step("go", float(x)) for x in range(1, 8)]
STAY = step("look")


@pytest.mark.parametrize(
    ("steps", "at"),
    [
        ([STAY] * 3, 2),
        ([STAY] * 2, None),
        ([step("go", 1.0), *[step("look", 1.0)] * 4], 3),
        (
            [step("look", 0.0, "a"), step("look", 0.0, "b"), step("look", 0.0, "c")],
            None,
        ),
        ([step("go", 1.0), step("go", 0.0)] * 3, 3),
        ([rejected("illegal")] * 3, None),
    ],
)
def test_a_loop_is_the_same_action_three_times_in_the_same_pose(
    steps: Sequence[Row], at: int | None
) -> None:
    assert causes(steps).get("looped") == at


def test_an_actor_that_waits_for_another_is_not_in_a_loop() -> None:
    other = {**step("go", 1.0), "actor": "b"}
    for action in ("wait", "turn_left", "turn_right"):
        assert causes([step(action)] * 3)["looped"] == 2
        assert "looped" not in causes([*[step(action)] * 3, other])
    assert causes([*[STAY] * 3, other])["looped"] == 2


@pytest.mark.parametrize(
    ("places", "is_wandering"),
    [
        ([*range(1, 11)], False),
        ([*range(1, 10), 8], False),  # one of ten leads to a place that was visited
        ([1, 2, 3, 4, 5, 6, 5, 4, 3, 2], True),  # four of ten
        ([1, 2, 3, 2, 1, 2, 3, 2, 1], False),  # nine moves
        ([1, 2, 3, 4, 5, 6, 5.5, 4.5, 3.5, 3.2], False),  # 8.8 m, and 3.2 m away
        ([1, 2, 3, 4, 5, 6, 5.5, 4.5, 3.5, 2.5], True),  # 9.5 m, and 2.5 m away
    ],
)
def test_a_walk_wanders_if_a_third_is_repeated_or_it_is_three_times_too_long(
    places: Sequence[float], is_wandering: bool
) -> None:
    steps = [step("go", float(x)) for x in places]
    assert ("wandered" in causes(steps)) == is_wandering


@pytest.mark.parametrize(
    ("steps", "ended", "at"),
    [
        ([*WALK, failed("go"), failed("go"), failed("left"), STAY], "stopped", 8),
        ([*WALK, failed("go"), failed("left"), STAY], "stopped", None),
        ([failed("go"), failed("left"), failed("up"), STAY], "stopped", 1),
        ([*WALK, failed("go"), failed("go"), failed("left")], "stopped", None),
        ([failed("go"), failed("left"), failed("up"), STAY], "step_limit", None),
    ],
)
def test_a_stop_after_three_failed_actions_in_a_row_gave_up(
    steps: Sequence[Row], ended: str, at: int | None
) -> None:
    assert causes(steps, ended).get("gave_up") == at


@pytest.mark.parametrize(
    ("steps", "at"),
    [
        ([*WALK[:3], rejected("illegal")], 4),
        ([*WALK[:4], rejected("illegal")], None),
        ([step("go", 1.0, fallback_for={}), *WALK[1:]], None),
    ],
)
def test_a_quarter_of_rejected_answers_is_a_cause(
    steps: Sequence[Row], at: int | None
) -> None:
    assert causes(steps).get("rejected") == at


@pytest.mark.parametrize(
    ("last", "is_cut"),
    [
        (rejected("cut_off"), True),
        (rejected("too_long"), True),
        (rejected("illegal"), False),
        ({**WALK[0], "decision": {"action": "go", "fallback_for": {"rejected": "cut_off"}}}, True),
        ({**WALK[0], "decision": {"action": "go", "fallback_for": {"rejected": "empty"}}}, False),
        ({**WALK[0], "calls": [{"answer": {"finish": ["stop"]}}]}, False),
        ({**WALK[0], "calls": [{"answer": None}]}, False),
        ({**WALK[0], "calls": [{"answer": {"finish": ["stop", "length"]}}]}, True),
    ],
)  # fmt: skip
def test_an_answer_at_its_token_limit_is_truncated(last: Row, is_cut: bool) -> None:
    assert causes([*WALK, last]).get("truncated") == (8 if is_cut else None)


@pytest.mark.parametrize(
    ("instruction", "picked", "is_wrong"),
    [
        ("Bring the mug.", "mug_1", False),
        ("Bring two Mugs.", "mug_1", False),
        ("Put two potatoes in the bin.", "potato_1", False),
        ("Bring both watches.", "watch_2", False),
        ("Bring two knives.", "butter_knife_1", False),
        ("Bring the basketballs.", "basket_ball_1", False),
        ("Bring the mug.", "coffee_mug_2", False),
        ("Bring the mug.", "apple_1", True),
        ("Bring the bus.", "mug_1", True),
        ("", "apple_1", False),
    ],
)
def test_an_object_that_the_instruction_does_not_name_is_the_wrong_one(
    instruction: str, picked: str, is_wrong: bool
) -> None:
    for verb in ("pick_up", "pickup", "pick", "grab"):
        found = causes([WALK[0], step(verb, 1.0, picked)], instruction=instruction)
        assert found.get("wrong_object") == (2 if is_wrong else None)
    missed = step("grab", 1.0, picked, feedback={"status": "failed"})
    assert "wrong_object" not in causes([missed], instruction=instruction)
    looked = step("goto", 1.0, picked)
    assert "wrong_object" not in causes([looked], instruction=instruction)
    used = {"status": "ok", "details": {"tool": picked}}
    sliced = [step("grab", 1.0, picked), step("slice", 1.0, "egg_1", feedback=used)]
    assert "wrong_object" not in causes(sliced, instruction=instruction)


def test_an_actor_that_never_spoke_to_the_others_is_silent() -> None:
    spoken = step("chat", 0.0, "Here.")
    other = {**step("go", 1.0), "actor": "b"}
    answer = {**step("chat", 1.0, "Yes."), "actor": "b"}
    assert "partner_silent" not in causes([WALK[0]]), "alone"
    assert causes([spoken, other])["partner_silent"] == 0
    assert causes([WALK[0], other])["partner_silent"] == 0
    assert "partner_silent" not in causes([spoken, other, answer])


def test_the_goal_was_passed_at_the_step_that_left_it_last() -> None:
    settings = {"dataset": {"houses": 1, "episodes": 6}}
    dataset = open_dataset(Plan("any", "houses", settings=settings))
    task = max(dataset.tasks, key=lambda each: len(each.reference.path))  # type: ignore[attr-defined]
    *before, goal = task.reference.path  # type: ignore[attr-defined]
    far = before[0]

    def passed(*places: str) -> int | None:
        steps = [
            {"actor": "a", "decision": {"action": "go"}, "pose": {"viewpoint": each}}
            for each in places
        ]
        start = {"a": {"viewpoint": far}}
        written = {"start": start, "steps": steps, "ended": "stopped"}
        scores = {"sr": 0.0, "osr": 1.0}
        return find_causes(written, scores, "", task, dataset).get("passed_goal")

    assert passed(goal, far) == 2
    assert passed(goal, far, goal, far, far) == 4, "the last time, not the first"
    assert passed(far, far) is None
    assert passed(goal, far, goal) == 3


@pytest.mark.parametrize(
    ("distance", "is_target"), [(4.0, True), (2.0, False), (3.0, False), (None, False)]
)
def test_a_report_is_of_the_target_at_its_distance(
    distance: float | None, is_target: bool
) -> None:
    shown = [{"id": "mug_1", "away": 4.0}, {"id": "mug_2", "away": 2.0}]
    note = {"kind": "grounded", "details": {"distance": distance}}
    seen = {"observation": {"shown": shown}, "notes": [note]}
    assert reports_target(seen, {"mug_1"}) == is_target
    assert not reports_target({**seen, "notes": []}, {"mug_1"})
    assert not reports_target(seen, {"cup_1"})


@pytest.mark.parametrize(
    ("instructions", "message", "at"),
    [
        ({"a": "Bring the cup.", "b": "Help."}, "", 3),
        ({"a": "Bring the cup.", "b": "Bring a cup."}, "", None),
        ({"a": "Help.", "b": "Help."}, "", None),
        ({"a": "Bring the cup.", "b": "Help."}, "the cups, please", None),
        ({"a": "Bring the cup.", "b": "Help."}, "bring cup_1 from box_1", None),
        ({"a": "Bring the cup.", "b": "Help."}, "hello", 3),
        ({"a": "Help.", "b": "Bring the cup."}, "", 2),
    ],
)
def test_an_order_is_not_sent_if_one_actor_alone_knew_and_never_named_the_object(
    instructions: dict[str, str], message: str, at: int | None
) -> None:
    check_order(("cup_1",), instructions, message, at)


def check_order(
    objects: tuple[str, ...],
    instructions: dict[str, str],
    message: str,
    at: int | None,
) -> None:
    goal = Inside(objects, ("box_1",))
    extra: Extra = {"instructions": instructions}
    episode = Episode("1", "Do it.", "", {}, ("a", "b"), extra)
    task = Task(episode, HouseholdReference("1", goals=(goal,)))
    other = {**step("go", 1.0), "actor": "b"}
    steps = [step("chat", 0.0, message), other, step("go", 1.0)]
    written = {"start": {}, "steps": steps, "ended": "step_limit"}
    written["state"] = {"objects": {name: {"in": ""} for name in objects}}
    found = find_causes(written, {"sr": 0.0}, "", task)
    assert found.get("order_not_sent") == at


@pytest.mark.parametrize(
    ("message", "at"), [("the potatoes, please", None), ("the pots, please", 3)]
)
def test_an_order_for_several_objects_was_sent(message: str, at: int | None) -> None:
    check_order(("potato_1",), {"a": "Bring the potato.", "b": "Help."}, message, at)


@pytest.mark.parametrize(("message", "at"), [("hello", 3), ("the fork, please", None)])
def test_an_order_names_any_kind_of_a_goal_that_accepts_many(
    message: str, at: int | None
) -> None:
    instructions = {"a": "Bring the fork.", "b": "Help."}
    check_order(("cup_1", "mug_1", "pan_1", "fork_1"), instructions, message, at)


# Searches, by all that the record and the scores may say.


@pytest.mark.parametrize("ended", ["stopped", "step_limit"])
@pytest.mark.parametrize("gave_up", [False, True])
@pytest.mark.parametrize("grounded", [None, 0.0, 1.0])
@pytest.mark.parametrize("seen", [None, 0.0, 1.0])
@pytest.mark.parametrize("reports", [(), (2,), (1, 3)])
def test_a_search_is_explained_by_what_was_seen_and_what_was_reported(
    reports: tuple[int, ...],
    seen: float | None,
    grounded: float | None,
    gave_up: bool,
    ended: str,
) -> None:
    """Without the task, only a score of 0 says that reports were wrong; none says nothing."""
    steps = [step("go", float(n), notes=[]) for n in range(1, 5)]
    for number in reports:
        steps[number - 1]["notes"].append({"kind": "grounded", "details": {}})
    if gave_up:
        steps[3]["notes"].append({"kind": "gave_up", "details": {}})
    scores = {"ever_seen": seen, "ever_grounded": grounded}
    known = {key: score for key, score in scores.items() if score is not None}
    written = {"start": {"a": {"x": 0.0, "y": 0.0}}, "steps": steps, "ended": ended}
    found = find_causes(written, {"sr": 0.0, **known})
    all_wrong = grounded == 0.0
    is_alarm = bool(reports) and all_wrong and ended == "stopped" and not gave_up
    assert found.get("never_seen") == (0 if seen == 0.0 else None)
    assert found.get("false_alarm") == (reports[-1] if is_alarm else None)
    has_right_report = bool(reports) and not all_wrong
    missed = seen == 1.0 and (reports or gave_up) and not has_right_report
    assert ("detector_missed" in found) == bool(missed)
    assert ("seen_not_taken" in found) == (seen == 1.0 and not missed)


@pytest.mark.parametrize("wrong", ["first", "last", "both", "none"])
def test_the_last_report_decides_if_a_stop_was_a_false_alarm(wrong: str) -> None:
    shown = [{"id": "mug_1", "away": 4.0}]
    steps = []
    for number, name in enumerate(("first", "last"), 1):
        away = 9.0 if wrong in (name, "both") else 4.0
        notes = [{"kind": "grounded", "details": {"distance": away}}]
        seen = {"shown": shown}
        steps.append(step("go", float(number), notes=notes, observation=seen))
    reference = ObjectNavReference("1", frozenset({"mug_1"}))
    task = Task(Episode("1", "Find a mug.", "", {}), reference)
    written = {"start": {"a": {"x": 0.0, "y": 0.0}}, "steps": steps, "ended": "stopped"}
    found = find_causes(written, {"ever_seen": 1.0}, "", task)
    assert found.get("false_alarm") == (2 if wrong in ("last", "both") else None)
    assert ("detector_missed" in found) == (wrong == "both")


@pytest.mark.parametrize("back_to", [1, 2])
def test_a_stop_after_going_back_is_judged_by_the_report_that_had_led_there(
    back_to: int,
) -> None:
    shown = {"shown": [{"id": "mug_1", "away": 4.0}]}
    steps = []
    for number, away in enumerate((9.0, 4.0), 1):  # wrong, then right
        notes = [{"kind": "grounded", "details": {"distance": away}}]
        steps.append(step("go", float(number), notes=notes, observation=shown))
    back = [{"kind": "went_back", "details": {}}]
    steps += [step("go", 3.0, notes=back), step("stop", float(back_to))]
    reference = ObjectNavReference("1", frozenset({"mug_1"}))
    task = Task(Episode("1", "Find a mug.", "", {}), reference)
    written = {"start": {"a": {"x": 0.0, "y": 0.0}}, "steps": steps, "ended": "stopped"}
    found = find_causes(written, {"ever_seen": 1.0}, "", task)
    assert found.get("false_alarm") == (1 if back_to == 1 else None)


# Ends.


@pytest.mark.parametrize("ended", ["stopped", "step_limit"])
@pytest.mark.parametrize(
    ("action", "arguments", "chose"),
    [("go", ("tv",), True), ("go", (), False), ("stop", (), False), ("goto", ("tv",), False)],
)  # fmt: skip
def test_a_stop_was_early_unless_a_choice_or_another_cause_explains_it(
    action: str, arguments: tuple[str, ...], chose: bool, ended: str
) -> None:
    steps = [*WALK[:2], step(action, 2.0, *arguments)]
    stopped = ended == "stopped"
    found = causes(steps, ended)
    assert found.get("wrong_object") == (3 if stopped and chose else None)
    assert found.get("stopped_early") == (3 if stopped and not chose else None)


@pytest.mark.parametrize(
    ("walk", "cause"),
    [
        ("ab", "stopped_early"),  # the goal lies ahead
        ("abxab", "stopped_early"),
        ("axc", "stopped_early"),
        ("aa", "stopped_early"),  # it never moved
        ("ax", "wrong_place"),  # however short the walk was
        ("aaaax", "wrong_place"),
        ("aba", "wrong_place"),  # it went back
        ("abcb", "wrong_place"),
        ("axa", "wrong_place"),
        ("axyx", "wrong_place"),
        ("axyxy", "wrong_place"),
    ],
)
def test_a_stop_off_the_path_or_after_turning_back_was_at_the_wrong_place(
    walk: str, cause: str
) -> None:
    poses = [{"viewpoint": place} for place in walk]
    steps = [{**step("goto"), "pose": pose} for pose in poses[1:]]
    steps.append({**step("stop"), "pose": poses[-1]})
    written = {"start": {"a": poses[0]}, "steps": steps, "ended": "stopped"}
    task = Task(Episode("1", "Go.", "", {}), PathReference("1", ("a", "b", "c", "d")))
    named = {"stopped_early", "wrong_place", "dead_end"}
    assert named & find_causes(written, {"sr": 0.0}, "", task).keys() == {cause}
    steps[-1] = {**steps[-1], "feedback": {"status": "dead_end"}}
    assert named & find_causes(written, {"sr": 0.0}, "", task).keys() == {"dead_end"}


@pytest.mark.parametrize(("osr", "passed"), [(0.0, False), (0.5, False), (0.51, True)])
def test_scores_alone_say_that_the_goal_was_passed_and_not_when(
    osr: float, passed: bool
) -> None:
    written = {"start": {}, "steps": WALK, "ended": "stopped"}
    found = find_causes(written, {"sr": 0.0, "osr": osr})
    assert found.get("passed_goal") == (0 if passed else None)
    # Without the path it is not known whether the goal lay ahead.
    assert ("stopped_elsewhere" in found) == (not passed)
    assert "stopped_early" not in found


@pytest.mark.parametrize(("gap", "is_wandering"), [(0.04, True), (0.004, False)])
def test_places_differ_from_a_centimetre_on(gap: float, is_wandering: bool) -> None:
    """Ten moves out and back; of millimetres, most are no moves."""
    there_and_back = [1, 2, 3, 4, 5, 6, 5, 4, 3, 2]
    steps = [step("go", gap * x) for x in there_and_back]
    assert ("wandered" in causes(steps)) == is_wandering


def test_a_walk_with_an_unknown_place_has_no_length() -> None:
    there_and_back = [*range(1, 7), 5.5, 4.5, 3.5, 2.5]
    steps = [step("go", float(x)) for x in there_and_back]
    assert "wandered" in causes(steps)
    hidden = [*steps, {**step("go"), "pose": {}}]
    assert "wandered" not in causes(hidden)

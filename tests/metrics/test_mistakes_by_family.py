"""Failures at home, in searches, on grids and in the two-phase test, by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.trajectory import Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.conditions import Condition, Sought, conditions
from wayword.metrics.mistakes import (
    EpisodeFacts,
    Lost,
    Mistake,
    describe_success,
    find_mistake,
    wording,
)
from wayword.metrics.mistakes.behavior import behavior, failures, never_faced
from wayword.metrics.mistakes.objectnav import target_at
from wayword.metrics.mistakes.wording import sentences
from wayword.metrics.progress import GoalProgress
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.goals import HouseholdReference, Inside
from wayword.worlds.objectnav.world import ObjectNavReference
from wayword.worlds.two_phase.world import TwoPhaseReference

FAILED = {"sr": 0.0}
OK = Feedback("ok")


def facts(
    steps: Sequence[Step],
    reference: Reference,
    start: dict[str, Any] | None = None,
    **fields: Any,
) -> EpisodeFacts:
    ended = fields.pop("ended", "stopped")
    state = fields.pop("state", {})
    walked = Trajectory("1", start or {"agent": {}}, list(steps), state, ended)
    task = Task(Episode("1", "Go.", "", {}), reference)
    return EpisodeFacts(walked, FAILED, task=task, **fields)


def mistake(*args: Any, **fields: Any) -> Mistake:
    found = find_mistake(facts(*args, **fields))
    assert found is not None
    return found


# Homes.

HOME = HouseholdReference("1", goals=(Inside(("mug_1",), ("box_1",)),))


def at_home(
    *steps: Step, sought: Sequence[Sought], goals: int = 1, **fields: Any
) -> Mistake:
    """The mistake of an episode that met none of its goals."""
    conditions: list[Condition] = [(f"goal {n}", 0, 1) for n in range(goals)]
    history = {len(steps): conditions}
    return mistake(steps, HOME, history=history, sought=sought, **fields)


def looked(*names: str, held: Sequence[str] = (), actor: str = "agent") -> Step:
    """A step that sees objects, with others in the hands."""
    seen = {
        "objects": [{"name": name} for name in names],
        "holding": [{"name": name} for name in held],
    }
    return Step(actor, seen, Decision(Action("look")), OK, {})


MUG = Sought("mug", frozenset({"mug_1", "mug_2"}), "hall", ("mug_1",), small=True)


@pytest.mark.parametrize("hands", [1, 2])
@pytest.mark.parametrize("held", [(), ("cup",), ("cup", "pan")])
@pytest.mark.parametrize("is_in_view", [True, False])
def test_full_hands_explain_an_object_left_alone_and_others_are_a_note(
    is_in_view: bool, held: Sequence[str], hands: int
) -> None:
    last = looked(*["mug_1"] * is_in_view, held=held)
    found = at_home(looked("mug_1"), last, sought=[replace(MUG, hands=hands)])
    is_full = len(held) >= hands
    assert ("hands full" in found.text) == is_full
    assert ("had a hand free" in found.text) == (bool(held) and not is_full)
    assert ("in view, not taken" in found.text) == is_in_view
    assert ("had seen mug 1 at step 1" in found.text) == (not is_in_view)


FRIDGE = Sought("fridge", frozenset({"fridge_1"}), "hall", ("fridge_1",))


@pytest.mark.parametrize("held", [(), ("mug_1",), ("cup",)])
def test_what_would_not_have_helped_is_not_blamed(held: Sequence[str]) -> None:
    """A fridge to be closed explains nothing of an actor that carried a goal's object, and full
    hands explain nothing of a fridge."""
    steps = [*acts(("pick_up:mug_1", OK)), looked("fridge_1", held=held)]
    text = at_home(*steps, sought=[FRIDGE, MUG], goals=2).text
    assert ("fridge 1 in view, not used" in text) == ("mug_1" not in held)
    assert "othing was done with mug 1 after step 1" in text
    assert "hands full" not in text
    assert "hand free" not in text


def test_objects_to_take_and_furniture_to_use_are_not_named_together() -> None:
    text = at_home(looked("mug_1", "fridge_1"), sought=[MUG, FRIDGE], goals=2).text
    assert "mug 1 in view, not taken" in text


@pytest.mark.parametrize("course", [True, False])
def test_what_the_steps_were_spent_on_leads_before_the_limit(course: bool) -> None:
    acted = [("ahead", WALL)] * 8
    if not course:
        acted = [(f"turn_{n}", OK) for n in range(8)]
    fields: dict[str, Any] = {"ended": "step_limit", "lost": Lost(0, 9, limit=8)}
    found = at_home(*acts(*acted), sought=[MUG], **fields)
    limit = "An expert needs 9 steps; the limit was 8."
    assert found.limit
    assert limit in found.text
    assert found.text.startswith(limit) == (not course)
    if course:
        assert found.text.startswith("Steps 1–8: walked into a wall, 8 of 8 times.")
        assert found.step == 1


def test_a_goal_that_was_undone_leads_before_the_limit() -> None:
    steps = acts(("put:box_1", OK), ("pick_up:mug_1", OK), ("look", OK))
    history = {0: [("mug in or on box", 0, 1)], 1: [("mug in or on box", 1, 1)]}
    history[2] = history[0]
    found = mistake(
        steps, HOME, history=history, sought=[MUG], ended="step_limit",
        lost=Lost(0, 9, limit=3), progress=GoalProgress((0.0, 1.0, 0.0, 0.0), 1),
    )  # fmt: skip
    assert found.text.startswith("Step 2: undid “mug in or on box”. An expert needs 9")


def test_a_limit_in_rounds_is_given_in_steps_as_well() -> None:
    steps = acts(("look", OK), actor="ann") + acts(("wait", OK), actor="bob")
    start: dict[str, Any] = {"ann": {}, "bob": {}}
    found = at_home(
        *steps, sought=[MUG], start=start, ended="step_limit", lost=Lost(0, 9, limit=1)
    )
    assert (
        "An expert needs 9 rounds; the limit was 1, 2 steps of 2 actors." in found.text
    )


def test_of_objects_seen_and_left_the_first_is_named() -> None:
    found = at_home(
        looked("mug_2"), looked("mug_1"), looked("mug_2"), looked(), sought=[MUG]
    )
    assert "it had seen mug 2 at step 1 and never picked it up" in found.text
    both = at_home(looked("mug_1", "mug_2"), looked(), sought=[MUG])
    assert "it had seen mug 1 at step 1" in both.text, "names decide where steps do not"


@pytest.mark.parametrize("others", [(), ("bob",)])
def test_the_wrong_object_is_picked_up_by_its_actor(others: Sequence[str]) -> None:
    picked = acts(("pick_up:pan_1", OK), actor="ann")
    company = {name: {} for name in ("ann", *others)}
    causes = {"wrong_object": 1}
    found = at_home(*picked, sought=[MUG], start=company, causes=causes)
    who = "ann " if others else ""
    expected = f"Step 1: {who}picked up pan 1, an object that the task does not name."
    assert expected in found.text


def test_who_saw_it_is_named_if_another_one_ended() -> None:
    company = {"ann": {}, "bob": {}}
    for seer in company:
        steps = [looked("mug_1", actor=seer), looked(actor="bob")]
        text = at_home(*steps, sought=[MUG], start=company).text
        assert ("; ann had seen mug 1" in text) == (seer == "ann")
        assert ("; it had seen mug 1" in text) == (seer == "bob")


@pytest.mark.parametrize("walker", ["ann", "bob", "none"])
def test_others_that_never_left_their_room_are_named_and_the_last_actor_is_not(
    walker: str,
) -> None:
    company = {name: {"room": "hall"} for name in ("ann", "bob")}
    steps = [
        replace(looked("mug_1", actor=name), pose={"room": "den" if name == walker else "hall"})
        for name in company
    ]  # fmt: skip
    text = at_home(*steps, sought=[MUG], start=company).text
    assert ("ann stayed in the hall" in text) == (walker != "ann")
    assert "bob stayed" not in text, "who ended the episode"


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_one_unmet_goal_is_named_and_several_are_counted(count: int) -> None:
    stop = Step("agent", {}, Decision(STOP), OK, {})
    text = at_home(stop, sought=[], goals=count).text
    assert ("“goal 0”" in text) == (count == 1)
    assert (f"with 0 of {count} goals met" in text) == (count > 1)


@pytest.mark.parametrize("met", [0, 1, 2])
def test_a_goal_is_unmet_until_all_of_its_parts_are(met: int) -> None:
    stop = Step("agent", {}, Decision(STOP), OK, {})
    conditions: list[Condition] = [("both", met, 2)]
    evidence = facts([stop], HOME, history={1: conditions})
    assert [words for words, _ in evidence.unmet] == ["both"] * (met < 2)


# Behavior.


@pytest.mark.parametrize("heading", [0.0, 44.0, 45.0, 46.0, 180.0, 314.0, 316.0])
@pytest.mark.parametrize("targets", [((0.0, 5.0),), ((0.0, 5.0), (0.0, -9.0))])
def test_a_target_is_faced_within_45_degrees_to_either_side(
    heading: float, targets: Any
) -> None:
    pose = {"x": 0.0, "y": 0.0, "heading": heading}
    step = Step("agent", {}, Decision(STOP), OK, pose)
    walked = Trajectory("1", {"agent": pose}, [step])
    off = min(heading, 360 - heading)
    is_faced = off <= 45 or (len(targets) > 1 and off >= 135)
    assert never_faced(walked, "agent", targets) == ("" if is_faced else "north")


@pytest.mark.parametrize("company", [("ann",), ("ann", "bob")])
@pytest.mark.parametrize("has_spoken", [True, False])
def test_only_several_actors_can_be_silent(
    company: Sequence[str], has_spoken: bool
) -> None:
    action = Action("chat", ("hello",)) if has_spoken else Action("look")
    steps = [Step("ann", {}, Decision(action), OK, {})]
    walked = Trajectory("1", {name: {} for name in company}, steps)
    kinds = [fact["kind"] for fact in behavior(EpisodeFacts(walked, {}), ())]
    assert ("silent" in kinds) == (len(company) > 1 and not has_spoken)


@pytest.mark.parametrize("least", [1.0, 2.0])
@pytest.mark.parametrize("status", ["blocked", "failed"])
@pytest.mark.parametrize("failed", [0, 1, 2, 3])
def test_failures_count_from_the_least_number_on(
    failed: int, status: str, least: float
) -> None:
    steps = [
        Step("agent", {}, Decision(Action("move_ahead")), Feedback(each), {})
        for each in [status] * failed + ["ok"] * 2
    ]
    found = failures(Trajectory("1", {"agent": {}}, steps), least)
    assert bool(found) == (failed >= max(1, least))
    if found:
        verb = "was" if failed == 1 else "were"
        assert found[0]["what"] == (
            f"{verb} blocked" if status == "blocked" else "failed"
        )


# Searches.

TARGETS = ObjectNavReference("1", frozenset({"mug_1", "mug_2"}))


def saw(*objects: tuple[str, float | None], reports: Sequence[float] = ()) -> Step:
    """A step with objects in view at their distances (m), and what the detector reported."""
    shown = [
        {"id": name, "kind": "mug", "words": name, "away": away}
        for name, away in objects
    ]
    notes = [Note("grounded", {"distance": away}) for away in reports]
    return Step("agent", {"shown": shown}, Decision(STOP), OK, {}, notes=notes)


@pytest.mark.parametrize(
    ("views", "seen", "near", "count"),
    [
        ([saw(("mug_1", 4.0)), saw(("mug_1", 2.0)), saw(("mug_1", 2.0))], 2, 2.0, 3),
        ([saw(("mug_1", 4.0), ("mug_2", 3.0)), saw()], 1, 3.0, 1),
        ([saw(("mug_1", None)), saw(("mug_1", 9.0))], 2, 9.0, 2),
        ([saw(("mug_1", None)), saw(("mug_1", None))], 1, None, 2),
        ([saw(("cup_1", 1.0)), saw(("mug_2", 5.0))], 2, 5.0, 1),
    ],
)
def test_the_nearest_view_of_a_target_is_named_the_first_of_several(
    views: Sequence[Step], seen: int, near: float | None, count: int
) -> None:
    causes = {"detector_missed": 0}
    (fact,) = mistake(views, TARGETS, causes=causes).fact["more"]
    assert (fact["seen"], fact.get("near"), fact["views"]) == (seen, near, count)


def test_a_false_alarm_is_the_last_report_of_its_step() -> None:
    views = [saw(("mug_1", 4.0), reports=[7.0, 2.5])]
    found = mistake(views, TARGETS, causes={"false_alarm": 1})
    assert found.fact["did"]["near"] == 2.5
    assert "went back" not in found.text
    views.append(replace(saw(), notes=[Note("went_back", {"distance": 2.5})]))
    found = mistake(views, TARGETS, causes={"false_alarm": 1})
    assert found.step == 1
    assert found.lost == 2
    assert found.text.endswith(
        "without the mug_1. It went back at step 2 to the place of the wrong report at step 1."
    )


# Two phases.


@pytest.mark.parametrize("phase", [1, 2])
@pytest.mark.parametrize(
    "action", [Action("go", ("tv",)), Action("go", ("hallway",)), STOP]
)
def test_the_hallway_is_right_in_the_first_phase_and_the_rooms_objects_in_the_second(
    phase: int, action: Action
) -> None:
    seen = {"phase": phase, "objects": ("tv", "oven", "hallway"), "place": "den"}
    chosen = Step(
        "agent", seen, Decision(action), Feedback("ok", {"room": "attic"}), {}
    )
    dataset: Any = SimpleNamespace(room_objects={"kitchen": ("oven",), "den": ("tv",)})
    reference = TwoPhaseReference("1", "kitchen")
    found = mistake([chosen], reference, dataset=dataset)
    right = "hallway" if phase == 1 else "oven"
    assert f"only the {right} leads to the kitchen" in found.text
    assert ("This led to the attic" in found.text) == (action != STOP)


# Grids.


@pytest.mark.parametrize("away", [0, 1, 2, 3])
@pytest.mark.parametrize("moves", [0, 1, 2])
def test_next_to_an_object_is_one_square_away_and_a_walk_on_the_spot_is_explained(
    moves: int, away: int
) -> None:
    poses = [{"x": n, "y": 0} for n in range(moves)] + [{"x": moves, "y": 0}] * 2
    steps = [Step("agent", {}, Decision(STOP), OK, pose) for pose in poses[1:]]
    target = (moves + away, 0)
    item = {"x": target[0], "y": 0, "colour": "red", "kind": "ball"}
    level = SimpleNamespace(
        at=lambda x, y: None, carried=None, target_squares=lambda: [target]
    )
    world = SimpleNamespace(level=level, state=lambda: {"things": [item]})
    text = mistake(steps, Reference("1"), start={"agent": poses[0]}, world=world).text
    where = f"{away} squares from"
    if away == 1:
        where = "next to"
    assert f"stopped {where} the red ball" in text
    assert ("not done" in text) == (away == 1)
    assert ("never left the start" in text) == (moves == 0)


# The course of an episode that ran out of steps.

WALL = Feedback("blocked", {"by": "a_wall"})
DOOR = Feedback("no_path", {"doors": ["a closed door"]})


def acts(*done: tuple[str, Feedback], actor: str = "agent") -> list[Step]:
    """Steps of actions with an argument after a colon."""
    steps = []
    for words, feedback in done:
        name, _, argument = words.partition(":")
        action = Action(name, (argument,) if argument else ())
        steps.append(Step(actor, {}, Decision(action), feedback, {}))
    return steps


@pytest.mark.parametrize(
    ("done", "course"),
    [
        ([("ahead", WALL)] * 4, "Steps 1–4: walked into a wall, 4 of 4 times."),
        (
            [("go:mug", OK)] + [("go:hall", DOOR), ("look", OK)] * 2 + [("go:hall", DOOR)],
            "Steps 2–6: go hall failed 3 times: no path, a closed door.",
        ),
        (
            [("drop", DOOR), ("pick:mug", DOOR), ("push", DOOR)],
            "Steps 1–3: 3 of 3 actions failed: drop, pick mug, push.",
        ),
        ([("goto:table", OK)] * 3, "Steps 1–3: chose goto table 3 times."),
        ([("look", OK)] * 3, "Steps 1–3: chose look 3 times in the same pose."),
        # Too few, too rare and too short
        ([("ahead", WALL)] * 2, ""),
        ([("go:a", WALL), ("go:b", OK), ("go:c", OK), ("go:d", OK)] * 2, ""),
        ([("go:a", WALL)] * 3 + [(f"go:{n}", OK) for n in range(4)], ""),
    ],
)  # fmt: skip
def test_what_most_of_the_steps_were_leads(
    done: Sequence[tuple[str, Feedback]], course: str
) -> None:
    found = at_home(*acts(*done), sought=[], lost=Lost(1), ended="step_limit")
    assert found.text.startswith(course or "Lost after step 1: ")
    assert found.lost == 1, "the step that lost it is still the same"
    if course:
        assert found.step == int(course.split("–")[0].removeprefix("Steps "))


@pytest.mark.parametrize("ended", ["stopped", "step_limit"])
def test_a_team_that_gave_up_is_blocked_as_one_actor_is(ended: str) -> None:
    """Its actors stop one after the other: neither stop is a step that did not fail."""
    steps = []
    for actor in ("ann", "bob"):
        steps += acts(*[("ahead", WALL)] * 5, actor=actor)
    stops = [
        Step(actor, {}, Decision(STOP), OK, {})
        for actor in ("ann", "bob")
        if ended == "stopped"
    ]
    start: dict[str, Any] = {"ann": {}, "bob": {}}
    found = at_home(*steps, *stops, sought=[], start=start, lost=Lost(1), ended=ended)
    assert "walked into a wall, 5 of 5 times" in found.text


def test_what_one_actor_did_is_counted_once_and_follows_the_order_that_was_not_sent() -> (
    None
):
    steps = acts(*[("ahead", WALL)] * 8, actor="ann")
    start: dict[str, Any] = {"ann": {}, "bob": {}}
    fields: dict[str, Any] = {
        "sought": [MUG], "start": start, "lost": Lost(5), "ended": "step_limit",
    }  # fmt: skip
    found = at_home(*steps, **fields)
    assert "walked into a wall, 8 of 8 times" in found.text
    assert "failed" not in found.text, "it was counted up to the loss"
    found = at_home(*steps, causes={"order_not_sent": 8}, **fields)
    first, _, rest = found.text.partition(". ")
    assert (
        first == "Step 8: ann ran out of steps and never told bob of its goal “goal 0”"
    )
    assert "Steps 1–8: ann walked into a wall, 8 of 8 times." in rest


@pytest.mark.parametrize("needed", [0, 20])
def test_an_order_that_was_not_sent_is_to_blame_unless_the_limit_was_too_low(
    needed: int,
) -> None:
    """Where no expert succeeds at any limit, it is not known to have been too low."""
    steps = acts(*[("look", OK)] * 4, actor="ann")
    start: dict[str, Any] = {"ann": {}, "bob": {}}
    found = at_home(
        *steps, sought=[MUG], start=start, lost=Lost(0, needed, 8, 8), causes={"order_not_sent": 3}
    )  # fmt: skip
    assert found.limit == bool(needed)
    assert found.lost == (4 if needed else 3)
    assert found.text.startswith("An expert needs 20 " if needed else "Step 3: ann ")


def test_of_several_actors_the_words_and_blocked_routes_before_the_loss_are_given() -> (
    None
):
    def sent(text: str) -> list[Step]:
        return acts((f"chat:{text}", OK), actor="ann")

    blocked = acts(("go:hall", DOOR), actor="bob")
    steps = [*sent("I take mug_1."), *blocked, *sent("Make way."), *blocked]
    later = [*acts(("wait", OK), actor="ann"), *sent("Bring mug_2."), *blocked]
    start: dict[str, Any] = {"ann": {}, "bob": {}}
    text = at_home(
        *steps, *sent("Make way."), *later,
        sought=[MUG], start=start, lost=Lost(6), ended="step_limit",
    ).text  # fmt: skip
    assert "Ann had said at step 1: “I take mug_1”." in text
    assert "mug_2" not in text, "it was said after the loss"
    assert "bob's go hall failed 3 times: no path, a closed door." in text
    assert "failed 2 times" not in text, "the course has counted them"
    assert "Ann said “Make way” 2 times." in text


@pytest.mark.parametrize(
    ("place", "doors", "later", "named"),
    [
        ("hall", ["door_2"], [], True),
        ("hall", ["door_2"], [("open:door_2", OK)], False),
        ("hall", ["door_2"], [("open:door_2", DOOR)], True),
        ("den", ["door_2"], [], False),  # the mug is in the hall
        ("hall", ["a closed door"], [], False),  # one that was never in view
    ],
)
def test_a_closed_door_in_the_way_that_was_never_opened_is_named(
    place: str, doors: list[str], later: list[tuple[str, Feedback]], named: bool
) -> None:
    blocked = Feedback("no_path", {"place": place, "doors": doors})
    steps = acts((f"go_explore:{place}", blocked), *later, ("stop", OK))
    text = at_home(*steps, sought=[MUG], lost=Lost(len(steps))).text
    words = "no mug ever in view (it was in the hall): never opened the closed door 2"
    assert (f"{words} (step 1: explore hall)" in text) == named
    assert ("never opened" in text) == named


@pytest.mark.parametrize("puts_down", [True, False])
def test_what_was_put_down_was_used_though_the_action_does_not_name_it(
    puts_down: bool,
) -> None:
    placed = Feedback("ok", {"object": "mug_1"}) if puts_down else Feedback("blocked")
    steps = acts(("grab:mug_1", OK), ("put:box_1", placed), ("look", OK))
    text = at_home(*steps, sought=[MUG]).text
    used = "step 2 (put box 1)" if puts_down else "step 1 (grab mug 1)"
    assert f"nothing was done with mug 1 after {used}" in text


def test_nothing_could_be_done_after_the_last_step() -> None:
    steps = acts(("look", OK), ("grab:mug_1", OK))
    text = at_home(*steps, sought=[MUG], ended="step_limit").text
    assert "nothing was done" not in text
    assert "the last step was still about mug 1: grab mug 1" in text


@pytest.mark.parametrize("last", [True, False])
def test_goals_that_were_met_without_a_stop_are_no_actors_mistake(last: bool) -> None:
    steps = acts(("put:mug", OK), ("look", OK), ("wait", OK))
    values = (0.0, 0.0, 0.0, 1.0) if last else (0.0, 1.0, 1.0, 1.0)
    met: list[Condition] = [("mug in or on box", 1, 1)]
    found = mistake(
        steps, HOME, ended="step_limit", lost=Lost(2), history={3: met},
        progress=GoalProgress(values, 1),
    )  # fmt: skip
    assert found.limit == last
    expected = (
        "Lost after step 2: no one stopped, though the goal had been met by step 1."
    )
    if last:
        expected = (
            "The goal had been met by step 3, but no turn was left to stop; "
            "the limit was 3 steps."
        )
    assert found.text == expected


# The step that lost an episode.


@pytest.mark.parametrize("needed", [0, 3])
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_the_steps_left_are_given_where_the_experts_need_is_known(
    lost: int, needed: int
) -> None:
    actions = [Decision(Action(name)) for name in ("look", "wait", "look")]
    steps = [Step("agent", {}, each, OK, {}) for each in actions]
    ended = Lost(lost, needed, 4 - lost, 4)
    found = at_home(*steps, sought=[], lost=ended, ended="step_limit")
    assert found.lost == lost
    assert ("an expert needed" in found.text) == (needed > 0 and lost < 3)


@pytest.mark.parametrize(("shown", "step"), [(0, 3), (1, 1), (2, 2)])
def test_a_family_without_an_explanation_names_the_step_of_its_first_cause(
    shown: int, step: int
) -> None:
    steps = [Step("agent", {}, Decision(Action("look")), OK, {}) for _ in range(3)]
    found = mistake(steps, Reference("1"), causes={"looped": shown, "ran_out": 3})
    assert (found.lost, found.cause) == (step, "looped")


@pytest.mark.parametrize("legal", [0, 1, 3])
def test_a_record_of_rejected_answers_has_no_legal_one(legal: int) -> None:
    answers = [Decision(Action("look"))] * legal + [Rejection("illegal", "no")] * 2
    steps = [Step("agent", {}, each, OK, {}) for each in answers]
    found = mistake(steps, Reference("1"), causes={"ran_out": len(steps)})
    assert ("answers were rejected" in found.text) == (legal == 0)
    assert found.lost == (len(steps) if legal else 1)


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("is_in_view", [True, False])
def test_what_fits_a_hand_was_not_taken_and_what_does_not_was_not_used(
    is_in_view: bool, small: bool
) -> None:
    last = looked(*["mug_1"] * is_in_view)
    text = at_home(looked("mug_1"), last, sought=[replace(MUG, small=small)]).text
    if is_in_view:
        assert f"in view, not {'taken' if small else 'used'}" in text
    else:
        assert f"never {'picked it up' if small else 'used it'}" in text


@pytest.mark.parametrize("end", [0.0, 4.0, 6.0, 9.0])
def test_the_nearest_target_that_was_never_faced_is_named(end: float) -> None:
    """Both lie to the south, and a walk to the east looked north and west."""
    targets = ((0.0, -5.0), (10.0, -5.0))
    poses = [{"x": x, "y": 0.0, "heading": 0.0} for x in (5.0, end)]
    step = Step("agent", {}, Decision(STOP), OK, poses[1])
    walked = Trajectory("1", {"agent": poses[0]}, [step])
    nearest = min(targets, key=lambda point: abs(point[0] - end))
    dx = nearest[0] - end
    expected = "south"
    if abs(dx) > 2.1:
        expected = "south-east" if dx > 0 else "south-west"
    assert never_faced(walked, "agent", targets) == expected


@pytest.mark.parametrize("ended", ["stopped", "step_limit"])
@pytest.mark.parametrize("gave_up", [True, False])
def test_only_an_agent_that_stopped_gave_up(gave_up: bool, ended: str) -> None:
    step = saw(("mug_1", 4.0))
    step.notes += [Note("gave_up", {})] * gave_up
    text = mistake([step], TARGETS, ended=ended, causes={"seen_not_taken": 0}).text
    expected = "ran out of steps"
    if ended == "stopped":
        expected = "gave up" if gave_up else "stopped"
    assert text.startswith(f"Step 1: {expected} without the mug")


@pytest.mark.parametrize("heading", [0.0, 180.0])
@pytest.mark.parametrize("room", ["hall", "den"])
@pytest.mark.parametrize("moves", [True, False])
def test_a_room_is_named_once_and_by_the_fact_that_says_most(
    moves: bool, room: str, heading: float
) -> None:
    """The mug lies to the south in the hall."""
    pose = {"x": 0.0, "y": 0.0, "heading": heading, "room": room}
    end = {**pose, "room": "attic"} if moves else pose
    walked = Trajectory(
        "1", {"agent": pose}, [Step("agent", {}, Decision(STOP), OK, end)]
    )
    found = behavior(EpisodeFacts(walked, {}), ((0.0, -5.0),), [MUG])
    kinds = [fact["kind"] for fact in found]
    is_faced = heading == 180.0
    stayed_with_it = room == "hall" and not moves
    assert ("in_the_room" in kinds) == (stayed_with_it and not is_faced)
    was_there = room == "hall"
    assert ("never_faced" in kinds) == (was_there and moves and not is_faced)
    assert ("stayed" in kinds) == (not moves and not (stayed_with_it and not is_faced))
    assert ("never_saw" in kinds) == (stayed_with_it and is_faced)


@pytest.mark.parametrize("phase", [1, 2])
@pytest.mark.parametrize("place", ["kitchen", "hallway", "den"])
def test_the_room_counts_only_after_the_first_phase(place: str, phase: int) -> None:
    state = {"phase": phase, "place": place}
    met = [done for _, done, _ in conditions(TwoPhaseReference("1", "kitchen"), state)]
    assert met == [int(phase == 2), int(phase == 2 and place == "kitchen")]


@pytest.mark.parametrize(
    ("door", "carried", "where"),
    [
        (
            "locked", None,
            "2 squares from the red ball (6 on foot), behind the locked grey door without a key",
        ),
        ("locked", "grey", "2 squares from the red ball (6 on foot), behind the locked grey door"),
        ("closed", None, "2 squares from the red ball (6 on foot)"),
        ("wall", None, "2 squares from the red ball (8 on foot)"),
    ],
)  # fmt: skip
def test_a_grid_is_walked_around_walls_and_a_locked_door_is_named(
    door: str, carried: str | None, where: str
) -> None:
    """A wall between start and ball, with a gap that is far away and closed if there is a door."""
    wall = SimpleNamespace(type="wall")
    items = dict.fromkeys(((1, y) for y in range(-1, 3)), wall)
    items |= dict.fromkeys(((x, y) for x in range(-1, 4) for y in (-1, 5)), wall)
    items |= dict.fromkeys(((x, y) for x in (-1, 4) for y in range(-1, 6)), wall)
    if door != "wall":
        state = {"is_locked": door == "locked", "is_open": False}
        items |= {(1, 2): SimpleNamespace(type="door", color="grey", **state)}
        items |= dict.fromkeys(((1, y) for y in (3, 4)), wall)
    level = SimpleNamespace(
        at=lambda x, y: items.get((x, y)), target_squares=lambda: [(2, 0)],
        carried=carried and SimpleNamespace(color=carried),
    )  # fmt: skip
    ball = {"x": 2, "y": 0, "colour": "red", "kind": "ball"}
    world = SimpleNamespace(level=level, state=lambda: {"things": [ball]})
    steps = [Step("agent", {}, Decision(STOP), OK, {"x": 0, "y": 0})]
    start = {"agent": {"x": 0, "y": 1}}
    text = mistake(steps, Reference("1"), start=start, world=world).text
    assert text == f"Step 1: stopped {where.replace('a key', 'its key')}."


@pytest.mark.parametrize(
    ("places", "why"),
    [
        ([(1, 1), (3, 1)], "never left the hall; it was in the den"),
        ([(1, 1), (11, 1)], "never entered the den, where it was"),
        ([(1, 1), (5, 1)], "never faced east, where it was"),
    ],
)
def test_a_target_behind_walls_is_in_another_room_and_not_in_a_direction(
    places: Sequence[tuple[float, float]], why: str
) -> None:
    scene = SceneBuilder("flat")
    for number, name in enumerate(("hall", "den", "attic")):
        west, east = 4 * number, 4 * number + 4
        scene.room(name, [(west, 0), (east, 0), (east, 3), (west, 3)])
    poses = [{"x": float(x), "y": float(y), "heading": 270.0} for x, y in places]
    steps = [Step("agent", {}, Decision(STOP), OK, poses[1])]
    reference = ObjectNavReference("1", frozenset({"mug_1"}), middles=((7.0, 1.0),))
    task = Task(Episode("1", "Find the mug.", "", {}), reference)
    place = SimpleNamespace(scene=scene.build())
    world = SimpleNamespace(base=SimpleNamespace(place=place))
    walked = Trajectory("1", {"agent": poses[0]}, steps, ended="stopped")
    causes = {"never_seen": 0}
    found = find_mistake(EpisodeFacts(walked, FAILED, causes, None, task, world=world))
    assert found is not None
    assert found.text.startswith(f"Step 1: stopped without the mug: {why}.")


def test_a_solved_search_has_the_distance_that_success_is_judged_by() -> None:
    """The nearest point of the nearest target, not the middle of the first one."""
    objects = [("a", 1.6, 1.2), ("b", 1.1, 0.97)]
    shown = [
        {"id": name, "words": name, "away": away, "distance": distance}
        for name, away, distance in objects
    ]
    found = target_at({"shown": shown}, frozenset({"a", "b"}))
    assert found is not None
    assert (
        wording.words(found)
        == "stopped with the b in view, 0.97 m from its nearest point,"
    )


@pytest.mark.parametrize("challenge", [0.0, 1.0])
def test_a_search_solved_by_its_own_rule_names_the_published_ones_that_it_fails(
    challenge: float,
) -> None:
    shown = {"shown": [{"id": "clock", "words": "alarm clock", "away": 3.8}]}
    steps = [Step("agent", shown, Decision(STOP), OK, {"x": 0, "y": 0})]
    walked = Trajectory("1", {"agent": {"x": 0, "y": 0}}, steps, ended="stopped")
    reference = ObjectNavReference("1", frozenset({"clock"}))
    task = Task(Episode("1", "Find an alarm clock.", "", {}), reference)
    scores = {"success_challenge": challenge, "success_released": 1.0}
    _, rest = sentences(describe_success(EpisodeFacts(walked, scores, task=task)))
    rule = "It would be no success by RoboTHOR's rule (in view within 1 m)."
    assert rest == ("" if challenge else rule)

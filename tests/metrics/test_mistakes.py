"""The mistake of a failed episode: which step lost it, and the facts that explain it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.trajectory import Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.conditions import Sought
from wayword.metrics.mistakes import (
    EpisodeFacts,
    Lost,
    Mistake,
    describe_success,
    find_mistake,
)
from wayword.metrics.mistakes.causes import find_causes
from wayword.metrics.mistakes.wording import YOU, Fact, phrases, sentences, words
from wayword.metrics.progress import GoalProgress
from wayword.runs.codec import to_json
from wayword.worlds.household.goals import AnswerReference, HouseholdReference, Inside
from wayword.worlds.objectnav.world import ObjectNavReference

FAILED = {"sr": 0.0}


def mistake_of(
    trajectory: Trajectory,
    reference: Reference,
    instruction: str = "Go.",
    scores: dict[str, float] | None = None,
    **evidence: Any,
) -> Mistake:
    """The mistake of an episode, whose causes are found in its record."""
    task = Task(Episode("1", instruction, "", {}), reference)
    task = evidence.pop("task", task)
    scores = scores or FAILED
    causes = find_causes(to_json(trajectory), scores, instruction, task)
    found = find_mistake(
        EpisodeFacts(trajectory, scores, causes, None, task, **evidence)
    )
    assert found is not None
    return found


def steps(*actions: Action, seen: Any = None) -> list[Step]:
    return [
        Step("agent", seen or {}, Decision(each), Feedback("ok"), {"x": n, "y": 0})
        for n, each in enumerate(actions)
    ]


# Walks.

LINE = ("a", "b", "c", "d")
"""The gold path: places from west to east."""


class Line:
    """A dataset whose graph is the line."""

    family = SimpleNamespace(place="viewpoint")

    @staticmethod
    def graph(scene: str) -> Any:

        plane = {name: (float(n), 0.0) for n, name in enumerate(LINE)}
        return SimpleNamespace(plane=plane)


def at(place: str, heading: float | None = 0.0) -> dict[str, Any]:
    """A pose at a place of the line, with its heading if it is known."""
    return {"viewpoint": place} | ({} if heading is None else {"heading": heading})


def on_the_line(start: dict[str, Any], name: str, pose: Any, status: str) -> str:
    """The mistake of a walk of one step, which lost it: an action, or a rejected answer."""
    answer = Rejection("illegal", "no such action", "up")
    decision = Decision(Action(name)) if name else answer
    done = [Step("agent", {}, decision, Feedback(status), pose)]
    stay = Step("agent", {}, Decision(Action("wait")), Feedback("ok"), pose)
    walked = Trajectory("1", {"agent": start}, [*done, stay], ended="step_limit")
    task = Task(Episode("1", "Go.", "line", {}), PathReference("1", LINE))
    evidence = EpisodeFacts(walked, FAILED, {}, Line(), task, lost=Lost(1))  # type: ignore[arg-type]
    found = find_mistake(evidence)
    assert found is not None
    assert found.lost == 1
    return found.text


def test_a_departure_without_a_change_of_place_says_what_was_done() -> None:
    ends = "; the path goes right (east). It ran out of steps at a."
    turned = on_the_line(at("a"), "left", at("a", 270.0), "ok")
    assert turned == f"Step 1: turned left (west) at a{ends}"
    for name in ("left", "forward"):
        blocked = on_the_line(at("a"), name, at("a", 5.0), "blocked")
        assert blocked == f"Step 1: chose {name} and stayed at a{ends}"
    stayed = on_the_line(at("d"), "left", at("d", 270.0), "ok")
    assert (
        stayed == "Step 1: did not stop at the goal. It ran out of steps at the goal."
    )
    left = on_the_line(at("d"), "goto", at("e"), "ok")
    assert left == (
        "Step 1: walked on from the goal d instead of stopping. It ran out of steps at e."
    )
    unknown = on_the_line(at("a", None), "left", at("a", 270.0), "ok")
    assert unknown == (
        "Step 1: turned left (west) at a; the path goes to b (east). It ran out of steps at a."
    ), "no side without a heading"


def test_an_episode_of_rejected_answers_failed_at_the_first() -> None:
    answer = Step(
        "agent", {}, Rejection("illegal", "no", "up"), Feedback("rejected"), at("a")
    )
    walked = Trajectory("1", {"agent": at("a")}, [answer], ended="step_limit")
    reference = PathReference("1", LINE)
    assert mistake_of(walked, reference).text == (
        "Step 1: the answer was rejected as illegal."
    )
    walked.steps *= 3
    assert mistake_of(walked, reference).text == (
        "Step 1: all 3 answers were rejected, the first as illegal."
    )


def test_a_limit_below_the_experts_need_is_to_blame_and_no_step() -> None:
    done = [replace(each, pose=at("a")) for each in steps(Action("wait"))]
    walked = Trajectory("1", {"agent": at("a")}, done, ended="step_limit")
    found = mistake_of(walked, PathReference("1", LINE), lost=Lost(0, 5, 1, 1))
    assert found.limit
    needs = "the path needs at least 5 steps; the limit was 1."
    assert found.text.startswith(f"On the path throughout, but {needs}")


# Searches.

MUG = ObjectNavReference("1", frozenset({"mug_1"}))


def search(
    *seen: tuple[str, float], notes: dict[int, Note] | None = None
) -> Trajectory:
    """A search that stopped: the object in view at each step, and its distance (m)."""
    walked = Trajectory("1", {"agent": {"x": 0, "y": 0}}, ended="stopped")
    for number, (name, away) in enumerate(seen, 1):
        shown = [{"id": name, "words": "blue mug", "kind": "mug", "away": away}]
        step = steps(Action("move_ahead"), seen={"shown": shown if name else []})[0]
        step.notes += [notes[number]] if notes and number in notes else []
        walked.steps.append(step)
    return walked


def test_a_target_in_view_and_not_taken_is_the_cause_and_the_stop_the_mistake() -> None:
    walked = search(("mug_1", 4.0), ("mug_1", 1.5), ("", 0.0))
    found = mistake_of(walked, MUG, scores={"sr": 0.0, "ever_seen": 1.0})
    assert (found.lost, found.cause) == (3, "seen_not_taken")
    assert found.text == (
        "Step 3: stopped without the blue mug; it was in view at step 2, 1.5 m away, and not taken."
    )
    assert list(found.missed) == ["mug"]


@pytest.mark.parametrize("note", ["turn", "gave_up"])
def test_a_detector_that_never_reported_a_target_in_view_missed_it(note: str) -> None:
    walked = search(("mug_1", 4.0), ("", 0.0), notes={1: Note(note, {})})
    found = mistake_of(walked, MUG, scores={"sr": 0.0, "ever_seen": 1.0})
    assert found.cause == "detector_missed"
    assert "in view at 1 step, the nearest view at step 1, 4.0 m away" in found.text
    assert "the detector never reported it" in found.text


def test_a_report_of_something_else_that_ended_a_search_is_a_false_alarm() -> None:
    report = Note("grounded", {"distance": 2.0})
    walked = search(("mug_1", 4.0), ("mug_2", 2.0), notes={2: report})
    scores = {"sr": 0.0, "ever_seen": 1.0}
    found = mistake_of(walked, MUG, scores=scores)
    assert found.cause == "false_alarm"
    assert "Step 2: the detector reported the blue mug 2.0 m away" in found.text
    assert found.fact["more"][-1]["kind"] == "unreported"
    walked.steps[1].notes.append(Note("gave_up", {}))
    assert mistake_of(walked, MUG, scores=scores).cause == "detector_missed"
    right = search(("mug_1", 4.0), notes={1: Note("grounded", {"distance": 4.0})})
    assert mistake_of(right, MUG, scores=scores).cause == "seen_not_taken"


def test_a_target_never_in_view_is_explained_by_the_walk() -> None:
    def text(walked: Trajectory) -> str:
        scores = {"sr": 0.0, "ever_seen": 0.0}
        return mistake_of(walked, MUG, "Find the blue mug.", scores).text

    begins = "Step 3: stopped without the blue mug, never in view: "
    walked = search(("", 0.0), ("", 0.0), ("", 0.0))
    assert text(walked) == f"{begins}never left the start."
    blocked = replace(walked.steps[0], feedback=Feedback("blocked"))
    walked.steps[:2] = [blocked, blocked]
    assert text(walked) == f"{begins}2 of 3 steps were blocked. Never left the start."
    walked.steps[-1] = replace(walked.steps[-1], pose={"x": 120.5, "y": 0})
    assert text(walked) == f"{begins}2 of 3 steps were blocked. Moved 120.5 m."


def test_a_turn_is_a_step_that_changed_the_heading_and_not_the_place() -> None:
    poses = [
        {"x": 0.0, "y": 0.0, "heading": 90.0},
        {"x": 3.0, "y": 0.0, "heading": 180.0},  # on a route, which ends with a heading
        {"x": 3.0, "y": 0.0, "heading": 180.0},
        {"x": 3.0, "y": 0.0, "heading": 210.0},
    ]
    pairs = zip(steps(*[STOP] * 4), poses, strict=True)
    done = [replace(step, pose=pose) for step, pose in pairs]
    start = {"x": 0.0, "y": 0.0, "heading": 0.0}
    walked = Trajectory("1", {"agent": start}, done, ended="stopped")
    scores = {"sr": 0.0, "ever_seen": 0.0}
    found = mistake_of(walked, MUG, "Find the blue mug.", scores)
    assert "turned 2 times, moved 3 m" in found.text


# Households.

APPLE = HouseholdReference("1", goals=(Inside(("apple_1",), ("box_1",)),))


def at_home(*done: Step, sought: Sought, **state: Any) -> Mistake:
    walked = Trajectory("1", {"agent": {}}, [*done], {"objects": state}, "stopped")
    return mistake_of(walked, APPLE, sought=[sought])


def test_an_object_that_never_came_into_view_is_declared_in_its_room() -> None:
    about = Sought("apple", frozenset({"apple_1"}), "hall")
    found = at_home(*steps(STOP), sought=about, apple_1={"in": ""})
    assert found.text == (
        "Step 1: stopped with no apple ever in view (it was in the hall)."
    )
    placed = {"objects": {"apple_1": {"in": "table_1", "room": "hall"}}}
    about = replace(about, ids=("apple_1",))
    assert (
        about.ended("apple in or on box", placed)
        == "apple in or on box (now: table, hall)"
    )
    about = replace(about, ids=("apple_1", "apple_2"))
    assert (
        about.ended("apple in or on box", placed) == "apple (either of 2) in or on box"
    )
    assert (
        about.ended("apple in or on box", placed, parts=2)
        == "0 of 2 apples in or on box"
    )
    assert about.ended("apple held", placed) == "apple held (either of 2)"


@pytest.mark.parametrize(
    ("points", "facts"),
    [((), "ever in view"), (((-3.0, 0.0),), "never faced west, where it was"),
     (((-3.0, 0.0), (9.0, 0.0)), ""), (((0.0, 5.0),), "")],
)  # fmt: skip
def test_each_of_the_objects_counts_as_faced(points: Any, facts: str) -> None:
    poses = [{"x": 0.0, "y": 0.0, "heading": h} for h in (0.0, 90.0)]
    done = [Step("agent", {}, Decision(STOP), Feedback("ok"), poses[1])]
    walked = Trajectory("1", {"agent": poses[0]}, done, {}, "stopped")
    walked.state = {"objects": {"apple_1": {"in": ""}}}
    about = Sought("apple", frozenset(), "", ("apple_1",), points=points)
    text = mistake_of(walked, APPLE, sought=[about]).text
    assert facts in text
    assert ("never faced" in text) == ("never faced" in facts)


@pytest.mark.parametrize(
    ("rooms", "query", "did"),
    [("hall kitchen", ["hall"], "left the hall and stopped"),
     ("kitchen kitchen", ["hall"], "never entered the hall and stopped"),
     ("kitchen hall", ["hall"], "stopped"), ("hall kitchen", ["hall", "porch"], "stopped"),
     ("hall kitchen", [""], "stopped"), ("hall hall", ["hall"], "stopped")],
)  # fmt: skip
def test_the_room_of_a_question_that_was_left_is_named(
    rooms: str, query: list[str], did: str
) -> None:
    start, end = ({"room": room, "x": 0} for room in rooms.split())
    done = [replace(each, pose=end) for each in steps(Action("turn_left"), STOP)]
    walked = Trajectory("1", {"agent": start}, done, {}, "stopped")
    question = AnswerReference("1", answer="no", look=("shelf_1",))
    sought = [Sought("shelf", frozenset(), room) for room in query]
    text = mistake_of(walked, question, sought=sought).text
    assert text == f"Step 2: {did} without an answer; the right answer is “no”."


def test_an_object_picked_up_on_the_way_is_no_cause_of_a_wrong_answer() -> None:
    done = steps(Action("pick_up", ("potato_1",)), Action("stop", ("yes",)))
    state = {"actors": {"agent": {"answer": "yes"}}}
    walked = Trajectory("1", {"agent": {}}, done, state, "stopped")
    found = mistake_of(walked, AnswerReference("1", answer="no"), "Is there a cup?")
    assert found.cause == "wrong_answer"
    assert found.text == "Step 2: answered “yes”; the right answer is “no”."


@pytest.mark.parametrize(
    ("instruction", "given", "message", "alone"),
    [("Help.", "Bring the Cup.", "", True), ("Help.", "Bring cups.", "hello", True),
     ("Help.", "Bring the cup.", "a cup, please", False),
     ("Help.", "Look in the cupboard.", "", False), ("Bring a cup.", "Bring a cup.", "", False)],
)  # fmt: skip
def test_an_order_that_was_never_sent_is_the_mistake_of_who_alone_knew_it(
    instruction: str, given: str, message: str, alone: bool
) -> None:
    say = Decision(Action("chat", (message,))) if message else Decision(Action("wait"))
    stop = Step("bob", {}, Decision(STOP), Feedback("ok"), {})
    done = [replace(stop, actor="ann", decision=say), stop]
    state = {"objects": {"cup_1": {"in": ""}}}
    walked = Trajectory("1", {"ann": {}, "bob": {}}, done, state, "stopped")
    reference = HouseholdReference("1", goals=(Inside(("cup_1",), ("box_1",)),))
    texts = {"instructions": {"ann": given, "bob": "Do what ann asks."}}
    task = Task(Episode("1", instruction, "", {}, ("ann", "bob"), texts), reference)
    sought = [Sought("cup", frozenset(), "")]
    found = mistake_of(walked, reference, instruction, task=task, sought=sought)
    assert (found.cause == "order_not_sent") == alone
    assert (found.lost == 1) == alone, "the step of the one who knew"
    expected = (
        "Step 1: ann took its last action and never told bob of its goal “cup in or on box”. "
        "No cup was ever in view of bob."
    )
    assert (found.text == expected) == alone
    quote = f"Ann had said at step 1: “{message}”."
    assert (quote in found.text) == bool(message and not alone)


# Grids.


@pytest.mark.parametrize("others", [0, 1])
def test_one_of_two_that_look_the_same_is_not_declared_in_view(others: int) -> None:
    seen = {"objects": [{"color": "red", "kind": "ball"}]}
    walked = Trajectory("1", {"agent": {"x": 0, "y": 0}}, ended="stopped")
    walked.steps = [replace(steps(STOP, seen=seen)[0], pose={"x": 1, "y": 0})]
    items = [
        {"x": 3 + 2 * n, "y": 0, "colour": "red", "kind": "ball"} for n in range(2)
    ]
    level = SimpleNamespace(
        at=lambda x, y: None, carried=None, target_squares=lambda: [(3, 0)]
    )
    world = SimpleNamespace(level=level, state=lambda: {"things": items[: others + 1]})
    text = mistake_of(walked, Reference("1"), world=world).text
    in_view = "" if others else ", in view"
    assert text == f"Step 1: stopped 2 squares from the red ball{in_view}."


# Words.


def test_a_player_is_addressed_and_an_agent_is_not() -> None:
    fact = Fact("ended", end=Fact("left_alone", end="stopped", held=["cup"], names=["egg"],
                                  none="not", done="taken"))  # fmt: skip
    assert words(fact) == "It stopped with its hands full (cup): egg in view, not taken"
    assert words(fact, YOU).startswith("You stopped with your hands full (cup)")


def test_every_phrase_leaves_out_what_is_not_known() -> None:
    for kind, phrase in phrases().items():
        assert phrase.count("[") == phrase.count("]"), kind
        assert "[[" not in phrase, f"{kind}: parts cannot be nested"


def test_a_solved_episode_says_how_it_ended_its_steps_the_experts_and_its_cost() -> (
    None
):
    walked = Trajectory("1", {"agent": at("a")}, steps(STOP), ended="stopped")
    walked.steps = [replace(walked.steps[0], pose=at("c"))]
    task = Task(Episode("1", "Go.", "", {}), PathReference("1", LINE))
    progress = GoalProgress((3.0, 1.0))
    facts = EpisodeFacts(walked, {"sr": 1.0, "cost": 0.002}, {}, None, task, progress)
    assert " ".join(sentences(describe_success(facts, 4))) == (
        "Solved: stopped at c, 1.0 m from the goal d, in 1 step; the gold path takes 4;"
        " it cost $0.0020. It never left the gold path."
    )
    around = [replace(walked.steps[0], pose=at(place)) for place in ("b", "x", "c")]
    other = replace(facts, trajectory=replace(walked, steps=around))
    _, rest = sentences(describe_success(other, 4))
    assert rest == "It left the gold path at b."
    beyond = [replace(walked.steps[0], pose=at(place)) for place in ("d", "x", "c")]
    other = replace(facts, trajectory=replace(walked, steps=beyond))
    assert sentences(describe_success(other, 4))[-1] == (
        "It walked on from the end of the gold path, d."
    )
    free = replace(facts, scores={"sr": 1.0, "low_level": 12.0}, task=None)
    assert sentences(describe_success(free)) == (
        "Solved in 12 low-level actions, within 1 step.",
        "",
    )
    # An agent may need fewer than the expert took
    head, _ = sentences(describe_success(free, 13))
    assert head == (
        "Solved in 12 low-level actions, within 1 step; the expert took 13 actions."
    )

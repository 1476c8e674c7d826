"""Walks that failed, by rule: the step that left the path, what was done, and the side to go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.mistakes import EpisodeFacts, Lost, Mistake, find_mistake
from wayword.metrics.mistakes.wording import words
from wayword.metrics.progress import GoalProgress
from wayword.worlds.indoor.world import ObjectReference
from wayword.worlds.street.graph import build

LINE = ("a", "b", "c", "d")
"""The gold path."""
OFF = "x"
"""A place next to every place of the path."""
FAR = {**{place: len(LINE) - 1.0 - n for n, place in enumerate(LINE)}, OFF: 5.0}
"""Metres from each place to the end of the path."""


class Graph:
    """A dataset whose graph has these points: metres to the east and north.

    Those of panoramas are latitude and longitude.
    """

    def __init__(self, points: Mapping[str, tuple[float, float]], kind: str) -> None:
        self._points = points
        self.family = SimpleNamespace(place=kind)

    def graph(self, scene: str) -> Any:
        if self.family.place == "viewpoint":
            return SimpleNamespace(plane=self._points)
        street = build("street", list(self._points), [])
        return replace(street, positions=np.array([*self._points.values()]))


def facts(
    places: Sequence[str],
    ended: Any = "step_limit",
    worse: Callable[[int], int] | None = None,
    lost: Lost | None = None,
    causes: Mapping[str, int] | None = None,
) -> EpisodeFacts:
    """A walk through places, the first of which is its start; one that stops does so at the end."""
    moves = [Decision(Action("goto", (place,))) for place in places[1:]]
    if ended == "stopped":
        places = [*places, places[-1]]
        moves.append(Decision(STOP))
    poses = [{"viewpoint": place} for place in places]
    steps = [
        Step("agent", {}, move, Feedback("ok"), pose)
        for move, pose in zip(moves, poses[1:], strict=True)
    ]
    walked = Trajectory("1", {"agent": poses[0]}, steps, ended=ended)
    task = Task(Episode("1", "Go.", "", {}), PathReference("1", LINE))
    progress = GoalProgress(tuple(FAR[place] for place in places))
    return EpisodeFacts(
        walked, {"sr": 0.0}, causes or {}, None, task, progress, lost=lost, worse=worse
    )


def mistake(evidence: EpisodeFacts) -> Mistake:
    found = find_mistake(evidence)
    assert found is not None
    return found


walks = st.lists(st.sampled_from([*LINE, OFF]), min_size=2, max_size=7)


@given(walks, st.sampled_from(["stopped", "step_limit"]))
def test_a_walk_left_the_path_after_it_was_nearest_for_the_last_time(
    places: list[str], ended: str
) -> None:
    far = [FAR[place] for place in places]
    nearest = max(n for n, metres in enumerate(far) if metres == min(far))
    expected = nearest + 1 if nearest < len(places) - 1 else 0
    assert mistake(facts(places, ended)).departed == expected


@given(walks, st.integers(0, 8))
def test_the_first_step_worse_than_the_experts_left_it_unless_it_is_the_stop(
    places: list[str], answer: int
) -> None:
    queries = []

    def worse(first: int) -> int:
        queries.append(first)
        return max(first, answer)

    by_distance = mistake(facts(places, "stopped")).departed
    found = mistake(facts(places, "stopped", worse)).departed
    assert queries[:1] == [by_distance] * bool(by_distance)
    step = max(by_distance, answer)
    is_stop = step > len(places) - 1
    expected = step if by_distance and not is_stop else 0
    # A step off the path before it was as good as the expert's.
    assert found == expected


@pytest.mark.parametrize(
    ("places", "did"),
    [
        ("abx", "Step 2: went from b to x"),
        ("bab", ""),
        ("baxx", "Step 1: went from b to a"),
        ("cbcb", "Step 3: went back from c to b"),
        ("xbxx", "Step 2: went back from b to x"),
    ],
)
def test_a_place_that_was_seen_before_is_gone_back_to(places: str, did: str) -> None:
    text = mistake(facts(places, "stopped")).text
    assert text.startswith(did)
    assert ("went" in text) == bool(did)


@pytest.mark.parametrize("cause", [None, 0, 1, 2, 3])
def test_a_goal_that_was_passed_was_reached_one_step_before_it_was_left(
    cause: int | None,
) -> None:
    """A cause of 0 says that it was reached and not when; one of 1 left it from the start."""
    causes = {} if cause is None else {"passed_goal": cause}
    found = mistake(facts("abdcc", "stopped", causes=causes))
    more = {fact["kind"]: fact for fact in found.fact.get("more", ())}
    assert ("was_at_goal" in more) == (cause == 0)
    assert ("passed_goal" in more) == (cause in (2, 3))
    if cause in (2, 3):
        assert more["passed_goal"]["reached"] == cause - 1


@pytest.mark.parametrize(
    ("places", "how"), [("ab", True), ("aba", False), ("abx", False), ("xab", False)]
)
def test_only_a_walk_along_the_path_was_on_it_throughout(
    places: str, how: bool
) -> None:
    text = mistake(facts(places, lost=Lost(0, 5, 2, 2))).text
    assert text.startswith("On the path throughout, but") == how
    assert text.startswith("An expert needs 5 steps; the limit was 2.") == (not how)


@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_the_departure_leads_where_it_was_too_late_only_after_it(lost: int) -> None:
    """Each of both steps is described once; the end speaks for itself."""
    found = mistake(facts("abxax", lost=Lost(lost, 3, 1, 4)))
    more = [fact["kind"] for fact in found.fact["more"]]
    departed = 0 if lost == 1 else 2  # one after the loss is no cause of it
    assert (found.lost, found.departed) == (lost, departed)
    assert found.step == (departed or lost)
    assert "departed" not in more
    assert ("an expert needed 3 steps" in found.text) == (lost < 4)


def test_only_an_episode_that_ran_out_of_steps_lacked_them() -> None:
    lost = Lost(3, 3, 1, 4)
    assert "it was too late" in mistake(facts("abxax", lost=lost)).text
    assert "it was too late" not in mistake(facts("abxax", "stopped", lost=lost)).text


def test_a_way_off_the_path_as_good_as_the_experts_does_not_lead() -> None:
    text = mistake(facts("abxxx", "stopped", worse=lambda first: 4)).text
    assert text.startswith("Step 4: ")
    assert "It left the path at step 2: went from b to x; the path goes to c." in text
    assert mistake(facts("abxxx", "stopped")).text.startswith("Step 2: went from b")


def test_a_walk_leaves_its_path_once_where_the_limit_is_to_blame() -> None:
    """What it did off the path, or back along it, turned it away from its goal."""
    limit = Lost(0, 5, 4, 4)
    left = "It left the path at step "
    away = "It turned away from the goal at step "
    text = mistake(facts("abxxx", worse=lambda first: 4, lost=limit)).text
    assert text.index(f"{left}2: ") < text.index(f"{away}4: ")
    assert text.count(left) == 1
    text = mistake(facts("abcb", lost=limit)).text
    assert f"{away}3: went back from c to b" in text
    assert left not in text


@pytest.mark.parametrize("ended", ["stopped", "step_limit"])
def test_a_step_as_good_as_the_experts_is_not_to_blame_for_too_few_steps(
    ended: str,
) -> None:
    """The stop leads, or the first step that was worse."""
    lost = Lost(3, 2, 1, 4)
    worse = {1: 1}
    evidence = facts("aabcc", ended, lost=lost, worse=lambda n: worse.get(n, 0))
    found = mistake(evidence)
    assert found.lost == 3
    assert found.step == (5 if ended == "stopped" else 1)
    too_few = "Too few steps were left after step 3: an expert needed 2 steps"
    assert (too_few in found.text) == (ended == "stopped")


def test_a_step_after_the_loss_is_no_departure() -> None:
    worse = {1: 1}
    evidence = facts("aabxx", lost=Lost(3, 3, 1, 4), worse=lambda n: worse.get(n, 4))
    found = mistake(evidence)
    assert (found.lost, found.departed, found.step) == (3, 1, 1)
    assert "After step 3 it was too late" in found.text
    assert "step 4" not in found.text


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (("7",), "It chose the stove (7) instead of the cup (8)."),
        ((), "It chose no object; the task asks for the cup (8)."),
        (("8",), ""),
    ],
)
def test_a_stop_that_chose_another_object_names_both(
    chosen: tuple[str, ...], words: str
) -> None:
    evidence = facts("ab", "stopped")
    steps = evidence.trajectory.steps
    seen = {"objects": [{"id": "7", "name": "stove"}, {"id": "8", "name": "cup"}]}
    choice = Decision(Action("stop", chosen))
    steps[-1] = replace(steps[-1], decision=choice, observation=seen)
    assert evidence.task is not None
    reference = ObjectReference("1", LINE, object_id="8")
    text = mistake(
        replace(evidence, task=replace(evidence.task, reference=reference))
    ).text
    assert words in text
    assert ("chose" in text) == bool(words)


# Directions.


def text_of_turn(heading: float, end: tuple[float, float], kind: str) -> str:
    """The mistake of an actor that stands still; the path goes to a point."""
    place = {"panorama": "a"} if kind == "panorama" else {"viewpoint": "a"}
    pose = {**place, "heading": heading}
    wait = Step("agent", {}, Decision(Action("wait")), Feedback("ok"), pose)
    walked = Trajectory("1", {"agent": pose}, [wait, wait], ended="step_limit")
    task = Task(Episode("1", "Go.", "scene", {}), PathReference("1", ("a", "b")))
    dataset: Any = Graph({"a": (0.0, 0.0), "b": end, "c": (9.0, 9.0)}, kind)
    found = find_mistake(
        EpisodeFacts(walked, {"sr": 0.0}, {}, dataset, task, lost=Lost(1))
    )
    assert found is not None
    return words(found.fact["did"])


OPPOSITE = {
    "left": "right",
    "right": "left",
    "straight on": "straight on",
    "back": "back",
}


@pytest.mark.parametrize("turn", [0, 20, 44, 46, 90, 134, 136, 180])
@pytest.mark.parametrize("heading", [0.0, 90.0, 200.0, 350.0])
def test_the_side_of_the_path_is_relative_to_the_heading_and_symmetric(
    turn: int, heading: float
) -> None:
    sides = []
    for sign in (1, -1):
        angle = np.radians(heading + sign * turn)
        end = (float(np.sin(angle)), float(np.cos(angle)))
        text = text_of_turn(heading, end, "viewpoint")
        sides.append(text.partition("the path goes ")[2].partition(" (")[0])
    right, left = sides
    assert OPPOSITE[right] == left or turn == 180
    expected = "right"
    if turn < 45:
        expected = "straight on"
    elif turn > 135:
        expected = "back"
    assert right == expected


def test_the_positions_of_a_street_are_latitude_and_longitude() -> None:
    """So the first number is north there, and east in a house; a longitude is shorter."""
    assert "(north)" in text_of_turn(0.0, (1.0, 0.0), "panorama")
    assert "(east)" in text_of_turn(0.0, (0.0, 1.0), "panorama")
    assert "(east)" in text_of_turn(0.0, (1.0, 0.0), "viewpoint")
    assert "(north)" in text_of_turn(0.0, (0.0, 1.0), "viewpoint")


def test_a_degree_of_longitude_is_shorter_far_from_the_equator() -> None:
    """At 80 degrees north, 1 degree of latitude and 1.5 of longitude lead nearly north."""
    pose = {"panorama": "a", "heading": 0.0}
    wait = Step("agent", {}, Decision(Action("wait")), Feedback("ok"), pose)
    walked = Trajectory("1", {"agent": pose}, [wait, wait], ended="step_limit")
    task = Task(Episode("1", "Go.", "scene", {}), PathReference("1", ("a", "b")))
    for latitude, expected in ((0.0, "(north-east)"), (80.0, "(north)")):
        points = {"a": (latitude, 5.0), "b": (latitude + 1.0, 6.5)}
        dataset: Any = Graph(points, "panorama")
        evidence = EpisodeFacts(walked, {"sr": 0.0}, {}, dataset, task, lost=Lost(1))
        assert expected in words(mistake(evidence).fact["did"])


TURNS = {90: "right", -90: "left"}
# At "a" one arrives facing north; the path goes on north, to "b", and "x" is in the east.
CORNER = [("a", 0, "b"), ("a", 90, "x"), ("a", 180, "s"), ("a", 270, "w")]


class Corner:
    """A dataset of one corner of streets."""

    family = SimpleNamespace(place="panorama")

    def graph(self, scene: str) -> Any:
        links = [*CORNER, *((end, 0, "a") for _, _, end in CORNER)]
        points = {"s": (-1, 0), "a": (0, 0), "b": (1, 0), "x": (0, 1), "w": (0, -1)}
        street = build("street", list(points), links)
        return replace(street, positions=np.array([*points.values()], float))


def text_at_corner(turns: Sequence[int], start: int = 0) -> str:
    """The mistake of a walk that arrives, turns and goes where it faces. Each turn that does not
    end along the path is worse than the expert's step."""
    headings = [start]
    for turn in turns:
        headings.append((headings[-1] + turn) % 360)
    ends = {heading: end for _, heading, end in CORNER}
    poses = [{"panorama": "s", "heading": start}]
    poses += [{"panorama": "a", "heading": heading} for heading in headings]
    poses += [{"panorama": ends[headings[-1]], "heading": headings[-1]}]
    names = ["forward", *(TURNS[turn] for turn in turns), "forward"]
    steps = [
        Step("agent", {}, Decision(Action(name)), Feedback("ok"), pose)
        for name, pose in zip(names, poses[1:], strict=True)
    ]
    walked = Trajectory("1", {"agent": poses[0]}, steps, ended="step_limit")
    task = Task(Episode("1", "Go.", "scene", {}), PathReference("1", ("s", "a", "b")))
    last = len(steps)
    worse = [n for n, heading in enumerate(headings[1:], 2) if heading != 0]

    def first_worse(step: int) -> int:
        return next((n for n in [*worse, last] if n >= step), 0)

    progress = GoalProgress((2.0, *[1.0] * (last - 1), 2.0))
    dataset: Any = Corner()
    evidence = EpisodeFacts(
        walked, {"sr": 0.0}, {}, dataset, task, progress, lost=Lost(last), worse=first_worse
    )  # fmt: skip
    return mistake(evidence).text


@pytest.mark.parametrize(
    ("turns", "start", "text"),
    [
        ((90,), 0, "Step 2: turned right (east) at a; the path goes straight on"),
        # The left turn was undone, by a turn that faces the path again.
        ((-90, 90, 90), 0, "Step 4: turned right (east) at a; the path goes straight"),
        ((90, -90, -90, 90, 90), 0, "Step 6: turned right (east) at a; the path goes"),
        # It arrived facing elsewhere than the path goes, and faced the path in between.
        (
            (90, -90, -90),
            270,
            "Step 3: turned left (west) at a and left it to the south",
        ),
        # Two turns were the departure: the first one began it.
        ((90, 90), 0, "Step 2: turned right (east) at a and left it to the south; the"),
    ],
)
def test_a_turn_that_was_undone_is_no_mistake(
    turns: Sequence[int], start: int, text: str
) -> None:
    assert text_at_corner(turns, start).startswith(text)


# The instruction at a place.


class Narrated(Graph):
    """A dataset that knows which part of the instruction "1 2 3" leads to which place."""

    parts: Sequence[tuple[int, int]] = ((0, 1), (2, 2), (4, 3))
    """Where a part begins in the text, and the number of the place where it ends."""

    def narrated(self, task: Task) -> Sequence[tuple[int, int]]:
        return self.parts


@pytest.mark.parametrize(
    ("kind", "parts"),
    [("viewpoint", "1 2 3 3"), ("panorama", "1 1 2 3")],
)
def test_the_instruction_is_quoted_for_the_place_where_the_walk_went_wrong(
    kind: str, parts: str
) -> None:
    """In a house the next part begins at the place where one ends, on a street behind it."""
    for place, part in zip(LINE, parts.split(), strict=True):
        evidence = facts([place, OFF, OFF], "stopped")
        dataset: Any = Narrated({}, kind)
        task = evidence.task
        assert task is not None
        episode = replace(task.episode, instruction="1 2 3")
        evidence = replace(
            evidence, dataset=dataset, task=replace(task, episode=episode)
        )
        quoted = [f for f in mistake(evidence).fact["more"] if f["kind"] == "clause"]
        assert [fact["text"] for fact in quoted] == [part], place


@pytest.mark.parametrize(
    "end", [". Next", ", and then", ". Finally,", " and", ". After that", "."]
)
def test_a_quoted_part_ends_before_the_words_that_begin_the_next_one(end: str) -> None:
    evidence = facts(["a", OFF, OFF], "stopped")
    first = f"Go to the hallway{end} "
    task = evidence.task
    assert task is not None
    dataset: Any = Narrated({}, "viewpoint")
    dataset.parts = ((0, 1), (len(first), 3))
    episode = replace(task.episode, instruction=f"{first}turn left.")
    evidence = replace(evidence, dataset=dataset, task=replace(task, episode=episode))
    quoted = [f for f in mistake(evidence).fact["more"] if f["kind"] == "clause"]
    assert [fact["text"] for fact in quoted] == ["Go to the hallway"]


# Ends that the world forced, ways back, and floors.


def at_end(evidence: EpisodeFacts, feedback: Feedback) -> EpisodeFacts:
    """The same episode, whose last action had this feedback."""
    *steps, final = evidence.trajectory.steps
    final = replace(final, decision=Decision(Action("forward")), feedback=feedback)
    walked = replace(evidence.trajectory, steps=[*steps, final])
    return replace(evidence, trajectory=walked)


def test_a_dead_end_that_ended_a_walk_is_no_stop() -> None:
    stopped = facts("ab", "stopped")
    forced = at_end(stopped, Feedback("dead_end", {"executed": "stop"}))
    assert mistake(forced).text == (
        "Step 2: went forward into a dead end at b, which ended the episode 2.0 m from the goal d."
    )
    assert mistake(stopped).text == "Step 2: stopped at b, 2.0 m from the goal d."


@pytest.mark.parametrize(
    ("places", "way"),
    [
        ("abxxb", "3 and was back on it after step 5"),
        ("abx", "3: went from b to x; the path goes to c"),
        ("ab", ""),
    ],
)
def test_a_way_off_the_path_and_back_has_a_sentence(places: str, way: str) -> None:
    evidence = facts(["a", *places], "stopped", worse=lambda first: 99)
    _, _, rest = mistake(evidence).text.partition("It left the path at step ")
    assert rest == (f"{way}." if way else "")


@pytest.mark.parametrize(
    ("height", "level"),
    [(3.0, ", which is 3.0 m higher up"), (-3.0, ", which is 3.0 m lower down"), (1.4, "")],
)  # fmt: skip
def test_a_goal_on_another_floor_is_higher_up_or_lower_down(
    height: float, level: str
) -> None:
    evidence = facts("ab", "stopped")
    graph = SimpleNamespace(
        positions=np.array([[0.0, 0.0, 1.0], [4.0, 0.0, 1.0 + height]]),
        index={"b": 0, "d": 1},
    )
    dataset: Any = SimpleNamespace(
        graph=lambda scene: graph,
        family=SimpleNamespace(place="viewpoint"),
        success=None,
    )
    assert evidence.task is not None
    task = replace(evidence.task, episode=replace(evidence.task.episode, scene="house"))
    text = mistake(replace(evidence, dataset=dataset, task=task)).text
    assert text == f"Step 2: stopped at b, 2.0 m from the goal d{level}."

"""Walks that end at an object (REVERIE), how a walk stands under way, and what paths share.

The flat (metres): A -4- B -4- C -2- D -6- E in a row, X 3 m off B.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Any

import pytest

from wayword.core.action import Action, Decision, Rejection
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.predictions import trajectory_from_places
from wayword.metrics.scoring import Judged, scorer
from wayword.worlds.indoor.world import ObjectReference

Split = Callable[..., Any]
Judge = Callable[..., dict[str, float]]


@pytest.fixture
def sought(split: Split) -> Judge:
    """``sought("ABC", "5")``: the scores of a walk that stops and names object 5, the one meant.

    The annotated path is A B X B C D (16 m; the shortest way to D is 10 m), and the object is in
    view from C and D.
    """

    def judge(places: str, *named: str, gold: str = "ABXBCD") -> dict[str, float]:
        meant = ObjectReference(
            "7_5_0", tuple(gold), object_id="5", visible_from=frozenset("CD")
        )
        task = Task(
            Episode("7_5_0", "Dust it.", "flat", {"viewpoint": places[0]}), meant
        )
        walk = trajectory_from_places("7_5_0", list(places), "viewpoint")
        stop = Decision(Action("stop", named))
        where = {"viewpoint": places[-1]}
        walk.steps.append(Step("agent", {}, stop, Feedback(), where))
        found: dict[str, float] = scorer("indoor").score(split(), [(task, walk)])[0]
        return found

    return judge


def test_the_right_object_named_after_a_detour(sought: Judge) -> None:
    # A B A B A B C: 24 m. Shares: 10 / 24 of the shortest way, 16 / 24 of the annotated path.
    found = sought("ABABABC", "5")
    assert (found["sr"], found["osr"], found["rgs"]) == (1, 1, 1)
    assert found["spl"] == pytest.approx(10 / 24)
    assert found["spl_gold"] == found["rgspl"] == pytest.approx(16 / 24)
    assert 0 < found["ndtw"] == found["sdtw"] < 1


def test_success_is_to_have_it_in_view_not_to_be_near(sought: Judge) -> None:
    # C is 2 m from the goal D, and has it in view. E passed it on the way, and has not.
    short = sought("ABC", "5")
    assert (short["sr"], short["spl"], short["spl_gold"]) == (1, 1, 1)
    assert short["sdtw"] == short["ndtw"] == pytest.approx(exp(-(3 + 2) / 18)), (
        "X-B 3, D-C 2"
    )
    past = sought("ABCDE", "5")
    assert (past["sr"], past["osr"], past["spl"], past["sdtw"]) == (0, 1, 0, 0)


@pytest.mark.parametrize("named", [(), ("9",), ("5", "9")])
def test_another_object_or_none_is_no_grounding(
    sought: Judge, named: tuple[str, ...]
) -> None:
    found = sought("ABC", *named)
    assert (found["sr"], found["rgs"], found["rgspl"]) == (1, 0, 0)


def test_where_the_object_is_at_the_start_every_step_is_too_many(sought: Judge) -> None:
    stays = sought("C", "5", gold="C")
    strolls = sought("CDC", "5", gold="C")
    assert (stays["spl"], stays["spl_gold"], stays["rgspl"]) == (1, 1, 1)
    assert (strolls["sr"], strolls["spl"], strolls["rgspl"]) == (1, 0, 0)


def test_who_never_stops_names_nothing(split: Split) -> None:
    meant = ObjectReference("1", ("C", "D"), object_id="5", visible_from=frozenset("D"))
    task = Task(Episode("1", "Dust it.", "flat", {"viewpoint": "C"}), meant)
    failed = Trajectory("1", start={}, ended="failed", error="no answer")
    babbling = trajectory_from_places("1", list("CD"), "viewpoint")
    rejection = Rejection("no_action", "prose", "5")
    babbling.steps.append(
        Step("agent", {}, rejection, Feedback("rejected"), {"viewpoint": "D"})
    )
    never, prose = scorer("indoor").score(split(), [(task, failed), (task, babbling)])
    assert (never["sr"], never["rgs"], prose["sr"], prose["rgs"]) == (0, 0, 1, 0)


@pytest.mark.parametrize(
    ("goal", "away", "success"),
    [("C", 4.0, False), ("X", 3.0, False), ("B", 0.0, True)],
)
def test_an_episode_under_way_stands_where_its_actor_is(
    split: Split, goal: str, away: float, success: bool
) -> None:
    """At B: exactly 3 m off is not less than 3 m, as at the end."""
    dataset = split(("1_0", f"B{goal}"))
    judge = scorer("indoor")
    assert isinstance(judge, Judged)
    (task,) = dataset.tasks
    world = dataset.world(task.episode)
    world.reset(task.episode)
    found = judge.standing(dataset, task, world)
    assert found is not None
    assert (found.success, found.met, found.parts) == (success, int(success), 1)
    assert (found.distance, found.unit) == (away, "m")
    assert judge.standing(dataset, Task(task.episode, Reference("1_0")), world) is None


@pytest.mark.parametrize(("seen_from", "success"), [("B", True), ("C", False)])
def test_a_walk_to_an_object_stands_by_whether_it_is_in_view(
    split: Split, seen_from: str, success: bool
) -> None:
    """At B, which is the end of the path: success needs the object in view, as at the end."""
    dataset = split(("1_0", "BB"))
    judge = scorer("indoor")
    assert isinstance(judge, Judged)
    (task,) = dataset.tasks
    goal = ObjectReference("1_0", ("B",), visible_from=frozenset(seen_from))
    world = dataset.world(task.episode)
    world.reset(task.episode)
    found = judge.standing(dataset, Task(task.episode, goal), world)
    assert found is not None
    assert (found.success, found.met, found.distance) == (success, int(success), 0.0)

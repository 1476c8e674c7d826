"""How near to success an episode was, step by step: what the curve and the cards say of it."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.parsed_page import Page
from helpers.recorded_run import SCORES, recorded_trajectory
from helpers.shown import episode_page
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.trajectory import CLAUSES, Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.houses import Houses
from wayword.metrics.conditions import Sought, conditions
from wayword.metrics.mistakes.causes import find_causes
from wayword.metrics.progress import GoalProgress
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import run
from wayword.viewer.data import Sources, open_sources
from wayword.viewer.document import Document, replay
from wayword.viewer.episode import Links
from wayword.viewer.maps import objectnav
from wayword.worlds.household.goals import (
    AnswerReference,
    Held,
    HouseholdReference,
    Inside,
    Lit,
)
from wayword.worlds.two_phase.world import TwoPhaseReference


def test_a_way_that_grows_is_worse_and_rounding_is_not() -> None:
    course = GoalProgress((5.0, 5.04, 2.0, 6.0, math.inf))
    assert (course.best_step, course.first_loss) == (2, 3)
    assert course.describe(1) == "5.0 m to go"
    assert course.describe(3) == "6.0 m to go, 4.0 m further"
    assert course.describe(4).startswith("no path to go")
    assert course.summary() == "nearest: 2.0 m, after step 2"
    assert GoalProgress((4.0, 3.0), unit="links").describe(1) == "3 links to go"


def test_conditions_that_are_undone_are_worse() -> None:
    course = GoalProgress((0.0, 2.0, 1.0), conditions=3)
    assert (course.best_step, course.first_loss) == (1, 2)
    assert course.describe(1) == "2 of 3 goal conditions met, 2 more"
    assert course.describe(2) == "1 of 3 goal conditions met, 1 fewer"
    assert course.summary() == "1 of 3 goal conditions met at the end, 2 after step 1"
    assert GoalProgress((1.0, 0.0, 1.0, 2.0), conditions=3).first_loss == 0, (
        "a mug was moved, and stands again"
    )
    assert not GoalProgress((0.0, 0.0), conditions=1).informative, (
        "a line that never moves says nothing"
    )
    assert not GoalProgress().informative
    assert GoalProgress().describe(1) == GoalProgress().summary() == ""


def astray() -> tuple[Trajectory, Sources]:
    """One step along the gold path, and one off it."""
    dataset = Houses("test", None, Houses.Settings(houses=1, episodes=20))
    for task in dataset.tasks:
        path = task.reference.path  # type: ignore[attr-defined]
        world = dataset.world(task.episode)
        world.reset(task.episode)
        trajectory = Trajectory(task.episode.id, {"agent": world.pose("agent")})
        off = [str(path[1])]
        near = [way.viewpoint for way in world_after(dataset, task, off)]
        off += [name for name in near if name not in path][:1]
        if len(off) < 2:
            continue
        for place in off:
            action = Action("goto", (place,))
            feedback = world.step("agent", action)
            trajectory.steps.append(
                Step("agent", {}, Decision(action), feedback, world.pose("agent"))
            )
        return trajectory, Sources(dataset, {task.episode.id: task})
    raise AssertionError("no path with a way off it")


def world_after(dataset: Houses, task: object, places: list[str]) -> list[object]:
    """The ways on, after some places."""
    world = dataset.world(task.episode)  # type: ignore[attr-defined]
    world.reset(task.episode)  # type: ignore[attr-defined]
    for place in places:
        world.step("agent", Action("goto", (place,)))
    return list(world.observe("agent").neighbors)  # type: ignore[attr-defined]


def test_a_walk_off_the_gold_path_has_its_distances_if_it_replays() -> None:
    walk, sources = astray()
    course = replay(walk, sources)[0].progress
    assert course.unit == "m"
    assert len(course.values) == 3
    assert course.values[1] < course.values[0]
    walk.steps[0].feedback = type(walk.steps[0].feedback)("blocked")
    assert not replay(walk, sources)[0].progress.values, (
        "what cannot be played again is not measured"
    )


def test_goal_conditions_are_a_curve_and_say_when_they_came_to_hold(
    tmp_path: Path,
) -> None:
    several = {"dataset": {"levels": "GoToSeqS5R2"}}
    done = run(
        Plan("expert", "grounding", settings=several, limit=1, out=tmp_path / "run")
    )
    recorded = RunFolder.read(done.path)
    for record in recorded.records():
        sources = open_sources(recorded, [record.episode_id], None)
        course = replay(record.trajectory, sources)[0].progress
        assert course.conditions == sources.instruction(record.episode_id).count(
            "go to"
        )
        assert list(course.values) == sorted(course.values)
        assert (course.values[0], course.values[-1]) == (0, course.conditions)
        page = Page.parse(episode_page(record, [], sources, "run", Links()))
        assert len(page.all("polyline", class_="curve")) == 1
        better = [each.text for each in page.all("span", class_="better")]
        assert (
            better[-1]
            == f"{course.conditions} of {course.conditions} goal conditions met, 1 more"
        )
        assert page.all("rect", class_="meant"), "what the instruction means is marked"


def test_a_costmap_is_drawn_as_it_grew(tmp_path: Path) -> None:
    done = run(
        Plan("frontier", "apartments", limit=1, max_steps=16, out=tmp_path / "run")
    )
    recorded = RunFolder.read(done.path)
    (record,) = recorded.records()
    sources = open_sources(recorded, [record.episode_id], None)
    page = Page.parse(episode_page(record, [], sources, "run", Links()))
    assert not page.all("path", class_="seenfree"), "the costmap has it"
    turns = [n for n, step in enumerate(record.trajectory.steps, 1)
             if any(note.kind == "turn" for note in step.notes)]  # fmt: skip
    frontiers = page.all("path", class_="frontier")
    assert [int(each.attributes["data-first"] or 0) for each in frontiers] == turns
    known = page.all("path", class_="knownfree")
    cells = [(each.attributes["d"] or "").count("M") for each in known]
    text = next(
        n for n in record.trajectory.steps[turns[0] - 1].notes if n.kind == "turn"
    )
    without_scene = objectnav.map(record.trajectory, Sources())
    assert without_scene is not None
    walls = [len(each.points) for each in without_scene.shapes
             if each.kind == "occupied" and each.first <= turns[0]]  # fmt: skip
    until = [count for count, each in zip(cells, known, strict=True)
             if int(each.attributes["data-first"] or 0) <= turns[0]]  # fmt: skip
    assert sum(until) <= text.details["known"] <= sum(until) + sum(walls)
    plain = run(Plan("random", "apartments", limit=1, out=tmp_path / "plain"))
    (other,) = RunFolder.read(plain.path).records()
    page = Page.parse(episode_page(other, [], sources, "run", Links()))
    assert page.all("path", class_="seenfree")
    assert not page.all("path", class_="occupied"), "the scene's walls are drawn"
    without_scene = objectnav.map(other.trajectory, Sources())
    assert without_scene is not None
    kinds = {shape.kind for shape in without_scene.shapes}
    assert "occupied" in kinds, "obstacles are drawn without turns, too"
    assert not page.all("path", class_="frontier")


def test_goal_conditions_are_reported_in_words_with_how_they_stood() -> None:
    mug = ("Mug|-01.25|+00.90", "mug_3")
    egg = ("Egg|+00.1|+00.2",)
    hot = (("temperature", "hot"), ("dirty", False))
    goals = (Inside(egg, ("CoffeeMachine|+0.1",), hot), Held(mug), Lit(("DeskLamp|1",)))
    reference = HouseholdReference("1", "x", goals)
    record = {"in": "", "held": "", "temperature": "cold", "dirty": False, "on": True}
    objects = {
        name: dict(record) for name in (*mug, *egg, "CoffeeMachine|+0.1", "DeskLamp|1")
    }
    objects["mug_3"]["held"] = "agent"
    state = {"objects": objects, "actors": {"agent": {"sees": {}}}}
    assert conditions(reference, state) == [
        ("hot clean egg in or on coffee machine", 0, 1),
        ("mug held", 1, 1),
        ("desk lamp switched on, in view", 0, 1),
    ]
    assert conditions(reference, {}) == [], "a state of another world"
    right = AnswerReference("1", answer="2")
    assert conditions(right, {"actors": {"a": {"answer": "2."}}}) == [
        ("expected answer: “2”, given: “2.”", 1, 1)
    ]
    assert conditions(right, {})[0][0] == "expected answer: “2”, given: nothing"
    text = TwoPhaseReference("1", "kitchen")
    assert conditions(text, {"phase": 2, "place": "office"})[1] == (
        "go to the kitchen",
        0,
        1,
    )


@pytest.mark.parametrize("agent", ["expert", "random"])
def test_every_goal_condition_is_listed_with_the_step_that_met_it(
    agent: str, tmp_path: Path
) -> None:
    episode = "home-test-s0-r5-0013_pick_cool_then_place_in_recep_2"
    run(Plan(agent, "household", episodes=(episode,), out=tmp_path / "run"))
    recorded = RunFolder.read(tmp_path / "run")
    record = recorded.record(episode)
    sources = open_sources(recorded, [episode], None)
    course = replay(record.trajectory, sources)[0].progress
    page = Page.parse(episode_page(record, [], sources, "run", Links()))
    listed = [each for each in page.all("li") if each.text[:1] in ("✓", "✗")]
    assert len(listed) == course.conditions, "also those that another one includes"
    links = page.all("a", class_="since")
    steps = [int(each.text.removeprefix("step ")) for each in links]
    assert len(steps) == course.values[-1], "each met one has its step"
    for step in steps:
        assert course.values[step] > course.values[step - 1]


def test_the_task_stands_before_the_verdict() -> None:
    trajectory = recorded_trajectory("one")
    task = Task(Episode("one", "Go on, stop.", "small", {}), Reference("one"))
    sources = Sources(None, {"one": task})
    record = EpisodeRecord("one", SCORES, trajectory)
    text = episode_page(record, (), sources, "run", Links())
    assert text.index("Go on, stop.") < text.index('class="signs"')
    texts = {"texts": ["Go on, ", "stop."], "begins": [0, 7]}
    trajectory.opening_notes = [Note(CLAUSES, texts)]
    text = episode_page(record, (), sources, "run", Links())
    assert text.index('class="task-line">Go on, stop.<') < text.index('class="signs"')


def test_the_place_that_was_not_looked_at_is_named() -> None:
    sought = [Sought("shelf", {"shelf_1"}, "hall"), Sought("bed", set(), "hall")]
    seen = {"objects": [{"name": "shelf_1"}]}
    step = Step("a", seen, Decision(STOP), Feedback("ok"), {})
    document: Any = SimpleNamespace(
        reference=AnswerReference("1", answer="2"),
        sought=sought,
        trajectory=Trajectory("1", {"a": {}}, [step], ended="stopped"),
    )
    views = ("saw 1 of 2 objects to look at in the hall, missed 1: bed", 1, 2)
    assert Document.dated_conditions.func(document) == [(views, None)]  # type: ignore[attr-defined]


def test_signs_say_at_which_step_they_show() -> None:
    def step(action: str, x: int) -> dict[str, object]:
        return {"actor": "a", "decision": {"action": action}, "pose": {"x": x, "y": 0}}

    moves = [step("forward", 1), *(step("left", 1) for _ in range(4))]
    written = {"start": {"a": {"x": 0, "y": 0}}, "steps": moves, "ended": "step_limit"}
    assert find_causes(written, {"sr": 0.0}) == {"looped": 3, "ran_out": 5}
    no: dict[str, object] = {
        "actor": "a",
        "decision": {"rejected": "too_long"},
        "pose": {},
    }
    written = {
        "start": {},
        "steps": [step("forward", 1), no, step("stop", 1)],
        "ended": "stopped",
    }
    assert find_causes(written, {"osr": 1.0}) == {
        "passed_goal": 0,
        "rejected": 2,
        "truncated": 2,
    }


def test_an_actor_who_waits_for_another_does_not_go_in_circles() -> None:
    def turn(actor: str, action: str) -> dict[str, object]:
        return {
            "actor": actor,
            "decision": {"action": action},
            "pose": {"x": 0, "y": 0},
        }

    start = {"a": {"x": 0, "y": 0}, "b": {"x": 0, "y": 0}}
    waits = [turn("a", "turn_left"), turn("b", "go_explore")] * 5
    written = {"start": start, "steps": waits[:7], "ended": "step_limit"}
    assert find_causes(written, {"sr": 0.0})["looped"] == 4, "the other one does"
    waits = [turn("a", "turn_left"), turn("b", "go_explore"), turn("a", "wait")] * 2
    written = {
        "start": start,
        "steps": [*waits, turn("a", "turn_left")],
        "ended": "step_limit",
    }
    assert "looped" not in find_causes(written, {"sr": 0.0})

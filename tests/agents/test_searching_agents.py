"""Searchers, oracle and scores on generated homes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wayword.agents.baselines.oracles import GoldOracle, ShortestPathOracle
from wayword.agents.search.costmap import Costmap
from wayword.agents.search.frontier import FrontierAgent, FrontierSettings, WanderAgent
from wayword.agents.search.lgx import LGXSettings
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode, NoSettings
from wayword.core.errors import UsageError
from wayword.core.perceiver import GroundedRegion
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import NOT_THERE, Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.apartments import Apartments
from wayword.datasets.robothor import Robothor
from wayword.metrics.objectnav import scorer
from wayword.perception.detectors import Quality, SimulatedDetector
from wayword.settings import make
from wayword.worlds import objectnav
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.objectnav.observation import View
from wayword.worlds.objectnav.world import (
    ObjectNavReference,
    ObjectNavWorld,
    SolvableSearches,
)

SMALL = Apartments(settings=Apartments.Settings(homes=2, episodes=8, rooms=3))


def play(
    agent: type[Any], settings: Any, task: Task, max_steps: int = 500
) -> tuple[Trajectory, Any]:
    made: list[Any] = []

    def build(toolkit: Toolkit, actor: str) -> Any:
        made.append(agent(settings, toolkit))
        return made[-1]

    trajectory = asyncio.run(rollout(task, Setup(SMALL, build, max_steps=max_steps)))
    assert trajectory.ended != "failed", trajectory.error
    return trajectory, made[-1]


def scores(task: Task, trajectory: Trajectory) -> dict[str, float]:
    return scorer.score(SMALL, [(task, trajectory)])[0]


@pytest.mark.parametrize("number", range(8))
def test_oracle_and_gold_find_every_object_by_the_shortest_way(number: int) -> None:
    task = SMALL.tasks[number]
    assert isinstance(task.reference, ObjectNavReference)
    for agent, settings in (
        (ShortestPathOracle, NoSettings()), (GoldOracle, NoSettings())
    ):  # fmt: skip
        trajectory, _ = play(agent, settings, task)
        found = scores(task, trajectory)
        assert found["success_challenge"] == found["success_visible"] == 1.0
        assert found["tl"] == pytest.approx(task.reference.shortest, abs=0.1)
        assert found["spl_challenge"] > 0.97


@pytest.mark.parametrize("number", [0, 1])
def test_frontier_exploration_comes_to_know_the_reachable_floor(number: int) -> None:
    task = SMALL.tasks[number]
    never = FrontierSettings(grounding_threshold=1.01)
    trajectory, agent = play(FrontierAgent, never, task, 1500)
    assert trajectory.ended == "stopped"
    assert coverage(agent.costmap, task) >= 0.95


def coverage(costmap: Costmap, task: Task) -> float:
    """Share of the floor that a body can get to which the map knows to be free."""
    ground = SMALL.place(task.episode.scene).ground
    start = task.episode.start["x"], task.episode.start["y"]
    rows, columns = np.nonzero(np.isfinite(ground.reach(start)))
    known = [
        costmap.free[
            costmap.cell(ground.x + i * ground.spacing, ground.y + j * ground.spacing)
        ]
        for j, i in zip(rows, columns, strict=True)
    ]
    return float(np.mean(known))


def test_a_perfect_eye_and_frontiers_find_most_objects() -> None:
    settings = FrontierSettings(grounding="perfect")
    found = [scores(t, play(FrontierAgent, settings, t)[0]) for t in SMALL.tasks[:4]]
    assert sum(one["success_visible"] for one in found) >= 3
    assert sum(one["success_challenge"] for one in found) >= 2


def test_what_is_found_is_gone_up_to() -> None:
    """Main stopped at what it saw, also where it stood two metres away."""
    settings = FrontierSettings(grounding="perfect")
    found = [scores(t, play(FrontierAgent, settings, t)[0]) for t in SMALL.tasks]
    seen = sum(one["success_visible"] for one in found)
    assert seen >= 7
    assert sum(one["success_challenge"] for one in found) >= seen - 1


class Bedroom(SolvableSearches):
    """A book in the middle of a bed, two rooms away: no place is within a metre of it."""

    family = objectnav.family

    def __init__(self) -> None:
        house = SceneBuilder("flat")
        for name, west, east in (("kitchen", 0, 4), ("hall", 4, 7), ("bedroom", 7, 11)):
            house.room(name, [(west, 0), (east, 0), (east, 3), (west, 3)])
        for x in (4, 7):
            house.door(f"door {x}", (x, 1), (x, 2))
        bed = house.furniture("bed", 9.9, 2.2, 2.0, 1.6, 0.5, receptacle="on")
        self.words = {house.item("book", parent=bed): "book"}
        self.house = house.build()
        start = {"x": 1.0, "y": 1.5, "heading": 0.0}
        episode = Episode(
            "1", "Find the book.", "flat", start, extra={"target": "book"}
        )
        self.tasks = [Task(episode, ObjectNavReference("1", frozenset(self.words)))]

    def world(self, episode: Episode) -> ObjectNavWorld:
        return ObjectNavWorld.of(self.house, self.words)


def test_an_object_that_furniture_keeps_off_is_confirmed_from_the_nearest_place() -> (
    None
):
    dataset = Bedroom()

    def build(toolkit: Toolkit, actor: str) -> FrontierAgent:
        return FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)

    setup = Setup(dataset, build, max_steps=300)
    trajectory = asyncio.run(rollout(dataset.tasks[0], setup))
    [found] = scorer.score(dataset, [(dataset.tasks[0], trajectory)])
    assert found["success_grounded"] == 1.0
    assert not trajectory.noted(NOT_THERE)
    assert len(trajectory.steps) <= 25


def test_a_low_threshold_stops_at_the_wrong_object_and_a_high_one_goes_on() -> None:
    task = SMALL.tasks[0]
    low, _ = play(WanderAgent, WanderAgent.Settings(grounding_threshold=0.05), task)
    high, _ = play(WanderAgent, WanderAgent.Settings(grounding_threshold=1.01), task)
    assert "grounded" in kinds(low)
    assert "grounded" not in kinds(high)
    assert "gave_up" in kinds(high)
    assert scores(task, high)["turns"] == 5.0
    goals = [
        step.decision for step in high.steps if "direction" in step.decision.thought
    ]  # type: ignore[union-attr]
    assert len(goals) == 5  # it chooses and goes after the fifth turn too
    assert scores(task, low)["turns"] == 0.0


def kinds(trajectory: Trajectory) -> set[str]:
    return {note.kind for step in trajectory.steps for note in step.notes}


def test_wandering_repeats_itself_for_a_seed() -> None:
    settings = WanderAgent.Settings(grounding_threshold=1.01)
    first, again = (play(WanderAgent, settings, SMALL.tasks[1])[0] for _ in range(2))
    assert first.actions("agent") == again.actions("agent")


def ended(
    stopped: bool, metres: float, distance: float, notes: list[Note]
) -> Trajectory:
    seen = [{"id": "mug", "kind": "mug", "distance": distance, "fraction": 1.0}]
    state = {
        "stopped": stopped,
        "metres": metres,
        "in_view": seen,
        "moves": 8,
        "turns": 3,
    }
    step = Step("agent", {}, None, Feedback(), {}, [], notes)  # type: ignore[arg-type]
    return Trajectory("1", {"agent": {}}, [step], state)


def test_scores_worked_out_by_hand() -> None:
    reference = ObjectNavReference("1", frozenset({"mug"}), (), 4.0)
    task = Task(SMALL.tasks[0].episode, reference)
    requests = [
        Note("asked", {"valid": True}),
        Note("asked", {"valid": False}),
        Note("turn", {}),
    ]
    near = scores(task, ended(True, 8.0, 0.9, requests))
    assert (near["success_visible"], near["spl_visible"]) == (1.0, 0.5)
    assert (near["success_challenge"], near["spl_challenge"]) == (1.0, 0.5)
    assert (near["psr"], near["tl"], near["turns"], near["motions"]) == (
        0.5,
        8.0,
        1.0,
        11.0,
    )
    far = scores(task, ended(True, 2.0, 1.2, []))
    assert (far["success_visible"], far["spl_visible"]) == (1.0, 1.0)
    assert (far["success_challenge"], far["spl_challenge"]) == (0.0, 0.0)
    assert "psr" not in far
    cut = scores(task, ended(False, 8.0, 0.9, []))
    assert (cut["success_visible"], cut["success_challenge"]) == (0.0, 0.0)


def test_giving_up_in_front_of_the_target_is_no_grounded_success() -> None:
    reference = ObjectNavReference(
        "1", frozenset({"mug"}), (), 4.0, middles=((3.0, 0.0),)
    )
    task = Task(replace(SMALL.tasks[0].episode, extra={"kind": "mug"}), reference)
    found = scores(task, ended(True, 8.0, 0.9, []))
    assert (found["success_grounded"], found["sr_mug"]) == (1.0, 1.0)
    gave_up = scores(task, ended(True, 8.0, 0.9, [Note("gave_up", {})]))
    assert (gave_up["success_visible"], gave_up["success_grounded"]) == (1.0, 0.0)


@pytest.mark.parametrize(("x", "released"), [(1.1, 1.0), (0.9, 0.0)])
def test_the_released_rule_asks_for_two_metres_and_no_look(
    x: float, released: float
) -> None:
    reference = ObjectNavReference(
        "1", frozenset({"mug"}), (), 4.0, middles=((3.0, 0.0),)
    )
    cut = ended(False, 8.0, 0.9, [])
    cut.state = {**cut.state, "in_view": [], "x": x, "y": 0.0}
    found = scores(Task(SMALL.tasks[0].episode, reference), cut)
    assert (found["success_released"], found["success_visible"]) == (released, 0.0)


def test_what_a_walk_could_have_scored() -> None:
    task = SMALL.tasks[0]
    trajectory, _ = play(FrontierAgent, FrontierSettings(grounding="perfect"), task)
    found = scores(task, trajectory)
    assert found["ever_seen"] == found["ever_grounded"] == 1.0
    assert 0.0 < found["chance"] < 1.0
    blind, _ = play(
        FrontierAgent, FrontierSettings(grounding_threshold=1.01), task, 1500
    )
    assert (scores(task, blind)["ever_seen"], scores(task, blind)["ever_grounded"]) == (
        1.0,
        0.0,
    )


@pytest.mark.parametrize(
    ("episode", "scene"),
    [
        ("FloorPlan_Train1_1_BasketBall_10", "FloorPlan_Train1_1"),
        ("home_0_3_7", "home_0_3"),
    ],
)
def test_episodes_of_a_scene_are_one_cluster(episode: str, scene: str) -> None:
    assert Robothor.clusters.of(episode) == scene
    assert SMALL.clusters.of(episode) == scene


def test_descriptions_fit_one_object_alone_and_lie_in_the_open() -> None:
    for task in SMALL.tasks:
        place = SMALL.place(task.episode.scene)
        words = list(place.words.values())
        assert words.count(task.episode.extra["target"]) == 1
        (target,) = task.reference.targets  # type: ignore[attr-defined]
        assert any(obj.id == target for obj in place.surfaces.objects)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"grounding": "yolo9"}, "no detector is called 'yolo9'"),
        ({"resolution": 0.0}, "resolution must be at least 1.0"),
        ({"turns": -1}, "turns must be at least 0"),
        ({"grounding_threshold": 85}, "grounding_threshold must be at most 1"),
        ({"grounding_threshold": -0.1}, "grounding_threshold must be at least 0"),
        ({"quality": {"recal": 1.0}}, "no setting 'recal'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        make(WanderAgent.Settings, settings, "wander")


@pytest.mark.parametrize(("threshold", "found"), [(0.6, True), (0.61, False)])
def test_a_score_at_the_threshold_counts_as_found(
    monkeypatch: pytest.MonkeyPatch, threshold: float, found: bool
) -> None:
    class Sure(SimulatedDetector):
        def ground(self, view: View, phrase: str) -> GroundedRegion:
            return GroundedRegion(0.6, 10.0, 2.0)

    settings = WanderAgent.Settings(grounding_threshold=threshold)
    monkeypatch.setattr(
        WanderAgent.Settings, "detectors", lambda self: (Sure(Quality(), 0),)
    )
    trajectory, _ = play(WanderAgent, settings, SMALL.tasks[0], 12)
    assert ("grounded" in kinds(trajectory)) == found


def test_the_threshold_is_the_papers() -> None:
    assert {
        LGXSettings().grounding_threshold,
        FrontierSettings().grounding_threshold,
    } == {0.85}


@pytest.mark.parametrize(("family", "least"), [("owlv2", 0.1), ("groundingdino", 0.25)])
def test_a_network_with_lower_scores_has_a_threshold_of_its_own(
    family: str, least: float
) -> None:
    """The paper's is for GLIP: hardly a box of OWLv2 reaches it."""
    name = f"{family}:weights"
    assert FrontierSettings(grounding=name).least_score == least
    chosen = FrontierSettings(grounding=name, grounding_threshold=0.3)
    assert chosen.least_score == 0.3

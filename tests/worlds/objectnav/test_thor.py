"""AI2-THOR's world on events in its documented format: the contracts, and the same sights."""

from __future__ import annotations

import asyncio
import io
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from helpers.thor_events import Controller
from wayword.agents.search.frontier import FrontierAgent, FrontierSettings
from wayword.core.action import STOP, Action
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.rollout import Setup, rollout
from wayword.datasets.apartments import Apartments, ApartmentsSettings
from wayword.datasets.robothor import Robothor, RobothorSettings
from wayword.metrics.scoring import scorer
from wayword.testing.contracts import check_world
from wayword.worlds import objectnav
from wayword.worlds.objectnav.base import Base, goto, rotate
from wayword.worlds.objectnav.simulated import SimulatedScene
from wayword.worlds.objectnav.thor import ThorBase, ThorCamera
from wayword.worlds.objectnav.world import ObjectNavReference, ObjectNavWorld
from worlds.objectnav.test_finding_world import flat


def thor(place: SimulatedScene | None = None) -> ObjectNavWorld:
    made = place or SimulatedScene(flat(), {})
    return ObjectNavWorld(ThorBase(ThorCamera(80.0), partial(Controller, made)))


def started(x: float, y: float, heading: float) -> ObjectNavWorld:
    world = thor()
    world.reset(
        Episode("1", "Find the mug.", "flat", {"x": x, "y": y, "heading": heading})
    )
    return world


def simulated(x: float, y: float, heading: float) -> ObjectNavWorld:
    world = ObjectNavWorld.of(flat())
    world.reset(
        Episode("1", "Find the mug.", "flat", {"x": x, "y": y, "heading": heading})
    )
    return world


class ThorThings(Apartments):
    """Generated homes, seen through AI2-THOR's events."""

    def world(self, episode: Episode) -> ObjectNavWorld:
        return thor(self.place(episode.scene))


def test_a_view_before_the_start_is_refused() -> None:
    with pytest.raises(UsageError, match="AI2-THOR has no episode"):
        ThorBase().capture()


def test_it_holds_to_the_contract_of_worlds() -> None:
    check_world(
        ThorThings(settings=ApartmentsSettings(homes=1, episodes=1, rooms=3)), 1, 8
    )


def test_the_camera_keeps_the_tilt_of_the_episode() -> None:
    """RoboTHOR's published episodes look 30 degrees down."""
    made: list[Controller] = []

    def controller(scene: str, **options: Any) -> Controller:
        made.append(Controller(SimulatedScene(flat(), {}), scene, **options))
        return made[0]

    world = ObjectNavWorld(ThorBase(ThorCamera(80.0), controller))
    start = {"x": 1.0, "y": 1.5, "heading": 0.0, "horizon": 30.0}
    world.reset(Episode("1", "Find the mug.", "flat", start))
    world.step("agent", rotate(90))
    assert made[0].horizon == 30.0
    assert made[0].actions.count("Teleport") == 1, "nothing moves the camera back"


def test_it_is_a_base_and_moves_as_the_simulated_one_does() -> None:
    one = started(1.0, 1.5, 0.0)
    two = simulated(1.0, 1.5, 0.0)
    assert isinstance(one.base, Base)
    for action in (
        rotate(90),
        goto(3.0, 1.5),
        rotate(-30),
        Action("move_ahead"),
        goto(5.1, 1.2),
    ):
        feedback = one.step("agent", action)
        expected = two.step("agent", action)
        assert feedback.status == expected.status == "ok"
        assert one.pose("agent") == pytest.approx(two.pose("agent"), abs=1e-4)
    for world in (one, two):
        world.step("agent", STOP)
    mine = one.state()
    other = two.state()
    assert mine["metres"] == pytest.approx(other["metres"], abs=1e-3)
    assert (mine["moves"], mine["turns"]) == (other["moves"], other["turns"])
    assert [(s["id"], s["distance"]) for s in mine["in_view"]] == [
        (s["id"], pytest.approx(s["distance"], abs=1e-3)) for s in other["in_view"]
    ]


def test_a_step_that_fails_ends_the_way_and_says_why() -> None:
    world = started(1.0, 1.5, 270.0)
    blocked = world.step("agent", goto(-1.0, 1.5))
    assert blocked.status == "blocked"
    assert blocked.details["reason"].startswith("structure is blocking Agent 0")
    assert blocked.details["metres"] == pytest.approx(0.75)
    assert world.pose("agent")["x"] == pytest.approx(0.25)
    assert world.state()["bumps"] == 1


@pytest.mark.parametrize("heading", [0.0, 90.0, 215.0])
def test_it_sees_what_the_simulated_base_sees(heading: float) -> None:
    mine, other = (
        make(2.0, 1.7, heading).observe("agent") for make in (started, simulated)
    )
    assert (mine.x, mine.y, mine.heading, mine.eye) == (
        other.x,
        other.y,
        heading,
        other.eye,
    )
    assert [s.id for s in mine.shown] == [s.id for s in other.shown]
    for a, b in zip(mine.shown, other.shown, strict=True):
        assert (a.kind, a.words) == (b.kind, b.words)
        assert (
            a.bearing,
            a.elevation,
            a.distance,
            a.away,
            a.width,
            a.height,
        ) == pytest.approx(
            (b.bearing, b.elevation, b.distance, b.away, b.width, b.height), abs=0.01
        )
    rows = [other.depth.elevations.index(row) for row in mine.depth.elevations]
    assert {0.0, -10.0, -20.0} <= set(mine.depth.elevations)
    assert (
        -52.0 not in mine.depth.elevations
    )  # below the picture: not seen, so not said to be free
    assert mine.depth.bearings == other.depth.bearings
    metres = mine.depth.metres()
    expected = other.depth.metres()[rows]
    both = np.isfinite(metres) & np.isfinite(expected)
    # A pixel is a degree wide here
    close = np.abs(metres[both] - expected[both]) < 0.15
    assert close.mean() > 0.95
    assert both.mean() > 0.5


def test_pictures_are_kept_as_jpeg() -> None:
    view = started(1.0, 1.5, 0.0).observe("agent")
    with Image.open(io.BytesIO(view.image)) as picture:
        assert (picture.format, picture.size) == ("JPEG", (128, 96))
        assert set(np.asarray(picture).flat) == {7}


def test_unity_is_shown_what_robothor_says() -> None:
    made: list[Controller] = []

    def start(**options: Any) -> Controller:
        made.append(Controller(SimulatedScene(flat(), {}), **options))
        return made[-1]

    world = ObjectNavWorld(ThorBase(start_unity=start))
    world.reset(Episode("1", "Find it.", "flat", {"x": 1.0, "y": 1.5, "heading": 30.0}))
    options = made[0].options
    assert options["agentMode"] == "locobot"
    assert options["fieldOfView"] == pytest.approx(
        63.453, abs=0.05
    )  # RoboTHOR's own, for 79 wide
    assert options["renderDepthImage"] is True
    world.step("agent", rotate(-30))
    world.step("agent", STOP)
    assert made[0].actions == ["Teleport", "RotateLeft", "Done"]
    assert made[0].stopped
    assert world.state()["stopped"]  # the last event is kept
    world.reset(Episode("2", "Find it.", "flat", {"x": 1.0, "y": 1.5}))
    assert len(made) == 2


def test_an_episode_of_frontier_exploration_is_judged_by_thors_own_sight() -> None:
    def build(toolkit: Toolkit, actor: str) -> Agent:
        return FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)

    start = {"x": 1.0, "y": 0.5, "heading": 90.0}
    episode = Episode("1", "Find the vase.", "flat", start, extra={"target": "vase"})
    task = Task(episode, ObjectNavReference("1", frozenset({"vase"}), (), 5.0))
    dataset: Any = SimpleNamespace(
        needs_stop=True,
        eyes=None,
        family=objectnav.family,
        world=lambda episode: thor(),
        perceiver=lambda: None,
        demonstrations=lambda n, seed: (),
    )
    trajectory = asyncio.run(rollout(task, Setup(dataset, build, {}, 0, 150)))
    assert (trajectory.ended, trajectory.error) == ("stopped", "")
    (scores,) = scorer("objectnav").score(dataset, [(task, trajectory)])
    assert (scores["success_visible"], scores["success_challenge"]) == (1.0, 1.0)


def test_a_start_in_a_wall_is_refused_by_name() -> None:
    with pytest.raises(
        DataError, match=r"episode 1: in scene flat, field 'start': Collided with"
    ):
        started(4.0, 0.5, 0.0)


def test_an_event_without_what_is_needed_is_named() -> None:
    world = started(1.0, 1.5, 0.0)
    base: Any = world.base
    del base._event.metadata["cameraPosition"]
    with pytest.raises(
        DataError, match=r"event.metadata, field 'cameraPosition.y': is missing"
    ):
        world.observe("agent")


def test_without_the_package_one_line_says_how_to_get_it() -> None:
    world = ObjectNavWorld(ThorBase())
    with pytest.raises(UsageError, match=r"pip install ai2thor==5.0.0") as text:
        world.reset(
            Episode("1", "Find it.", "FloorPlan_Train1_1", {"x": 1.0, "y": 2.0})
        )
    assert "\n" not in str(text.value)
    with pytest.raises(UsageError, match=r"pip install ai2thor==5.0.0"):
        # Before anything is played
        Robothor("train", None, RobothorSettings(simulator="thor"))

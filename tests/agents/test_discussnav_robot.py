"""DiscussNav as a body: it looks around in twelve turns, and goes half a metre or less."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.test_discussnav import Voice, by_step, council, go, notes
from helpers.rosbridge_server import Robot, serving, started
from wayword.agents.discussnav.agent import DiscussNav, DiscussNavSettings
from wayword.agents.discussnav.directions import OnBase, stride
from wayword.core.action import Action, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import Feedback
from wayword.datasets.robot import RobotSettings, RobotTasks
from wayword.perception.detectors import detector_called, pixels
from wayword.perception.panorama import encode
from wayword.worlds import objectnav
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import ObjectNavWorld
from worlds.objectnav.test_finding_world import flat

TURNS = 11
FREE = DiscussNavSettings(decoding="free", scene="recorded", tags="perfect")


def play(
    voices: dict[str, Voice], settings: Any = FREE, steps: int = 60, **start: Any
) -> Trajectory:
    """An episode in the flat: from (1, 1.5), facing north unless told otherwise."""
    begin = {"x": 1.0, "y": 1.5, "heading": 0.0, **start}
    episode = Episode("1", "Go ahead and turn right.", "flat", begin)
    dataset: Any = SimpleNamespace(
        needs_stop=True,
        eyes=None,
        family=objectnav.family,
        world=lambda episode: ObjectNavWorld.of(flat()),
        perceiver=lambda: None,
        demonstrations=lambda count, seed: (),
    )
    setup = Setup(
        dataset, lambda toolkit, actor: made(settings, toolkit), voices, 0, steps
    )
    return asyncio.run(rollout(Task(episode, Reference("1")), setup))


def made(settings: Any, toolkit: Toolkit) -> Agent:
    return DiscussNav(settings, toolkit)


def gone(trajectory: Trajectory) -> list[Action]:
    return [a for a in trajectory.actions("agent") if a.name == "goto"]


def test_it_turns_all_the_way_round_before_each_move_of_half_a_metre() -> None:
    trajectory = play(council(by_step([go(4)], [go(1)], [go("Stop")])))
    assert (trajectory.ended, trajectory.error) == ("stopped", "")
    names = [action.name for action in trajectory.actions("agent")]
    assert names == ([*["rotate"] * TURNS, "goto"] * 2 + ["rotate"] * TURNS + ["stop"])
    # Direction 4 lies to the right of north: east. Then it faces east, and 1 is ahead.
    assert gone(trajectory) == [
        Action("goto", ("1.500", "1.500")),
        Action("goto", ("2.000", "1.500")),
    ]
    assert len(notes(trajectory, "scene_expert")) == 1


def test_where_something_is_near_it_goes_half_of_what_is_free() -> None:
    # The wall is 0.8 m to the west (its radius is the base's own business), the table 0.7 m ahead.
    trajectory = play(council(by_step([go(10)], [go("Stop")])), x=0.8)
    (move,) = gone(trajectory)
    assert float(move.arguments[0]) == pytest.approx(0.8 - 0.4, abs=0.02)
    assert [stride(free) for free in (0.39, 0.4, 0.99, 1.0, 5.0)] == [
        0.0,
        0.2,
        0.495,
        0.5,
        0.5,
    ]


def test_a_direction_without_room_has_no_way() -> None:
    voices = council(by_step([go(10)], [go(4)], [go("Stop")]))
    trajectory = play(voices, x=0.35)
    assert isinstance(trajectory.steps[TURNS].decision, Rejection)
    text = voices["main"].prompts[0]
    offered = (
        text.rpartition("Directions that can be moved in: ")[2]
        .split("\n")[0]
        .split(", ")
    )
    assert "10" not in offered
    assert "4" in offered
    assert "Your last answer was no legal move" in voices["main"].prompts[1]
    assert (
        trajectory.steps[TURNS + 1].decision.action.name == "goto"
    )  # no second look around


def test_each_direction_has_the_tags_of_its_own_thirty_degrees() -> None:
    voices = council(by_step([go(1)]))
    play(voices, steps=TURNS + 1, x=2.0, y=1.7)
    scene = voices["main"].prompts[0]
    assert (
        "Direction 11 (60° to the left): There is a table and a mug. [table | mug]"
        in scene
    )
    # The vase stands behind the doorway, 107 degrees to the right of north.
    assert "Direction 5 (120° to the right): There is a vase. [vase]" in scene
    assert scene.count("[table") == 1


def test_the_walk_is_summarised_and_completion_estimated_as_on_a_graph() -> None:
    voices = council(by_step([go(5)], [go(1)], [go("Stop")]))
    play(voices, x=2.0, y=1.7)
    assert "There is a vase." in voices["summary"].prompts[0]
    assert "[Step 1] You " in voices["completion"].prompts[0]
    assert len(voices["completion"].prompts) == 2


def test_the_ablation_of_perception_keeps_the_routes() -> None:
    voices = council(by_step([go(4)], [go("Stop")]))
    trajectory = play(voices, replace(FREE, perception=False))
    assert len(gone(trajectory)) == 1
    assert "vase" not in voices["main"].prompts[0]


def test_a_move_that_went_wrong_is_reported() -> None:
    base = OnBase(detector_called("perfect"))
    world = ObjectNavWorld.of(flat())
    world.reset(Episode("1", "Go.", "flat", {"x": 1.0, "y": 1.5, "heading": 0.0}))
    while (turn := base.take_in(world.observe("agent"))) is not None:
        world.step("agent", turn)
    routes = {d.id: d.action for d in base.directions() or () if d.action}
    refused = Feedback("refused", {"reason": "no plan", "metres": 0.0})
    step = base.step_taken(Decision(routes[4]), refused)
    assert step is not None
    assert (step.is_refused, step.event) == (
        True,
        "Your last move was refused after 0.00 m (no plan).\n",
    )
    left = {d.id for d in base.directions() or () if d.action}
    assert left == set(routes) - {4}  # what was refused is not offered again from here
    assert base.directions() is None
    lost = Feedback("lost", {"reason": "the connection broke", "metres": 0.2})
    step = base.step_taken(Decision(routes[1]), lost)
    assert step is not None
    assert (step.is_refused, step.facing, step.heading) == (False, 0.0, 0.0)
    assert base.take_in(world.observe("agent")) == Action(
        "rotate", ("30",)
    )  # it looks anew


def test_a_vision_model_is_shown_the_middle_of_each_picture() -> None:
    world = ObjectNavWorld.of(flat())
    world.reset(Episode("1", "Go.", "flat", {"x": 1.0, "y": 1.5, "heading": 0.0}))
    around = OnBase(detector_called("perfect"))
    while True:
        view = world.observe("agent")
        shade = np.full((60, 80, 3), round(view.heading / 2), np.uint8)
        turn = around.take_in(replace(view, image=encode(shade).data))
        if turn is None:
            break
        world.step("agent", turn)
    directions = around.directions()
    assert directions
    for direction in directions:
        image = around.picture(direction)
        assert image is not None
        shown = pixels(image.data)
        share = math.tan(math.radians(15)) / math.tan(math.radians(40))
        assert shown.shape[:2] == (60, round(80 * share))
        assert shown.mean() == pytest.approx(direction.heading / 2, abs=3)


def test_with_a_robot_the_scene_expert_sees_and_a_dropped_connection_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = Robot(
        started(SimulatedBase(SimulatedScene(flat(), {})), 1.0, 1.5, 0.0),
        {TURNS + 1: "drop"},
    )
    picture = encode(np.full((60, 80, 3), 90, np.uint8))
    monkeypatch.setattr(Robot, "_image", lambda self: image_message(picture.data))
    voices = council(by_step([go(4)], [go(1)], [go("Stop")]))
    settings = replace(FREE, scene="asked", tags="")
    quick = {"settle": 0.0, "throttle": 0}
    with serving(body) as url:
        walk = RobotSettings(url=url, instruction="Go ahead and turn right.", **quick)
        dataset = RobotTasks(settings=walk)
        setup = Setup(
            dataset, lambda toolkit, actor: made(settings, toolkit), voices, 0, 60
        )
        trajectory = asyncio.run(rollout(dataset.tasks[0], setup))
    assert (trajectory.ended, trajectory.error) == ("stopped", "")
    assert notes(trajectory, "scene_expert")[0]["source"] == "a vision model"
    assert len(voices["scene"].prompts) == 3 * 12
    assert all(len(prompt[-1].images) == 1 for prompt in voices["scene"].asked)  # type: ignore[union-attr]
    assert [s.feedback.status for s in trajectory.steps if not s.feedback.ok] == [
        "lost"
    ]
    assert (
        "Your last move was lost after 0.25 m (the connection broke"
        in voices["main"].prompts[1]
    )
    x, y = (body.base.pose()[axis] for axis in "xy")
    assert (x, y) == pytest.approx(
        (1.75, 1.5), abs=0.01
    )  # half of one move, then a whole one


def image_message(data: bytes) -> dict[str, Any]:
    import base64

    return {"format": "jpeg", "data": base64.b64encode(data).decode()}


def test_views_and_viewpoints_are_not_mixed_up() -> None:
    from helpers.small_house import SmallHouse

    house = SmallHouse()
    world = house.world(house.tasks[0].episode)
    world.reset(house.tasks[0].episode)
    with pytest.raises(
        UsageError, match="needs descriptions of viewpoints; set a perceiver"
    ):
        OnBase(detector_called("perfect")).take_in(world.observe("agent"))

"""The finding world on a flat worked out by hand: depth, sight, motions, the state judges read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from wayword.core.action import STOP, Action
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.scene import Scene
from wayword.worlds.objectnav.base import Base, MotionResult, goto, is_motion, rotate
from wayword.worlds.objectnav.observation import Camera, DepthImage, View
from wayword.worlds.objectnav.world import ObjectNavWorld


def flat(**cupboard: Any) -> Scene:
    """Two rooms with a gap at y 1 to 2 in the wall x = 4; a mug on a table in the first, a vase on
    the floor of the second, behind the wall for who stands at (1, 0.5)."""
    house = SceneBuilder("flat")
    house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    house.room("hall", [(4, 0), (7, 0), (7, 3), (4, 3)])
    house.opening((4, 1), (4, 2))
    table = house.furniture(
        "table", 1, 2.5, 1.0, 0.6, 0.8, receptacle="on", name="table"
    )
    house.item("mug", parent=table, name="mug")
    house.item("vase", x=6.0, y=0.5, name="vase")
    if cupboard:
        house.furniture(
            "cupboard", 1, 1.6, 0.8, 0.2, cupboard["height"], name="cupboard"
        )
    return house.build()


def started(x: float, y: float, heading: float, **cupboard: Any) -> ObjectNavWorld:
    world = ObjectNavWorld.of(flat(**cupboard), {"mug": "cat-shaped mug"})
    start = {"x": x, "y": y, "heading": heading}
    world.reset(Episode("1", "Find the cat-shaped mug.", "flat", start))
    return world


def seen(world: ObjectNavWorld) -> dict[str, float]:
    return {item.id: item.bearing for item in world.observe("agent").shown}


def test_depth_is_the_distance_to_the_walls() -> None:
    view = started(1.0, 1.0, 270.0).observe("agent")
    metres = view.depth.metres()
    level = view.depth.elevations.index(0)
    for bearing, found in zip(view.depth.bearings, metres[level].tolist(), strict=True):
        assert found == pytest.approx(1.0 / math.cos(math.radians(bearing)), abs=0.02)
    down = view.depth.elevations.index(-52)
    middle = len(view.depth.bearings) // 2
    assert metres[down, middle] == pytest.approx(
        0.9 / math.sin(math.radians(52)), abs=0.02
    )


def test_depth_ends_at_its_reach_and_sees_the_near_edge_of_a_table() -> None:
    assert np.isinf(started(0.3, 1.5, 90.0).observe("agent").depth.metres()[0]).any()
    ahead, right, up = started(1.0, 0.5, 0.0).observe("agent").depth.points(0.9)
    on_table = (up > 0.1) & (up < 0.81) & (abs(right) < 0.4)
    assert ahead[on_table].min() == pytest.approx(1.7, abs=0.03)


def test_walls_hide_and_doorways_do_not() -> None:
    assert seen(started(1.0, 0.5, 0.0)) == {"table": 0.0, "mug": 0.0}
    assert "vase" not in seen(started(1.0, 0.5, 90.0))
    assert "vase" in seen(started(3.0, 1.75, 113.0))


def test_a_tall_cupboard_hides_the_mug_and_a_low_one_does_not() -> None:
    assert "mug" in seen(started(1.0, 0.5, 0.0, height=0.5))
    assert "mug" not in seen(started(1.0, 0.5, 0.0, height=1.8))


def test_what_is_in_something_closed_is_not_seen() -> None:
    for open_, there in ((False, set()), (True, {"egg"})):
        house = SceneBuilder("kitchen")
        house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
        fridge = house.furniture(
            "fridge", 2, 2.6, 0.8, 0.8, 1.8, "openable", receptacle="in", open=open_
        )
        house.item("egg", parent=fridge, name="egg")
        world = ObjectNavWorld.of(house.build())
        world.reset(Episode("1", "Find the egg.", "kitchen", {"x": 2.0, "y": 1.0}))
        assert seen(world).keys() & {"egg"} == there


def test_motions_turn_go_and_stop_before_walls() -> None:
    world = started(1.0, 1.5, 0.0)
    assert world.step("agent", rotate(90)).ok
    assert world.step("agent", goto(5.0, 1.5)).ok
    assert world.pose("agent") == {"x": 5.0, "y": 1.5, "heading": 90.0}
    blocked = world.step("agent", goto(5.0, 5.0))
    assert blocked.status == "blocked"
    assert world.pose("agent")["y"] == pytest.approx(
        2.8, abs=0.051
    )  # a radius from the wall
    assert world.step("agent", Action("move_ahead")).status == "blocked"
    state = world.state()
    assert state["metres"] == pytest.approx(5.3, abs=0.06)
    assert (state["bumps"], state["turns"]) == (2, 6)


def test_the_state_names_what_is_in_view_at_the_end() -> None:
    world = started(1.0, 1.5, 0.0)
    assert not world.state()["stopped"]
    world.step("agent", STOP)
    state = world.state()
    assert state["stopped"]
    assert {one["id"]: one["distance"] for one in state["in_view"]} == {
        "table": 0.7,
        "mug": 0.95,
    }


@pytest.mark.parametrize(
    "action",
    [
        Action("rotate", ("nan",)), Action("rotate"), Action("goto", ("1",)),
        Action("goto", ("1", "inf")), Action("goto", ("1e9", "0")), Action("stop", ("x",)),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_motion_is_off_the_menu(action: Action) -> None:
    assert not is_motion(action)
    with pytest.raises(ValueError, match="not on the menu"):
        started(1.0, 1.5, 0.0).step("agent", action)


def test_a_start_in_a_wall_is_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"episode 1: in scene flat, field 'start'"):
        started(4.0, 0.5, 0.0)


class Cart:
    """A base that is no simulation: it believes what it is told, and refuses to go far."""

    def __init__(self) -> None:
        self.pose = {"x": 0.0, "y": 0.0, "heading": 0.0}

    def start(self, episode: Episode) -> None:
        self.pose = dict(episode.start)

    def capture(self) -> View:
        depth = DepthImage.of(np.full((1, 1), np.inf), (0.0,), (0.0,), 5.0)
        return View("lab", **self.pose, eye=0.9, field_of_view=80.0, depth=depth)

    def rotate(self, degrees: float) -> MotionResult:
        self.pose["heading"] = (self.pose["heading"] + degrees) % 360
        return MotionResult()

    def go_to(self, x: float, y: float) -> MotionResult:
        if math.hypot(x, y) > 10:
            return MotionResult("refused", 0.0, "too far")
        self.pose.update(x=x, y=y)
        return MotionResult("ok", 1.0)

    def pose(self) -> dict[str, float]:
        return dict(self.pose)

    def report(self) -> dict[str, Any]:
        return {"metres": 0.0, "in_view": []}

    def stop(self) -> None:
        self.pose["heading"] = 0.0


def test_any_base_makes_a_world() -> None:
    cart = Cart()
    assert isinstance(cart, Base)
    world = ObjectNavWorld(cart)
    world.reset(Episode("1", "Find it.", "lab", {"x": 1.0, "y": 2.0, "heading": 90.0}))
    assert world.step("agent", goto(3, 3)).ok
    assert world.step("agent", goto(30, 3)).status == "refused"
    assert world.observe("agent").x == 3.0
    with pytest.raises(UsageError, match="oracles need a simulation"):
        world.find(frozenset({"mug"}), 1.0)


def test_rays_of_a_camera_point_where_their_columns_say() -> None:
    camera = Camera(field_of_view=4, column=2, rows=(0, -30))
    across = camera.across(90.0)
    assert camera.bearings == (-1.0, 1.0)
    assert np.allclose(np.linalg.norm(across, axis=1), 1.0)
    assert across[0] == pytest.approx(
        [math.cos(math.radians(1)), math.sin(math.radians(1))]
    )
    assert camera.slopes[:, 0] == pytest.approx([0.0, -(3**-0.5)])

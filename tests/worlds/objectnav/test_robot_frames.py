"""Poses in the map frame, from a localizer's topic or from transforms, and the robot's own map."""

from __future__ import annotations

import itertools
import math
import random
import zlib
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from helpers.rosbridge_server import MAP_SHIFT, odometry, serving, transform
from wayword.agents.search.costmap import Costmap
from wayword.core.errors import DataError
from wayword.core.geometry import absolute
from wayword.runs.robots import inspect
from wayword.worlds.objectnav import observation, robot_messages
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.observation import FloorMap
from wayword.worlds.objectnav.robot import RosSettings
from wayword.worlds.objectnav.rosbridge import RobotError
from worlds.objectnav.test_rosbase import driven, ended, robot_at

MOUNT = {"transforms": [transform("base_footprint", "base_link", 0.1, 0.0, 0.0)]}
TF = {"pose_from": "tf", "map_frame": "map", "body_frame": "base_link"}


def on_map(x: float, y: float, heading: float) -> tuple[float, float, float]:
    """A place of odometry on the map, by hand: a shift, and a turn to the left."""
    shift_x, shift_y, left = MAP_SHIFT
    turn = math.radians(left)
    return (
        shift_x + x * math.cos(turn) - y * math.sin(turn),
        shift_y + x * math.sin(turn) + y * math.cos(turn),
        absolute(heading - left),
    )


def test_transforms_give_the_place_on_the_map_and_goals_are_sent_in_its_frame() -> None:
    robot = robot_at(1.0, 1.5, 90.0)
    robot.latched["/tf_static"] = MOUNT
    with serving(robot) as url:
        world = driven(url, **TF)
        # The body's frame is 0.1 m ahead, to the east, of what odometry measures.
        assert tuple(world.pose("agent").values()) == pytest.approx(
            on_map(1.1, 1.5, 90.0)
        )
        assert world.step("agent", rotate(30.0)).ok
        assert world.pose("agent")["heading"] == pytest.approx(absolute(120.0 - 90.0))
        view = world.observe("agent")
        assert view.heading == pytest.approx(30.0)
        world.step("agent", goto(view.x + 0.5, view.y))
        ended(world)
    assert (
        robot.subscribed["/tf"]
        == robot.subscribed["/tf_static"]
        == "tf2_msgs/msg/TFMessage"
    )
    assert "/odom" not in robot.subscribed
    (goal,) = [reply["args"]["pose"] for reply in robot.log if reply["op"] == "send_action_goal"
               and reply["action"] == "/navigate_to_pose"]  # fmt: skip
    assert goal["header"]["frame_id"] == "map"
    assert goal["pose"]["position"]["x"] == pytest.approx(view.x + 0.5)


def test_a_missing_transform_is_named() -> None:
    with serving(robot_at()) as url, pytest.raises(RobotError) as error:
        driven(url, **TF, answer=0.5)
    assert "sent nothing on /tf from base_link to map for 0.5 s" in str(error.value)


def test_a_chain_of_transforms_agrees_with_matrices() -> None:
    """Shifts and turns in space, in any order of frames, against products of 4 x 4 matrices."""
    rng = random.Random(3)
    for _ in range(50):
        frames = list("abcde")
        links = []
        product = np.eye(4)
        for parent, child in itertools.pairwise(frames):
            shift = [rng.uniform(-3, 3) for _ in range(3)]
            turn = Rotation.from_euler(
                "xyz", [rng.uniform(-0.3, 0.3) for _ in range(2)] + [rng.uniform(-3, 3)]
            )
            matrix = np.eye(4)
            matrix[:3, :3], matrix[:3, 3] = turn.as_matrix(), shift
            product = product @ matrix
            body = {
                "translation": dict(zip("xyz", shift, strict=True)),
                "rotation": dict(zip("xyzw", turn.as_quat().tolist(), strict=True)),
            }
            links.append(
                {
                    "header": {"frame_id": parent},
                    "child_frame_id": child,
                    "transform": body,
                }
            )
        rng.shuffle(links)
        transforms = robot_messages.Transforms()
        for link in links:
            transforms.add({"transforms": [link]}, "/tf")
        place = transforms.place("a", "e", 0.0)
        assert place is not None
        assert place[:2] == pytest.approx(product[:2, 3])
        yaw = math.degrees(math.atan2(product[1, 0], product[0, 0]))
        assert place[2] == pytest.approx(absolute(90.0 - yaw), abs=1e-5)
        assert transforms.place("e", "a", 0.0) is None
        assert transforms.place("a", "e", math.inf) is None, "too old"


@pytest.mark.parametrize("link", [{}, {"child_frame_id": "a"}, {"transform": 1}, None])
def test_malformed_transforms_are_named(link: Any) -> None:
    with pytest.raises(DataError, match=r"/tf: field 'transforms'"):
        robot_messages.Transforms().add({"transforms": [link]}, "/tf")


def test_frames_in_a_circle_have_no_place() -> None:
    transforms = robot_messages.Transforms()
    transforms.add(
        {"transforms": [transform("a", "b", 1, 0, 0), transform("b", "a", 1, 0, 0)]},
        "/tf",
    )
    assert transforms.place("map", "a", 0.0) is None


def test_a_localizers_pose_is_read_though_it_is_sent_only_once() -> None:
    robot = robot_at()
    pose = odometry(7.0, 8.0, 45.0)
    robot.latched["/amcl_pose"] = {**pose, "header": {"frame_id": "map"}}
    with serving(robot) as url:
        world = driven(
            url, odometry="/amcl_pose", pose_from="pose_with_covariance", answer=1.0
        )
        assert tuple(world.pose("agent").values()) == pytest.approx((7.0, 8.0, 45.0))
        assert world.observe("agent").x == 7.0
        world.step("agent", goto(7.5, 8.0))
        ended(world)
    kind = "geometry_msgs/msg/PoseWithCovarianceStamped"
    assert robot.subscribed["/amcl_pose"] == kind
    goal = next(reply for reply in robot.log if reply["op"] == "send_action_goal")
    assert goal["args"]["pose"]["header"]["frame_id"] == "map"


def test_what_the_bridge_complains_of_is_reported_with_a_silent_topic() -> None:
    robot = robot_at()
    text = "Tried to subscribe to /amcl_pose as nav_msgs/msg/Odometry, which it is not"
    robot.complaints["/amcl_pose"] = text
    with serving(robot) as url, pytest.raises(RobotError) as error:
        driven(url, odometry="/amcl_pose", answer=0.4)
    assert f"sent nothing on /amcl_pose (rosbridge: {text})" in str(error.value)


def grid(
    levels: list[list[int]], x: float = 0.0, y: float = 0.0, frame: str = "odom"
) -> Any:
    """``nav_msgs/OccupancyGrid`` of cells of 0.5 m, the southernmost row first."""
    origin = {
        "position": {"x": x, "y": y},
        "orientation": {"x": 0, "y": 0, "z": 0.0, "w": 1.0},
    }
    info = {
        "resolution": 0.5,
        "width": len(levels[0]),
        "height": len(levels),
        "origin": origin,
    }
    data = [level for row in levels for level in row]
    return {"header": {"frame_id": frame}, "info": info, "data": data}


FLOOR = [[0, 0, 0, 100], [0, 50, 99, -1]]


def test_a_grid_of_the_robot_is_read_by_place() -> None:
    floor = robot_messages.floor_map(grid(FLOOR, -1.0, 2.0), "/costmap")
    xs = np.array([-0.75, 0.75, -0.26, 0.25, 0.99, 9.0])
    ys = np.array([2.2, 2.2, 2.8, 2.8, 2.6, 2.2])
    assert floor.at(xs, ys).tolist() == [0, 100, 50, 99, 255, 255]


@pytest.mark.parametrize(
    "levels", [b"", b"levels", zlib.compress(bytes(4))[:-1], zlib.compress(bytes(3))]
)
def test_damaged_levels_of_a_grid_are_an_error(levels: bytes) -> None:
    with pytest.raises(ValueError, match=r"map of the floor|reshape"):
        FloorMap(0.0, 0.0, 0.05, 2, levels).at(np.zeros(1), np.zeros(1))


def test_a_grid_does_not_unzip_to_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation, "MOST_FLOOR_CELLS", 1_000)
    floor = FloorMap(0.0, 0.0, 0.05, 1, zlib.compress(bytes(1_001)))
    with pytest.raises(ValueError, match="too large"):
        floor.at(np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(
    "change", [{"data": [0] * 7}, {"info": {}}, {"data": "AAAA"}, {"data": [None] * 8}]
)
def test_a_malformed_grid_is_named(change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"/costmap: field 'data'"):
        robot_messages.floor_map({**grid(FLOOR), **change}, "/costmap")


def test_searchers_plan_on_the_robots_own_map() -> None:
    """The camera sees the floor ahead free; the map says that a wall stands there, and what lies
    behind the robot."""
    levels = np.full((60, 60), -1)
    levels[20:40, 10:40] = 0
    levels[20:40, 34] = 100  # a wall at x = 2.0 to 2.5
    robot = robot_at(1.0, 1.5, 90.0)
    robot.latched["/map_of_costs"] = grid(levels.tolist(), -15.0, -13.0)
    with serving(robot) as url:
        world = driven(url, costmap="/map_of_costs")
        view = world.observe("agent")
        ended(world)
    assert isinstance(view.floor, FloorMap)
    with_map = Costmap(view.x, view.y)
    without = Costmap(view.x, view.y)
    with_map.add(view)
    assert not without.free.any()
    assert with_map.free[with_map.cell(-5.0, 1.0)], "free on the map, never seen"
    assert with_map.occupied[with_map.cell(2.25, 1.5)]
    assert not with_map.explored[with_map.cell(8.0, 1.5)], "unknown on the map"
    cells = {tuple(cell) for cell in with_map.reachable(view.x, view.y)[0].tolist()}
    assert with_map.cell(-5.0, 1.0) in cells
    assert with_map.cell(3.5, 1.5) not in cells, "behind the wall"


def test_a_map_in_another_frame_than_the_poses_is_refused() -> None:
    robot = robot_at()
    robot.latched["/costmap"] = grid(FLOOR, frame="map")
    with serving(robot) as url:
        world = driven(url, costmap="/costmap")
        with pytest.raises(
            DataError, match=r"is 'map', but poses are in 'odom'.*pose_from=tf"
        ):
            world.observe("agent")
        wrong_map = inspect(RosSettings(url=url, costmap="/costmap"))
        robot.latched["/costmap"] = grid(FLOOR)
        right_map = inspect(RosSettings(url=url, costmap="/costmap"))
    assert "poses are in 'odom'" in wrong_map.text
    assert "costmap" in wrong_map.wrong
    assert "/costmap (dataset.costmap): 4 x 2 cells of 0.5 m" in right_map.text
    assert "costmap" not in right_map.wrong

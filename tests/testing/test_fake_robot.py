"""The simulated robot of ``wayword robot --fake``, through the real protocol and detector."""

from __future__ import annotations

import json
import math
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

import wayword
from helpers.rosbridge_server import until
from wayword.cli.app import app
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.perceiver import Box
from wayword.core.trajectory import Trajectory
from wayword.core.visible import spaced
from wayword.metrics.detector_reports import last_report
from wayword.perception.detectors import detector_called
from wayword.perception.networks import indoor_words
from wayword.perception.networks.colors import LEAST_PIXELS, Painted, color_of
from wayword.runs import robots
from wayword.runs.results import RunResult
from wayword.settings import parse
from wayword.testing.fake_robot import FakeRobot, serving
from wayword.viewer.content import Content
from wayword.viewer.data import Sources
from wayword.viewer.library import Library
from wayword.viewer.maps import objectnav
from wayword.viewer.plots.display import plot
from wayword.worlds.objectnav.robot import RosBase, RosSettings
from wayword.worlds.objectnav.rosbridge import RobotError


def options(command: str) -> dict[str, str]:
    """The settings of a command line."""
    words = shlex.split(command)
    pairs = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    return dict(pair.split("=", 1) for pair in pairs)


@dataclass(frozen=True)
class Search:
    """A search by the printed command."""

    robot: robots.SimulatedRobot
    probe: str
    result: RunResult
    folder: Path

    @property
    def target(self) -> str:
        return options(self.robot.command)["dataset.target"]

    @property
    def trajectory(self) -> Trajectory:
        (episode,) = self.result.episodes
        return episode.trajectory


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Search:
    folder = tmp_path_factory.mktemp("search") / "run"
    with robots.simulated() as robot:
        given = options(robot.command)
        probe = robots.inspect(RosSettings(url=given["dataset.url"])).text
        result = wayword.run(
            "frontier",
            "robot",
            out=folder,
            concurrency=1,
            settings=parse([f"{key}={value}" for key, value in given.items()]),
        )
    return Search(robot, probe, result, folder)


def test_the_printed_command_finds_its_target_in_the_cameras_pictures(
    search: Search,
) -> None:
    assert "480 x 360 pixels" in search.probe
    trajectory = search.trajectory
    assert trajectory.ended == "stopped"
    (grounded,) = [n for n in trajectory.notes() if n.kind == "grounded"][-1:]
    assert grounded.details["score"] == 1.0
    assert search.target in search.robot.names
    outcome = f"{search.target}: stopped after {len(trajectory.steps)} steps"
    found = f"{outcome}; the detector found the target (score 1.00) at step "
    (notice,) = [line for line in search.result.notices if line.startswith(found)]
    (episode,) = search.result.episodes
    left = episode.scores["found_from"]
    assert 0 < left < 1.5, "the agent has walked up to it"
    assert f", and the search ended {left:.1f} m from it" in notice


def test_the_page_of_a_search_shows_the_pictures_and_where_the_target_was_reported(
    search: Search,
) -> None:
    """A robot's search has no score: the page's head says what the terminal says."""
    content = Content(Library([search.folder.parent]))
    text = content.episode(search.folder.name, search.target)
    report = last_report(search.trajectory)
    assert report is not None
    assert report.distance is not None
    assert f"The detector found the target (score 1.00) at step {report.step}" in text
    assert text.count('<img src="data:image/png;base64,') == len(
        search.trajectory.steps
    )
    # Which objects are in a real camera's view is not known.
    assert "Saw no object" not in text
    # Obstacles are opaque: over an edge they would have a color that the legend lacks.
    style = re.search(r"\n\.occupied \{([^}]*)\}", text)
    assert style is not None
    assert "opacity" not in style[1]
    # A line in the picture of the report, and the point on the map.
    assert text.count("the detector reports the target") == 1
    assert re.search(r'<line x1="[\d.]+" y1="0" x2="[\d.]+" y2="1">', text)
    assert "target, as the detector reported it" in text
    assert f'data-key="g" data-go="{report.step}"' in text


def test_the_page_of_a_run_begins_with_what_was_found_and_driven(
    search: Search,
) -> None:
    text = Content(Library([search.folder.parent])).run(search.folder.name)
    heads = re.findall(r'<div class="metric"[^>]*><h2>([^<]+)', text)
    assert heads[:2] == ["Found", "Metres"]


def rehearsed(
    folder: Path, fault: str, target: str = "", **further: Any
) -> tuple[RunResult, str]:
    """A search with a fault at its second goal, and its page."""
    with robots.simulated(faults=[f"2:{fault}"]) as robot:
        given = options(robot.command)
        if target:
            given["dataset.target"] = target
        settings = parse([f"{key}={value}" for key, value in given.items()])
        settings["dataset"]["emergency_stop"] = "emergency_stop"
        result = wayword.run(
            "frontier", "robot", out=folder, settings=settings, **further
        )
    target = given["dataset.target"]
    content = Content(Library([folder.parent]))
    return result, content.episode(folder.name, target)


def test_a_search_that_was_cut_off_says_what_its_detector_found(tmp_path: Path) -> None:
    result, page = rehearsed(tmp_path / "run", "cancel", max_steps=2)
    (notice,) = [each for each in result.notices if "step limit" in each]
    outcome = "the search ended before the agent had reached it"
    assert notice.endswith(f", but {outcome}; motions that failed: 1 cancelled")
    assert re.search(
        rf"<h1.*>The detector reported the target .*, but {outcome}\.<", page
    )


def test_an_emergency_stop_is_no_mistake_of_the_agent(tmp_path: Path) -> None:
    _, page = rehearsed(tmp_path / "run", "stop")
    assert "the emergency stop is pressed" in page
    assert "mistake</button>" not in page
    with pytest.raises(UsageError, match="run: has no finished episodes to plot"):
        plot([tmp_path / "run"], "length")
    assert "data-mistake" not in page


def test_a_robot_whose_topics_lag_by_a_drive_can_be_rehearsed(tmp_path: Path) -> None:
    result, _ = rehearsed(tmp_path / "run", "lag", "unicorn")
    (line,) = [each for each in result.notices if "failed" in each]
    assert re.search(r"its pose has not changed in .*place; does it move", line)


def test_the_point_on_the_map_is_in_the_target(search: Search) -> None:
    drawn = objectnav.map(search.trajectory, Sources())
    assert drawn is not None
    ((point,),) = [each.points for each in drawn.shapes if each.label == "target"]
    near = []
    for item in robots.home_base(0).place.scene.objects:
        reach = math.hypot(item.width, item.depth) / 2
        if spaced(item.type) == search.target:
            near.append(math.dist(point, (item.x, item.y)) <= reach)
    assert any(near)


def test_a_probe_reports_every_topic_and_names_the_settings_to_correct(
    served: str,
) -> None:
    chosen = RosSettings(
        url=served, answer=0.5, image="rgb/compressed", depth="scann", battery="battery"
    )
    probe = robots.inspect(chosen)
    lines = {line.split()[0]: line for line in probe.text.splitlines()}
    assert "/odom (dataset.odometry): x " in lines["pose"]
    assert "/battery (dataset.battery): 87% charged" in lines["battery"]
    assert lines["stop"] == "stop     not watched; dataset.emergency_stop is empty"
    kind = "sensor_msgs/msg/LaserScan"
    hint = f"silent for 0.5 s; is it in `ros2 topic list -t`, as {kind}?"
    assert lines["depth"].endswith(f"/scann (dataset.depth): {hint}")
    assert "/rgb/compressed (dataset.image): silent" in lines["picture"]
    assert probe.wrong == ["depth", "image"]


def test_an_action_that_does_not_exist_is_named_before_anything_moves(
    served: str,
) -> None:
    chosen = RosSettings(url=served, answer=0.5, spin="spinn")
    probe = robots.inspect(chosen)
    assert "go       /navigate_to_pose (dataset.navigate): answers" in probe.text
    assert "turn     /spinn (dataset.spin): no action /spinn" in probe.text
    assert probe.wrong == ["spin"]
    base = RosBase(chosen)
    with pytest.raises(RobotError, match=r"no action /spinn; .* correct dataset\.spin"):
        base.start(Episode("look", "Stay.", "robot", {}))
    assert not base.link.connected


def test_the_simulated_robot_refuses_unknown_actions_and_other_types_as_rosbridge_does(
    served: str,
) -> None:
    link = RosBase(RosSettings(url=served)).link
    link.subscribe("/odom", "geometry_msgs/msg/PoseStamped")
    link.open()
    refusal = link.goal("/spinn", "nav2_msgs/action/Spin", {}, 5.0)
    link.close()
    assert refusal == ("refused", "No action server available")
    assert (
        "already established with type nav_msgs/msg/Odometry" in link.server_errors[0]
    )
    chosen = RosSettings(url=served, answer=0.5, pose_from="pose")
    probe = robots.inspect(chosen)
    assert (
        "refused: Tried to register topic /odom with type geometry_msgs" in probe.text
    )
    assert probe.wrong == ["odometry"]


INTERRUPTED = """
import sys
from pathlib import Path
import wayword

chosen = {"url": sys.argv[1], "target": "sofa", "settle": 0.0}
settings = {"dataset": chosen, "grounding": "colors:names"}
wayword.run("frontier", "robot", out=Path(sys.argv[2]), settings=settings)
"""


def test_ctrl_c_says_in_both_terminals_that_goals_were_cancelled(
    tmp_path: Path,
) -> None:
    printed: list[str] = []
    with robots.simulated(faults=["1:stall"], on_goal=printed.append) as robot:
        command = [sys.executable, "-c", INTERRUPTED, robot.url, str(tmp_path / "run")]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert until(lambda: bool(printed))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert printed[1:] == ["all goals cancelled"]
    assert errors.count("robot: all goals cancelled") == 1


def test_a_probe_names_a_refused_type_the_frames_that_came_and_a_state_that_stops() -> (
    None
):
    robot = FakeRobot(robots.home_base(0))
    conflict = "topic /scan has type sensor_msgs/msg/PointCloud2"
    robot.complaints = {"/scan": conflict}
    robot.silent = {"/scan"}
    robot.states["emergency_stop"] = {"data": True}
    with serving(robot) as url:
        chosen = RosSettings(
            url=url, answer=0.5, pose_from="tf", emergency_stop="emergency_stop"
        )
        probe = robots.inspect(chosen)
    assert f"(dataset.depth): refused: {conflict}" in probe.text
    frames = "frames: base_footprint, map, odom"
    cure = "set dataset.body_frame=base_footprint"
    assert f"no transforms from base_link to map; {frames}; {cure}" in probe.text
    problem = "the emergency stop is pressed: release it and restart the search"
    assert f"A search would not start: {problem}" in probe.text
    assert probe.wrong == ["depth", "tf"]


@pytest.mark.parametrize(
    ("setting", "message", "text"),
    [
        ("battery", {"percentage": 12}, "12% charged"),
        ("battery", {"percentage": None}, "no charge; its percentage is None"),
        ("emergency_stop", {"data": False}, "not pressed"),
        ("emergency_stop", {"data": True}, "pressed"),
        ("emergency_stop", {}, "taken as pressed: None"),
    ],
)
def test_a_probe_says_what_a_state_is(
    setting: str, message: dict[str, object], text: str
) -> None:
    robot = FakeRobot(robots.home_base(0))
    robot.states[setting] = message
    with serving(robot) as url:
        probe = robots.inspect(RosSettings(url=url, **{setting: setting}))
    assert f"(dataset.{setting}): {text}\n" in probe.text
    assert probe.wrong == []


def keep_turning(base: RosBase) -> None:
    """Turn for a second: a state may come during a goal, or after it."""
    for _ in range(20):
        base.rotate(-90.0)
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("fault", "setting", "reason"),
    [
        ("stop", "emergency_stop", "the emergency stop is pressed"),
        ("battery", "battery", "the battery is at 12%, below 20%"),
    ],
)
def test_states_that_end_a_search_can_be_rehearsed_and_goals_are_printed(
    fault: str, setting: str, reason: str
) -> None:
    printed: list[str] = []
    with robots.simulated(faults=[f"2:{fault}"], on_goal=printed.append) as robot:
        base = RosBase(RosSettings(url=robot.url, settle=0.0, **{setting: setting}))
        base.start(Episode("look", "Stay.", "robot", {}))
        assert base.rotate(60.0).status == "ok"
        with pytest.raises(RobotError, match=reason):
            keep_turning(base)
        base.stop()
        # Released when the client leaves: the next search can start.
        base.start(Episode("look", "Stay.", "robot", {}))
        base.stop()
    assert printed[0] == "goal 1: turn right 60 degrees"
    assert printed[1] == f"goal 2: turn left 90 degrees; fault: {fault}"


def test_missing_weights_are_reported_before_anything_connects() -> None:
    with robots.simulated() as robot:
        url = robot.url
    # Nothing listens there any more: connecting would take the patience of 30 seconds.
    with pytest.raises(UsageError, match="ssd:/nowhere: must be a folder"):
        wayword.run(
            "frontier",
            "robot",
            settings={
                "grounding": "ssd:/nowhere",
                "dataset": {"url": url, "target": "mug"},
            },
        )


def test_a_malformed_fault_names_the_form() -> None:
    for text in ("drop", "0:drop", "3:explode", "x:drop"):
        with pytest.raises(UsageError, match=f"fault '{text}': write GOAL:FAULT"):
            robots.parse_faults([text])
    assert robots.parse_faults(["1:drop", "12:drop"]) == {1: "drop", 12: "drop"}


def painted_mugs() -> NDArray[np.uint8]:
    """A grey picture with two mugs."""
    picture = np.full((20, 20, 3), 190, np.uint8)
    picture[2:8, 3:9] = color_of("mug")
    picture[12:18, 3:9] = color_of("mug")
    return picture


def test_a_color_names_an_object_by_its_last_words() -> None:
    painted = Painted(painted_mugs())
    boxes = painted.boxes_of("cat-shaped mug")
    assert [(box.left, box.top, box.right, box.bottom) for box in boxes] == [
        (3.0, 2.0, 9.0, 8.0),
        (3.0, 12.0, 9.0, 18.0),
    ]
    assert painted.boxes_of("sofa") == []
    assert detector_called("colors:names").name == "colors:names"


def test_only_regions_of_enough_pixels_are_objects() -> None:
    picture = painted_mugs()
    picture[:, 12:20:2] = color_of("sofa")  # strips of enough pixels
    picture[::2, 11:20] = 190  # … cut to single ones
    assert (picture == color_of("sofa")).all(axis=2).sum() > LEAST_PIXELS
    painted = Painted(picture)
    assert painted.boxes_of("sofa") == []
    # An ending that is in the picture is found behind one that is too small.
    assert len(painted.boxes_of("sofa mug")) == 2


def test_names_that_are_not_in_the_picture_are_dismissed_by_its_colors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A searcher looks for a list of names in each view, a few of which are there."""
    searched = []

    def counted(self: Painted, color: int, name: str) -> list[Box]:
        searched.append(name)
        return []

    monkeypatch.setattr(Painted, "_regions", counted)
    painted = Painted(painted_mugs())
    for name in [*indoor_words(), "mug"]:
        painted.boxes_of(name)
    assert set(searched) == {"mug"}


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with robots.simulated() as robot:
        yield robot.url


def test_a_web_page_from_elsewhere_is_refused(served: str) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        connect(served, origin=Origin("http://pages.example"))
    with connect(served, origin=Origin("http://localhost:8080")) as client:
        client.ping()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"op": "publish", "topic": "cmd_vel"}',
        '{"op": "subscribe", "topic": [1]}',
        '{"op": "send_action_goal", "id": 1, "action": "/spin", "args": {}}',
    ],
)
def test_a_malformed_message_is_answered_and_ends_the_connection(
    text: str, served: str, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(served) as client:
        client.send(text)
        answers = []
        # A goal is answered with feedback before its arguments are read.
        while not answers or answers[-1]["op"] != "status":
            answers.append(json.loads(client.recv(timeout=5)))
        with pytest.raises(ConnectionClosedError, match="1007"):
            client.recv(timeout=5)
    assert "malformed message" in answers[-1]["msg"]
    assert not caplog.records  # the server's log has no traceback


def test_a_port_that_cannot_be_had_is_named(served: str) -> None:
    taken = int(served.rpartition(":")[2])
    for port in (70_000, taken):
        with pytest.raises(UsageError, match=f"port {port}: .*; give another --port"):  # noqa: SIM117
            with robots.simulated(port=port):
                pass


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["--set", "url=ws://127.0.0.1:1"], "begin with dataset"),
        (["--fault", "1:drop"], "add --fake"),
        (["--set", "dataset.base=./bot.py"], "registry.load('base', './bot.py')())"),
        (["--fake", "--set", "dataset.url=ws://127.0.0.1:1"], "remove it, or --fake"),
    ],
)
def test_options_without_effect_are_refused(options: list[str], remedy: str) -> None:
    result = CliRunner().invoke(app, ["robot", *options])
    assert isinstance(result.exception, UsageError)
    assert remedy in str(result.exception)

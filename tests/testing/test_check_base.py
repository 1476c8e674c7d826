"""The contract of a base: kept by those in the tree, and each broken promise is named."""

from __future__ import annotations

import asyncio
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.imprecise_base import ImpreciseBase
from helpers.rosbridge_server import Robot, serving, started
from wayword.core import interrupts
from wayword.core.blame import CodeError
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import bearing, relative
from wayword.datasets.robot import RobotSettings, RobotTasks
from wayword.testing import check_base
from wayword.worlds.objectnav import guarded
from wayword.worlds.objectnav.base import MotionResult, goto, rotate
from wayword.worlds.objectnav.guarded import GuardedBase
from wayword.worlds.objectnav.observation import Shown, View, from_camera, from_laser
from wayword.worlds.objectnav.robot import (
    MOST_IDLE,
    RosBase,
    RosSettings,
    SharedRobotWorld,
)
from wayword.worlds.objectnav.rosbridge import RobotError
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from worlds.objectnav.test_finding_world import flat

TESTS = Path(__file__).parents[1]


class Here(SimulatedBase):
    """In the kitchen, with room ahead, whatever the episode says."""

    def __init__(self) -> None:
        super().__init__(SimulatedScene(flat(), {}))

    def start(self, episode: Episode) -> None:
        super().start(Episode("1", "", "flat", {"x": 1.0, "y": 0.5, "heading": 90.0}))


class TurnsLeft(Here):
    def rotate(self, degrees: float) -> MotionResult:
        return super().rotate(-degrees)


class TakesRadians(Here):
    def rotate(self, degrees: float) -> MotionResult:
        return super().rotate(degrees * 57.3)


class TakesNorthFirst(Here):
    def go_to(self, x: float, y: float) -> MotionResult:
        here = self.pose()
        return super().go_to(here["x"] + y - here["y"], here["y"] + x - here["x"])


class SeesMirrored(Here):
    def capture(self) -> View:
        seen = super().capture()
        metres = seen.depth.metres()[:, ::-1]
        depth = seen.depth.of(
            metres, seen.depth.bearings, seen.depth.elevations, seen.depth.reach
        )
        return replace(seen, depth=depth)


class SeesMirroredInPart(Here):
    """As many cameras, whose upper rays measure nothing indoors."""

    def capture(self) -> View:
        seen = super().capture()
        metres = seen.depth.metres()[:, ::-1].copy()
        metres[-len(metres) // 3 :] = np.nan
        depth = seen.depth.of(
            metres, seen.depth.bearings, seen.depth.elevations, seen.depth.reach
        )
        return replace(seen, depth=depth)


class CountsFromX(Here):
    def pose(self) -> Mapping[str, Any]:
        return {**super().pose(), "heading": -90.0}


class SaysNothing(Here):
    def rotate(self, degrees: float) -> Any:
        super().rotate(degrees)


class Wrong(Here):
    """Returns ``value`` from ``method``."""

    method = ""
    value: Any = None

    def __init__(self) -> None:
        super().__init__()
        setattr(self, self.method, lambda *arguments: self.value)


def returning(method: str, value: Any) -> type[Wrong]:
    return type("Wrong", (Wrong,), {"method": method, "value": value})


NAN = {"x": math.nan, "y": 0.0, "heading": 0.0}


class Scans(Here):
    """Has a laser with ``readings``, which are repeated over its bearings."""

    readings: Sequence[float] = ()

    def capture(self) -> View:
        seen = super().capture()
        ranges = np.resize(np.array(self.readings, float), len(seen.depth.bearings))
        return replace(
            seen, depth=from_laser(ranges, seen.depth.bearings, seen.eye, 5.0)
        )


def scanning(*readings: float) -> type[Scans]:
    return type("Scanning", (Scans,), {"readings": readings})


class SendsTooFew(Here):
    def capture(self) -> View:
        seen = super().capture()
        depth = from_laser(np.ones(3), seen.depth.bearings, seen.eye, 5.0)
        return replace(seen, depth=depth)


FILE = re.escape(Path(__file__).name)
UNMEASURED = rf"{FILE}:\d+: capture\(\) must measure something"
OTHER_UNIT = r"ValueError: ranges: has a median of 3000 m: its unit is not the metre; .* infinite"
DISTANCES = [
    (scanning(-1.0), UNMEASURED),
    (scanning(-1.0, 0.0, math.nan, -math.inf), UNMEASURED),
    (scanning(3000.0), rf"capture\(\) raised {OTHER_UNIT}.* \(.*{FILE}:\d+\)$"),
    (scanning(3000.0, -1.0, math.inf), OTHER_UNIT),
    (SendsTooFew, rf"depth has the shape \(10, 3\), not \(10, 40\): .*{FILE}:\d+"),
]
"""Bases whose distances are refused, each with the message."""


VALUES = {
    "status": (returning("rotate", MotionResult("done")), "unknown status 'done'"),
    "metres": (returning("rotate", MotionResult("ok", math.nan)), "nan metres"),
    "tuple": (returning("pose", (1.0, 2.0, 3.0)), "must return a dict with x, y"),
    "nan": (returning("pose", NAN), "finite number 'x', got nan"),
    "array": (returning("pose", {**NAN, "x": 0, "at": {1}}), "must hold JSON values"),
    "report": (returning("report", None), "must return a dict with metres"),
    "view": (returning("capture", {}), "must return a View, got {}"),
}


def test_simulated_and_imprecise_bases_keep_it() -> None:
    check_base(Here())
    check_base(ImpreciseBase(Here(), short=0.2, turning=4.0))


class Northward(Here):
    """Sees the table and the mug, with the wall behind them; ``depth`` and ``objects`` are factors
    of its distances, ``sides`` one of its objects' bearings."""

    depth = 1.0
    objects = 1.0
    sides = 1.0

    def start(self, episode: Episode) -> None:
        start = {"x": 1.0, "y": 0.5, "heading": 0.0}
        SimulatedBase.start(self, Episode("1", "", "flat", start))

    def capture(self) -> View:
        seen = super().capture()
        ranges = seen.depth.metres().max(axis=0) * self.depth
        depth = from_laser(ranges, seen.depth.bearings, seen.eye, 5.0)
        shown = []
        for one in seen.shown or ():
            away = one.away * self.objects
            shown.append(replace(one, away=away, bearing=one.bearing * self.sides))
        return replace(seen, depth=depth, shown=tuple(shown))


def facing_north(**factors: float) -> Northward:
    return type("Factors", (Northward,), factors)()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("factors", "promise"),
    [
        ({"depth": 0.55}, "after a drive of 0.60 m: depth is in metres"),
        ({"depth": 1.7}, "after a drive of 0.60 m: depth is in metres"),
        ({"objects": 3.0}, "shows '.*' 6.00 m away, .* 4.20 m away, not near 5.40"),
    ],
)
def test_distances_shrink_by_the_metres_that_were_driven(
    factors: dict[str, float], promise: str
) -> None:
    with pytest.raises(AssertionError, match=rf"{FILE}:\d+: capture\(\) .*{promise}"):
        check_base(facing_north(**factors))


def test_a_line_says_of_each_rule_whether_it_was_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = check_base(facing_north())
    assert len(lines) == 7
    assert all(line.startswith("checked: ") for line in lines)
    assert capsys.readouterr().out.splitlines() == lines

    # The mug is ahead: after a turn, a mirrored bearing is out of view.
    lines = [line for line in check_base(Here()) if line.startswith("not ")]
    assert [line.split(": ")[1] for line in lines] == [
        "bearings of the detector's objects",
        "distances of the detector's objects",
    ]
    (line,) = [each for each in check_base(Here(), metres=3.0) if "go_to" in each]
    assert line.startswith("not checked: go_to, and the metres")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base": Here}, r"needs an object: Here\(…\), got the class Here"),
        ({"limit": "a"}, "limit must be a number of seconds above 0, got 'a'"),
        ({"limit": -1}, "limit must be .* above 0, got -1"),
    ],
)
def test_arguments_of_check_base_are_checked(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        check_base(**{"base": Here(), **arguments})


def test_settings_of_a_robot_are_no_dict() -> None:
    with pytest.raises(UsageError, match="must be an instance such as RosSettings"):
        RosBase({"url": "ws://127.0.0.1:9"})  # type: ignore[arg-type]


class Exits(Here):
    def go_to(self, x: float, y: float) -> MotionResult:
        sys.exit(3)


def test_a_base_that_ends_the_program_is_named() -> None:
    promise = rf"go_to must not end the program, got SystemExit: 3 \(.*{FILE}:\d+\)"
    with pytest.raises(AssertionError, match=promise):
        check_base(Exits())
    world = SharedRobotWorld(GuardedBase(Exits(), 5.0), [])
    world.reset(Episode("1", "", "robot", {}))
    with pytest.raises(CodeError, match=promise):
        world.step("agent", goto(1.5, 0.5))


class PoseInCentimetres(Here):
    def pose(self) -> Any:
        pose = super().pose()
        return {**pose, "x": 100 * float(pose["x"]), "y": 100 * float(pose["y"])}


def test_a_run_compares_views_with_poses() -> None:
    base = GuardedBase(PoseInCentimetres(), 5.0)
    base.start(Episode("1", "", "robot", {}))
    promise = r":\d+: capture\(\) and pose\(\) must agree; they are 110.\d+ m apart"
    for _ in range(guarded.MOST_APART - 1):
        base.capture()
    with pytest.raises(CodeError, match=promise):
        base.capture()


class PoseBehind(Here):
    """Its localisation lags behind each drive and turn, within what a robot makes up for."""

    def capture(self) -> View:
        view = super().capture()
        return replace(view, x=view.x + 0.4, heading=(view.heading + 20.0) % 360)


def test_a_run_goes_on_where_localisation_lags() -> None:
    base = GuardedBase(PoseBehind(), 5.0)
    base.start(Episode("1", "", "robot", {}))
    for _ in range(2 * guarded.MOST_APART):
        base.capture()


def explored(base: Here) -> None:
    """Turn two whole circles, and drive ahead and back, as searches do."""
    world = SharedRobotWorld(GuardedBase(base, 5.0), [])
    world.reset(Episode("1", "", "robot", {}))
    drives = [rotate(-90), goto(1.0, 1.3), rotate(180), goto(1.0, 0.5), rotate(-90)]
    for action in [*[rotate(30)] * 24, *drives * 4]:
        world.observe("agent")
        world.step("agent", action)


class SeesScaled(Here):
    """Measures ``factor`` times the metres."""

    factor = 1.0

    def capture(self) -> View:
        seen = super().capture()
        metres = seen.depth.metres() * self.factor
        columns = (seen.depth.bearings, seen.depth.elevations, seen.depth.reach)
        return replace(seen, depth=seen.depth.of(metres, *columns))


class SeesHalf(SeesScaled):
    factor = 0.5


class SeesDouble(SeesScaled):
    factor = 2.0


class ShowsRadians(Here):
    def capture(self) -> View:
        view = super().capture()
        shown = [
            replace(one, bearing=math.radians(one.bearing)) for one in view.shown or ()
        ]
        return replace(view, shown=tuple(shown))


@pytest.mark.parametrize("base", [Here, SeesScaled])
def test_a_run_accepts_views_that_agree_with_its_motions(base: type[Here]) -> None:
    explored(base())
    explored(ImpreciseBase(base(), short=0.2, turning=4.0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        (SeesMirrored, "has a mirrored depth image, as 3 turns show"),
        (SeesDouble, "measures about 1.7 times the metres between poses"),
        (SeesHalf, "measures about 0.5 times the metres between poses"),
        (
            ShowsRadians,
            "shows '.*' at .* deg, and after a turn by 30 deg at .*, not near",
        ),
    ],
)
def test_a_run_names_views_that_contradict_its_motions(
    base: type[Here], problem: str
) -> None:
    with pytest.raises(RobotError, match=rf"{FILE}:\d+: capture .*{problem}"):
        explored(base())


def test_a_robot_behind_rosbridge_keeps_it() -> None:
    with serving(Robot(started(Here(), 1.0, 0.5, 90.0))) as url:
        check_base(RosBase(RosSettings(url=url, settle=0.0, throttle=0)))


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (TurnsLeft, r"rotate\(40\): the heading, .* not by -40"),
        (TakesRadians, r"rotate\(40\): the heading"),
        (TakesNorthFirst, "x is metres east, y north"),
        (SeesMirrored, "look mirrored"),
        (SeesMirroredInPart, "look mirrored"),
        (CountsFromX, r"pose\(\) must have a heading in \[0, 360\), got -90"),
        (SaysNothing, r"rotate\(40\) must return a MotionResult, got None"),
        *((cls, f".*{text}") for cls, text in VALUES.values()),
        *DISTANCES,
    ],
)
def test_each_broken_promise_is_named(broken: type[Here], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_base(broken())


def test_a_laser_sees_no_obstacle_and_no_free_floor_where_it_measured_nothing() -> None:
    unknown = [math.nan, -1.0, 0.0, -math.inf, 3000.0]
    scan = np.array([*unknown, math.inf, 2.0, 2.0])
    bearings = tuple(range(len(scan)))
    depth = from_laser(scan, bearings, 0.9, 5.0, rows=(0.0,))
    assert depth.measured()[0].tolist() == [False] * len(unknown) + [True] * 3
    assert np.isinf(depth.metres()[0, 5])
    assert depth.metres()[0, 6:] == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("unit", [100.0, 1000.0], ids=["centimetres", "millimetres"])
def test_depth_of_a_camera_in_another_unit_is_refused(unit: float) -> None:
    depth = np.linspace(0.8, 4.0, 60 * 80).reshape(60, 80)
    assert from_camera(depth, 80.0, 5.0).measured().any()
    with pytest.raises(ValueError, match=r"depth: .* its unit is not the metre"):
        from_camera(unit * depth, 80.0, 5.0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("depth", (80.0, 5.0, np.ones((60, 80)))),
        ("depth", (np.ones(80), 80.0, 5.0)),
        ("depth", (np.ones((60, 80, 1)), 80.0, 5.0)),
        ("depth", (np.ones((0, 80)), 80.0, 5.0)),
        ("depth", ([[1.0], [1.0, 2.0]], 80.0, 5.0)),
        ("field_of_view", (np.ones((60, 80)), 1.2, 5.0)),
        ("field_of_view", (np.ones((60, 80)), math.nan, 5.0)),
        ("field_of_view", (np.ones((60, 80)), 200, 5.0)),
        ("reach", (np.ones((60, 80)), 80.0, math.inf)),
        ("reach", (np.ones((60, 80)), 80.0, -5.0)),
    ],
)
def test_an_argument_of_from_camera_that_is_wrong_is_named(
    name: str, arguments: Any
) -> None:
    with pytest.raises(ValueError, match=f"^{name} must"):
        from_camera(*arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ranges", (0.9, (-1.0, 1.0), np.ones(2), 5.0)),
        ("ranges", (np.ones((2, 1)), (-1.0, 1.0), 0.9, 5.0)),
        ("ranges", ([], (), 0.9, 5.0)),
        ("bearings", (np.ones(2), (1.0, -1.0), 0.9, 5.0)),
        ("reach", (np.ones(2), (-1.0, 1.0), 0.9, math.nan)),
    ],
)
def test_an_argument_of_from_laser_that_is_wrong_is_named(
    name: str, arguments: Any
) -> None:
    with pytest.raises(ValueError, match=f"^{name} must"):
        from_laser(*arguments)


def test_distances_may_be_lists() -> None:
    assert from_camera([[1.0] * 80] * 60, 80.0, 5.0).measured().all()
    assert from_laser([1.0, 1.0], (-1.0, 1.0), 0.9, 5.0).measured().all()


@pytest.mark.parametrize(("broken", "promise"), VALUES.values(), ids=VALUES)
def test_a_run_checks_what_a_base_returns(broken: type[Wrong], promise: str) -> None:
    world = SharedRobotWorld(GuardedBase(broken(), 5.0), [])
    world.reset(Episode("1", "", "robot", {}))

    def play() -> None:
        world.observe("agent")
        world.step("agent", rotate(30.0))
        world.state()

    with pytest.raises(CodeError, match=f"{broken.method} .*{promise}"):
        play()


class Stuck(Here):
    def rotate(self, degrees: float) -> MotionResult:
        return MotionResult()


def test_a_robot_that_reports_ok_without_moving_is_noticed() -> None:
    world = SharedRobotWorld(Stuck(), [])
    world.reset(Episode("1", "", "robot", {}))
    for _ in range(MOST_IDLE - 1):
        world.step("agent", rotate(30.0))
    with pytest.raises(RobotError, match="its pose has not changed"):
        world.step("agent", rotate(30.0))


class LagsByADrive(Here):
    """Shows each drive with the next turn."""

    _late: Mapping[str, Any] = {}

    def go_to(self, x: float, y: float) -> MotionResult:
        self._late = {}
        pose = self.pose()
        moved = super().go_to(x, y)
        self._late = {"x": pose["x"], "y": pose["y"]}
        return moved

    def rotate(self, degrees: float) -> MotionResult:
        self._late = {}
        return super().rotate(degrees)

    def pose(self) -> Mapping[str, Any]:
        return {**super().pose(), **self._late}


def test_a_robot_whose_pose_lags_by_a_drive_is_noticed() -> None:
    world = SharedRobotWorld(LagsByADrive(), [])
    world.reset(Episode("1", "", "robot", {}))

    def drive_and_turn(number: int) -> None:
        world.step("agent", goto(1.0 + number % 2, 0.5))
        world.step("agent", rotate(30.0))

    for number in range(1, MOST_IDLE):
        drive_and_turn(number)
    with pytest.raises(RobotError, match="its pose has not changed in place"):
        drive_and_turn(MOST_IDLE)


class SlipsNowAndThen(Here):
    """One drive in ten reports success without any motion."""

    _drives = 0

    def go_to(self, x: float, y: float) -> MotionResult:
        self._drives += 1
        if self._drives % 10 == 0:
            return MotionResult("ok", 0.0)
        return super().go_to(x, y)


def test_a_robot_that_slips_now_and_then_searches_on() -> None:
    world = SharedRobotWorld(SlipsNowAndThen(), [])
    world.reset(Episode("1", "", "robot", {}))
    for number in range(300):
        world.step("agent", goto(1.0 + number % 2, 0.5))


class StaysAtItsPlace(Here):
    def go_to(self, x: float, y: float) -> MotionResult:
        return MotionResult("ok", 0.8)


def test_a_robot_whose_place_never_changes_is_noticed_though_its_heading_does() -> None:
    world = SharedRobotWorld(StaysAtItsPlace(), [])
    world.reset(Episode("1", "", "robot", {}))

    def drive_and_turn() -> None:
        world.step("agent", rotate(30.0))
        world.step("agent", goto(1.0, 1.0))

    for _ in range(MOST_IDLE - 1):
        drive_and_turn()
    with pytest.raises(RobotError, match="its pose has not changed in place"):
        drive_and_turn()


class DrivesAway(Here):
    def go_to(self, x: float, y: float) -> MotionResult:
        here = self.pose()
        return super().go_to(here["x"] + 0.6, here["y"])


class PoseTurnsLeft(Here):
    def pose(self) -> dict[str, Any]:
        pose = dict(super().pose())
        return {**pose, "heading": -pose["heading"] % 360}


WRONG_WAYS = {
    TurnsLeft: (rotate(30.0), "rotate.*changed the heading by -30 degrees, the wrong"),
    TakesRadians: (rotate(60.0), "rotate.*changed the heading by"),
    PoseTurnsLeft: (rotate(30.0), "changed the heading by -30 degrees, the wrong way"),
    DrivesAway: (goto(0.5, 0.5), "go_to.*x is metres east, y north"),
}


@pytest.mark.parametrize("broken", WRONG_WAYS)
def test_a_run_ends_at_the_second_motion_that_contradicts_the_pose(
    broken: type[Here],
) -> None:
    action, problem = WRONG_WAYS[broken]
    base = broken()
    world = SharedRobotWorld(GuardedBase(base, 5.0), [])
    world.reset(Episode("1", "", "robot", {}))
    world.step("agent", action)
    with pytest.raises(RobotError, match=rf"\.py:\d+: .*{problem}"):
        world.step("agent", action)


@pytest.mark.parametrize(
    ("factor", "fails"), [(100.0, True), (0.0, True), (3.0, False)]
)
def test_a_run_ends_if_the_reported_metres_do_not_fit_the_poses(
    factor: float, fails: bool
) -> None:
    class Counts(Here):
        def report(self) -> dict[str, Any]:
            report = dict(super().report())
            return {**report, "metres": factor * report["metres"]}

    world = SharedRobotWorld(GuardedBase(Counts(), 5.0), [])
    world.reset(Episode("1", "", "robot", {}))
    world.step("agent", goto(2.0, 0.5))
    if fails:
        with pytest.raises(
            RobotError, match=rf"{FILE}:\d+: report\(\)\['metres'\] grew"
        ):
            world.step("agent", goto(1.0, 0.5))
    else:
        assert world.step("agent", goto(1.0, 0.5)).ok


def test_a_robot_that_was_pushed_once_or_is_imprecise_goes_on() -> None:
    world = SharedRobotWorld(ImpreciseBase(Here(), 0.2, 6.0), [])
    world.reset(Episode("1", "", "robot", {}))
    for degrees in (30.0, -150.0, 90.0, 175.0, -30.0):
        assert world.step("agent", rotate(degrees)).ok
    pushed = TurnsLeft()
    world = SharedRobotWorld(pushed, [])
    world.reset(Episode("1", "", "robot", {}))
    for _ in range(3):
        world.step("agent", rotate(30.0))
        world.step("agent", rotate(180.0))


class Hangs(Here):
    is_stopped = False

    def go_to(self, x: float, y: float) -> MotionResult:
        while not self.is_stopped:
            time.sleep(0.01)
        return MotionResult()

    def stop(self) -> None:
        self.is_stopped = True


def test_a_method_that_hangs_has_a_limit_and_is_stopped() -> None:
    base = Hangs()
    world = SharedRobotWorld(GuardedBase(base, 0.3), [])
    world.reset(Episode("1", "", "robot", {}))
    with pytest.raises(CodeError, match=r"has not returned for 0.3 s"):
        world.step("agent", goto(1.0, 1.0))
    assert base.is_stopped


STOPPING = """
import sys, time
from testing.test_check_base import Here
from wayword.core.episode import Episode
from wayword.worlds.objectnav.base import goto
from wayword.worlds.objectnav.guarded import GuardedBase
from wayword.worlds.objectnav.robot import SharedRobotWorld

class Drives(Here):
    def go_to(self, x, y):
        print("driving", flush=True)
        while True: time.sleep(0.01)

    def stop(self):
        {stop}

world = SharedRobotWorld(GuardedBase(Drives(), 60.0), [])
world.reset(Episode("1", "", "robot", {{}}))
world.step("agent", goto(1.0, 1.0))
"""


@pytest.mark.parametrize(
    ("stop", "line"),
    [
        ("pass", "robot: stop has returned"),
        (
            "time.sleep(60)",
            "robot: {file}:15: stop has not returned for 0.8 s; the robot may still drive",
        ),
        (
            "raise OSError('no port')",
            "robot: stop raised OSError: no port ({file}:15); the robot may still drive",
        ),
    ],
)
def test_ctrl_c_says_whether_stop_has_returned(
    stop: str, line: str, tmp_path: Path
) -> None:
    file = tmp_path / "drives.py"
    file.write_text(STOPPING.format(stop=stop), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "driving\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=40)
    lines = [each for each in errors.splitlines() if each.startswith("robot: ")]
    assert lines == [line.format(file=file)], errors


def test_check_base_names_the_line_of_a_method_that_hangs() -> None:
    base = Hangs()
    hangs = rf"{FILE}:\d+.* has not returned for 0.3 s, the limit of check_base$"
    with pytest.raises(AssertionError, match=hangs):
        check_base(base, limit=0.3)
    assert base.is_stopped


class Finds(Here):
    """Has a detector of its own, which sees ``found``."""

    found: Any = ()

    def capture(self) -> View:
        return replace(super().capture(), shown=self.found)


class SeesMug(Here):
    """Has a detector that finds a mug 2 m east of where it starts."""

    # Errors of a user's detector
    sign = 1.0
    unit = 1.0

    def capture(self) -> View:
        seen = super().capture()
        here = (seen.x, seen.y)
        side = self.sign * relative(bearing(here, (3.0, 0.5)), seen.heading)
        if abs(side) > seen.field_of_view / 2:
            return replace(seen, shown=())
        away = self.unit * math.dist(here, (3.0, 0.5))
        return replace(seen, shown=(Shown.of("mug", side, away),))


class DrivesCentimetres(Here):
    def go_to(self, x: float, y: float) -> MotionResult:
        moved = super().go_to(x, y)
        return replace(moved, metres=100 * moved.metres)


class ReportsCentimetres(Here):
    def report(self) -> dict[str, Any]:
        report = dict(super().report())
        return {**report, "metres": 100 * report["metres"]}


class SeesRadians(Here):
    def capture(self) -> View:
        seen = super().capture()
        return replace(seen, heading=math.radians(seen.heading))


class LosesContact(Here):
    def go_to(self, x: float, y: float) -> MotionResult:
        raise TimeoutError("no answer for 10 s")


class FacesRadians(Here):
    def pose(self) -> Mapping[str, Any]:
        pose = super().pose()
        return {**pose, "heading": math.radians(pose["heading"])}

    def capture(self) -> View:
        seen = super().capture()
        return replace(seen, heading=math.radians(seen.heading))


MIRRORED = type("SeesMirroredMug", (SeesMug,), {"sign": -1.0})
IN_RADIANS = type("SeesMugInRadians", (SeesMug,), {"sign": math.pi / 180})
IN_MILLIMETRES = type("SeesMugInMillimetres", (SeesMug,), {"unit": 1000.0})
RIGHT_OF_CAMERA = "bearings are degrees to the right of the camera"


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (DrivesCentimetres, r"returned 60 metres, but the pose has changed by 0.60 m"),
        (
            ReportsCentimetres,
            rf"{FILE}:\d+: report\(\) grew by 60.00 metres in go_to.* changed by 0.60 m",
        ),
        (
            SeesRadians,
            rf"{FILE}:\d+: capture\(\) and pose\(\) must agree; their headings are 88 deg apart: "
            r"is one in radians\?",
        ),
        (
            LosesContact,
            rf"^go_to\(\) raised TimeoutError: no answer for 10 s \(.*{FILE}:\d+\)$",
        ),
        (FacesRadians, r"not by 0\.698: is it in radians\?"),
        (MIRRORED, rf"shows 'mug' at -?0 deg, and after .* at 40, .*{RIGHT_OF_CAMERA}"),
        (IN_RADIANS, rf"shows 'mug' at 0 deg, .* at -0.698, .*{RIGHT_OF_CAMERA}"),
        (IN_MILLIMETRES, r"shows 'mug' 2000 m away: is it in metres\?"),
    ],
)
def test_values_that_contradict_each_other_are_named(
    broken: type[Here], problem: str
) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_base(broken())


class Views(Here):
    """Changes fields of its views."""

    changes: Mapping[str, Any] = {}

    def capture(self) -> View:
        return replace(super().capture(), **self.changes)


BEHIND = (Shown.of("mug", 170.0, 2.0),)
CHANGES = {
    "must have an eye between 0.05 and 3 m above the floor, got 90": {"eye": 90},
    "got 1.4: is it in radians?": {"field_of_view": 1.4},
    "shows 'mug' at 170 deg, outside its field_of_view of 80 deg": {"shown": BEHIND},
    "shows 'mug' 2000 m away: is it in metres?": {"shown": (Shown.of("mug", 0, 2e3),)},
    "must have a DepthImage as depth, got a ndarray": {"depth": np.ones((3, 4))},
    "shows 'mug' -1 m away": {
        "shown": (replace(Shown.of("mug", 0, 1.0), distance=-1.0),)
    },
}


@pytest.mark.parametrize("problem", CHANGES)
def test_a_view_that_contradicts_itself_is_refused_also_in_a_run(problem: str) -> None:
    cls = type("Changed", (Views,), {"changes": CHANGES[problem]})
    with pytest.raises(AssertionError, match=rf"{FILE}:\d+: .*{re.escape(problem)}"):
        check_base(cls())
    world = SharedRobotWorld(GuardedBase(cls(), 5.0), [])
    world.reset(Episode("1", "", "robot", {}))
    with pytest.raises(CodeError, match=rf"{FILE}:\d+: .*{re.escape(problem)}"):
        world.observe("agent")


def test_a_negative_way_is_refused() -> None:
    world = SharedRobotWorld(
        GuardedBase(returning("go_to", MotionResult("ok", -0.5))(), 5.0), []
    )
    world.reset(Episode("1", "", "robot", {}))
    with pytest.raises(CodeError, match="must be the length of the way, not negative"):
        world.step("agent", goto(1.0, 1.0))


class WakesUp(Here):
    """Has a camera whose first frames are black."""

    black_frames = 3

    def capture(self) -> View:
        seen = super().capture()
        self.black_frames -= 1
        if self.black_frames < 0:
            return seen
        ranges = np.full(len(seen.depth.bearings), np.nan)
        return replace(
            seen, depth=from_laser(ranges, seen.depth.bearings, seen.eye, 5.0)
        )


def test_a_sensor_that_measures_nothing_fails_the_episode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guarded, "UNMEASURED_SECONDS", 0.3)
    world = SharedRobotWorld(GuardedBase(scanning(math.nan)(), 5.0), [])
    world.reset(Episode("1", "", "robot", {}))
    expected = rf"{FILE}:\d+: capture must measure something; .* NaN, for 0\.3 s"
    with pytest.raises(CodeError, match=expected):
        world.observe("agent")


def test_views_are_taken_again_until_one_measures_something() -> None:
    base = WakesUp()
    world = SharedRobotWorld(GuardedBase(base, 5.0), [])
    world.reset(Episode("1", "", "robot", {}))
    assert world.observe("agent").depth.measured().any()
    assert base.black_frames == -1


class TakesAPoint(Here):
    def go_to(self, point: tuple[float, float]) -> MotionResult:  # type: ignore[override]
        return super().go_to(*point)


def test_methods_that_are_absent_or_take_other_arguments_are_named() -> None:
    class Half:
        """A base without all methods."""

        start = capture = rotate = go_to = pose = Here.report

    with pytest.raises(
        AssertionError, match=rf"{FILE}:\d+: .* lacks methods: report, stop"
    ):
        check_base(Half())  # type: ignore[arg-type]
    expected = rf"must have go_to\(x, y\), got go_to\(point: .*{FILE}:\d+\)"
    with pytest.raises(AssertionError, match=expected):
        check_base(TakesAPoint())


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ([], "must have a tuple of Shown as shown, or None"),
        (("mug",), "must have only Shown in shown, got 'mug'"),
        (
            (Shown.of("mug", 3.0, 2.0), "cup"),
            "must have only Shown in shown, got 'cup'",
        ),
        (
            (replace(Shown.of("mug", 3.0, 2.0), away=math.nan),),
            "must have finite bearings and distances in shown",
        ),
        (
            (
                Shown.of("mug", 3.0, 2.0),
                replace(Shown.of("cup", 3.0, 2.0), bearing=math.inf),
            ),
            "must have finite bearings and distances in shown",
        ),
    ],
)
def test_what_a_detector_of_ones_own_returns_is_checked(
    found: Any, problem: str
) -> None:
    cls = type("Finding", (Finds,), {"found": found})
    with pytest.raises(AssertionError, match=re.escape(problem)):
        check_base(cls())


def test_an_object_of_ones_own_detector_is_checked_where_it_is_made() -> None:
    mug = Shown.of("mug", 12, 2.5)
    assert (mug.bearing, mug.distance, mug.away) == (12.0, 2.5, 2.5)
    check_base(SeesMug())
    with pytest.raises(TypeError, match="distance"):
        Shown.of("mug", 12)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="distance must be a finite number, got nan"):
        Shown.of("mug", 12, math.nan)
    for numbers in ((3, -2.0), (400, 2.0), (3, 2.0, -1.0)):
        with pytest.raises(ValueError, match=r"Shown.of.* got \{'bearing'"):
            Shown.of("mug", *numbers)
    with pytest.raises(ValueError, match="name must be text, got 3"):
        Shown.of(3, 12, 2.5)  # type: ignore[arg-type]


def test_ctrl_c_stops_a_base_whose_method_hangs() -> None:
    base = Hangs()

    async def run() -> None:
        with interrupts.listening():
            world = SharedRobotWorld(GuardedBase(base, None), [])
            world.reset(Episode("1", "", "robot", {}))
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            world.step("agent", goto(1.0, 1.0))

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())
    assert base.is_stopped


CART = """
from dataclasses import dataclass
from testing.test_check_base import Here

@dataclass(frozen=True)
class Settings:
    port: str = "none"

class Cart(Here):
    Settings = Settings
    def __init__(self, settings):
        super().__init__()
        self.port = settings.port

base = Cart
"""


def own(tmp_path: Path, text: str, **settings: Any) -> RobotTasks:
    file = tmp_path / "cart.py"
    file.write_text(text)
    return RobotTasks(settings=RobotSettings(target="vase", base=str(file), **settings))


def test_a_base_of_ones_own_is_a_file_with_settings(tmp_path: Path) -> None:
    dataset = own(tmp_path, CART, base_settings={"port": "COM3"})
    task = dataset.tasks[0]
    assert list(dataset.files.values()) == [tmp_path / "cart.py"], (
        "for the run's checksum"
    )
    one = dataset.world(task.episode)
    two = dataset.world(task.episode)
    one.reset(task.episode)
    assert one.observe("agent").heading == 90.0
    two.reset(task.episode)
    with pytest.raises(RobotError, match="took over the robot; only one can drive it"):
        one.step("agent", rotate(30.0))
    assert two.step("agent", rotate(30.0)).ok
    assert dataset._custom_base.base.port == "COM3"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        ("class Cart: pass\nbase = Cart", {}, "lacks methods: start, capture, rotate"),
        ("class Cart: pass", {}, "defines no 'base'"),
        ("class Cart: pass\nbase = Cart", {"port": 1}, "has no settings, got port"),
        (CART, {"prot": 1}, "did you mean 'port'"),
    ],
)
def test_a_wrong_base_ends_in_one_line(
    tmp_path: Path, text: str, settings: dict[str, Any], words: str
) -> None:
    dataset = own(tmp_path, text, base_settings=settings)
    with pytest.raises(UsageError, match=words):
        dataset.world(dataset.tasks[0].episode)


def test_settings_of_the_connection_and_of_a_base_are_not_confused(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        UsageError, match=r"url has no effect with dataset.base=.*base_settings\.url"
    ):
        own(tmp_path, CART, url="ws://127.0.0.1:9091")
    with pytest.raises(UsageError, match=r"add --set dataset\.base="):
        RobotTasks(
            settings=RobotSettings(target="vase", base_settings={"port": "COM3"})
        )


def test_a_name_that_is_no_setting_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"'target'; use RobotSettings, which has it$"):
        RosSettings(target="mug")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="'urls'; did you mean 'url'"):
        RosSettings(urls="ws://127.0.0.1:1")  # type: ignore[call-arg]

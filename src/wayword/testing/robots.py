"""Contract test of a base: the behavior that searching agents need from a robot."""

from __future__ import annotations

import math

from wayword.core.blame import CodeError, describe, place_of, user_frame
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import relative, unit
from wayword.worlds.objectnav.base import (
    Base,
    MotionResult,
    methods_problem,
    motion_problem,
    place_problem,
    pose_problem,
    report_problem,
    unmeasured_problem,
    view_problem,
)
from wayword.worlds.objectnav.guarded import LimitedBase
from wayword.worlds.objectnav.observation import View, clear_ahead
from wayword.worlds.objectnav.robot import RosBase
from wayword.worlds.objectnav.view_check import (
    bearing_problems,
    is_mirrored,
    wall_ahead,
)

TURNED = 20.0
"""Maximum error of a turn, degrees."""
ARRIVED = 0.35
"""Maximum distance between target and stop, metres: Nav2's own tolerance (0.25) plus a margin."""
APPROACHED = 0.3
"""Maximum difference between the way driven and how much nearer what is ahead has come, metres."""


def check_base(
    base: Base, degrees: float = 40.0, metres: float = 0.6, limit: float = 90.0
) -> list[str]:
    """Check a base: that its motions, poses and views agree.

    It turns right by positive degrees, drives to its target and reports its pose, and
    its depth images are not mirrored, as far as the surroundings show it. Objects of its own
    detector are checked only while it sees any: put one in its view. A method may take
    ``limit`` seconds; a robot behind rosbridge has the limits of its settings. Prints and returns
    a line about each rule: that it was checked, or why not. Raises ``AssertionError`` that names
    the rule, and ``UsageError`` for arguments.

    This moves the robot: it turns by ``degrees`` and back, and drives ``metres`` straight
    ahead if depth shows twice that distance free. Keep a hand on the emergency stop.
    """
    if isinstance(base, type):
        name = base.__name__
        raise UsageError(f"check_base needs an object: {name}(…), got the class {name}")
    if not isinstance(limit, int | float) or not limit > 0:
        raise UsageError(f"limit must be a number of seconds above 0, got {limit!r}")
    problem = methods_problem(base)
    assert not problem, f"{place_of(type(base))}: the base {problem}"
    seconds = None if isinstance(base, RosBase) else limit
    limited = LimitedBase(base, seconds, "check_base")
    try:
        limited.start(Episode("check", "Find the mug.", "robot", {}))
        try:
            lines = _check_started(limited, degrees, metres)
        finally:
            limited.stop()
    except CodeError as error:
        # A method that has not returned, with its line
        raise AssertionError(str(error)) from None
    except AssertionError:
        raise
    except Exception as error:
        # Distances in another unit, or a silent robot: the user's line is the place to mend.
        if user_frame(error) is None:
            raise
        raise AssertionError(f"{limited.raised}() raised {describe(error)}") from error
    print(*lines, sep="\n")  # noqa: T201 - for a person at the robot
    return lines


def _check_started(base: LimitedBase, degrees: float, metres: float) -> list[str]:
    """Check a base that has started, and return the lines of :func:`check_base`."""
    lines = ["checked: poses, views and reports, each by itself and with the others"]
    before = _check_view(base)
    _check_turn(base, degrees)
    after = _check_view(base)
    lines.append(f"checked: turns by {degrees:g} degrees and back")
    problems = bearing_problems(before, after, degrees)
    _check(base, "capture()", next(filter(None, problems), ""))
    reason = "the detector saw no object before and after the turn"
    lines.append(_line(bool(problems), "bearings of the detector's objects", reason))
    mirrored = is_mirrored(before, after, degrees)
    assert not mirrored, (
        "bearings of depth columns are positive to the right; these look mirrored"
    )
    reason = "what is around looks the same to both sides, or moved; turn the robot"
    is_known = mirrored is False
    lines.append(_line(is_known, "sides of the depth image", reason))
    _check_turn(base, -degrees)
    view = _check_view(base)
    free = clear_ahead(view.depth, view.eye, 0.0)
    if free < 2 * metres:
        reason = f"{free:.2f} m ahead are free, and {2 * metres:g} m are needed"
        lines.append(_line(False, "go_to, and the metres that it reports", reason))
    else:
        driven = _check_drive(base, metres)
        lines.append(f"checked: go_to({metres:g} m straight on), and the metres")
        end = _check_view(base)
        is_compared = _check_depth_scale(base, view, end, driven)
        reason = "nothing flat is ahead within the reach of depth"
        lines.append(_line(is_compared, "distances of the depth image", reason))
        is_compared = _check_shown_scale(base, view, end, driven)
        reason = "the detector saw no object ahead before and after the drive"
        lines.append(_line(is_compared, "distances of the detector's objects", reason))
    _metres(base)
    return lines


def _line(is_checked: bool, what: str, reason: str) -> str:
    """Return a line of :func:`check_base` about a rule that surroundings may not show."""
    return f"checked: {what}" if is_checked else f"not checked: {what}: {reason}"


def _check_drive(base: LimitedBase, metres: float) -> float:
    """Drive straight on, and assert that pose and reports follow. Return the metres driven."""
    start = _pose(base)
    reported = _metres(base)
    east, north = unit(start["heading"])
    x = start["x"] + metres * east
    y = start["y"] + metres * north
    what = f"go_to({x:.2f}, {y:.2f}), {metres:g} m straight on"
    moved = base.go_to(x, y)
    _check_moved(base, moved, what)
    end = _pose(base)
    off = math.dist((x, y), (end["x"], end["y"]))
    assert off <= ARRIVED, (
        f"{what}, ends there, not {off:.2f} m away: x is metres east, y north"
    )
    driven = math.dist((start["x"], start["y"]), (end["x"], end["y"]))
    problem = ""
    if abs(moved.metres - driven) > ARRIVED:
        problem = (
            f"returned {moved.metres:g} metres, but the pose has changed by {driven:.2f} m: "
            "metres is the length of the way, in metres"
        )
    _check(base, what, problem)
    added = _metres(base) - reported
    if abs(added - driven) > ARRIVED:
        problem = (
            f"grew by {added:.2f} metres in {what}, but the pose has changed by "
            f"{driven:.2f} m: it counts the metres traveled"
        )
    _check(base, "report()", problem)
    return driven


def _check_depth_scale(
    base: LimitedBase, before: View, after: View, driven: float
) -> bool:
    """Assert that what is ahead has come as much nearer as the body has driven. Return False if
    nothing flat was in reach: then depth tells nothing."""
    far = wall_ahead(before)
    near = wall_ahead(after)
    if far is None or near is None:
        return False
    problem = ""
    if abs(far - near - driven) > APPROACHED:
        problem = (
            f"measures {far:.2f} m straight ahead, and {near:.2f} m after a drive of "
            f"{driven:.2f} m: depth is in metres"
        )
    _check(base, "capture()", problem)
    return True


def _check_shown_scale(
    base: LimitedBase, before: View, after: View, driven: float
) -> bool:
    """Assert that objects ahead have come as much nearer as the body has driven. Return False if
    no object was ahead in both views.

    Of several objects with one name, none is compared.
    """
    is_compared = False
    for first in before.shown or ():
        earlier = [one for one in before.shown or () if one.id == first.id]
        later = [one for one in after.shown or () if one.id == first.id]
        if len(earlier) != 1 or len(later) != 1 or abs(first.bearing) > TURNED:
            continue
        is_compared = True
        second = later[0]
        # What remains of the way to its center, by the law of cosines
        ahead = math.radians(first.bearing)
        expected = math.hypot(
            first.away * math.cos(ahead) - driven, first.away * math.sin(ahead)
        )
        problem = ""
        if abs(second.away - expected) > APPROACHED:
            problem = (
                f"shows {first.words!r} {first.away:.2f} m away, and after a drive of "
                f"{driven:.2f} m {second.away:.2f} m away, not near {expected:.2f}: is it in "
                "metres?"
            )
        _check(base, "capture()", problem)
    return is_compared


def _check_view(base: LimitedBase) -> View:
    """Return a view, after asserting that it is taken where the body is.

    Its depth image must have a row for each elevation, columns from left to right, and
    rows that look down.
    """
    view = base.capture()
    _check(base, "capture()", view_problem(view))
    _check(base, "capture()", unmeasured_problem(view))
    pose = _pose(base)
    _check(base, "capture()", place_problem(view, pose))
    return view


def _pose(base: LimitedBase) -> dict[str, float]:
    """Return the pose of a base: finite metres, and degrees in [0, 360)."""
    pose = base.pose()
    _check(base, "pose()", pose_problem(pose))
    return dict(pose)


def _metres(base: LimitedBase) -> float:
    """Return the metres that a base reports."""
    report = base.report()
    _check(base, "report()", report_problem(report))
    return float(report["metres"])


def _check(base: LimitedBase, call: str, problem: str) -> None:
    """Assert that there is no problem with the result of a method's call: ``rotate(40)``."""
    method = getattr(type(base.base), call.partition("(")[0])
    assert not problem, f"{place_of(method)}: {call} {problem}"


def _check_moved(base: LimitedBase, moved: MotionResult, what: str) -> None:
    """Assert that a motion has a known result, and succeeded."""
    _check(base, what, motion_problem(moved))
    assert moved.status == "ok", (
        f"{what} was {moved.status} ({moved.reason}); give the robot more room"
    )


def _check_turn(base: LimitedBase, degrees: float) -> None:
    """Turn by some degrees, and assert that the heading changes clockwise by as much.

    Headings are clockwise, as in this library; ROS counts the other way.
    """
    what = f"rotate({degrees:g})"
    before = _pose(base)["heading"]
    _check_moved(base, base.rotate(degrees), what)
    turned = relative(_pose(base)["heading"], before)
    is_radians = abs(turned - math.radians(degrees)) < 0.1
    hint = ": is it in radians?" if is_radians else ""
    assert abs(relative(turned, degrees)) <= TURNED, (
        f"{what}: the heading, clockwise from north, must change by as much, not by {turned:.3g}"
        f"{hint}"
    )

"""Contract test of a base: the behavior that searching agents need from a robot."""

from __future__ import annotations

import math

import numpy as np

from wayword.core.blame import CodeError, describe, place_of, user_frame
from wayword.core.episode import Episode
from wayword.core.geometry import Floats, relative, unit
from wayword.worlds.objectnav.base import (
    Base,
    MotionResult,
    methods_problem,
    motion_problem,
    pose_problem,
    report_problem,
    unmeasured_problem,
    view_problem,
)
from wayword.worlds.objectnav.guarded import LimitedBase
from wayword.worlds.objectnav.observation import View, clear_ahead
from wayword.worlds.objectnav.robot import RosBase

TURNED = 20.0
"""Maximum error of a turn, degrees."""
ARRIVED = 0.35
"""Maximum distance between target and stop, metres: Nav2's own tolerance (0.25) plus a margin."""
IN_RADIANS = 0.1
"""Maximum difference between a number and another one's radians."""
SAME_OBJECT = 0.3
"""Maximum difference between the distances of one object before and after a turn, metres."""
SAME_PLACE = (0.1, 5.0)
"""Maximum difference between a view's pose and ``pose()``, metres and degrees."""


def check_base(
    base: Base, degrees: float = 40.0, metres: float = 0.6, limit: float = 90.0
) -> None:
    """Check a base: that its motions, poses and views agree.

    It turns right by positive degrees, drives to its target and reports its pose, and
    its depth images are not mirrored, as far as the surroundings show it. Objects of its own
    detector are checked only while it sees any: put one in its view. A method may take
    ``limit`` seconds; a robot behind rosbridge has the limits of its settings. Raises
    ``AssertionError`` that names the rule.

    This moves the robot: it turns by ``degrees`` and back, and drives ``metres`` straight
    ahead if depth shows twice that distance free. Keep a hand on the emergency stop.
    """
    problem = methods_problem(base)
    assert not problem, f"{place_of(type(base))}: the base {problem}"
    seconds = None if isinstance(base, RosBase) else limit
    limited = LimitedBase(base, seconds, "check_base")
    try:
        limited.start(Episode("check", "Find the mug.", "robot", {}))
        try:
            _check_started(limited, degrees, metres)
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


def _check_started(base: LimitedBase, degrees: float, metres: float) -> None:
    """Check a base that has started, as :func:`check_base` says."""
    before = _check_view(base)
    _check_turn(base, degrees)
    after = _check_view(base)
    _check_shown(base, before, after, degrees)
    # after a turn to the right, objects on the right are ahead
    shifted, mirrored = (
        _depth_difference(before, after, turn) for turn in (degrees, -degrees)
    )
    wrong = (
        mirrored is not None and shifted is not None and mirrored < 0.05 < 0.2 < shifted
    )
    assert not wrong, (
        "bearings of depth columns are positive to the right; these look mirrored"
    )
    _check_turn(base, -degrees)
    view = _check_view(base)
    if clear_ahead(view.depth, view.eye, 0.0) >= 2 * metres:
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
    _metres(base)


def _check_view(base: LimitedBase) -> View:
    """Return a view, after asserting that it is taken where the body is.

    Its depth image must have a row for each elevation, columns from left to right, and
    rows that look down.
    """
    view = base.capture()
    _check(base, "capture()", view_problem(view))
    _check(base, "capture()", unmeasured_problem(view))
    pose = _pose(base)
    off = math.dist((view.x, view.y), (pose["x"], pose["y"]))
    turned = abs(relative(view.heading, pose["heading"]))
    problem = ""
    if off > SAME_PLACE[0]:
        problem = f"and pose() must agree; they are {off:.2f} m apart"
    elif turned > SAME_PLACE[1]:
        problem = f"and pose() must agree; their headings are {turned:.0f} deg apart"
        headings = (view.heading, pose["heading"])
        pairs = (headings, headings[::-1])
        if any(abs(math.radians(a) - b) < IN_RADIANS for a, b in pairs):
            problem += ": is one in radians?"
    _check(base, "capture()", problem)
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


def _check_shown(base: LimitedBase, before: View, after: View, degrees: float) -> None:
    """Assert that objects which two views show move to the left, as the body turned right between
    them by some degrees.

    Two objects of one name are told apart by their distance.
    """
    for first in before.shown or ():
        same = [
            second
            for second in after.shown or ()
            if second.id == first.id and abs(second.away - first.away) <= SAME_OBJECT
        ]
        if not same:
            continue  # out of view
        expected = relative(first.bearing - degrees, 0.0)
        second = min(same, key=lambda one: abs(relative(one.bearing, expected)))
        problem = ""
        if abs(relative(second.bearing, expected)) > TURNED:
            problem = (
                f"shows {first.words!r} at {first.bearing:.3g} deg, and after "
                f"rotate({degrees:g}) at {second.bearing:.3g}, not near {expected:.3g}: "
                "bearings are degrees to the right of the camera"
            )
        _check(base, "capture()", problem)


def _depth_difference(before: View, after: View, degrees: float) -> float | None:
    """Return the median difference (metres) of two views' depths in the same directions, given that
    the second faces ``degrees`` to the right of the first.

    None if both measured fewer than three of the same directions.
    """
    reach = min(before.depth.reach, after.depth.reach)
    first = _farthest(before, reach)
    second = _farthest(after, reach)
    # Both in the frame of the first view, whose directions are interpolated.
    first_bearings = np.array(before.depth.bearings)
    second_bearings = np.array(after.depth.bearings) + degrees
    known = ~np.isnan(first)
    if not known.any():
        return None
    differences = np.abs(
        np.interp(
            second_bearings,
            first_bearings[known],
            first[known],
            left=np.nan,
            right=np.nan,
        )
        - second
    )
    differences = differences[~np.isnan(differences)]
    return float(np.median(differences)) if len(differences) >= 3 else None


def _farthest(view: View, reach: float) -> Floats:
    """Return (C,) the farthest that a view measured in each direction, up to ``reach`` (metres):
    what is behind low obstacles. NaN where it measured nothing, which is no distance."""
    metres = np.where(view.depth.measured(), view.depth.metres(), -np.inf)
    farthest = np.minimum(metres.max(axis=0), reach)
    return np.where(np.isneginf(farthest), np.nan, farthest)

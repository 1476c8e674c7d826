"""Object-goal navigation in words: the objects truly in view, for text strategies.

Searchers use detectors instead; a text strategy plays with perfect detection.
"""

from __future__ import annotations

import math

import numpy as np

from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer, ViewPart, compass
from wayword.worlds.objectnav.observation import View, is_measured
from wayword.worlds.objectnav.simulated import STEP

BODY_RADIUS = 0.19
"""0.20 m, the simulated body's, less the 0.01 m to which depth is rounded. The body is round:
obstacles off its axis stop it later than those ahead, or not at all."""
OBSTACLE_HEIGHTS = (0.08, 1.3)
"""Metres above the floor between which a surface stops a body. Chosen for the texts alone: the
costmap and ``BODY_HEIGHTS`` have 0.1 and 1.4."""
CLEARANCE_ANGLES = (-30, 0, 30)  # degrees from straight ahead, all inside the view


def around(view: View) -> str:
    """Return a line on the objects in view, nearest first, then one on the free distances.

    The first is left out without a detector; the free distances are always the last line.
    """
    free = [
        f"{_distance_text(metres, view.depth.reach)} {_side_text(side)}"
        for side, metres in clearances(view)
    ]
    clearance_text = f"Free way: {', '.join(free)}."
    # Without a detector nothing is known of objects: not the same as an empty view.
    if view.shown is None:
        return clearance_text
    objects = []
    for shown in sorted(view.shown, key=lambda shown: shown.distance):
        direction = _bearing_text(shown.bearing)
        objects.append(f"{shown.words} ({direction}, {shown.distance:.1f} m)")
    objects_text = "There is nothing in view."
    if objects:
        objects_text = f"In view: {', '.join(objects)}."
    return f"{objects_text}\n{clearance_text}"


# Degrees from straight ahead to which an object counts as ahead.
_AHEAD = 15


def _view_parts(view: View, _: object) -> list[ViewPart]:
    """Return the free way, then the objects in view by their side, with bearing and distance."""
    lines = around(view).splitlines()
    view_parts = [ViewPart("ahead", lines[-1])]  # the free way
    for shown in view.shown or ():
        direction = "ahead"
        if abs(shown.bearing) > _AHEAD:
            direction = "right"
        if shown.bearing < -_AHEAD:
            direction = "left"
        measure = f"{_bearing_text(shown.bearing)}, {shown.distance:.1f} m"
        text = f"{shown.words} ({measure})."
        view_parts.append(ViewPart(direction, text, shown.words, measure))
    return view_parts


def _distance_text(metres: float, reach: float) -> str:
    """Return a free distance in words; depth reaches ``reach`` metres."""
    if math.isnan(metres):
        return "unknown"
    if metres < reach:
        return f"{metres:.1f} m"
    return f"{reach:g} m or more"


def _side_text(side: int) -> str:
    """Return a direction of a clearance in words, from degrees."""
    if side < 0:
        return f"{-side}° to the left"
    if side > 0:
        return f"{side}° to the right"
    return "ahead"


def _bearing_text(bearing: float) -> str:
    """Return the direction of an object in words; below 5 degrees it counts as ahead."""
    if abs(bearing) < 5:
        return "ahead"
    if bearing < 0:
        return f"left {-bearing:.0f}°"
    return f"right {bearing:.0f}°"


def clearances(view: View) -> list[tuple[int, float]]:
    """Return the free metres in each of ``CLEARANCE_ANGLES``, up to the reach of depth.

    NaN where too few rays measured anything (:func:`is_measured`).
    """
    ahead, right, height = view.depth.points(view.eye)
    # Lower surfaces are floor; the body passes below higher ones.
    is_obstacle = (height > OBSTACLE_HEIGHTS[0]) & (height < OBSTACLE_HEIGHTS[1])
    ahead = ahead[is_obstacle]
    right = right[is_obstacle]
    metres = []
    for side in CLEARANCE_ANGLES:
        # The points in a frame that is turned to this side
        angle = np.radians(side)
        along = ahead * np.cos(angle) + right * np.sin(angle)
        across = right * np.cos(angle) - ahead * np.sin(angle)
        # The path of a disc: points within its radius to both sides, in front of it. It is free up
        # to where the disc's rim, not its center, meets the first of them.
        is_in_path = (np.abs(across) < BODY_RADIUS) & (along > 0)
        distances = along[is_in_path] - np.sqrt(
            BODY_RADIUS**2 - across[is_in_path] ** 2
        )
        clearance = float(distances.min()) if len(distances) else view.depth.reach
        clearance = max(0.0, min(clearance, view.depth.reach))
        # What few rays saw says little: without a point a direction is free only if most measured.
        if not is_measured(view.depth, side):
            clearance = math.nan
        metres.append((side, clearance))
    return metres


def feedback(result: Feedback) -> str:
    """Return the result of a motion as a sentence."""
    action = result.details.get("action")
    metres = result.details.get("metres", 0.0)
    if action == "stop":
        return "You stopped."
    text = "You turned." if action == "rotate" else f"You went {metres:.2f} m."
    if not result.ok:
        causes = {
            "refused": "The robot refused",
            "cancelled": "The motion was cancelled",
            "lost": "The robot could not be reached",
        }
        cause = causes.get(result.status, "Something is in the way")
        text = f"{cause}: you went {metres:.2f} m."
    # A reason that the sentence begins with is not repeated.
    reason = str(result.details.get("reason") or "")
    if not reason or text.lower().startswith(reason.lower()):
        return text
    return f"{text} ({reason})"


def _state(view: View) -> tuple[SelfState, str]:
    """Return the body's heading, with a sentence on its position."""
    text = f"You are at x = {view.x:.2f} m, y = {view.y:.2f} m. You face {compass(view.heading)}."
    return SelfState("", view.heading), text


verbalizer = Verbalizer(
    "objectnav",
    _state,
    lambda view, _: around(view),
    feedback,
    briefing=lambda space: {"step": f"{STEP:g} m"},
    view_parts=_view_parts,
)

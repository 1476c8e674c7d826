"""The finding world in words: what is truly in view, for strategies that read.

Searchers have detectors and read none of this; a text strategy plays with a perfect eye.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wayword.core.action import ActionSpace
from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer, compass
from wayword.worlds.objectnav.observation import Shown, View
from wayword.worlds.objectnav.simulated import STEP

BODY = 0.19
"""A body's radius, metres, less the centimetre to which depth is rounded. The body is round: what
lies to its side stops it later than what lies ahead, or not at all."""
LOW, HIGH = 0.08, 1.3
"""Metres above the floor between which a surface stops a body."""
WAYS = (-30, 0, 30)
"""Degrees from straight ahead, inside the view, in which the free way is told."""


def around(seen: View) -> str:
    """What is in view, nearest first, where that is known; how far one can go straight on."""
    ways, reach = [], seen.depth.reach
    for side, metres in free_ways(seen):
        far = f"{metres:.1f} m" if metres < reach else f"{reach:g} m or more"
        where = f"{abs(side)}° to the {'left' if side < 0 else 'right'}" if side else "ahead"
        ways.append(f"{far} {where}")
    free = f"Free way: {', '.join(ways)}."
    if seen.shown is None:
        return free
    near = sorted(seen.shown, key=lambda thing: thing.distance)
    things = ", ".join(map(_told, near))
    return f"{f'In view: {things}.' if things else 'There is nothing in view.'}\n{free}"


def free_ways(seen: View) -> list[tuple[int, float]]:
    """Each of ``WAYS`` with the metres that a body can go that way, as far as depth shows."""
    ahead, right, height = seen.depth.points(seen.eye)
    stops = (height > LOW) & (height < HIGH)
    ahead, right = ahead[stops], right[stops]
    found = []
    for side in WAYS:
        angle = np.radians(side)
        along = ahead * np.cos(angle) + right * np.sin(angle)
        across = right * np.cos(angle) - ahead * np.sin(angle)
        met = (np.abs(across) < BODY) & (along > 0)
        hit = along[met] - np.sqrt(BODY**2 - across[met] ** 2)
        free = float(hit.min()) if len(hit) else seen.depth.reach
        found.append((side, max(0.0, min(free, seen.depth.reach))))
    return found


def briefing(space: ActionSpace) -> Mapping[str, str]:
    """The numbers that its rules name."""
    return {"step": f"{STEP:g} m"}


def feedback(told: Feedback) -> str:
    """What came of a motion."""
    action, metres = told.details.get("action"), told.details.get("metres", 0.0)
    if action == "stop":
        return "You stopped."
    if not told.ok:
        return f"Something is in the way: you went {metres:.2f} m."
    return "You turned." if action == "rotate" else f"You went {metres:.2f} m."


def _told(thing: Shown) -> str:
    side = "ahead" if abs(thing.bearing) < 5 else "left" if thing.bearing < 0 else "right"
    off = "" if side == "ahead" else f" {abs(thing.bearing):.0f}°"
    return f"{thing.words} ({side}{off}, {thing.distance:.1f} m)"


def _own(seen: View) -> tuple[SelfState, str]:
    told = f"You are at x = {seen.x:.2f} m, y = {seen.y:.2f} m. You face {compass(seen.heading)}."
    return SelfState("", seen.heading), told


verbalizer = Verbalizer("objectnav", _own, lambda seen, _: around(seen), feedback, briefing)

"""The finding world in words: what is truly in view, for strategies that read.

Searchers have detectors and read none of this; a text strategy plays with a perfect eye.
"""

from __future__ import annotations

from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer, compass
from wayword.worlds.objectnav.observation import Shown, View


def place(seen: View) -> str:
    """Where the body is, by its own reckoning."""
    return f"You are at x = {seen.x:.2f} m, y = {seen.y:.2f} m."


def around(seen: View) -> str:
    """What is in view, nearest first, and how far one can go straight on."""
    things = ", ".join(map(_told, seen.shown))
    return f"In view: {things}." if things else "There is nothing in view."


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
    return f"{thing.words} ({side}{off}, {thing.away:.1f} m)"


# The family in the form that every agent understands.


def _own(seen: View) -> tuple[SelfState, str]:
    return SelfState("", seen.heading), f"{place(seen)} You face {compass(seen.heading)}."


verbalizer = Verbalizer("other", _own, lambda seen, _: around(seen), feedback)

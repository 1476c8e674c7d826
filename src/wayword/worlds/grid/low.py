"""Single motions: one action of the level each, and why it may come to nothing.

Time passes with every one of them, as in the package; nothing else changes when one fails.
"""

from __future__ import annotations

from typing import Any

from wayword.core.episode import Json
from wayword.worlds.grid.level import DROP, FORWARD, LEFT, PICK_UP, RIGHT, TOGGLE, Level
from wayword.worlds.grid.view import Names

CODES = {
    "move_ahead": FORWARD,
    "turn_left": LEFT,
    "turn_right": RIGHT,
    "pick_up": PICK_UP,
    "drop": DROP,
    "toggle": TOGGLE,
}
"""Verb -> the package's action."""
LOW = (*CODES, "stop")

OK = "ok"
BLOCKED = "blocked"  # a wall, a thing or a shut door is in the way
NOTHING_THERE = "nothing_there"  # the square ahead is empty
NOT_PICKUPABLE = "not_pickupable"
NOT_OPENABLE = "not_openable"
HANDS_FULL = "hands_full"
HANDS_EMPTY = "hands_empty"
TAKEN = "taken"  # the square ahead is not free to put something on
LOCKED = "locked"  # and its key is not in hand
ALREADY_OPEN = "already_open"
ALREADY_HELD = "already_held"
NO_SUCH_OBJECT = "no_such_object"  # no thing of that name has been seen, or it is gone
NO_PATH = "no_path"  # through what has been seen, as things and doors are
NOTHING_UNSEEN = "nothing_unseen"  # nothing unseen can be walked to

FAILURES: dict[str, tuple[str, ...]] = {
    "move_ahead": (BLOCKED,),
    "turn_left": (),
    "turn_right": (),
    "pick_up": (NOTHING_THERE, NOT_PICKUPABLE, HANDS_FULL),
    "drop": (HANDS_EMPTY, TAKEN),
    "toggle": (NOTHING_THERE, NOT_OPENABLE, LOCKED),
    "goto": (NO_SUCH_OBJECT, ALREADY_HELD, NO_PATH),
    "go_grab": (NO_SUCH_OBJECT, ALREADY_HELD, NO_PATH, NOT_PICKUPABLE, HANDS_FULL),
    "go_open": (NO_SUCH_OBJECT, ALREADY_HELD, NO_PATH, NOT_OPENABLE, LOCKED, ALREADY_OPEN),
    "go_put": (NO_SUCH_OBJECT, ALREADY_HELD, NO_PATH, HANDS_EMPTY),
    "go_explore": (NOTHING_UNSEEN,),
    "stop": (),
}
"""Verb -> the failures it can answer with. Each pair has a test."""

Outcome = tuple[str, dict[str, Json]]
"""A status and its details."""


def primitive(level: Level, names: Names, verb: str) -> Outcome:
    """Carry out a single motion; its outcome is read off the level before."""
    outcome = _CHECKS[verb](level, names) if verb in _CHECKS else (OK, {})
    level.act(CODES[verb])
    return outcome


def openable(level: Level, names: Names, thing: Any) -> Outcome | None:
    """Why a thing cannot be opened; None where it can."""
    if thing.type not in ("door", "box"):
        return NOT_OPENABLE, {"object": called(names, thing)}
    if thing.type == "door" and thing.is_locked:
        held = level.carried
        if held is None or held.type != "key" or held.color != thing.color:
            return LOCKED, {"object": names.call(thing), "key": f"{thing.color} key"}
    return None


def called(names: Names, thing: Any) -> str:
    """A thing's name; walls have none of their own."""
    return "a wall" if thing.type == "wall" else names.call(thing)


def _move(level: Level, names: Names) -> Outcome:
    there = level.front()
    if there is None or there.can_overlap():
        return OK, {}
    return BLOCKED, {"by": called(names, there)}


def _pick_up(level: Level, names: Names) -> Outcome:
    there = level.front()
    if there is None:
        return NOTHING_THERE, {}
    name = called(names, there)
    if not there.can_pickup():
        return NOT_PICKUPABLE, {"object": name}
    if level.carried is not None:
        return HANDS_FULL, {"holding": names.call(level.carried)}
    return OK, {"object": name}


def _drop(level: Level, names: Names) -> Outcome:
    if level.carried is None:
        return HANDS_EMPTY, {}
    there = level.front()
    if there is not None:
        return TAKEN, {"by": called(names, there)}
    return OK, {"object": names.call(level.carried)}


def _toggle(level: Level, names: Names) -> Outcome:
    there = level.front()
    if there is None:
        return NOTHING_THERE, {}
    failed = openable(level, names, there)
    if failed:
        return failed
    opens = there.type == "box" or not there.is_open
    return OK, {"object": names.call(there), "opens": opens}


_CHECKS = {"move_ahead": _move, "pick_up": _pick_up, "drop": _drop, "toggle": _toggle}

"""Every status a verb can answer with, and which verb can fail how.

The sentence for each is in ``wayword.verbalize.rooms``. A failed action changes nothing.
"""

from __future__ import annotations

OK = "ok"
BLOCKED = "blocked"  # a wall, a shut door, furniture or another body is in the way
NO_SUCH_OBJECT = "no_such_object"  # nobody has seen a thing of that name
NO_SUCH_ROOM = "no_such_room"
NOT_VISIBLE = "not_visible"  # known by name, but not in view now
CLOSED = "closed"  # it is, or was last seen, in something that is shut
TOO_FAR = "too_far"
HANDS_FULL = "hands_full"
HANDS_EMPTY = "hands_empty"
NOT_HOLDING = "not_holding"
ALREADY_HELD = "already_held"
NOT_PICKUPABLE = "not_pickupable"
NOT_RECEPTACLE = "not_receptacle"
FULL = "full"
DOES_NOT_FIT = "does_not_fit"  # the receptacle does not take things of that type
INSIDE_ITSELF = "inside_itself"
NOT_OPENABLE = "not_openable"
ALREADY_OPEN = "already_open"
ALREADY_CLOSED = "already_closed"
RUNNING = "running"  # an appliance that is on does not open
NOT_TOGGLEABLE = "not_toggleable"
ALREADY_ON = "already_on"
ALREADY_OFF = "already_off"
MUST_BE_CLOSED = "must_be_closed"  # an open appliance does not start
NOT_SLICEABLE = "not_sliceable"
ALREADY_SLICED = "already_sliced"
WRONG_TOOL = "wrong_tool"  # no knife in hand; a heater that does not heat
NO_PATH = "no_path"
NOBODY_LISTENS = "nobody_listens"
NOBODY_ANSWERS = "nobody_answers"

_TOUCH = (NO_SUCH_OBJECT, NOT_VISIBLE, CLOSED, TOO_FAR)
_TAKE = (NOT_PICKUPABLE, HANDS_FULL, ALREADY_HELD)
_PLACE = (NOT_RECEPTACLE, FULL, DOES_NOT_FIT, INSIDE_ITSELF)
_WALK = (NO_SUCH_OBJECT, NOT_VISIBLE, NO_PATH)
_TREAT = (*_WALK, NOT_HOLDING, WRONG_TOOL, FULL, DOES_NOT_FIT)

FAILURES: dict[str, tuple[str, ...]] = {
    "move_ahead": (BLOCKED,),
    "turn_left": (),
    "turn_right": (),
    "pan_left": (BLOCKED,),
    "pan_right": (BLOCKED,),
    "pick_up": (*_TOUCH, *_TAKE),
    "drop": (NO_SUCH_OBJECT, NOT_HOLDING),
    "put": (*_TOUCH, NOT_HOLDING, *_PLACE),
    "open": (*_TOUCH, NOT_OPENABLE, ALREADY_OPEN, RUNNING),
    "close": (*_TOUCH, NOT_OPENABLE, ALREADY_CLOSED, BLOCKED),
    "toggle_on": (*_TOUCH, NOT_TOGGLEABLE, ALREADY_ON, MUST_BE_CLOSED),
    "toggle_off": (*_TOUCH, NOT_TOGGLEABLE, ALREADY_OFF),
    "slice": (*_TOUCH, NOT_SLICEABLE, ALREADY_SLICED, WRONG_TOOL),
    "goto": _WALK,
    "heat": (*_TREAT, RUNNING),
    "cool": _TREAT,
    "clean": _TREAT,
    "go_explore": (NO_SUCH_ROOM, NO_PATH),
    "go_check": (*_WALK, NOT_RECEPTACLE, RUNNING),
    "go_grab": (*_WALK, CLOSED, *_TAKE),
    "go_put": (*_WALK, HANDS_EMPTY, *_PLACE, RUNNING),
    "chat": (NOBODY_LISTENS,),
    "ask": (NOBODY_ANSWERS,),
    "stop": (),
}
"""Verb -> the failures it can answer with. Each pair has a test."""

STATUSES: tuple[str, ...] = (
    OK,
    *sorted({status for fails in FAILURES.values() for status in fails}),
)

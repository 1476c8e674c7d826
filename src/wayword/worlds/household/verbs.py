"""The verbs: what each takes, and which failures it can answer with.

Source: LangSuitE (Jia et al. 2024), Tables 2 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest

# Every status a verb can answer with, and which verb can fail how.
#
# The sentence for each is in ``wayword.verbalize.household``. A failed action changes nothing.

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
NO_SWITCH = "no_switch"  # what turns an appliance on (a stove knob, a faucet) was not seen yet
NO_PATH = "no_path"
NOBODY_LISTENS = "nobody_listens"
NOBODY_ANSWERS = "nobody_answers"

_TOUCH = (NO_SUCH_OBJECT, NOT_VISIBLE, CLOSED, TOO_FAR)
_TAKE = (NOT_PICKUPABLE, HANDS_FULL, ALREADY_HELD)
_PLACE = (NOT_RECEPTACLE, FULL, DOES_NOT_FIT, INSIDE_ITSELF)
_WALK = (NO_SUCH_OBJECT, NOT_VISIBLE, NO_PATH)
_TREAT = (*_WALK, NOT_HOLDING, WRONG_TOOL, FULL, DOES_NOT_FIT)
_SWITCHED = (NO_SWITCH,)

FAILURES: dict[str, tuple[str, ...]] = {
    "move_ahead": (BLOCKED,),
    "turn_left": (),
    "turn_right": (),
    "pan_left": (BLOCKED,),
    "pan_right": (BLOCKED,),
    "wait": (),
    "pick_up": (*_TOUCH, *_TAKE),
    "drop": (NO_SUCH_OBJECT, NOT_HOLDING),
    "put": (*_TOUCH, NOT_HOLDING, *_PLACE),
    "open": (*_TOUCH, NOT_OPENABLE, ALREADY_OPEN, RUNNING),
    "close": (*_TOUCH, NOT_OPENABLE, ALREADY_CLOSED, BLOCKED),
    "toggle_on": (*_TOUCH, NOT_TOGGLEABLE, ALREADY_ON, MUST_BE_CLOSED),
    "toggle_off": (*_TOUCH, NOT_TOGGLEABLE, ALREADY_OFF),
    "slice": (*_TOUCH, NOT_SLICEABLE, ALREADY_SLICED, WRONG_TOOL),
    "goto": _WALK,
    "heat": (*_TREAT, *_SWITCHED, RUNNING),
    "cool": _TREAT,
    "clean": (*_TREAT, *_SWITCHED),
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
Slot = Literal["object", "held", "receptacle", "place", "room", "tool", "text"]
"""What an argument is. All but ``room`` and ``text`` are names such as ``fridge_1``."""


@dataclass(frozen=True, slots=True)
class Verb:
    """``level`` is low, high or speech; ``slots`` are the arguments, in order."""

    name: str
    level: Literal["low", "high", "speech"]
    slots: tuple[Slot, ...] = ()
    needs: str = ""
    """The affordance that makes a thing worth listing on the menu for this verb."""


VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("move_ahead", "low"),
        Verb("turn_left", "low"),
        Verb("turn_right", "low"),
        Verb("pan_left", "low"),
        Verb("pan_right", "low"),
        Verb("wait", "low"),
        Verb("pick_up", "low", ("object",), "pickupable"),
        Verb("drop", "low", ("held",)),
        Verb("put", "low", ("held", "receptacle")),
        Verb("open", "low", ("object",), "openable"),
        Verb("close", "low", ("object",), "openable"),
        Verb("toggle_on", "low", ("object",), "toggleable"),
        Verb("toggle_off", "low", ("object",), "toggleable"),
        Verb("slice", "low", ("object",), "sliceable"),
        Verb("goto", "high", ("place",)),
        Verb("heat", "high", ("held", "tool"), "heater"),
        Verb("cool", "high", ("held", "tool"), "cooler"),
        Verb("clean", "high", ("held", "tool"), "cleaner"),
        Verb("go_explore", "high", ("room",)),
        Verb("go_check", "high", ("receptacle",)),
        Verb("go_grab", "high", ("object",), "pickupable"),
        Verb("go_put", "high", ("receptacle",)),
        Verb("chat", "speech", ("text",)),
        Verb("ask", "speech", ("text",)),
        Verb("stop", "low"),
    )
}
"""Every verb, in menu order. ``stop`` also takes one text, the answer."""

LOW_LEVEL = tuple(name for name, verb in VERBS.items() if verb.level == "low")
HIGH_LEVEL = tuple(name for name, verb in VERBS.items() if verb.level == "high")
SPEECH = tuple(name for name, verb in VERBS.items() if verb.level == "speech")


def well_formed(name: str, arguments: tuple[str, ...]) -> bool:
    """Whether a verb of that name takes that many arguments, none of them empty."""
    verb = VERBS.get(name)
    if verb is None:
        return False
    if name == "stop":
        return len(arguments) <= 1
    return len(arguments) == len(verb.slots) and all(arguments)


# Body: what an actor is able to see, reach, carry and do.
#
# Source: LangSuitE (Jia et al. 2024), Appendix E, Table 8.


@dataclass(frozen=True, slots=True)
class Body:
    """``Body(focal_length=10, view_distance=5, inventory_capacity=2)``.

    Lengths are metres. ``focal_length`` sets the width of the view, 2·atan(18 / f) (10 gives
    121.9°). ``manipulation_distance`` is measured to the nearest point of a thing's box.
    ``pan_degrees`` is how far pan_left and pan_right turn, a divisor of 90; 0 makes them side
    steps, as in the paper's Table 9. ``radius`` keeps the body off walls and furniture;
    one of radius 0 floats: walls do not stop it, and it is in nobody's way.
    ``step_limit`` counts actions (0: no limit). ``actions`` lists the verbs it knows; with
    ``answers`` it may stop with one, as questions want it.
    """

    focal_length: float = 10.0
    view_distance: float = 6.0
    manipulation_distance: float = 1.5
    step: float = 0.25
    pan_degrees: float = 30.0
    inventory_capacity: int = 1
    step_limit: int = 0
    radius: float = 0.2
    eye: float = 1.5
    actions: tuple[str, ...] = tuple(VERBS)
    answers: bool = True

    open_verbs: tuple[str, ...] = field(init=False, repr=False)
    """Those of its verbs that take free text."""

    def __post_init__(self) -> None:
        open_verbs = (*SPEECH, "stop") if self.answers else SPEECH
        spoken = tuple(verb for verb in open_verbs if verb in self.actions)
        object.__setattr__(self, "open_verbs", spoken)
        for name in ("focal_length", "view_distance", "manipulation_distance", "step", "eye"):
            if not getattr(self, name) > 0:
                raise UsageError(f"body: {name} must be above 0, not {getattr(self, name)!r}")
        if self.pan_degrees < 0 or (self.pan_degrees and 90 % self.pan_degrees):
            raise UsageError(f"body: pan_degrees must divide 90, not {self.pan_degrees!r}")
        for verb in self.actions:
            if verb not in VERBS:
                raise UsageError(f"body: no action {verb!r}; {suggest(verb, list(VERBS))}")

    @property
    def view_angle(self) -> float:
        """The width of the view in degrees."""
        return 2 * math.degrees(math.atan(18 / self.focal_length))

    @property
    def fine_turn(self) -> float:
        """The smallest turn in degrees."""
        return self.pan_degrees or 90.0


def from_json(record: Mapping[str, Json], base: Body | None = None) -> Body:
    """A body with the given fields changed. Raises ``UsageError`` for an unknown field."""
    known = [spec.name for spec in fields(Body) if spec.init]
    for name in record:
        if name not in known:
            raise UsageError(f"body: no field {name!r}; {suggest(name, known)}")
    values = {name: getattr(base or Body(), name) for name in known} | dict(record)
    values["actions"] = tuple(values["actions"])
    return Body(**values)

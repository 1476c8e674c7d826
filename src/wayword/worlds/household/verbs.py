"""The verbs with their arguments and failures, and the body that uses them.

Source: LangSuitE (Jia et al. 2024), Tables 2, 8 and 9.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from typing import Literal

from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, suggest

Slot = Literal["object", "held", "receptacle", "place", "room", "tool", "text"]
"""Kinds of arguments. All but ``room`` and ``text`` are names such as ``fridge_1``."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with its arguments and failures. A failed action changes nothing.

    ``slots`` are the kinds of its arguments, in order. ``needs`` is the affordance that
    objects must have to be listed on the menu. ``failures`` are the statuses of failed
    actions, each with a sentence in ``sentences.toml``.
    """

    name: str
    level: Literal["low", "high", "speech"]
    slots: tuple[Slot, ...] = ()
    needs: str = ""
    failures: tuple[str, ...] = ()


# Statuses that several verbs share.
_TOUCH = (
    "no_such_object",
    "not_visible",
    "closed",
    "too_far",
)
_TAKE = ("not_pickupable", "hands_full", "already_held")
_PLACE = (
    "not_receptacle",
    "full",
    "does_not_fit",
    "inside_itself",
    "no_spot",
)
_WALK = ("no_such_object", "not_visible", "no_path")
_TREAT = (
    "no_such_object",
    "not_visible",
    "no_path",
    "not_holding",
    "wrong_tool",
    "full",
    "does_not_fit",
)

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("move_ahead", "low", failures=("blocked",)),
        Verb("turn_left", "low"),
        Verb("turn_right", "low"),
        Verb("pan_left", "low", failures=("blocked",)),
        Verb("pan_right", "low", failures=("blocked",)),
        Verb("wait", "low"),
        Verb(
            "pick_up",
            "low",
            ("object",),
            needs="pickupable",
            failures=(*_TOUCH, *_TAKE),
        ),
        Verb("drop", "low", ("held",), failures=("no_such_object", "not_holding")),
        Verb(
            "put",
            "low",
            ("held", "receptacle"),
            failures=(*_TOUCH, "not_holding", *_PLACE),
        ),
        Verb(
            "open",
            "low",
            ("object",),
            needs="openable",
            failures=(*_TOUCH, "not_openable", "already_open", "running"),
        ),
        Verb(
            "close",
            "low",
            ("object",),
            needs="openable",
            failures=(*_TOUCH, "not_openable", "already_closed", "blocked"),
        ),
        Verb(
            "toggle_on",
            "low",
            ("object",),
            needs="toggleable",
            failures=(*_TOUCH, "not_toggleable", "already_on", "must_be_closed"),
        ),
        Verb(
            "toggle_off",
            "low",
            ("object",),
            needs="toggleable",
            failures=(*_TOUCH, "not_toggleable", "already_off"),
        ),
        Verb(
            "slice",
            "low",
            ("object",),
            needs="sliceable",
            failures=(*_TOUCH, "not_sliceable", "already_sliced", "wrong_tool"),
        ),
        Verb("goto", "high", ("place",), failures=(*_WALK,)),
        Verb(
            "heat",
            "high",
            ("held", "tool"),
            needs="heater",
            failures=(*_TREAT, "no_switch", "running"),
        ),
        Verb("cool", "high", ("held", "tool"), needs="cooler", failures=(*_TREAT,)),
        Verb(
            "clean",
            "high",
            ("held", "tool"),
            needs="cleaner",
            failures=(*_TREAT, "no_switch"),
        ),
        Verb("go_explore", "high", ("room",), failures=("no_such_room", "no_path")),
        Verb(
            "go_check",
            "high",
            ("receptacle",),
            failures=(*_WALK, "not_receptacle", "running"),
        ),
        Verb(
            "go_grab",
            "high",
            ("object",),
            needs="pickupable",
            failures=(*_WALK, "closed", *_TAKE),
        ),
        Verb(
            "go_put",
            "high",
            ("receptacle",),
            failures=(*_WALK, "hands_empty", *_PLACE, "running"),
        ),
        Verb("chat", "speech", ("text",), failures=("no_listener",)),
        Verb("ask", "speech", ("text",), failures=("no_answer",)),
        Verb("stop", "low"),
    )
}
"""All verbs, in menu order. ``stop`` also takes an answer as text; ``put`` and ``go_put`` also take
a spot as last argument (:func:`parse_spot`)."""

# Sorted, so that the list does not depend on the order of the verbs.
STATUSES = (
    "ok",
    *sorted(set().union(*(verb.failures for verb in VERBS.values()))),
)
LOW_LEVEL = tuple(name for name, verb in VERBS.items() if verb.level == "low")
HIGH_LEVEL = tuple(name for name, verb in VERBS.items() if verb.level == "high")
SPEECH = tuple(name for name, verb in VERBS.items() if verb.level == "speech")


_ARGUMENT_COUNTS: dict[str, tuple[int, ...]] = {
    name: (len(verb.slots),) for name, verb in VERBS.items()
}
# A spot on the receptacle is one argument more.
_ARGUMENT_COUNTS |= {"put": (2, 3), "go_put": (1, 2)}


def is_well_formed(name: str, arguments: tuple[str, ...]) -> bool:
    """True if the verb exists and takes that many arguments, none of them empty."""
    # A stop may carry an answer, which is the only optional argument besides spots.
    if name == "stop":
        return len(arguments) <= 1
    return len(arguments) in _ARGUMENT_COUNTS.get(name, ()) and all(arguments)


_OFFSET = r"[0-9]+(\.[0-9]+)? m (east|west|north|south)"
SPOT_PATTERN = rf"({_OFFSET}( and {_OFFSET})?( of the middle)?|(in the )?middle)"
"""Spots on furniture, in the syntax of regular expressions that constrained decoding supports."""


def parse_spot(text: str) -> tuple[float, float] | None:
    """Return metres east and north of the middle of a piece of furniture; None if invalid.

    >>> parse_spot("0.8 m west and 0.2 m north of the middle")
    (-0.8, 0.2)
    """
    if not re.fullmatch(SPOT_PATTERN, text):
        return None
    metres = dict.fromkeys(("east", "west", "north", "south"), 0.0)
    # Two offsets of one spot add up, whatever their order.
    for number, side in re.findall(r"([\d.]+) m (\w+)", text):
        metres[side] += float(number)
    return metres["east"] - metres["west"], metres["north"] - metres["south"]


@dataclass(frozen=True, slots=True)
class Body:
    """Parameters of an actor: ``Body(focal_length=10, view_distance=5, inventory_capacity=2)``.

    Lengths are metres. ``focal_length`` sets the view angle, 2·atan(18 / f) (10 gives 121.9°).
    ``manipulation_distance`` is measured to the nearest point of an object's box.
    ``pan_degrees`` is the turn of pan_left and pan_right, a divisor of 90; 0 makes them side
    steps, as in the paper's Table 9. ``radius`` keeps the body off walls and furniture; one of
    radius 0 passes through walls and blocks no one. ``step_limit`` counts actions (0: no limit).
    ``actions`` lists its verbs; ``answers``: it may give an answer when it stops.
    ``looks_around``: until its first action it also sees the furniture of its room, on all sides
    and at any distance, as LangSuitE's agents with skills do.
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
    looks_around: bool = False

    open_verbs: tuple[str, ...] = field(init=False, repr=False)
    """Its verbs that take free text."""

    def __post_init__(self) -> None:
        # Without an answer, a stop has nothing to say.
        open_verbs = (*SPEECH, "stop") if self.answers else SPEECH
        spoken = tuple(verb for verb in open_verbs if verb in self.actions)
        # A frozen class sets its derived fields like this.
        object.__setattr__(self, "open_verbs", spoken)
        # ``not > 0`` also refuses NaN, which every comparison fails.
        for name in (
            "focal_length",
            "view_distance",
            "manipulation_distance",
            "step",
            "eye",
        ):
            if not getattr(self, name) > 0:
                raise UsageError(
                    f"body: {name} must be above 0, got {getattr(self, name)!r}"
                )
        # Quarter turns have to be whole numbers of pans, or headings would never meet.
        if self.pan_degrees < 0 or (self.pan_degrees and 90 % self.pan_degrees):
            raise UsageError(
                f"body: pan_degrees must divide 90 or be 0, got {self.pan_degrees!r}"
            )
        for verb in self.actions:
            if verb not in VERBS:
                raise UsageError(
                    f"body: unknown action {verb!r}; {suggest(verb, VERBS)}"
                )

    @property
    def view_angle(self) -> float:
        """Horizontal field of view in degrees."""
        # 36 mm is the width of full-frame film; half of it over the focal length is the
        # tangent.
        return 2 * math.degrees(math.atan(18 / self.focal_length))

    @property
    def fine_turn(self) -> float:
        """Smallest turn of the body, in degrees."""
        return self.pan_degrees or 90.0


def from_json(record: JsonObject, base: Body | None = None) -> Body:
    """Return a body with the given fields changed. Raises ``UsageError`` for an unknown field."""
    # Derived fields cannot be set.
    names = [spec.name for spec in fields(Body) if spec.init]
    for name in record:
        if name not in names:
            raise UsageError(f"body: unknown field {name!r}; {suggest(name, names)}")
    # Fields that a record leaves out come from the world's default body.
    values = {name: getattr(base or Body(), name) for name in names} | dict(record)
    # JSON has lists; a body is compared and hashed.
    values["actions"] = tuple(values["actions"])
    return Body(**values)

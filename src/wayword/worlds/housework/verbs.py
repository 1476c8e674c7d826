"""The verbs: what each takes, and which failures it can answer with.

Source: LangSuitE (Jia et al. 2024), Tables 2 and 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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

"""Any world in words: surroundings, the actor's own state, feedback.

A family without a verbalizer is described field by field and feedback by its status, so agents that
use this module can play new families immediately.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any

from wayword.core.action import ActionSpace
from wayword.core.blame import CodeError, place_of
from wayword.core.field_types import value_problem
from wayword.core.geometry import sector
from wayword.core.perceiver import Perceiver
from wayword.core.world import SLIPPED, Family, Feedback, Observation

COMPASS = (
    "north",
    "north-east",
    "east",
    "south-east",
    "south",
    "south-west",
    "west",
    "north-west",
)


@dataclass(frozen=True, slots=True)
class SelfState:
    """An actor's state as it knows it.

    The name of its place (or empty), its absolute ``heading`` (degrees clockwise from
    north) if known, and the objects in its hands, None without hands.
    """

    place: str = ""
    heading: float | None = None
    holding: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ViewPart:
    """A part of a view: its ``direction``, and a ``text`` that describes it, or the ``name`` of an
    object or exit, with its ``measure``: direction and distance in words."""

    direction: str
    text: str = ""
    name: str = ""
    measure: str = ""
    is_exit: bool = False


@dataclass(frozen=True, slots=True)
class Verbalizer:
    """A family in words. ``name`` also names its rules and its list of actions.

    ``self_state`` returns the actor's own state, as values and as a sentence. ``around`` describes
    its surroundings, with the dataset's perceiver if there is one. ``briefing`` returns the slots
    of the rules and the list of actions. ``changes`` describes surroundings without what is in a
    memory of the messages so far, made by ``memory``; None: the family is always described in full.
    ``unpictured`` returns the part of ``around`` that pictures do not replace, and
    ``without_sight`` a result without what the actor saw, for agents that see pictures alone.
    ``view_parts`` divides a view into ``directions``, the one ahead first; None: it is described as
    a whole. ``sees_around``: the view is one in all directions. ``names_arguments``: the view names
    what actions take; if not, and if ``name`` has no list of actions, prompts list the actions
    of each step.
    """

    name: str
    self_state: Callable[[Any], tuple[SelfState, str]]
    around: Callable[[Any, Perceiver | None], str]
    feedback: Callable[[Feedback], str]
    briefing: Callable[[ActionSpace], Mapping[str, str]] = lambda space: {}
    memory: Callable[[], Any] | None = None
    changes: Callable[[Any, Any], str] | None = None
    unpictured: Callable[[Any, Perceiver | None], str] = lambda view, perceiver: ""
    without_sight: Callable[[Feedback], Feedback] = lambda result: result
    view_parts: Callable[[Any, Perceiver | None], Sequence[ViewPart]] | None = None
    directions: Sequence[str] = ("ahead", "left", "right")
    sees_around: bool = False
    names_arguments: bool = False


def verbalizer(observation: Observation) -> Verbalizer:
    """Return the verbalizer of an observation's family; ``PLAIN`` if it has none.

    A verbalizer reads the fields of its own family's observations only.
    """
    family = observation.family
    if family is None:
        return PLAIN
    # A family from outside the package has its own.
    if family.verbalizer is not None:
        return _checked(family)
    # A family of a user may have registered something else under this name.
    registered = family.part("verbalizer")
    return registered if isinstance(registered, Verbalizer) else PLAIN


_OWN_STATE = "(SelfState(…), TEXT), the actor's state and a sentence about it"
_RETURNS: Mapping[str, tuple[Any, str]] = {
    "self_state": (tuple, _OWN_STATE),
    "around": (str, "text"),
    "feedback": (str, "text"),
    "briefing": (Mapping, "a dict of texts"),
    "changes": (str, "text"),
    "unpictured": (str, "text"),
    "without_sight": (Feedback, "Feedback(…)"),
    "view_parts": (Sequence, "a list of ViewPart(…)"),
}
"""Function of a verbalizer -> the type that it must return, and the description of it in errors."""

_ITEMS: Mapping[str, Any] = {
    "self_state": tuple[SelfState, str],
    "view_parts": Sequence[ViewPart],
}
"""Function of a verbalizer -> the type of its value with that of its items."""


def _checked(family: Family) -> Verbalizer:
    """Return a user's verbalizer, whose functions raise ``CodeError`` for values of another type.
    Raises ``CodeError`` if it is none."""
    given = family.verbalizer
    if not isinstance(given, Verbalizer):
        raise CodeError(
            f"the verbalizer of family {family.name!r} must be Verbalizer(…) (from "
            f"wayword.verbalize.generic import Verbalizer), got {given!r:.60}"
        )
    functions: dict[str, Any] = {
        name: _CheckedFunction(name, getattr(given, name))
        for name in _RETURNS
        if getattr(given, name) is not None
    }
    return replace(given, **functions)


@dataclass(frozen=True, slots=True)
class _CheckedFunction:
    """A function of a user's verbalizer. Raises ``CodeError`` for a value of another type."""

    # A class, as environments with a user's verbalizer are pickled.
    name: str
    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        """Return the checked value."""
        value = self.function(*args)
        kinds, expected = _RETURNS[self.name]
        is_valid = isinstance(value, kinds)
        if is_valid and self.name in _ITEMS:
            is_valid = not value_problem(value, _ITEMS[self.name], self.name)
        if not is_valid:
            raise CodeError(
                f"{place_of(self.function)}: {self.name} of the verbalizer must return {expected}, "
                f"got {value!r:.80}"
            )
        return value


def feedback(result: Feedback, verbalizer: Verbalizer) -> str:
    """Return the result of a decision as a sentence; may be empty."""
    # In every family alike: what counts is the answer, not the world.
    if result.status == "rejected":
        reason = result.details.get("reason", "it could not be read")
        return f"Not an action: {reason}."
    if result.status == SLIPPED:
        return "The action failed by chance and changed nothing. You can try it again."
    return verbalizer.feedback(result)


@cache
def sentences(family: str) -> Mapping[str, str]:
    """Return a family's part of ``sentences.toml``: status or ``status.verb`` -> sentence."""
    file = files("wayword.verbalize") / "sentences.toml"
    return dict(tomllib.loads(file.read_text(encoding="utf-8"))[family])


def compass(heading: float) -> str:
    """Return a heading with the nearest of eight compass directions: ``45° (north-east)``."""
    return f"{heading:g}° ({COMPASS[sector(heading)]})"


def _plain_state(observation: Observation) -> tuple[SelfState, str]:
    """Return the heading of an observation that has one, and no text."""
    heading = getattr(observation, "heading", None)
    # Not every family has a direction.
    if not isinstance(heading, int | float):
        return SelfState(), ""
    return SelfState(heading=float(heading)), ""


def _plain_around(observation: Observation, perceiver: Perceiver | None) -> str:
    """Return the fields of an observation, one line each."""
    lines = [
        f"{it.name}: {getattr(observation, it.name)}" for it in fields(observation)
    ]
    return "\n".join(lines)


def _plain_feedback(result: Feedback) -> str:
    """Return the status of an action and its details as text."""
    details = "".join(f", {key}: {value}" for key, value in result.details.items())
    return f"Result: {result.status}{details}."


PLAIN = Verbalizer("other", _plain_state, _plain_around, _plain_feedback)
"""The verbalizer of families without their own."""

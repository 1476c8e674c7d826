"""Any world in words: what an actor sees and knows of itself, what came of it, what is legal.

    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> actions(ActionSpace((Action("goto", ("a",)), Action("goto", ("b",)), STOP), ("chat",)))
    'goto[a or b], stop, chat[...]'

An observation carries its family, and the family has a verbalizer: ``verbalize/indoor.py`` and the
modules beside it. A family without one is described field by field and its feedback by its status,
so that every agent that speaks through here can play it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from wayword.core.action import Action, ActionSpace
from wayword.core.geometry import sector
from wayword.core.perceiver import Perceiver
from wayword.core.world import Feedback, Observation

COMPASS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


@dataclass(frozen=True, slots=True)
class SelfState:
    """What an actor can know of itself.

    ``place`` is what the place is called, empty where it has no name. ``heading`` is absolute
    (degrees clockwise from north), None where it is not known. ``holding`` names what is in the
    hands, None for bodies without hands.
    """

    place: str = ""
    heading: float | None = None
    holding: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Verbalizer:
    """A family in words. ``name`` is also that of its rules and its list of actions.

    ``own``: what the actor knows of itself, as values and as a sentence. ``around``: what it
    perceives, with the help of the dataset's perceiver where there is one. ``feedback``: what came
    of an action of its. ``briefing``: what fills the slots of its rules and list of actions.
    """

    name: str
    own: Callable[[Any], tuple[SelfState, str]]
    around: Callable[[Any, Perceiver | None], str]
    feedback: Callable[[Feedback], str]
    briefing: Callable[[ActionSpace], Mapping[str, str]] = lambda space: {}


def verbalizer(observation: Observation) -> Verbalizer:
    """The verbalizer of the family that an observation is of; ``PLAIN`` where there is none."""
    family = observation.family
    found = None if family is None else family.part("verbalizer")
    return found if isinstance(found, Verbalizer) else PLAIN


def feedback(told: Feedback, speaker: Verbalizer) -> str:
    """What came of a decision, in a sentence; empty where there is nothing to tell."""
    if told.status == "rejected":
        return f"That was no action: {told.details.get('reason', 'it could not be read')}."
    return speaker.feedback(told)


def actions(legal: ActionSpace) -> str:
    """The legal actions, those that differ only in their last argument told together."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for action in legal.listed:
        last = groups.setdefault((action.name, action.arguments[:-1]), [])
        last += action.arguments[-1:]
    closed = [
        str(Action(name, (*first, " or ".join(last)) if last else first))
        for (name, first), last in groups.items()
    ]
    return ", ".join([*closed, *(f"{verb}[...]" for verb in legal.open_verbs)])


def compass(heading: float) -> str:
    """``45° (north-east)``: degrees, and the nearest of the eight main directions."""
    return f"{heading:g}° ({COMPASS[sector(heading)]})"


def _plain_own(seen: Observation) -> tuple[SelfState, str]:
    heading = getattr(seen, "heading", None)
    return SelfState("", float(heading) if isinstance(heading, int | float) else None), ""


def _plain_around(seen: Observation, perceiver: Perceiver | None) -> str:
    return "\n".join(f"{field.name}: {getattr(seen, field.name)}" for field in fields(seen))


def _plain_feedback(told: Feedback) -> str:
    details = "".join(f", {key}: {value}" for key, value in told.details.items())
    return f"Result: {told.status}{details}."


PLAIN = Verbalizer("other", _plain_own, _plain_around, _plain_feedback)
"""For families that have no verbalizer of their own."""

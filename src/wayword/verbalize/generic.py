"""Any world in words: what an actor perceives and knows of itself, results, legal actions.

    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> actions(ActionSpace((Action("goto", ("a",)), Action("goto", ("b",)), STOP), ("chat",)))
    'goto[a or b], stop, chat[...]'

An observation carries its family, and the family has a verbalizer (``verbalize/indoor.py`` and so
on). A family without one is described field by field, its feedback by status, so that every agent
that uses this module can play it at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from wayword.core.action import Action, ActionSpace
from wayword.core.geometry import sector
from wayword.core.perceiver import Perceiver
from wayword.core.world import SLIPPED, Feedback, Observation

COMPASS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


@dataclass(frozen=True, slots=True)
class SelfState:
    """State that an actor can know of itself.

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

    ``self_state``: what the actor knows of itself, as values and as a sentence. ``around``: what it
    perceives, with the help of the dataset's perceiver where there is one. ``feedback``: the result
    of its action. ``briefing``: what fills the slots of its rules and list of actions.
    """

    name: str
    self_state: Callable[[Any], tuple[SelfState, str]]
    around: Callable[[Any, Perceiver | None], str]
    feedback: Callable[[Feedback], str]
    briefing: Callable[[ActionSpace], Mapping[str, str]] = lambda space: {}


def verbalizer(observation: Observation) -> Verbalizer:
    """The verbalizer of the family that an observation is of; ``PLAIN`` where there is none."""
    family = observation.family
    registered = None if family is None else family.part("verbalizer")
    return registered if isinstance(registered, Verbalizer) else PLAIN


def feedback(result: Feedback, verbalizer: Verbalizer) -> str:
    """The result of a decision in a sentence; empty where there is nothing to say."""
    if result.status == "rejected":
        return f"That was no action: {result.details.get('reason', 'it could not be read')}."
    if result.status == SLIPPED:
        return "The action failed by chance and changed nothing. You can try it again."
    return verbalizer.feedback(result)


@cache
def sentences(family: str) -> Mapping[str, str]:
    """A family's part of ``sentences.toml``: status, or ``status.verb`` -> sentence."""
    text = files("wayword.verbalize").joinpath("sentences.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)[family])


def actions(legal: ActionSpace) -> str:
    """The legal actions; those that differ only in their last argument are grouped."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for action in legal.listed:
        last_arguments = groups.setdefault((action.name, action.arguments[:-1]), [])
        last_arguments += action.arguments[-1:]
    listed = [
        str(
            Action(name, (*arguments, " or ".join(last_arguments)) if last_arguments else arguments)
        )
        for (name, arguments), last_arguments in groups.items()
    ]
    return ", ".join([*listed, *(f"{verb}[...]" for verb in legal.open_verbs)])


def compass(heading: float) -> str:
    """``45° (north-east)``: degrees, and the nearest of the eight main directions."""
    return f"{heading:g}° ({COMPASS[sector(heading)]})"


def _plain_state(observation: Observation) -> tuple[SelfState, str]:
    heading = getattr(observation, "heading", None)
    return SelfState("", float(heading) if isinstance(heading, int | float) else None), ""


def _plain_feedback(result: Feedback) -> str:
    details = "".join(f", {key}: {value}" for key, value in result.details.items())
    return f"Result: {result.status}{details}."


PLAIN = Verbalizer(
    "other",
    _plain_state,
    lambda observation, _: "\n".join(
        f"{field.name}: {getattr(observation, field.name)}" for field in fields(observation)
    ),
    _plain_feedback,
)
"""For families that have no verbalizer of their own."""

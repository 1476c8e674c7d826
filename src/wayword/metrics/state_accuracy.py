"""State accuracy: is an agent right about where it is, which way it faces and what it holds?

An agent that states such things notes them (``toolkit.note("state", place=…, heading=…,
holding=…)``), as ReAct-EmMem does at every step. Each note is compared with the truth at the moment
of stating: the actor's ``where`` before the step, and what the world itself says it holds. What
was asked for and not said counts as wrong. Episodes without such notes have none of these metrics.

* heading: at most 22.5 degrees off, so that the right one of eight compass directions is right;
* place: the true viewpoint or room is named, as whole words (``in the kitchen, by the sink``);
  not scored in the street, whose panoramas have no names that an agent knows;
* holding: exactly the things held; a name's number may be left out (``mug`` for ``mug_1``).

Source: our own, for EmMem (LangSuitE, Jia et al. 2024, section 4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.episode import Json
from wayword.core.geometry import relative
from wayword.core.metric import Metric
from wayword.core.trajectory import STATE, Trajectory

TOLERANCE = 22.5
"""Degrees that a stated heading may be off."""
PLACES = ("viewpoint", "room")
"""Fields of ``step.where`` that name a place in words an agent is told."""

METRICS: tuple[Metric, ...] = (
    Metric("state_heading", "Heading", "rate", "higher",
           "steps whose stated heading is within 22.5°"),
    Metric("state_holding", "Holding", "rate", "higher", "steps that state what is held, exactly"),
    Metric("state_place", "Place", "rate", "higher", "steps that name the true room or viewpoint"),
)  # fmt: skip


def measure(trajectory: Trajectory) -> dict[str, float]:
    """The metrics of one episode, all actors together; empty where nothing was stated.

    A metric is left out where the world has no such truth: hands in a street, say.
    """
    right: dict[str, list[bool]] = {}
    for stated, where, observation in _stated(trajectory):
        for claim in claims(stated, where, observation):
            right.setdefault(f"state_{claim.about}", []).append(claim.right)
    keys = (metric.key for metric in METRICS)
    return {key: sum(right[key]) / len(right[key]) for key in keys if key in right}


def heading_is_right(stated: Json, true: float) -> bool:
    """Whether a stated heading is close enough; degrees, anything but a number is not stated."""
    return isinstance(stated, int | float) and abs(relative(stated, true)) <= TOLERANCE


def place_is_right(stated: Json, true: str) -> bool:
    """Whether the words name the place. Case and underscores do not matter."""
    return f" {_words(true)} " in f" {_words(str(stated or ''))} "


def holding_is_right(stated: Json, true: Sequence[str]) -> bool:
    """Whether exactly these things are named, in any order; anything but a list is not stated."""
    if not isinstance(stated, list | tuple) or len(stated) != len(true):
        return False
    left = [_words(name) for name in true]
    exact_first = sorted((_words(str(name)) for name in stated), key=lambda name: name not in left)
    for name in exact_first:
        found = next((one for one in left if name in (one, _type(one))), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _stated(trajectory: Trajectory) -> Iterator[tuple[Mapping[str, Json], Mapping[str, Json], Any]]:
    """Each note with the actor's true place at that moment and its observation."""
    where = dict(trajectory.start)
    for step in trajectory.steps:
        for note in step.notes:
            if note.kind == STATE:
                yield note.details, where.get(step.actor, {}), step.observation
        where[step.actor] = step.pose


@dataclass(frozen=True, slots=True)
class Claim:
    """What was stated of oneself (``heading``, ``holding`` or ``place``), and the truth."""

    about: str
    stated: Json
    true: Json
    right: bool


def claims(
    stated: Mapping[str, Json], where: Mapping[str, Json], observation: Any
) -> Iterator[Claim]:
    """A note's claims, as far as the world has a truth for them. ``where`` is the pose before the
    step, ``observation`` what the actor saw then."""
    heading = where.get("heading")
    if isinstance(heading, int | float):
        said = stated.get("heading")
        yield Claim("heading", said, heading, heading_is_right(said, float(heading)))
    holding = _field(observation, "holding")
    if isinstance(holding, list | tuple):
        names = [str(_field(held, "name")) for held in holding]
        said = stated.get("holding")
        yield Claim("holding", said, names, holding_is_right(said, names))
    place = next((where[key] for key in PLACES if where.get(key)), None)
    if place is not None:
        said = stated.get("place")
        yield Claim("place", said, place, place_is_right(said, str(place)))


def _field(value: Any, name: str) -> Any:
    """A field of an observation, as it was or as it was read back from a run folder."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _words(text: str) -> str:
    """Lower case, one blank between words, nothing but letters and digits of any script."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _type(name: str) -> str:
    """``mug 1`` -> ``mug``."""
    return re.sub(r" \d+$", "", name)

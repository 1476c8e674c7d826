"""State accuracy: is an agent right about where it is, which way it faces and what it holds?

An agent that states these notes them (``toolkit.note("state", place=…, heading=…,
holding=…)``), as ReAct-EmMem does at every step. Each note is compared with the truth at the moment
of stating: the actor's ``where`` before the step, and what the world itself says it holds. What
was asked for and not stated counts as wrong. Episodes without notes have none of these metrics.

* heading: at most 22.5 degrees off, so that the right one of eight compass directions is right;
* place: the true viewpoint or room is named, as whole words (``in the kitchen, by the sink``);
  not scored in the street, whose panoramas have no names that an agent knows;
* holding: exactly the objects held; a name's number may be left out (``mug`` for ``mug_1``).

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
"""Fields of ``step.where`` that name a place in words that an agent reads."""

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
    where = dict(trajectory.start)
    for step in trajectory.steps:
        for note in step.notes:
            if note.kind == STATE:
                for claim in claims(note.details, where.get(step.actor, {}), step.observation):
                    right.setdefault(f"state_{claim.about}", []).append(claim.right)
        where[step.actor] = step.pose
    keys = (metric.key for metric in METRICS)
    return {key: sum(right[key]) / len(right[key]) for key in keys if key in right}


def heading_is_right(stated: Json, true: float) -> bool:
    """True if a stated heading (degrees) is close enough; anything but a number is not stated."""
    return isinstance(stated, int | float) and abs(relative(stated, true)) <= TOLERANCE


def place_is_right(stated: Json, true: str) -> bool:
    """True if the words name the place. Case and underscores do not matter."""
    return f" {_words(true)} " in f" {_words(str(stated or ''))} "


def holding_is_right(stated: Json, true: Sequence[str]) -> bool:
    """True if exactly these objects are named, in any order; anything but a list is not stated."""
    if not isinstance(stated, list | tuple) or len(stated) != len(true):
        return False
    left = [_words(name) for name in true]
    exact_first = sorted((_words(str(name)) for name in stated), key=lambda name: name not in left)
    for name in exact_first:
        match = next((one for one in left if name in (one, _type(one))), None)
        if match is None:
            return False
        left.remove(match)
    return True


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about oneself (``heading``, ``holding`` or ``place``), and the truth."""

    about: str
    stated: Json
    true: Json
    right: bool


def claims(
    stated: Mapping[str, Json], where: Mapping[str, Json], observation: Any
) -> Iterator[Claim]:
    """The claims in a note that the world can check. ``where`` is the pose before the
    step, ``observation`` what the actor saw then."""
    heading, holding = where.get("heading"), _field(observation, "holding")
    answer = {about: stated.get(about) for about in ("heading", "holding", "place")}
    if isinstance(heading, int | float):
        right = heading_is_right(answer["heading"], float(heading))
        yield Claim("heading", answer["heading"], heading, right)
    if isinstance(holding, list | tuple):
        names = [str(_field(held, "name")) for held in holding]
        yield Claim("holding", answer["holding"], names, holding_is_right(answer["holding"], names))
    place = next((where[key] for key in PLACES if where.get(key)), None)
    if place is not None:
        right = place_is_right(answer["place"], str(place))
        yield Claim("place", answer["place"], place, right)


def _field(value: Any, name: str) -> Any:
    """A field of an observation, as it was or as it was read back from a run folder."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _words(text: str) -> str:
    """Lower case, one blank between words, nothing but letters and digits of any script."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _type(name: str) -> str:
    """``mug 1`` -> ``mug``."""
    return re.sub(r" \d+$", "", name)

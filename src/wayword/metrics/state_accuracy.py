"""State accuracy: does an agent correctly state its place, heading and held objects?

Agents record these statements as notes (``toolkit.note("state", place=…, heading=…,
holding=…)``). Each note is compared with the actor's pose before the step, and the held objects in
its observation. A missing statement counts as wrong.

* heading: at most 22.5 degrees off, which accepts the nearest of eight compass directions;
* place: names the true viewpoint or room, as full words (``in the kitchen, by the sink``); not
  scored in streets, whose panoramas have no names known to agents;
* holding: exactly the objects held; the number in a name is optional (``mug`` for ``mug_1``).

Source: our own, for EmMem (LangSuitE, Jia et al. 2024, section 4).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.episode import Json, JsonObject
from wayword.core.geometry import relative
from wayword.core.trajectory import STATE, Trajectory
from wayword.metrics import definitions
from wayword.metrics.recorded import finite

TOLERANCE = 22.5  # maximum error of a stated heading, degrees
PLACES = ("viewpoint", "room")  # fields of a pose with a place name that agents see

METRICS = definitions.STATES


def measure(trajectory: Trajectory) -> dict[str, float]:
    """Return the metrics of one episode, over all actors; empty without statements. A metric is
    left out if the world has no such state, such as held objects in a street."""
    right: dict[str, list[bool]] = {}
    where = dict(trajectory.start)
    for step in trajectory.steps:
        # Agents state what they believe before they act: claims are about the pose before a step.
        for note in step.notes:
            if note.kind == STATE:
                for claim in claims(
                    note.details,
                    where.get(step.actor, {}),
                    step.observation,
                ):
                    right.setdefault(f"state_{claim.about}", []).append(claim.right)
        where[step.actor] = step.pose
    keys = (metric.key for metric in METRICS)
    return {key: sum(right[key]) / len(right[key]) for key in keys if key in right}


def place_is_right(stated: Json, true: str) -> bool:
    """True if the words name the place, ignoring case and underscores."""
    return f" {_words(true)} " in f" {_words(str(stated or ''))} "


def holding_is_right(stated: Json, true: Sequence[str]) -> bool:
    """True if exactly these objects are named, in any order; False if it is not a list."""
    if not isinstance(stated, list | tuple) or len(stated) != len(true):
        return False
    held = Counter(_words(name) for name in true)
    named = Counter(_words(str(name)) for name in stated)
    # Exact names first, so that "mug" cannot take the place of "mug 1".
    unnamed = held - named
    unmatched = named - held
    # The number is optional: "mug" matches "mug 1".
    kinds = Counter(re.sub(r" \d+$", "", name) for name in unnamed.elements())
    return unmatched == kinds


@dataclass(frozen=True)
class Claim:
    """An agent's statement of its ``heading``, ``holding`` or ``place``, and the truth."""

    about: str
    stated: Json
    true: Json
    right: bool


def claims(
    stated: JsonObject,
    where: JsonObject,
    observation: Any,
) -> Iterator[Claim]:
    """Yield the claims in a note that can be checked. ``where`` and ``observation`` are the actor's
    pose and observation before the step."""
    # A claim can be checked only if the world has such a state.
    heading = where.get("heading")
    holding = _field(observation, "holding")
    answer = {about: stated.get(about) for about in ("heading", "holding", "place")}
    facing = finite(heading)
    if facing is not None:
        claimed = finite(answer["heading"])
        right = claimed is not None and abs(relative(claimed, facing)) <= TOLERANCE
        yield Claim("heading", answer["heading"], heading, right)
    if isinstance(holding, list | tuple):
        names = [str(_field(held, "name")) for held in holding]
        yield Claim(
            "holding",
            answer["holding"],
            names,
            holding_is_right(answer["holding"], names),
        )
    place = next((where[key] for key in PLACES if where.get(key)), None)
    if place is not None:
        right = place_is_right(answer["place"], str(place))
        yield Claim("place", answer["place"], place, right)


def _field(value: Any, name: str) -> Any:
    """Return a field of a mapping or an object; None if it has none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _words(text: str) -> str:
    """Return lower-case words of letters and digits (any script), separated by one blank."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))

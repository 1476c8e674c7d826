"""Street observations in words, line by line, as VELMA's prompt takes them.

Three kinds of observation line: the junction one has just come to, the landmarks in view, and
(where a scorer offers it) the flow of traffic at the start. Between them stand the numbered
actions.

Source: VELMA (Schumann et al. 2023), section 5.3, figures 1 and 7, appendix D. The junction's line,
the five directions and the numbering are the paper's; the other sentences are our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wayword.core.geometry import relative
from wayword.core.perceiver import Perceiver
from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer, compass
from wayword.worlds.street.world import StreetObservation

VIEWS = (-90, -45, 0, 45, 90)
"""The five views of a step, degrees relative to the heading, right positive."""

DIRECTIONS = ("on your left", "slightly left", "ahead", "slightly right", "on your right")
"""What the five views are called."""

Flow = Literal["with", "against"]


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of an observation, with their slots: replaced where a model was trained, or
    answers were cached, with other ones (VELMA's released adapters)."""

    junction: str = "There is a {ways}-way intersection."
    landmark: str = "You see {landmark} {direction}."
    flow_with: str = "You face the way the traffic flows."
    flow_against: str = "You face the oncoming traffic."


def observation(
    ways: int,
    changed: bool,
    landmarks: Sequence[tuple[str, int]] = (),
    flow: Flow | None = None,
    sentences: Sentences = Sentences(),
) -> list[str]:
    """The lines of one step, none where there is nothing to tell.

        >>> observation(3, True, [("a park", 0)])
        ['There is a 3-way intersection.', 'You see a park on your left.']

    ``ways`` is the number of ways out and ``changed`` whether the panorama is a new one. A junction
    has at least three ways, the one that was come by among them; a street that goes on has two.
    ``landmarks`` holds names and the number of the view (0 to 4, see ``VIEWS``) they are told in.
    """
    flows = {"with": sentences.flow_with, "against": sentences.flow_against}
    lines = [flows[flow]] if flow else []
    if ways > 2 and changed:
        lines.append(sentences.junction.replace("{ways}", str(ways)))
    for name, view in landmarks:
        line = sentences.landmark.replace("{direction}", DIRECTIONS[view])
        lines.append(line.replace("{landmark}", name))
    return lines


def cue(number: int) -> str:
    """What the next action is written behind: ``9.``"""
    return f"{number}."


def action(number: int, word: str) -> str:
    """A numbered action: ``9. forward``"""
    return f"{cue(number)} {word}"


IN_VIEW = 112.5
"""Degrees off the heading up to which a street landmark is told: the outermost view and half."""


def _own(seen: StreetObservation) -> tuple[SelfState, str]:
    return SelfState("", float(seen.heading)), f"You face {compass(seen.heading)}."


def _around(seen: StreetObservation, perceiver: Perceiver | None) -> str:
    landmarks: list[tuple[str, int]] = []
    sectors = perceiver.perceive(seen.scene, seen.panorama).sectors if perceiver else ()
    for sighting in (one for part in sectors for one in part.sightings):
        off = relative(sighting.heading, seen.heading)
        if abs(off) <= IN_VIEW:  # which of the five views it is in
            view = min(len(VIEWS) - 1, max(0, round((off + 90) / 45)))
            landmarks.append((sighting.name, view))
    landmarks.sort(key=lambda one: one[1])
    lines = observation(seen.exits, seen.changed, landmarks)
    if seen.exits <= 1:
        lines.insert(0, "The street ends here.")
    elif seen.exits > 2 and not seen.changed:
        lines.insert(0, "You are still at the intersection.")
    return "\n".join(lines or ["The street goes on."])


def _feedback(told: Feedback) -> str:
    executed = str(told.details.get("executed", "")).replace("_", " ")
    sentences = {
        "no_turn": "There is no way to turn into here, so you went forward.",
        "dead_end": "The street ends here, so you stopped.",
        "forward": "You went forward.",
        "stop": "You stopped.",
        "turn around": "You turned around.",
    }
    return sentences.get(told.status) or sentences.get(executed) or f"You turned {executed}."


verbalizer = Verbalizer("street", _own, _around, _feedback)

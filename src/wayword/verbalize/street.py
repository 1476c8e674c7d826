"""Street observations in words, line by line in the format of VELMA's prompt: a junction just
reached, the landmarks in view, and (if the scorer supports it) the flow of traffic at the start.

Source: VELMA (Schumann et al. 2023), section 5.3, figures 1 and 7, appendix D. The junction's line,
the five directions and the numbering are the paper's; the other sentences are our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wayword.core.geometry import relative
from wayword.core.perceiver import Perceiver
from wayword.core.visible import spaced
from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer, compass
from wayword.worlds.street.world import StreetObservation

VIEWS = (-90, -45, 0, 45, 90)
"""The five views of a step, degrees relative to the heading, right positive."""

DIRECTIONS = (
    "on your left",
    "slightly left",
    "ahead",
    "slightly right",
    "on your right",
)
"""Names of the five views."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of an observation, with their slots.

    Replace them for models trained on other sentences (VELMA's released adapters).
    """

    junction: str = "There is a {ways}-way intersection."
    landmark: str = "You see {landmark} {direction}."
    flow_with: str = "You face the way the traffic flows."
    flow_against: str = "You face the oncoming traffic."


def observation(
    exits: int,
    changed: bool,
    landmarks: Sequence[tuple[str, int]] = (),
    flow: Literal["with", "against"] | None = None,
    sentences: Sentences = Sentences(),
) -> list[str]:
    """Return the lines of one step; empty if nothing is new.

        >>> observation(3, True, [("a park", 0)])
        ['There is a 3-way intersection.', 'You see a park on your left.']

    ``exits`` counts the exits, including the one to the previous panorama. ``changed``: the
    panorama is new. ``landmarks`` are names, each with the number of its view in ``VIEWS``.
    """
    lines = []
    if flow == "with":
        lines.append(sentences.flow_with)
    elif flow == "against":
        lines.append(sentences.flow_against)
    # Two exits are a street; an intersection is announced once, not after each turn on it.
    if exits > 2 and changed:
        lines.append(sentences.junction.replace("{ways}", str(exits)))
    for name, view in landmarks:
        # Not ``format``: names of landmarks may hold braces.
        line = sentences.landmark.replace("{direction}", DIRECTIONS[view])
        lines.append(line.replace("{landmark}", name))
    return lines


def joined_observation(
    exits: int,
    changed: bool,
    landmarks: Sequence[tuple[str, int]] = (),
    flow: Literal["with", "against"] | None = None,
    sentences: Sentences = Sentences(),
) -> list[str]:
    """Return one step as VELMA's released code writes it: all sentences in one line, one for each
    view with landmarks, each with a capital letter; empty if nothing is new.

        >>> joined_observation(3, True, [("a park", 0), ("a bank", 0)])
        ['There is a 3-way intersection. You see a park and a bank on your left.']
    """
    in_view: dict[int, list[str]] = {view: [] for view in range(len(VIEWS))}
    for name, view in landmarks:
        in_view[view].append(name)
    # One sentence a view, as the released code has it.
    grouped = [(" and ".join(names), view) for view, names in in_view.items() if names]
    lines = observation(exits, changed, grouped, flow, sentences)
    if not lines:
        return []
    return [" ".join(line[:1].upper() + line[1:] for line in lines)]


def action_number(number: int) -> str:
    """Return the number before an action: ``9.``"""
    return f"{number}."


def action(number: int, word: str) -> str:
    """Return a numbered action: ``9. forward``"""
    return f"{action_number(number)} {word}"


MAX_BEARING = 112.5
"""Maximum bearing (degrees) of a described landmark: the outermost view plus half a view."""


def _state(view: StreetObservation) -> tuple[SelfState, str]:
    """Return the actor's heading, with a sentence on it."""
    return SelfState("", float(view.heading)), f"You face {compass(view.heading)}."


def _around(view: StreetObservation, perceiver: Perceiver | None) -> str:
    """Return the lines of a step: street, intersection, and landmarks from left to right."""
    landmarks: list[tuple[str, int]] = []
    if perceiver:
        for sector in perceiver.perceive(view.scene, view.panorama).sectors:
            for sighting in sector.sightings:
                bearing = relative(sighting.heading, view.heading)
                if abs(bearing) <= MAX_BEARING:
                    # The nearest of the five views, which are 45 degrees apart.
                    number = min(len(VIEWS) - 1, max(0, round((bearing + 90) / 45)))
                    landmarks.append((sighting.name, number))
    # From left to right, as one reads a picture.
    landmarks.sort(key=lambda landmark: landmark[1])
    lines = observation(view.exits, view.changed, landmarks)
    if view.exits <= 1:
        lines.insert(0, "The street ends here.")
    elif view.exits > 2 and not view.changed:
        lines.insert(0, "You are still at the intersection.")
    # A message is never empty.
    lines = lines or ["The street goes on."]
    # Said once: an agent would else wait for the landmarks of its instruction.
    if perceiver is None and view.step == 0:
        lines.append(
            "Landmarks are not reported here: find your way by junctions and directions."
        )
    return "\n".join(lines)


def _feedback(result: Feedback) -> str:
    """Return what happened, as a sentence: what was carried out, not what was asked for."""
    # What was carried out may differ from the action: where no street leads to the left, a
    # left turn goes on forward.
    executed = spaced(result.details.get("executed", ""))
    sentences = {
        "no_turn": "There is no way to turn into here, so you went forward.",
        "dead_end": "The street ends here, so you stopped.",
        "forward": "You went forward.",
        "stop": "You stopped.",
        "turn around": "You turned around.",
    }
    return (
        sentences.get(result.status)
        or sentences.get(executed)
        or f"You turned {executed}."
    )


verbalizer = Verbalizer("street", _state, _around, _feedback)

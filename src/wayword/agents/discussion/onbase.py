"""Directions around a body with a camera: it turns on the spot, and goes half a metre.

Twelve captures by turns of 30°; what a detector names in a direction are its tags, and the middle
30° of its picture is what a vision model is shown. A direction is gone 0.5 m, or half the free
distance where something is within a metre.

Source: DiscussNav (Long et al. 2024), section IV, the experiment with a real robot.
"""

from __future__ import annotations

import math
from dataclasses import replace

from wayword.agents.discussion.directions import COUNT, WIDTH, Direction, Step, number_of
from wayword.core.action import Action
from wayword.core.angles import absolute, relative
from wayword.core.decision import Decision
from wayword.core.errors import UsageError
from wayword.core.model import Image
from wayword.core.world import Feedback, Observation
from wayword.perception.detecting import Detector, caption
from wayword.perception.seeing_views import middle_of
from wayword.worlds.search.motions import goto, rotate
from wayword.worlds.search.observation import View
from wayword.worlds.search.pinhole import clear_ahead

STRIDE = 0.5
NEAR = 1.0
"""Something nearer than this (metres) halves the way instead."""
TIGHT = 0.4
"""With less than this free (metres) a direction has no way."""


class OnBase:
    """Surroundings in the finding world: a body looks around before each step."""

    words = "names that a detector lists"

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._views: list[View] = []
        self._told: tuple[Direction, ...] | None = None
        self._closed: set[int] = set()

    def take_in(self, observation: Observation) -> Action | None:
        """A turn, until all around was seen."""
        if not isinstance(observation, View):
            raise UsageError("discussnav needs words of each viewpoint, or views of a base")
        if len(self._views) < COUNT:
            self._views.append(observation)
        return rotate(WIDTH) if len(self._views) < COUNT else None

    def directions(self) -> tuple[Direction, ...] | None:
        """All twelve; None where they are those of the step before."""
        if self._told is None:
            self._told = tuple(self._direction(number) for number in range(1, COUNT + 1))
        elif not self._closed:
            return None
        shut = self._closed
        self._told = tuple(replace(d, action=None) if d.id in shut else d for d in self._told)
        self._closed = set()
        return self._told

    def picture(self, direction: Direction) -> Image | None:
        """The middle of the picture that was taken towards the direction."""
        view = self._towards(direction.heading)
        if view is None or not view.image:
            return None
        return middle_of(view.image, view.field_of_view, WIDTH)

    def taken(self, decision: Decision, feedback: Feedback) -> Step | None:
        """The step that a decision became. A refused one leaves the body where it was, and its
        direction without a way."""
        if decision.action.name != "goto" or self._told is None:
            return None
        gone = next((d for d in self._told if d.action == decision.action), None)
        if gone is None:
            return None
        front, event = self._views[0].heading, _event(feedback)
        if feedback.status == "refused":
            self._closed = {gone.id}
            return Step(front, gone.heading, event, stayed=True)
        self._views, self._told = [], None
        return Step(front, gone.heading, event)

    def _direction(self, number: int) -> Direction:
        front = self._views[0].heading
        heading = absolute(front + (number - 1) * WIDTH)
        view = self._towards(heading)
        if view is None:
            return Direction(number, heading, (), ())
        seen = [
            one
            for one in self._detector.detect(view)
            if number_of(absolute(view.heading + one.bearing), front) == number
        ]
        told = (f"There is {caption(seen)}.",) if seen else ()
        tags = tuple(dict.fromkeys(one.name for one in seen))
        return Direction(number, heading, told, tags, _way(view, heading))

    def _towards(self, heading: float) -> View | None:
        """The view that faces a heading best, None where none shows it: turns may fall short."""
        best = min(self._views, key=lambda view: abs(relative(heading, view.heading)))
        inside = abs(relative(heading, best.heading)) <= max(best.field_of_view, WIDTH) / 2
        return best if inside else None


def stride(free: float) -> float:
    """How far to go where so much is free (metres); 0 for not at all.

    >>> stride(3.0), stride(0.8), stride(0.3)
    (0.5, 0.4, 0.0)
    """
    if free < TIGHT:
        return 0.0
    return free / 2 if free < NEAR else STRIDE


def _way(view: View, heading: float) -> Action | None:
    free = clear_ahead(view.depth, view.eye, relative(heading, view.heading))
    metres = stride(free)
    if not metres:
        return None
    angle = math.radians(heading)
    return goto(view.x + metres * math.sin(angle), view.y + metres * math.cos(angle))


def _event(feedback: Feedback) -> str:
    """What went wrong with a move, in words for the next question."""
    if feedback.ok:
        return ""
    why = feedback.details.get("reason", "")
    gone = float(feedback.details.get("metres", 0.0))
    return f"Your last move was {feedback.status} after {gone:.2f} m ({why}).\n"

"""Directions over a viewpoint graph: recorded words, and neighbours to go to.

What lies in a direction is read off whatever sectors the perceiver offers: a recorded sentence
covers 45°, so a direction has those of the one or two sectors that it overlaps, and the tags of the
things that truly lie within its own 30°.
"""

from __future__ import annotations

from wayword.agents.discussion.directions import COUNT, WIDTH, Direction, Step, number_of
from wayword.core.action import Action
from wayword.core.angles import absolute, relative
from wayword.core.decision import Decision
from wayword.core.errors import UsageError
from wayword.core.model import Image
from wayword.core.perceiver import Camera, Perceiver, Percept
from wayword.core.world import Feedback, Observation
from wayword.worlds.indoor import IndoorObservation

TOUCHING = 1.0
"""Degrees by which a sector must reach into a direction to count as seen there."""


class OnViewpoints:
    """Surroundings in the indoor world: everything around is there at once."""

    words = "recorded sentences"

    def __init__(self, perceiver: Perceiver) -> None:
        self._perceiver = perceiver
        self._camera = perceiver if isinstance(perceiver, Camera) else None
        self._seen: IndoorObservation | None = None
        self._moved = True

    def take_in(self, observation: Observation) -> Action | None:
        """Nothing more is needed to look around."""
        if not isinstance(observation, IndoorObservation):
            raise UsageError("discussnav reads indoor observations here, and views of a base")
        before = self._seen.viewpoint if self._seen else ""
        self._moved = observation.viewpoint != before  # a rejected answer leaves all as it was
        self._seen = observation
        return None

    def directions(self) -> tuple[Direction, ...] | None:
        """All twelve; None where they are those of the step before."""
        if not self._moved or self._seen is None:
            return None
        return around(self._seen, self._perceiver.perceive(self._seen.scene, self._seen.viewpoint))

    def picture(self, direction: Direction) -> Image | None:
        """What the direction looks like, where there are pictures."""
        if self._camera is None or self._seen is None:
            return None
        seen = self._seen
        return self._camera.picture(seen.scene, seen.viewpoint, direction.heading, WIDTH)

    def taken(self, decision: Decision, feedback: Feedback) -> Step | None:
        """The step that a decision became."""
        details = feedback.details
        if "heading" not in details:
            return None
        return Step(details["heading_before"], details["heading"])


def around(seen: IndoorObservation, percept: Percept) -> tuple[Direction, ...]:
    """All twelve directions. Every way lies in exactly one of them; the one nearest to a
    direction's middle is the one that is gone."""
    return tuple(_direction(number, seen, percept) for number in range(COUNT))


def _direction(number: int, seen: IndoorObservation, percept: Percept) -> Direction:
    centre = absolute(seen.heading + number * WIDTH)
    captions: dict[str, None] = {}
    tags: dict[str, None] = {}
    for sector in percept.sectors:
        apart = abs(relative(sector.heading, centre))
        if sector.caption and apart < (sector.width + WIDTH) / 2 - TOUCHING:
            captions[sector.caption] = None
        for thing in sector.sightings:
            if number_of(thing.heading, seen.heading) == number + 1:
                tags[thing.name] = None
    ways = [way for way in seen.ways if number_of(way.heading, seen.heading) == number + 1]
    ways.sort(key=lambda way: abs(relative(way.heading, centre)))
    action = Action("goto", (ways[0].viewpoint,)) if ways else None
    return Direction(number + 1, centre, tuple(captions), tuple(tags), action)

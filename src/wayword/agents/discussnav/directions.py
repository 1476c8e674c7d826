"""Twelve directions of 30° around the agent, numbered clockwise from where it faces, and what is
seen in each: on a viewpoint graph (recorded words), or around a body with a camera.

Source: DiscussNav (Long et al. 2024), section III-C.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from wayword.agents.discussnav.experts import Meeting
from wayword.agents.prompting import everyone
from wayword.core.action import Action, Decision
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute, relative
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver, Percept
from wayword.core.world import Feedback, Observation
from wayword.perception.detectors import caption, middle_of
from wayword.verbalize import indoor
from wayword.worlds.indoor.world import IndoorObservation
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.observation import View, clear_ahead

COUNT = 12
WIDTH = 360.0 / COUNT


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction: ``id`` 1 (the front) to 12, clockwise; ``heading`` of its centre, absolute.

    ``captions`` and ``tags`` say what is there, and ``action`` moves that way; None where it cannot
    be moved in. ``marks`` say that the way is steep (``leads up 25°``) or goes to a place that was
    ``visited``.
    """

    id: int
    heading: float
    captions: tuple[str, ...]
    tags: tuple[str, ...]
    action: Action | None = None
    marks: tuple[str, ...] = ()


def side_of(direction: int) -> str:
    """Where a direction lies: ``ahead``, ``30° to the right`` … ``behind``."""
    degrees = relative((direction - 1) * WIDTH, 0.0)
    if abs(degrees) in (0.0, 180.0):
        return "behind" if degrees else "ahead"
    return f"{abs(degrees):.0f}° to the {'right' if degrees > 0 else 'left'}"


def number_of(heading: float, facing: float) -> int:
    """Which direction an absolute heading lies in; a border belongs to the one on its right."""
    return int((absolute(heading - facing) + WIDTH / 2) // WIDTH) % COUNT + 1


@dataclass(frozen=True, slots=True)
class DirectionStep:
    """A step that was taken: the headings faced before it and gone in (degrees), what went wrong
    if anything did, and whether one ``stayed`` where one was."""

    facing: float
    after: float
    event: str = ""
    stayed: bool = False


# Surroundings: where directions come from, and how one is moved in. ``words``: what there is to
# read about them. ``take_in`` sees, and gives an action where more must be seen first;
# ``directions`` are all twelve, None where they are those of the step before; ``picture`` is what
# a direction looks like; ``taken`` is the step that a decision became.

TOUCHING = 1.0
"""Degrees by which a sector must reach into a direction to count as seen there."""


class OnViewpoints:
    """Surroundings in the indoor world: everything around is there at once.

    A recorded sentence covers 45°, so a direction has those of the one or two sectors that it
    overlaps, and the tags of the things that truly lie within its own 30°.
    """

    words = "recorded sentences"

    def __init__(self, perceiver: Perceiver) -> None:
        self._perceiver = perceiver
        self._camera = perceiver if "picture" in perceiver.capabilities else None
        self._seen: IndoorObservation | None = None
        self._visited: set[str] = set()
        self._moved = True

    def take_in(self, observation: Observation) -> Action | None:
        if not isinstance(observation, IndoorObservation):
            raise UsageError("discussnav reads indoor observations here, and views of a base")
        before = self._seen.viewpoint if self._seen else ""
        self._moved = observation.viewpoint != before  # a rejected answer leaves all as it was
        self._seen = observation
        self._visited.add(observation.viewpoint)
        return None

    def directions(self) -> tuple[Direction, ...] | None:
        if not self._moved or self._seen is None:
            return None
        percept = self._perceiver.perceive(self._seen.scene, self._seen.viewpoint)
        return around(self._seen, percept, self._visited)

    def picture(self, direction: Direction) -> Image | None:
        if self._camera is None or (seen := self._seen) is None:
            return None
        return self._camera.picture(seen.scene, seen.viewpoint, direction.heading, WIDTH)

    def taken(self, decision: Decision, feedback: Feedback) -> DirectionStep | None:
        details = feedback.details
        if "heading" not in details:
            return None
        return DirectionStep(details["heading_before"], details["heading"])


def around(
    seen: IndoorObservation, percept: Percept, visited: Collection[str] = ()
) -> tuple[Direction, ...]:
    """All twelve directions. Every way lies in exactly one of them; the one nearest to a
    direction's middle is the one that is gone."""
    found = []
    for number in range(1, COUNT + 1):
        centre = absolute(seen.heading + (number - 1) * WIDTH)
        captions: dict[str, None] = {}
        tags: dict[str, None] = {}
        for sector in percept.sectors:
            apart = abs(relative(sector.heading, centre))
            if sector.caption and apart < (sector.width + WIDTH) / 2 - TOUCHING:
                captions[sector.caption] = None
            for thing in sector.sightings:
                if number_of(thing.heading, seen.heading) == number:
                    tags[thing.name] = None
        ways = [way for way in seen.neighbors if number_of(way.heading, seen.heading) == number]
        way = min(ways, key=lambda way: abs(relative(way.heading, centre)), default=None)
        action = Action("goto", (way.viewpoint,)) if way else None
        steep = indoor.slope(way.elevation) if way else ""
        marks = [f"leads {steep}°"] if steep else []
        marks += ["visited"] if way and way.viewpoint in visited else []
        found.append(Direction(number, centre, (*captions,), (*tags,), action, (*marks,)))
    return tuple(found)


STRIDE = 0.5
NEAR = 1.0
"""Something nearer than this (metres) halves the way instead."""
TIGHT = 0.4
"""With less than this free (metres) a direction has no way."""


class OnBase:
    """Surroundings in the finding world: a body with a camera looks around before each step.

    Twelve captures by turns of 30°; what a detector names in a direction are its tags, and the
    middle 30° of its picture is what a vision model is shown. A direction is gone 0.5 m, or half
    the free distance where something is within a metre. Without a detector its pictures are all.
    Source: DiscussNav (Long et al. 2024), section IV, the experiment with a real robot.
    """

    words = "names that a detector lists"

    def __init__(self, detector: Perceiver | None) -> None:
        self._detector = detector
        self._views: list[View] = []
        self._told: tuple[Direction, ...] | None = None
        self._closed: set[int] = set()

    def take_in(self, observation: Observation) -> Action | None:
        if not isinstance(observation, View):
            raise UsageError("discussnav needs words of each viewpoint, or views of a base")
        if self._detector is not None and not self._views:
            self._detector.check_view(observation)
        if len(self._views) < COUNT:
            self._views.append(observation)
        return rotate(WIDTH) if len(self._views) < COUNT else None

    def directions(self) -> tuple[Direction, ...] | None:
        if self._told is None:
            self._told = tuple(self._direction(number) for number in range(1, COUNT + 1))
        elif not self._closed:
            return None
        shut = self._closed
        self._told = tuple(replace(d, action=None) if d.id in shut else d for d in self._told)
        self._closed = set()
        return self._told

    def picture(self, direction: Direction) -> Image | None:
        view = self._towards(direction.heading)
        if view is None or not view.image:
            return None
        return middle_of(view.image, view.field_of_view, WIDTH)

    def taken(self, decision: Decision, feedback: Feedback) -> DirectionStep | None:
        if decision.action.name != "goto" or self._told is None:
            return None
        gone = next((d for d in self._told if d.action == decision.action), None)
        if gone is None:
            return None
        front, event, details = self._views[0].heading, "", feedback.details
        if not feedback.ok:
            metres, why = float(details.get("metres", 0.0)), details.get("reason", "")
            event = f"Your last move was {feedback.status} after {metres:.2f} m ({why}).\n"
        if feedback.status == "refused":  # the body stays, and its direction has no way
            self._closed = {gone.id}
            return DirectionStep(front, gone.heading, event, stayed=True)
        self._views, self._told = [], None
        return DirectionStep(front, gone.heading, event)

    def _direction(self, number: int) -> Direction:
        front = self._views[0].heading
        heading = absolute(front + (number - 1) * WIDTH)
        view = self._towards(heading)
        if view is None:
            return Direction(number, heading, (), ())
        seen = [
            one
            for one in (self._detector.detect(view) if self._detector else ())
            if number_of(absolute(view.heading + one.bearing), front) == number
        ]
        told = (f"There is {caption(seen)}.",) if seen else ()
        tags = tuple(dict.fromkeys(one.name for one in seen))
        metres = stride(clear_ahead(view.depth, view.eye, relative(heading, view.heading)))
        angle = math.radians(heading)
        way = goto(view.x + metres * math.sin(angle), view.y + metres * math.cos(angle))
        return Direction(number, heading, told, tags, way if metres else None)

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


Surroundings = OnViewpoints | OnBase


# Vision perception: what the scene expert sees in each direction, and the tags beside it.
#
# The expert is asked by type of landmark (``What furniture can you see in direction 3?``) and
# never for the landmark itself, which would invite it to be seen. Three sources stand behind it:
# the ``recorded`` sentences as they are (no model is asked), a text model that reads those
# sentences, and a vision model that is shown the picture of the direction.
#
# Source: DiscussNav (Long et al. 2024), sections III-B and III-C, "Vision Perception".


@dataclass(frozen=True, slots=True)
class SceneNotes:
    """What was made out in each direction, by its number, sentence by sentence, and the directions
    themselves."""

    directions: tuple[Direction, ...]
    sights: Mapping[int, tuple[str, ...]]

    def text(self, only: Collection[int] = ()) -> str:
        """A paragraph a direction: all of them, or ``only`` some. A sentence that goes for two
        directions, as recorded ones do, is told once."""
        told = [d for d in self.directions if not only or d.id in only]
        first: dict[str, int] = {}
        return "\n".join(line for d in told if (line := self._direction(d, first)))

    def _direction(self, direction: Direction, first: dict[str, int]) -> str:
        sights, tags = self.sights.get(direction.id, ()), " | ".join(direction.tags)
        if not (sights or tags or direction.action):
            return ""
        before = [number for each in sights if (number := first.get(each))]
        fresh = [each for each in sights if each not in first]
        first.update(dict.fromkeys(fresh, direction.id))
        same = " and ".join(map(str, before))
        alike = "In part as" if fresh or len(before) > 1 else "As"
        parts = [*fresh, f"{alike} in direction {same}." if same else ""]
        parts += [f"[{tags}]"] if tags else []
        marks = "; ".join((side_of(direction.id), *direction.marks))
        open_to = "" if direction.action else " (no way)"
        return f"Direction {direction.id} ({marks}){open_to}: {' '.join(filter(None, parts))}"


async def look(
    meeting: Meeting, around: Surroundings, directions: tuple[Direction, ...], types: Sequence[str]
) -> SceneNotes:
    """Ask the scene expert about all directions at once, by types of landmarks."""

    async def asked(direction: Direction) -> tuple[str, ...]:
        recorded, image = " ".join(direction.captions), around.picture(direction)
        if image is None and not recorded:
            return ()
        answer = await meeting.words(
            "scene",
            "the recorded sentence as it is" if recorded else "nothing is said of the direction",
            () if image is None else (image,),
            direction=str(direction.id),
            seen=recorded or "(see the picture)",
            questions="\n".join(
                f"What {kind} can you see in direction {direction.id}?" for kind in types
            ),
        )
        told = recorded if answer is None else answer
        return (told,) if told else ()

    answers = await everyone([asked(direction) for direction in directions])
    return SceneNotes(directions, {d.id: told for d, told in zip(directions, answers, strict=True)})

"""Twelve directions of 30° around the agent, numbered clockwise from where it faces, and what is
seen in each: on a viewpoint graph (recorded words), or around a body with a camera.

Source: DiscussNav (Long et al. 2024), section III-C.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from wayword.agents.discussnav.experts import Meeting
from wayword.agents.prompting import ask_all
from wayword.core.action import Action, Decision
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute, relative, unit
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver, Percept
from wayword.core.world import Feedback, Observation
from wayword.perception.detectors import caption, middle_of
from wayword.verbalize import indoor
from wayword.worlds.indoor.world import IndoorObservation
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.observation import View, clear_ahead

DIRECTIONS = 12
SECTOR_WIDTH = 360.0 / DIRECTIONS


@dataclass(frozen=True, slots=True)
class Direction:
    """Direction: ``id`` 1 (the front) to 12, clockwise; ``heading`` of its centre, absolute.

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


def side_text(direction: int) -> str:
    """The side of a direction: ``ahead``, ``30° to the right`` … ``behind``."""
    degrees = relative((direction - 1) * SECTOR_WIDTH, 0.0)
    if abs(degrees) in (0.0, 180.0):
        return "behind" if degrees else "ahead"
    return f"{abs(degrees):.0f}° to the {'right' if degrees > 0 else 'left'}"


def direction_number(heading: float, facing: float) -> int:
    """The direction that an absolute heading lies in; a border belongs to the one on its right."""
    steps = (absolute(heading - facing) + SECTOR_WIDTH / 2) // SECTOR_WIDTH
    return int(steps) % DIRECTIONS + 1


@dataclass(frozen=True, slots=True)
class DirectionStep:
    """A step that was taken: the headings faced before it and gone in (degrees), what went wrong
    if anything did, and whether one ``is_refused`` where one was."""

    facing: float
    heading: float
    event: str = ""
    is_refused: bool = False


# Surroundings: the source of directions, and how one is moved in. ``source``: what there is to
# read about them; ``goal``: what one looks for, a place or a thing, as prompts are named for it.
# ``take_in`` gives an action where more must be seen first; ``directions`` are all twelve, None
# where they are those of the step before; ``picture`` shows a direction; ``step_taken`` is the
# step that a decision became; ``viewpoint`` names the place for ``SceneMemory``, if it has a name.

OVERLAP = 1.0  # degrees by which a sector must reach into a direction to count as seen there


class OnViewpoints:
    """Surroundings in the indoor world: everything around is there at once.

    A recorded sentence covers 45°, so a direction has those of the one or two sectors that it
    overlaps, and the tags of the objects that truly lie within its own 30°.
    """

    source, goal = "recorded sentences", "place"

    @property
    def viewpoint(self) -> str:
        return self._observation.viewpoint if self._observation else ""

    def __init__(self, perceiver: Perceiver) -> None:
        self._perceiver = perceiver
        self._camera = perceiver if "picture" in perceiver.capabilities else None
        self._observation: IndoorObservation | None = None
        self._visited: set[str] = set()
        self._is_new_place = True

    def take_in(self, observation: Observation) -> Action | None:
        if not isinstance(observation, IndoorObservation):
            raise UsageError("discussnav reads indoor observations here, and views of a base")
        self._is_new_place = (
            observation.viewpoint != self.viewpoint
        )  # a rejected answer changes nothing
        self._observation = observation
        self._visited.add(observation.viewpoint)
        return None

    def directions(self) -> tuple[Direction, ...] | None:
        if not self._is_new_place or self._observation is None:
            return None
        percept = self._perceiver.perceive(self._observation.scene, self._observation.viewpoint)
        return directions_around(self._observation, percept, self._visited)

    def picture(self, direction: Direction) -> Image | None:
        if self._camera is None or (view := self._observation) is None:
            return None
        return self._camera.picture(view.scene, view.viewpoint, direction.heading, SECTOR_WIDTH)

    def step_taken(self, decision: Decision, feedback: Feedback) -> DirectionStep | None:
        details = feedback.details
        if "heading" not in details:
            return None
        return DirectionStep(details["heading_before"], details["heading"])


def directions_around(
    view: IndoorObservation, percept: Percept, visited: Collection[str] = ()
) -> tuple[Direction, ...]:
    """All twelve directions. Every exit lies in exactly one of them; the one nearest to a
    direction's middle is the one that is taken."""
    directions = []
    for number in range(1, DIRECTIONS + 1):
        centre = absolute(view.heading + (number - 1) * SECTOR_WIDTH)
        captions: dict[str, None] = {}
        tags: dict[str, None] = {}
        for sector in percept.sectors:
            off_degrees = abs(relative(sector.heading, centre))
            if sector.caption and off_degrees < (sector.width + SECTOR_WIDTH) / 2 - OVERLAP:
                captions[sector.caption] = None
            for sighting in sector.sightings:
                if direction_number(sighting.heading, view.heading) == number:
                    tags[sighting.name] = None
        exits = [e for e in view.neighbors if direction_number(e.heading, view.heading) == number]
        exit_ = min(exits, key=lambda e: abs(relative(e.heading, centre)), default=None)
        action, marks = None, list[str]()
        if exit_ is not None:
            action, slope = Action("goto", (exit_.viewpoint,)), indoor.slope(exit_.elevation)
            marks = [f"leads {slope}°"] * bool(slope) + ["visited"] * (exit_.viewpoint in visited)
        directions.append(Direction(number, centre, (*captions,), (*tags,), action, (*marks,)))
    return tuple(directions)


STRIDE = 0.5
NEARBY = 1.0  # something nearer than this (metres) halves the way instead
BLOCKED = 0.4  # with less than this free (metres) a direction has no way


class OnBase:
    """Surroundings in the finding world: a body with a camera looks around before each step.

    Twelve captures by turns of 30°; what a detector names in a direction are its tags, and the
    middle 30° of its picture is what a vision model is shown. A direction is gone 0.5 m, or half
    the free distance where something is within a metre. Without a detector its pictures are all.
    Source: DiscussNav (Long et al. 2024), section IV, the experiment with a real robot.
    """

    source, goal = "names that a detector lists", "thing"
    viewpoint = ""

    def __init__(self, detector: Perceiver | None) -> None:
        self._detector = detector
        self._views: list[View] = []
        self._directions: tuple[Direction, ...] | None = None
        self._refused_ids: set[int] = set()

    def take_in(self, observation: Observation) -> Action | None:
        if not isinstance(observation, View):
            raise UsageError("discussnav needs words of each viewpoint, or views of a base")
        if self._detector is not None and not self._views:
            self._detector.check_view(observation)
        if len(self._views) < DIRECTIONS:
            self._views.append(observation)
        return rotate(SECTOR_WIDTH) if len(self._views) < DIRECTIONS else None

    def directions(self) -> tuple[Direction, ...] | None:
        if self._directions is None:
            self._directions = tuple(map(self._direction, range(1, DIRECTIONS + 1)))
        elif not self._refused_ids:
            return None
        self._directions = tuple(
            replace(d, action=None) if d.id in self._refused_ids else d for d in self._directions
        )
        self._refused_ids = set()
        return self._directions

    def picture(self, direction: Direction) -> Image | None:
        view = self._towards(direction.heading)
        if view is None or not view.image:
            return None
        return middle_of(view.image, view.field_of_view, SECTOR_WIDTH)

    def step_taken(self, decision: Decision, feedback: Feedback) -> DirectionStep | None:
        action = decision.action
        chosen = next((d for d in self._directions or () if d.action == action), None)
        if action.name != "goto" or chosen is None:
            return None
        facing, event, details = self._views[0].heading, "", feedback.details
        if not feedback.ok:
            metres, why = float(details.get("metres", 0.0)), details.get("reason", "")
            event = f"Your last move was {feedback.status} after {metres:.2f} m ({why}).\n"
        if feedback.status == "refused":  # the body stays, and its direction has no way
            self._refused_ids = {chosen.id}
            return DirectionStep(facing, chosen.heading, event, is_refused=True)
        self._views, self._directions = [], None
        return DirectionStep(facing, chosen.heading, event)

    def _direction(self, number: int) -> Direction:
        facing = self._views[0].heading
        heading = absolute(facing + (number - 1) * SECTOR_WIDTH)
        view = self._towards(heading)
        if view is None:
            return Direction(number, heading, (), ())
        detections = [
            detection
            for detection in (self._detector.detect(view) if self._detector else ())
            if direction_number(absolute(view.heading + detection.bearing), facing) == number
        ]
        captions = (f"There is {caption(detections)}.",) if detections else ()
        tags = tuple(dict.fromkeys(detection.name for detection in detections))
        metres = stride(clear_ahead(view.depth, view.eye, relative(heading, view.heading)))
        east, north = unit(heading)
        action = goto(view.x + metres * east, view.y + metres * north) if metres else None
        return Direction(number, heading, captions, tags, action)

    def _towards(self, heading: float) -> View | None:
        """The view that faces a heading best, None where none shows it: turns may fall short."""
        best = min(self._views, key=lambda view: abs(relative(heading, view.heading)))
        width = max(best.field_of_view, SECTOR_WIDTH)
        return best if abs(relative(heading, best.heading)) <= width / 2 else None


def stride(free_metres: float) -> float:
    """The metres to go where ``free_metres`` metres are free; 0 for not at all.

    >>> stride(3.0), stride(0.8), stride(0.3)
    (0.5, 0.4, 0.0)
    """
    return 0.0 if free_metres < BLOCKED else free_metres / 2 if free_metres < NEARBY else STRIDE


Surroundings = OnViewpoints | OnBase


@dataclass(frozen=True, slots=True)
class SceneNotes:
    """The directions, and what was made out in each, by its number, sentence by sentence."""

    directions: tuple[Direction, ...]
    sights: Mapping[int, tuple[str, ...]]

    def text(self, subset: Collection[int] = ()) -> str:
        """A paragraph a direction: all of them, or ``subset`` some. A sentence that goes for two
        directions, as recorded ones do, is written once."""
        first_direction: dict[str, int] = {}
        lines = []
        for direction in self.directions:
            sights, tags = self.sights.get(direction.id, ()), " | ".join(direction.tags)
            is_left_out = subset and direction.id not in subset
            if is_left_out or not (sights or tags or direction.action):
                continue
            repeated = [number for sight in sights if (number := first_direction.get(sight))]
            new_sights = [sight for sight in sights if sight not in first_direction]
            first_direction.update(dict.fromkeys(new_sights, direction.id))
            numbers = " and ".join(map(str, repeated))
            prefix = "In part as" if new_sights or len(repeated) > 1 else "As"
            parts = [*new_sights, f"{prefix} in direction {numbers}."] if numbers else new_sights
            parts = [*parts, f"[{tags}]"] if tags else parts
            marks = "; ".join((side_text(direction.id), *direction.marks))
            no_exit = "" if direction.action else " (no path)"
            lines.append(f"Direction {direction.id} ({marks}){no_exit}: {' '.join(parts)}")
        return "\n".join(lines)


class SceneMemory:
    """The scene expert's answers at the viewpoints of an episode.

    A viewpoint may be entered facing any way: an answer serves for the direction whose centre is
    within half a sector, under that direction's number.
    """

    def __init__(self) -> None:
        self._answers: dict[str, list[tuple[Direction, str]]] = {}

    def keep(self, viewpoint: str, direction: Direction, answer: str) -> None:
        if viewpoint:
            self._answers.setdefault(viewpoint, []).append((direction, answer))

    def find(self, viewpoint: str, direction: Direction) -> str | None:
        for earlier, answer in self._answers.get(viewpoint, ()):
            if abs(relative(earlier.heading, direction.heading)) <= SECTOR_WIDTH / 2:
                own_number = rf"\b([Dd]irection) {earlier.id}\b"
                return re.sub(own_number, rf"\1 {direction.id}", answer)
        return None


async def describe_scene(
    meeting: Meeting,
    surroundings: Surroundings,
    directions: tuple[Direction, ...],
    types: Sequence[str],
    memory: SceneMemory | None,
) -> SceneNotes:
    """Ask the scene expert about all directions at once that the memory has no answer for.

    It is asked by type of landmark (``What furniture can you see in direction 3?``) and never for
    the landmark itself, which would invite it to be seen. A text model reads the recorded
    sentences, a vision model is shown the picture of the direction. Source: DiscussNav, sections
    III-B and III-C, "Vision Perception".
    """

    async def ask_about(direction: Direction) -> tuple[str, ...]:
        recorded, image = " ".join(direction.captions), surroundings.picture(direction)
        if image is None and not recorded:
            return ()
        if memory and (remembered := memory.find(surroundings.viewpoint, direction)) is not None:
            return (remembered,)
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
        if memory and answer is not None:
            memory.keep(surroundings.viewpoint, direction, answer)
        text = recorded if answer is None else answer
        return (text,) if text else ()

    answers = await ask_all([ask_about(direction) for direction in directions])
    return SceneNotes(directions, {d.id: text for d, text in zip(directions, answers, strict=True)})

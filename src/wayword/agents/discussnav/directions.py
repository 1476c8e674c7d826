"""Twelve directions of 30° around the agent, numbered clockwise from its heading, with their
descriptions: on a viewpoint graph (recorded sentences), or around a body with a camera.

Source: DiscussNav (Long et al. 2024), section III-C.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from wayword.agents.discussnav.experts import Meeting
from wayword.agents.prompting import ask_all
from wayword.core.action import Action, Decision
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute, relative, unit
from wayword.core.model import Image, Message, system
from wayword.core.perceiver import Perceiver, Percept
from wayword.core.sight import Eyes
from wayword.core.visible import single_line
from wayword.core.world import Feedback, Observation
from wayword.perception.detectors import caption, middle_of
from wayword.verbalize import indoor
from wayword.worlds.indoor.world import IndoorObservation
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.observation import View, clear_ahead

# The paper's number of views around a place
DIRECTIONS = 12
# Degrees, without gaps between the sectors
SECTOR_WIDTH = 360.0 / DIRECTIONS


@dataclass(frozen=True)
class Direction:
    """A direction: ``id`` from 1 (front) to 12, clockwise; absolute ``heading`` of its center.

    ``captions`` and ``tags`` describe it. ``action`` moves there, None if that is impossible.
    ``marks`` describe the exit: steep (``leads up 25°``), or ``visited`` before.
    """

    id: int
    heading: float
    captions: tuple[str, ...]
    tags: tuple[str, ...]
    action: Action | None = None
    marks: tuple[str, ...] = ()


def side_text(direction: int) -> str:
    """Return the side of a direction: ``ahead``, ``30° to the right`` … ``behind``."""
    degrees = relative((direction - 1) * SECTOR_WIDTH, 0.0)
    if degrees == 0.0:
        return "ahead"
    if abs(degrees) == 180.0:
        return "behind"
    side = "right" if degrees > 0 else "left"
    return f"{abs(degrees):.0f}° to the {side}"


def direction_number(heading: float, facing: float) -> int:
    """Return the direction of an absolute heading; a border belongs to the one on its right."""
    steps = (absolute(heading - facing) + SECTOR_WIDTH / 2) // SECTOR_WIDTH
    return int(steps) % DIRECTIONS + 1


@dataclass(frozen=True)
class DirectionStep:
    """A step taken: the agent's heading before it and the step's heading (degrees), a description
    of any problem, and True in ``is_refused`` if the body refused to move."""

    facing: float
    heading: float
    event: str = ""
    is_refused: bool = False


# Surroundings are the source of directions and of moves in them. ``source`` names the text that
# describes them; ``goal`` selects prompts. ``take_in`` returns an action if the agent must look
# around first; ``directions`` returns all twelve, or None if they have not changed; ``step_taken``
# returns the step made of a decision; ``viewpoint`` is the place's key in ``SceneMemory``, or "".

OVERLAP = 1.0  # degrees by which a sector must overlap a direction to describe it


class OnViewpoints:
    """Surroundings in the indoor world: all directions are visible immediately. A recorded sentence
    covers 45°, so a direction has those of the one or two sectors that it overlaps, and the tags of
    the objects within its own 30°. Drawn pictures are those of ``eyes``."""

    source = "recorded sentences"
    goal = "place"

    def __init__(self, perceiver: Perceiver, eyes: Eyes | None = None) -> None:
        self._perceiver = perceiver
        self._eyes = eyes
        self._scene = ""
        self.viewpoint = ""
        self._camera = perceiver if "picture" in perceiver.capabilities else None
        self._directions: tuple[Direction, ...] | None = None
        self._visited: set[str] = set()

    def take_in(self, observation: Observation) -> Action | None:
        """Take in an observation; returns an action that has to be done first. Raises
        ``UsageError`` for a world without viewpoints."""
        if not isinstance(observation, IndoorObservation):
            raise UsageError(
                "discussnav acts in indoor and objectnav worlds; choose another agent"
            )
        # False after a rejected answer
        is_new_place = observation.viewpoint != self.viewpoint
        self._scene = observation.scene
        self.viewpoint = observation.viewpoint
        self._visited.add(observation.viewpoint)
        self._directions = None
        if is_new_place:
            percept = self._perceiver.perceive(self._scene, self.viewpoint)
            self._directions = directions_around(observation, percept, self._visited)
        return None

    def directions(self) -> tuple[Direction, ...] | None:
        """Return the directions around the viewpoint."""
        return self._directions

    def picture(self, direction: Direction) -> Image | None:
        """Return the picture of a direction; None without a camera."""
        if self._eyes is not None:
            return self._eyes.toward(direction.heading)
        if self._camera is None:
            return None
        place = self._scene, self.viewpoint
        return self._camera.picture(*place, direction.heading, SECTOR_WIDTH)

    def step_taken(
        self, decision: Decision, feedback: Feedback
    ) -> DirectionStep | None:
        """Return the step that a move made; None if it made none."""
        details = feedback.details
        if "heading" not in details:
            return None
        return DirectionStep(details["heading_before"], details["heading"])


def directions_around(
    view: IndoorObservation, percept: Percept, visited: Collection[str] = ()
) -> tuple[Direction, ...]:
    """Return all twelve directions. Every exit is in exactly one of them; a direction's action
    takes the exit nearest to its middle."""
    directions = []
    for number in range(1, DIRECTIONS + 1):
        center = absolute(view.heading + (number - 1) * SECTOR_WIDTH)
        # Dicts as ordered sets: two sectors may have the same text.
        captions: dict[str, None] = {}
        tags: dict[str, None] = {}
        for sector in percept.sectors:
            off_degrees = abs(relative(sector.heading, center))
            if (
                sector.caption
                and off_degrees < (sector.width + SECTOR_WIDTH) / 2 - OVERLAP
            ):
                captions[sector.caption] = None
            for sighting in sector.sightings:
                if direction_number(sighting.heading, view.heading) == number:
                    tags[sighting.name] = None
        exits = [
            e
            for e in view.neighbors
            if direction_number(e.heading, view.heading) == number
        ]
        # The exit in the middle is the one that a model means by the direction.
        exit_ = min(exits, key=lambda e: abs(relative(e.heading, center)), default=None)
        action = None
        marks = list[str]()
        if exit_ is not None:
            action = Action("goto", (exit_.viewpoint,))
            slope = indoor.slope(exit_.elevation)
            if slope:
                marks.append(f"leads {slope}°")
            if exit_.viewpoint in visited:
                marks.append("visited")
        directions.append(
            Direction(number, center, (*captions,), (*tags,), action, (*marks,))
        )
    return tuple(directions)


STRIDE = 0.5  # metres of a step into free space: two of the world's steps
NEARBY = 1.0  # with less than this free (metres), a step goes half the free distance
BLOCKED = 0.4  # with less than this free (metres), no step is possible


class OnBase:
    """Surroundings in object-goal navigation: a body with a camera looks around before each step.

    It takes twelve pictures by turns of 30°. A direction's tags are the objects found by a
    detector; a vision model gets the middle 30° of its picture. A step is 0.5 m, or half the free
    distance if an obstacle is within a metre. Without a detector, directions have only pictures.
    Source: DiscussNav (Long et al. 2024), section IV, the experiment with a real robot.
    """

    source = "names that a detector lists"
    goal = "thing"
    viewpoint = ""

    def __init__(self, detector: Perceiver | None, eyes: Eyes | None = None) -> None:
        self._detector = detector
        self._eyes = eyes
        self._views: list[View] = []
        self._directions: tuple[Direction, ...] | None = None
        self._refused_ids: set[int] = set()

    def take_in(self, observation: Observation) -> Action | None:
        """Take in a view; returns the turn to the next one until all directions are
        seen."""
        if not isinstance(observation, View):
            raise UsageError(
                "discussnav needs descriptions of viewpoints; set a perceiver"
            )
        # Once per turn of twelve views is enough: the camera does not change.
        if self._detector is not None and not self._views:
            self._detector.check_view(observation)
        if len(self._views) < DIRECTIONS:
            self._views.append(observation)
        if len(self._views) == DIRECTIONS:
            return None
        return rotate(SECTOR_WIDTH)

    def directions(self) -> tuple[Direction, ...] | None:
        """Return the directions around the base, without refused ones; None if nothing
        changed."""
        if self._directions is None:
            self._directions = tuple(map(self._direction, range(1, DIRECTIONS + 1)))
        elif not self._refused_ids:
            return None
        self._directions = tuple(
            replace(d, action=None) if d.id in self._refused_ids else d
            for d in self._directions
        )
        self._refused_ids = set()
        return self._directions

    def picture(self, direction: Direction) -> Image | None:
        """Return the middle of the view in a direction; None without a picture."""
        if self._eyes is not None:
            return self._eyes.toward(direction.heading)
        view = self._towards(direction.heading)
        if view is None or not view.image:
            return None
        return middle_of(view.image, view.field_of_view, SECTOR_WIDTH)

    def step_taken(
        self, decision: Decision, feedback: Feedback
    ) -> DirectionStep | None:
        """Return the step that a motion made; None if it made none."""
        action = decision.action
        chosen = next((d for d in self._directions or () if d.action == action), None)
        if action.name != "goto" or chosen is None:
            return None
        facing = self._views[0].heading
        event = ""
        details = feedback.details
        if not feedback.ok:
            metres = float(details.get("metres", 0.0))
            why = details.get("reason", "")
            event = (
                f"Your last move was {feedback.status} after {metres:.2f} m ({why}).\n"
            )
        # The body has not moved, and this direction is blocked
        if feedback.status == "refused":
            self._refused_ids = {chosen.id}
            return DirectionStep(facing, chosen.heading, event, is_refused=True)
        # The body is elsewhere: all twelve directions must be seen again.
        self._views = []
        self._directions = None
        return DirectionStep(facing, chosen.heading, event)

    def _direction(self, number: int) -> Direction:
        """Return a direction with what its view shows."""
        facing = self._views[0].heading
        heading = absolute(facing + (number - 1) * SECTOR_WIDTH)
        view = self._towards(heading)
        if view is None:
            return Direction(number, heading, (), ())
        detections = []
        if self._detector is not None:
            # A view is wider than a direction: what is in its neighbors' belongs to them.
            for detection in self._detector.detect(view):
                bearing = absolute(view.heading + detection.bearing)
                if direction_number(bearing, facing) == number:
                    detections.append(detection)
        captions: tuple[str, ...] = ()
        if detections:
            captions = (f"There is {caption(detections)}.",)
        tags = tuple(dict.fromkeys(detection.name for detection in detections))
        metres = stride(
            clear_ahead(view.depth, view.eye, relative(heading, view.heading))
        )
        east, north = unit(heading)
        action = None
        if metres:
            action = goto(view.x + metres * east, view.y + metres * north)
        return Direction(number, heading, captions, tags, action)

    def _towards(self, heading: float) -> View | None:
        """Return the view nearest to a heading, None if none shows it: turns may fall short."""
        best = min(self._views, key=lambda view: abs(relative(heading, view.heading)))
        width = max(best.field_of_view, SECTOR_WIDTH)
        if abs(relative(heading, best.heading)) > width / 2:
            return None
        return best


def stride(free_metres: float) -> float:
    """Return the length of a step with ``free_metres`` free; 0 if no step is possible."""
    if free_metres < BLOCKED:
        return 0.0
    if free_metres < NEARBY:
        return free_metres / 2
    return STRIDE


Surroundings = OnViewpoints | OnBase


def scene_text(directions: Sequence[Direction], subset: Collection[int] = ()) -> str:
    """Return one paragraph per direction, of all or a ``subset``. A sentence that describes several
    directions, as recorded ones may, is written once: in the first one that can be moved in."""
    described = [each for each in directions if not subset or each.id in subset]
    written_in: dict[str, int] = {}
    # Directions with an exit come first, so that their texts are complete.
    for direction in sorted(described, key=lambda each: each.action is None):
        for sight in direction.captions:
            written_in.setdefault(sight, direction.id)
    lines = []
    for direction in described:
        sights = direction.captions
        tags = " | ".join(direction.tags)
        # Nothing recorded and no exit: a line would only cost tokens.
        if not (sights or tags or direction.action):
            continue
        own = [sight for sight in sights if written_in[sight] == direction.id]
        others = [written_in[sight] for sight in sights if sight not in own]
        parts = own
        if others:
            prefix = "In part as" if own or len(others) > 1 else "As"
            numbers = list(dict.fromkeys(others))
            noun = "direction" if len(numbers) == 1 else "directions"
            written = " and ".join(map(str, numbers))
            parts = [*own, f"{prefix} in {noun} {written}."]
        if tags:
            parts = [*parts, f"[{tags}]"]
        marks = "; ".join((side_text(direction.id), *direction.marks))
        title = f"Direction {direction.id} ({marks})"
        if not direction.action:
            title += " (no path)"
        lines.append(f"{title}: {' '.join(parts)}")
    return "\n".join(lines)


class SceneMemory:
    """The scene expert's answers at the viewpoints of an episode, which may be entered with any
    heading: an answer is reused for the direction whose center is within half a sector, with its
    number changed to that direction's."""

    def __init__(self) -> None:
        self._answers: dict[str, list[tuple[Direction, str]]] = {}

    def keep(self, viewpoint: str, direction: Direction, answer: str) -> None:
        """Keep an expert's answer about a direction."""
        if viewpoint:
            self._answers.setdefault(viewpoint, []).append((direction, answer))

    def find(self, viewpoint: str, direction: Direction) -> str | None:
        """Return the answer about a direction seen before, with its present number."""
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
) -> tuple[Direction, ...]:
    """Ask the scene expert concurrently about all directions that are not in the memory, and return
    them with the answers as captions.

    Questions name types of landmarks (``What furniture can you see in direction 3?``), never the
    landmark itself, which would suggest that it is there. A text model reads the recorded
    sentences, a vision model sees the picture of the direction. Source: DiscussNav, sections III-B
    and III-C, "Vision Perception".
    """

    prompts = meeting.prompts

    async def ask_about(direction: Direction) -> Direction:
        """Return a direction with the expert's caption, from memory where it was asked
        before."""
        if memory:
            remembered = memory.find(surroundings.viewpoint, direction)
            if remembered is not None:
                return replace(direction, captions=(remembered,))
        recorded = " ".join(direction.captions)
        image = surroundings.picture(direction)
        # With neither a picture nor a text, the expert could only invent an answer.
        if image is None and not recorded:
            return direction
        kinds = (
            f"What {kind} can you see in direction {direction.id}?" for kind in types
        )
        slots = {
            "direction": str(direction.id),
            "seen": recorded or "(see the picture)",
        }
        question = prompts.fill("scene_question", questions="\n".join(kinds), **slots)
        images = (image,) if image else ()
        recovery = "no description of the direction"
        if recorded:
            recovery = "the recorded sentence, unchanged"
        answer = await meeting.ask(
            "scene",
            [system(prompts["scene"]), Message("user", question, images)],
            None,
            lambda text: single_line(text) or None,
            recovery,
        )
        # A failed answer is not remembered: the next visit asks again.
        if answer is None:
            answer = recorded
        elif memory:
            memory.keep(surroundings.viewpoint, direction, answer)
        captions = (answer,) if answer else ()
        return replace(direction, captions=captions)

    return tuple(await ask_all([ask_about(direction) for direction in directions]))

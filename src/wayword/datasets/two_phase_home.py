"""The two-phase test on a floor: drive out of a room, find the target's room, and see the target.

Source: LGX (Dorbala et al. 2024), section V-A with Tables II and V. The rooms and their objects are
the table's; sizes and places are not published and are drawn here once, the same for all episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from wayword.core.dataset import Clusters, DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.geometry import Point, box_corners
from wayword.datasets.apartments import GOAL_RADIUS, search_task
from wayword.datasets.two_phase import QUESTIONS
from wayword.settings import Checked
from wayword.worlds import objectnav
from wayword.worlds.household.builder import SceneBuilder, type_name
from wayword.worlds.objectnav.observation import Camera, FieldOfView, Range
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import (
    ObjectNavWorld,
    SolvableSearches,
    places_to_see,
)

SCENE = "two-phase-home"
WIDTH = 5.0  # metres, of a room along the hallway
DEPTH = 4.0  # metres, of a room away from the hallway
HALL = 2.0  # metres, width of the hallway
DOORWAY = 1.2  # metres, width of a doorway
CORNERS: Mapping[str, Point] = {
    "kitchen": (0.0, HALL),
    "living room": (WIDTH, HALL),
    "bedroom": (0.0, -DEPTH),
    "office": (WIDTH, -DEPTH),
}
"""Room -> its south-west corner; the hallway lies between y = 0 and ``HALL``."""


@dataclass(frozen=True)
class _Piece:
    """An object: its offset from the room's middle, east and away from the hallway, and its box
    (width, depth, underside, height), all in metres. ``on``: the piece that it lies on."""

    name: str
    east: float
    far: float
    box: tuple[float, float, float, float]
    on: str = ""


# The common objects of a room and its two targets, by the wall that faces the doorway.
PIECES: Mapping[str, tuple[_Piece, ...]] = {
    "kitchen": (
        _Piece("sink", -1.2, 1.6, (1.6, 0.6, 0.0, 0.9)),
        _Piece("fridge", 1.6, 1.6, (0.7, 0.7, 0.0, 1.8)),
        _Piece("Red Bull can", -1.7, 1.6, (0.06, 0.06, 0.9, 0.15), "sink"),
        _Piece("Stevia sugar packets", -0.7, 1.6, (0.12, 0.1, 0.9, 0.1), "sink"),
    ),
    "living room": (
        _Piece("couch", -1.2, 1.5, (2.0, 0.9, 0.0, 0.45)),
        _Piece("tv", 1.6, 1.7, (1.2, 0.4, 0.0, 1.2)),
        _Piece("coffee table", -1.3, 0.3, (0.9, 0.5, 0.0, 0.45)),
        _Piece("remote control", -1.2, 1.3, (0.18, 0.06, 0.45, 0.03), "couch"),
    ),
    "bedroom": (
        _Piece("bed", -1.2, 1.0, (1.5, 2.0, 0.0, 0.5)),
        _Piece("blanket", -1.4, 0.8, (0.7, 0.9, 0.5, 0.08), "bed"),
        _Piece("bust", -0.8, 1.5, (0.25, 0.25, 0.5, 0.4), "bed"),
        _Piece("olive-colored jacket", -0.8, 0.5, (0.5, 0.4, 0.5, 0.1), "bed"),
    ),
    "office": (
        _Piece("desk", -1.2, 1.6, (1.6, 0.7, 0.0, 0.75)),
        _Piece("computer", -1.5, 1.7, (0.5, 0.2, 0.75, 0.45), "desk"),
        _Piece("silver pen", -0.7, 1.5, (0.15, 0.02, 0.75, 0.02), "desk"),
        _Piece("whiteboard", 1.4, 1.9, (1.5, 0.1, 0.6, 1.2)),
    ),
}


@dataclass(frozen=True)
class TwoPhaseHomeSettings(Checked):
    """``seed`` draws the direction that an episode begins in; ``field_of_view`` (degrees) and
    ``depth`` (metres) describe the camera."""

    seed: int = 0
    field_of_view: FieldOfView = 80.0
    depth: Range = 5.0

    @property
    def camera(self) -> Camera:
        """The camera of these settings."""
        return Camera(field_of_view=self.field_of_view, reach=self.depth)


class TwoPhaseHome(SolvableSearches):
    """Find one of eight targets from each of the three rooms that it is not in.

        >>> home = TwoPhaseHome()
        >>> home.tasks[0].episode.id, home.tasks[0].episode.instruction
        ('red_bull_can_from_living_room', 'Find the Red Bull can.')

    24 episodes, the questions of ``two_phase``, in four rooms on a hallway. An episode begins in
    the middle of a room. As in ``apartments``, it is solved by a stop within 1 m of the target in
    view.
    """

    Settings = TwoPhaseHomeSettings
    family = objectnav.family
    clusters = Clusters("target", r"(.+)_from_.+")
    splits = ("test",)
    max_steps = 500
    settings: TwoPhaseHomeSettings

    @property
    def tasks(self) -> Sequence[Task]:
        """The questions in their published order, each drawn when it is first read."""
        return DrawnTasks(len(QUESTIONS), self._task, _episode_id)

    def world(self, episode: Episode) -> ObjectNavWorld:
        """Return the home with a body at the episode's start."""
        return ObjectNavWorld(
            SimulatedBase(self.place(episode.scene), self.settings.camera)
        )

    def place(self, scene: str) -> SimulatedScene:
        """Return the home, the same for all episodes."""
        return build_home()

    def _task(self, number: int) -> Task:
        """Return the task of a question."""
        return _task(number, self.settings.seed, self.settings.camera)


@lru_cache(maxsize=1)
def build_home() -> SimulatedScene:
    """Build the four rooms on their hallway, with open doorways."""
    builder = SceneBuilder(SCENE)
    builder.room("hallway", box_corners((0.0, 0.0, 2 * WIDTH, HALL)))
    for name, (x, y) in CORNERS.items():
        builder.room(name, box_corners((x, y, x + WIDTH, y + DEPTH)))
    words = {}
    for name in CORNERS:
        middle, _ = middle_of(name)
        # The wall between the room and the hallway
        wall = HALL if CORNERS[name][1] > 0 else 0.0
        builder.opening((middle - DOORWAY / 2, wall), (middle + DOORWAY / 2, wall))
        for piece in PIECES[name]:
            words[_add(builder, name, piece)] = piece.name
    return SimulatedScene(builder.build(is_published=True), words)


def _add(builder: SceneBuilder, room: str, piece: _Piece) -> str:
    """Add an object to its room. Returns its id."""
    x, y = middle_of(room)
    away = 1.0 if CORNERS[room][1] > 0 else -1.0
    at = (x + piece.east, y + away * piece.far)
    width, depth, bottom, height = piece.box
    kind = type_name(piece.name)
    if not piece.on:
        return builder.furniture(
            kind, *at, width, depth, height, bottom=bottom, name=kind, receptacle="on"
        )
    return builder.item(
        kind,
        parent=type_name(piece.on),
        x=at[0],
        y=at[1],
        name=kind,
        width=width,
        depth=depth,
        bottom=bottom,
        height=height,
    )


def middle_of(room: str) -> Point:
    """Return the middle of a room in metres, where its episodes begin."""
    x, y = CORNERS[room]
    return x + WIDTH / 2, y + DEPTH / 2


def _episode_id(number: int) -> str:
    """Return the id of a question: its target and its room."""
    target, room = QUESTIONS[number]
    return f"{type_name(target)}_from_{type_name(room)}"


@lru_cache(maxsize=64)
def _task(number: int, seed: int, camera: Camera) -> Task:
    """Return the task of a question, with the shortest path to where its target is in view.

    The heading at the start is drawn in steps of 30 degrees.
    """
    target, room = QUESTIONS[number]
    place = build_home()
    name = _episode_id(number)
    goals = places_to_see(
        place,
        camera,
        (type_name(target),),
        GOAL_RADIUS,
    )
    path = place.ground.path(middle_of(room), goals)
    assert path is not None, f"{name}: every target can be seen from the floor"
    heading = 30.0 * Random(f"{SCENE}/{seed}/{name}").randrange(12)
    corners = [(round(x, 3), round(y, 3)) for x, y in path]
    return search_task(
        place,
        name,
        target,
        [type_name(target)],
        heading,
        path,
        corners,
    )


dataset = TwoPhaseHome

"""Apartments: find an object from a free-form description in a generated home. No data needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Annotated, Literal

from annotated_types import Ge, Le

from wayword.core.dataset import Clusters, DrawnTasks, Task
from wayword.core.episode import Episode, Extra
from wayword.core.errors import UsageError
from wayword.core.geometry import Point, bearing, path_length, relative
from wayword.core.visible import spaced
from wayword.datasets.procedural.homes.episodes import cached_home
from wayword.datasets.procedural.homes.home import MAX_ROOMS, MIN_ROOMS, home_name
from wayword.datasets.procedural.homes.objects import arrange
from wayword.datasets.procedural.tables import Table
from wayword.settings import Checked, Count
from wayword.worlds import objectnav
from wayword.worlds.household.entities import Entities
from wayword.worlds.household.picture import spread_out
from wayword.worlds.household.scene import Scene
from wayword.worlds.objectnav.observation import Camera, FieldOfView, Range
from wayword.worlds.objectnav.picture import (
    SearchPainter,
    picture_camera,
    seen_pixels,
)
from wayword.worlds.objectnav.simulated import STEP, TURN, SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import (
    ObjectNavReference,
    ObjectNavWorld,
    SolvableSearches,
    places_to_see,
)

LOOKS: Mapping[str, tuple[str, ...]] = Table("looks", "appearances")
"""Adjectives that distinguish objects of one type. Any type may get any of them: an agent cannot
guess the target from its description and has to look."""


# Stop within this distance of the target (metres), as in RoboTHOR.
GOAL_RADIUS = 1.0
# Minimum length of the shortest path to the target, metres.
SHORTEST_PATH = 2.0
DRAW_ATTEMPTS = 60  # draws of target and start before an arrangement is rejected
# Object arrangements per home; successive episodes in a home cycle through them.
ARRANGEMENTS = 4


@dataclass(frozen=True)
class ApartmentsSettings(Checked):
    """``rooms`` includes the hallway (homes with five or more rooms have one). Episodes cycle
    through the homes. ``field_of_view`` (degrees) and ``depth`` (metres) describe the camera.
    ``length``: motions of the shortest path (steps of 0.25 m, turns of 30 degrees, the stop),
    within an eighth; 0: any number. Long paths need large homes."""

    homes: Count = 20
    episodes: Count = 120
    seed: int = 0
    rooms: Annotated[int, Ge(MIN_ROOMS), Le(MAX_ROOMS)] = 5
    field_of_view: FieldOfView = 80.0
    depth: Range = 5.0
    length: Literal[0] | Annotated[int, Ge(4), Le(256)] = 0

    @property
    def camera(self) -> Camera:
        """Camera of a searcher's body, with the configured field of view and depth
        range."""
        return Camera(field_of_view=self.field_of_view, reach=self.depth)


PAINTABLE = "paintable"
"""The split whose objects have looks that pictures can show."""
# Pixels of a target in a picture from the end of the shortest path, in that split.
LEAST_PIXELS = 200
_PAINTER = SearchPainter()


class Apartments(SolvableSearches):
    """Object-goal navigation by free descriptions in generated homes: "Find the cat-shaped mug."

        >>> lost = Apartments(settings=Apartments.Settings(homes=1, episodes=2))
        >>> task = lost.tasks[0]
        >>> task.episode.instruction == f"Find the {task.episode.extra['target']}."
        True

    Each portable object has a distinguishing look, so a description matches exactly one object
    although other objects share its type. All doors are open and the target is not inside anything
    closed. The nearest point within 1 m of the visible target is at least 2 m from the start.

    Split ``paintable``, for ``eyes``: pictures can show its looks, no objects overlap, small ones
    hide others, and what no picture of the default size shows is in no words.
    """

    Settings = ApartmentsSettings
    family = objectnav.family
    clusters = Clusters("scene", r"(.*?)(?:_[A-Z][A-Za-z]+)?_\d+")
    splits = ("test", "train", PAINTABLE)
    max_steps = 500
    settings: ApartmentsSettings

    @property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the split, each drawn when it is first read."""
        length = self.settings.length
        return DrawnTasks(
            *(self.settings.episodes, self._task),
            lambda number: _episode_id(*self._scene(number), length),
        )

    def world(self, episode: Episode) -> ObjectNavWorld:
        """Return a simulated base in the episode's apartment."""
        return ObjectNavWorld(SimulatedBase(self.place(episode.scene), self.camera))

    @property
    def camera(self) -> Camera:
        """Camera of the split."""
        settings = self.settings
        if self.split == PAINTABLE:
            return picture_camera(settings.field_of_view, settings.depth)
        return settings.camera

    def painter(self) -> SearchPainter | None:
        """Return the painter of the split ``paintable``; other splits have looks that cannot be
        drawn, such as "half-used"."""
        if self.split == PAINTABLE:
            return _PAINTER
        return None

    def place(self, scene: str) -> SimulatedScene:
        """Return a home with its small objects; cached."""
        return _build_scene(scene)

    def _scene(self, number: int) -> tuple[str, int]:
        """Return the scene of an episode, and the episode's number within its home."""
        settings = self.settings
        turn = number // self.settings.homes
        home = home_name(
            self.split,
            settings.seed,
            settings.rooms,
            number % settings.homes,
        )
        return f"{home}/{turn % ARRANGEMENTS}", turn

    def _task(self, number: int) -> Task:
        """Return a task by its number, with the budget of searches in its episode."""
        task = _task(*self._scene(number), self.camera, self.settings.length)
        episode = replace(task.episode, extra={**task.episode.extra, **self.budget()})
        return Task(episode, task.reference)


@lru_cache(maxsize=64)
def _build_scene(scene: str) -> SimulatedScene:
    """Build the home and arrangement encoded in a scene name, with every door open."""
    home = cached_home(scene.rpartition("/")[0])
    rng = Random(f"lost_things/{scene}")
    home_scene = arrange(rng, home).scene()
    doors = tuple(replace(door, open=True) for door in home_scene.doors)
    home_scene = replace(home_scene, name=scene, doors=doors)
    unused_looks: dict[str, list[str]] = {}
    # The split is part of a home's name.
    is_paintable = f"-{PAINTABLE}-" in scene
    adjectives = LOOKS["adjectives"]
    if is_paintable:
        adjectives = LOOKS["paintable"]
        home_scene = _spread(home_scene)
    words: dict[str, str] = {}  # unique in the home
    for item in home_scene.objects:
        if "pickupable" in item.affordances:
            looks = unused_looks.setdefault(item.type, [])
            if looks:
                looks += []
            else:
                looks += rng.sample(adjectives, len(adjectives))
            words[item.id] = f"{looks.pop()} {item.type.replace('_', ' ')}"
    return SimulatedScene(home_scene, words, all_hide=is_paintable)


def _spread(scene: Scene) -> Scene:
    """Return a scene whose small objects lie next to each other."""
    objects = list(scene.objects)
    for number, (x, y) in spread_out(Entities(scene, 0)).items():
        objects[number] = replace(objects[number], x=round(x, 3), y=round(y, 3))
    return replace(scene, objects=tuple(objects))


def _episode_id(scene: str, turn: int, length: int) -> str:
    """Return ``scene_turn``, with the length of the search where one is set."""
    return f"{scene}{f'/l{length}' if length else ''}/{turn}".replace("/", "_")


@lru_cache(maxsize=512)
def _task(scene: str, turn: int, camera: Camera, length: int) -> Task:
    """Draw episode ``turn`` of a home: retry until the shortest path is long enough, or takes
    ``length`` motions."""
    place = _build_scene(scene)
    starts = cached_home(scene.rpartition("/")[0]).starts
    visible = {each.id for each in place.surfaces.objects}
    candidates = [one for one in place.words if one in visible]
    at = {each.id: (each.x, each.y) for each in place.surfaces.objects}
    suffix = f"/l{length}" if length else ""
    for attempt in range(20 * DRAW_ATTEMPTS if length else DRAW_ATTEMPTS):
        rng = Random(f"lost_things/{scene}/{turn}/{attempt}{suffix}")
        target = rng.choice(candidates)
        start = rng.choice(starts)
        # A path is at least as long as the straight line, and rarely takes more than three times
        # as many motions; the extra metres are those from which the target may be seen.
        straight = math.dist(start, at[target]) / STEP
        if length and not straight - 8 <= length <= 3 * straight + 8:
            continue
        if not place.ground.at(*start):
            continue
        path = place.ground.path(
            start,
            places_to_see(place, camera, (target,), GOAL_RADIUS),
        )
        if path is None:
            continue
        heading = 30.0 * rng.randrange(12)
        motions = count_motions([*path, at[target]], heading)
        if (
            abs(motions - length) <= length / 8
            if length
            else path_length(path) >= SHORTEST_PATH
        ):
            if not _can_be_seen(place, camera, path[-1], target):
                continue
            corners = [(round(x, 3), round(y, 3)) for x, y in path]
            name = _episode_id(scene, turn, length)
            words = place.words[target]
            return search_task(place, name, words, [target], heading, path, corners)
    if length:
        least = f" {length} motions away"
    else:
        least = f" at least {SHORTEST_PATH:g} m away"
    raise UsageError(
        f"{scene} has no target{least}; change dataset.seed or raise dataset.rooms"
    )


def _can_be_seen(place: SimulatedScene, camera: Camera, at: Point, target: str) -> bool:
    """True if a picture from a point shows the target well; where there are no pictures, always."""
    if not place.all_hide:
        return True
    (goal,) = [each for each in place.scene.objects if each.id == target]
    return seen_pixels(place, camera, at, goal) >= LEAST_PIXELS


def count_motions(corners: Sequence[Point], heading: float) -> int:
    """Count the motions along all corners but the last, which is faced at the end, and the stop."""
    count = 1
    for one, other in pairwise(corners):
        ahead = bearing(one, other)
        count += math.ceil(abs(relative(ahead, heading)) / TURN - 1e-9)
        if other != corners[-1]:
            count += math.ceil(math.dist(one, other) / STEP - 1e-9)
        heading = ahead
    return count


def search_task(
    place: SimulatedScene,
    name: str,
    words: str,
    targets: Sequence[str],
    heading: float,
    path: Sequence[Point],
    corners: Sequence[Point],
) -> Task:
    """Build a search for any of ``targets``; ``corners`` is the shortest path to store."""
    matches = [o for o in place.surfaces.objects if o.id in targets]
    start_pose = {"x": path[0][0], "y": path[0][1], "heading": heading}
    extra: Extra = {"target": words, "kind": spaced(matches[0].type)}
    episode = Episode(
        name,
        f"Find the {words}.",
        place.scene.name,
        start_pose,
        extra=extra,
    )
    ids = frozenset(targets)
    length = round(path_length(path), 4)
    points = tuple((o.x, o.y) for o in matches)
    return Task(
        episode,
        ObjectNavReference(name, ids, tuple(corners), length, GOAL_RADIUS, points),
    )


dataset = Apartments

"""Apartments: find a freely described thing in a generated home. No data needed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Extra
from wayword.core.errors import UsageError
from wayword.core.geometry import Point, way_length
from wayword.core.world import Family
from wayword.datasets.procedural.homes.episodes import home_of
from wayword.datasets.procedural.homes.home import FEWEST, MOST, home_name
from wayword.datasets.procedural.homes.objects import arrange
from wayword.worlds import objectnav
from wayword.worlds.household.scene import HouseObject
from wayword.worlds.objectnav.observation import Camera
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import (
    ObjectNavReference,
    ObjectNavWorld,
    SolvableSearches,
    places_to_see,
)

# Free descriptions of small things, unique within a home: "cat-shaped mug".

LOOKS = (
    *("cat-shaped", "striped", "olive-colored", "chipped", "polka-dot", "bright red", "tiny"),
    *("old-fashioned", "hand-painted", "sky-blue", "scratched", "glittering", "checked"),
    *("flower-patterned", "dark green", "worn-out", "golden", "star-shaped", "mustard-yellow"),
    *("half-used", "brand-new", "marbled", "engraved", "neon-pink", "dusty", "wooden"),
)
"""What tells a thing from others of its type. Any of them may be said of any type: an agent cannot
know the target by its description alone, and has to look."""


def describe(rng: random.Random, things: Iterable[HouseObject]) -> dict[str, str]:
    """Id -> description, for everything that can be carried: a look and the type, no two alike."""
    looks: dict[str, list[str]] = {}
    told: dict[str, str] = {}
    for thing in things:
        if "pickupable" not in thing.affordances:
            continue
        left = looks.setdefault(thing.type, [])
        if not left:
            left += rng.sample(LOOKS, len(LOOKS))
        told[thing.id] = f"{left.pop()} {thing.type.replace('_', ' ')}"
    return told


WITHIN = 1.0
"""Metres from the target at which one must stop, as in RoboTHOR."""
NEAREST = 2.0
"""The shortest way to the target is at least this long, metres."""
TRIES = 60
ARRANGEMENTS = 4
"""Ways in which the things of a home may lie about; episodes take them in turn."""


@dataclass(frozen=True)
class ApartmentsSettings:
    """``rooms`` counts a hallway, which homes have from five on. Episodes take homes in turn.

    ``field_of_view`` (degrees) and ``depth`` (metres) are the camera's.
    """

    homes: int = 20
    episodes: int = 120
    seed: int = 0
    rooms: int = 5
    field_of_view: float = 80.0
    depth: float = 5.0

    def __post_init__(self) -> None:
        if self.homes < 1 or self.episodes < 1:
            raise UsageError("apartments: homes and episodes must be at least 1")
        if not FEWEST <= self.rooms <= MOST:
            raise UsageError(f"apartments: rooms={self.rooms} must lie in {FEWEST} to {MOST}")
        if not 10 <= self.field_of_view <= 180 or not 0.5 <= self.depth <= 50:
            raise UsageError("apartments: field_of_view lies in 10 to 180, depth in 0.5 to 50")

    @property
    def camera(self) -> Camera:
        """Everybody's camera."""
        return Camera(field_of_view=self.field_of_view, reach=self.depth)


class Apartments(SolvableSearches):
    """Object-goal navigation by free descriptions in generated homes: "Find the cat-shaped mug."

        >>> lost = Apartments(settings=Apartments.Settings(homes=1, episodes=2))
        >>> task = lost.tasks[0]
        >>> task.episode.instruction == f"Find the {task.episode.extra['target']}."
        True

    Everything that can be carried has a look of its own, so that a description fits one thing
    alone, and others of its type share its name. All doors are open; the target lies in the open,
    and its nearest point of view is at least 2 m away. ``shortest`` is this world's own shortest
    way to a place within 1 m with the target in sight. Test and train homes come from different
    streams.
    """

    Settings: ClassVar[type[ApartmentsSettings]] = ApartmentsSettings
    family: ClassVar[Family] = objectnav.family
    splits: ClassVar[tuple[str, ...]] = ("test", "train")
    max_steps: ClassVar[int] = 500
    settings: ApartmentsSettings

    @property
    def tasks(self) -> Sequence[Task]:
        return DrawnTasks(self.settings.episodes, self._task)

    def world(self, episode: Episode) -> ObjectNavWorld:
        return ObjectNavWorld(SimulatedBase(self.place(episode.scene), self.settings.camera))

    def place(self, scene: str) -> SimulatedScene:
        """A home with things lying about, worked out once."""
        return _place(scene)

    def _task(self, number: int) -> Task:
        settings = self.settings
        home = home_name(self.split, settings.seed, settings.rooms, number % settings.homes)
        turn = number // settings.homes
        return _task(f"{home}/{turn % ARRANGEMENTS}", turn, settings.camera)


@lru_cache(maxsize=64)
def _place(scene: str) -> SimulatedScene:
    """The home and arrangement that a scene's name says, every door open."""
    home = home_of(scene.rpartition("/")[0])
    rng = random.Random(f"lost_things/{scene}")
    made = arrange(rng, home).scene()
    doors = tuple(replace(door, open=True) for door in made.doors)
    made = replace(made, name=scene, doors=doors)
    return SimulatedScene(made, describe(rng, made.objects))


@lru_cache(maxsize=512)
def _task(scene: str, turn: int, camera: Camera) -> Task:
    """The episode of that number in a home: the first of some random ones that is not too easy."""
    place = _place(scene)
    starts = home_of(scene.rpartition("/")[0]).starts
    seen = {thing.id for thing in place.surfaces.things}
    things = [one for one in place.words if one in seen]
    for attempt in range(TRIES):
        rng = random.Random(f"lost_things/{scene}/{turn}/{attempt}")
        target, start = rng.choice(things), rng.choice(starts)
        if not place.ground.at(*start):
            continue
        way = place.ground.way(start, places_to_see(place, camera, (target,), WITHIN))
        if way is not None and way_length(way) >= NEAREST:
            name, heading = f"{scene.replace('/', '_')}_{turn}", 30.0 * rng.randrange(12)
            corners = [(round(x, 3), round(y, 3)) for x, y in way]
            length = round(way_length(way), 4)
            return search_task(
                place, name, scene, place.words[target], [target], way[0], heading, corners, length
            )
    raise UsageError(f"{scene} has nothing to look for; take another seed")


def search_task(
    place: SimulatedScene,
    name: str,
    scene: str,
    words: str,
    targets: Sequence[str],
    start: Point,
    heading: float,
    corners: Sequence[Point],
    length: float,
) -> Task:
    """A search for any of some objects, from a place and heading, along the shortest way."""
    there = [o for o in place.surfaces.things if o.id in targets]
    at = {"x": start[0], "y": start[1], "heading": heading}
    extra: Extra = {"target": words, "kind": there[0].type.replace("_", " ")}
    episode = Episode(name, f"Find the {words}.", scene, at, extra=extra)
    middles = tuple((o.x, o.y) for o in there)
    ids = frozenset(targets)
    return Task(episode, ObjectNavReference(name, ids, tuple(corners), length, WITHIN, middles))


dataset = Apartments

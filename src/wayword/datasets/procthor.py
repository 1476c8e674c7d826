"""ProcTHOR: find an object in one of its published houses. Needs the published file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from wayword.core.dataset import Clusters, DrawnTasks, Task
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.files import (
    find,
    find_any,
    read_field,
    read_json_lines,
    require_data,
)
from wayword.core.geometry import Point, path_length
from wayword.core.visible import spaced
from wayword.datasets.apartments import (
    DRAW_ATTEMPTS,
    GOAL_RADIUS,
    SHORTEST_PATH,
    search_task,
)
from wayword.datasets.procedural.homes.furniture import FURNITURE_KINDS
from wayword.datasets.procedural.homes.objects import OBJECTS
from wayword.datasets.procedural.tables import Table
from wayword.datasets.sources import thor
from wayword.settings import Checked, Count
from wayword.worlds import objectnav
from wayword.worlds.household.builder import SceneBuilder, type_name
from wayword.worlds.household.scene import Scene
from wayword.worlds.objectnav.observation import Camera
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import (
    ObjectNavWorld,
    SolvableSearches,
    places_to_see,
)


@dataclass(frozen=True)
class ProcthorSettings(Checked):
    """``houses``: number of houses to use from the file, 0 for all; episodes cycle through them.
    ``episodes`` and ``seed`` control the draw: no episodes are published with the houses."""

    houses: Annotated[int, Ge(0)] = 100
    episodes: Count = 500
    seed: int = 0


class Procthor(SolvableSearches):
    """Object-goal navigation in ProcTHOR's houses (Deitke et al. 2022): "Find the alarm clock."

    Reads ``procthor/train.jsonl``, ``val.jsonl`` or ``test.jsonl`` (optionally ``.gz``) as
    published. Walls, doors and floors come from the file; object sizes are typical for their type,
    since the file lacks the assets. Targets are portable types; any instance counts. The nearest
    point with one in sight within 1 m is at least 2 m from the start. Raises ``DataError`` for a
    missing or malformed file.
    """

    Settings = ProcthorSettings
    family = objectnav.family
    clusters = Clusters("scene", r"(.*?)(?:_[A-Z][A-Za-z]+)?_\d+")
    splits = ("val", "train", "test")
    max_steps = 500
    caveats: tuple[str, ...] = (
        "ProcTHOR's file contains no object sizes: typical sizes are used",
    )

    def open(self) -> None:
        """Find the houses' folder. Raises ``DataError`` without it."""
        self.folder = require_data(self.folder, "procthor")
        file = f"{self.split}.jsonl"
        # The folder of the file itself is accepted too.
        if find_any(self.folder, file) is None:
            self.folder /= "procthor"
        find(self.folder, file)  # the houses are read later
        self.place = lru_cache(maxsize=64)(self._build)

    @property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the split, each drawn when it is first read."""
        return DrawnTasks(self.settings.episodes, self._task)

    @property
    def files(self) -> Mapping[str, Path]:
        """File of the houses, for its checksum."""
        return {"houses": self._houses[0]}

    def world(self, episode: Episode) -> ObjectNavWorld:
        """Return a simulated base in the episode's house."""
        return ObjectNavWorld(SimulatedBase(self.place(episode.scene)))

    @cached_property
    def _houses(self) -> tuple[Path, list[JsonObject]]:
        """Path and records of all houses. Raises ``DataError`` naming the line."""
        path = find(self.folder, f"{self.split}.jsonl")
        houses: list[JsonObject] = []
        for number, record in read_json_lines(path):
            if not isinstance(record, dict):
                raise DataError(
                    path,
                    f"line {number}",
                    "must be a JSON object",
                    "fetch it again",
                )
            houses.append(record)
        return path, houses

    def _build(self, scene: str) -> SimulatedScene:
        """Return a house as a scene for searches."""
        path, houses = self._houses
        number = int(scene.rpartition("_")[2])
        return SimulatedScene(scene_of(path, scene, houses[number]), {})

    def _task(self, number: int) -> Task:
        """Draw a task: a house in turn, a target type, and a start from which it can be reached.

        Raises ``UsageError`` for a house without an object to search for.
        """
        count = len(self._houses[1])
        cycle, house = divmod(number, min(count, self.settings.houses or count))
        scene = f"{self.split}_{house}"
        place = self.place(scene)
        camera = Camera()

        # Target type -> ids of its instances.
        ids_of: dict[str, list[str]] = {}
        for item in place.surfaces.objects:
            if "pickupable" in item.affordances:
                ids_of.setdefault(item.type, []).append(item.id)

        # A target and a start, drawn until a path of a minimum length leads from one to the other.
        cells = np.argwhere(place.ground.free)
        attempts = DRAW_ATTEMPTS if ids_of and len(cells) else 0
        for attempt in range(attempts):
            rng = Random(f"procthor/{self.settings.seed}/{scene}/{cycle}/{attempt}")
            kind = rng.choice(sorted(ids_of))
            j, i = cells[rng.randrange(len(cells))].tolist()
            start = place.ground.point(j * place.ground.free.shape[1] + i)
            goals = places_to_see(
                place,
                camera,
                ids_of[kind],
                GOAL_RADIUS,
            )
            route = place.ground.path(start, goals)
            if route is not None and path_length(route) >= SHORTEST_PATH:
                name = f"{scene}_{cycle}"
                words = spaced(kind)
                heading = 30.0 * rng.randrange(12)
                return search_task(
                    place,
                    name,
                    words,
                    ids_of[kind],
                    heading,
                    route,
                    route,
                )
        raise UsageError(
            f"procthor: house {house} of {self.split} has no object to search for"
        )


dataset = Procthor


# ProcTHOR's published houses: JSON lines, one house per line, with floor polygons, walls and doors.
#
# A house (``procthor-10k``, schema 1.0.0) has ``rooms`` (``id``, ``roomType``, ``floorPolygon``
# of ``x`` and ``z`` in metres), ``walls`` (``id``, ``polygon`` of four points, ``empty`` if the
# rooms are not separated), ``doors`` (``wall0`` and a ``holePolygon`` of two points measured
# along that wall, before schema 1.0.0 a ``boundingBox``) and ``objects`` (``id`` such as
# ``Bed|2|0``, ``position`` of the center,
# ``rotation`` about ``y``, ``children``). THOR's x is our x, its z is our y.
#
# The size of an object depends on its asset, which the file only names. We use typical sizes by
# type, also for occlusion and for the floor area under furniture.
#
# Source: ProcTHOR (Deitke et al. 2022), "Large-Scale Embodied AI Using Procedural Generation".

SIZES = Table[tuple[float, float, float]]("thor", "sizes", package=thor.__package__)
"""Width, depth and height (metres) of types absent from generated homes, or different there."""
DEFAULT_SIZE = (0.2, 0.2, 0.2)
"""Size of all other types, metres."""
# Furniture with its underside below this height (metres) counts as standing on the floor.
FLOOR_LEVEL = 0.05


def scene_of(path: Path, name: str, house: JsonObject) -> Scene:
    """Build a house's scene with all doors open.

    ``path`` and ``name``, the house's id, are for error messages; ``house`` is a line of the file,
    as described above. Raises ``DataError`` for a missing field, or a door in an unknown wall.
    """
    builder = SceneBuilder(name)
    read = partial(read_field, path, name)

    # Walls, by id. An empty one is an opening along its full length.
    wall_ends: dict[str, tuple[Point, Point]] = {}
    for wall in read(house, "walls", list):
        key = read(wall, "id", str)
        polygon = read_field(path, f"{name}, wall {key}", wall, "polygon", list)
        # A wall stands upright: of its four corners, the two above others become the same point.
        corners = list(dict.fromkeys(map(_point, polygon)))
        wall_ends[key] = (corners[0], corners[-1])
        if wall.get("empty"):
            builder.opening(*wall_ends[key])

    for room in read(house, "rooms", list):
        corners = [_point(point) for point in read(room, "floorPolygon", list)]
        label = type_name(read(room, "roomType", str))
        builder.room(f"{label}|{read(room, 'id', str)}", corners)

    # Doors: openings in the first of their two walls, measured along it.
    for door in read(house, "doors", list):
        where = f"{name}, door {read(door, 'id', str)}"
        wall = read_field(path, where, door, "wall0", str)
        # Before schema 1.0.0, the corners are those of a box.
        if isinstance(box := door.get("boundingBox"), dict):
            door = {"holePolygon": [box["min"], box["max"]], **door}
        hole = read_field(path, where, door, "holePolygon", list)
        if wall not in wall_ends:
            raise DataError(path, where, f"refers to an unknown wall {wall!r}")
        low, high = sorted(float(point["x"]) for point in hole[:2])
        builder.opening(
            _point_along(wall_ends[wall], low),
            _point_along(wall_ends[wall], high),
        )

    # Objects by center and typical size, rotated to the nearest axis.
    for item in _flatten_objects(read(house, "objects", list)):
        key = read(item, "id", str)
        position = read_field(path, f"{name}, object {key}", item, "position", dict)
        label, bar, _ = key.partition("|")
        # Other generators of houses number their objects: no search would know them.
        if not (bar and label[:1].isupper()):
            problem = f"must begin with a type of AI2-THOR, as Mug|2|0, got {key!r}"
            raise DataError(path, f"{name}, field 'id'", problem)
        kind = type_name(label)
        width, depth, height = typical_size(kind)
        # Turned by a quarter, to either side.
        if 45 <= float((item.get("rotation") or {}).get("y", 0.0)) % 180 < 135:
            width, depth = depth, width
        x, y = _point(position)
        # The file gives the center; with a typical height it may reach below the floor.
        bottom = max(0.0, float(position["y"]) - height / 2)
        if kind in FURNITURE_KINDS and not item["parent"]:
            # Types that are furniture only always stand on the floor.
            if bottom < FLOOR_LEVEL or kind not in OBJECTS:
                bottom = 0.0
            builder.furniture(
                kind,
                x,
                y,
                width,
                depth,
                height,
                name=key,
                bottom=bottom,
            )
        else:
            builder.item(
                kind,
                x=x,
                y=y,
                name=key,
                bottom=bottom,
                width=width,
                depth=depth,
                height=height,
            )
    return builder.build(is_published=True)


def _point(raw: JsonObject) -> Point:
    """Return a point on the floor: AI2-THOR's y axis points up."""
    return float(raw["x"]), float(raw["z"])


def _point_along(wall: tuple[Point, Point], distance: float) -> Point:
    """Return the point at a distance (metres) from the first end of a wall."""
    (ax, ay), (bx, by) = wall
    # The minimum avoids a division by 0 for a wall of no length.
    length = max(((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5, 1e-9)
    return ax + (bx - ax) * distance / length, ay + (by - ay) * distance / length


def _flatten_objects(
    items: Sequence[Any],
    parent: str = "",
) -> Iterator[dict[str, Any]]:
    """Yield objects and their children, each with the id of its ``parent`` (empty: none)."""
    for item in items:
        yield {**item, "parent": parent}
        yield from _flatten_objects(item.get("children") or (), str(item.get("id", "")))


def typical_size(kind: str) -> tuple[float, float, float]:
    """Return typical width, depth and height of a type, in metres: the file has no sizes."""
    if kind in SIZES:
        return SIZES[kind]
    if kind in OBJECTS:
        small = OBJECTS[kind]
        return small.size, small.size, small.height
    if kind in FURNITURE_KINDS:
        piece = FURNITURE_KINDS[kind]
        return piece.width, piece.depth, piece.height
    return DEFAULT_SIZE

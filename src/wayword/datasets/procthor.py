"""ProcTHOR: find a thing in one of its published houses, for those who have the file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_field, read_json_lines
from wayword.core.geometry import Point, way_length
from wayword.core.world import Family
from wayword.datasets.apartments import NEAREST, TRIES, WITHIN, search_task
from wayword.datasets.procedural.homes.furniture import FURNITURE_KINDS
from wayword.datasets.procedural.homes.objects import OBJECTS
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
class ProcthorSettings:
    """``houses`` is how many of the file's houses are used, 0 for all; episodes take them in turn.
    ``episodes`` and ``seed`` say what is drawn: no episodes are published with the houses.
    """

    houses: int = 100
    episodes: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if self.houses < 0 or self.episodes < 1:
            raise UsageError("procthor: houses must be 0 or more, episodes at least 1")


class Procthor(SolvableSearches):
    """Object-goal navigation in ProcTHOR's houses (Deitke et al. 2022): "Find the alarm clock."

    Reads ``procthor/train.jsonl``, ``val.jsonl`` or ``test.jsonl`` (``.gz`` is fine) as published.
    Walls, doors and floors are the file's own; sizes of things are typical ones of their types, as
    the assets are not in the file. Targets are types that can be carried, any instance counts, and
    the nearest place that has one in sight within 1 m lies at least 2 m away. Raises ``DataError``
    for a file that is missing or malformed.
    """

    Settings: ClassVar[type[ProcthorSettings]] = ProcthorSettings
    family: ClassVar[Family] = objectnav.family
    splits: ClassVar[tuple[str, ...]] = ("val", "train", "test")
    max_steps: ClassVar[int] = 500
    caveats: tuple[str, ...] = ("ProcTHOR's file holds no sizes of things: typical ones are used",)

    def __init__(
        self, split: str, folder: Path | None, settings: ProcthorSettings | None = None
    ) -> None:
        super().__init__(split, folder, settings)
        if folder is None:
            raise UsageError("procthor needs its data: give --data FOLDER or set WAYWORD_DATA")
        self.folder = folder / "procthor" if (folder / "procthor").is_dir() else folder
        self._place = lru_cache(maxsize=64)(self._make_place)

    @property
    def tasks(self) -> Sequence[Task]:
        return DrawnTasks(self.settings.episodes, self._task)

    @property
    def files(self) -> Mapping[str, Path]:
        return {"houses": self._houses[0]}

    def world(self, episode: Episode) -> ObjectNavWorld:
        return ObjectNavWorld(SimulatedBase(self.place(episode.scene)))

    def place(self, scene: str) -> SimulatedScene:
        """A house with its ground and surfaces, worked out once."""
        return self._place(scene)

    @cached_property
    def _houses(self) -> tuple[Path, int]:
        path, houses = self._lines
        return path, min(len(houses), self.settings.houses or len(houses))

    @cached_property
    def _lines(self) -> tuple[Path, list[Mapping[str, object]]]:
        return house_lines(self.folder, self.split)

    def _make_place(self, scene: str) -> SimulatedScene:
        path, houses = self._lines
        return SimulatedScene(scene_of(path, scene, houses[int(scene.rpartition("_")[2])]), {})

    def _task(self, number: int) -> Task:
        house, turn = number % self._houses[1], number // self._houses[1]
        scene = f"{self.split}_{house}"
        place, camera = self.place(scene), Camera()
        kinds: dict[str, list[str]] = {}
        for thing in place.surfaces.things:
            if "pickupable" in thing.affordances:
                kinds.setdefault(thing.type, []).append(thing.id)
        cells = np.argwhere(place.ground.free)
        for attempt in range(TRIES):
            if not kinds or not len(cells):
                break
            rng = random.Random(f"procthor/{self.settings.seed}/{scene}/{turn}/{attempt}")
            kind = rng.choice(sorted(kinds))
            j, i = cells[rng.randrange(len(cells))].tolist()
            start = place.ground.point(j * place.ground.free.shape[1] + i)
            goals = places_to_see(place, camera, kinds[kind], WITHIN)
            way = place.ground.way(start, goals)
            if way is not None and way_length(way) >= NEAREST:
                name, words = f"{scene}_{turn}", kind.replace("_", " ")
                heading, length = 30.0 * rng.randrange(12), round(way_length(way), 4)
                return search_task(
                    place, name, scene, words, kinds[kind], start, heading, way, length
                )
        raise UsageError(f"procthor: house {house} of {self.split} has nothing to look for")


dataset = Procthor


# ProcTHOR's published houses: JSON lines, a house each, with floor polygons, walls and doors.
#
# A house (``procthor-10k``, schema 1.0.0) holds ``rooms`` (``id``, ``roomType``, ``floorPolygon``
# of ``x`` and ``z`` in metres), ``walls`` (``id``, ``polygon`` of four points, ``empty`` where
# rooms run into each other), ``doors`` (``wall0`` and a ``holePolygon`` of two points measured
# along that wall) and ``objects`` (``id`` such as ``Bed|2|0``, ``position`` of the middle,
# ``rotation`` about ``y``, ``children``). THOR's x is x here, its z is y.
#
# How large things are is a matter of their assets, which the file only names: sizes are typical
# ones of their types, and so are what stops looks and the floor that furniture covers. Walls,
# doors and floors are as published.
#
# Source: ProcTHOR (Deitke et al. 2022), "Large-Scale Embodied AI Using Procedural Generation".

SIZES = {
    "alarm_clock": (0.15, 0.1, 0.12), "apple": (0.08, 0.08, 0.08), "garbage_can": (0.3, 0.3, 0.45),
    "baseball_bat": (0.8, 0.08, 0.08), "house_plant": (0.35, 0.35, 0.6),
    "television": (1.0, 0.15, 0.6), "laptop": (0.35, 0.3, 0.25), "painting": (0.8, 0.05, 0.6),
    "floor_lamp": (0.35, 0.35, 1.6), "chair": (0.5, 0.5, 0.9), "stool": (0.4, 0.4, 0.6),
}  # fmt: skip
"""Width, depth and height (metres) of types that generated homes do not know, or know otherwise."""
SMALL = (0.2, 0.2, 0.2)
"""Of all other types."""
FLOOR_LEVEL = 0.05
"""Furniture whose underside is lower than this (metres) is taken to stand on the floor."""


def house_lines(folder: Path, split: str) -> tuple[Path, list[Mapping[str, Any]]]:
    """The file of a split and its houses. Raises ``DataError``."""
    path = find(folder, f"{split}.jsonl")
    houses: list[Mapping[str, Any]] = []
    for number, record in read_json_lines(path):
        if not isinstance(record, dict):
            raise DataError(path, f"line {number}", "is no house", "fetch it again")
        houses.append(record)
    return path, houses


def scene_of(path: Path, name: str, house: Mapping[str, Any]) -> Scene:
    """A house as a scene, all doors open. Raises ``DataError`` for a field that is missing."""
    builder = SceneBuilder(name)
    lines = {}
    for wall in read_field(path, name, house, "walls", list):
        key = read_field(path, name, wall, "id", str)
        lines[key] = _line(read_field(path, f"{name}, wall {key}", wall, "polygon", list))
        if wall.get("empty"):
            builder.opening(*lines[key])
    for room in read_field(path, name, house, "rooms", list):
        polygon = read_field(path, name, room, "floorPolygon", list)
        corners = [(float(p["x"]), float(p["z"])) for p in polygon]
        label = type_name(read_field(path, name, room, "roomType", str))
        builder.room(f"{label}|{read_field(path, name, room, 'id', str)}", corners)
    for door in read_field(path, name, house, "doors", list):
        builder.opening(*_hole(path, name, door, lines))
    for thing in _flattened(read_field(path, name, house, "objects", list)):
        _place(builder, path, name, thing)
    return builder.build()


def _line(polygon: Sequence[Mapping[str, Any]]) -> tuple[Point, Point]:
    """A wall's two ends on the floor, in the polygon's order."""
    ends = list(dict.fromkeys((float(p["x"]), float(p["z"])) for p in polygon))
    return ends[0], ends[-1] if len(ends) > 1 else ends[0]


def _hole(
    path: Path, name: str, door: Mapping[str, Any], lines: Mapping[str, tuple[Point, Point]]
) -> tuple[Point, Point]:
    """Where a door's gap begins and ends: its hole is measured along its first wall."""
    key = read_field(path, name, door, "id", str)
    wall = read_field(path, f"{name}, door {key}", door, "wall0", str)
    hole = read_field(path, f"{name}, door {key}", door, "holePolygon", list)
    if wall not in lines:
        raise DataError(path, f"{name}, door {key}", f"names an unknown wall {wall!r}")
    (ax, ay), (bx, by) = lines[wall]
    length = max(((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5, 1e-9)
    first, last = sorted(float(point["x"]) for point in hole[:2])
    ends = [(ax + (bx - ax) * t / length, ay + (by - ay) * t / length) for t in (first, last)]
    return ends[0], ends[1]


def _flattened(listed: Sequence[Any], parent: str = "") -> Iterator[dict[str, Any]]:
    for thing in listed:
        yield {**thing, "parent": parent}
        yield from _flattened(thing.get("children") or (), str(thing.get("id", "")))


def _place(builder: SceneBuilder, path: Path, name: str, thing: Mapping[str, Any]) -> None:
    """One thing by its middle and a typical size, turned to the nearer axis."""
    key = read_field(path, name, thing, "id", str)
    at = read_field(path, f"{name}, object {key}", thing, "position", dict)
    kind = type_name(key.partition("|")[0])
    wide, deep, high = size_of(kind)
    turn = float((thing.get("rotation") or {}).get("y", 0.0)) % 180
    if 45 <= turn < 135:
        wide, deep = deep, wide
    bottom = max(0.0, float(at["y"]) - high / 2)
    place = {"name": key, "bottom": bottom, "width": wide, "depth": deep, "height": high}
    x, y = float(at["x"]), float(at["z"])
    if kind in FURNITURE_KINDS and not thing["parent"]:
        low = 0.0 if bottom < FLOOR_LEVEL or kind not in OBJECTS else bottom
        builder.furniture(kind, x, y, wide, deep, high, name=key, bottom=low)
    else:
        builder.thing(kind, x=x, y=y, **place)


def size_of(kind: str) -> tuple[float, float, float]:
    """Width, depth and height in metres that are typical of a type."""
    if kind in SIZES:
        return SIZES[kind]
    if kind in OBJECTS:
        small = OBJECTS[kind]
        return small.size, small.size, small.height
    if kind in FURNITURE_KINDS:
        piece = FURNITURE_KINDS[kind]
        return piece.width, piece.depth, piece.height
    return SMALL

"""RoboTHOR object navigation: find an object of one of twelve types in an apartment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import count
from math import dist, gcd
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Clusters, DrawnTasks, Task
from wayword.core.episode import Episode, Extra, JsonObject
from wayword.core.errors import DataError, suggest
from wayword.core.files import (
    NUMBER,
    SOURCES,
    cached_json,
    find_any,
    parse_at,
    read_bytes,
    read_field,
    require_data,
)
from wayword.core.geometry import Point, absolute, exceeds, path_length
from wayword.core.visible import spaced
from wayword.datasets.sources import robothor
from wayword.settings import Checked
from wayword.worlds import objectnav
from wayword.worlds.household.builder import type_name
from wayword.worlds.objectnav.observation import Camera, FieldOfView, Range
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.thor import ThorBase, ThorCamera, check_installed
from wayword.worlds.objectnav.world import (
    ObjectNavReference,
    ObjectNavWorld,
    SolvableSearches,
)

SPOKEN_TYPES = {"HousePlant": "house plant", "BasketBall": "basketball"}
"""Types whose spoken form differs from their name."""


_HABITAT = re.compile(rb'"(?:start_position|goals_by_category|category_to_\w+)"')
"""Fields of Habitat's files of object navigation, as for HM3D and Matterport3D."""
_FORM = (
    'a file of RoboTHOR is {scene}.json, a list of {"id": "ID", "scene": "SCENE", "object_type": '
    '"Mug", "initial_position": {"x": 1, "y": 0.9, "z": 2}, "initial_orientation": 90}'
)
"""Remedy for episodes of another form."""
_FARTHEST_START = 0.5
"""Metres from a start to the published path: paths begin on the mesh of the floor, up to 0.17 m
away."""


def spoken_type(label: str) -> str:
    """Return a type of object in words, as used in instructions and for objects in view."""
    return SPOKEN_TYPES.get(label, spaced(type_name(label)))


@dataclass(frozen=True)
class RobothorSettings(Checked):
    """``order``: ``spread`` interleaves the scenes and strides through each scene's episodes, so
    the first few hundred cover all scenes and types; ``file`` keeps the order of the files.

    ``field_of_view`` (degrees) and ``depth`` (metres) describe the camera: RoboTHOR's LoCoBot has
    79 degrees. ``simulator``: ``words`` is a world inferred from the published files, ``thor`` is
    AI2-THOR itself, whose package must be installed (see ``worlds.objectnav.thor``).
    """

    order: Literal["spread", "file"] = "spread"
    field_of_view: FieldOfView = 80.0
    depth: Range = 5.0
    simulator: Literal["words", "thor"] = "words"


class Robothor(SolvableSearches):
    """RoboTHOR's object navigation (Deitke et al. 2020): "Find the alarm clock."

    Episodes, starts, targets, shortest paths and all objects with their boxes are published.
    Walls, free floor and lines of sight are inferred from them: see ``sources/robothor.py``. For
    test episodes neither paths nor the objects of their scenes are published, so no target can be
    found. Raises ``DataError`` for missing or malformed files.
    """

    Settings = RobothorSettings
    family = objectnav.family
    clusters = Clusters("scene", r"(.*?)(?:_[A-Z][A-Za-z]+)?_\d+")
    splits: ClassVar[tuple[str, ...]] = ("train", "val", "debug", "test")
    max_steps = 500
    name = "robothor"

    def open(self) -> None:
        """Find the split's episodes. Raises ``DataError`` if the folder holds none."""
        if self.settings.simulator == "thor":
            check_installed()
        folder = require_data(self.folder, self.name)
        places = [p for p in (folder / "robothor", folder) if (p / "episodes").is_dir()]
        if not places:
            raise DataError(
                folder,
                "",
                "contains no robothor/episodes",
                SOURCES,
            )
        self.folder = places[0]
        self._records = lru_cache(maxsize=64)(
            lambda scene: robothor.episodes_of(self._scenes[scene])
        )

    @property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the split, each parsed when it is first read."""
        return DrawnTasks(len(self._order), self._task, self._id)

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """A note that the world is inferred, and from which episodes."""
        if self.settings.simulator == "thor":
            return ()
        is_independent = all(
            robothor.is_independent(self.folder, s, self.split) for s in self._scenes
        )
        source = "the evaluated episodes"
        if is_independent:
            source = "other splits' episodes"
        return (f"RoboTHOR publishes no walls: floors inferred from {source}",)

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Files of episodes and objects, for checksums."""
        files = {f"episodes/{scene}": path for scene, path in self._scenes.items()}
        metadata = find_any(self.folder, robothor.METADATA)
        if metadata:
            files["objects"] = metadata
        return files

    def world(self, episode: Episode) -> ObjectNavWorld:
        """Return the episode's apartment, as inferred or in the simulator."""
        if self.settings.simulator == "thor":
            thor_camera = ThorCamera(self.settings.field_of_view, self.settings.depth)
            return ObjectNavWorld(ThorBase(thor_camera))
        camera = Camera(
            field_of_view=self.settings.field_of_view,
            reach=self.settings.depth,
        )
        return ObjectNavWorld(SimulatedBase(self.place(episode.scene), camera))

    def place(self, scene: str) -> SimulatedScene:
        """Return a scene with its ground and surfaces; cached."""
        return _build_scene(self.folder, scene, self.split)

    @cached_property
    def _scenes(self) -> dict[str, Path]:
        """Scene -> episode file; ``FloorPlan_Train10_1`` comes after ``FloorPlan_Train2_1``."""
        folder = self.folder / "episodes" / self.split
        paths = [
            p for p in folder.glob("*.json*") if p.name.endswith((".json", ".json.gz"))
        ]
        if not paths:
            raise DataError(
                folder,
                "",
                "contains no episodes",
                SOURCES,
            )

        def order(name: str) -> tuple[str, list[int]]:
            """Sort key by name, then by number: scene 2 before scene 10."""
            return re.sub(r"\d.*", "", name), [int(n) for n in re.findall(r"\d+", name)]

        path_of_scene = {path.name.partition(".")[0]: path for path in paths}
        return {name: path_of_scene[name] for name in sorted(path_of_scene, key=order)}

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """(N, 2) number of the scene and index within its file, for each task."""

        def survey() -> dict[str, int]:
            """Return the number of episodes of each scene."""
            counts = {}
            for scene, path in self._scenes.items():
                content = read_bytes(path)
                counts[scene] = content.count(robothor.EPISODE)
                if not counts[scene] and _HABITAT.search(content):
                    raise DataError(path, "", "is one of Habitat's", _FORM)
            return counts

        counts: dict[str, int] = cached_json(
            "robothor-1",
            self._scenes.values(),
            survey,
        )
        sizes = np.fromiter(counts.values(), np.intp)
        scenes = np.repeat(np.arange(len(sizes)), sizes)
        numbers = np.arange(len(scenes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        if self.settings.order == "spread":
            # One episode per scene, then the next, spread over each file.
            by_number = np.argsort(numbers, kind="stable")
            scenes = scenes[by_number]
            strides = np.array([_stride(size) for size in counts.values()])
            numbers = (numbers[by_number] + scenes) * strides[scenes] % sizes[scenes]
        return np.stack((scenes, numbers), axis=1)

    def _entry(self, number: int) -> tuple[str, int]:
        """Return the scene of a task, and its index within the scene's file."""
        scene, index = self._order[number].tolist()
        return list(self._scenes)[scene], index

    def _record(self, number: int) -> tuple[str, str, JsonObject]:
        """Return the scene of an episode, where its record is in the scene's file, and the record.

        Raises ``DataError`` naming it.
        """
        scene, index = self._entry(number)
        path = self._scenes[scene]
        where = f"record {index}"
        records = self._records(scene)
        if index >= len(records):
            raise DataError(
                path,
                where,
                "is missing",
                "fetch it again",
            )
        return scene, where, parse_at(path, where, records[index])

    def _id(self, number: int) -> str:
        """Return the id of an episode. Raises ``DataError`` for a record without one."""
        scene, where, record = self._record(number)
        return str(read_field(self._scenes[scene], where, record, "id", (str, int)))

    def _task(self, number: int) -> Task:
        """Return the task of an episode record. Raises ``DataError`` naming it.

        Every object of the type in the scene is a target. Lengths are metres, angles degrees.
        Without a published path, the shortest length is unknown as well.
        """
        scene, where, record = self._record(number)
        path = self._scenes[scene]
        read = partial(read_field, path, where, record)
        name = str(read("id", (str, int)))
        # It would be played among the objects of another apartment.
        if (stated := record.get("scene", scene)) != scene:
            problem = f"is {stated!r}, but the file is named after {scene}"
            remedy = f"move the record to {stated}.json"
            raise DataError(path, f"{where}, field 'scene'", problem, remedy)
        label = read("object_type", str)
        x, y = robothor.point_of(
            path,
            where,
            record,
            "initial_position",
        )
        turn = read("initial_orientation", NUMBER)
        # Degrees down; published: always 30.
        horizon = 0.0
        if "initial_horizon" in record:
            horizon = float(read("initial_horizon", NUMBER))
        start = {
            "x": x,
            "y": y,
            "heading": absolute(float(turn)),
            "horizon": horizon,
        }
        words = spoken_type(label)
        extra: Extra = {"target": words, "kind": words}
        episode = Episode(
            name,
            f"Find the {words}.",
            scene,
            start,
            extra=extra,
        )
        corners = robothor.corners_of(path, where, record)
        # No search from a place outside of the apartment can succeed.
        if corners and (off := dist((x, y), corners[0])) > _FARTHEST_START:
            problem = f"is {off:.2f} m from the first point of shortest_path"
            raise DataError(path, f"{where}, field 'initial_position'", problem)
        shortest = record.get("shortest_path_length") if corners else None
        if shortest is not None:
            shortest = float(read("shortest_path_length", NUMBER))
            length = path_length(corners)
            if exceeds(shortest, length) or exceeds(length, shortest):
                problem = f"is {shortest:g} m, but shortest_path is {length:.2f} m long"
                raise DataError(path, f"{where}, field 'shortest_path_length'", problem)

        # Test splits publish neither paths nor objects: without targets, no search succeeds.
        in_scene = _target_points(self.folder, scene)
        targets = in_scene.get(type_name(label), {})
        # A simulator may hold objects that the published files lack, as PASTURE's builds do.
        is_described = self.settings.simulator == "words"
        if is_described and corners and not targets:
            problem = f"is {label!r}, of which {scene} has none"
            remedy = suggest(type_name(label), [*in_scene])
            raise DataError(path, f"{where}, field 'object_type'", problem, remedy)
        reference = ObjectNavReference(
            name,
            frozenset(targets),
            tuple(corners),
            shortest,
            middles=tuple(targets.values()),
        )
        return Task(episode, reference)


def _stride(size: int) -> int:
    """Return a step whose multiples visit every index below ``size`` once, far apart: the first
    number from 0.618 (the golden ratio) of the size on that is coprime to it."""
    candidates = count(max(1, round(size * 0.618)))
    return next(step for step in candidates if gcd(step, size) == 1)


@lru_cache(maxsize=96)
def _build_scene(folder: Path, scene: str, evaluated: str) -> SimulatedScene:
    """Return an apartment as a scene for searches; cached."""
    words = {
        record.id: spoken_type(record.label)
        for record in robothor.records_of(folder, scene)
    }
    return SimulatedScene(robothor.scene_of(folder, scene, evaluated), words)


@lru_cache(maxsize=256)
def _target_points(folder: Path, scene: str) -> dict[str, dict[str, Point]]:
    """Map each type in a scene to its objects: id -> center on the floor (metres)."""
    targets: dict[str, dict[str, Point]] = {}
    for record in robothor.records_of(folder, scene):
        x, y, _ = record.center
        targets.setdefault(record.type, {})[record.id] = (x, y)
    return targets


dataset = Robothor

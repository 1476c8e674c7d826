"""Tours: your own places, with pictures, connected by edges.

    wayword perceive my_tour/pictures --captioner chat:openai:gpt-5-mini --out my_tour/seen
    wayword run navgpt --on tour --set dataset.folder=my_tour --model openai:gpt-5-mini

``tour.json`` in the folder describes places, edges and episodes::

    {"places": {"hall": {"x": 0, "y": 0, "picture": "hall.jpg", "north": 90}, ...},
     "edges": [["hall", "lobby"], ...],
     "episodes": [{"id": "1", "instruction": "...", "path": ["hall", "lobby"], "heading": 0}]}

``x``, ``y`` (and ``z``) are metres, east and north; ``north`` is the heading (degrees) at the
center of the picture. Captions are read from ``seen/``, as written by ``wayword perceive``; agents
with vision get views of the panoramas in ``pictures/``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.dataset import INDEPENDENT, SolvableWalks, Task
from wayword.core.episode import Episode, JsonObject, PathReference
from wayword.core.errors import DataError, UsageError
from wayword.core.files import NUMBER, read_field, read_json
from wayword.core.geometry import absolute
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver, Percept
from wayword.perception import panorama as pictures
from wayword.perception.panorama import view
from wayword.perception.recorded import RecordedPerceiver, pack_sightings
from wayword.settings import Checked, FileName
from wayword.worlds import indoor
from wayword.worlds.indoor import graph as viewpoints
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import IndoorWorld

SCAN = "tour"
EYE = 1.5
"""Default eye height (metres) of a place without ``z``."""
PIXELS = 480
"""Height and width of the views given to agents."""


@dataclass(frozen=True)
class TourSettings(Checked):
    """``folder`` contains ``tour.json``, ``pictures/`` and, for text agents, ``seen/``."""

    folder: FileName = ""


class Tour(SolvableWalks):
    """A dataset of your own places. Raises ``DataError`` if ``tour.json`` is malformed."""

    Settings = TourSettings
    family = indoor.family
    clusters = INDEPENDENT
    splits = ("all",)
    max_steps = 15
    settings: TourSettings

    def open(self) -> None:
        """Find the tour's folder. Raises ``UsageError`` if none is set."""
        if not self.settings.folder and self.folder is None:
            raise UsageError("tour needs a folder: --set dataset.folder=DIR")
        self.folder = Path(self.settings.folder or self.folder / "tour")

    @property
    def files(self) -> Mapping[str, Path]:
        """Files of the tour, its captions and pictures, for checksums."""
        captions = sorted((self.folder / "seen").glob(f"*/{SCAN}*.json"))
        images = [
            self.folder / "pictures" / str(p["picture"]) for p in self.places.values()
        ]
        paths = [self._path, *captions, *(path for path in images if path.is_file())]
        return {str(path.relative_to(self.folder)): path for path in paths}

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the tour's episodes. Raises ``DataError`` naming the episode."""
        records = read_field(self._path, "tour", self._tour, "episodes", list)
        tasks = [self._task(number, record) for number, record in enumerate(records)]
        numbers: dict[str, int] = {}
        for number, task in enumerate(tasks):
            first = numbers.setdefault(task.episode.id, number)
            if first != number:
                problem = f"{task.episode.id!r} is also the id of episode {first}"
                raise DataError(self._path, f"episode {number}, field 'id'", problem)
        return tasks

    def graph(self, scene: str) -> ViewpointGraph:
        """Return the graph of the tour, its only scene."""
        return self._graph

    def world(self, episode: Episode) -> IndoorWorld:
        """Return a walk on the tour's graph."""
        return IndoorWorld(self._graph)

    def perceiver(self) -> TourPerceiver:
        """Return the tour's own captions and pictures."""
        return self._perceiver

    @property
    def _path(self) -> Path:
        """Path of the tour's file."""
        return Path(self.folder, "tour.json")

    @cached_property
    def _tour(self) -> Any:
        """Content of the tour's file."""
        return read_json(self._path)

    @cached_property
    def places(self) -> Mapping[str, JsonObject]:
        """Place -> its record in ``tour.json``. Raises ``DataError``."""
        places: JsonObject = read_field(
            self._path,
            "tour",
            self._tour,
            "places",
            dict,
        )
        for name, place in places.items():
            read = partial(read_field, self._path, f"place {name!r}", place)
            for axis in ("x", "y"):
                read(axis, NUMBER)
            read("picture", str)
            for name in ("north", "z"):
                if name in place:
                    read(name, NUMBER)
        return places

    @cached_property
    def _graph(self) -> ViewpointGraph:
        """Viewpoint graph of the tour's places and edges. Raises ``DataError`` naming
        the edge."""
        ids = tuple(self.places)
        places = self.places.values()
        positions = np.array(
            [[p["x"], p["y"], p.get("z", EYE)] for p in places],
            dtype=np.float64,
        )
        edges = set()
        for number, edge in enumerate(
            read_field(self._path, "tour", self._tour, "edges", list)
        ):
            is_pair = isinstance(edge, list) and len(edge) == 2
            if not is_pair or not all(each in ids for each in edge):
                problem = f"must join two of the places, got {edge!r}"
                raise DataError(self._path, f"edge {number}", problem)
            i = ids.index(edge[0])
            j = ids.index(edge[1])
            # A shortest path could go to and fro on an edge without length.
            if np.array_equal(positions[i], positions[j]):
                problem = f"{edge[0]!r} and {edge[1]!r} are at one position"
                raise DataError(self._path, f"edge {number}", problem)
            # In both directions and once each, however the author lists an edge.
            edges |= {(i, j), (j, i)}
        pairs = np.array(sorted(edges), dtype=np.int32).reshape(-1, 2)
        return viewpoints.build(SCAN, ids, positions, pairs)

    @cached_property
    def _perceiver(self) -> TourPerceiver:
        """Perceiver of the tour's captions and pictures."""
        return TourPerceiver(self.folder, self.places)

    def _task(self, number: int, record: Any) -> Task:
        """Return the task of an episode record. Raises ``DataError`` for an unknown
        place."""
        where = f"episode {number}"
        read = partial(read_field, self._path, where, record)
        name = str(read("id", (str, int)))
        path = [str(place) for place in read("path", list)]
        unknown = [place for place in path if place not in self.places]
        if unknown or not path:
            problem = f"has an unknown place {unknown[0]!r}" if unknown else "is empty"
            raise DataError(self._path, f"{where}, field 'path'", problem)
        for one, other in pairwise(path):
            if other not in self._graph.adjacent[one]:
                problem = f"no edge joins {one!r} and {other!r}"
                raise DataError(self._path, f"{where}, field 'path'", problem)
        heading = absolute(float(read("heading", NUMBER) if "heading" in record else 0))
        words = str(read("instruction", str))
        start = {"viewpoint": path[0], "heading": heading}
        return Task(Episode(name, words, SCAN, start), PathReference(name, tuple(path)))


class TourPerceiver(Perceiver):
    """Recorded captions and views of panoramas; missing ones raise only when requested."""

    name = "tour"

    def __init__(self, folder: Path, places: Mapping[str, JsonObject]) -> None:
        self._folder = folder
        self._places = places
        captions = folder / "seen"
        self._recorded = RecordedPerceiver(
            captions,
            pack_sightings(captions),
            self.name,
        )

    def perceive(self, scene: str, place: str) -> Percept:
        """Return the captions that ``wayword perceive`` wrote. Raises ``DataError`` if missing."""
        if not (self._folder / "seen").is_dir():
            remedy = (
                f"run `wayword perceive {self._folder / 'pictures'} --out …/seen` first"
            )
            raise DataError(self._folder / "seen", "", "no such folder", remedy)
        return self._recorded.perceive(scene, place)

    def picture(
        self,
        scene: str,
        place: str,
        heading: float,
        width: float,
        elevation: float = 0.0,
    ) -> Image:
        """Return the view in an absolute heading (degrees) as JPEG. Raises ``DataError``."""
        record = self._places[place]
        panorama = pictures.cached_read(
            self._folder / "pictures" / str(record["picture"])
        )
        view_heading = heading - float(record.get("north", 0.0))
        return pictures.encode(
            view(panorama, view_heading, elevation, width, (PIXELS, PIXELS))
        )


dataset = Tour

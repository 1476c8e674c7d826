"""Touchdown: instructions written while walking Street View, followed in lower Manhattan.

    >>> from wayword.datasets.touchdown import dataset as Touchdown
    >>> Touchdown.splits[0]
    'unseen_dev'

Only the navigation part of the task is read (``navigation_text``), as in VELMA; where the bear
named Touchdown hides is another task. The published start headings lie on no link and often point
the wrong way, so "turn so that …" is a part of most instructions.

Touchdown and Map2seq are JSON lines of routes on a street graph. Layouts read, the first that is
there (every file also as ``.gz``):

* ``{name}/graph/`` with ``nodes.txt`` and ``links.txt``; routes in ``{name}/unseen/{part}.json``
  and ``{name}/seen/{part}.json``, or ``{name}/data/{part}.json`` for the unseen scenario;
* the layout VELMA was released with: ``{name}_{scenario}/data/{part}.json`` and
  ``{name}_{scenario}/graph/``.

A split is ``{scenario}_{part}``. In the *unseen* scenario the routes of dev and test lie in an area
no training route enters (Schumann and Riezler 2022). Where GPT-3's landmark lists are recorded
(``touchdown/landmarks/gpt3_5shot_unfiltered.json``), an episode's is in
``episode.extra["landmarks"]``.

Sources: Chen et al. 2019 (the routes), Schumann and Riezler 2022 (the unseen scenario).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

from wayword.core import registry
from wayword.core.dataset import SolvableWalks, Task, Training
from wayword.core.episode import Episode, Extra, Json, PathReference
from wayword.core.errors import DataError, UsageError
from wayword.core.files import cache_folder, find, read_field, read_json, read_json_lines
from wayword.core.world import Family
from wayword.worlds import street
from wayword.worlds.street import graph as streetgraph
from wayword.worlds.street.graph import StreetGraph
from wayword.worlds.street.moves import Navigator
from wayword.worlds.street.world import StreetWorld

LANDMARK_FILE = "gpt3_5shot_unfiltered.json"
"""What VELMA's release calls a data set's landmarks as GPT-3 listed them."""
SPLITS = ("unseen_dev", "unseen_test", "unseen_train", "seen_dev", "seen_test", "seen_train")


@dataclass(frozen=True, slots=True)
class StreetSettings:
    """``transition``: how actions move (``modified``, ``original``, ``paper``).

    ``dead_ends``: see :class:`~wayword.worlds.street.world.StreetWorld`.
    """

    transition: Literal["modified", "original", "paper"] = "modified"
    dead_ends: Literal["open", "released"] = "open"


class StreetRoutes(SolvableWalks, ABC):
    """One split. Raises ``DataError`` naming file, line, id and field of what cannot be used:

    an empty instruction, a route without panoramas or with an unknown one, two panoramas in a row
    without a link, a heading that is no finite number, an id given twice. Start headings are
    snapped to the closest way out.
    """

    Settings: ClassVar[type[StreetSettings]] = StreetSettings
    family: ClassVar[Family] = street.family
    splits: ClassVar[tuple[str, ...]] = SPLITS
    max_steps: ClassVar[int] = 55
    name: ClassVar[str]
    id_field: ClassVar[str]

    def __init__(self, split: str, folder: Path | None, settings: StreetSettings) -> None:
        super().__init__(split, folder, settings)
        if folder is None:
            raise UsageError(f"{self.name} needs its data: give --data FOLDER or set WAYWORD_DATA")
        self.folder = folder.parent if folder.name == self.name else folder
        self._scenario, _, self._part = split.partition("_")

    @cached_property
    def tasks(self) -> Sequence[Task]:
        return list(self._read(self._routes_file))

    @cached_property
    def files(self) -> Mapping[str, Path]:
        nodes, links = self._graph_files
        listed = {"landmarks": self._landmark_file} if self._landmark_file else {}
        return {"routes": self._routes_file, "graph/nodes": nodes, "graph/links": links, **listed}

    def landmarks_of(self, record: Mapping[str, Json]) -> Extra:
        """``{"landmarks": [...]}`` of a route as GPT-3 listed them; nothing where none are
        recorded."""
        recorded = self._landmarks.get(str(record[self.id_field]))
        return {} if recorded is None else {"landmarks": recorded}

    @cached_property
    def _landmark_file(self) -> Path | None:
        for folder in (f"{self.name}/landmarks", f"landmarks/{self.name}"):
            try:
                return find(self.folder / folder, LANDMARK_FILE)
            except DataError:
                continue
        return None

    @cached_property
    def _landmarks(self) -> Mapping[str, list[str]]:
        """Recorded landmarks by episode id; empty where there is no record."""
        path = self._landmark_file
        if path is None:
            return {}
        instances = read_field(path, "the file", read_json(path), "instances", dict)
        return {
            name: read_field(path, f"instance {name}", instance, "unfiltered", list)
            for name, instance in instances.items()
        }

    @cached_property
    def navigator(self) -> Navigator:
        """The transition function on the graph, shared by all episodes."""
        return Navigator(self._graph, self.settings.transition)

    def graph(self, scene: str) -> StreetGraph:
        """The street graph; there is one, whatever the scene."""
        return self._graph

    def world(self, episode: Episode) -> StreetWorld:
        return StreetWorld(self.navigator, self.settings.dead_ends)

    def training(self) -> Training:
        """Training routes.

        From the scenario's published training file where it is there. Else from Map2seq's *seen*
        dev and test files: the routes that lie wholly in the seen area, which is the training area
        of the unseen scenario (1,172 of 1,600), less the file of the split that is evaluated and
        any route that the split holds under the same id. Raises ``UsageError`` for a training
        split.
        """
        if self._part == "train":
            raise UsageError(f"{self.name}:{self.split} is the training split; set shots=0")
        source, pool = self._training
        return Training(source, pool, salt="")

    @cached_property
    def _training(self) -> tuple[StreetRoutes, list[Task]]:
        """The training routes, and a split that makes their worlds."""
        own = type(self)(f"{self._scenario}_train", self.folder, self.settings)
        if own.is_here():
            return own, list(own.tasks)
        map2seq = registry.load("dataset", "map2seq")
        mine = self.name == map2seq.name
        pool: list[Task] = []
        source: StreetRoutes = self
        for split in ("seen_dev", "seen_test"):
            others = map2seq(split, self.folder, self.settings)
            if (mine and split == self.split) or not others.is_here():
                continue
            source = others
            pool += others.in_area("seen")
        taken = {task.episode.id for task in self.tasks} if mine else set()
        return source, [task for task in pool if task.episode.id not in taken]

    def in_area(self, area: str) -> list[Task]:
        """The tasks whose routes lie wholly in an area (``seen``, ``unseen``)."""
        graph = self._graph
        return [
            task
            for task in self.tasks
            if isinstance(task.reference, PathReference)
            and all(graph.area(graph.index[place]) == area for place in task.reference.path)
        ]

    def is_here(self) -> bool:
        """Whether the split's file is in the data folder."""
        return any(_exists(path) for path in self._places)

    @property
    def _places(self) -> list[Path]:
        base, name = self.folder, f"{self._part}.json"
        plain = [base / self.name / "data" / name] if self._scenario == "unseen" else []
        return [
            base / self.name / self._scenario / name,
            *plain,
            base / f"{self.name}_{self._scenario}" / "data" / name,
        ]

    @cached_property
    def _routes_file(self) -> Path:
        place = next((path for path in self._places if _exists(path)), self._places[0])
        return find(place.parent, place.name)

    @cached_property
    def _graph_files(self) -> tuple[Path, Path]:
        folders = [
            self.folder / self.name / "graph",
            self.folder / f"{self.name}_{self._scenario}" / "graph",
        ]
        folder = next((one for one in folders if _exists(one / "links.txt")), folders[0])
        return find(folder, "nodes.txt"), find(folder, "links.txt")

    @cached_property
    def _graph(self) -> StreetGraph:
        nodes, links = self._graph_files
        return streetgraph.load(nodes, links, cache_folder() / "graphs", self.name)

    @abstractmethod
    def _extra(self, record: Mapping[str, Json]) -> Extra:
        """What else the published files tell an agent about an episode."""

    def _read(self, path: Path) -> Iterator[Task]:
        seen: set[str] = set()
        for number, record in read_json_lines(path):
            task = self._task(path, f"line {number}", record)
            if task.episode.id in seen:
                where = f"line {number}, field {self.id_field!r}"
                raise DataError(path, where, f"is given twice: {task.episode.id}")
            seen.add(task.episode.id)
            yield task

    def _task(self, path: Path, where: str, record: Any) -> Task:
        episode_id = str(read_field(path, where, record, self.id_field, (int, str)))
        where = f"{where}, {self.id_field} {episode_id}"
        text = read_field(path, where, record, "navigation_text", str).strip()
        if not text:
            raise DataError(path, f"{where}, field 'navigation_text'", "is empty")
        route = self._route(path, where, read_field(path, where, record, "route_panoids", list))
        heading = read_field(path, where, record, "start_heading", (int, float))
        if not math.isfinite(heading):
            raise DataError(path, f"{where}, field 'start_heading'", f"is no number: {heading!r}")
        graph = self._graph
        facing = self.navigator.closest(graph.index[route[0]], heading)
        start = {"panorama": route[0], "heading": facing}
        episode = Episode(episode_id, text, graph.name, start, extra=self._extra(record))
        return Task(episode, PathReference(episode_id, route))

    def _route(self, path: Path, where: str, route: list[Any]) -> tuple[str, ...]:
        at, graph = f"{where}, field 'route_panoids'", self._graph
        if not route:
            raise DataError(path, at, "is empty")
        unknown = next((p for p in route if not isinstance(p, str) or p not in graph.index), None)
        if unknown is not None:
            raise DataError(path, at, f"{unknown!r} is not in the street graph")
        numbers = [graph.index[panorama] for panorama in route]
        for here, there in pairwise(numbers):
            if not self.navigator.linked(here, there):
                gap = f"no link leads from {graph.ids[here]!r} to {graph.ids[there]!r}"
                raise DataError(path, at, gap)
        return tuple(route)


def _exists(path: Path) -> bool:
    return path.is_file() or path.with_name(f"{path.name}.gz").is_file()


class Touchdown(StreetRoutes):
    """Touchdown: routes in Manhattan, told from what is seen there (Chen et al. 2019).

    Splits and errors are those of :class:`.StreetRoutes`.
    """

    name: ClassVar[str] = "touchdown"
    id_field: ClassVar[str] = "route_id"

    def _extra(self, record: Mapping[str, Json]) -> Extra:
        return self.landmarks_of(record)


dataset = Touchdown

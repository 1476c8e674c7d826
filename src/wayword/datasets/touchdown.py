"""Touchdown and Map2seq: routes with instructions on the street graph of lower Manhattan.

Both are JSON-lines files of routes on a street graph. The first of these layouts that exists is
read (any file may be ``.gz``):

* ``{name}/graph/`` with ``nodes.txt`` and ``links.txt``; routes in ``{name}/unseen/{part}.json``
  and ``{name}/seen/{part}.json``, or ``{name}/data/{part}.json`` for the unseen scenario;
* the layout of VELMA's release: ``{name}_{scenario}/data/{part}.json`` and
  ``{name}_{scenario}/graph/``.

A split is ``{scenario}_{part}``. In the *unseen* scenario the dev and test routes are in an area
that no training route enters (Schumann and Riezler 2022).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

from wayword.core import files
from wayword.core.dataset import INDEPENDENT, SolvableWalks, Task, Training
from wayword.core.episode import Episode, Extra, PathReference
from wayword.core.errors import DataError, UsageError
from wayword.settings import Checked
from wayword.worlds import street
from wayword.worlds.street import graph as streetgraph
from wayword.worlds.street.graph import StreetGraph
from wayword.worlds.street.moves import Navigator
from wayword.worlds.street.world import StreetWorld

LANDMARK_FILE = "gpt3_5shot_unfiltered.json"
"""File name of GPT-3's landmark lists in VELMA's release."""
SPLITS = (
    "unseen_dev",
    "unseen_test",
    "unseen_train",
    "seen_dev",
    "seen_test",
    "seen_train",
)


@dataclass(frozen=True)
class StreetSettings(Checked):
    """``transition``: transition function for actions (``modified``, ``original``, ``paper``).

    ``dead_ends``: see :class:`~wayword.worlds.street.world.StreetWorld`.
    """

    transition: Literal["modified", "original", "paper"] = "modified"
    dead_ends: Literal["open", "released"] = "open"


class StreetRoutes(SolvableWalks):
    """Street routes of one split. Raises ``DataError`` with file, line, id and field for:

    an empty instruction, an empty route, an unknown panorama, two successive panoramas without a
    link, a heading that is not finite, a duplicate id. Start headings are snapped to the closest
    exit. If the file of GPT-3's landmark lists exists
    (``{name}/landmarks/gpt3_5shot_unfiltered.json``), an episode's landmarks are in
    ``episode.extra["landmarks"]``.
    """

    Settings = StreetSettings
    family = street.family
    clusters = INDEPENDENT
    splits = SPLITS
    max_steps = 55
    name: ClassVar[str]
    id_field: ClassVar[str]
    opening: ClassVar[tuple[str, ...]] = ()
    """Actions at the start of every published run."""

    def open(self) -> None:
        """Find the folder of the dataset, also if its own folder was given."""
        folder = files.require_data(self.folder, self.name)
        self.folder = folder.parent if folder.name == self.name else folder
        self._scenario, _, self._part = self.split.partition("_")

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the split's file, one per id. Raises ``DataError`` naming the line."""
        path = self._routes_file
        tasks = dict[str, Task]()
        for number, record in files.read_json_lines(path):
            with files.one_record(path, f"line {number}"):
                task = self._task(path, f"line {number}", record)
                name = task.episode.id
                if name in tasks:
                    where = f"line {number}, field {self.id_field!r}"
                    raise DataError(path, where, f"is a duplicate: {name}")
                tasks[name] = task
        return list(tasks.values())

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Files of routes, graph and landmarks, for checksums."""
        nodes, links = self._graph_files
        optional = {"landmarks": self._landmark_file} if self._landmark_file else {}
        return {
            "routes": self._routes_file,
            "graph/nodes": nodes,
            "graph/links": links,
            **optional,
        }

    @cached_property
    def navigator(self) -> Navigator:
        """The transition function on the graph; shared by all episodes."""
        return Navigator(self._graph, self.settings.transition)

    def graph(self, scene: str) -> StreetGraph:
        """Return the street graph, which all episodes share."""
        return self._graph

    def world(self, episode: Episode) -> StreetWorld:
        """Return a walk on the street graph, with the configured rule for dead ends."""
        return StreetWorld(self.navigator, self.settings.dead_ends)

    def training(self) -> Training:
        """Return training routes from the scenario's published training file if it exists.

        Otherwise from Map2seq's *seen* dev and test files: the routes entirely in the seen area,
        which is the training area of the unseen scenario (1,172 of 1,600), minus the evaluated
        split's file and any route whose id is in that split.
        """
        if self._part == "train":
            raise UsageError(
                f"{self.name}:{self.split} is the training split; set shots=0"
            )
        source, pool = self._training
        return Training(source, pool, salt="")

    @property
    def examples_caveat(self) -> str:
        """Warn if examples come from another split, as the dataset has no training file
        here."""
        published = type(self)(f"{self._scenario}_train", self.folder, self.settings)
        if published._exists:
            return ""
        return (
            f"examples are routes of Map2seq's seen_dev and seen_test, as {self.name} has no "
            f"training file here ({published._places[0][1]})"
        )

    @cached_property
    def _training(self) -> tuple[StreetRoutes, list[Task]]:
        """The training routes, and a dataset that creates their worlds."""
        published = type(self)(f"{self._scenario}_train", self.folder, self.settings)
        if published._exists:
            return published, list(published.tasks)
        # Without the training file, other tasks of the same area serve as examples.
        # An episode must not be an example for itself.
        if self.name == "map2seq":
            excluded = {task.episode.id for task in self.tasks}
        else:
            excluded = set()
        pool: list[Task] = []
        source: StreetRoutes = self
        for split in ("seen_dev", "seen_test"):
            area = Map2seq(split, self.folder, self.settings)
            if (self.name, self.split) == ("map2seq", split) or not area._exists:
                continue
            source = area
            pool += [
                task for task in area.in_area("seen") if task.episode.id not in excluded
            ]
        return source, pool

    def in_area(self, area: str) -> list[Task]:
        """Return the tasks whose routes are entirely in an area (``seen``, ``unseen``)."""
        graph = self._graph
        return [
            task
            for task in self.tasks
            if isinstance(task.reference, PathReference)
            and all(
                graph.area(graph.index[place]) == area for place in task.reference.path
            )
        ]

    @property
    def _places(self) -> list[tuple[Path, str]]:
        """Candidate (folder, file name) pairs for the split's routes."""
        top = self.folder / self.name
        name = f"{self._part}.json"
        places = [(top / self._scenario, name)]
        if self._scenario == "unseen":
            places.append((top / "data", name))
        released = self.folder / f"{self.name}_{self._scenario}" / "data"
        places.append((released, name))
        return places

    @property
    def _exists(self) -> bool:
        """True if the split's file exists in one of its places."""
        return any(files.find_any(*place) for place in self._places)

    @cached_property
    def _routes_file(self) -> Path:
        """Path of the routes. Raises ``DataError`` naming the usual place."""
        for place in self._places:
            path = files.find_any(*place)
            if path:
                return path
        return files.find(*self._places[0])  # raises the error for the usual place

    @cached_property
    def _graph_files(self) -> tuple[Path, Path]:
        """Paths of the graph's two files, in either of the published layouts."""
        plain = self.folder / self.name / "graph"
        released = self.folder / f"{self.name}_{self._scenario}" / "graph"
        folder = plain
        if not files.find_any(plain, "links.txt") and files.find_any(
            released,
            "links.txt",
        ):
            folder = released
        return files.find(folder, "nodes.txt"), files.find(folder, "links.txt")

    @cached_property
    def _graph(self) -> StreetGraph:
        """Street graph; parsed once and cached on disk."""
        nodes, links = self._graph_files
        return streetgraph.load(
            nodes,
            links,
            files.cache_folder() / "graphs",
            self.name,
        )

    @cached_property
    def _landmark_file(self) -> Path | None:
        """Path of the published landmarks, None if there are none."""
        folders = (f"{self.name}/landmarks", f"landmarks/{self.name}")
        paths = (
            files.find_any(self.folder / folder, LANDMARK_FILE) for folder in folders
        )
        return next((path for path in paths if path), None)

    @cached_property
    def _landmarks(self) -> Mapping[str, list[str]]:
        """Recorded landmarks by episode id; empty without a landmark file."""
        path = self._landmark_file
        if path is None:
            return {}
        instances = files.read_field(
            path,
            "the file",
            files.read_json(path),
            "instances",
            dict,
        )
        return {
            name: files.read_field(
                path,
                f"instance {name}",
                instance,
                "unfiltered",
                list,
            )
            for name, instance in instances.items()
        }

    def _task(self, path: Path, where: str, record: Any) -> Task:
        """Return the task of a record. Raises ``DataError`` naming line, id and field."""
        episode_id = str(
            files.read_field(path, where, record, self.id_field, (int, str))
        )
        where = f"{where}, {self.id_field} {episode_id}"
        read = partial(files.read_field, path, where, record)
        text = read("navigation_text", str).strip()
        if not text:
            raise DataError(path, f"{where}, field 'navigation_text'", "is empty")
        graph = self._graph
        route = read("route_panoids", list)
        problem = self._route_problem(route)
        if problem:
            raise DataError(path, f"{where}, field 'route_panoids'", problem)
        heading = read("start_heading", files.NUMBER)
        if not math.isfinite(heading):
            problem = f"{files.NOT_FINITE}, got {heading!r}"
            raise DataError(path, f"{where}, field 'start_heading'", problem)
        # The body can only face along an edge of the graph.
        snapped = self.navigator.closest(graph.index[route[0]], heading)
        start = {"panorama": route[0], "heading": snapped}
        extra: Extra = {}
        if self.opening:
            extra["opening"] = list(self.opening)
        if episode_id in self._landmarks:
            extra["landmarks"] = self._landmarks[episode_id]
        episode = Episode(episode_id, text, graph.name, start, extra=extra)
        return Task(episode, PathReference(episode_id, tuple(route)))

    def _route_problem(self, route: Sequence[Any]) -> str:
        """Return the reason why a route is not a path of the graph; empty if it is one."""
        index = self._graph.index
        if not route:
            return "is empty"
        for place in route:
            if not isinstance(place, str) or place not in index:
                return f"{place!r} is not in the street graph"
        for one, other in pairwise(route):
            if not self.navigator.linked(index[one], index[other]):
                return f"{one!r} has no link to {other!r}"
        return ""


class Touchdown(StreetRoutes):
    """Touchdown: routes in Manhattan, described from street-level views (Chen et al. 2019).

    Only the navigation part of the task is read (``navigation_text``), as in VELMA; finding the
    hidden bear is a separate task. The published start headings match no link and often point in
    the wrong direction, so most instructions start with "turn so that …".

    Splits and errors are those of :class:`.StreetRoutes`.
    """

    name = "touchdown"
    id_field = "route_id"


class Map2seq(StreetRoutes):
    """Map2seq: routes in Manhattan, described from a map (Schumann and Riezler 2021).

    The agent starts on the route, facing along it. Every published run begins with one forward
    action that the model does not choose: ``episode.extra["opening"]`` is ``["forward"]`` (VELMA,
    Schumann et al. 2023).

    Splits and errors are those of :class:`.StreetRoutes`.
    """

    name = "map2seq"
    id_field = "id"
    opening = ("forward",)


datasets = {"touchdown": Touchdown, "map2seq": Map2seq}

"""The indoor world: stand at a viewpoint, look around, move to a neighbour, stop.

    >>> from wayword.datasets.houses import dataset
    >>> houses = dataset("test", None, dataset.Settings())
    >>> world = houses.world(houses.tasks[0].episode)
    >>> world.reset(houses.tasks[0].episode)
    >>> world.step("agent", world.action_space("agent").listed[0]).status
    'ok'

Moves are only ever to a neighbour of the current viewpoint. After a move the actor faces the way
it went, as in the Matterport3D simulator's panoramic action space (Fried et al. 2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError
from wayword.core.family import Family
from wayword.core.geometry import absolute
from wayword.core.world import Feedback, Observation
from wayword.worlds import indoor
from wayword.worlds.indoor.graph import Neighbor, ViewpointGraph


@dataclass(frozen=True, slots=True)
class IndoorObservation(Observation):
    """Where the actor stands and what it can reach; ``heading`` in degrees, absolute.

    ``ways`` lead to the neighbours, clockwise from north.
    """

    family: ClassVar[Family | None] = indoor.family

    scene: str
    viewpoint: str
    heading: float
    elevation: float
    neighbors: tuple[Neighbor, ...]


class IndoorWorld:
    """A walk on a viewpoint graph by one actor. Actions: ``goto[viewpoint]`` and ``stop``."""

    def __init__(self, graph: ViewpointGraph) -> None:
        self.graph = graph
        self._viewpoint = graph.ids[0] if graph.ids else ""
        self._heading = self._elevation = 0.0
        self._stopped = False

    @property
    def read_only(self) -> tuple[object, ...]:
        """What no episode changes, so that copies of the world may share it."""
        return (self.graph,)

    @property
    def actors(self) -> tuple[str, ...]:
        return ("agent",)

    def reset(self, episode: Episode) -> None:
        viewpoint = str(episode.start["viewpoint"])
        if viewpoint not in self.graph.index:
            where = f"episode {episode.id}, field 'viewpoint'"
            raise DataError(self.graph.scan, where, f"{viewpoint!r} is not in this scan's graph")
        self._viewpoint = viewpoint
        self._heading = absolute(float(episode.start.get("heading", 0.0)))
        self._elevation = 0.0
        self._stopped = False

    def observe(self, actor: str) -> IndoorObservation:
        return IndoorObservation(
            self.graph.scan,
            self._viewpoint,
            self._heading,
            self._elevation,
            self.graph.neighbors(self._viewpoint),
        )

    def action_space(self, actor: str) -> ActionSpace:
        around = self.graph.neighbors(self._viewpoint)
        return ActionSpace((*(Action("goto", (n.viewpoint,)) for n in around), STOP))

    def step(self, actor: str, action: Action) -> Feedback:
        if action == STOP:
            self._stopped = True
            return Feedback()
        for near in self.graph.neighbors(self._viewpoint):
            if action == Action("goto", (near.viewpoint,)):
                before = self._heading
                self._viewpoint = near.viewpoint
                self._heading, self._elevation = near.heading, near.elevation
                return Feedback("ok", {"heading_before": before, "heading": near.heading})
        raise ValueError(f"{action} is not on the menu at {self._viewpoint}")

    def route(self, actor: str, goal: str) -> list[Action]:
        """The moves of a shortest path to ``goal``, for oracles; empty when already there."""
        path = self.graph.shortest_path(self._viewpoint, goal)
        return [Action("goto", (place,)) for place in path[1:]]

    def along(self, actor: str, path: Sequence[str]) -> list[Action]:
        """A path that begins at the actor's viewpoint, as actions that end in ``stop``."""
        return [*(Action("goto", (place,)) for place in path[1:]), STOP]

    def done(self, actor: str) -> bool:
        return self._stopped

    def pose(self, actor: str) -> Mapping[str, Json]:
        return {"viewpoint": self._viewpoint, "heading": self._heading}

    def state(self) -> Mapping[str, Json]:
        return {**self.pose("agent"), "stopped": self._stopped}


world = IndoorWorld

"""The indoor world: stand at a viewpoint, look around, move to a neighbor, stop.

    >>> from wayword.datasets.houses import dataset
    >>> houses = dataset("test", None, dataset.Settings())
    >>> world = houses.world(houses.tasks[0].episode)
    >>> world.reset(houses.tasks[0].episode)
    >>> world.step("agent", world.action_space("agent").listed[0]).status
    'ok'

Moves lead to a neighbor of the current viewpoint. After a move the actor faces the direction of
the move, as in the Matterport3D simulator's panoramic action space (Fried et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.dataset import Walkable
from wayword.core.episode import Episode, JsonObject, PathReference
from wayword.core.errors import DataError
from wayword.core.geometry import absolute
from wayword.core.starts import check_start
from wayword.core.world import Feedback, Observation
from wayword.worlds import indoor
from wayword.worlds.indoor.graph import Neighbor, ViewpointGraph


@dataclass(frozen=True, slots=True)
class IndoorObservation(Observation):
    """The actor's viewpoint, absolute heading (degrees), and neighbors, clockwise from north."""

    family = indoor.family

    scene: str
    viewpoint: str
    heading: float
    elevation: float
    neighbors: tuple[Neighbor, ...]


class IndoorWorld(Walkable):
    """One actor walking on a viewpoint graph. Actions: ``goto[viewpoint]`` and ``stop``.

    ``Episode.start`` has ``viewpoint`` and optionally ``heading`` (degrees).
    """

    def __init__(self, graph: ViewpointGraph) -> None:
        self.graph = graph
        # A world may be asked for its actions before the first reset.
        self._viewpoint = graph.ids[0] if graph.ids else ""
        self._heading = self._elevation = 0.0
        self._stopped = False

    @property
    def read_only(self) -> tuple[object, ...]:
        """The graph, which no episode changes."""
        return (self.graph,)

    def reset(self, episode: Episode) -> None:
        """Put the actor at the start of an episode. Raises ``DataError`` for an unknown
        viewpoint.
        """
        # Recorded starts may hold the id as a number.
        check_start(episode, ("viewpoint",), ("heading",))
        viewpoint = str(episode.start["viewpoint"])
        # Checked here: later, an unknown viewpoint would surface as a bare missing key.
        if viewpoint not in self.graph.index:
            where = f"episode {episode.id}, field 'viewpoint'"
            raise DataError(
                self.graph.scan,
                where,
                f"{viewpoint!r} is not in the scan's graph",
            )
        self._viewpoint = viewpoint
        self._heading = absolute(float(episode.start.get("heading", 0.0)))
        # R2R's discrete setting starts every episode with a level camera.
        self._elevation = 0.0
        self._stopped = False

    def observe(self, actor: str) -> IndoorObservation:
        """Return the actor's pose and the neighbors of its viewpoint."""
        pose = self.graph.scan, self._viewpoint, self._heading, self._elevation
        return IndoorObservation(*pose, self.graph.neighbors(self._viewpoint))

    def action_space(self, actor: str) -> ActionSpace:
        """Return a move to each neighbor, clockwise from north, then a stop."""
        # Clockwise from north, so that a menu reads the same whatever the heading; stop
        # comes last.
        neighbors = self.graph.neighbors(self._viewpoint)
        moves = [Action("goto", (n.viewpoint,)) for n in neighbors]
        return ActionSpace((*moves, STOP))

    def step(self, actor: str, action: Action) -> Feedback:
        """Move to a neighbor, or stop. Raises ``ValueError`` for any other action.

        After a move the actor faces the direction of the move. The feedback has the
        heading before and after it.
        """
        if action == STOP:
            self._stopped = True
            return Feedback()
        for neighbor in self.graph.neighbors(self._viewpoint):
            if action.name == "goto" and action.arguments == (neighbor.viewpoint,):
                # The heading before the move, so that a viewer can tell the turn from
                # the step.
                details = {
                    "heading_before": self._heading,
                    "heading": neighbor.heading,
                }
                self._viewpoint = neighbor.viewpoint
                self._heading = neighbor.heading
                self._elevation = neighbor.elevation
                return Feedback("ok", details)
        raise ValueError(f"{action} is not on the menu at {self._viewpoint}")

    def route(self, actor: str, goal: str) -> list[Action]:
        """Return moves of a shortest path to ``goal``, for oracles; empty if already at it.

        Raises ``ValueError`` without a path.
        """
        return _moves(self.graph.shortest_path(self._viewpoint, goal))

    def along(self, actor: str, path: Sequence[str]) -> list[Action]:
        """Convert a path of viewpoints, its start included, to moves and a stop. Checks
        nothing: a move between viewpoints that are no neighbors fails when it is
        carried out.
        """
        return [*_moves(path), STOP]

    def done(self, actor: str) -> bool:
        """True once the actor has stopped."""
        return self._stopped

    def pose(self, actor: str) -> JsonObject:
        """Return the viewpoint and the heading in degrees."""
        return {"viewpoint": self._viewpoint, "heading": self._heading}

    def state(self) -> JsonObject:
        """Return the pose, and if the actor has stopped."""
        return {**self.pose("agent"), "stopped": self._stopped}


def _moves(path: Sequence[str]) -> list[Action]:
    """Return a move to each viewpoint of a path after the first, where the actor is."""
    return [Action("goto", (place,)) for place in path[1:]]


@dataclass(frozen=True, slots=True)
class VisibleObject:
    """An object in view: its ID within the scan, name and absolute heading (degrees)."""

    id: str
    name: str
    heading: float


ObjectsAt = Callable[[str], Sequence[VisibleObject]]  # viewpoint -> objects in view


@dataclass(frozen=True, slots=True)
class ObjectReference(PathReference):
    """The target object, and the viewpoints from which it is visible."""

    object_id: str = ""
    visible_from: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ObjectsObservation(IndoorObservation):
    """An indoor observation with the ``objects`` in view, which a stop may select."""

    objects: tuple[VisibleObject, ...] = ()


class ObjectsWorld(IndoorWorld):
    """A walk whose stop may select an object in view (REVERIE): ``stop[81]`` selects object 81.

    ``objects`` gives those in view at a viewpoint. The selected id is ``named`` in the
    state, empty if the stop selects none.
    """

    def __init__(
        self,
        graph: ViewpointGraph,
        objects: ObjectsAt,
    ) -> None:
        super().__init__(graph)
        self._objects = objects
        self._named_object = ""

    def reset(self, episode: Episode) -> None:
        """Put the actor at the start, with no object selected. Raises ``DataError``."""
        super().reset(episode)
        self._named_object = ""

    def observe(self, actor: str) -> ObjectsObservation:
        """Return the pose, the neighbors, and the objects in view."""
        pose = self.graph.scan, self._viewpoint, self._heading, self._elevation
        neighbors = self.graph.neighbors(self._viewpoint)
        return ObjectsObservation(
            *pose,
            neighbors,
            tuple(self._objects(self._viewpoint)),
        )

    def action_space(self, actor: str) -> ActionSpace:
        """Return moves and a plain stop, then a stop for each object in view."""
        # A plain stop stays on the menu, too: an agent need not name an object.
        stops = (Action("stop", (obj.id,)) for obj in self._objects(self._viewpoint))
        return ActionSpace((*super().action_space(actor).listed, *stops))

    def step(self, actor: str, action: Action) -> Feedback:
        """Move, stop, or stop at an object. Raises ``ValueError`` for any other action."""
        # A name is checked here, for the base class knows plain stops only.
        if action.name == STOP.name and action.arguments:
            if action not in self.action_space(actor):
                raise ValueError(f"{action} is not on the menu at {self._viewpoint}")
            self._named_object = action.arguments[0]
            return super().step(actor, STOP)
        return super().step(actor, action)

    def state(self) -> JsonObject:
        """Return the pose, if the actor has stopped, and the selected object."""
        return {**super().state(), "named": self._named_object}


world = IndoorWorld

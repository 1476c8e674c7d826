"""Walks that end at an object: which one is meant is named at the stop (REVERIE).

``stop[81]`` ends the walk and names object 81 of the scan, one of those in view; ``stop`` alone
names none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.episode import Episode, Json, PathReference
from wayword.core.world import Feedback
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import IndoorObservation, IndoorWorld


@dataclass(frozen=True, slots=True)
class VisibleObject:
    """An object in view: its ID within the scan, its name, its heading (degrees, absolute)."""

    id: str
    name: str
    heading: float


ObjectsAt = Callable[[str], Sequence[VisibleObject]]
"""Viewpoint in, the objects in view out."""


@dataclass(frozen=True, slots=True)
class ObjectReference(PathReference):
    """The object meant, and the viewpoints from which it is in view."""

    object_id: str = ""
    seen_from: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ObjectsObservation(IndoorObservation):
    """An indoor observation with the ``objects`` that can be named here."""

    objects: tuple[VisibleObject, ...] = ()


class ObjectsWorld(IndoorWorld):
    """A walk whose stop may name an object in view."""

    def __init__(self, graph: ViewpointGraph, objects: ObjectsAt) -> None:
        super().__init__(graph)
        self._objects, self._named = objects, ""

    def reset(self, episode: Episode) -> None:
        super().reset(episode)
        self._named = ""

    def observe(self, actor: str) -> ObjectsObservation:
        seen = super().observe(actor)
        around = tuple(self._objects(seen.viewpoint))
        return ObjectsObservation(
            seen.scene, seen.viewpoint, seen.heading, seen.elevation, seen.neighbors, around
        )

    def action_space(self, actor: str) -> ActionSpace:
        stops = (Action("stop", (thing.id,)) for thing in self._objects(self._viewpoint))
        return ActionSpace((*super().action_space(actor).listed, *stops))

    def step(self, actor: str, action: Action) -> Feedback:
        if action.name == STOP.name and action.arguments:
            if action not in self.action_space(actor):
                raise ValueError(f"{action} is not on the menu at {self._viewpoint}")
            self._named = action.arguments[0]
            return super().step(actor, STOP)
        return super().step(actor, action)

    def state(self) -> Mapping[str, Json]:
        return {**super().state(), "named": self._named}

"""Shortest-path oracle: shown the goal, it goes there the shortest way and stops.

An upper bound, and a test that world, references and metrics agree: its success rate must be 1.
In object-goal navigation it goes to the nearest place that has a target in view within the
reference's distance; where the world knows none it stops at once, and a note ``no_way`` says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.errors import UsageError
from wayword.core.world import Feedback, Observation, World
from wayword.worlds.objectnav.world import ObjectNavReference, ObjectNavWorld


@dataclass(frozen=True, slots=True)
class OracleSettings:
    """Nothing to set."""


@runtime_checkable
class Routed(Protocol):
    """A world that can say how to get to a place."""

    def route(self, actor: str, goal: str) -> list[Action]:
        """The actions of a shortest way from where the actor is to ``goal``, no stop at the end."""
        ...


class ShortestPathOracle:
    """Follows a shortest path from the start to the reference's goal, or to a thing to find."""

    Settings: ClassVar[type[OracleSettings]] = OracleSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor", "street", "objectnav"})
    needs_model: ClassVar[bool] = False
    sees_answer: ClassVar[bool] = True

    def __init__(self, settings: OracleSettings, toolkit: Toolkit) -> None:
        self._plan: list[Action] = []
        self._toolkit = toolkit

    def reveal(self, reference: Reference, world: World) -> None:
        if isinstance(reference, ObjectNavReference) and isinstance(world, ObjectNavWorld):
            self._plan, problem = world.find(reference.targets, reference.within)
            if problem:
                self._toolkit.note("no_way", cause=problem)
            return
        if not isinstance(reference, PathReference):
            raise UsageError(f"episode {reference.episode_id} has no published goal to go to")
        if not isinstance(world, Routed):
            raise UsageError("this world knows no shortest routes; try `gold` or `expert`")
        self._plan = world.route("agent", reference.goal)

    async def begin(self, episode: Episode) -> None:
        """The plan was made when the reference was revealed."""

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        return Decision(self._plan.pop(0) if self._plan else STOP)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """An oracle has nothing to learn."""


agent = ShortestPathOracle

"""The expert: shown the goals and the house, it solves a task by low-level actions alone.

An upper bound, a test that worlds, tasks and metrics agree, and the source of gold trajectories.
Source: LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayword.core.action import STOP, Menu
from wayword.core.agent import Toolkit
from wayword.core.decision import Decision, Rejection
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError
from wayword.core.world import Feedback, Observation, World
from wayword.datasets.homes.errands import Doing, Stuck
from wayword.datasets.homes.goals import RoomsReference
from wayword.datasets.homes.solving import solve
from wayword.worlds.housework.observation import RoomsObservation
from wayword.worlds.housework.verbs import LOW_LEVEL
from wayword.worlds.rooms import RoomsWorld


@dataclass(frozen=True, slots=True)
class ExpertSettings:
    """Nothing to set."""


class Expert:
    """Solves tasks of the rooms world: household, rearrangement, interactive questions.

        >>> from wayword.core.registry import load
        >>> sorted(load("agent", "expert").families)
        ['rooms']

    It reads the things to handle off the goals, orders them into sub-tasks (fetch, slice, heat, put
    …), walks the shortest ways between them, and opens what is shut on its way. Where it cannot go
    on it stops, and a note ``expert_stuck`` says why. In tasks for several actors each expert works
    on all of the goals.
    """

    Settings: ClassVar[type[ExpertSettings]] = ExpertSettings
    families: ClassVar[frozenset[str]] = frozenset({"rooms"})
    needs_model: ClassVar[bool] = False
    sees_answer: ClassVar[bool] = True

    def __init__(self, settings: ExpertSettings, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self._feedback: Feedback | None = None
        self._doing: Doing | None = None

    def reveal(self, reference: Reference, world: World) -> None:
        if not isinstance(reference, RoomsReference) or not isinstance(world, RoomsWorld):
            raise UsageError(
                f"episode {reference.episode_id} has no goals in a house; try `oracle` or `gold`"
            )
        for actor in world.house.actors.values():
            missing = [verb for verb in LOW_LEVEL if verb not in actor.body.actions]
            if missing:
                raise UsageError(
                    f"the expert acts by low-level actions, and {actor.name} knows no "
                    f"{missing[0]}; set dataset.actions=all"
                )
        self._reference, self._world = reference, world

    async def begin(self, episode: Episode) -> None:
        """The goals were revealed before."""

    async def act(self, observation: Observation, menu: Menu) -> Decision | Rejection:
        if not isinstance(observation, RoomsObservation):
            raise UsageError("the expert acts in the rooms world only")
        try:
            if self._doing is None:
                self._doing = solve(self._world, observation.actor, self._reference)
                return Decision(next(self._doing))
            return Decision(self._doing.send(self._feedback or Feedback()))
        except Stuck as reason:
            self._toolkit.note("expert_stuck", reason=str(reason))
            return Decision(STOP)

    def told(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._feedback = feedback


agent = Expert

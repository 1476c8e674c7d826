"""Gold oracle: shown the published path, it walks exactly that and stops.

It checks that data, world and metrics agree: on an untouched split it succeeds everywhere. Only an
episode whose path takes more actions than the step limit allows is cut short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.errors import UsageError
from wayword.core.world import Feedback, Observation, World
from wayword.worlds.indoor.world import IndoorWorld
from wayword.worlds.objectnav.world import ObjectNavReference, ObjectNavWorld


@dataclass(frozen=True, slots=True)
class GoldSettings:
    """Nothing to set."""


@runtime_checkable
class Walkable(Protocol):
    """A world that can write a path as actions."""

    def along(self, actor: str, path: tuple[str, ...]) -> list[Action]:
        """The path, its first place the present one, as actions that end in ``stop``."""
        ...


class GoldOracle:
    """Follows the published path, and faces the target where there is one to be found."""

    Settings: ClassVar[type[GoldSettings]] = GoldSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor", "street", "objectnav"})
    needs_model: ClassVar[bool] = False
    sees_answer: ClassVar[bool] = True

    def __init__(self, settings: GoldSettings, toolkit: Toolkit) -> None:
        self._plan: list[Action] = []

    def reveal(self, reference: Reference, world: World) -> None:
        if isinstance(reference, ObjectNavReference) and isinstance(world, ObjectNavWorld):
            self._plan = world.walk(reference.path, reference.targets) if reference.path else []
            return
        if not isinstance(reference, PathReference):
            raise UsageError(f"episode {reference.episode_id} has no published path to follow")
        if isinstance(world, Walkable):
            self._plan = world.along("agent", reference.path)
        elif isinstance(world, IndoorWorld):
            self._plan = [Action("goto", (place,)) for place in reference.path[1:]]
        else:
            raise UsageError("paths cannot be walked in this world; try `expert`")

    async def begin(self, episode: Episode) -> None:
        """The plan was made when the reference was revealed."""

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        return Decision(self._plan.pop(0) if self._plan else STOP)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """An oracle has nothing to learn."""


agent = GoldOracle

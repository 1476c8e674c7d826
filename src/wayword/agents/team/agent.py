"""The team: scripted actors that work together by talking, each in its role.

Source: the multi-agent tasks of LangSuitE (Jia et al. 2024), section 3.2, tasks V and VI, and their
origins, TEACh (Padmakumar et al. 2022) and C-WAH (Zhang et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass

from wayword.agents.team.messages import RoleBrief
from wayword.agents.team.partner import Partner
from wayword.agents.team.teach import Commander, Follower
from wayword.core.action import ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Toolkit
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError, suggest
from wayword.core.world import Feedback, World
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.world import HouseholdWorld

Role = Partner | Commander | Follower
ROLES: dict[str, type[Role]] = {
    "partner": Partner,
    "commander": Commander,
    "follower": Follower,
}


@dataclass(frozen=True)
class TeamSettings:
    """``talk``: actors may speak; false measures the value of communication."""

    talk: bool = True


class Team(Agent):
    """Scripted actors that finish tasks for several by talking.

        >>> from wayword.core.registry import load
        >>> sorted(load("agent", "team").families)
        ['household']

    It reads the reference's goals, and so counts as an oracle. But a partner never looks up an
    object's place: it relies on its own view, its memory, and messages. A commander knows the
    house and gives the reference's plan as commands; its follower sees no goals. Episodes define
    the actors' roles in ``extra["roles"]``.
    """

    Settings = TeamSettings
    families = frozenset({"household"})
    sees_answer = True

    def __init__(self, settings: TeamSettings, toolkit: Toolkit) -> None:
        self._settings = settings
        self._toolkit = toolkit
        self._role: Role | None = None

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        """Take goals and world. Raises ``UsageError`` for a task without goals in a
        house."""
        if not isinstance(reference, HouseholdReference) or not isinstance(
            world,
            HouseholdWorld,
        ):
            raise UsageError(f"episode {reference.episode_id} has no goals in a house")
        self._reference = reference
        self._world = world

    async def begin(self, episode: Episode) -> None:
        """Keep the episode, whose roles are read at the first turn."""
        self._episode = episode

    async def act(
        self,
        observation: HouseholdObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Act in the role that the episode gives. Raises ``UsageError`` for an unknown
        role."""
        # Chosen in the first turn: only an observation names the actor.
        if self._role is None:
            episode = self._episode
            actor = observation.actor
            name = episode.extra.get("roles", {}).get(actor, "partner")
            if name not in ROLES:
                hint = suggest(name, ROLES)
                raise UsageError(
                    f"episode {episode.id}: {actor} has the role {name!r}; {hint}"
                )
            parts = (
                episode,
                self._reference,
                self._world,
                self._toolkit,
                self._settings.talk,
            )
            self._role = ROLES[name](RoleBrief(actor, *parts))
        return self._role.act(observation, space)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Pass the feedback on to the role."""
        if self._role is not None:
            self._role.on_feedback(decision, feedback)


agent = Team

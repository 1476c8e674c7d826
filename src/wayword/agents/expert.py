"""The expert: shown the goals and the world, it solves a task by low-level actions alone.

An upper bound, a test that worlds, tasks and metrics agree, and the source of gold trajectories.
Source: LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError
from wayword.core.replay import ActionPlan, PlanningFailed
from wayword.core.world import Feedback, Observation, World
from wayword.worlds.babyai import expert
from wayword.worlds.babyai.motions import LOW
from wayword.worlds.babyai.view import BabyAIObservation
from wayword.worlds.babyai.world import BabyAIWorld
from wayword.worlds.household.expert import solve
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.verbs import LOW_LEVEL
from wayword.worlds.household.world import HouseholdWorld

PATIENCE = 60
"""How often a plan that others may have foiled is made anew."""
TURNS = (Action("turn_left"), Action("turn_right"))
ASIDE = 6
"""How many steps it goes aside at most before that, so that two do not stay in each other's way."""


@dataclass(frozen=True, slots=True)
class ExpertSettings:
    """Nothing to set."""


class Expert:
    """Solves tasks of the rooms world (household, rearrangement, questions) and levels of BabyAI.

        >>> from wayword.core.registry import load
        >>> sorted(load("agent", "expert").families)
        ['babyai', 'household']

    In houses it reads the things to handle off the goals, orders them into sub-tasks (fetch, slice,
    heat, put …), walks the shortest ways between them, and opens what is shut on its way. On grids
    it is the bot that comes with the levels: see ``wayword.worlds.babyai.expert``. Where it
    cannot go on it stops, and a note ``expert_stuck`` says why.

    In tasks for several actors each expert works on all of the goals, and none knows the others'
    plans; who has no hands to help with stops at once. What is foiled by another (a door that it
    opened first, a thing that it carries, a body in the way) is planned anew after some steps at
    random, up to 60 times. So they show that a task can be done, not how well several can do it.
    """

    Settings: ClassVar[type[ExpertSettings]] = ExpertSettings
    families: ClassVar[frozenset[str]] = frozenset({"babyai", "household"})
    needs_model: ClassVar[bool] = False
    sees_answer: ClassVar[bool] = True

    def __init__(self, settings: ExpertSettings, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self._feedback: Feedback | None = None
        self._doing: ActionPlan | None = None
        self._patience = 0

    def reveal(self, reference: Reference, world: World) -> None:
        self._solve = _solver(reference, world)

    async def begin(self, episode: Episode) -> None:
        """The goals were revealed before; where others act as well, plans may need another try."""
        self._feedback, self._doing = None, None
        self._patience = PATIENCE if len(episode.actors) > 1 else 0

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        if not isinstance(observation, HouseholdObservation | BabyAIObservation):
            raise UsageError("the expert acts in the rooms world and the grid world only")
        try:
            if self._doing is None:
                self._doing = self._solve(observation.actor)
                return Decision(next(self._doing))
            return Decision(self._doing.send(self._feedback or Feedback()))
        except PlanningFailed as reason:
            if self._patience:
                self._patience -= 1
                self._doing = self._anew(observation.actor)
                return Decision(next(self._doing))
            self._toolkit.note("expert_stuck", reason=str(reason))
            return Decision(STOP)

    def _anew(self, actor: str) -> ActionPlan:
        """Go some steps aside, and begin again from what there is then."""
        yield self._toolkit.rng.choice(TURNS)
        for _ in range(self._toolkit.rng.randint(1, ASIDE)):
            yield Action("move_ahead")
        yield from self._solve(actor)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._feedback = feedback


def _solver(reference: Reference, world: World) -> Callable[[str], ActionPlan]:
    """What makes an actor's actions. Raises ``UsageError`` for what it has no answer to."""
    if isinstance(world, BabyAIWorld):
        _able(dict.fromkeys(world.actors, world.verbs), LOW, "low")
        return lambda actor: expert.solve(world)
    if not isinstance(reference, HouseholdReference) or not isinstance(world, HouseholdWorld):
        raise UsageError(
            f"episode {reference.episode_id} has no goals in a house; try `oracle` or `gold`"
        )
    bodies = {each.name: each.body.actions for each in world.house.actors.values()}
    able = _able(bodies, LOW_LEVEL, "all")
    return lambda actor: solve(world, actor, reference) if actor in able else _leave()


def _leave() -> ActionPlan:
    yield STOP


def _able(bodies: Mapping[str, Collection[str]], needed: Sequence[str], setting: str) -> list[str]:
    """The actors that have all the verbs it takes. Raises ``UsageError`` where nobody has."""
    missing = {actor: [v for v in needed if v not in verbs] for actor, verbs in bodies.items()}
    able = [actor for actor, verbs in missing.items() if not verbs]
    if not able:
        actor, verbs = next(iter(missing.items()))
        raise UsageError(
            f"the expert acts by low-level actions, and {actor} knows no {verbs[0]}; "
            f"set dataset.actions={setting}"
        )
    return able


agent = Expert

"""The expert: shown the goals and the world, it solves a task by low-level actions alone.

An upper bound, a test that worlds, tasks and metrics agree, and the source of gold trajectories.
Source: LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Toolkit
from wayword.core.episode import Episode, Reference
from wayword.core.game import ActionPlan, PlanningFailed, thought_of
from wayword.core.world import Feedback, Observation, World

PATIENCE = 60
"""How often a plan that others may have foiled is made anew."""
TURNS = (Action("turn_left"), Action("turn_right"))
ASIDE = 6
"""How many steps it goes aside at most before that, so that two do not stay in each other's way."""


@dataclass(frozen=True, slots=True)
class ExpertSettings:
    """Nothing to set."""


class Expert(Agent):
    """Solves tasks in homes (household, rearrangement, questions) and levels of BabyAI.

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
        self._feedback = Feedback()
        self._plan: ActionPlan | None = None
        self._patience = 0

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        self._make = plan

    async def begin(self, episode: Episode) -> None:
        """Plans begin at the first turn; where others act as well, they may need another try."""
        self._plan = None
        self._patience = PATIENCE if len(episode.actors) > 1 else 0

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        try:
            action = self._next()
            return Decision(action, thought_of(self._plan) if self._plan else "")
        except StopIteration:
            return Decision(STOP)
        except PlanningFailed as reason:
            if self._patience:
                self._patience -= 1
                self._plan = self._aside()
                return Decision(next(self._plan))
            self._toolkit.note("expert_stuck", reason=str(reason))
            return Decision(STOP)

    def _next(self) -> Action:
        if self._plan is None:
            self._plan = self._make("expert")
            return next(self._plan)
        return self._plan.send(self._feedback)

    def _aside(self) -> ActionPlan:
        """Go some steps aside, and plan again from what there is then."""
        yield self._toolkit.rng.choice(TURNS)
        for _ in range(self._toolkit.rng.randint(1, ASIDE)):
            yield Action("move_ahead")
        yield from self._make("expert")

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._feedback = feedback


agent = Expert

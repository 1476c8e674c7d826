"""Upper bounds with ground truth, which also check that data, worlds and metrics agree."""

from __future__ import annotations

from typing import Any, ClassVar

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Toolkit
from wayword.core.episode import Episode, Reference
from wayword.core.game import ActionPlan, PlanningFailed, thought_of
from wayword.core.world import SLIPPED, Feedback, Observation, World

MOST_REPLANS = 60  # maximum new plans after failures that other actors may have caused
TURNS = (Action("turn_left"), Action("turn_right"))
# Maximum random steps before a new plan, which let two actors pass
MOST_ASIDE_STEPS = 6


class PlannedWalk(Agent):
    """Takes the actions of the dataset's plan in order, then stops.

    A subclass sets ``plan_kind``. Without a plan it stops immediately, and a note ``no_way`` gives
    the reason.
    """

    plan_kind: ClassVar[str]
    families = frozenset({"indoor", "street", "objectnav"})
    sees_answer = True

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self._plan: list[Action] = []

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        """Take the planner of the episode's dataset."""
        self._make_plan = plan

    async def begin(self, episode: Episode) -> None:
        """Plan the walk; without a plan, note why and stop at once."""
        try:
            self._plan = list(self._make_plan(self.plan_kind))
        except PlanningFailed as problem:
            self._toolkit.note("no_way", cause=str(problem))

    async def act(
        self,
        observation: Observation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Return the next action of the plan, and a stop at its end."""
        if not self._plan:
            return Decision(STOP)
        return Decision(self._plan.pop(0))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Repeat an action that slipped, so that the plan still fits the world."""
        if feedback.status == SLIPPED and isinstance(decision, Decision):
            self._plan.insert(0, decision.action)


class ShortestPathOracle(PlannedWalk):
    """Follows a shortest path from the start to the reference's goal, or to an object to find.

    An upper bound, and a test that world, references and metrics agree: its success rate must be 1.
    In object-goal navigation it goes to the nearest place with a target in view within the
    reference's distance; without one it stops immediately.
    """

    families = PlannedWalk.families | {"two_phase"}
    plan_kind = "shortest"


class GoldOracle(PlannedWalk):
    """Follows the published path, and at its end faces the target if the task is to find one.

    It checks that data, world and metrics agree: on an unmodified split it always succeeds, except
    if the path takes more actions than the step limit.
    """

    plan_kind = "gold"


class Expert(Agent):
    """Solves tasks in homes (household, rearrangement, questions) and levels of BabyAI by low-level
    actions alone, from the goals and the world: the source of gold trajectories.

        >>> from wayword.core.registry import load
        >>> sorted(load("agent", "expert").families)
        ['alfworld', 'babyai', 'household']

    In houses it derives sub-tasks from the goals (fetch, slice, heat, put …), orders them, walks
    the shortest routes between them, and opens doors and containers on the way. On grids it is the
    bot that comes with the levels, in ALFWorld the walkthrough of the game. If it cannot continue
    it stops, and a note ``expert_stuck`` gives the reason.

    In tasks for several actors each expert works on all goals without knowing the others' plans; an
    actor without hands stops immediately. If another actor foils a plan, the expert takes some
    random steps and plans again, up to 60 times: its success shows that a task can be solved, not
    how well. In a world of your own it follows ``make_plan`` of a dataset with the solution
    ``expert``. Source: LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
    """

    families = frozenset({"alfworld", "babyai", "household"})
    follows = "expert"
    sees_answer = True

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self._feedback = Feedback()
        self._plan: ActionPlan | None = None
        self._replans_left = 0

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        """Take the planner of the episode's dataset."""
        self._make_plan = plan

    async def begin(self, episode: Episode) -> None:
        """Allow replanning if others act in the same world."""
        self._replans_left = 0
        if len(episode.actors) > 1:  # others change what a plan relied on
            self._replans_left = MOST_REPLANS

    async def act(
        self,
        observation: Observation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Return the next action of the plan, from the feedback to the last one."""
        try:
            if self._plan is None:
                self._plan = self._make_plan("expert")
                self._action = next(self._plan)
            elif self._feedback.status != SLIPPED:  # else the action is repeated
                self._action = self._plan.send(self._feedback)
            return Decision(self._action, thought_of(self._plan))
        except StopIteration:
            return Decision(STOP)
        except PlanningFailed as reason:
            if self._replans_left:
                self._replans_left -= 1
                self._plan = self._step_aside()
                self._action = next(self._plan)
                return Decision(self._action)
            self._toolkit.note("expert_stuck", reason=str(reason))
            return Decision(STOP)

    def _step_aside(self) -> ActionPlan:
        """Take some random steps, then plan again from the new state."""
        yield self._toolkit.rng.choice(TURNS)
        for _ in range(self._toolkit.rng.randint(1, MOST_ASIDE_STEPS)):
            yield Action("move_ahead")
        yield from self._make_plan("expert")

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Keep the feedback: the next step of a plan may depend on it."""
        self._feedback = feedback


agents = {"oracle": ShortestPathOracle, "gold": GoldOracle, "expert": Expert}

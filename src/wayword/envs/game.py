"""The game stepped by environments: an episode with its standing and its expert."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Self

from wayword.core.action import STOP, Action, Decision, Rejection, nearest_legal
from wayword.core.blame import CodeError, is_own, place_of
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.core.game import ActionPlan, Game, PlanningFailed, copied, limited
from wayword.core.metric import is_solved
from wayword.core.rollout import new_world
from wayword.core.sight import Eyes, EyesSettings, Frame, view_ahead
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import SLIPPED, World
from wayword.metrics.scoring import (
    Judged,
    Standing,
    distance_of,
    rows_of,
    scorer,
    standing_of,
)

EXPERT_SOLUTIONS = ("shortest", "expert")
"""Solutions that can be planned from any state; a published path cannot."""
OPTIONAL_INFOS = (
    "admissible_commands",
    "conditions",
    "distance",
    "expert_action",
    "rules",
)
"""Names that ``include`` may add to an info."""
Info = dict[str, Json]


def check_include(names: Sequence[str]) -> tuple[str, ...]:
    """Validate names of fields for ``info``. Raises ``UsageError`` for an unknown one."""
    # A text is a sequence of letters, so it would pass the loop as unknown names.
    if isinstance(names, str):
        raise UsageError(
            f"include must be a list of names, got {names!r}: write [{names!r}]"
        )
    if not isinstance(names, Iterable):
        raise UsageError(
            f"include must be a list of names, such as ['distance'], got {names!r:.60}"
        )
    for name in names:
        if name not in OPTIONAL_INFOS:
            known = suggest(str(name), OPTIONAL_INFOS)
            raise UsageError(f"include: unknown field {name!r}; {known}")
    return tuple(names)


class TaskGame(Game):
    """A game of a dataset's task, with its standing and the expert's next action."""

    def __init__(self, dataset: Dataset, task: Task, max_steps: int | None) -> None:
        super().__init__(new_world(dataset, task.episode), task.episode, max_steps)
        self.dataset = dataset
        self.task = task
        self._experts: dict[str, _Expert] = {}
        self._plans: dict[str, list[Action] | None] = {}  # to the end, in reverse order
        self._planned_steps = 0  # steps of the trajectory that ``_plans`` accounts for
        self._standing: tuple[int, Standing | None] = -1, None
        # Actors with instructions of their own do different tasks.
        own_tasks = isinstance(task.episode.extra.get("instructions"), Mapping)
        self.has_shared_task = len(self.world.actors) > 1 and not own_tasks
        """True if several actors know the task, so that each could do it alone."""
        self.shows_ahead = False
        """True if the pictures of an observation are the view ahead alone."""
        self.rendering = EyesSettings()
        """Settings of rendered pictures, where observations have none."""
        self.conditions_met = dict.fromkeys(self.world.actors, 0)
        """Goal conditions that each actor's own turns met, minus those they undid; counted only
        where actors share the task."""

    def act(self, actor: str, decision: Decision | Rejection) -> Step:
        """Carry out a decision, counting the conditions that the actor met."""
        # Standings take time, so they are measured only where actors share the task.
        before = self.standing() if self.has_shared_task else None
        step = super().act(actor, decision)
        if before is not None and (after := self.standing()) is not None:
            self.conditions_met[actor] += after.met - before.met
        return step

    def over(self, actor: str) -> bool:
        """True if the episode has ended, or the actor has stopped."""
        # An actor with turns left has neither stopped nor seen the end.
        if self.active(actor):
            return False
        return self.ended is not None or self.done(actor)

    def legal_actions(self, actor: str) -> list[str]:
        """Return the actor's listed actions; empty if it has no turn left."""
        if self.active(actor):
            return [str(each) for each in self.space(actor).listed]
        return []

    @cached_property
    def _judge(self) -> Judged | None:
        """The family's scorer if it judges states; asked once, as the check of its methods takes as
        long as a judgement."""
        judge = scorer(self.dataset.family)
        return judge if isinstance(judge, Judged) else None

    def eyes(self, actor: str) -> Eyes | None:
        """The actor's eyes; None if it reads the world in words alone."""
        settings = self.dataset.eyes
        painter = self.dataset.painter()
        if settings is None or painter is None:
            return None
        return Eyes(settings, painter, self.world, actor, is_ahead=self.shows_ahead)

    def ahead(self, actor: str) -> Frame:
        """Draw what an actor sees ahead. Raises ``UsageError`` if the dataset has no pictures."""
        painter = self.dataset.painter()
        if painter is None:
            raise UsageError(
                "this dataset draws no pictures; use render_mode='ansi', or a dataset that does: "
                "houses, towns, household:generated_test, grounding, apartments:paintable"
            )
        settings = self.dataset.eyes or self.rendering
        ahead = view_ahead(painter, self.world, actor)
        return painter.frame(self.world, actor, ahead, settings.size)

    def standing(self) -> Standing | None:
        """Current standing of the episode; None if its answer is not public."""
        trajectory = self.trajectory
        # Once per step: nothing else changes the standing.
        if self._standing[0] == len(trajectory.steps):
            return self._standing[1]
        dataset = self.dataset
        # A family that judges states has no need for a full set of scores.
        if self._judge is not None:
            standing = standing_of(self._judge, dataset, self.task, self.world)
        else:
            current = Trajectory(
                trajectory.episode_id,
                trajectory.start,
                trajectory.steps,
                self.world.state(),
            )
            # Other families score the trajectory as if it ended here.
            family = dataset.family
            (scores,) = rows_of(scorer(family), dataset, [(self.task, current)])
            success = scores.get(family.success)
            standing = None
            if success is not None:
                solved = is_solved(success)
                distance = distance_of(dataset, self.task, self.world)
                standing = Standing(solved, int(solved), distance=distance)
        self._standing = (len(trajectory.steps), standing)
        return standing

    def expert_action(self, actor: str) -> str | None:
        """The expert's next action from here; None if there is no expert or no solution."""
        if self.over(actor):
            return None
        # One expert per actor, as each has its own plan.
        if actor not in self._experts:
            self._experts[actor] = _Expert(self, actor)
        action = self._experts[actor].next()
        if action is None:
            return None
        # A policy that follows it would learn rejected turns.
        method = type(self.dataset).make_plan
        if is_own(method) and action not in self.space(actor):
            problem = f"the expert's action {action} is not legal at step"
            hint = nearest_legal(action, self.space(actor))
            number = len(self.trajectory.steps) + 1
            raise CodeError(f"{place_of(method)}: {problem} {number}; {hint}")
        return str(action)

    def remaining(self, actor: str) -> int | None:
        """Number of actions that the expert needs from here, including stop; None if it fails.
        Playing the expert on a copy of the world takes about half a second in a home; it is free as
        long as the expert is followed."""
        if self.over(actor):
            return 0
        # New steps since the last question either follow a plan or make it worthless.
        for step in self.trajectory.steps[self._planned_steps :]:
            # A plan stays valid while it is followed; that of other actors does not. An action
            # that slipped changed nothing.
            slipped = step.feedback.status == SLIPPED
            if isinstance(step.decision, Decision) and not slipped:
                plan = self._plans.get(step.actor) or []
                is_followed = bool(plan) and plan.pop() == step.decision.action
                self._plans = {step.actor: plan} if is_followed else {}
        self._planned_steps = len(self.trajectory.steps)
        if actor not in self._plans:
            world = copied(self.world)
            actions = None
            # The plan is played in a copy; the expert may fail or not know the task.
            with suppress(PlanningFailed, UsageError):
                if (expert := self.plan(world, actor)) is not None:
                    # Reversed, so that a step that follows the plan is taken off its
                    # end.
                    actions = list(Game(world).actions(actor, expert))[::-1]
            self._plans[actor] = actions
        actions = self._plans[actor]
        return None if actions is None else len(actions)

    def plan(self, world: World, actor: str) -> ActionPlan | None:
        """The expert's plan from here; None if the dataset has no solution of that kind."""
        dataset = self.dataset
        # The first of them that the dataset has.
        for kind in EXPERT_SOLUTIONS:
            if kind in dataset.solutions:
                plan = dataset.plan(self.task, world, actor, kind)
                return limited(plan, self.max_steps)
        return None

    def clone(self) -> Self:
        """Return an independent copy, with the rest of each plan."""
        other = super().clone()
        # Experts belong to the other game's world; they are made again when asked.
        other._experts = {}
        other._plans = {
            name: actions and list(actions) for name, actions in self._plans.items()
        }
        other.conditions_met = dict(self.conditions_met)
        return other

    def info(
        self,
        actor: str,
        last: Step | None,
        terms: Mapping[str, float],
        include: Sequence[str],
        rules: Callable[[], str],
        has_ended: bool,
    ) -> Info:
        """An actor's info after its ``last`` turn (None at the start) and the ``terms`` of its
        reward, with the entries that ``include`` requests."""
        # Success is only known once the episode has ended.
        success: bool | None = False
        if has_ended:
            standing = self.standing()
            success = None if standing is None else bool(standing.success)
        rejection = ""
        if last is not None and isinstance(last.decision, Rejection):
            rejection = last.decision.reason
        info: Info = {
            "episode": self.task.episode.id,
            "steps": self.taken[actor],
            "success": success,
            "rejected": last is not None and last.feedback.status == "rejected",
            "rejection": rejection,
            "status": "" if last is None else last.feedback.status,
            "reward_terms": dict(terms),
        }
        for name in include:
            if name == "rules":
                info[name] = rules()
            elif name == "expert_action":
                info[name] = self.expert_action(actor)
            elif name == "admissible_commands":
                info[name] = self.legal_actions(actor)
            elif (standing := self.standing()) is None:
                info[name] = None
            elif name == "conditions":
                info[name] = [standing.met, standing.parts]
            else:  # a float: Gymnasium's vectors put the distances of several into one array
                if standing.distance is None:
                    info[name] = None
                else:
                    info[name] = float(standing.distance)
        return info


class _Expert:
    """The expert's next action. The plan is kept while it is followed, else made again."""

    def __init__(self, game: TaskGame, actor: str) -> None:
        self._game = game
        self._actor = actor
        self._steps = len(game.trajectory.steps)
        self._plan: ActionPlan | None = None
        self._action: Action | None = None

    def next(self) -> Action | None:
        """Return the next action; None if the expert has no solution."""
        new_steps = self._game.trajectory.steps[self._steps :]
        self._steps += len(new_steps)
        # A step that slipped changed nothing: the expert repeats it.
        new_steps = [step for step in new_steps if step.feedback.status != SLIPPED]
        # Asked twice without a change between: the same answer.
        if self._action is not None and not new_steps:
            return self._action
        # The turns of this actor that followed the advice.
        advised = [
            step.feedback
            for step in new_steps
            if step.actor == self._actor
            and getattr(step.decision, "action", None) == self._action
        ]
        try:
            # Only one new step, and that as advised: the plan continues with its
            # feedback.
            if self._plan is not None and len(new_steps) == len(advised) == 1:
                self._action = self._plan.send(advised[0])
            else:
                # Anything else changes the situation: a new plan from here.
                self._plan = self._game.plan(self._game.world, self._actor)
                self._action = None
                if self._plan is not None:
                    self._action = next(self._plan)
        except StopIteration:
            # As the agent `expert` does at the end of its plan.
            self._action = STOP
        except (PlanningFailed, UsageError):
            self._plan = None
            self._action = None
        return self._action

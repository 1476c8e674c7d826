"""The game that environments step: an episode of a task, its standing and its expert.

Environments are views of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from wayword.core.action import Action, Decision, Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.core.game import ActionPlan, Game, PlanningFailed, copied
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import World
from wayword.metrics.scoring import Judged, Standing, scorer

EXPERT_SOLUTIONS = ("shortest", "expert")
"""Solutions that can be planned from wherever one is; a published path cannot."""
INCLUDED = ("admissible_commands", "conditions", "distance", "expert_action", "rules")
"""What ``include`` may add to an info."""
Info = dict[str, Json]


def included(names: Sequence[str]) -> tuple[str, ...]:
    """The names, checked. Raises ``UsageError`` for one that infos cannot hold."""
    for name in names:
        if name not in INCLUDED:
            raise UsageError(f"include: infos have no {name!r}; {suggest(name, list(INCLUDED))}")
    return tuple(names)


class TaskGame(Game):
    """A game of a dataset's task: also how the episode stands, and what the expert would do."""

    def __init__(self, dataset: Dataset, task: Task, max_steps: int) -> None:
        super().__init__(dataset.world(task.episode), task.episode, max_steps)
        self.dataset, self.task = dataset, task
        self._experts: dict[str, _Expert] = {}
        self._ahead: dict[str, list[Action] | None] = {}
        self._followed = 0
        """The number of steps that ``_ahead`` has taken into account."""
        self._standing: tuple[int, Standing | None] = -1, None

    def over(self, actor: str) -> bool:
        """True if the episode has ended, or the actor has stopped."""
        return self.ended is not None or self.world.done(actor)

    def standing(self) -> Standing | None:
        """How the episode stands now; None if its answer is not public."""
        number = len(self.trajectory.steps)
        if self._standing[0] != number:
            self._standing = number, _standing(self)
        return self._standing[1]

    def expert_action(self, actor: str) -> str | None:
        """The expert's next action from here; None if there is no expert or no solution."""
        if self.over(actor):
            return None
        if actor not in self._experts:
            self._experts[actor] = _Expert(self, actor)
        action = self._experts[actor].next()
        return None if action is None else str(action)

    def remaining(self, actor: str) -> int | None:
        """The number of actions that the expert needs from here, its stop included; None where it
        fails.

        Computed by playing the expert on a copy of the world, which takes a good part of a second
        in a home; free as long as the expert is followed.
        """
        if self.over(actor):
            return 0
        for step in self.trajectory.steps[self._followed :]:
            self._follow(step)
        self._followed = len(self.trajectory.steps)
        if actor not in self._ahead:
            self._ahead[actor] = self._planned(actor)
        left = self._ahead[actor]
        return None if left is None else len(left)

    def plan(self, world: World, actor: str) -> ActionPlan | None:
        """The expert's plan from here; None if the dataset has no solution of that kind."""
        dataset = self.dataset
        solutions = dataset.solutions
        how = next((how for how in EXPERT_SOLUTIONS if how in solutions), None)
        return None if how is None else dataset.plan(self.task, world, actor, how)

    def clone(self) -> Self:
        other = super().clone()
        other._experts = {}
        other._ahead = {who: left and list(left) for who, left in self._ahead.items()}
        return other

    def told(self, actor: str, include: Sequence[str], rules: Callable[[], str]) -> Info:
        """The part of an info that ``include`` asks for."""
        info: Info = {}
        for name in include:
            if name == "rules":
                info[name] = rules()
            elif name == "expert_action":
                info[name] = self.expert_action(actor)
            elif name == "admissible_commands":
                over = self.over(actor)
                info[name] = [] if over else [str(each) for each in self.space(actor).listed]
            elif (standing := self.standing()) is None:
                info[name] = None
            elif name == "conditions":
                info[name] = [standing.met, standing.parts]
            else:  # a float, so that distances of several environments fit in one array
                info[name] = None if standing.distance is None else float(standing.distance)
        return info

    def _planned(self, actor: str) -> list[Action] | None:
        """The expert's actions from here to its end, the last one first."""
        world = copied(self.world)
        try:
            plan = self.plan(world, actor)
            return None if plan is None else list(Game(world).actions(actor, plan))[::-1]
        except (PlanningFailed, UsageError):
            return None

    def _follow(self, step: Step) -> None:
        """Keep what was planned ahead if the turn was the expert's own next action."""
        left = self._ahead.get(step.actor)
        if isinstance(step.decision, Rejection):
            return
        followed = bool(left) and left is not None and left.pop() == step.decision.action
        self._ahead = {step.actor: left} if followed else {}


def _standing(game: TaskGame) -> Standing | None:
    dataset, task = game.dataset, game.task
    family = scorer(dataset.family)
    if isinstance(family, Judged):
        return family.standing(dataset, task, game.world)
    trial = game.trajectory
    now = Trajectory(trial.episode_id, trial.start, trial.steps, game.world.state())
    (scores,) = family.score(dataset, [(task, now)])
    success = scores.get(dataset.family.success)
    return None if success is None else Standing(success > 0.5, int(success > 0.5))


class _Expert:
    """The expert's next action. Its plan continues while it is followed, and is made again else."""

    def __init__(self, game: TaskGame, actor: str) -> None:
        self._game, self._actor = game, actor
        self._steps = len(game.trajectory.steps)
        self._plan: ActionPlan | None = None
        self._action: Action | None = None

    def next(self) -> Action | None:
        """Its action from here, None if it has none."""
        later = self._game.trajectory.steps[self._steps :]
        if self._action is not None and not later:
            return self._action
        self._steps += len(later)
        try:
            self._action = self._next(later)
        except (PlanningFailed, StopIteration, UsageError):
            self._plan = self._action = None
        return self._action

    def _next(self, later: Sequence[Step]) -> Action | None:
        if self._plan is not None and len(later) == 1 and self._took(later[0]):
            return self._plan.send(later[0].feedback)
        self._plan = self._game.plan(self._game.world, self._actor)
        return None if self._plan is None else next(self._plan)

    def _took(self, step: Step) -> bool:
        """True if the step was the action that the expert advised."""
        decision = step.decision
        own = step.actor == self._actor and isinstance(decision, Decision)
        return own and getattr(decision, "action", None) == self._action

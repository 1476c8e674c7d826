"""The game that environments step: an episode of a task, its standing and its expert.

Environments are views of it. What they give next to an observation (:class:`Info`) is computed when
it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from wayword.core.action import Action, Decision, Rejection
from wayword.core.dataset import Dataset, Solvable, Task, plan_of
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, Game, PlanningFailed, copied
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import World
from wayword.metrics.scoring import Judged, Standing, scorer

EXPERT_SOLUTIONS = ("shortest", "expert")
"""Solutions that can be planned from wherever one is; a published path cannot."""


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
        solutions = dataset.solutions if isinstance(dataset, Solvable) else ()
        how = next((how for how in EXPERT_SOLUTIONS if how in solutions), None)
        return None if how is None else plan_of(dataset, self.task, world, actor, how)

    def clone(self) -> Self:
        other = super().clone()
        other._experts = {}
        other._ahead = {who: left and list(left) for who, left in self._ahead.items()}
        return other

    def rebuilt(self, turns: int) -> TaskGame:
        """A game of the same episode after its first ``turns``, played again from the start."""
        other = TaskGame(self.dataset, self.task, self.max_steps or 0)
        for step in self.trajectory.steps[:turns]:
            other.act(step.actor, step.decision)
        return other

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


LAZY = ("admissible_commands", "conditions", "distance", "expert_action", "rules")
"""What is told besides, worked out when it is read."""


class Info(dict[str, Json]):
    """What an environment tells beside an observation: a dict, parts of it made when read.

    ``info["expert_action"]`` plans, which takes milliseconds, and nothing is planned before. Going
    over all items works everything out. It stays true of its own step: read after later steps, it
    plays the episode again up to there.
    """

    def __init__(self, ready: Mapping[str, Json], lazy: Sequence[str], ask: Callable[[str], Json]):
        super().__init__(ready)
        self._lazy, self._ask = tuple(lazy), ask

    def __missing__(self, key: str) -> Json:
        if key not in self._lazy:
            raise KeyError(key)
        self[key] = value = self._ask(key)
        return value

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or key in self._lazy

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*dict.keys(self), *self._lazy)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self.items()) == dict(other.items())

    def __repr__(self) -> str:
        left = [name for name in self._lazy if not dict.__contains__(self, name)]
        return f"Info({dict.__repr__(self)}, when read: {', '.join(left) or 'nothing'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self.items()),)

    def get(self, key: str, default: Json = None) -> Json:
        """The value of a key, worked out where need be."""
        if key not in self:
            return default
        return self[key]

    def keys(self) -> Any:
        """Every key, read before or not."""
        return dict.fromkeys(self).keys()

    def values(self) -> Any:
        """Every value: works everything out."""
        return self._whole.values()

    def items(self) -> Any:
        """Every key and value: works everything out."""
        return self._whole.items()

    def copy(self) -> dict[str, Json]:
        """A plain dict: works everything out."""
        return self._whole

    @property
    def _whole(self) -> dict[str, Json]:
        return {key: self[key] for key in self}

    def only(self, keys: Sequence[str]) -> dict[str, Json]:
        """A plain dict of what is ready and of these keys."""
        found = dict(dict.items(self))
        for key in keys:
            found[key] = self[key]
        return found


class Moment:
    """A game after some turns, for what is read about it later. ``rules`` says how it is played."""

    def __init__(self, game: TaskGame, actor: str, rules: Callable[[], str]) -> None:
        self._game, self._actor, self._rules = game, actor, rules
        self._turns = len(game.trajectory.steps)

    def __call__(self, name: str) -> Json:
        """One of ``LAZY``."""
        if name == "rules":
            return self._rules()
        game = self._then
        if name == "expert_action":
            return game.expert_action(self._actor)
        if name == "admissible_commands":
            over = game.over(self._actor)
            return [] if over else [str(action) for action in game.space(self._actor).listed]
        standing = game.standing()
        if standing is None:
            return None
        return standing.distance if name == "distance" else [standing.met, standing.parts]

    @cached_property
    def _then(self) -> TaskGame:
        later = len(self._game.trajectory.steps) > self._turns
        return self._game.rebuilt(self._turns) if later else self._game

"""Game: one episode under way, stepped from outside, one turn at a time.

It does what a rollout does (the same legality guard, the same record of steps), but waits for its
turns instead of asking agents. Environments are views of it; what they tell beside an observation
(:class:`Info`) is worked out when it is read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from wayword.core.action import Action, ActionSpace, Decision, Rejection, legal
from wayword.core.dataset import Dataset, Solvable, Task, plan_of
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.replay import ActionPlan, PlanningFailed, carry_out, follow
from wayword.core.trajectory import Ending, Step, Trajectory
from wayword.core.world import Feedback, Observation, World
from wayword.metrics.scoring import Judged, Standing, scorer

EXPERT_SOLUTIONS = ("shortest", "expert")
"""Solutions that can be planned from wherever one is; a published path cannot."""


class Game:
    """One episode of a dataset. ``max_steps`` counts turns of each actor, as in a rollout."""

    def __init__(self, dataset: Dataset, task: Task, max_steps: int) -> None:
        self.dataset, self.task, self.max_steps = dataset, task, max_steps
        self.world = dataset.world(task.episode)
        self.world.reset(task.episode)
        start = {actor: self.world.pose(actor) for actor in self.world.actors}
        self.trajectory = Trajectory(task.episode.id, start=start)
        self.taken = dict.fromkeys(self.world.actors, 0)
        self.ended: Ending | None = None
        self._done = {actor: self.world.done(actor) for actor in self.world.actors}
        self._seen: dict[str, Observation] = {}
        self._spaces: dict[str, ActionSpace] = {}
        self._experts: dict[str, _Expert] = {}
        self._standing: Standing | None = None
        self._ahead: dict[str, list[Action] | None] = {}

    def observation(self, actor: str) -> Observation:
        """What the actor perceives now; looked at once a turn."""
        seen = self._seen.get(actor)
        if seen is None:
            seen = self._seen[actor] = self.world.observe(actor)
        return seen

    def space(self, actor: str) -> ActionSpace:
        """What the actor may decide now."""
        space = self._spaces.get(actor)
        if space is None:
            space = self._spaces[actor] = self.world.action_space(actor)
        return space

    def take(self, actor: str, given: Decision | Rejection) -> Step:
        """Carry a turn out. Raises ``UsageError`` where the episode or the actor is done."""
        world = self.world
        if self.ended or self._done[actor]:
            raise UsageError("the episode is over; call reset() before the next step()")
        seen, decision = self.observation(actor), legal(given, self.space(actor))
        feedback = carry_out(world, actor, decision)
        self._seen.clear()
        self._spaces.clear()
        self._standing = None
        if self._ahead:
            self._follow(actor, decision)
        for other, expert in self._experts.items():
            expert.learn(decision if other == actor else None, feedback)
        step = Step(actor, seen, decision, feedback, world.pose(actor))
        self.trajectory.steps.append(step)
        self.taken[actor] += 1
        self._look_whether_over()
        return step

    def active(self, actor: str) -> bool:
        """Whether an actor has turns left."""
        return not self.ended and self.taken[actor] < self.max_steps and not self._done[actor]

    def standing(self) -> Standing | None:
        """How the episode stands now; None where its answer is not public."""
        if self._standing is None:
            self._standing = _standing(self)
        return self._standing

    def expert_action(self, actor: str) -> str | None:
        """What the expert would do from here; None where there is no expert or no way."""
        if self.ended or self._done[actor]:
            return None
        if actor not in self._experts:
            self._experts[actor] = _Expert(lambda: _plan(self, self.world, actor))
        action = self._experts[actor].next()
        return None if action is None else str(action)

    def remaining(self, actor: str) -> int | None:
        """How many actions the expert needs from here, its stop included; None where it fails.

        Worked out by playing the expert on a copy of the world, which takes a good part of a second
        in a home; free as long as the expert is followed.
        """
        if self.ended or self._done[actor]:
            return 0
        if actor not in self._ahead:
            self._ahead[actor] = self._played(actor)
        left = self._ahead[actor]
        return None if left is None else len(left)

    def _played(self, actor: str) -> list[Action] | None:
        """The expert's actions from here to its end, the last one first."""
        world = copied(self.world)
        try:
            plan = _plan(self, world, actor)
            if plan is None:
                return None
            turns = follow(world, actor, plan)
            return [turn.action for turn in turns if turn.action is not None][::-1]
        except (PlanningFailed, UsageError):
            return None

    def _follow(self, actor: str, decision: Decision | Rejection) -> None:
        """Keep what was played ahead where the turn was the expert's own next action."""
        left = self._ahead.get(actor)
        if isinstance(decision, Rejection):
            return
        kept = bool(left) and left is not None and left.pop() == decision.action
        self._ahead = {actor: left} if kept else {}

    def finished(self) -> Trajectory:
        """The trajectory with its end and the true final state, as a run records it."""
        self.trajectory.ended = self.ended or "step_limit"
        self.trajectory.state = self.world.state()
        return self.trajectory

    def clone(self) -> Game:
        """An independent game in the same state; scenes stay shared."""
        other = copy.copy(self)
        other.world = copied(self.world)
        old = self.trajectory
        other.trajectory = Trajectory(old.episode_id, old.start, list(old.steps))
        other.taken, other._done = dict(self.taken), dict(self._done)
        other._seen, other._spaces, other._experts = {}, {}, {}
        other._ahead = {who: left and list(left) for who, left in self._ahead.items()}
        return other

    def rebuilt(self, turns: int) -> Game:
        """A game of the same episode after its first ``turns``, played again from the start."""
        other = Game(self.dataset, self.task, self.max_steps)
        for step in self.trajectory.steps[:turns]:
            other.take(step.actor, step.decision)
        return other

    def _look_whether_over(self) -> None:
        playing = False
        for actor, count in self.taken.items():
            over = self._done[actor] = self.world.done(actor)
            playing = playing or not (over or count >= self.max_steps)
        if not playing:
            self.ended = "stopped" if all(self._done.values()) else "step_limit"


def copied(world: World) -> World:
    """An independent world in the same state. What ``world.read_only`` holds is shared."""
    shared: Sequence[object] = getattr(world, "read_only", ())
    return copy.deepcopy(world, {id(part): part for part in shared})


def _standing(game: Game) -> Standing | None:
    dataset, task = game.dataset, game.task
    family = scorer(dataset.family)
    if isinstance(family, Judged):
        return family.standing(dataset, task, game.world)
    trial = game.trajectory
    now = Trajectory(trial.episode_id, trial.start, trial.steps, game.world.state())
    (scores,) = family.score(dataset, [(task, now)])
    success = scores.get(dataset.family.success)
    return None if success is None else Standing(success > 0.5, int(success > 0.5))


def _plan(game: Game, world: World, actor: str) -> ActionPlan | None:
    """The expert's plan from here; None where the dataset has no solution of that kind."""
    dataset = game.dataset
    solutions = dataset.solutions if isinstance(dataset, Solvable) else ()
    how = next((how for how in EXPERT_SOLUTIONS if how in solutions), None)
    return None if how is None else plan_of(dataset, game.task, world, actor, how)


class _Expert:
    """The expert's next action. Its plan goes on while it is followed, and is made anew else."""

    def __init__(self, plan: Callable[[], ActionPlan | None]) -> None:
        self._make = plan
        self._plan: ActionPlan | None = None
        self._action: Any = None
        self._feedback: Feedback | None = None

    def next(self) -> Any:
        """Its action from here, None where it knows none."""
        if self._action is None:
            self._action = self._work_out()
        return self._action

    def learn(self, decision: Decision | Rejection | None, feedback: Feedback) -> None:
        """A turn was taken; ``None`` stands for another actor's."""
        if self._action is None and self._feedback is None:
            return
        followed = isinstance(decision, Decision) and decision.action == self._action
        self._feedback = feedback if followed else None
        if not followed:
            self._plan = None
        self._action = None

    def _work_out(self) -> Any:
        try:
            if self._plan is not None and self._feedback is not None:
                return self._plan.send(self._feedback)
            self._plan = self._make()
            return None if self._plan is None else next(self._plan)
        except (PlanningFailed, StopIteration, UsageError):
            self._plan = None
            return None


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

    def __init__(self, game: Game, actor: str, rules: Callable[[], str]) -> None:
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
            over = game.ended or game.world.done(self._actor)
            return [] if over else [str(action) for action in game.space(self._actor).listed]
        standing = game.standing()
        if standing is None:
            return None
        return standing.distance if name == "distance" else [standing.met, standing.parts]

    @cached_property
    def _then(self) -> Game:
        later = len(self._game.trajectory.steps) > self._turns
        return self._game.rebuilt(self._turns) if later else self._game

"""Why a recorded episode failed: its causes, the step that lost it, and the expert's advice.

    diagnosis = diagnose(trajectory, scores, dataset, task)
    diagnosis.mistake.text                          # "Step 7: stopped at F, 8.2 m from the goal G."

The record has actions and not states, so the episode is replayed: once for its course, and a few
times more to find the step after which an expert could no longer succeed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from wayword.agents.person import with_answerer
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Dataset, Task, Walkable
from wayword.core.episode import PathReference
from wayword.core.errors import WaywordError
from wayword.core.game import ActionPlan, Game, PlanningFailed, ReplayDiffers
from wayword.core.trajectory import Trajectory
from wayword.core.world import SLIPPED
from wayword.metrics.conditions import Condition, Sought, conditions
from wayword.metrics.mistakes import EpisodeFacts, Lost, Mistake, find_mistake
from wayword.metrics.mistakes.causes import find_causes
from wayword.metrics.progress import GoalProgress
from wayword.metrics.recorded import SPOKEN, place_of
from wayword.metrics.scoring import Judged, Standing, scorer
from wayword.runs.codec import to_json
from wayword.runs.verify import recorded_answers
from wayword.worlds.household.goals import AnswerReference, HouseholdReference
from wayword.worlds.household.verbs import HIGH_LEVEL

UNPLAYABLE = (
    ReplayDiffers,
    PlanningFailed,
    WaywordError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
)
"""Errors of a replay: the record may be damaged, or of other data."""
Watcher = Callable[[Any, int, str], None]
"""Is shown a world before a step (from 1), and the actor whose turn it is; none after the last."""

SOLUTIONS = ("expert", "shortest", "gold")
"""Solutions of a dataset, in the order they are tried."""
SKILLS = "skills"
"""The solution that replaces ``expert`` for actors who take high-level actions: low-level
advice would not help them."""
OVER = "nothing more"
"""Advice at the end of a plan: nothing is left to do for the expert."""
# Steps beyond the limit up to which the expert's need is counted
_BEYOND = 200
# Seconds after which the search for the lost step ends, and the last step counts as it
_PATIENCE = 4.0


@dataclass
class Course:
    """The course of a replayed episode, collected by :meth:`watch`."""

    trajectory: Trajectory
    dataset: Dataset | None
    task: Task | None
    standings: list[Standing] = field(default_factory=list)
    history: dict[int, Sequence[Condition]] = field(default_factory=dict)
    sought: Sequence[Sought] = ()
    world: Any = None
    was_watched: bool = False

    def watch(self, world: Any, step: int, actor: str) -> None:
        """Take in the world before a step (from 1); after the last step there is no actor."""
        self.was_watched = True
        if step == 1:
            self.standings.clear()
        if self.dataset is None or self.task is None:
            return
        judge = scorer(self.dataset.family)
        if not isinstance(judge, Judged):
            return
        now = judge.standing(self.dataset, self.task, world)
        if now is None:
            return
        reference = self.task.reference
        if not self.standings or self.standings[-1].met != now.met:
            level = getattr(world, "level", None)
            if isinstance(reference, HouseholdReference):
                self.history[step - 1] = conditions(reference, world.now())
            elif now.parts > 1 and level is not None:  # a grid
                self.history[step - 1] = level.conditions()
        self.standings.append(now)
        if actor:
            return
        self.world = world
        if isinstance(reference, AnswerReference):
            self.sought = [Sought.of(place, world) for place in reference.look]
        elif isinstance(reference, HouseholdReference):
            self.sought = [Sought.of(goal, world) for goal in reference.goals]

    @property
    def is_complete(self) -> bool:
        """True if the replay reached the recorded end."""
        return len(self.standings) == len(self.trajectory.steps) + 1

    @property
    def conditions(self) -> Sequence[Condition]:
        """The goal conditions at the end."""
        reference = self.task.reference if self.task else None
        final = conditions(reference, self.trajectory.state)
        return final or self.history.get(max(self.history, default=0), ())

    @property
    def progress(self) -> GoalProgress:
        """The remaining distance if the scorer knows it, else the number of goal conditions met;
        empty if the episode cannot be replayed."""
        if not self.is_complete:
            return GoalProgress()
        standings = self.standings
        lengths = [each.distance for each in standings if each.distance is not None]
        if len(lengths) == len(standings):
            return GoalProgress(tuple(lengths), 0, standings[0].unit)
        met = tuple(float(each.met) for each in standings)
        return GoalProgress(met, standings[0].parts)


def replayed(
    trajectory: Trajectory,
    dataset: Dataset | None,
    task: Task | None,
    *watchers: Watcher,
) -> Any:
    """Replay an episode and return its final world; None if the dataset has none, or if the replay
    differs or fails: a record may contain anything."""
    if dataset is None or task is None:
        return None
    with suppress(*UNPLAYABLE):
        game = _game(trajectory, dataset, task)
        world = game.world
        for number, step in enumerate(game.replay(trajectory.steps), 1):
            if step.actor not in world.actors:
                return None
            for watch in watchers:
                watch(world, number, step.actor)
        for watch in watchers:
            watch(world, len(trajectory.steps) + 1, "")
        return world
    return None


def _game(
    trajectory: Trajectory, dataset: Dataset, task: Task, limit: int | None = None
) -> Game:
    """Return a new game of a recorded episode, in which the recorded answers are given again."""
    world = with_answerer(dataset.world(task.episode), recorded_answers(trajectory))
    return Game(world, task.episode, limit)


@dataclass(frozen=True)
class Diagnosis:
    """Causes of a failed episode, each with the first step that shows it, the mistake, and its
    evidence."""

    causes: Mapping[str, int]
    mistake: Mistake | None
    evidence: EpisodeFacts


def diagnose(
    trajectory: Trajectory,
    scores: Mapping[str, float],
    dataset: Dataset | None = None,
    task: Task | None = None,
    course: Course | None = None,
    limit: int | None = None,
) -> Diagnosis:
    """Find out why an episode failed. ``course`` is its replay, if it has been replayed already;
    ``limit`` the most steps of an actor, by default those taken in an episode that ran out."""
    if course is None:
        course = Course(trajectory, dataset, task)
        replayed(trajectory, dataset, task, course.watch)
    instruction = task.episode.instruction if task else ""
    causes = find_causes(to_json(trajectory), scores, instruction, task, dataset)
    lost = None
    worse = None
    if dataset is not None and task is not None and course.is_complete:
        lost = find_lost(trajectory, dataset, task, limit)
        if isinstance(task.reference, PathReference):
            worse = _first_worse(trajectory, dataset, task)
    evidence = EpisodeFacts(
        trajectory, scores, causes, dataset, task, course.progress, course.history,
        course.sought, course.world, lost, worse,
    )  # fmt: skip
    return Diagnosis(causes, find_mistake(evidence), evidence)


def _first_worse(
    trajectory: Trajectory, dataset: Dataset, task: Task
) -> Callable[[int], int]:
    def first_worse(first: int) -> int:
        for advice in advise(trajectory, dataset, task, first):
            if advice.as_good is False:
                return advice.step
        return 0

    return first_worse


# The step that lost an episode.


def find_lost(
    trajectory: Trajectory, dataset: Dataset, task: Task, limit: int | None = None
) -> Lost | None:
    """Find the first step after which an expert could no longer succeed within the limit of steps;
    None if there is no expert, or none in time."""
    end = time.monotonic() + _PATIENCE
    last = len(trajectory.steps)
    if not dataset.solutions or not last:
        return None
    if trajectory.ended == "step_limit":
        turns = [step.actor for step in trajectory.steps]
        limit = max(turns.count(actor) for actor in trajectory.start)
    low = -1  # the last number of steps after which success is known to be possible
    high = last  # the first one after which it is known not to be
    probe = last - 1  # most episodes are lost by their stop
    while high - low > 1:
        if time.monotonic() > end:
            return None
        if _can_succeed(trajectory, dataset, task, probe, limit):
            low = probe
        else:
            high = probe
        probe = (low + high) // 2
    if high == last and trajectory.ended == "stopped":
        return Lost(last)
    needed = _needed(trajectory, dataset, task, high)
    limit = limit or 0
    if high == 0:
        return Lost(0, needed, limit, limit)
    actor = trajectory.steps[high - 1].actor
    taken = sum(step.actor == actor for step in trajectory.steps[:high])
    return Lost(high, needed, max(0, limit - taken), limit)


def _can_succeed(
    trajectory: Trajectory, dataset: Dataset, task: Task, after: int, limit: int | None
) -> bool:
    """True if experts that take over after a number of steps succeed within the limit."""
    with suppress(*UNPLAYABLE):
        game = _game(trajectory, dataset, task, limit)
        for step in trajectory.steps[:after]:
            game.carry_out(step.actor, step.decision)
        return _finish(game, trajectory, dataset, task)
    return False


def _needed(trajectory: Trajectory, dataset: Dataset, task: Task, after: int) -> int:
    """Return the steps of the experts' busiest actor that are needed after a number of steps, 0 if
    they fail."""
    with suppress(*UNPLAYABLE):
        game = _game(trajectory, dataset, task)
        for step in trajectory.steps[:after]:
            game.carry_out(step.actor, step.decision)
        return _steps_to_success(game, trajectory, dataset, task) or 0
    return 0


def _finish(game: Game, trajectory: Trajectory, dataset: Dataset, task: Task) -> bool:
    """Let the experts play a game to its end; True if they succeed."""
    judge = scorer(dataset.family)
    if not isinstance(judge, Judged):
        return False
    experts: dict[str, _Takeover] = {}
    for actor in game.turns():
        if actor not in experts:
            experts[actor] = _Takeover(game, trajectory, dataset, task, actor)
        action = experts[actor].next_action()
        if action is None:
            break
        _, feedback = game.carry_out(actor, Decision(action))
        experts[actor].take_in(feedback)
    standing = judge.standing(dataset, task, game.world)
    return standing is not None and standing.success


class _Takeover:
    """An actor's expert in a game: one plan, which is followed as long as it is carried out."""

    def __init__(
        self,
        game: Game,
        trajectory: Trajectory,
        dataset: Dataset,
        task: Task,
        actor: str,
    ) -> None:
        how = next(kind for kind in SOLUTIONS if kind in dataset.solutions)
        if how == "expert" and SKILLS in dataset.solutions:
            names = {action.name for action in trajectory.actions(actor)}
            how = SKILLS if names.intersection(HIGH_LEVEL) else how
        self._plan: ActionPlan = dataset.plan(task, game.world, actor, how)
        self._action: Action | None = None
        self._feedback: Any = None
        self._is_over = False

    def next_action(self) -> Action | None:
        """Return the next action, None at the end of the plan. Raises ``PlanningFailed``."""
        if self._is_over:
            return None
        slipped = self._feedback is not None and self._feedback.status == SLIPPED
        if not slipped:  # else the action is repeated
            try:
                self._action = self._plan.send(self._feedback)
            except StopIteration:
                self._is_over = True
                self._action = None
        return self._action

    def take_in(self, feedback: Any) -> None:
        self._feedback = feedback


# Advice beside each step.


@dataclass(frozen=True, slots=True)
class Advice:
    """The expert's action at a step: its words, True if the agent took it (``same``), and True if
    what the agent did was as good (``as_good``; None if that is not known)."""

    step: int
    words: str
    same: bool
    as_good: bool | None


def advise(
    trajectory: Trajectory,
    dataset: Dataset,
    task: Task,
    first: int = 1,
    weighs: Callable[[], bool] = lambda: True,
) -> Iterator[Advice]:
    """Yield the expert's advice at each step from ``first`` on.

    One plan is followed as long as the agent does what it says: a new plan at every step may be
    another one of equal length. On the gold path, the action along it is right as well. Any other
    action is as good if the expert then needs no more steps than if it had acted itself, which is
    found out while ``weighs`` returns True.
    """
    if not any(kind in dataset.solutions for kind in SOLUTIONS):
        return
    game = _game(trajectory, dataset, task)
    experts: dict[str, _Takeover] = {}
    needed: int | None = None  # the expert's steps from here, where they are known
    for number, step in enumerate(trajectory.steps, 1):
        done = step.decision.action if isinstance(step.decision, Decision) else None
        has_spoken = done is not None and done.name in SPOKEN
        advised: _Advised | None = None
        if step.actor not in game.taken:
            raise LookupError(f"there is no actor {step.actor!r}")
        if number >= first and not has_spoken:
            with suppress(*UNPLAYABLE):
                if step.actor not in experts:
                    experts[step.actor] = _Takeover(
                        game, trajectory, dataset, task, step.actor
                    )
                advised = _Advised.of(experts[step.actor], game, task, step.actor, done)
        weighing = advised is not None and not advised.same and weighs()
        if weighing and needed is None:
            needed = _needed_from(game, trajectory, dataset, task)
        _, feedback = game.carry_out(step.actor, step.decision)
        if feedback.status != step.feedback.status:
            return  # the record is of another world
        if advised is None:
            needed = None
            continue
        if advised.action is not None and advised.action == done:
            experts[step.actor].take_in(feedback)
        else:
            experts.clear()  # the plans no longer fit
        is_idle = advised.action == STOP and len(trajectory.start) > 1
        if is_idle and not advised.same:
            needed = None
            continue  # of several, one may have nothing to do
        as_good: bool | None = advised.same or None
        if advised.same:
            needed = needed - 1 if needed else None
        elif weighing:
            after = _needed_from(game, trajectory, dataset, task)
            as_good = after is not None and needed is not None and after < needed
            needed = after
        else:
            needed = None
        yield Advice(number, advised.words, advised.same, as_good)


@dataclass(frozen=True, slots=True)
class _Advised:
    """The next action of an expert's plan (None at its end), its words, and True if the agent took
    it or the one along the gold path."""

    action: Action | None
    words: str
    same: bool

    @staticmethod
    def of(
        expert: _Takeover, game: Game, task: Task, actor: str, done: Action | None
    ) -> _Advised:
        action = expert.next_action()
        reference = task.reference
        gold = reference.path if isinstance(reference, PathReference) else ()
        here = place_of(game.world.pose(actor))
        on_path: list[Action] = []
        if here in gold and isinstance(game.world, Walkable):
            on_path = game.world.along(actor, gold[gold.index(here) :])[:1]
        if action is None:
            return _Advised(None, OVER, done is None)
        right = [*on_path, action]
        return _Advised(action, str(right[0]), done in right)


def _needed_from(
    game: Game, trajectory: Trajectory, dataset: Dataset, task: Task
) -> int | None:
    """Return the steps that experts need from a game's state, None if they fail."""
    with suppress(*UNPLAYABLE):
        return _steps_to_success(game.clone(), trajectory, dataset, task)
    return None


def _steps_to_success(
    game: Game, trajectory: Trajectory, dataset: Dataset, task: Task
) -> int | None:
    """Let the experts finish a game; return the steps of the busiest actor, None if they fail."""
    taken = dict(game.taken)
    game.max_steps = max(taken.values()) + _BEYOND
    if not _finish(game, trajectory, dataset, task):
        return None
    return max(game.taken[actor] - taken[actor] for actor in taken)

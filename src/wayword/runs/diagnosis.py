"""Why a recorded episode failed: its causes, the step that lost it, and the expert's advice.

    diagnosis = diagnose(trajectory, scores, dataset, task)
    diagnosis.mistake.text                          # "Step 7: stopped at F, 8.2 m from the goal G."

The record has actions and not states, so the episode is replayed: once for its course, and a few
times more to find the step after which an expert could no longer succeed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wayword.agents.person import with_answerer
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Dataset, Task, Walkable
from wayword.core.episode import Json, PathReference
from wayword.core.errors import WaywordError
from wayword.core.game import ActionPlan, Game, PlanningFailed, ReplayDiffers
from wayword.core.trajectory import GROUNDED, TURN, Step, Trajectory
from wayword.core.world import SLIPPED
from wayword.metrics.conditions import Condition, Sought, conditions, single_goals
from wayword.metrics.detector_reports import search_outcome
from wayword.metrics.mistakes import (
    EpisodeFacts,
    Lost,
    Mistake,
    describe_success,
    find_mistake,
)
from wayword.metrics.mistakes.causes import find_causes
from wayword.metrics.mistakes.wording import sentences
from wayword.metrics.progress import GoalProgress
from wayword.metrics.recorded import SPOKEN, place_of
from wayword.metrics.scoring import Judged, Standing, scorer
from wayword.runs.codec import to_json
from wayword.runs.verify import recorded_answers
from wayword.worlds.household.goals import AnswerReference, HouseholdReference
from wayword.worlds.household.verbs import HIGH_LEVEL

# Errors of a replay: the record may be damaged, or of other data.
UNPLAYABLE = (
    ReplayDiffers,
    PlanningFailed,
    WaywordError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
)

Watcher = Callable[[Any, int, str], None]
"""Is shown a world before a step (from 1), and the actor whose turn it is; none after the last."""

# Solutions of a dataset, in the order they are tried.
SOLUTIONS = ("expert", "shortest", "gold")

# The solution that replaces ``expert`` for actors who take high-level actions: low-level advice
# would not help them.
SKILLS = "skills"

# Advice at the end of a plan: nothing is left to do for the expert.
OVER = "nothing more"

# Steps beyond the limit up to which the expert's need is counted.
_BEYOND = 200

# Seconds after which the search for the lost step ends, and the last step counts as it. They are
# those of the processor: what a page says does not depend on what else a machine does.
_PATIENCE = 4.0

# Copies of a game that this search keeps: an episode may have tens of thousands of steps.
_MOST_COPIES = 500

# Seconds of this search in which steps are tried one by one, from the end on; then it bisects.
_ONE_BY_ONE = 2.0


@dataclass
class Course:
    """The course of a replayed episode, collected by :meth:`watch`.

    ``standings`` has the scorer's measure before each step and after the last one,
    ``history`` the goal conditions after each step that changed them (by step, 0 for
    the start), ``sought`` the objects of the goal and ``world`` the world at the end.
    Without a dataset, or with a scorer that measures the end alone, all stay empty.
    """

    trajectory: Trajectory
    dataset: Dataset | None
    task: Task | None
    standings: list[Standing] = field(default_factory=list)
    history: dict[int, Sequence[Condition]] = field(default_factory=dict)
    sought: Sequence[Sought] = ()
    world: Any = None
    was_watched: bool = False

    def watch(self, world: Any, step: int, actor: str) -> None:
        """Record the world before a step (from 1); after the last step there is no actor.

        A replay that starts again at step 1 replaces what an earlier one recorded.
        """
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
        # Conditions change rarely: keep those after each change.
        if not self.standings or self.standings[-1].met != now.met:
            level = getattr(world, "level", None)
            if isinstance(reference, HouseholdReference):
                self.history[step - 1] = conditions(reference, world.now())
            elif now.parts > 1 and level is not None:  # a grid
                self.history[step - 1] = level.conditions()
        self.standings.append(now)
        if actor:
            return
        # At the end: where the targets of the agent are.
        self.world = world
        if isinstance(reference, AnswerReference):
            self.sought = [Sought.of(place, world) for place in reference.look]
        elif isinstance(reference, HouseholdReference):
            self.sought = [Sought.of(goal, world) for goal in single_goals(reference)]

    @property
    def is_complete(self) -> bool:
        """True if the replay reached the recorded end."""
        return len(self.standings) == len(self.trajectory.steps) + 1

    @cached_property
    def written(self) -> dict[str, Json]:
        """The trajectory as a run folder holds it."""
        return to_json(self.trajectory)

    @property
    def conditions(self) -> Sequence[Condition]:
        """The goal conditions at the end."""
        reference = getattr(self.task, "reference", None)
        final = conditions(reference, self.trajectory.state)
        return final or self.history.get(max(self.history, default=0), ())

    def held_from(self, index: int) -> int | None:
        """Return the step from which the ``index``-th goal condition held to the end.

        0 is the start; None if it does not hold, or without a complete replay.
        """
        first = None
        if not self.is_complete:
            return first
        for step in sorted(self.history, reverse=True):
            found = self.history[step]
            # A meal counts as a condition of its own only once all of its dishes are there.
            if index >= len(found):
                break
            _, met, parts = found[index]
            if met < parts:
                break
            first = step
        return first

    @property
    def progress(self) -> GoalProgress:
        """The remaining distance if the scorer knows it, else the number of goal conditions met.

        Empty if the episode cannot be replayed.
        """
        if not self.is_complete:
            return GoalProgress()
        standings = self.standings
        lengths = [each.distance for each in standings if each.distance is not None]
        if len(lengths) == len(standings):
            first = standings[0]
            return GoalProgress(tuple(lengths), 0, first.unit, first.straight)
        met = tuple(float(each.met) for each in standings)
        return GoalProgress(met, standings[0].parts)

    def facts(
        self,
        scores: Mapping[str, float],
        causes: Mapping[str, int],
        lost: Lost | None = None,
        worse: Callable[[int], int] | None = None,
    ) -> EpisodeFacts:
        """Return what mistakes and endings are found in: the course, scores and causes.

        ``lost`` and ``worse`` need replays of their own, and only a diagnosis has them.
        """
        return EpisodeFacts(
            self.trajectory,
            scores,
            causes,
            self.dataset,
            self.task,
            self.progress,
            self.history,
            self.sought,
            self.world,
            lost,
            worse,
        )


def replayed(
    trajectory: Trajectory,
    dataset: Dataset | None,
    task: Task | None,
    *watchers: Watcher,
) -> Any:
    """Replay an episode and return its final world.

    None without a dataset or a task, or if the replay differs or fails: a record may
    contain anything. Each of ``watchers`` is called before every step and after the
    last one.
    """
    if dataset is None or task is None:
        return None
    with suppress(*UNPLAYABLE):
        game = _Episode(trajectory, dataset, task).game()
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


@dataclass(frozen=True)
class _Episode:
    """A recorded episode that experts may take over."""

    trajectory: Trajectory
    dataset: Dataset
    task: Task

    def game(self, after: int = 0, limit: int | None = None) -> Game:
        """Return the game after a number of steps. The recorded answers are given again.

        ``limit`` is the most steps of an actor from the start on. Raises an error of
        ``UNPLAYABLE``.
        """
        world = self.dataset.world(self.task.episode)
        answers = recorded_answers(self.trajectory)
        game = Game(with_answerer(world, answers), self.task.episode, limit)
        for step in self.trajectory.steps[:after]:
            game.carry_out(step.actor, step.decision)
        return game

    def can_succeed(self, game: Game) -> bool:
        """True if experts that take over succeed within the limit. Plays the game to its end."""
        return self._finish(game)

    def steps_to_success(self, game: Game) -> int | None:
        """Let the experts finish a game, and return the steps of the busiest actor.

        None if they fail within ``_BEYOND`` steps. Plays the game to its end.
        """
        taken = dict(game.taken)
        game.max_steps = max(taken.values()) + _BEYOND
        if not self._finish(game):
            return None
        return max(game.taken[actor] - taken[actor] for actor in taken)

    def enough(self, game: Game) -> Mapping[str, int]:
        """Let the experts finish a game, and return the steps of each actor after which they have
        succeeded, also if the limit of steps ends the game there.

        The rule of :meth:`can_succeed`: on a walk, near the goal at the limit counts without a
        stop. Empty if they fail within ``_BEYOND`` steps. Plays the game to its end.
        """
        before = dict(game.taken)
        game.max_steps = max(before.values()) + _BEYOND
        taken: dict[str, int] = {}

        def watch() -> None:
            """Keep the steps up to the first success that no later step undoes."""
            if not self._has_succeeded(game):
                taken.clear()
            elif not taken:
                taken.update(game.taken)

        self._finish(game, watch)
        return {actor: number - before[actor] for actor, number in taken.items()}

    def needed(self, game: Game) -> int | None:
        """Return the steps that experts need from a game's state; None if they fail.

        The game itself is not changed.
        """
        with suppress(*UNPLAYABLE):
            return self.steps_to_success(game.clone())
        return None

    def _has_succeeded(self, game: Game) -> bool:
        """True if the episode would be a success if it ended now."""
        judge = scorer(self.dataset.family)
        if not isinstance(judge, Judged):
            return False
        standing = judge.standing(self.dataset, self.task, game.world)
        return standing is not None and standing.success

    def _finish(self, game: Game, watch: Callable[[], None] = lambda: None) -> bool:
        """Let the experts play a game to its end; True if they succeed.

        ``watch`` is called after each action.
        """
        experts: dict[str, _Takeover] = {}
        # An expert that cannot go on ends the game; the others may have done all by then.
        with suppress(*UNPLAYABLE):
            for actor in game.turns():
                if actor not in experts:
                    experts[actor] = self.expert(game, actor)
                action = experts[actor].next_action()
                if action is None:
                    break
                _, feedback = game.carry_out(actor, Decision(action))
                experts[actor].take_in(feedback)
                watch()
        return self._has_succeeded(game)

    def expert(self, game: Game, actor: str) -> _Takeover:
        """Return the expert of an actor, from a game's state on.

        The first kind of ``SOLUTIONS`` that the dataset has; there must be one.
        """
        kind = next(kind for kind in SOLUTIONS if kind in self.dataset.solutions)
        if kind == "expert" and SKILLS in self.dataset.solutions:
            names = {action.name for action in self.trajectory.actions(actor)}
            if names.intersection(HIGH_LEVEL):
                kind = SKILLS
        return _Takeover(self.dataset.plan(self.task, game.world, actor, kind))


class _Games:
    """Games before each of the first ``count`` steps of an episode: those that can be replayed.

    Copies are kept before every n-th step, ``_MOST_COPIES`` of them at most, and the steps from
    there on are carried out again: a copy of a home takes as long as several steps.
    """

    def __init__(self, episode: _Episode, limit: int | None) -> None:
        self._steps = episode.trajectory.steps
        self._every = 1 + len(self._steps) // _MOST_COPIES
        self._copies: list[Game] = []
        self.count = 0
        with suppress(*UNPLAYABLE):
            game = episode.game(0, limit)
            for number, step in enumerate(self._steps):
                if number % self._every == 0:
                    self._copies.append(game.clone())
                self.count = number + 1
                game.carry_out(step.actor, step.decision)

    def before(self, number: int) -> Game:
        """Return a new copy of the game before a step (from 0)."""
        copy, steps = divmod(number, self._every)
        game = self._copies[copy].clone()
        for step in self._steps[number - steps : number]:
            game.carry_out(step.actor, step.decision)
        return game


class _Takeover:
    """An actor's expert in a game: one plan, which is followed as long as it is carried out."""

    def __init__(self, plan: ActionPlan) -> None:
        self._plan = plan
        self._action: Action | None = None
        self._feedback: Any = None
        self._is_over = False

    def next_action(self) -> Action | None:
        """Return the next action; None at the end of the plan. Raises ``PlanningFailed``.

        An action that slipped is repeated: the plan does not know about failures of the
        body.
        """
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

    def working_action(
        self, game: Game, actor: str, new: Action | None
    ) -> Action | None:
        """Return the next action that succeeds in a game, or one that equals ``new``.

        Plans of skills find closed doors by walking to what lies behind them, which is no advice.
        An agent that does the same for the first time follows the plan, as ``new`` says. The game
        itself is not changed.
        """
        action = self.next_action()
        while action is not None and action != new and action.name in HIGH_LEVEL:
            trial = game.clone()
            _, feedback = trial.carry_out(actor, Decision(action))
            if feedback.ok or feedback.status == SLIPPED:
                break
            # A plan ends after a number of failures, by a ``PlanningFailed``.
            self.take_in(feedback)
            action = self.next_action()
        return action

    def take_in(self, feedback: Any) -> None:
        """Keep the feedback of the action, which the plan gets with the next request."""
        self._feedback = feedback


@dataclass(frozen=True)
class Diagnosis:
    """Causes of a failed episode, each with the first step that shows it, the mistake,
    and its evidence.

    ``mistake`` is None if no step can be blamed, and in an episode that did not fail. ``text`` is
    the sentence of the episode's page: the mistake, or how the episode was solved.
    """

    causes: Mapping[str, int]
    mistake: Mistake | None
    evidence: EpisodeFacts = field(repr=False)
    text: str = ""


def diagnose(
    trajectory: Trajectory,
    scores: Mapping[str, float],
    dataset: Dataset | None = None,
    task: Task | None = None,
    course: Course | None = None,
    limit: int | None = None,
) -> Diagnosis:
    """Find out why an episode failed.

    ``course`` is its replay, if it has been replayed already; ``limit`` the most steps
    of an actor, by default those taken in an episode that ran out. Without the dataset,
    causes are found in the record alone.
    """
    if course is None:
        course = Course(trajectory, dataset, task)
        replayed(trajectory, dataset, task, course.watch)
    instruction = ""
    if task is not None:
        instruction = task.episode.instruction
    causes = find_causes(course.written, scores, instruction, task, dataset)
    # Only an exact replay says anything about the steps.
    lost = None
    worse = None
    if dataset is not None and task is not None and course.is_complete:
        lost = find_lost(trajectory, dataset, task, limit)
        if isinstance(task.reference, PathReference):
            worse = _first_worse(trajectory, dataset, task)
    evidence = course.facts(scores, causes, lost, worse)
    mistake = find_mistake(evidence)
    return Diagnosis(causes, mistake, evidence, mistake.text if mistake else "")


def ending_sentences(
    course: Course,
    scores: Mapping[str, float],
    success: bool | None,
    compares: bool = True,
) -> tuple[str, str]:
    """Return how an episode ended that did not fail: the first sentence, and the others as one
    text.

    ``success`` is None if no metric judges it, as a search with a robot; empty for others than
    searches. ``compares``: with the number of the expert's actions.
    """
    trajectory = course.trajectory
    if success is None:
        kinds = {note.kind for note in trajectory.notes()}
        is_search = "found" in scores or not kinds.isdisjoint({GROUNDED, TURN})
        if not is_search:
            return "", ""
        text = search_outcome(trajectory)
        return f"{text[0].upper()}{text[1:]}.", ""
    expert = None
    if compares and course.dataset is not None and course.task is not None:
        # Not every solved episode can be solved by the expert as well.
        with suppress(WaywordError, PlanningFailed):
            expert = course.dataset.expert_length(course.task)
    facts = course.facts(scores, causes={})
    return sentences(describe_success(facts, expert))


def review(
    trajectory: Trajectory,
    scores: Mapping[str, float],
    success: bool | None,
    dataset: Dataset | None = None,
    task: Task | None = None,
    compares: bool = True,
) -> Diagnosis:
    """Return how an episode ended that did not fail: it has no causes and no mistake.

    ``success`` is None if no metric judges it, as a search with a robot.
    """
    course = Course(trajectory, dataset, task)
    replayed(trajectory, dataset, task, course.watch)
    text = " ".join(filter(None, ending_sentences(course, scores, success, compares)))
    return Diagnosis({}, None, course.facts(scores, causes={}), text)


def _first_worse(
    trajectory: Trajectory, dataset: Dataset, task: Task
) -> Callable[[int], int]:
    """Return a function that finds the first step, from a number on, worse than the advice.

    It returns 0 if there is none; it is called only where the answer is needed, as it
    takes long.
    """

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
    """Find the step after which an expert could no longer succeed within the limit of steps.

    That is the one after its last chance; step 0 means that it never had one. ``limit``
    is the most steps of an actor, which an episode that ran out shows itself. None if
    there is no expert, or no answer within ``_PATIENCE``.
    """
    start = time.thread_time()
    episode = _Episode(trajectory, dataset, task)
    last = len(trajectory.steps)
    if not dataset.solutions or not last:
        return None
    if trajectory.ended == "step_limit":
        turns = [step.actor for step in trajectory.steps]
        limit = max(turns.count(actor) for actor in trajectory.start)
    # An expert's plan need not be the shortest, so it may succeed after a step and not before it:
    # the last step after which it does is searched from the end on, and bisected only for time.
    games = _Games(episode, limit)
    low = -1  # the last number of steps after which success is known to be possible
    high = last  # the first one after which it is known not to be
    probe = last - 1
    while high - low > 1:
        now = time.thread_time()
        if now > start + _PATIENCE:
            return None
        if probe < games.count and episode.can_succeed(games.before(probe)):
            low = probe
        else:
            high = probe
        probe = high - 1
        if now > start + _ONE_BY_ONE:
            probe = (low + high) // 2
    # How many steps the expert would have needed, and how many were left.
    if high == last and trajectory.ended == "stopped":
        return Lost(last)
    enough: Mapping[str, int] = {}
    with suppress(*UNPLAYABLE):
        enough = episode.enough(episode.game(high))
    limit = limit or 0
    if high == 0:
        return Lost(0, max(enough.values(), default=0), limit, limit)
    # Of several actors, the one with the fewest steps left for what is needed of it.
    taken = Counter(step.actor for step in trajectory.steps[:high])
    needs = [(each, max(0, limit - taken[actor])) for actor, each in enough.items()]
    needed, left = max(needs, key=lambda each: each[0] - each[1], default=(0, 0))
    return Lost(high, needed, left, limit)


# Advice beside each step.


@dataclass(frozen=True)
class Advice:
    """The expert's action at a step (from 1).

    ``words`` names it; ``same`` is True if the agent took it, ``as_good`` if what the
    agent did was as good (None if that is not known).
    """

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

    One plan is followed as long as the agent does what it says: a new plan at every
    step may be another one of equal length. On the gold path, the action along it is
    right as well. Any other action is as good if the expert then needs no more steps
    than if it had acted itself, which is found out while ``weighs`` returns True.
    Raises ``LookupError`` for an actor that the world does not have.
    """
    if not any(kind in dataset.solutions for kind in SOLUTIONS):
        return
    episode = _Episode(trajectory, dataset, task)
    game = episode.game()
    experts: dict[str, _Takeover] = {}
    needed: int | None = None  # the expert's steps from here, where they are known
    for number, step in enumerate(trajectory.steps, 1):
        done: Action | None = getattr(step.decision, "action", None)
        has_spoken = done is not None and done.name in SPOKEN
        advised: _Advised | None = None
        if step.actor not in game.taken:
            raise LookupError(f"there is no actor {step.actor!r}")
        if number >= first and not has_spoken:
            with suppress(*UNPLAYABLE):
                # A plan that fails has no more actions, and is not kept.
                expert = experts.pop(step.actor, None)
                expert = expert or episode.expert(game, step.actor)
                new = _first_try(trajectory.steps[:number])
                action = expert.working_action(game, step.actor, new)
                advised = _Advised.of(action, game, task, step.actor, done)
                experts[step.actor] = expert
        # The expert's need before and after an action tells if it was as good.
        weighing = advised is not None and not advised.same and weighs()
        if weighing and needed is None:
            needed = episode.needed(game)
        _, feedback = game.carry_out(step.actor, step.decision)
        if feedback.status != step.feedback.status:
            return  # the record is of another world
        if advised is None:
            needed = None
            continue
        # The plan goes on if the agent followed it.
        if advised.action is not None and advised.action == done:
            experts[step.actor].take_in(feedback)
        else:
            experts.clear()  # the plans no longer fit
        is_idle = advised.action == STOP and len(trajectory.start) > 1
        if is_idle and not advised.same:
            needed = None
            continue  # of several, one may have nothing to do
        as_good: bool | None = advised.same or None
        if advised.same and needed:
            needed -= 1
        elif advised.same:
            needed = None
        elif weighing:
            after = episode.needed(game)
            as_good = after is not None and needed is not None and after < needed
            needed = after
        else:
            needed = None
        yield Advice(number, advised.words, advised.same, as_good)


def _first_try(steps: Sequence[Step]) -> Action | None:
    """Return the action of the last step; None if its actor had tried it before and failed."""
    *before, last = steps
    if not isinstance(last.decision, Decision):
        return None
    action = last.decision.action
    for step in before:
        done = getattr(step.decision, "action", None)
        if done == action and step.actor == last.actor and not step.feedback.ok:
            return None
    return action


@dataclass(frozen=True)
class _Advised:
    """The next action of an expert's plan (None at its end), its words, and True if the
    agent took it or the one along the gold path.
    """

    action: Action | None
    words: str
    same: bool

    @staticmethod
    def of(
        action: Action | None, game: Game, task: Task, actor: str, done: Action | None
    ) -> _Advised:
        """Compare the next action of an expert's plan with what the agent has ``done``.

        On the gold path the advice is the action along it.
        """
        reference = task.reference
        gold: Sequence[str] = ()
        if isinstance(reference, PathReference):
            gold = reference.path
        here = place_of(game.world.pose(actor))
        on_path: list[Action] = []
        if here in gold and isinstance(game.world, Walkable):
            on_path = game.world.along(actor, gold[gold.index(here) :])[:1]
        if action is None:
            return _Advised(None, OVER, done is None)
        right = [*on_path, action]
        return _Advised(action, str(right[0]), done in right)

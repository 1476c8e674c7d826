"""Game: one episode in a world, stepped turn by turn. All code that plays episodes uses it.

>>> from wayword.datasets.houses import dataset
>>> houses = dataset("test", None, dataset.Settings())
>>> task = houses.tasks[0]
>>> game = Game(houses.world(task.episode), task.episode, max_steps=30)
>>> for place in task.reference.path[1:]:
...     step = game.act("agent", Decision(Action("goto", (place,))))
>>> step.pose["viewpoint"] == task.reference.goal, game.ended
(True, None)
>>> game.act("agent", Decision(Action("fly"))).feedback.status
'rejected'
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from wayword.core.action import (
    Action,
    ActionSpace,
    Decision,
    Rejection,
    action_problem,
    legal,
    plan_problem,
)
from wayword.core.blame import CodeError, check_class, is_shipped, place_of, returned
from wayword.core.episode import Episode, JsonObject
from wayword.core.trajectory import Ending, Step, Trajectory
from wayword.core.world import SLIPPED, Feedback, Observation, World

_TRUTH = (bool, np.bool_)
MOST_SLIPS = 1000
"""Slips in a row of one action that a plan repeats; a world that lets 19 of 20 fail has one in
10^22."""
Value = TypeVar("Value")


class Game:
    """An episode in a world, and its trajectory so far.

    The world is reset to the episode; without one, the game starts from the world's current state.
    ``max_steps`` limits the turns per actor; None sets no limit. It does not stop :meth:`act`,
    which allows replay of longer recordings.
    """

    def __init__(
        self,
        world: World,
        episode: Episode | None = None,
        max_steps: int | None = None,
    ) -> None:
        _check_class(type(world))
        if episode is not None:
            world.reset(episode)
            _check_actors(world, episode)
        self.world = world
        # A user's world is checked at each step, the package's own by its tests.
        self._is_own = not is_shipped(type(world))
        self.max_steps = max_steps
        self.taken = dict.fromkeys(world.actors, 0)
        """Turns taken per actor."""
        # Poses before the first action, which no step records.
        start = {actor: self.pose(actor) for actor in world.actors}
        self.trajectory = Trajectory(episode.id if episode else "", start)
        self._observations: dict[str, Observation] = {}
        self._spaces: dict[str, ActionSpace] = {}

    def observation(self, actor: str) -> Observation:
        """Return the actor's observation, computed once per turn."""
        # Once per turn: an observation may draw or look around.
        if actor not in self._observations:
            world = self.world
            # Once per episode.
            is_checked = self._is_own and not self.trajectory.steps
            before = _state_texts(world) if is_checked else {}
            method = type(world).observe
            seen = world.observe(actor)
            after = _state_texts(world) if before else {}
            for name, text in after.items():
                if text != before.get(name):
                    change = f"{name} is {before.get(name)} and {text}"
                    raise CodeError(
                        f"{place_of(method)}: observe changes the state: {change:.120}; only "
                        "reset and step may change it"
                    )
            expected = "an instance of a subclass of Observation"
            self._observations[actor] = returned(method, seen, Observation, expected)
        return self._observations[actor]

    def space(self, actor: str) -> ActionSpace:
        """Return the actor's legal actions, computed once per turn; empty once it is done."""
        if actor not in self._spaces:
            # A finished actor has no action, and its world need not list any.
            if self.done(actor):
                self._spaces[actor] = ActionSpace(())
            else:
                space = self.world.action_space(actor)
                if self._is_own and (problem := _space_problem(space)):
                    method = type(self.world).action_space
                    raise CodeError(f"{place_of(method)}: {problem}")
                self._spaces[actor] = space
        return self._spaces[actor]

    def done(self, actor: str) -> bool:
        """True if the actor has stopped."""
        done = self.world.done(actor)
        # None, of a method without `return`, would be an actor that never stops.
        return bool(returned(type(self.world).done, done, _TRUTH, "True or False"))

    def pose(self, actor: str) -> JsonObject:
        """Return the actor's true place and heading."""
        pose = self.world.pose(actor)
        if self._is_own:
            pose = _kept(returned(type(self.world).pose, pose, Mapping, "a dict"))
        return pose

    def active(self, actor: str) -> bool:
        """True if the actor has turns left."""
        # A limit of None is no limit.
        has_turns = self.max_steps is None or self.taken[actor] < self.max_steps
        return has_turns and not self.done(actor)

    @property
    def ended(self) -> Ending | None:
        """Reason why the episode ended, None while an actor has turns left."""
        for actor in self.taken:
            if self.active(actor):
                return None
        # Stopped by choice only if every actor has: else some ran out of turns.
        return "stopped" if all(map(self.done, self.taken)) else "step_limit"

    def turns(self) -> Iterator[str]:
        """Yield the actor whose turn it is until the episode ends.

        In rounds, in the world's order. Take each turn before asking for the next
        actor.
        """
        # A round is over when every actor that plays has taken as many turns. The order within it
        # is the world's, also after an actor has taken a turn out of order.
        while playing := [actor for actor in self.taken if self.active(actor)]:
            number = min(self.taken[actor] for actor in playing)
            for actor in self.taken:
                if self.taken[actor] <= number and self.active(actor):
                    yield actor

    def act(self, actor: str, decision: Decision | Rejection) -> Step:
        """Take a turn, and record it in the trajectory.

        An illegal action becomes a rejection, which changes nothing in the world.
        """
        observation = self.observation(actor)
        # The record keeps what the agent got, whatever the world does with it.
        if self._is_own:
            observation = _kept(observation)
        decision, feedback = self.carry_out(actor, decision)
        if self._is_own:
            feedback = _kept(feedback)
        step = Step(actor, observation, decision, feedback, self.pose(actor))
        self.trajectory.steps.append(step)
        return step

    def carry_out(
        self,
        actor: str,
        decision: Decision | Rejection,
    ) -> tuple[Decision | Rejection, Feedback]:
        """Take a turn without observing or recording it, as for :meth:`act`."""
        # The menu decides, not the agent: an illegal action never reaches the world.
        decision = legal(decision, self.space(actor))
        if isinstance(decision, Rejection):
            feedback = Feedback(
                "rejected",
                {"kind": decision.kind, "reason": decision.reason},
            )
        else:
            method = type(self.world).step
            feedback = self.world.step(actor, decision.action)
            returned(method, feedback, Feedback, "Feedback(…)")
            # Verbalizers and tables read both.
            if self._is_own:
                form = 'Feedback("ok", {"KEY": VALUE}): a text, then a mapping'
                parts: Any = (feedback.status, feedback.details)
                is_valid = isinstance(parts[0], str) and isinstance(parts[1], Mapping)
                returned(method, feedback, Feedback if is_valid else (), form)
        # Every actor's view may have changed, also those of the others.
        self.taken[actor] += 1
        self._observations.clear()
        self._spaces.clear()
        return decision, feedback

    def follow(
        self,
        actor: str,
        plan: ActionPlan,
    ) -> Iterator[tuple[Decision | Rejection, Feedback]]:
        """Carry out a plan until it ends or its actor is done, and yield each turn's result.

        An action that slipped is repeated. Raises ``PlanningFailed`` as the plan does, and where
        an action slips ``MOST_SLIPS`` times in a row; a user's world that lets it raises
        ``CodeError``.
        """
        action = next_action(plan)
        slips = 0
        while action is not None:
            result = self.carry_out(actor, Decision(action, thought_of(plan)))
            yield result
            if self.done(actor):
                return
            # A slipped action changed nothing, so the plan still stands at it.
            if result[1].status != SLIPPED:  # else the action is repeated
                action = next_action(plan, result[1])
                slips = 0
                continue
            slips += 1
            if slips == MOST_SLIPS:
                self._fail_slipping(action)

    def _fail_slipping(self, action: Action) -> NoReturn:
        """Raise the error of an action that never succeeds."""
        problem = f"{action} slipped {MOST_SLIPS:,} times in a row"
        if is_shipped(type(self.world)):
            raise PlanningFailed(problem)
        raise CodeError(
            f"{place_of(type(self.world).step)}: {problem}; {SLIPPED!r} is an action that failed "
            "by chance and is tried again: give another status to one that cannot succeed"
        )

    def actions(self, actor: str, plan: ActionPlan) -> tuple[Action, ...]:
        """Return the legal actions of a plan that :meth:`follow` carries out."""
        decisions = [decision for decision, _ in self.follow(actor, plan)]
        return tuple(each.action for each in decisions if isinstance(each, Decision))

    def replay(self, steps: Iterable[Step]) -> Iterator[Step]:
        """Yield recorded steps and carry out each one after it was yielded.

        The yielded step shows the world before it. Raises ``ReplayDiffers`` if a step's
        feedback has another status than the recorded one.
        """
        # The feedback's status tells whether the world still follows the recording.
        for number, step in enumerate(steps, 1):
            yield step
            check_replayed(number, step, self.carry_out(step.actor, step.decision)[1])

    def finished(self) -> Trajectory:
        """Return the trajectory with its ending and the world's final state."""
        self.trajectory.ended = self.ended or "step_limit"
        method = type(self.world).state
        state = returned(method, self.world.state(), Mapping, "a dict")
        # Once per episode.
        if self._is_own and (problem := json_problem(state)):
            raise CodeError(
                f"{place_of(method)}: state must hold JSON values: {problem}"
            )
        self.trajectory.state = state
        return self.trajectory

    def clone(self) -> Self:
        """Return an independent game in the same state. Read-only parts of the world are shared."""
        # Caches are left behind: they belong to the other game's turn.
        other = copy.copy(self)
        old = self.trajectory
        other.world = copied(self.world)
        other.taken = dict(self.taken)
        other.trajectory = Trajectory(old.episode_id, old.start, list(old.steps))
        other._observations = {}
        other._spaces = {}
        return other


def _kept(value: Value) -> Value:
    """Return a copy of a value that a user's world may go on to change, as a list or a buffer of
    pixels; the value itself if it cannot be copied."""
    with suppress(Exception):
        return copy.deepcopy(value)
    return value


def _state_texts(world: World) -> dict[str, str]:
    """Return the values of a world's state as texts, which do not change with it; empty if it
    cannot give them before its first step."""
    with suppress(Exception):
        return {str(name): repr(value) for name, value in world.state().items()}
    return {}


def json_problem(state: Mapping[str, Any]) -> str:
    """Return why a state cannot be written as JSON; empty if it can."""
    try:
        json.dumps(dict(state))
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


@cache  # called once per episode
def _check_class(cls: type[World]) -> None:
    """Raise ``UsageError`` for a user's world whose methods take other arguments."""
    if not is_shipped(cls):
        check_class(cls, World)


def _check_actors(world: World, episode: Episode) -> None:
    """Raise ``CodeError`` for a world with other actors than its episode: each seat is an agent's,
    and the world is asked about each."""
    actors: Any = world.actors
    # The order is that of the turns.
    if not isinstance(actors, tuple | list) or tuple(actors) != tuple(episode.actors):
        raise CodeError(
            f"{place_of(type(world))}: episode.actors is {episode.actors!r:.80}, world.actors is "
            f"{actors!r:.80}; they must be the same"
        )


def _space_problem(space: Any) -> str:
    """Return what is wrong with the action space of a user's world; empty if nothing is."""
    listed = getattr(space, "listed", None)
    expected = "action_space must return ActionSpace((Action(…), …))"
    if listed is None:
        return f"{expected}, got {space!r:.80}"
    # A generator would be empty at its second reading.
    if not isinstance(listed, Sequence):
        return f"{expected}, got {space!r:.80}; write a tuple"
    # A list that is computed on access is not computed here.
    if not isinstance(listed, list | tuple):
        return ""
    # An actor without any action would have each answer rejected.
    if not listed and not space.open_verbs and space.accepts is None:
        return "action_space lists no action although done is False; list STOP"
    for action in listed:
        if not isinstance(action, Action):
            return f"{expected}, got {space!r:.80}"
        if problem := action_problem(action):
            return problem
    return ""


class ReplayDiffers(Exception):
    """Reason why recorded steps cannot be replayed."""


def check_replayed(number: int, recorded: Step, feedback: Feedback) -> None:
    """Raise ``ReplayDiffers`` if the feedback has another status than step ``number`` records."""
    # Details may be worded differently in another version; the status may not.
    before = recorded.feedback.status
    now = feedback.status
    if before != now:
        change = f"the world now returns {now}, recorded {before}"
        raise ReplayDiffers(f"step {number} cannot be replayed: {change}")


def copied(world: World) -> World:
    """Return an independent world in the same state. What ``world.read_only`` holds is shared."""
    return copy.deepcopy(world, {id(part): part for part in world.read_only})


ActionPlan = Generator[Action, Feedback, None]
"""Actions that depend on the feedback of earlier ones: send each feedback to get the next."""


class ReasonedPlan(Generator[Action, Feedback, None]):
    """A plan that gives a reason for each action: ``why`` is called after each action."""

    def __init__(self, actions: ActionPlan, why: Callable[[], str]) -> None:
        self._actions = actions
        self._why = why

    def send(self, feedback: Any) -> Action:
        """Pass the feedback on to the plan."""
        return self._actions.send(feedback)

    def throw(self, *raised: Any) -> Action:
        """Pass an exception on to the plan."""
        return self._actions.throw(*raised)

    @property
    def thought(self) -> str:
        """The reason for the action just yielded."""
        return self._why()


def thought_of(plan: ActionPlan) -> str:
    """Return the reason for a plan's latest action; empty if the plan gives none."""
    return plan.thought if isinstance(plan, ReasonedPlan) else ""


def next_action(plan: ActionPlan, feedback: Any = None) -> Action | None:
    """Return the next action of a plan, given the feedback to the last one; None at its end."""
    try:
        return plan.send(feedback)
    except StopIteration:
        return None


class CheckedPlan(ReasonedPlan):
    """A plan of a user's ``make_plan``. Raises ``CodeError`` where it yields no action, or more
    than ``max_steps`` of them (None: no limit)."""

    def __init__(
        self, plan: Any, method: Callable[..., Any], max_steps: int | None = None
    ) -> None:
        expected = "a plan: write `yield` before each action"
        self._method = method
        self.max_steps = max_steps
        self._yielded = 0
        self._plan: ActionPlan = returned(method, plan, Generator, expected)
        super().__init__(self._plan, lambda: thought_of(self._plan))

    def send(self, feedback: Any) -> Action:
        """Return the plan's next action."""
        action = super().send(feedback)
        self._yielded += 1
        problem = plan_problem(action)
        # A loop without an end would be read for ever.
        limit = self.max_steps
        if not problem and limit is not None and self._yielded > limit:
            problem = endless_problem(limit)
        if problem:
            raise CodeError(f"{place_of(self._method)}: {problem}")
        return action


def limited(plan: ActionPlan, max_steps: int | None) -> ActionPlan:
    """Return a plan with the limit of the game that plays it, where it has one; None keeps the
    plan's own."""
    if max_steps and isinstance(plan, CheckedPlan) and plan.max_steps:
        plan.max_steps = max_steps
    return plan


def endless_problem(max_steps: int) -> str:
    """Return that a plan takes more steps than an episode has."""
    return (
        f"the plan does not stop within {max_steps:,} steps; end it with `yield STOP`, or raise "
        "max_steps"
    )


class PlanningFailed(Exception):
    """Reason why a plan cannot continue, in a few words."""

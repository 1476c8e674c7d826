"""Replay: step a world through actions that are recorded, listed, or planned as they go.

>>> from wayword.datasets.houses import dataset
>>> houses = dataset("test", None, dataset.Settings())
>>> task = houses.tasks[0]
>>> actions = [Action("goto", (place,)) for place in task.reference.path[1:]]
>>> turns = list(replay(houses.world(task.episode), task.episode, actions))
>>> turns[-1].pose["viewpoint"] == task.reference.goal
True
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from wayword.core.action import Action, ActionSpace, Decision, Rejection, legal
from wayword.core.episode import Episode, Json
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback, Observation, World

ActionPlan = Generator[Action, Feedback, None]
"""Actions that depend on what came of those before: send each one's feedback to get the next."""


class ReasonedPlan(Generator[Action, Feedback, None]):
    """A plan that says why it takes its actions: ``why`` is asked after each of them."""

    def __init__(self, actions: ActionPlan, why: Callable[[], str]) -> None:
        self._actions, self._why = actions, why

    def send(self, feedback: Any) -> Action:
        return self._actions.send(feedback)

    def throw(self, *raised: Any) -> Action:
        return self._actions.throw(*raised)

    @property
    def thought(self) -> str:
        """Why the latest action is taken, as a thought."""
        return self._why()


def thought_of(plan: ActionPlan) -> str:
    """Why the latest action of a plan is taken; empty where the plan does not say."""
    return plan.thought if isinstance(plan, ReasonedPlan) else ""


class PlanningFailed(Exception):
    """Why a plan cannot go on, in a few words."""


class Turn:
    """One turn of a replay. It is yielded before its action changes the world.

    ``observation`` and ``space`` are those before the action, computed when first read: read them
    before :meth:`execute`. ``decision`` is a ``Rejection``, which changes nothing, where the action
    is not legal here, where its actor has stopped, or where the recording holds one. ``pose`` is
    the actor's after the action.
    """

    def __init__(self, world: World, actor: str, given: Decision | Rejection) -> None:
        self._world, self._given, self.actor = world, given, actor
        self._feedback: Feedback | None = None
        self.pose: Mapping[str, Json] = {}

    @cached_property
    def observation(self) -> Observation:
        return self._world.observe(self.actor)

    @cached_property
    def space(self) -> ActionSpace:
        return self._world.action_space(self.actor)

    @cached_property
    def decision(self) -> Decision | Rejection:
        playing = isinstance(self._given, Rejection) or not self._world.done(self.actor)
        return legal(self._given, self.space if playing else ActionSpace(()))

    @property
    def action(self) -> Action | None:
        """The action, None where nothing legal was asked for."""
        return self.decision.action if isinstance(self.decision, Decision) else None

    def execute(self) -> Feedback:
        """Carry the action out now; else the loop does so before it yields the next turn."""
        if self._feedback is None:
            self._feedback = carry_out(self._world, self.actor, self.decision)
            self.pose = self._world.pose(self.actor)
        return self._feedback

    def step(self) -> Step:
        """Carry the action out, and return the turn as a recorded step."""
        seen = self.observation
        return Step(self.actor, seen, self.decision, self.execute(), self.pose)


def replay(
    world: World,
    episode: Episode,
    actions: Trajectory | ActionPlan | Iterable[Action | tuple[str, Action]],
    actor: str = "",
) -> Iterator[Turn]:
    """Reset the world to the episode at once, and play its actions turn by turn.

    The steps of a trajectory name their actors, as do pairs of an actor and an action; the rest is
    played by ``actor``, the world's first where empty. A trajectory or list gives a turn for each
    of its items. A plan is sent the feedback of each action, and is over as soon as its actor
    is done; it may raise ``PlanningFailed``.
    """
    world.reset(episode)
    actor = actor or world.actors[0]
    if isinstance(actions, Trajectory):
        recorded = ((step.actor, step.decision) for step in actions.steps)
        return _listed(world, recorded)
    if isinstance(actions, Generator):
        return follow(world, actor, actions)
    pairs = (each if isinstance(each, tuple) else (actor, each) for each in actions)
    return _listed(world, ((name, Decision(action)) for name, action in pairs))


def _listed(world: World, given: Iterable[tuple[str, Decision | Rejection]]) -> Iterator[Turn]:
    for actor, decision in given:
        turn = Turn(world, actor, decision)
        yield turn
        turn.execute()


def follow(world: World, actor: str, plan: ActionPlan) -> Iterator[Turn]:
    """Play a plan from the world's present state, until it ends or its actor is done."""
    try:
        action = next(plan)
        while True:
            turn = Turn(world, actor, Decision(action, thought_of(plan)))
            yield turn
            feedback = turn.execute()
            if world.done(actor):
                return
            action = plan.send(feedback)
    except StopIteration:
        return


def carry_out(world: World, actor: str, decision: Decision | Rejection) -> Feedback:
    """What comes of a decision. A rejection changes nothing in the world."""
    if isinstance(decision, Rejection):
        return Feedback("rejected", {"kind": decision.kind, "reason": decision.reason})
    return world.step(actor, decision.action)

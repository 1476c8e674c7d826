"""What an agent should have done: labels for walks along the gold path, and for its own.

Response-based learning, algorithm 1 of VELMA (Schumann et al. 2024, section 6.3.1): a walk of the
agent's own that completes the task keeps its actions as labels; in any other walk the label at
every step is the oracle's action in the state that the agent was in. The text keeps the agent's own
actions either way.

DAgger (Ross et al. 2011) always takes the oracle's action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.agent import MakePlan
from wayword.core.dataset import Dataset, Task, Walkable
from wayword.core.episode import PathReference
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.world import Feedback, World
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.street.graph import StreetGraph

Method = Literal["ft", "rbl", "dagger"]


@dataclass(frozen=True, slots=True)
class LabeledDecision:
    """One decision: the place, the action taken, and the oracle's."""

    place: str
    taken: Action
    best: Action


def completed(walk: Sequence[LabeledDecision], near_goal: frozenset[str]) -> bool:
    """Whether the agent stopped, of its own accord, in a place that counts as the goal.

    ``near_goal`` holds the goal and what the task's metric lets pass for it: in streets its direct
    neighbours, indoors every viewpoint within three metres.
    """
    return bool(walk) and walk[-1].taken == STOP and walk[-1].place in near_goal


def keeps_own(method: Method, walk: Sequence[LabeledDecision], near_goal: frozenset[str]) -> bool:
    """Whether the agent's own answers are the labels of its walk, all of them; else the oracle's.

    Under response-based learning a walk that completes the task keeps them. One panorama short of
    the goal is a success: the agent's own ``stop`` is the label there, not the step that is
    missing. A walk that never stops, stops elsewhere or runs on is no success, also where it passed
    the goal: each label is the oracle's action in that state.
    """
    return method == "rbl" and completed(walk, near_goal)


def near_goal(dataset: Dataset, task: Task) -> frozenset[str]:
    """The places that count as the goal: linked with it (streets), within 3 m of it (indoors)."""
    reference = task.reference
    if not isinstance(reference, PathReference):
        raise UsageError(f"episode {task.episode.id} has no goal to learn from")
    graph = dataset.graph(task.episode.scene)  # type: ignore[attr-defined]
    goal = reference.goal
    if isinstance(graph, ViewpointGraph):
        row, radius = graph.distances[:, graph.index[goal]], dataset.family.goal_radius
        return frozenset(name for name, far in zip(graph.ids, row, strict=True) if far < radius)
    if isinstance(graph, StreetGraph):
        number = graph.index[goal]
        out = {graph.ids[target] for _, target in graph.exits(number)}
        links = np.flatnonzero(graph.targets == number)
        back = np.searchsorted(graph.offsets, links, side="right") - 1
        return frozenset({goal, *out, *(graph.ids[other] for other in back.tolist())})
    raise UsageError("success in this world is not a matter of places")


class Guide:
    """The stepwise oracle of one episode: the gold path while on it, else the shortest way.

    ``best(place)`` is asked once a decision, in order, with the place the agent stands at. Being on
    the gold path means standing at the place it was at last, or at a later one; a place that the
    path visits twice counts as the earlier visit that is still ahead. ``reached`` is the index of
    the gold place that the walk was at last; ``strayed`` says that it is not there now.
    """

    def __init__(self, world: World, gold: Sequence[str]) -> None:
        if not gold:
            raise UsageError("there is no gold path to learn from; is this a test split?")
        if not isinstance(world, Walkable):
            raise UsageError(f"{type(world).__name__} has no route() and along() to learn from")
        self._world, self._gold, self.reached = world, tuple(gold), 0
        self.strayed = False

    def best(self, place: str) -> Action:
        """The oracle's action here."""
        if place in self._gold[self.reached :]:
            self.reached = self._gold.index(place, self.reached)
        self.strayed = place != self._gold[self.reached]
        if not self.strayed:
            return self._onward()
        route = self._world.route("agent", self._gold[-1])
        return route[0] if route else STOP

    def _onward(self) -> Action:
        if self.reached == len(self._gold) - 1:
            return STOP
        return self._world.along("agent", self._gold[self.reached : self.reached + 2])[0]


# The stepwise oracle of a home task: the expert's plan, made anew wherever the walk left it.

UNKNOWN = Action("")
"""What the oracle says where it has no plan: no question is labelled there."""


class PlanGuide:
    """``best(place)`` is asked once a decision, in order; the place does not matter. ``took`` tells
    what came of the decision.

    While the walk does what the plan says, the plan goes on; else the next one begins at the state
    that the walk has come to.
    """

    reached, strayed = 0, False

    def __init__(self, make: MakePlan) -> None:
        self._make = make
        self._plan: ActionPlan | None = None
        self._said, self._feedback = UNKNOWN, Feedback()

    def best(self, place: str) -> Action:
        """The expert's next high-level action, ``UNKNOWN`` where it has none."""
        try:
            if self._plan is None:
                self._plan = self._make("errands")
                self._said = next(self._plan)
            else:
                self._said = self._plan.send(self._feedback)
        except StopIteration:
            self._plan, self._said = None, STOP
        except PlanningFailed:
            self._plan, self._said = None, UNKNOWN
        return self._said

    def took(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Go on with the plan if it was followed."""
        self._feedback = feedback
        if not isinstance(decision, Decision) or decision.action != self._said:
            self._plan = None

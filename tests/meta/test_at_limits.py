"""Each limit at its exact value and on both sides: whether the value itself is still within."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers.small_hall import ON, Hall, played
from wayword.agents.answers import Reply
from wayword.core.action import Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import BudgetExhausted, ModelError, UsageError
from wayword.core.game import Game
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.sight import EyesSettings
from wayword.core.trajectory import Trajectory
from wayword.metrics import objectnav, paths
from wayword.metrics.indoor import IndoorScorer
from wayword.models.middleware.budget import Account
from wayword.models.middleware.rate import RetryingModel, RetryPolicy
from wayword.worlds.household.goals import Lit, Near, Restored
from wayword.worlds.objectnav.world import ObjectNavReference

# Success by distance, in metres.


def near_goal(metres: float) -> bool:
    """Success of a walk that ends that far from the goal, by each of three scores."""
    batch: Any = SimpleNamespace(
        final=np.array([metres]), nearest=np.array([[9.0, metres]])
    )
    graph = SimpleNamespace(distance=lambda place, goal: metres)
    task = Task(Episode("e", "go", "", {}), PathReference("e", ("a", "b")))
    dataset = SimpleNamespace(graph=lambda scene: graph)
    results = {
        bool(paths.success(batch)[0]),
        bool(paths.oracle_success(batch)[0]),
        *IndoorScorer().reached(dataset, task, ["a"]),
    }
    (result,) = results
    return result


def stopped_near(metres: float) -> bool:
    state = {"stopped": True, "in_view": [{"id": "mug", "distance": metres}]}
    return score_of(state, "success_challenge")


def ended_near(metres: float) -> bool:
    return score_of({"x": metres, "y": 0.0}, "success_released")


def score_of(state: dict[str, Any], metric: str) -> bool:
    reference = ObjectNavReference("e", frozenset({"mug"}), middles=((0.0, 0.0),))
    task = Task(Episode("e", "find the mug", "", {}), reference)
    walk = Trajectory("e", {}, state=state)
    return bool(objectnav.scorer.score_episode(None, task, walk)[metric])


def lamp_near(metres: float) -> bool:
    objects = {"lamp": {"on": True}}
    actors = {"agent": {"sees": {"lamp": metres}}}
    return bool(Lit(("lamp",)).met({"actors": actors, "objects": objects}))


def object_near(metres: float) -> bool:
    actors = {"agent": {"sees": {"tv": metres}}}
    return bool(Near(("tv",)).met({"actors": actors}))


def restored_near(metres: float) -> bool:
    return Restored("mug", "shelf", False, (0.0, 0.0)).is_near_target(metres, 0.0)


# Steps, budgets, retries and patience.


def has_turn(taken: float) -> bool:
    """True if an actor has a turn left after so many of five."""
    game = Game(Hall(), Episode("e", "go", "", {}, Hall.actors), max_steps=5)
    for _ in range(int(taken)):
        game.act("ann", Decision(ON))
    return game.active("ann")


def stops_in_time(steps: float) -> bool:
    """True if an episode of five steps ends by a stop in step number ``steps``."""
    return played(max_steps=5, steps=int(steps) - 1).ended == "stopped"


def budget_left(spent: float) -> bool:
    account = Account(max_tokens=10, tokens=int(spent))
    return admits(account)


def dollars_left(spent: float) -> bool:
    account = Account(max_dollars=0.5, dollars=spent)
    return admits(account)


def admits(account: Account) -> bool:
    try:
        account.check()
    except BudgetExhausted:
        return False
    return True


class Failing(Model):
    """Fails so many times in a row, then answers."""

    name = "failing"

    def __init__(self, times: float, error: ModelError) -> None:
        self.left = times
        self.error = error

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        if self.left > 0:
            self.left -= 1
            raise self.error
        return Completion(("yes",))

    async def choose(self, prompt: Prompt, options: Any) -> Choice:
        raise NotImplementedError


def answered(times: float, error: ModelError, after: int = 0, **policy: Any) -> bool:
    """True if a call is answered after so many failures; ``after`` calls were answered before."""
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    rules = RetryPolicy(sleep=sleep, clock=lambda: now[0], **policy)
    inner = Failing(0, error)
    model = RetryingModel(inner, rules)

    async def calls() -> None:
        for _ in range(after):
            await model.complete("go on", Sampling())
        inner.left = times
        await model.complete("go on", Sampling())

    try:
        asyncio.run(calls())
    except ModelError:
        return False
    return True


def retried(failures: float) -> bool:
    return answered(failures, ModelError("busy", retryable=True), retries=3)


def first_contact(failures: float) -> bool:
    error = ModelError("no connection", retryable=True, fatal=True)
    return answered(failures, error, retries=5, first_contact=2)


def waited(seconds: float) -> bool:
    error = ModelError("busy", retryable=True, retry_after=seconds)
    return answered(1, error, patience=30.0)


def outlasted(failures: float) -> bool:
    """An outage of the server: each probe is 10 s after the last."""
    error = ModelError("away", retryable=True, away=True, retry_after=10.0)
    return answered(
        failures, error, after=1, trip=1, patience=30.0, first=0.0, longest=0.0
    )


# Answers and pictures.


def is_read(characters: float) -> bool:
    """True if an answer of that length is read."""
    return Reply.of("x" * int(characters)).unreadable() is None


def picture_sizes(side: float) -> bool:
    """True if pictures may have so many columns, and as many rows."""
    results = set()
    for size in (f"{side:.0f}x100", f"100x{side:.0f}"):
        try:
            EyesSettings(picture_size=size)
            results.add(True)
        except UsageError:
            results.add(False)
    (result,) = results
    return result


# What holds below, at and above each value.
WITHIN = (True, True, False)
BELOW = (True, False, False)
ABOVE = (False, True, True)
LIMITS: list[tuple[Callable[[float], bool], float, float, tuple[bool, bool, bool]]] = [
    (near_goal, 3.0, 1e-6, BELOW),
    (stopped_near, 1.0, 1e-5, WITHIN),
    (ended_near, 2.0, 1e-6, WITHIN),
    (lamp_near, 1.501, 1e-3, WITHIN),
    (object_near, 1.5, 1e-3, WITHIN),
    (restored_near, 0.5, 1e-6, WITHIN),
    (has_turn, 5, 1, BELOW),
    (stops_in_time, 5, 1, WITHIN),
    (budget_left, 10, 1, BELOW),
    (dollars_left, 0.5, 1e-6, BELOW),
    (retried, 3, 1, WITHIN),
    (first_contact, 2, 1, WITHIN),
    (waited, 30.0, 0.01, WITHIN),
    (outlasted, 4, 1, WITHIN),
    (is_read, 8_000, 1, WITHIN),
    (picture_sizes, 32, 1, ABOVE),
    (picture_sizes, 2048, 1, WITHIN),
]


@pytest.mark.parametrize(
    ("holds", "value", "step", "expected"),
    LIMITS,
    ids=[f"{case[0].__name__}-{case[1]:g}" for case in LIMITS],
)
def test_a_limit_at_its_value_and_on_both_sides(
    holds: Callable[[float], bool],
    value: float,
    step: float,
    expected: tuple[bool, bool, bool],
) -> None:
    below = holds(value - step)
    above = holds(value + step)
    assert (below, holds(value), above) == expected

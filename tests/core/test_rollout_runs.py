"""The run loop by itself: many episodes at once, and how a run may end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from helpers.small_hall import Goer, Halls, all_played, setup
from wayword.core.action import STOP, ActionSpace, Decision
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import (
    BudgetExhausted,
    ModelUnusable,
    RecordingError,
)
from wayword.core.model import Completion, Model, Prompt, Sampling
from wayword.core.rollout import Outcome, first_error, run
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Observation
from wayword.models.scripted import ScriptedModel

# Many episodes.


def test_every_episode_is_played_once_and_counted() -> None:
    outcome, ended = all_played(Halls(7, broken=OSError("gone")), 3)
    assert sorted(ended) == [(f"e{n}", "stopped") for n in range(6)] + [
        ("e6", "failed")
    ]
    assert outcome == Outcome(finished=6, failed=1)
    assert not outcome.complete
    complete, _ = all_played(Halls(7), 3)
    assert complete.complete
    assert complete == Outcome(finished=7)
    none, _ = all_played(Halls(3), raises=OSError("gone"))
    assert none == Outcome(failed=3)


@pytest.mark.parametrize(("concurrency", "most"), [(0, 1), (1, 1), (3, 3), (8, 5)])
def test_so_many_episodes_are_under_way(concurrency: int, most: int) -> None:
    now = set[str]()
    highest = 0

    async def answer(prompt: Prompt, sampling: Sampling) -> str:
        await asyncio.sleep(0)
        return "yes"

    def note(episode: str, step: Step) -> None:
        nonlocal highest
        now.add(episode)
        highest = max(highest, len(now))

    halls = Halls(5)
    shared = setup(halls, models={"main": ScriptedModel(answers=answer)}, on_step=note)
    asyncio.run(
        run(
            halls.tasks,
            shared,
            lambda task, trajectory: now.discard(task.episode.id),
            concurrency,
        )
    )
    assert highest == most


def test_eight_are_under_way_where_nothing_is_stated() -> None:
    starts: list[str] = []
    halls = Halls(12)

    def make(toolkit: Toolkit, actor: str) -> Goer:
        starts.append(actor)
        return Goer(toolkit, actor)

    def stop(task: Task, trajectory: Trajectory) -> None:
        raise RecordingError("full")

    with pytest.raises(RecordingError, match="full"):
        asyncio.run(run(halls.tasks, setup(halls, make=make), stop))
    assert starts.count("ann") == 8


class Dry(Model):
    """A model that answers ``good`` times, then raises ``error`` with a number."""

    name = "dry"

    def __init__(self, good: int, error: type[Exception]) -> None:
        self.good = good
        self.error = error
        self.asked = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.asked += 1
        number = self.asked
        await asyncio.sleep(0)
        if number > self.good:
            raise self.error(f"refusal {number - self.good}")
        return Completion(("yes",))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Any:
        raise NotImplementedError

    async def aclose(self) -> None:
        return None


@pytest.mark.parametrize(
    ("error", "field"), [(BudgetExhausted, "exhausted"), (ModelUnusable, "unusable")]
)
def test_a_run_that_cannot_go_on_begins_no_more(
    error: type[Exception], field: str
) -> None:
    model = Dry(16, error)
    outcome, ended = all_played(Halls(20), 2, models={"main": model}, steps=3)
    assert len(ended) == outcome.finished == 2
    assert getattr(outcome, field) == "refusal 1", "the first one counts"
    assert {"exhausted", "unusable"} - {field} == {
        name for name in ("exhausted", "unusable") if not getattr(outcome, name)
    }
    assert not outcome.complete
    assert model.asked <= 16 + 2


def test_those_under_way_end_where_the_budget_lets_them() -> None:
    class Slow(Goer):
        async def begin(self, episode: Episode) -> None:
            await asyncio.sleep(0)
            if episode.id == "e0":
                raise BudgetExhausted("spent")

    outcome, ended = all_played(Halls(9), 3, make=Slow)
    assert sorted(ended) == [("e1", "stopped"), ("e2", "stopped")]
    assert (outcome.exhausted, outcome.finished) == ("spent", 2)


def test_agents_that_never_wait_let_the_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Rash(Goer):
        async def act(self, observation: Observation, space: ActionSpace) -> Decision:
            return Decision(STOP)

    turns: list[str] = []
    halls = Halls(3)

    async def both() -> None:
        async def other() -> None:
            for _ in range(3):
                turns.append("other")
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        shared = setup(halls, make=Rash)
        await run(
            halls.tasks,
            shared,
            lambda task, trajectory: turns.append(task.episode.id),
            1,
        )
        await task

    sleep = asyncio.sleep
    rests = set[float]()

    async def resting(seconds: float) -> None:
        rests.add(seconds)
        await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", resting)
    asyncio.run(both())
    assert rests == {0}, "a turn is given, not a rest"
    assert turns.index("other") < turns.index("e1") < turns.index("e2")
    assert turns[turns.index("e1") - 1] == "other"


@dataclass
class Watched:
    """A gate that records its notifications."""

    notified: list[str] = field(default_factory=list)
    enough: int = 99

    def begin(self, *, episode: str) -> None:
        if len(self.notified) // 2 == self.enough:
            raise BudgetExhausted("not for another")
        self.notified.append("begin")

    def end(self, complete: bool) -> None:
        self.notified.append("complete" if complete else "cut")


@pytest.mark.parametrize(
    ("broken", "notified"),
    [
        (None, ["begin", "complete"] * 2),
        (OSError("x"), ["begin", "complete", "begin", "cut"]),
    ],
)
def test_the_gate_is_notified_of_both_ends(
    broken: Exception | None, notified: list[str]
) -> None:
    gate = Watched()
    all_played(Halls(2, broken=broken), 1, gate=gate)
    assert gate.notified == notified


def test_the_gate_is_notified_of_an_episode_that_is_cut_short() -> None:
    gate = Watched()
    outcome, ended = all_played(Halls(2), 1, gate=gate, raises=BudgetExhausted("spent"))
    assert (gate.notified, ended, outcome.exhausted) == (["begin", "cut"], [], "spent")
    gate = Watched(enough=3)
    outcome, ended = all_played(Halls(9), 1, gate=gate)
    assert (len(ended), outcome.exhausted) == (3, "not for another")


def test_the_error_that_ended_a_run_is_found_in_its_groups() -> None:
    inner = ExceptionGroup("b", [ValueError("first"), KeyError("second")])
    assert str(first_error(ExceptionGroup("a", [inner, OSError("third")]))) == "first"

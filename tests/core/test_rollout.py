"""The run loop by itself: one episode's turns, many episodes at once, and how each may end."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from wayword.core.action import STOP, Action, ActionSpace, Decision
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import (
    BudgetExhausted,
    DataError,
    ModelUnusable,
    RecordingError,
    UsageError,
)
from wayword.core.family import Family
from wayword.core.model import Completion, Prompt, Sampling, user
from wayword.core.rollout import Outcome, Setup, actor_seed, first_error, rollout, run
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback, Observation
from wayword.models.scripted import ScriptedModel

ON = Action("on")


class Hall:
    """A world of two actors who go on, each until it stops or ``ends`` is reached."""

    actors = ("ann", "bob")

    def __init__(self, ends: int = 99) -> None:
        self.at: dict[str, int] = {}
        self.stopped: set[str] = set()
        self.ends = ends

    def reset(self, episode: Episode) -> None:
        self.at = dict.fromkeys(self.actors, 0)

    def observe(self, actor: str) -> Observation:
        return Observation()

    def action_space(self, actor: str) -> ActionSpace:
        return ActionSpace((ON, STOP))

    def step(self, actor: str, action: Action) -> Feedback:
        if action == STOP:
            self.stopped.add(actor)
        else:
            self.at[actor] += 1
        return Feedback()

    def done(self, actor: str) -> bool:
        return actor in self.stopped or self.at[actor] >= self.ends

    def pose(self, actor: str) -> Mapping[str, Any]:
        return {"at": self.at[actor]}

    def state(self) -> Mapping[str, Any]:
        return {"sum": sum(self.at.values())}


@dataclass
class Halls:
    """Halls of one length; the last episode of ``broken`` cannot be opened."""

    count: int = 4
    ends: int = 99
    broken: Exception | None = None
    family: Family = field(default_factory=lambda: Family("hall"))
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def tasks(self) -> Sequence[Task]:
        names = [f"e{number}" for number in range(self.count)]
        return [Task(Episode(n, "go", "", {}), PathReference(n, ("0",))) for n in names]

    def world(self, episode: Episode) -> Hall:
        if self.broken and episode.id == f"e{self.count - 1}":
            raise self.broken
        return Hall(self.ends)

    def perceiver(self) -> None:
        return None

    def demonstrations(self, count: int, seed: int) -> Sequence[Any]:
        return []


@dataclass
class Goer:
    """Goes on and stops after ``steps``; asks its model where it has one."""

    toolkit: Toolkit
    actor: str
    steps: int = 3
    raises: Exception | None = None
    gone: int = 0

    families: ClassVar[frozenset[str]] = frozenset()

    async def begin(self, episode: Episode) -> None:
        self.toolkit.note("began", who=self.actor)

    async def act(self, observation: Observation, space: ActionSpace) -> Decision:
        self.gone += 1
        if self.toolkit.models:
            await self.toolkit.model().complete([user("on?")], Sampling(max_tokens=1))
        self.toolkit.note("turn", number=self.gone, drawn=self.toolkit.rng.random())
        if self.raises and self.gone > 1:
            raise self.raises
        await asyncio.sleep(0)
        return Decision(STOP if self.gone > self.steps else ON)

    def on_feedback(self, decision: object, feedback: Feedback) -> None:
        return None


def setup(halls: Halls | None = None, **given: Any) -> Setup:
    own = {key: given.pop(key) for key in ("steps", "raises") if key in given}
    make = given.pop("make", lambda toolkit, actor: Goer(toolkit, actor, **own))
    return Setup(halls or Halls(), make, **given)  # type: ignore[arg-type]


def played(halls: Halls | None = None, **given: Any) -> Trajectory:
    halls = halls or Halls()
    return asyncio.run(rollout(halls.tasks[0], setup(halls, **given)))


def all_played(
    halls: Halls, concurrency: int = 2, **given: Any
) -> tuple[Outcome, list[tuple[str, str]]]:
    """The outcome, and id and end of each episode in the order they were handed over."""
    ended: list[tuple[str, str]] = []
    outcome = asyncio.run(
        run(
            halls.tasks,
            setup(halls, **given),
            lambda task, told: ended.append((task.episode.id, told.ended)),
            concurrency,
        )
    )
    return outcome, ended


# One episode.


def test_actors_take_turns_until_all_have_stopped() -> None:
    seen: list[tuple[str, Step]] = []
    told = played(steps=2, on_step=lambda episode, step: seen.append((episode, step)))
    assert [step.actor for step in told.steps] == ["ann", "bob"] * 3
    assert [step.pose["at"] for step in told.steps] == [1, 1, 2, 2, 2, 2]
    assert seen == [("e0", step) for step in told.steps]
    assert (told.ended, told.error, told.state) == ("stopped", "", {"sum": 4})
    assert told.start == {"ann": {"at": 0}, "bob": {"at": 0}}
    assert [note.details["who"] for note in told.opening_notes] == ["ann", "bob"]
    assert [len(step.notes) for step in told.steps] == [1] * 6
    assert 0 <= max(step.seconds for step in told.steps) <= told.seconds < 5


def test_whoever_is_done_waits_for_the_other() -> None:
    def make(toolkit: Toolkit, actor: str) -> Goer:
        return Goer(toolkit, actor, steps=0 if actor == "ann" else 2)

    told = played(make=make)
    assert [step.actor for step in told.steps] == ["ann", "bob", "bob", "bob"]
    assert told.ended == "stopped"


def test_the_limit_counts_turns_of_each_actor() -> None:
    told = played(max_steps=4, steps=9)
    assert (len(told.steps), told.ended) == (8, "step_limit")
    assert played(Halls(ends=4), max_steps=4, steps=9).ended == "stopped"
    assert len(played(steps=99).steps) == 60, "thirty turns, where nothing is said"


def test_each_actor_draws_numbers_of_its_own_that_a_resumed_run_repeats() -> None:
    drawn = [
        [note.details["drawn"] for step in played(**given).steps for note in step.notes]
        for given in ({}, {}, {"seed": 1})
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == len(drawn[0])
    assert actor_seed(3, Halls().tasks[1], "bob") == "3/e1/bob"
    assert drawn[2][0] == random.Random("1/e0/ann").random()


def test_a_bug_fails_its_episode_and_names_the_line() -> None:
    model = ScriptedModel(answers=lambda prompt, sampling: "yes")
    told = played(raises=KeyError("left"), models={"main": model})
    assert (told.ended, len(told.steps), told.state) == ("failed", 2, {})
    assert re.fullmatch(r"KeyError: 'left' \(.*test_rollout\.py:\d+\)", told.error)
    # what the broken turn did until then is kept, behind what came before the first turn
    kinds = [note.kind for note in told.opening_notes]
    assert (kinds, len(told.opening_calls)) == (["began", "began", "turn"], 1)
    assert [len(step.calls) for step in told.steps] == [1, 1]
    assert played(raises=DataError(Path("f"), "", "is odd")).error == "f: is odd"
    assert played(Halls(1, broken=OSError("gone"))).error.startswith("OSError: gone (")


@pytest.mark.parametrize(
    "error",
    [BudgetExhausted("spent"), ModelUnusable("no"), RecordingError("full"), UsageError("odd")],
)
def test_what_concerns_the_whole_run_is_raised(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        played(raises=error)


def test_an_agent_of_another_family_is_refused() -> None:
    class Streets(Goer):
        families: ClassVar[frozenset[str]] = frozenset(("street",))

    with pytest.raises(UsageError, match=r"Halls.*hall|hall.*Halls"):
        played(make=Streets)


def test_an_agent_has_what_the_run_shares() -> None:
    given: list[Toolkit] = []

    def make(toolkit: Toolkit, actor: str) -> Goer:
        given.append(toolkit)
        return Goer(toolkit, actor)

    halls = Halls()
    shared = setup(
        halls, make=make, models={"main": ScriptedModel("echo"), "judge": ScriptedModel("echo")}
    )
    asyncio.run(run(halls.tasks, shared, lambda task, told: None, 1))
    assert {tuple(toolkit.models) for toolkit in given} == {("main", "judge")}
    assert {id(toolkit.shared) for toolkit in given} == {id(shared.shared)}
    assert given[0].demonstrations == halls.demonstrations
    drawn: Any = lambda count, seed: ["mine"]  # noqa: E731
    assert played(halls, make=make, demonstrations=drawn).steps
    assert list(given[-1].demonstrations(1, 0)) == ["mine"]


# Many episodes.


def test_every_episode_is_played_once_and_counted() -> None:
    outcome, ended = all_played(Halls(7, broken=OSError("gone")), 3)
    assert sorted(ended) == [(f"e{n}", "stopped") for n in range(6)] + [("e6", "failed")]
    assert outcome == Outcome(finished=6, failed=1)
    assert not outcome.complete
    whole, _ = all_played(Halls(7), 3)
    assert whole.complete
    assert whole == Outcome(finished=7)


@pytest.mark.parametrize(("concurrency", "most"), [(0, 1), (1, 1), (3, 3), (8, 5)])
def test_so_many_episodes_are_under_way(concurrency: int, most: int) -> None:
    now, highest = set[str](), 0

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
        run(halls.tasks, shared, lambda task, told: now.discard(task.episode.id), concurrency)
    )
    assert highest == most


def test_eight_are_under_way_where_nothing_is_said() -> None:
    begun: list[str] = []
    halls = Halls(12)

    def make(toolkit: Toolkit, actor: str) -> Goer:
        begun.append(actor)
        return Goer(toolkit, actor)

    def stop(task: Task, told: Trajectory) -> None:
        raise RecordingError("full")

    with pytest.raises(RecordingError, match="full"):
        asyncio.run(run(halls.tasks, setup(halls, make=make), stop))
    assert begun.count("ann") == 8


class Dry:
    """A model that answers ``good`` times, then raises ``error`` with a number."""

    name = "dry"

    def __init__(self, good: int, error: type[Exception]) -> None:
        self.good, self.error, self.asked = good, error, 0

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
def test_a_run_that_cannot_go_on_begins_no_more(error: type[Exception], field: str) -> None:
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


def test_agents_that_never_wait_let_the_others_have_their_turn() -> None:
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
        await run(halls.tasks, shared, lambda task, told: turns.append(task.episode.id), 1)
        await task

    asyncio.run(both())
    assert turns.index("other") < turns.index("e1") < turns.index("e2")
    assert turns[turns.index("e1") - 1] == "other"


@dataclass
class Watched:
    """A purse that writes down what it is told."""

    told: list[str] = field(default_factory=list)
    enough: int = 99

    def begin(self) -> None:
        if len(self.told) // 2 == self.enough:
            raise BudgetExhausted("not for another")
        self.told.append("begin")

    def end(self, whole: bool) -> None:
        self.told.append("whole" if whole else "cut")


@pytest.mark.parametrize(
    ("broken", "told"),
    [(None, ["begin", "whole"] * 2), (OSError("x"), ["begin", "whole", "begin", "cut"])],
)
def test_the_purse_hears_of_both_ends(broken: Exception | None, told: list[str]) -> None:
    purse = Watched()
    all_played(Halls(2, broken=broken), 1, purse=purse)
    assert purse.told == told


def test_the_purse_hears_of_an_episode_that_is_cut_short() -> None:
    purse = Watched()
    outcome, ended = all_played(Halls(2), 1, purse=purse, raises=BudgetExhausted("spent"))
    assert (purse.told, ended, outcome.exhausted) == (["begin", "cut"], [], "spent")
    purse = Watched(enough=3)
    outcome, ended = all_played(Halls(9), 1, purse=purse)
    assert (len(ended), outcome.exhausted) == (3, "not for another")


def test_the_error_that_ended_a_run_is_found_in_its_groups() -> None:
    inner = ExceptionGroup("b", [ValueError("first"), KeyError("second")])
    assert str(first_error(ExceptionGroup("a", [inner, OSError("third")]))) == "first"

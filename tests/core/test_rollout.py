"""The run loop by itself: one episode's turns, and how it may end."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

from helpers.small_hall import (
    Goer,
    Halls,
    Reader,
    Seen,
    Watching,
    played,
    setup,
)
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import (
    BudgetExhausted,
    DataError,
    ModelUnusable,
    RecordingError,
    UsageError,
)
from wayword.core.model import Sampling, user
from wayword.core.recording import Continued
from wayword.core.rollout import actor_seed, run
from wayword.core.trajectory import Step, Trajectory, Verdict
from wayword.models.scripted import ScriptedModel

# One episode.


def test_actors_take_turns_until_all_have_stopped() -> None:
    seen: list[tuple[str, Step]] = []
    trajectory = played(
        steps=2, on_step=lambda episode, step: seen.append((episode, step))
    )
    assert [step.actor for step in trajectory.steps] == ["ann", "bob"] * 3
    assert [step.pose["at"] for step in trajectory.steps] == [1, 1, 2, 2, 2, 2]
    assert seen == [("e0", step) for step in trajectory.steps]
    assert (trajectory.ended, trajectory.error, trajectory.state) == (
        "stopped",
        "",
        {"sum": 4},
    )
    assert trajectory.start == {"ann": {"at": 0}, "bob": {"at": 0}}
    assert [note.details["who"] for note in trajectory.opening_notes] == ["ann", "bob"]
    assert [len(step.notes) for step in trajectory.steps] == [1] * 6
    assert 0 <= max(step.seconds for step in trajectory.steps) <= trajectory.seconds < 5


def test_who_is_done_waits_for_the_other() -> None:
    def make(toolkit: Toolkit, actor: str) -> Goer:
        return Goer(toolkit, actor, steps=0 if actor == "ann" else 2)

    trajectory = played(make=make)
    assert [step.actor for step in trajectory.steps] == ["ann", "bob", "bob", "bob"]
    assert trajectory.ended == "stopped"


def test_the_limit_counts_turns_of_each_actor() -> None:
    trajectory = played(max_steps=4, steps=9)
    assert (len(trajectory.steps), trajectory.ended) == (8, "step_limit")
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
    trajectory = played(raises=KeyError("left"), models={"main": model})
    assert (trajectory.ended, len(trajectory.steps), trajectory.state) == (
        "failed",
        2,
        {},
    )
    assert re.fullmatch(r"KeyError: 'left' \(.*small_hall\.py:\d+\)", trajectory.error)
    # what the broken turn did until then is kept, behind what came before the first turn
    kinds = [note.kind for note in trajectory.opening_notes]
    assert (kinds, len(trajectory.opening_calls)) == (["began", "began", "turn"], 1)
    assert [len(step.calls) for step in trajectory.steps] == [1, 1]
    odd = played(raises=DataError(Path("f"), "", "is odd")).error
    assert re.fullmatch(r".*small_hall\.py:\d+: f: is odd", odd)
    assert played(Halls(1, broken=OSError("gone"))).error.startswith("OSError: gone (")


@pytest.mark.parametrize(
    "error",
    [
        BudgetExhausted("spent"),
        ModelUnusable("no"),
        RecordingError("full"),
        UsageError("odd"),
    ],
)
def test_what_concerns_the_full_run_is_raised(error: Exception) -> None:
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
        halls,
        make=make,
        models={"main": ScriptedModel("echo"), "judge": ScriptedModel("echo")},
    )
    asyncio.run(run(halls.tasks, shared, lambda task, text: None, 1))
    assert {tuple(toolkit.models) for toolkit in given} == {("main", "judge")}
    assert {id(toolkit.shared) for toolkit in given} == {id(shared.shared)}
    assert given[0].demonstrations == halls.demonstrations
    assert given[0].perceiver is None
    drawn: Any = lambda count, seed: ["mine"]  # noqa: E731
    assert played(halls, make=make, demonstrations=drawn).steps
    assert list(given[-1].demonstrations(1, 0)) == ["mine"]


def test_a_turn_holds_what_the_world_showed_and_answered_its_actor() -> None:
    trajectory = played(
        Watching(), steps=1, models={"judge": ScriptedModel("echo")}, make=Reader
    )
    assert [step.observation for step in trajectory.steps] == [
        Seen("ann", 0), Seen("bob", 0), Seen("ann", 1), Seen("bob", 1)
    ]  # fmt: skip
    answers = [dict(step.feedback.details) for step in trajectory.steps]
    assert answers == [{"who": "ann"}, {"who": "bob"}, {}, {}]
    assert [step.percept and step.percept.summary for step in trajectory.steps] == [
        "e0 ann", "e0 bob", "e0 ann", "e0 bob"
    ]  # fmt: skip
    assert {call.role for step in trajectory.steps for call in step.calls} == {"judge"}
    assert trajectory.episode_id == "e0"


def test_an_actor_is_shown_its_own_instruction_alone() -> None:
    heard: dict[str, Any] = {}

    class Listener(Goer):
        async def begin(self, episode: Episode) -> None:
            heard[self.actor] = episode.extra["instructions"]

    halls = Watching(extra={"instructions": {"ann": "left", "bob": "right"}})
    played(halls, make=Listener)
    assert heard == {"ann": {"ann": "left"}, "bob": {"bob": "right"}}


def test_an_oracle_is_shown_the_answer_the_world_and_a_plan_for_its_actor() -> None:
    shown: dict[str, Any] = {}

    class Sage(Goer):
        sees_answer: ClassVar[bool] = True

        def reveal(self, reference: Any, world: Any, plan: Any) -> None:
            shown[self.actor] = reference, dict(world.at), str(next(plan("best")))

    halls = Watching()
    played(halls, make=Sage)
    start = {"ann": 0, "bob": 0}
    reference = halls.tasks[0].reference
    assert shown == {actor: (reference, start, f"{actor} best e0 0") for actor in start}


def test_an_episode_goes_on_from_recorded_turns() -> None:
    walked = played(Watching(), steps=3)
    before = Continued(walked.steps[:3])
    seen: list[tuple[str, Step]] = []
    began: list[str] = []

    class Free(Goer):
        needs_model: ClassVar[bool] = False

        async def begin(self, episode: Episode) -> None:
            began.append(f"{self.actor} begins at {len(seen)}")

    class Sage(Free):
        sees_answer: ClassVar[bool] = True

        def reveal(self, reference: Any, world: Any, plan: Any) -> None:
            return None

    def make(toolkit: Toolkit, actor: str) -> Goer:
        return (Sage if actor == "bob" else Free)(toolkit, actor)

    trajectory = played(
        Watching(),
        make=make,
        continued={"e0": before, "e1": Continued(())},
        on_step=lambda episode, step: seen.append((episode, step)),
    )
    assert began == ["ann begins at 0", "bob begins at 3"]
    assert seen == [("e0", step) for step in trajectory.steps]
    assert [step.actor for step in trajectory.steps[:6]] == [
        "ann",
        "bob",
        "ann",
        "bob",
        "ann",
        "bob",
    ]
    kinds = [[note.kind for note in step.notes] for step in trajectory.steps]
    assert kinds[:4] == [["recorded_before"]] * 3 + [["turn"]]
    # two of ann's three turns were recorded, and none of bob's is his own
    assert [step.actor for step in trajectory.steps].count("ann") == 4
    assert trajectory.ended == "stopped"


def test_a_trial_is_judged_by_what_happened_in_it() -> None:
    judged: list[tuple[str, str, int]] = []

    class Eager(Goer):
        learns: ClassVar[bool] = True

        async def reflect(self, verdict: Verdict) -> bool:
            assert verdict == Verdict(len(judged) - 1, 3, False, "stopped", 2)
            return True

    def judge(task: Task, trial: Trajectory) -> bool:
        judged.append((task.episode.id, trial.episode_id, len(trial.steps)))
        return False

    trajectory = played(
        make=lambda toolkit, actor: Eager(toolkit, actor, 0), trials=3, judge=judge
    )
    assert judged == [("e0", "e0", 2)] * 2
    assert [trial.start for trial in trajectory.trials()] == [trajectory.start] * 3
    rngs = [
        [n.details["drawn"] for s in trial.steps for n in s.notes]
        for trial in trajectory.trials()
    ]
    assert rngs[1] == [
        random.Random(f"0/e0/{actor}/1").random() for actor in ("ann", "bob")
    ]


def test_what_fails_before_it_starts_is_a_record_of_that_episode() -> None:
    trajectory = played(Halls(1, broken=OSError("gone")))
    assert (trajectory.episode_id, trajectory.start, trajectory.earlier) == (
        "e0",
        {},
        [],
    )

    class Odd(Goer):
        async def begin(self, episode: Episode) -> None:
            await self.toolkit.model().complete([user("on?")], Sampling(max_tokens=1))
            if self.raises:
                raise self.raises

    for error, calls in ((OSError("odd"), 1), (None, 3)):

        def make(toolkit: Toolkit, actor: str, error: Exception | None = error) -> Goer:
            return Odd(toolkit, actor, raises=error)

        trajectory = played(
            Halls(unseen=True), make=make, models={"main": ScriptedModel("echo")}
        )
        assert (trajectory.ended, len(trajectory.opening_calls), trajectory.steps) == (
            "failed",
            calls,
            [],
        )

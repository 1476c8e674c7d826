"""Metrics of the rooms world: on played episodes, and by hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import wayword
from wayword.agents.baselines.oracles import Expert
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, NoSettings, Reference
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback, Observation
from wayword.datasets.household import Household
from wayword.envs import make
from wayword.metrics.household import actions_taken, answer_is_right, score_state
from wayword.metrics.scoring import Judged, score, scorer
from wayword.runs.plan import Plan
from wayword.runs.reports import rows_of
from wayword.worlds.household import expert
from wayword.worlds.household.goals import (
    AnswerReference,
    HouseholdReference,
    RearrangementReference,
    Restored,
)
from wayword.worlds.household.skills import PlannedReference
from wayword.worlds.household.world import HouseholdWorld


class Detour(Expert):
    """The expert after four turns on the spot, one bump and one answer that is no action."""

    def __init__(self, settings: NoSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._first: list[Decision | Rejection] = [
            *(Decision(Action("turn_left")) for _ in range(4)),
            Decision(Action("pick_up", ("nothing_1",))),
            Rejection("no_action", "prose"),
        ]

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        if self._first:
            return self._first.pop(0)
        return await super().act(observation, space)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if not self._first:
            super().on_feedback(decision, feedback)


class Idle(Expert):
    """Stops at once."""

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        return Decision(STOP)


@pytest.fixture(scope="module")
def dataset() -> Household:
    return Household(settings=Household.Settings(homes=2, episodes=7))


def played(dataset: Household, task: Task, agent: Callable[..., Agent]) -> Trajectory:
    def make(toolkit: Toolkit, actor: str) -> Agent:
        return agent(NoSettings(), toolkit)

    return asyncio.run(rollout(task, Setup(dataset, make, max_steps=dataset.max_steps)))


def test_the_expert_scores_one_by_every_measure(dataset: Household) -> None:
    pairs = [(task, played(dataset, task, Expert)) for task in dataset.tasks]
    for scores in score(dataset, pairs):
        assert [scores[key] for key in ("sr", "goal_sr", "plw_sr", "plw_goal_sr")] == [
            1.0
        ] * 4
        assert scores["low_level"] == scores["steps"]
        assert "misplaced" not in scores
        assert "acc" not in scores


def test_turns_that_come_to_nothing_and_detours_weigh_on_the_path(
    dataset: Household,
) -> None:
    task = dataset.tasks[0]
    best, worse = score(
        dataset,
        [(task, played(dataset, task, Expert)), (task, played(dataset, task, Detour))],
    )
    assert worse["sr"] == 1.0
    assert worse["low_level"] == best["low_level"] + 6
    assert worse["plw_sr"] == pytest.approx(best["low_level"] / (best["low_level"] + 6))


def test_who_does_nothing_has_what_held_already(dataset: Household) -> None:
    pairs = [(task, played(dataset, task, Idle)) for task in dataset.tasks]
    for scores in score(dataset, pairs):
        assert scores["sr"] == scores["plw_sr"] == 0.0
        assert 0.0 <= scores["goal_sr"] < 1.0


def test_bodies_without_single_motions_are_measured_by_the_same_expert(
    dataset: Household,
) -> None:
    high = Household(settings=Household.Settings(homes=2, episodes=7, actions="high"))
    task = high.tasks[0]
    world = high.world(task.episode)
    world.reset(task.episode)
    assert "move_ahead" not in {
        action.name for action in world.action_space("agent").listed
    }
    assert (
        high.expert_length(task) == dataset.expert_length(dataset.tasks[0]) is not None
    )


def test_an_episode_that_failed_before_its_end_scores_nothing(
    dataset: Household,
) -> None:
    task = dataset.tasks[0]
    failed = Trajectory(task.episode.id, start={}, ended="failed", error="x")
    (scores,) = score(dataset, [(task, failed)])
    assert (scores["sr"], scores["goal_sr"], scores["low_level"]) == (0.0, 0.0, 0.0)


def _rearrangement() -> RearrangementReference:
    goals = (Restored("mug", "shelf", False), Restored("book", "bed", False))
    others = (Restored("pen", "desk", False), Restored("safe", "", False))
    return RearrangementReference("1", "rearrangement", goals, others=others)


@pytest.mark.parametrize(
    ("mug", "book", "pen", "misplaced", "fixed"),
    [
        ("bed", "shelf", "desk", 1.0, 0.0),  # nothing done
        ("shelf", "shelf", "desk", 0.5, 0.5),
        ("shelf", "bed", "desk", 0.0, 1.0),
        ("shelf", "bed", "bed", 0.5, 0.0),  # all put right, but the pen taken along
        ("bed", "shelf", "bed", 1.5, 0.0),  # worse than doing nothing
    ],
)
def test_misplaced_and_fixed_strict(
    mug: str, book: str, pen: str, misplaced: float, fixed: float
) -> None:
    where = {"mug": mug, "book": book, "pen": pen, "safe": ""}
    objects = {name: {"in": at, "open": False} for name, at in where.items()}
    state = {"objects": objects, "actors": {"agent": {"stopped": True}}}
    found = score_state(_rearrangement(), state)
    put_right = (mug == "shelf") + (book == "bed")
    assert (found.pop("sr"), found.pop("goal_sr")) == (put_right == 2, put_right / 2)
    assert found.pop("sr_strict") == float(fixed == 1.0), "the challenge's success"
    assert found == {"misplaced": misplaced, "fixed_strict": fixed}


def test_an_episode_without_a_final_state_has_put_nothing_right() -> None:
    assert score_state(_rearrangement(), {}) == {
        "sr": 0, "goal_sr": 0, "sr_strict": 0, "misplaced": 1, "fixed_strict": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "right"),
    [("Yes", 1.0), (" yes. ", 1.0), ("no", 0.0), (None, 0.0), ("yes it is", 0.0)],
)
def test_answers_are_exact_up_to_case_and_a_full_stop(
    reply: str | None, right: float
) -> None:
    state: dict[str, Any] = {"actors": {"agent": {"answer": reply}}}
    assert answer_is_right(state, "yes") == right
    assert answer_is_right({}, "yes") == 0.0


def test_answers_are_scored_by_type(dataset: Household) -> None:
    episode = Episode("q", "Is there a mug?", dataset.tasks[0].episode.scene, {})
    reference = AnswerReference("q", "exists", (), 3, answer="no")
    start = dataset.tasks[0].episode.start
    task = Task(
        Episode(episode.id, episode.instruction, episode.scene, start), reference
    )
    ended = Trajectory(
        "q", start={}, state={"actors": {"agent": {"answer": "no", "low_level": 6}}}
    )
    (scores,) = score(dataset, [(task, ended)])
    assert (scores["acc"], scores["acc_exists"], scores["sr"]) == (1.0, 1.0, 1.0)
    assert scores["plw_sr"] == 0.5
    assert "acc_counts" not in scores


@pytest.mark.parametrize(
    ("workers", "length"),
    [((), 12 + 2 + 2), (("agent",), 5 + 2), (("agent", "guest"), 16)],
)
def test_low_level_actions_stops_and_failed_turns_are_counted(
    workers: tuple[str, ...], length: int
) -> None:
    """The agent: 5 actions carried out, a failed turn, and a stop. The guest: 7, a rejection, and
    a stop that was refused, which is one turn."""
    done = Feedback()
    failed = Feedback("blocked")
    refused = Feedback("rejected")
    go = Decision(Action("goto", ("mug_1",)))
    stop = Decision(Action("stop", ("yes",)))
    turns = [
        ("agent", go, done),
        ("agent", go, failed),
        ("guest", Rejection("no_action", "prose"), refused),
        ("guest", stop, refused),
        ("agent", stop, done),
    ]
    steps = [
        Step(actor, {}, decision, feedback, {}) for actor, decision, feedback in turns
    ]
    actors = {"agent": {"low_level": 5}, "guest": {"low_level": 7}}
    walk = Trajectory("1", {}, steps, {"actors": actors})
    assert actions_taken(walk, workers) == length


def test_of_a_team_the_worker_s_and_its_helpers_actions_weigh_on_the_path() -> None:
    goals = (Restored("mug", "shelf", False),)
    stop = Decision(STOP)
    meant = PlannedReference("1", "bring", goals, worker="ann", helpers=("bob",))
    task = Task(Episode("1", "Bring the mug.", "flat", {}), meant)
    steps = [Step(actor, {}, stop, Feedback(), {}) for actor in ("ann", "bob", "guide")]
    actors = {
        name: {"low_level": n, "stopped": True}
        for name, n in (("ann", 5), ("bob", 7), ("guide", 90))
    }
    objects = {"mug": {"in": "shelf", "open": False}}
    walk = Trajectory("1", {}, steps, {"actors": actors, "objects": objects})
    unsolved = cast("Dataset", SimpleNamespace(expert_length=lambda task: None))
    (found,) = scorer("household").score(unsolved, [(task, walk)])
    assert (found["sr"], found["low_level"]) == (1, 5 + 7 + 2)


def test_an_answer_under_way_is_right_once_it_is_given(dataset: Household) -> None:
    judge = scorer("household")
    episode = dataset.tasks[0].episode
    assert isinstance(judge, Judged)
    task = Task(episode, AnswerReference("q", "exists", (), 3, answer="no"))
    for messages, right in (("No.", True), ("yes", False)):
        world = dataset.world(episode)
        world.reset(episode)
        before = judge.standing(dataset, task, world)
        world.step("agent", Action("stop", (messages,)))
        after = judge.standing(dataset, task, world)
        assert before is not None
        assert after is not None
        assert (before.success, before.met, before.parts) == (False, 0, 1)
        assert (after.success, after.met, after.parts) == (right, int(right), 1)
        assert judge.standing(dataset, Task(episode, Reference("q")), world) is None


@pytest.mark.parametrize(
    ("name", "episodes"),
    [
        ("household:generated_test", 8),
        ("rearrangement", 4),
        ("grounding_homes", 2),
        ("ma_wah", 1),
    ],
)
def test_goals_met_are_counted_again_whenever_they_change(
    name: str, episodes: int
) -> None:
    rng = random.Random(0)
    env = make(name, include=["expert_action"], max_steps=60)
    counts = set()
    for number in range(episodes):
        _, info = env.reset(episode=number)
        reference = env.game.task.reference
        assert isinstance(reference, HouseholdReference)
        for _ in range(60):
            world = env.game.world
            assert isinstance(world, HouseholdWorld)
            assert world.met(reference) == reference.met(world.now())
            counts.add(world.met(reference))
            action = info["expert_action"]
            if action is None or rng.random() < 0.1:
                action = str(rng.choice(list(env.game.space(env.actor).listed)))
            if action.startswith("stop"):
                action = "turn_left"
            _, _, ended, cut, info = env.step(action)
            if ended or cut:
                break
    assert len(counts) > 1, "no goal was met"


def test_of_an_unknown_best_and_another_family_nothing_is_made_up(
    dataset: Household,
) -> None:
    task = dataset.tasks[0]
    walk = played(dataset, task, Idle)
    unsolved = cast("Dataset", SimpleNamespace(expert_length=lambda task: None))
    (alone,) = scorer("household").score(unsolved, [(task, walk)])
    assert {"plw_sr", "plw_goal_sr"}.isdisjoint(alone)
    assert alone["low_level"] == 1
    assert scorer("household").score(
        dataset, [(Task(task.episode, Reference("1")), walk)]
    ) == [{}]


def test_no_second_run_and_no_table_plays_the_expert_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))

    def length(name: str) -> float:
        settings = {"dataset": {"homes": 1, "episodes": 1}}
        plan = Plan(
            "random", "household", limit=1, settings=settings, out=tmp_path / name
        )
        result = wayword.run(plan)
        assert result.outcome.finished == 1
        (row,) = rows_of([result.path])
        return row.values["plw_goal_sr"].mean

    first = length("first")
    monkeypatch.setattr(expert, "solve", None)
    assert length("second") == first
    (row,) = rows_of([tmp_path / "first"])
    assert row.values["plw_goal_sr"].mean == first

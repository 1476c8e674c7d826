"""One solution a task: for oracles, for examples and for the expert's length."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from helpers.playing import play
from helpers.small_house import SmallHouse
from helpers.two_in_a_flat import TwoInAFlat
from wayword.agents.baselines.oracles import GoldOracle, ShortestPathOracle
from wayword.core.action import Action, Decision
from wayword.core.dataset import Dataset, Task, Training
from wayword.core.episode import Episode, NoSettings, PathReference, Reference
from wayword.core.errors import UsageError
from wayword.core.game import Game, PlanningFailed
from wayword.core.rollout import Setup, rollout
from wayword.datasets.two_phase import TwoPhase
from wayword.worlds.household.goals import Held, HouseholdReference
from wayword.worlds.indoor.world import IndoorWorld
from wayword.worlds.objectnav.world import SolvableSearches


class Schooled(SmallHouse):
    """The small house as its own training split; the task ``closed`` has no solution."""

    closed = ""

    def __init__(self, salt: str = "") -> None:
        super().__init__()
        self.salt = salt

    def training(self) -> Training:
        return Training(self, self.tasks, self.salt)

    def solve(self, task: Task, how: str = "") -> tuple[Action, ...]:
        if task.episode.id == self.closed:
            raise PlanningFailed("closed")
        return super().solve(task, how)


def detour() -> Task:
    """From s to c by way of d."""
    task = SmallHouse().tasks[0]
    return replace(task, reference=PathReference("to_c", ("s", "b", "d", "b", "c")))


def test_gold_is_the_published_way_and_shortest_a_shortest_one() -> None:
    house = SmallHouse()
    task = detour()
    assert [str(a) for a in house.solve(task, "shortest")] == [
        "goto[b]",
        "goto[c]",
        "stop",
    ]
    assert len(house.solve(task)) == len(house.solve(task, "gold")) == 5
    with pytest.raises(
        UsageError, match="no 'expert' solution, only gold and shortest"
    ):
        house.solve(task, "expert")


@pytest.mark.parametrize(
    ("agent", "settings", "how"),
    [
        (GoldOracle, NoSettings(), "gold"),
        (ShortestPathOracle, NoSettings(), "shortest"),
    ],
)
def test_an_oracle_takes_the_actions_of_the_solution(
    agent: type, settings: object, how: str
) -> None:
    played = play(agent, settings, {})
    house = SmallHouse()
    assert tuple(played.actions("agent")) == house.solve(house.tasks[0], how)


def test_examples_solve_and_another_is_drawn_for_one_that_does_not() -> None:
    house = Schooled()
    assert {d.episode.id for d in house.demonstrations(2, 0)} == {"to_c", "to_d"}
    house.closed = "to_c"
    for seed in range(4):
        (shown,) = house.demonstrations(1, seed)
        assert shown.episode.id == "to_d"
        game = shown.game()
        assert all(game.act(*turn).feedback.ok for turn in shown.decisions())
    with pytest.raises(
        UsageError, match="3 examples were requested but the training split has 2"
    ):
        house.demonstrations(3, 0)
    with pytest.raises(UsageError, match="no solved examples to show; set shots=0"):
        SmallHouse().demonstrations(1, 0)


def test_the_draw_depends_on_the_seed_and_its_salt_alone() -> None:
    def first(salt: str) -> list[str]:
        return [
            Schooled(salt).demonstrations(1, seed)[0].episode.id for seed in range(12)
        ]

    assert first("a") == first("a") != first("")


def test_the_experts_length_is_computed_once_for_an_answer() -> None:
    flat = TwoInAFlat()
    task = flat.tasks[0]
    length = flat.expert_length(task)
    assert length == len(flat.solve(task))
    flat.solve = None  # type: ignore[assignment,method-assign] - must not be asked again
    assert flat.expert_length(task) == length


def test_a_task_beyond_the_expert_has_no_length_and_another_answer_another_one() -> (
    None
):
    flat = TwoInAFlat()
    task = flat.tasks[0]
    assert flat.expert_length(task)
    beyond = HouseholdReference(task.episode.id, "beyond", (Held(("box|1",)),))
    assert flat.expert_length(replace(task, reference=beyond)) is None
    given = replace(beyond, expert_length=7)
    assert flat.expert_length(replace(task, reference=given)) == 7


def test_the_two_phase_test_is_solved() -> None:
    tests = TwoPhase()
    for task in list(tests.tasks)[:4]:
        actions = tests.solve(task)
        assert len(actions) == 2
        world = tests.world(task.episode)
        game = Game(world, task.episode)
        decided = [
            game.act(world.actors[0], Decision(action)).decision for action in actions
        ]
        assert decided == [Decision(action) for action in actions]
        assert world.state()["place"] == task.reference.room  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "missing"), [("gold", "path to follow"), ("shortest", "goal to go to")]
)
def test_a_task_without_a_public_answer_is_refused_by_name(
    kind: str, missing: str
) -> None:
    house = SmallHouse()
    unknown = Task(Episode("x", "Go.", "small", {}), Reference("x"))
    world = house.world(unknown.episode)
    line = f"episode x has no published {missing}"
    with pytest.raises(UsageError, match=line):
        house.plan(unknown, world, "agent", kind)
    with pytest.raises(UsageError, match=line):
        SolvableSearches.make_plan(Unsolved(), unknown, world, "agent", kind)


class Unsolved(Dataset):
    """A dataset without solutions."""

    family = SmallHouse.family

    def world(self, episode: Episode) -> IndoorWorld:
        return SmallHouse().world(episode)


def test_an_oracle_on_a_dataset_without_plans_ends_the_run_with_the_reason() -> None:
    setup = Setup(
        Unsolved(),
        lambda tools, actor: GoldOracle(NoSettings(), tools),
    )
    with pytest.raises(UsageError, match="Unsolved has no solutions to its tasks"):
        asyncio.run(rollout(SmallHouse().tasks[0], setup))

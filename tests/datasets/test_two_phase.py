"""The two-phase test: 24 questions, two choices each, and every agent can take it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from wayword.agents.search.lgx import LGX, LGXSettings, PriorAgent
from wayword.core import registry
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.model import Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.two_phase import (
    ROOM_OBJECTS,
    TARGET_ROOMS,
    TwoPhase,
    TwoPhaseReference,
)
from wayword.metrics.two_phase import scorer
from wayword.models.scripted import ScriptedModel
from wayword.settings import make
from wayword.testing.contracts import check_dataset, check_world
from wayword.worlds.two_phase.world import HALLWAY

TEST = TwoPhase(settings=TwoPhase.Settings(shuffles=3))


def play(
    task: Task, agent: type[Any], model: ScriptedModel | None = None, **given: Any
) -> Trajectory:
    settings = make(agent.Settings, given, "agent")
    models = {} if model is None else {"main": model}
    setup = Setup(
        TEST, lambda toolkit, _: agent(settings, toolkit), models, max_steps=10
    )
    trajectory = asyncio.run(rollout(task, setup))
    assert trajectory.ended != "failed", trajectory.error
    return trajectory


def saying(*wanted: str) -> Callable[[Prompt, Sampling], str]:
    """The first of the wanted answers that is on the list asked about."""

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        return next(
            (one for one in wanted if one in (sampling.choices or ())), "none of them"
        )

    return answer


def room(task: Task) -> str:
    assert isinstance(task.reference, TwoPhaseReference)
    return task.reference.room


def score(task: Task, trajectory: Trajectory) -> dict[str, float]:
    return scorer.score(TEST, [(task, trajectory)])[0]


def test_the_questions_are_the_tables() -> None:
    check_dataset(TEST)
    check_world(TEST, episodes=6)
    assert len(TwoPhase().tasks) == 24
    assert len(TEST.tasks) == 72
    for task in TEST.tasks:
        start = task.episode.start
        assert start["room"] != room(task) == TARGET_ROOMS[task.episode.extra["target"]]
        assert sorted(start["objects"]) == sorted(
            [*ROOM_OBJECTS[start["room"]], HALLWAY]
        )
        assert sorted(start["beyond"]) == sorted(
            t for own in ROOM_OBJECTS.values() for t in own
        )
    orders = {tuple(task.episode.start["beyond"]) for task in TEST.tasks}
    assert len(orders) > 40, "shuffles differ"
    assert [t.episode for t in TwoPhase().tasks] == [t.episode for t in TEST.tasks[:24]]


@pytest.mark.parametrize("number", range(0, 24, 5))
def test_the_right_way_scores_one_and_each_failure_is_distinguished(
    number: int,
) -> None:
    task = TEST.tasks[number]
    right = ROOM_OBJECTS[room(task)][1]
    found = score(task, play(task, LGX, ScriptedModel(answers=saying(HALLWAY, right))))
    assert found == {
        "sr": 1.0,
        "phase_1": 1.0,
        "phase_2": 1.0,
        "psr": 1.0,
        "psr_released": 1.0,
    }
    wrong = next(
        objects[0] for own, objects in ROOM_OBJECTS.items() if own != room(task)
    )
    found = score(task, play(task, LGX, ScriptedModel(answers=saying(HALLWAY, wrong))))
    assert found == {
        "sr": 0.0,
        "phase_1": 1.0,
        "phase_2": 0.0,
        "psr": 1.0,
        "psr_released": 1.0,
    }
    stays = task.episode.start["objects"][
        0 if task.episode.start["objects"][0] != HALLWAY else 1
    ]
    trajectory = play(task, LGX, ScriptedModel(answers=saying(stays)))
    assert score(task, trajectory) == {
        "sr": 0.0,
        "phase_1": 0.0,
        "psr": 1.0,
        "psr_released": 1.0,
    }
    assert len(trajectory.steps) == 1


def test_an_answer_that_names_nothing_listed_is_replaced_by_any_and_counted() -> None:
    task = TEST.tasks[0]
    trajectory = play(task, LGX, ScriptedModel(answers=saying()), decoding="free")
    decision = trajectory.steps[0].decision
    assert isinstance(decision, Decision)
    assert decision.action.arguments[0] in task.episode.start["objects"]
    assert decision.fallback_for is not None
    assert decision.fallback_for.said == "none of them"
    assert score(task, trajectory)["psr"] == 0.0


def test_the_prior_takes_it_without_a_model() -> None:
    found = [score(task, play(task, PriorAgent)) for task in TEST.tasks[:24]]
    assert sum(one["phase_1"] for one in found) == 5, (
        "the words of a room are likelier than a way out"
    )
    assert sum(one["sr"] for one in found) == 4
    assert all("psr" not in one for one in found), "nobody was asked"


@pytest.mark.parametrize("name", ["act", "react"])
def test_agents_for_any_world_take_it(name: str) -> None:
    task = TEST.tasks[0]
    right = ROOM_OBJECTS[room(task)][0]
    answers = [
        f"Thought: Out of here.\nAction: go[{item}]" for item in (HALLWAY, right)
    ]
    agent: Any = registry.load("agent", name)
    trajectory = play(task, agent, ScriptedModel(answers=answers), decoding="free")
    assert score(task, trajectory)["sr"] == 1.0


def test_chance_is_a_third_and_then_a_quarter() -> None:
    agent: Any = registry.load("agent", "random")
    many = TwoPhase(settings=TwoPhase.Settings(shuffles=25))
    found = [score(task, play(task, agent)) for task in many.tasks]
    assert sum(one["phase_1"] for one in found) / len(found) == pytest.approx(
        1 / 3, abs=0.06
    )
    assert sum(one["sr"] for one in found) / len(found) == pytest.approx(
        1 / 12, abs=0.04
    )


def test_directions_are_refused_where_there_are_none() -> None:
    settings = LGXSettings(prompt="captions")
    setup = Setup(TEST, lambda toolkit, _: LGX(settings, toolkit), max_steps=3)
    with pytest.raises(UsageError, match="needs views"):
        asyncio.run(rollout(TEST.tasks[0], setup))


def test_the_world_refuses_what_is_not_listed_and_starts_that_lead_nowhere() -> None:
    task = TEST.tasks[0]
    world = TEST.world(task.episode)
    world.reset(task.episode)
    with pytest.raises(ValueError, match="not on the menu"):
        world.step("agent", Action("go", ("bed",)))
    world.step("agent", STOP)
    assert world.done("agent")
    assert world.observe("agent").objects == ()
    start = {**task.episode.start, "objects": ["couch", "spaceship"]}
    with pytest.raises(DataError, match="spaceship"):
        world.reset(Episode("x", "Find it.", "home", start))
    start = {**task.episode.start, "objects": ["couch"]}
    with pytest.raises(DataError, match="has no choices"):
        world.reset(Episode("x", "Find it.", "home", start))
    with pytest.raises(UsageError, match="shuffles"):
        TwoPhase.Settings(shuffles=0)
    with pytest.raises(UsageError, match="no split"):
        TwoPhase("val")

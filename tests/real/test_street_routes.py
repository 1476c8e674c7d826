"""Every published route here can be walked, and by its command-line name the gold oracle does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from helpers.gold_actions import gold_actions
from helpers.sampling import some
from wayword.agents.baselines.oracles import GoldOracle, ShortestPathOracle
from wayword.agents.baselines.simple import ForwardAgent
from wayword.core import registry
from wayword.core.dataset import Task
from wayword.core.episode import PathReference
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.metrics import scoring

pytestmark = pytest.mark.real

SPLITS = (
    "map2seq:seen_dev",
    "map2seq:seen_test",
    "map2seq:unseen_dev",
    "touchdown:unseen_dev",
)

TOO_LONG = {"touchdown:unseen_dev": {"11566"}}
"""Its 66 panoramas take 68 actions, and an episode has 55 steps."""


def load(name: str, data: Path, **settings: str):  # type: ignore[no-untyped-def]
    dataset, _, split = name.partition(":")
    found = registry.load("dataset", dataset)
    return found(split, data, found.Settings(**settings))


def play(agent, dataset, tasks=(), max_steps: int | None = None):  # type: ignore[no-untyped-def]
    def one(task: Task) -> Trajectory:
        setup = Setup(
            dataset,
            lambda toolkit, _: agent(agent.Settings(), toolkit),
            max_steps=max_steps or dataset.max_steps,
        )
        return asyncio.run(rollout(task, setup))

    return [(task, one(task)) for task in tasks or dataset.tasks]


def sample(name, dataset):  # type: ignore[no-untyped-def]
    """Every fifth task, and those that are too long."""
    numbers = {task.episode.id: number for number, task in enumerate(dataset.tasks)}
    chosen = {*some(range(len(numbers)), 5), *map(numbers.get, TOO_LONG.get(name, ()))}
    return [dataset.tasks[number] for number in sorted(chosen)]


def places(trajectory: Trajectory) -> tuple[str, ...]:
    walked: list[str] = []
    for where in trajectory.visited("agent"):
        if not walked or where["panorama"] != walked[-1]:
            walked.append(where["panorama"])
    return tuple(walked)


@pytest.mark.parametrize("name", SPLITS)
def test_gold_reproduces_every_route_and_scores_in_full(name: str, data: Path) -> None:
    dataset = load(name, data)
    assert len(dataset.tasks) == 800
    pairs = play(GoldOracle, dataset, sample(name, dataset))
    scores = scoring.score(dataset, pairs)
    short = set()
    for (task, trajectory), values in zip(pairs, scores, strict=True):
        assert trajectory.ended != "failed", trajectory.error
        if trajectory.ended == "step_limit":
            short.add(task.episode.id)
            continue
        assert isinstance(task.reference, PathReference)
        assert places(trajectory) == task.reference.path
        assert all(step.feedback.ok for step in trajectory.steps)
        assert (values["tc"], values["spd"], values["kpa"], values["ndtw"]) == (
            1,
            0,
            1,
            1,
        )
        assert values["kpa_released"] == 1
    assert short == TOO_LONG.get(name, set())


def test_the_long_route_is_walked_when_there_is_time(data: Path) -> None:
    dataset = load("touchdown:unseen_dev", data)
    (task,) = [task for task in dataset.tasks if task.episode.id == "11566"]
    graph = dataset.graph(task.episode.scene)
    words = gold_actions(graph, task.reference.path, task.episode.start["heading"])
    assert len(words) == 68
    world = dataset.world(task.episode)
    world.reset(task.episode)
    plan = world.along("agent", task.reference.path)
    assert [str(action) for action in plan] == words
    for action in plan:
        assert world.step("agent", action).ok
    assert world.pose("agent")["panorama"] == task.reference.goal


@pytest.mark.parametrize("transition", ["original", "paper"])
def test_routes_can_be_walked_under_the_other_transitions(
    transition: str, data: Path
) -> None:
    for name in SPLITS:
        dataset = load(name, data, transition=transition)
        for task in some(dataset.tasks, 5):
            world = dataset.world(task.episode)
            world.reset(task.episode)
            walked = [task.reference.path[0]]
            for action in world.along("agent", task.reference.path):
                world.step("agent", action)
                here = world.pose("agent")["panorama"]
                walked += [here] if here != walked[-1] else []
            assert tuple(walked) == task.reference.path


@pytest.mark.parametrize("name", ["map2seq:unseen_dev", "touchdown:unseen_dev"])
def test_the_shortest_path_oracle_reaches_every_goal(name: str, data: Path) -> None:
    dataset = load(name, data)
    pairs = play(ShortestPathOracle, dataset, sample(name, dataset))
    scores = scoring.score(dataset, pairs)
    for (task, trajectory), values in zip(pairs, scores, strict=True):
        if task.episode.id not in TOO_LONG.get(name, set()):
            assert trajectory.ended == "stopped"
            assert (values["tc"], values["spd"], values["steps"] <= 55) == (1, 0, True)


def test_the_forward_baseline_is_far_below_gold_and_stops_at_40_panoramas(
    data: Path,
) -> None:
    dataset = load("map2seq:unseen_dev", data)
    pairs = play(ForwardAgent, dataset)
    scores = scoring.score(dataset, pairs)
    tc = sum(values["tc"] for values in scores) / 800
    assert 0 < tc < 0.15
    assert {len(places(t)) for _, t in pairs if len(t.steps) == 40} == {40}


def test_map2seq_starts_with_a_forward_that_faces_the_route(data: Path) -> None:
    dataset = load("map2seq:unseen_dev", data)
    assert {tuple(task.episode.extra["opening"]) for task in dataset.tasks} == {
        ("forward",)
    }
    assert sum("landmarks" in task.episode.extra for task in dataset.tasks) == 800
    assert dataset.tasks[0].episode.id == "6918"
    assert dataset.tasks[0].episode.start["heading"] == 22


def test_touchdown_headings_are_snapped(data: Path) -> None:
    dataset = load("touchdown:unseen_dev", data)
    task = dataset.tasks[0]
    assert task.episode.start == {"panorama": "pGD9GXAZChwjjq_1LMYp-Q", "heading": 10}
    graph = dataset.graph("")
    for task in dataset.tasks:
        exits = graph.exits(graph.index[task.episode.start["panorama"]])
        assert task.episode.start["heading"] in [heading for heading, _ in exits]


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("map2seq:unseen_dev", 1172),
        ("touchdown:unseen_dev", 1172),
        ("map2seq:seen_dev", 578),
        ("map2seq:seen_test", 594),
    ],
)
def test_demonstrations_are_training_routes_only(
    name: str, pool: int, data: Path
) -> None:
    dataset = load(name, data)
    drawn = dataset.demonstrations(pool, seed=1)
    graph = dataset.graph("")
    if "map2seq" in name:
        evaluated = {task.episode.id for task in dataset.tasks}
    else:
        evaluated = set()
    assert len({shown.episode.id for shown in drawn}) == pool
    for shown in drawn:
        assert shown.episode.id not in evaluated
    for shown in drawn[:20]:
        world = shown.world()
        world.reset(shown.episode)
        for action in shown.actions:
            assert graph.area(graph.index[world.pose("agent")["panorama"]]) == "seen"
            assert world.step("agent", action).ok
        assert world.done("agent")
    two = [shown.episode.id for shown in dataset.demonstrations(2, seed=7)]
    assert two == [shown.episode.id for shown in dataset.demonstrations(2, seed=7)]
    assert two != [shown.episode.id for shown in dataset.demonstrations(2, seed=8)]
    with pytest.raises(UsageError, match=f"the training split has {pool}"):
        dataset.demonstrations(pool + 1, seed=1)

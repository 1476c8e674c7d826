"""Rollouts of the released navigator, state by state and score by score, and a published trace."""

from __future__ import annotations

import gzip
import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from helpers.gold_actions import gold_actions
from wayword.core import registry
from wayword.core.action import Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.game import Game
from wayword.core.trajectory import Trajectory
from wayword.metrics.scoring import scorer
from wayword.worlds.street.world import StreetWorld

pytestmark = pytest.mark.real

FILES = {
    "map2seq_seen_dev": ("map2seq", "seen_dev", 200),
    "map2seq_unseen_dev": ("map2seq", "unseen_dev", 400),
    "touchdown_unseen_dev": ("touchdown", "unseen_dev", 300),
}


def load(name: str, split: str, data: Path) -> Any:
    found = registry.load("dataset", name)
    return found(split, data, found.Settings())


def rollouts(data: Path, file: str) -> list[dict[str, Any]]:
    with gzip.open(
        data / "reference_scores" / f"{file}_rollouts.jsonl.gz", "rt"
    ) as lines:
        return [json.loads(line) for line in lines]


def states_of(dataset: Any, start: list[Any], words: list[str]) -> list[list[Any]]:
    """The states that the bare transition function goes through."""
    navigator = dataset.navigator
    graph = dataset.graph("")
    state = navigator.start(graph.index[start[0]], start[1])
    found = []
    for word in words:
        state = navigator.step(state, word)
        stand = navigator.stand(state)
        found.append([graph.ids[stand.panorama], stand.heading])
    return found


def replayed(dataset: Any, task: Task, words: list[str]) -> Trajectory:
    """The actions as said, in the world, as the released navigator limits them."""
    world = StreetWorld(dataset.navigator, "released")
    game = Game(world, task.episode)
    for word in words:
        game.act("agent", Decision(Action(word)))
    return game.finished()


@pytest.mark.parametrize("file", FILES)
def test_rollouts_go_through_the_recorded_states(file: str, data: Path) -> None:
    name, split, count = FILES[file]
    dataset = load(name, split, data)
    records = rollouts(data, file)
    assert len(records) == count
    for record in records:
        assert record["states"][0] == record["start"]
        assert (
            states_of(dataset, record["start"], record["executed"])
            == record["states"][1:]
        )


@pytest.mark.parametrize("file", FILES)
def test_what_is_stated_is_carried_out_as_recorded_and_scores_as_recorded(
    file: str, data: Path
) -> None:
    name, split, count = FILES[file]
    dataset = load(name, split, data)
    tasks = {task.episode.id: task for task in dataset.tasks}
    records = rollouts(data, file)
    pairs = []
    for record in records:
        task = tasks[str(record["id"])]
        start = task.episode.start
        assert [start["panorama"], start["heading"]] == record["start"], (
            "snapped on load"
        )
        trajectory = replayed(dataset, task, record["proposed"])
        pairs.append((task, trajectory))
        done = [step.feedback.details["executed"] for step in trajectory.steps]
        assert done == record["executed"]
        walked = [
            [step.pose["panorama"], step.pose["heading"]] for step in trajectory.steps
        ]
        assert walked == record["states"][1:]
    found = scorer("street").score(dataset, pairs)
    assert len(found) == count
    for record, values in zip(records, found, strict=True):
        released = {key: values[key] for key in ("tc", "spd", "kpa_released")}
        assert released == pytest.approx(record["released"], abs=1e-12)


@pytest.mark.parametrize("file", FILES)
def test_gold_actions_are_the_released_oracles(file: str, data: Path) -> None:
    name, split, _ = FILES[file]
    dataset = load(name, split, data)
    graph = dataset.graph("")
    paths = {task.episode.id: task.reference.path for task in dataset.tasks}
    for record in rollouts(data, file):
        path = paths[str(record["id"])]
        assert gold_actions(graph, path, record["start"][1]) == record["gold_actions"]


def test_the_published_trace_replays_to_its_states_and_metrics(data: Path) -> None:
    """Of another agent (MMCNav) on the same navigator. Three things to know about the file:

    its action lists begin with ``init``, which is no action; its KPA is the released one; its nDTW
    counts links, with a threshold of one link.
    """
    text = (data / "touchdown" / "touchdown_dev_trace_4754.json").read_text()
    trace = json.loads(text)["instances"]["4754"]
    dataset = load("touchdown", "unseen_dev", data)
    (task,) = [task for task in dataset.tasks if task.episode.id == "4754"]
    assert task.episode.start["heading"] == trace["start_heading"]

    for who in ("gold", "agent"):
        start, *states = trace[f"{who}_states"]
        assert trace[f"{who}_actions"][0] == "init"
        assert states_of(dataset, start, trace[f"{who}_actions"][1:]) == states
    assert (
        gold_actions(dataset.graph(""), task.reference.path, 0.0)
        == trace["gold_actions"][1:]
    )

    trajectory = replayed(dataset, task, trace["agent_actions"][1:])
    places = [where["panorama"] for where in trajectory.visited("agent")]
    assert [place for place, _ in groupby(places)] == trace["agent_pano_path"]
    (values,) = scorer("street").score(dataset, [(task, trajectory)])
    assert (values["tc"], values["spd"]) == (
        trace["metrics"]["tc"],
        trace["metrics"]["spd"],
    )
    assert values["kpa_released"] == trace["metrics"]["kpa"] == 0.5
    assert values["ndtw"] == pytest.approx(trace["metrics"]["nDTW"], abs=1e-12)
    assert values["kpa"] == pytest.approx(1 / 3), (
        "first step and junction wrong, goal reached"
    )


def test_a_start_off_every_way_keeps_its_heading(data: Path) -> None:
    dataset = load("touchdown", "unseen_dev", data)
    world = dataset.world(dataset.tasks[0].episode)
    place = dataset.tasks[0].episode.start["panorama"]
    world.reset(Episode("1", "Go.", "touchdown", {"panorama": place, "heading": 0.0}))
    assert world.pose("agent") == {"panorama": place, "heading": 0}

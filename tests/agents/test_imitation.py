"""The trained policy plays generated houses with the weights it is shipped with."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wayword.agents.baselines import imitation
from wayword.agents.baselines.imitation import (
    FEATURES,
    WEIGHTS,
    ImitationAgent,
    ImitationSettings,
    Option,
    PartialWalk,
    PreexploredImitation,
    PreexploredSettings,
    encode,
    load_network,
    tokenize,
)
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import PathReference
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.houses import Houses
from wayword.metrics.scoring import scorer
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import IndoorWorld

LIMIT = 9_000_000
"""Bytes that the weights and their vocabulary may take together."""


def make(toolkit: Toolkit, actor: str) -> Agent:
    return ImitationAgent(ImitationSettings(), toolkit)


def walk(houses: Houses, number: int) -> Trajectory:
    return asyncio.run(rollout(houses.tasks[number], Setup(houses, make, max_steps=15)))


def test_it_finds_six_goals_in_ten_in_houses_it_never_saw() -> None:
    """Three of four when the weights were made; the random walker finds few."""
    houses = Houses("test", None, Houses.Settings())
    pairs = [(houses.tasks[number], walk(houses, number)) for number in range(60)]
    assert not [played.error for _, played in pairs if played.error]
    scores = scorer("indoor").score(houses, pairs)
    assert sum(score["sr"] for score in scores) >= 36


def test_it_repeats_itself() -> None:
    houses = Houses("test", None, Houses.Settings())
    first = walk(houses, 7)
    again = walk(houses, 7)
    assert first.actions("agent") == again.actions("agent")


def test_it_plays_without_torch() -> None:
    code = "import sys, wayword.agents.baselines.imitation as i"
    opened = f"{code}; i.load_network(i.WEIGHTS / 'imitation.onnx')"
    run = f"{opened}; assert not [m for m in sys.modules if m.split('.')[0] == 'torch']"
    subprocess.run([sys.executable, "-c", run], check=True)


def test_its_files_are_small() -> None:
    parts = [WEIGHTS / f"imitation{end}" for end in (".onnx", ".json", "_speaker.onnx")]
    assert sum(part.stat().st_size for part in parts) < LIMIT


def test_missing_weights_are_named() -> None:
    with pytest.raises(UsageError, match=r"nowhere\.onnx"):
        ImitationAgent(ImitationSettings(weights="nowhere.onnx"), Toolkit())


def test_an_empty_text_still_has_a_number() -> None:
    assert encode(tokenize("..."), {"": 0, "?": 1}, "caption") == [0]


def test_features_of_stopping_hold_no_direction() -> None:
    houses = Houses("test", None, Houses.Settings(houses=1, episodes=1))
    task = houses.tasks[0]
    world = houses.world(task.episode)
    world.reset(task.episode)
    seen = world.observe("agent")
    table = PartialWalk.start(seen, 1).geometry(seen)
    assert table.shape == (1 + len(seen.neighbors), FEATURES)
    assert not table[0].any()  # at the start: no turn, no length, no distance walked


class TwoBranches:
    """A network that takes the first move at the start, and regrets it at the next viewpoint."""

    vocabulary: Mapping[str, int] = {}
    width = 1

    def __init__(self) -> None:
        # stop, first and second neighbor
        self.scores = [
            [-9.0, -0.1, -1.0],
            [-9.0],
            [0.0],
        ]
        self.histories: list[int] = []

    def __call__(self, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        count = inputs["geometry"].shape[1]
        self.histories.append(inputs["history"].shape[1])
        scores = [*self.scores.pop(0), *[-99.0] * count][:count]
        return np.array(scores), np.zeros((count, 1), dtype=np.float32)


def two_branches(
    monkeypatch: pytest.MonkeyPatch, backtrack: bool, max_steps: int
) -> tuple[list[str], TwoBranches, tuple[str, ...]]:
    """Play with `TwoBranches`: the actions, the network, the start and its first two neighbors."""
    network = TwoBranches()
    monkeypatch.setattr(imitation, "load_network", lambda path: network)
    houses = Houses("test", None, Houses.Settings())
    task = houses.tasks[0]
    start = task.episode.start["viewpoint"]
    first, second, *_ = houses.graph(task.episode.scene).neighbors(start)

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return ImitationAgent(ImitationSettings(backtrack=backtrack), toolkit)

    played = asyncio.run(rollout(task, Setup(houses, build, max_steps=max_steps)))
    assert not played.error
    actions = [str(action) for action in played.actions("agent")]
    return actions, network, (start, first.viewpoint, second.viewpoint)


def test_it_goes_back_to_a_more_probable_branch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    actions, network, places = two_branches(monkeypatch, backtrack=True, max_steps=9)
    start, first, second = places
    assert actions == [f"goto[{first}]", f"goto[{start}]", f"goto[{second}]", "stop"]
    assert network.histories == [0, 1, 1]  # the branch's own walk has one step


@pytest.mark.parametrize(("backtrack", "max_steps"), [(False, 9), (True, 2)])
def test_it_stays_if_backtracking_is_off_or_the_steps_run_out(
    monkeypatch: pytest.MonkeyPatch, backtrack: bool, max_steps: int
) -> None:
    actions, _, (_, first, _) = two_branches(monkeypatch, backtrack, max_steps)
    assert actions == [f"goto[{first}]", "stop"]


def test_the_preexplored_setting_takes_a_shortest_path_and_says_what_it_explored() -> (
    None
):
    houses = Houses("test", None, Houses.Settings())
    task = houses.tasks[0]

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return PreexploredImitation(PreexploredSettings(), toolkit)

    played = asyncio.run(rollout(task, Setup(houses, build, max_steps=15)))
    places = [str(step.pose["viewpoint"]) for step in played.steps]
    assert houses.graph(task.episode.scene).shortest_path(
        task.episode.start["viewpoint"], places[-1]
    )[1:] == list(dict.fromkeys(places))
    (note,) = [note for step in played.steps for note in step.notes]
    assert note.kind == "explored"
    assert note.details["metres"] > 0


def test_a_viewpoint_without_neighbors_is_where_it_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    houses = Houses("test", None, Houses.Settings(houses=1, episodes=1))
    task = houses.tasks[0]
    graph = houses.graph(task.episode.scene)
    start = graph.index[task.episode.start["viewpoint"]]
    alone = ViewpointGraph(
        graph.scan,
        (graph.ids[start],),
        graph.positions[[start]],
        np.zeros((0, 2), np.int32),
        np.zeros((1, 1)),
    )
    monkeypatch.setattr(houses, "world", lambda episode: IndoorWorld(alone))

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return PreexploredImitation(PreexploredSettings(), toolkit)

    played = asyncio.run(rollout(task, Setup(houses, build, max_steps=5)))
    assert (played.ended, len(played.steps)) == ("stopped", 1)


def test_the_speaker_decides_between_candidates() -> None:
    houses = Houses("test", None, Houses.Settings())
    task = houses.tasks[0]
    graph = houses.graph(task.episode.scene)
    candidates = set[str]()

    def last_place(favorite: str) -> str:
        class Favoring(PreexploredImitation):
            def _spoken(self, stop: Option) -> float:
                candidates.add(stop.walk.path[-1])
                return 99.0 * (stop.walk.path[-1] == favorite)

        def build(toolkit: Toolkit, actor: str) -> Agent:
            return Favoring(PreexploredSettings(), toolkit)

        played = asyncio.run(
            rollout(task, Setup(houses, build, max_steps=houses.max_steps))
        )
        assert not played.error
        return str(played.steps[-1].pose["viewpoint"])

    usual = last_place("")
    favorite = max(candidates, key=lambda place: graph.distance(usual, place))
    assert graph.distance(usual, favorite) > 6
    assert graph.distance(last_place(favorite), favorite) < 3


def test_the_instruction_of_a_path_is_likelier_than_another_one() -> None:
    houses = Houses("test", None, Houses.Settings())
    task = houses.tasks[0]
    words = [
        encode(
            tokenize(text),
            load_network(WEIGHTS / "imitation.onnx").vocabulary,
            "instruction",
        )
        for text in (
            task.episode.instruction,
            "Go up the stairs and wait in the bathroom.",
        )
    ]
    assert isinstance(task.reference, PathReference)
    goal = task.reference.goal
    found = list[list[float]]()

    class Watched(PreexploredImitation):
        def _spoken(self, stop: Option) -> float:
            if stop.walk.path[-1] == goal and not found:
                logs = []
                for self._words in words:
                    logs.append(super()._spoken(stop) / (len(self._words) + 1))
                found.append(logs)
            return 0.0

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return Watched(PreexploredSettings(), toolkit)

    played = asyncio.run(
        rollout(task, Setup(houses, build, max_steps=houses.max_steps))
    )
    assert not played.error
    (logs,) = found
    assert logs[1] < logs[0] < 0


def test_a_missing_speaker_is_named(tmp_path: Path) -> None:
    for end in (".onnx", ".json"):
        (tmp_path / f"other{end}").symlink_to(WEIGHTS / f"imitation{end}")
    weights = str(tmp_path / "other.onnx")
    PreexploredImitation(PreexploredSettings(weights=weights, speaker=False), Toolkit())
    with pytest.raises(UsageError, match=r"other_speaker\.onnx: no such weights"):
        PreexploredImitation(PreexploredSettings(weights=weights), Toolkit())

"""The houses dataset keeps the dataset protocol: lazy, deterministic, with honest references."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from wayword.core.action import STOP
from wayword.core.dataset import Dataset
from wayword.core.episode import PathReference
from wayword.core.errors import DataError, UsageError
from wayword.datasets.houses import Houses, HousesSettings

SMALL = HousesSettings(houses=4, episodes=36, seed=3)

DIGEST = """
import hashlib
from wayword.datasets.houses import Houses
houses = Houses("test", None, Houses.Settings(houses=3, episodes=9))
eyes, digest = houses.perceiver(), hashlib.sha256()
for task in houses.tasks:
    digest.update(repr(task).encode())
    for viewpoint in houses.graph(task.episode.scene).ids:
        digest.update(repr(eyes.perceive(task.episode.scene, viewpoint)).encode())
print(digest.hexdigest())
"""


def test_it_is_a_dataset() -> None:
    houses = Houses("test", None, SMALL)
    assert isinstance(houses, Dataset)
    assert (houses.family.name, houses.max_steps, houses.files) == ("indoor", 15, {})
    assert len(houses.tasks) == 36 == len(list(houses.tasks))
    assert houses.tasks[-1] == houses.tasks[35]
    with pytest.raises(IndexError):
        houses.tasks[36]


def test_nothing_is_generated_before_it_is_requested() -> None:
    began = time.process_time()
    houses = Houses("train", None, HousesSettings(houses=100_000, episodes=3_000_000))
    assert len(houses.tasks) == 3_000_000
    assert len(houses.tasks[:2]) == 2
    assert time.process_time() - began < 5


def test_a_gold_path_is_a_shortest_path_of_three_to_six_steps() -> None:
    houses = Houses("test", None, SMALL)
    for task in houses.tasks:
        assert isinstance(task.reference, PathReference)
        graph = houses.graph(task.episode.scene)
        path = task.reference.path
        assert 3 <= len(path) - 1 <= 6
        length = sum(graph.bearing(a, b)[2] for a, b in pairwise(path))
        assert length == pytest.approx(graph.distance(path[0], path[-1]))
        assert task.reference.shortest == pytest.approx(length)
        assert path[0] == task.episode.start["viewpoint"]
        assert all(b in graph.adjacent[a] for a, b in pairwise(path))


def test_an_id_means_the_same_in_datasets_of_other_sizes() -> None:
    few = {task.episode.id: task for task in Houses("test", None, SMALL).tasks}
    sizes = HousesSettings(houses=7, episodes=140, seed=3)
    more = {task.episode.id: task for task in Houses("test", None, sizes).tasks}
    shared = few.keys() & more.keys()
    assert len(few) == 36
    assert len(more) == 140
    assert len(shared) > 20
    assert all(few[name] == more[name] for name in shared)


def test_the_first_episodes_lie_in_different_houses() -> None:
    houses = Houses("test", None, SMALL)
    assert len({task.episode.scene for task in houses.tasks[:4]}) == 4


def test_three_wordings_share_a_path() -> None:
    paths: dict[str, set[str]] = {}
    for task in Houses("test", None, SMALL).tasks:
        paths.setdefault(task.episode.id.rsplit("_", 1)[0], set()).add(
            task.episode.instruction
        )
    assert all(len(reply) == 3 for reply in paths.values())


def test_splits_and_seeds_give_other_houses() -> None:
    one = Houses("test", None, SMALL)
    others = [
        Houses("train", None, SMALL),
        Houses("test", None, HousesSettings(houses=4, episodes=36, seed=4)),
    ]
    mine = {one.house(one.scene(i)).plan for i in range(4)}
    for other in others:
        assert not mine & {other.house(other.scene(i)).plan for i in range(4)}


def test_the_same_bytes_under_any_hash_seed() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == 64


def test_demonstrations_are_solved_episodes_of_the_train_split() -> None:
    houses = Houses("test", None, SMALL)
    drawn = houses.demonstrations(3, seed=1)
    assert [d.episode.id for d in drawn] == [
        d.episode.id for d in houses.demonstrations(3, seed=1)
    ]
    assert len({d.episode.id for d in drawn}) == 3
    for each in drawn:
        assert each.episode.id.startswith("train-")
        world = each.world()
        world.reset(each.episode)
        assert all(world.step("agent", action).ok for action in each.actions)
        assert each.actions[-1] == STOP
        assert world.done("agent")


@pytest.mark.parametrize(
    "wrong",
    [
        {"houses": 0},
        {"episodes": 0},
        {"rooms": 2},
        {"rooms": 99},
        {"houses": 1, "episodes": 37},
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"must be at (least|most) \d+"):
        HousesSettings(**wrong)


def test_unknown_names_end_in_one_clear_line() -> None:
    with pytest.raises(UsageError, match="did you mean 'test'"):
        Houses("tset", None, SMALL)
    houses = Houses("test", None, SMALL)
    with pytest.raises(UsageError, match="is not a generated house"):
        houses.graph("17DRP5sb8fy")
    with pytest.raises(DataError, match="has no percept"):
        houses.perceiver().perceive(houses.scene(0), "nowhere")


@pytest.mark.parametrize("rooms", [5, 9, 17])
def test_every_house_has_twelve_paths(rooms: int) -> None:
    houses = Houses(
        "train", None, HousesSettings(houses=12, episodes=432, seed=8, rooms=rooms)
    )
    for number in range(12):
        paths = {houses.route(houses.scene(number), path).path for path in range(12)}
        assert len(paths) == 12

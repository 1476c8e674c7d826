"""Train and test splits of generated datasets share no episode: neither what an agent reads of
them, nor the contents of their worlds. A new generated dataset fails here until it is compared.

Texts of ``grounding``, whose levels have few, may be equal; its states are not.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from helpers.generated import generated
from wayword.envs.environment import make
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan

SMALL: dict[str, dict[str, Any]] = {
    "houses": {"houses": 2, "episodes": 8},
    "towns": {"towns": 2, "episodes": 8},
    "apartments": {"homes": 2, "episodes": 8},
    "household": {"homes": 2, "episodes": 14},
    "iqa": {"homes": 2, "episodes": 12},
    "rearrangement": {"homes": 2, "episodes": 4},
    "grounding_homes": {"homes": 2, "episodes": 8},
    "ma_wah": {"homes": 2, "episodes": 4},
    "ma_household": {"homes": 2, "episodes": 4},
}
GROUNDING = {"levels": ("GoToObj", "PickupLoc", "Open"), "episodes": 12}


@pytest.fixture(autouse=True)
def without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYWORD_DATA", raising=False)


def hashes(name: str, split: str, settings: dict[str, Any]) -> list[str]:
    """Of each episode's task and of the contents of its world at the start. Seeds and the names of
    episodes, scenes and places say nothing of the contents."""
    dataset = open_dataset(
        Plan("random", f"{name}:{split}", settings={"dataset": settings})
    )
    found = []
    for task in dataset.tasks:
        world: Any = dataset.world(task.episode)
        world.reset(task.episode)
        start: dict[str, Any] = {
            k: v for k, v in task.episode.start.items() if k != "seed"
        }
        state = world.state()
        # Its state is a place's name
        if (graph := getattr(world, "graph", None)) is not None:
            place = start.pop("viewpoint", None) or start.pop("panorama")
            start["place"] = graph.index[place]
            state = graph.positions.tolist()
        content = [task.episode.instruction, start, state]
        found.append(sha256(json.dumps(content, sort_keys=True).encode()).hexdigest())
    return found


def test_every_generated_dataset_with_a_train_split_is_compared() -> None:
    with_both = {name for name, splits in generated().items() if len(splits) == 2}
    assert with_both == {*SMALL, "grounding"}, "add the new dataset to SMALL"


@pytest.mark.parametrize("name", SMALL)
def test_no_train_episode_reads_as_a_test_episode(name: str) -> None:
    read = {}
    for kind, split in generated()[name].items():
        env = make(f"{name}:{split}", settings=SMALL[name])
        texts = [str(env.reset(episode=number)[0]) for number in range(len(env.tasks))]
        read[kind] = set(texts)
        assert len(read[kind]) == len(texts)
    assert not read["test"] & read["train"]


@pytest.mark.parametrize("name", [*SMALL, "grounding"])
def test_no_train_state_equals_a_test_state(name: str) -> None:
    settings = SMALL.get(name, GROUNDING)
    first, again = (hashes(name, generated()[name]["test"], settings) for _ in range(2))
    train = hashes(name, generated()[name]["train"], settings)
    assert first == again, "the same contents have the same hash"
    assert not {*first} & {*train}

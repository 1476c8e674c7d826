"""Tasks that are made when they are looked at: looked up by id, few are made."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wayword.core.dataset import Dataset, DrawnTasks, Task, of_ids
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError
from wayword.core.world import Family, World
from wayword.datasets.r2r import R2R


def test_tasks_that_know_their_ids_are_made_only_where_required_and_by_scene() -> None:
    made: list[int] = []

    def make(number: int) -> Task:
        made.append(number)
        name = f"e{number}"
        return Task(Episode(name, "go", f"s{number % 2}", {}), Reference(name))

    expected = {"e3", "e6", "e7", "e8"}
    scene = DrawnTasks(
        99, make, lambda number: f"e{number}", lambda number: f"s{number % 2}"
    )
    found = of_ids(scene, expected)
    assert list(found) == ["e3", "e6", "e7", "e8"]
    assert all(task.episode.id == name for name, task in found.items())
    assert made == [6, 8, 3, 7]
    made.clear()
    assert list(of_ids(DrawnTasks(99, make), {"e3"})) == ["e3"]
    assert made == [0, 1, 2, 3], "made up to the required one if ids are unknown"
    assert of_ids(scene, {"none"}) == {}


@dataclass(frozen=True)
class Settings:
    floor: int = 3


class Rides(Dataset):
    """A dataset whose constructor does not call that of its base class."""

    Settings = Settings
    family = Family("lift")

    def __init__(
        self, split: str = "all", folder: Any = None, settings: Any = None
    ) -> None:
        floor = (settings or Settings()).floor
        self.tasks = [Task(Episode(f"to_{floor}", "Up.", "", {}), Reference("e"))]

    def world(self, episode: Episode) -> World:
        raise NotImplementedError


@pytest.mark.parametrize("settings", [None, Settings(5)])
def test_a_dataset_is_pickled_by_the_arguments_that_built_it(settings: Any) -> None:
    dataset = Rides(folder=Path("here"), settings=settings)
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.tasks == dataset.tasks
    assert copy.split == "all"
    assert copy.folder == Path("here")
    assert copy.settings == dataset.settings == (settings or Settings())


class Ring(Rides):
    """A dataset whose constructor takes another argument first."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


@dataclass(frozen=True)
class Frozen(Rides):
    """A dataset whose fields cannot be assigned."""

    size: int = 3


def test_a_frozen_dataclass_is_a_dataset_too() -> None:
    dataset = Frozen(size=5)
    assert pickle.loads(pickle.dumps(dataset)).size == dataset.size == 5


def test_another_first_argument_is_no_split() -> None:
    dataset = pickle.loads(pickle.dumps(Ring(8)))
    assert (dataset.size, dataset.split) == (8, "all")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Ring()  # type: ignore[call-arg]


def test_settings_are_no_mapping_whatever_the_constructor_does() -> None:
    with pytest.raises(UsageError, match="such as Settings\\(floor=…\\)"):
        Rides("all", None, {"floor": 5})


def test_test_is_the_default_split_of_a_users_dataset_else_the_first() -> None:
    class Several(Rides):
        splits = ("train", "test")

    class Others(Rides):
        splits = ("train", "val")

    assert Several().split == "test"
    assert Several("train").split == "train"
    assert Others().split == "train"
    # The test split of R2R has no answers.
    assert "test" in R2R.splits
    assert R2R.default_split() == R2R.splits[0] == "val_seen"

"""The contract of a dataset: episodes with the same answer need a stated cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wayword.core.dataset import INDEPENDENT, Clusters, Dataset, Task
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.world import Family, World
from wayword.testing import check_dataset


class Pairs(Dataset):
    """Two episodes with one start."""

    family = Family("line")

    def __init__(self, answer: Callable[[str], Reference]) -> None:
        self.tasks = []
        for name in ("1_a", "1_b"):
            episode = Episode(name, f"Do {name}.", "line", {})
            self.tasks.append(Task(episode, answer(name)))

    def world(self, episode: Episode) -> World[Any]:
        raise NotImplementedError


def one_path(name: str) -> Reference:
    return PathReference(name, ("a", "b"))


def test_equal_answers_need_a_stated_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=r"1_a and 1_b share .* state the dataset"):
        check_dataset(Pairs(one_path))
    monkeypatch.setattr(Pairs, "clusters", Clusters("letter", ".*_(.)"))
    with pytest.raises(AssertionError, match="but not their cluster"):
        check_dataset(Pairs(one_path))
    for stated in (INDEPENDENT, Clusters("path", "(.*)_.")):
        monkeypatch.setattr(Pairs, "clusters", stated)
        check_dataset(Pairs(one_path))


def test_an_answer_that_the_dataset_keeps_to_itself_is_not_compared() -> None:
    check_dataset(Pairs(Reference))

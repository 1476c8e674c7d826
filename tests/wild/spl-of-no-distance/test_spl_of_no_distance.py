"""SPL of object search where the published shortest length is 0."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.trajectory import Trajectory
from wayword.metrics.scoring import scorer
from wayword.worlds.objectnav.world import ObjectNavReference


def spl(metres: float, shortest: float) -> float:
    """SPL of a search that stops 0.5 m from its target after ``metres``."""
    reference = ObjectNavReference("1", frozenset({"mug_1"}), shortest=shortest)
    task = Task(Episode("1", "Find a mug.", "flat", {}), reference)
    in_view = [{"id": "mug_1", "distance": 0.5}]
    state: Any = {"stopped": True, "in_view": in_view, "metres": metres}
    trajectory = Trajectory("1", {}, [], state, ended="stopped")
    dataset = cast("Any", SimpleNamespace())
    (scores,) = scorer("objectnav").score(dataset, [(task, trajectory)])
    return scores["spl_challenge"]


@pytest.mark.parametrize(
    ("metres", "shortest", "right"),
    [(0.0, 0.0, 1.0), (0.25, 0.0, 0.0), (12.0, 0.0, 0.0), (4.0, 1.0, 0.25)],
)
def test_only_standing_still_is_worth_one(
    metres: float, shortest: float, right: float
) -> None:
    assert spl(metres, shortest) == right

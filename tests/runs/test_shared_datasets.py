"""Plans on the same data share one dataset: those that differ in what it reads or shows do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wayword.core import registry
from wayword.core.perceiver import Perceiver
from wayword.runs.opening import open_dataset, shared_datasets
from wayword.runs.plan import Plan

PLAN = Plan("random", "houses:test", settings={"dataset": {"houses": 1, "episodes": 2}})


class Guess(Perceiver):
    """A perceiver of the user's."""

    name = "guess"

    def __init__(self, settings: Any, own: Perceiver | None) -> None: ...


@pytest.fixture(autouse=True)
def _perceiver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.CLASSES, ("perceiver", "guess"), Guess)


def with_settings(**settings: Any) -> Plan:
    return replace(PLAN, settings={**PLAN.settings, **settings})


@pytest.mark.parametrize(
    "same",
    [
        replace(PLAN, on="houses"),
        replace(PLAN, agent="oracle", seed=4, limit=1),
        with_settings(steps=3),
    ],
)
def test_plans_that_read_and_show_the_same_share_a_dataset(same: Plan) -> None:
    with shared_datasets():
        assert open_dataset(same) is open_dataset(PLAN)
    assert open_dataset(same) is not open_dataset(PLAN), "only in such a context"


@pytest.mark.parametrize(
    "other",
    [
        replace(PLAN, on="houses:train"),
        with_settings(dataset={"houses": 1, "episodes": 3}),
        with_settings(perturb={"typos": 0.5}),
        with_settings(perceiver="guess"),
        with_settings(eyes="pictures"),
        with_settings(eyes="both"),
    ],
)
def test_plans_that_read_or_show_something_else_share_none(other: Plan) -> None:
    with shared_datasets():
        assert open_dataset(other) is not open_dataset(PLAN)

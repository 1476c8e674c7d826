"""Generated places are the same on every version of Python.

From Python 3.12 on the built-in ``sum`` of floats makes up for rounding. Where a generator chose by
such a sum, a house had other rooms on another version.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from wayword.core.dataset import Dataset
from wayword.datasets.apartments import Apartments
from wayword.datasets.household import Household
from wayword.datasets.houses import Houses
from wayword.datasets.procedural.homes import episodes
from wayword.datasets.towns import Towns

GENERATED: dict[str, Callable[[], Dataset]] = {
    "houses": Houses,
    "towns": Towns,
    "apartments": Apartments,
    "household": lambda: Household("generated_test"),
}


def _another_sum(values: Iterable[Any], /, start: Any = 0) -> Any:
    """Sums that round otherwise than term by term."""
    listed = list(values)
    exact = all(isinstance(value, float) for value in listed) and isinstance(
        start, int | float
    )
    if exact and listed:
        return math.fsum([start, *listed])
    return _plain_sum(listed, start)


_plain_sum = builtins.sum


def _described(made: Callable[[], Dataset]) -> list[str]:
    episodes.cached_home.cache_clear()
    tasks = made().tasks
    return [
        repr((tasks[n].episode, tasks[n].reference)) for n in range(0, len(tasks), 20)
    ]


@pytest.mark.parametrize("name", GENERATED)
def test_generated_places_do_not_hang_on_how_a_sum_rounds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _described(GENERATED[name])
    monkeypatch.setattr(builtins, "sum", _another_sum)
    assert _described(GENERATED[name]) == expected

"""Resets of an environment keep nothing of the episodes before."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from wayword.envs import make

WARM_UP = 60  # resets until caches of scenes and of words are full
RESETS = 180
GROWTH = 400_000  # bytes: less than a tenth of one kept scene a reset


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("houses", {"settings": {"houses": 1, "episodes": 4}}),
        ("household:generated_test", {"settings": {"homes": 1, "episodes": 4}}),
        ("grounding", {"settings": {"levels": "GoToObj", "episodes": 4}}),
    ],
)
def test_memory_does_not_grow_with_resets(name: str, options: dict[str, Any]) -> None:
    with make(name, max_steps=3, **options) as env:
        for _ in range(WARM_UP):
            env.reset()
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(RESETS):
            env.reset()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    assert grown < GROWTH, f"{grown:,} bytes more after {RESETS} resets"

"""Tours by rule: each path once a scene, and two halves of equal size."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference, Reference
from wayword.metrics.tours import gains, halves_of, tours_of


@given(st.lists(st.tuples(st.sampled_from("st"), st.sampled_from("ab")), max_size=9))
def test_a_tour_has_each_path_of_its_scene_once(walks: list[tuple[str, str]]) -> None:
    """Scenes that share the names of places have tours of their own."""
    tasks = [
        Task(Episode(str(n), "Go.", scene, {}), PathReference(str(n), (path, "end")))
        for n, (scene, path) in enumerate(walks)
    ]
    tours = tours_of(tasks)
    counts = Counter[tuple[str, str]]()
    for number, (scene, path) in enumerate(walks):
        assert tours[str(number)] == (scene, counts[scene, path])
        counts[scene, path] += 1


def test_episodes_without_a_public_path_are_one_tour() -> None:
    tasks = [Task(Episode(str(n), "Go.", "s", {}), Reference(str(n))) for n in range(3)]
    assert set(tours_of(tasks).values()) == {("s", 0)}


@pytest.mark.parametrize("count", range(6))
def test_halves_are_of_equal_size_and_the_middle_is_in_neither(count: int) -> None:
    ids = [str(n) for n in range(count)]
    first, second = (next(iter(half.values())) for half in halves_of({("s", 0): ids}))
    assert (len(first), len(second)) == (count // 2, count // 2)
    assert [*first, *ids[count // 2 : count - count // 2], *second] == ids
    scores = {name: {"sr": float(name)} for name in ids}
    gained = gains(scores, {("s", 0): ids})
    if count >= 2:
        assert gained == {str(("s", 0)): {"sr": float(count - count // 2)}}
    else:
        assert gained == {}

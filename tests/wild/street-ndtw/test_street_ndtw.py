"""Both normalizations of nDTW on a street, by hand."""

from __future__ import annotations

from math import exp, sqrt
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.metrics.predictions import trajectory_from_places
from wayword.metrics.scoring import scorer
from wayword.worlds.street.graph import build


def scores(walk: str, route: str) -> dict[str, float]:
    """Scores of a walk in a street a b c d e."""
    links: list[tuple[str, float, str]] = []
    for one, other in ("ab", "bc", "cd", "de"):
        links += [(one, 0, other), (other, 180, one)]
    graph = build("street", list("abcde"), links)
    dataset = cast("Any", SimpleNamespace(graph=lambda scene: graph))
    start = {"panorama": route[0], "heading": 0}
    task = Task(Episode("1", "Go.", "street", start), PathReference("1", tuple(route)))
    trajectory = trajectory_from_places("1", list(walk), "panorama")
    (result,) = scorer("street").score(dataset, [(task, trajectory)])
    return result


@pytest.mark.parametrize(
    ("walk", "route", "dtw"),
    [
        ("abcde", "abcde", 0),
        ("abc", "abcde", 1 + 2),  # c is one link from d, two from e
        ("ab", "abcd", 1 + 2),
        ("a", "ab", 1),
    ],
)
def test_the_paper_divides_by_the_length_the_released_code_by_its_root(
    walk: str, route: str, dtw: int
) -> None:
    result = scores(walk, route)
    assert result["ndtw"] == pytest.approx(exp(-dtw / len(route)))
    assert result["ndtw_released"] == pytest.approx(exp(-dtw / (2 * sqrt(len(route)))))

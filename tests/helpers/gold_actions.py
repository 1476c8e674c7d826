"""A published street path as actions, without a world."""

from __future__ import annotations

from collections.abc import Sequence

from wayword.worlds.street.graph import StreetGraph
from wayword.worlds.street.moves import Navigator, Word, path_actions


def gold_actions(
    graph: StreetGraph,
    path: Sequence[str],
    start_heading: float,
    transition: str = "modified",
) -> list[Word]:
    """A published path as actions that end in ``stop``. Raises as :func:`path_actions` does."""
    navigator = Navigator(graph, transition)
    numbers = [graph.index[panorama] for panorama in path]
    start = navigator.start(numbers[0], navigator.closest(numbers[0], start_heading))
    return path_actions(navigator, start, numbers)

"""Distances of a large graph are those of the table of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wayword.metrics.paths import align, align_one, join
from wayword.worlds.indoor import graph as graphs

SIDE = 6


def grid() -> graphs.ViewpointGraph:
    """A square of viewpoints, each with up to four neighbors, and two viewpoints apart from it."""
    number = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    east = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    north = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    apart = np.array([[SIDE * SIDE, SIDE * SIDE + 1]])
    one_way = np.concatenate([east, north, apart])
    edges = np.concatenate([one_way, one_way[:, ::-1]]).astype(np.int32)
    positions = np.random.default_rng(0).normal(size=(SIDE * SIDE + 2, 3))
    ids = tuple(map(str, range(len(positions))))
    return graphs.build("grid", ids, positions, edges)


def test_distances_of_a_large_graph_are_those_of_all_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = grid()
    monkeypatch.setattr(graphs, "LARGE_GRAPH", 0)
    large = grid()
    rows: object = large.distances
    assert isinstance(rows, graphs.DistanceRows)
    walk = [0, 6, 7, 13, 7, 8]
    gold = [0, 1, 2, 8, 14]
    for key in (
        (3, 17),
        (slice(None), 5),
        np.ix_(walk, gold),
        (walk[:-1], walk[1:]),
        ([3, 0], 14),
        (0, SIDE * SIDE),  # without a path
    ):
        assert np.allclose(large.distances[key], small.distances[key], rtol=1e-12)
    assert np.allclose(np.asarray(large.distances), small.distances, rtol=1e-12)
    assert large.shortest_path("0", "35") == small.shortest_path("0", "35")
    with pytest.raises(ValueError, match="no path from 0 to 36"):
        large.shortest_path("0", "36")

    expected = align([small.distances], [0], join([walk]), join([gold]))
    for found in (
        align_one(large.distances, walk, gold),
        align([large.distances], [0], join([walk]), join([gold])),
    ):
        assert np.allclose(found.dtw, expected.dtw)
        assert np.allclose(found.nearest, expected.nearest)
        assert found.shortest == pytest.approx(expected.shortest)


def test_only_the_rows_that_are_requested_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graphs, "LARGE_GRAPH", 0)
    large = grid()
    large.shortest_path("0", "35")
    large.shortest_path("5", "35")
    rows: Any = large.distances
    assert list(rows._rows) == [35]

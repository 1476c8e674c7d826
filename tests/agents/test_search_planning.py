"""Planners against brute force on random grids: A*, distance fields, tight ways, frontiers."""

from __future__ import annotations

import math
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wayword.agents.search.costmap import (
    Bools,
    Cell,
    Costmap,
    distances,
    frontiers,
    shortest_route,
)
from wayword.core.geometry import path_length, string_pull
from wayword.worlds.objectnav.ground import Ground

GRIDS = st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.bool_, shape, elements=st.booleans())
)


def brute_force(open_: Bools, start: Cell) -> dict[Cell, float]:
    """Bellman and Ford's relaxation, written from the rule alone."""
    high, wide = open_.shape
    free = {(j, i) for j in range(high) for i in range(wide) if open_[j, i]} | {start}
    best = {start: 0.0}
    for _ in range(len(free)):
        changed = False
        for (j, i), gone in list(best.items()):
            for dj in (-1, 0, 1):
                for di in (-1, 0, 1):
                    to = (j + dj, i + di)
                    adjacent = {(j + dj, i), (j, i + di)}
                    if to == (j, i) or to not in free or not adjacent <= free:
                        continue
                    total = gone + math.hypot(dj, di)
                    if total < best.get(to, math.inf) - 1e-9:
                        best[to], changed = total, True
        if not changed:
            break
    return best


@settings(max_examples=120, deadline=None)
@given(GRIDS, st.data())
def test_a_star_and_the_field_agree_with_brute_force(
    open_: Bools, data: st.DataObject
) -> None:
    start = data.draw(st.tuples(*(st.integers(0, n - 1) for n in open_.shape)))
    goal = data.draw(st.tuples(*(st.integers(0, n - 1) for n in open_.shape)))
    open_[start] = True  # here, so that both rules about closed starts agree
    truth = brute_force(open_, start)
    field = distances(open_, start)
    for cell in np.ndindex(*open_.shape):
        assert field[cell] == pytest.approx(truth.get(cell, math.inf))
    way = shortest_route(open_, start, goal)
    if goal not in truth:
        assert way is None
        return
    assert way is not None
    assert (way[0], way[-1]) == (start, goal)
    assert path_length(way) == pytest.approx(truth[goal])
    assert all(open_[cell] for cell in way)


def test_a_body_gets_away_from_a_closed_cell() -> None:
    open_ = np.array([[0, 1, 1]], dtype=bool)
    assert shortest_route(open_, (0, 0), (0, 2)) == [(0, 0), (0, 1), (0, 2)]
    assert shortest_route(open_, (0, 2), (0, 0)) is None


@settings(max_examples=60, deadline=None)
@given(GRIDS)
def test_a_grounds_routes_are_legal_and_no_longer_than_networkx_finds(
    free: Bools,
) -> None:
    cells = [tuple(cell) for cell in np.argwhere(free).tolist()]
    if len(cells) < 2:
        return
    ground = Ground(0.0, 0.0, free, 1.0)
    graph = nx.Graph()
    for j, i in cells:
        for dj, di in ((0, 1), (1, 0), (1, 1), (1, -1)):
            to = (j + dj, i + di)
            if to in cells and (j + dj, i) in cells and (j, i + di) in cells:
                graph.add_edge((j, i), to, weight=math.hypot(dj, di))
    start = cells[0]
    goal = cells[-1]
    way = ground.path((start[1], start[0]), [(goal[1], goal[0])])
    connected = start in graph and goal in graph and nx.has_path(graph, start, goal)
    assert (way is not None) == connected
    if way is None:
        return
    octile = nx.shortest_path_length(graph, start, goal, weight="weight")
    straight = math.dist(start, goal)
    assert straight - 1e-9 <= path_length(way) <= octile + 1e-9
    assert all(ground.clear(p, q) or _is_adjacent(p, q) for p, q in pairwise(way))


def _is_adjacent(p: tuple[float, float], q: tuple[float, float]) -> bool:
    """A diagonal step is sampled at its corner, where rounding may name a third cell."""
    return math.dist(p, q) < 1.5


def test_tight_routes_keep_their_ends_and_skip_what_can_be_skipped() -> None:
    way = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]
    assert string_pull(way, lambda a, b: True) == [(0, 0), (2, 2)]
    assert string_pull(way, lambda a, b: a[0] == b[0] or a[1] == b[1]) == [
        (0, 0),
        (0, 2),
        (2, 2),
    ]
    assert string_pull(way, lambda a, b: False) == way


@settings(max_examples=120, deadline=None)
@given(GRIDS, st.data())
def test_frontiers_are_the_free_cells_next_to_unknown_ones(
    free: Bools, data: st.DataObject
) -> None:
    more = data.draw(arrays(np.bool_, free.shape, elements=st.booleans()))
    known = free | more
    expected = {
        (j, i)
        for j, i in np.argwhere(free).tolist()
        for dj, di in ((0, 1), (1, 0), (0, -1), (-1, 0))
        if 0 <= j + dj < free.shape[0] and 0 <= i + di < free.shape[1]
        if not known[j + dj, i + di]
    }
    groups = frontiers(free, known)
    assert {cell for group in groups for cell in group} == expected
    assert sum(map(len, groups)) == len(expected)
    assert [len(group) for group in groups] == sorted(
        (len(g) for g in groups), reverse=True
    )
    assert frontiers(free, known, min_cells=len(expected) + 1) == []


def room(gap: int) -> Costmap:
    """A room of 21 by 21 cells, whose walls cross its outer cells.

    The north wall has a gap of ``gap`` cells.
    """
    costmap = Costmap(0.0, 0.0, half=4.0)
    middle = len(costmap.free) // 2
    inside = slice(middle - 10, middle + 11)
    costmap.free[inside, inside] = True
    # Five obstacle cells a cell; walls around, through the middle of their cells
    low, high = 5 * (middle - 10) + 2, 5 * (middle + 10) + 2
    obstacles = costmap._obstacles
    obstacles[low, low : high + 1] = obstacles[high, low : high + 1] = True
    obstacles[low : high + 1, low] = obstacles[low : high + 1, high] = True
    begin = 5 * (middle - gap // 2)
    obstacles[high, begin : begin + 5 * gap] = False
    return costmap


def test_no_frontier_is_along_a_wall() -> None:
    assert room(gap=0).frontiers() == []
    assert len(room(gap=0).frontiers(with_obstacles=True)) == 1


@pytest.mark.parametrize("gap", [1, 3, 6])
def test_a_gap_in_a_wall_is_a_frontier(gap: int) -> None:
    costmap = room(gap)
    (group,) = costmap.frontiers()
    middle = len(costmap.free) // 2
    columns = range(middle - gap // 2, middle - gap // 2 + gap)
    assert group == [(middle + 10, column) for column in columns]

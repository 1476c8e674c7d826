"""Plans, viewpoints and furniture hold in geometry: every line is walked by the centimetre."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from examples.plan_svg import EDGE, NEAR_WALL, SCALE, plan_svg
from numpy.typing import NDArray

from helpers.looping import for_each
from helpers.sampling import LONG
from wayword.datasets.procedural.floorplans import LARGEST, SMALLEST, FloorPlan
from wayword.datasets.procedural.houses.house import (
    GeneratedHouse,
    build_house,
    scene_name,
)
from wayword.worlds.indoor.graph import all_pairs_dijkstra, floyd_warshall

SCENES = [
    scene_name("test", 1, rooms, n)
    for rooms in (SMALLEST, 9, LARGEST)
    for n in range(8 if LONG else 3)
]


house_of = cache(build_house)
in_every_house = for_each(
    "house", lambda: map(house_of, SCENES), lambda house: str(house.scene)
)


def is_clear(
    plan: FloorPlan, start: tuple[float, float], end: tuple[float, float]
) -> bool:
    """Whether a straight line stays in one room, or changes rooms only inside an opening."""
    steps = max(2, round(math.dist(start, end) * 100))
    spots = np.linspace(start, end, steps + 1)
    inside = rooms_at(plan, spots)
    near = np.stack([
        np.hypot(*(spots - (door.x, door.y)).T) <= door.width / 2 + 0.03 for door in plan.doors
    ])  # fmt: skip
    if not near.any(axis=0)[inside < 0].all():
        return False
    (numbers,) = np.nonzero(inside >= 0)
    for change in np.flatnonzero(np.diff(inside[numbers])):
        before = numbers[change]
        here = numbers[change + 1]
        rooms = {inside[before], inside[here]}
        doors = [
            each for each, door in enumerate(plan.doors) if rooms == set(door.rooms)
        ]
        if not near[doors, here].any():
            return False
    return True


def rooms_at(plan: FloorPlan, spots: NDArray[np.float64]) -> NDArray[np.intp]:
    """The room that each spot lies well inside of, -1 on a wall line or outside."""
    found = np.full(len(spots), -1)
    for number, room in enumerate(plan.rooms):
        low = (room.x0 + 1e-9, room.y0 + 1e-9)
        high = (room.x1 - 1e-9, room.y1 - 1e-9)
        found[((spots > low) & (spots < high)).all(axis=1) & (found < 0)] = number
    return found


def routes_between(
    house: GeneratedHouse,
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    for i, j in house.graph.edges.tolist():
        a = house.places[i]
        b = house.places[j]
        yield (a.x, a.y), (b.x, b.y)


@in_every_house
def test_rooms_do_not_overlap_and_have_names_of_their_own(
    house: GeneratedHouse,
) -> None:
    rooms = house.plan.rooms
    for a, b in combinations(rooms, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(wide, high) < 1e-6, (a, b)
    assert (
        len({room.name for room in rooms})
        == len(rooms)
        == int(house.scene.split("-r")[1][:-5])
    )


@in_every_house
def test_doors_lie_in_walls_that_two_rooms_share(house: GeneratedHouse) -> None:
    for door in house.plan.doors:
        half = door.width / 2 + 0.1
        ends = [(door.x, door.y - half), (door.x, door.y + half)]
        if not door.vertical:
            ends = [(door.x - half, door.y), (door.x + half, door.y)]
        for number in door.rooms:
            room = house.plan.rooms[number]
            sides = (room.x0, room.x1) if door.vertical else (room.y0, room.y1)
            assert (door.x if door.vertical else door.y) in sides
            assert all(
                room.x0 <= x <= room.x1 and room.y0 <= y <= room.y1 for x, y in ends
            )


@in_every_house
def test_one_can_walk_everywhere(house: GeneratedHouse) -> None:
    graph = nx.Graph([tuple(edge) for edge in house.graph.edges.tolist()])
    assert len(graph) == len(house.places)
    assert nx.is_connected(graph)
    assert np.isfinite(house.graph.distances).all()


@in_every_house
def test_routes_pass_no_wall_and_keep_clear_of_furniture(house: GeneratedHouse) -> None:
    items = np.array([(item.x, item.y) for item in house.furniture])
    for start, end in routes_between(house):
        assert is_clear(house.plan, start, end)
        steps = np.linspace(start, end, 40)[:, None]
        assert np.hypot(*(steps - items).T).min() > 0.35


@in_every_house
def test_every_room_has_a_viewpoint_and_every_doorway_too(
    house: GeneratedHouse,
) -> None:
    for number, room in enumerate(house.plan.rooms):
        inside = [p for p in house.places if p.door is None and p.rooms == (number,)]
        assert 1 <= len(inside) <= (4 if room.name != "hallway" else 20)
        assert set(rooms_at(house.plan, np.array([(p.x, p.y) for p in inside]))) == {
            number
        }
    assert {p.door for p in house.places} - {None} == set(range(len(house.plan.doors)))


@in_every_house
def test_sight_agrees_with_walking_the_line(house: GeneratedHouse) -> None:
    jambs = np.array([(door.x, door.y, door.width / 2) for door in house.plan.doors])
    pairs = [
        (i, j) for i in range(len(house.places)) for j in range(len(house.furniture))
    ]
    for i, j in pairs[:: max(1, len(pairs) // 150)]:
        start, end = (
            (each.x, each.y) for each in (house.places[i], house.furniture[j])
        )
        line = np.linspace(start, end, 400)
        away = np.hypot(*(line[:, None] - jambs[:, :2]).T) - jambs[:, 2:]
        if not (abs(away) < 0.05).any():
            assert bool(house.sees_furniture[i, j]) == is_clear(
                house.plan, start, end
            ), (i, j)


@in_every_house
def test_names_are_unique_and_no_kind_ends_in_another(house: GeneratedHouse) -> None:
    names = [item.name for item in house.furniture]
    kinds = {item.kind for item in house.furniture}
    assert len(set(names)) == len(names)
    assert not [(a, b) for a in kinds for b in kinds if a != b and a.endswith(f" {b}")]


@in_every_house
def test_ids_are_opaque_and_sorted(house: GeneratedHouse) -> None:
    ids = house.graph.ids
    assert list(ids) == sorted(set(ids))
    assert all(len(name) == 6 and int(name, 16) >= 0 for name in ids)


def test_spacing_and_degree_are_like_those_of_real_graphs() -> None:
    houses = [build_house(scene_name("test", 2, 9, number)) for number in range(20)]
    degrees = [len(ends) for h in houses for ends in h.graph.adjacent.values()]
    lengths = [math.dist(a, b) for h in houses for a, b in routes_between(h)]
    assert 3.0 < np.mean(degrees) < 5.0
    assert 2.0 < np.mean(lengths) < 3.0
    assert max(lengths) < 6.0


@in_every_house
def test_the_picture_is_well_formed_and_escapes_text(house: GeneratedHouse) -> None:
    path = house.graph.shortest_path(house.graph.ids[0], house.graph.ids[-1])
    svg = plan_svg(house, path, title="<script>alert('&')</script>")
    root = ElementTree.fromstring(svg)
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    assert {room.name for room in house.plan.rooms} <= {each.text for each in texts}
    assert "<script" not in svg
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 1
    # Names of furniture are at the piece, or at the wall that it is near.
    names = [text for text in texts if text.get("class", "").startswith("thing")]
    for piece, text in zip(house.furniture, names, strict=True):
        assert text.text == piece.name
        x = (float(text.get("x", "nan")) - EDGE) / SCALE
        assert x == pytest.approx(piece.x, abs=NEAR_WALL), piece


@in_every_house
def test_distances_are_the_same_by_tables_and_by_searches(
    house: GeneratedHouse,
) -> None:
    graph = house.graph
    ends = graph.positions[graph.edges]
    given = len(graph.ids), graph.edges, np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    assert np.array_equal(floyd_warshall(*given), graph.distances)
    assert np.allclose(all_pairs_dijkstra(*given), graph.distances, rtol=1e-12)

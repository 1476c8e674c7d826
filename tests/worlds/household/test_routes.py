"""Planned ways can be walked to the end, whatever the step, the heading and the body."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from helpers.rooms_scenes import act, flat, free_poses, random_house, start
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.layout import Layout, first_obstacle
from wayword.worlds.household.motions import LOW_LEVEL_ACTS
from wayword.worlds.household.route import find_lattice, path_directions, step_counts
from wayword.worlds.household.verbs import Body

BODIES = (
    Body(),
    Body(step=0.4, radius=0.15),
    Body(step=0.1, pan_degrees=45, manipulation_distance=1.0),
    Body(step=1.0, radius=0.1, pan_degrees=0, focal_length=18),
)


@pytest.mark.parametrize("body", BODIES, ids=("usual", "long", "short", "stride"))
def test_every_planned_way_is_walked_and_ends_in_reach_and_view(body: Body) -> None:
    reached = 0
    for seed in range(8):
        scene = random_house(seed, rooms=4, things=30)
        x, y, _ = free_poses(scene, 1, seed, body.radius)[0]
        heading = random.Random(seed).uniform(0, 360)
        world = start(scene, (x, y, heading), body=body)
        for obj in scene.objects:
            way = world.route("agent", obj.id)
            if way is None:
                continue
            for action in way:
                assert world.step("agent", action).ok
            view = world.house.actors["agent"].view.entities
            i = world.layout.index[obj.id]
            hidden = not world.house.entities.is_exposed[i]
            assert hidden or i in view, obj.id
            away = world.house.distance(world.house.actors["agent"], i)
            assert away <= body.manipulation_distance
            reached += 1
    assert reached > 20


def test_the_lattice_and_the_single_step_agree_on_every_step() -> None:
    """A way on the lattice is a step that a body may take, and nearly the reverse."""
    for seed in range(4):
        scene = random_house(seed, rooms=4, things=40)
        body = Body()
        layout = Layout(scene)
        grid = find_lattice(layout, body, 0.113, 0.057, 30.0 * seed)
        neighbors = grid.neighbors.copy()
        closed = [not door.open for door in scene.doors]
        for number in np.flatnonzero(closed).tolist():
            neighbors.ravel()[grid.doors[number]] = -1
        headings = np.radians([grid.turn + 90 * k for k in range(4)])
        missing = checked = 0
        for place in range(0, len(grid.x), 3):
            at = float(grid.x[place]), float(grid.y[place])
            if not (0 < at[0] < 8 and 0 < at[1] < 8):
                continue
            if first_obstacle(layout, body.radius, (at, at), closed, ()) is not None:
                continue
            for k, angle in enumerate(headings.tolist()):
                to = (
                    at[0] + body.step * np.sin(angle),
                    at[1] + body.step * np.cos(angle),
                )
                free = first_obstacle(layout, body.radius, (at, to), closed, ()) is None
                planned = neighbors[place, k] >= 0
                assert free or not planned, (seed, at, k)
                missing += free and not planned
                checked += 1
        assert checked > 500
        assert missing <= checked / 200


def test_routes_are_shortest_and_straight() -> None:
    # Places 0–8 of a 3 by 3 grid, all ways open.
    neighbors = np.full((9, 4), -1, dtype=np.int32)
    for place in range(9):
        row, column = divmod(place, 3)
        for k, (i, j) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
            if 0 <= column + i < 3 and 0 <= row + j < 3:
                neighbors[place, k] = place + i + 3 * j
    steps = step_counts(neighbors, 0)
    assert steps.tolist() == [0, 1, 2, 1, 2, 3, 2, 3, 4]
    way = path_directions(neighbors, steps, 8)
    assert sorted(way) == [0, 0, 1, 1]
    assert sum(a != b for a, b in pairwise(way)) == 1


def test_a_way_goes_round_a_body_that_stands_in_it() -> None:
    house = SceneBuilder("hall")
    house.room("hall", [(0, 0), (3, 0), (3, 6), (0, 6)])
    house.furniture("table", 1.5, 5.5, 1.0, 0.5, 0.8, receptacle="on")
    alone = start(house.build(), (1.5, 0.5, 0.0))
    crowded = start(house.build(), (1.5, 0.5, 0.0), (1.5, 2.0, 180.0))
    straight = act(alone, "goto table_1").details["low_level"]
    round_it = act(crowded, "goto table_1", "agent_1").details["low_level"]
    assert set(straight) == {"move_ahead"}
    assert len(round_it) > len(straight)
    assert set(round_it) <= set(LOW_LEVEL_ACTS)


def test_a_route_into_a_room_ends_in_it_and_a_closed_door_cuts_it_off() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    assert act(world, "goto hall").ok
    assert world.pose("agent")["room"] == "hall"
    assert act(start(flat(shut=True), (2.0, 1.5, 0.0)), "goto hall").status == "no_path"


def test_an_oracle_learns_which_doors_to_open() -> None:
    world = start(flat(shut=True), (2.0, 1.5, 0.0))
    for target in ("cabinet", "hall"):
        assert world.route("agent", target) is None
        assert world.doors_to_open("agent", target) == ["door"]
    for action in world.route("agent", "door") or ():
        assert world.step("agent", action).ok
    assert act(world, f"open {world.name('agent', 'door')}").ok
    assert world.doors_to_open("agent", "cabinet") == []
    for action in world.route("agent", "hall") or ():
        assert world.step("agent", action).ok
    assert world.pose("agent")["room"] == "hall"
    with pytest.raises(ValueError, match="'attic' is not an object"):
        world.route("agent", "attic")

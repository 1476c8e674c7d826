"""Homes of any size: wings along a corridor, all of them within reach and solvable."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from helpers.rehearsing import play
from helpers.sampling import LONG
from wayword.datasets.grounding_homes import GroundingHomes
from wayword.datasets.household import Household
from wayword.datasets.procedural.floorplans import FloorPlan, kind_of
from wayword.datasets.procedural.homes.furniture import FURNITURE
from wayword.datasets.procedural.homes.home import CORRIDOR, MAX_ROOMS, draw_home_plan
from wayword.worlds.household.goals import HouseholdReference


@pytest.mark.parametrize("count", [18, 19, 25, 26, 30, 37, 60, 61, MAX_ROOMS])
@pytest.mark.parametrize("seed", range(3))
def test_wings_join_up_and_no_two_rooms_overlap(count: int, seed: int) -> None:
    plan = draw_home_plan(random.Random(seed), count)
    names = [room.name for room in plan.rooms]
    assert len(names) == count == len(set(names))
    assert {kind_of(name) for name in names} <= set(FURNITURE)
    assert names[0] == CORRIDOR
    assert sum(kind_of(name) == "hallway" for name in names) >= count // 12
    for a, b in combinations(plan.rooms, 2):
        apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
        assert apart, f"{a} overlaps {b}"
    assert reached(plan) == set(range(count))
    for door in plan.doors:
        for room in (plan.rooms[number] for number in door.rooms):
            if door.vertical:
                along, low, high = (door.y, room.y0, room.y1)
            else:
                along, low, high = (door.x, room.x0, room.x1)
            if door.vertical:
                across, edges = (door.x, (room.x0, room.x1))
            else:
                across, edges = (door.y, (room.y0, room.y1))
            assert across in edges, f"{door} is in no wall of {room}"
            assert low < along - door.width / 2
            assert along + door.width / 2 < high


def reached(plan: FloorPlan) -> set[int]:
    """The rooms that doors lead to from the first."""
    found = {0}
    left = [0]
    while left:
        room = left.pop()
        new = {door.other(room) for door in plan.doors if room in door.rooms} - found
        found |= new
        left += new
    return found


@pytest.mark.parametrize(
    ("rooms", "episodes"), [(30, 7), (60, 3)] if LONG else [(30, 3), (60, 1)]
)
def test_the_expert_solves_tasks_in_large_homes(rooms: int, episodes: int) -> None:
    given = {"homes": 1, "episodes": episodes, "rooms": rooms}
    for dataset in (
        Household(settings=Household.Settings(**given)),
        GroundingHomes(settings=GroundingHomes.Settings(**given)),
    ):
        for task in dataset.tasks:
            world = dataset.world(task.episode)
            reference = task.reference
            assert isinstance(reference, HouseholdReference)
            assert len(world.scene.rooms) == rooms
            world.reset(task.episode)
            play(world, "agent", reference)
            assert reference.met(world.state()) == reference.parts(), task.episode.id

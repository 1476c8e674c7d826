"""A house: everything that a scene's name stands for."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import UsageError
from wayword.datasets.housing.floorplan import FloorPlan, draw_plan
from wayword.datasets.housing.furnishing import Thing, furnish
from wayword.datasets.housing.places import Place, join_places, set_places
from wayword.datasets.housing.programme import LARGEST, SMALLEST
from wayword.datasets.housing.sight import Walls, build_walls, visible
from wayword.worlds.viewpoints import ViewpointGraph


@dataclass(frozen=True, eq=False)
class House:
    """One scene. ``places`` stand in the order of ``graph.ids``; coordinates are metres."""

    scene: str
    plan: FloorPlan
    walls: Walls
    places: tuple[Place, ...]
    graph: ViewpointGraph
    things: tuple[Thing, ...]

    @cached_property
    def sees_things(self) -> NDArray[np.bool_]:
        """(places, things): whether the thing is in plain sight."""
        return self._sees([(thing.x, thing.y) for thing in self.things])

    @cached_property
    def sees_doors(self) -> NDArray[np.bool_]:
        """(places, doors): whether the middle of the doorway is in plain sight."""
        return self._sees([(door.x, door.y) for door in self.plan.doors])

    @cached_property
    def nearest_place(self) -> tuple[tuple[str, float], ...]:
        """For each thing, the nearest place that sees it, and by how many metres it is nearest."""
        eyes = np.array([(place.x, place.y) for place in self.places])
        found = []
        for number, thing in enumerate(self.things):
            away = np.hypot(eyes[:, 0] - thing.x, eyes[:, 1] - thing.y)
            away = np.where(self.sees_things[:, number], away, np.inf)
            best, second = np.argsort(away, kind="stable")[:2]
            found.append((self.places[best].id, float(away[second] - away[best])))
        return tuple(found)

    def place(self, viewpoint: str) -> Place:
        """The place of a viewpoint id."""
        return self.places[self.graph.index[viewpoint]]

    def room_name(self, number: int) -> str:
        """What a room is called."""
        return self.plan.rooms[number].name

    def _sees(self, targets: list[tuple[float, float]]) -> NDArray[np.bool_]:
        eyes = np.array([(place.x, place.y) for place in self.places])
        return visible(self.walls, eyes, np.array(targets, dtype=np.float64).reshape(-1, 2))


def scene_name(split: str, seed: int, rooms: int, number: int) -> str:
    """``scene_name("test", 0, 9, 3)`` is ``test-s0-r9-0003``; the name says all there is to say."""
    return f"{split}-s{seed}-r{rooms}-{number:04d}"


def build_house(scene: str) -> House:
    """The house of a scene name, the same on every machine.

    Raises ``UsageError`` for a name that ``scene_name`` does not make.
    """
    match = re.fullmatch(r"[a-z]+-s-?\d+-r(\d+)-\d+", scene)
    if match is None or not SMALLEST <= int(match[1]) <= LARGEST:
        raise UsageError(f"{scene!r} names no generated house; one reads 'test-s0-r9-0003'")
    rng = random.Random(f"house/{scene}")
    plan = draw_plan(rng, int(match[1]))
    while not _connected(plan):  # rare: a shared wall too short for its door
        plan = draw_plan(rng, int(match[1]))
    walls = build_walls(plan)
    places = set_places(rng, plan, scene)
    graph = join_places(places, walls, scene)
    return House(scene, plan, walls, places, graph, furnish(rng, plan, places, graph))


def _connected(plan: FloorPlan) -> bool:
    """Whether doors lead to every room."""
    reached, frontier = {0}, [0]
    while frontier:
        here = frontier.pop()
        for door in plan.doors:
            if here in door.rooms and door.other(here) not in reached:
                reached.add(door.other(here))
                frontier.append(door.other(here))
    return len(reached) == len(plan.rooms)

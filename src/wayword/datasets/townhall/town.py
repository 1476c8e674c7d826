"""A town: everything that a scene's name stands for."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import UsageError
from wayword.datasets.townhall.names import LIGHT, town_names
from wayword.datasets.townhall.streets import Point, Streets, bearing, draw_streets
from wayword.worlds import streetgraph
from wayword.worlds.streetgraph import StreetGraph
from wayword.worlds.streetmoves import Navigator

SMALLEST, LARGEST = 3, 9
"""Corners along a side of town. There are names for no larger one."""

SPACING = 10.0
"""Metres from one panorama to the next, about."""

ASIDE = 9.0
"""Metres from the middle of the street to what stands along it."""

CORNER = 13.0
"""Metres from the middle of a junction to what stands on its corner."""

METRES_PER_DEGREE = 111_320.0

LIT = {3: 0.4, 4: 0.85, 5: 1.0}
"""How often a junction with so many ways has a traffic light."""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A thing with a name. ``home`` is the panorama it stands beside, or its junction.

    It can be seen from the panoramas of ``streets``, the corners at their ends included; ``x`` and
    ``y`` are metres. ``where`` is ``street``, ``corner`` or ``light``.
    """

    name: str
    x: float
    y: float
    home: int
    streets: frozenset[int]
    where: str


@dataclass(frozen=True, eq=False)
class Town:
    """One scene. Panoramas 0 to C - 1 are the corners; ``xy`` (N, 2) gives all of them, metres.

    ``chains`` lists the panoramas of each street from end to end; ``lights`` are the junctions
    with a traffic light.
    """

    scene: str
    streets: Streets
    navigator: Navigator
    xy: NDArray[np.float64]
    chains: tuple[tuple[int, ...], ...]
    landmarks: tuple[Landmark, ...]
    lights: frozenset[int]

    @property
    def graph(self) -> StreetGraph:
        return self.navigator.graph

    @property
    def corners(self) -> int:
        return len(self.streets.corners)

    def junction(self, panorama: int) -> bool:
        """Whether three or more ways meet there."""
        return self.graph.degree(panorama) > 2

    def point(self, panorama: int) -> Point:
        """Where a panorama lies, metres."""
        x, y = self.xy[panorama].tolist()
        return x, y


def scene_name(split: str, seed: int, size: int, number: int) -> str:
    """``scene_name("test", 0, 6, 3)`` is ``test-s0-n6-0003``; the name says all there is to say."""
    return f"{split}-s{seed}-n{size}-{number:04d}"


def build_town(scene: str) -> Town:
    """The town of a scene name, the same on every machine.

    Raises ``UsageError`` for a name that ``scene_name`` does not make.
    """
    match = re.fullmatch(r"[a-z]+-s-?\d+-n(\d+)-\d+", scene)
    if match is None or not SMALLEST <= int(match[1]) <= LARGEST:
        raise UsageError(f"{scene!r} names no generated town; one reads 'test-s0-n6-0003'")
    rng = random.Random(f"town/{scene}")
    streets = draw_streets(rng, int(match[1]))
    chains, points = _panoramas(streets)
    graph = _graph(scene, chains, points)
    lights = _lights(rng, graph, len(streets.corners))
    landmarks = [*_along(rng, streets, chains, points), *_on_corners(rng, graph, streets)]
    names = town_names(rng)
    named = [replace(landmark, name=next(names)) for landmark in landmarks]
    lit = [
        Landmark(LIGHT, *points[corner], corner, frozenset(streets.around(corner)), "light")
        for corner in sorted(lights)
    ]
    xy = np.array(points)
    return Town(scene, streets, Navigator(graph), xy, chains, (*named, *lit), lights)


def _panoramas(streets: Streets) -> tuple[tuple[tuple[int, ...], ...], list[Point]]:
    """The panoramas of each street, and where all of them lie."""
    points = list(streets.corners)
    chains = []
    for street in streets.streets:
        steps = max(4, round(street.length / SPACING))
        inner = range(len(points), len(points) + steps - 1)
        points += [street.at(k / steps) for k in range(1, steps)]
        chains.append((street.a, *inner, street.b))
    return tuple(chains), points


def _graph(scene: str, chains: tuple[tuple[int, ...], ...], points: list[Point]) -> StreetGraph:
    ids = [f"{scene}-p{number:04d}" for number in range(len(points))]
    links = []
    for chain in chains:
        for one, other in pairwise(chain):
            heading = bearing(points[one], points[other])
            links.append((ids[one], heading, ids[other]))
            links.append((ids[other], (heading + 180.0) % 360.0, ids[one]))
    graph = streetgraph.build(scene, ids, links)
    north_east = np.array([(y, x) for x, y in points]) / METRES_PER_DEGREE
    return replace(graph, positions=north_east)


def _lights(rng: random.Random, graph: StreetGraph, corners: int) -> frozenset[int]:
    draws = [(corner, rng.random()) for corner in range(corners)]
    return frozenset(corner for corner, draw in draws if draw < LIT.get(graph.degree(corner), 0.0))


def _along(
    rng: random.Random,
    streets: Streets,
    chains: tuple[tuple[int, ...], ...],
    points: list[Point],
) -> list[Landmark]:
    """Things beside the panoramas of a street, at least three panoramas apart."""
    found = []
    for number, chain in enumerate(chains):
        free = list(range(1, len(chain) - 1))
        for _ in range(rng.choice((1, 2, 2, 3))):
            if not free:
                break
            k = rng.choice(free)
            free = [other for other in free if abs(other - k) >= 3]
            heading = math.radians(bearing(points[chain[k - 1]], points[chain[k + 1]]))
            side = rng.choice((-1, 1))
            x = points[chain[k]][0] + side * ASIDE * math.cos(heading)
            y = points[chain[k]][1] - side * ASIDE * math.sin(heading)
            found.append(Landmark("", x, y, chain[k], frozenset({number}), "street"))
    return found


def _on_corners(rng: random.Random, graph: StreetGraph, streets: Streets) -> list[Landmark]:
    """Something on one of the corners of about every second junction."""
    found = []
    for corner, (x, y) in enumerate(streets.corners):
        if graph.degree(corner) < 3 or rng.random() < 0.45:
            continue
        around = streets.around(corner)
        ways = sorted(streets.streets[number].leaving(corner) for number in around)
        k = rng.randrange(len(ways))
        gap = (ways[(k + 1) % len(ways)] - ways[k]) % 360.0
        angle = math.radians(ways[k] + min(gap, 90.0) / 2)
        spot = x + CORNER * math.sin(angle), y + CORNER * math.cos(angle)
        found.append(Landmark("", *spot, corner, frozenset(around), "corner"))
    return found

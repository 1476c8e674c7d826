"""A town, determined by its scene name: streets, panoramas, landmarks and their visibility.

A landmark is visible along its street, or along all streets that meet at its corner, within
``SIGHT`` metres; houses hide it from other streets. Traffic lights hang over their junction and
are visible on approach.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError, UsageError
from wayword.core.geometry import Point, bearing, path_length, relative, sector
from wayword.core.perceiver import Perceiver, Percept, Sector, Sighting
from wayword.datasets.procedural.tables import Table
from wayword.perception.landmarks import Scores
from wayword.worlds.street import graph as streetgraph
from wayword.worlds.street.graph import StreetGraph
from wayword.worlds.street.moves import Navigator

# Objects along a street. A name is used once per town, so it identifies one place.

LIGHT = "a traffic light"
"""The only landmark that occurs many times in a town."""

NAMES: Mapping[str, tuple[str, ...]] = Table("sentences", "town_names")


def town_names(rng: random.Random) -> Iterator[str]:
    """Iterate over 452 distinct names in random order."""
    shops = [
        f"{owner} {trade}" for owner in NAMES["owners"] for trade in NAMES["trades"]
    ]
    rng.shuffle(shops)
    plain = list(NAMES["plain"])
    rng.shuffle(plain)
    while shops:
        yield plain.pop() if plain and rng.random() < 0.3 else shops.pop()
    yield from plain


# Street plans: a distorted grid with missing, diagonal and bent streets.
#
# Corners are on a jittered grid. Some streets are left out, which makes three-way junctions and
# bends; some blocks have a diagonal, which makes five-way junctions; some streets bend halfway.
# Streets leave a corner at least ``STREET_ANGLE`` degrees apart, there are no dead ends, and every
# corner can be reached from every other.

BLOCK = (58, 92)
"""Range of distances (metres) between corners, before jitter."""

JITTER = 7  # maximum jitter of a corner along each axis, in metres
MISSING_SHARE, DIAGONAL_SHARE, BENT_SHARE = 0.15, 0.2, 0.25
"""Shares of streets left out, of blocks with a diagonal, and of streets that bend."""

STREET_ANGLE = 35.0  # degrees: words could not distinguish streets at a smaller angle
MOST_STREETS = 5  # maximum streets per corner


@dataclass(frozen=True, slots=True)
class Street:
    """A line from corner ``a`` to corner ``b``; ``points`` (metres) includes both ends."""

    a: int
    b: int
    points: tuple[Point, ...]

    @property
    def length(self) -> float:
        return path_length(self.points)

    def leaving_heading(self, corner: int) -> float:
        """Return the heading (degrees) in which the street leaves one of its corners."""
        points = self.points if corner == self.a else self.points[::-1]
        return bearing(points[0], points[1])

    def point_at(self, share: float) -> Point:
        """Return the point at a fraction of the length, 0 at ``a`` and 1 at ``b``."""
        remaining = share * self.length
        for p, q in pairwise(self.points):
            piece = math.dist(p, q)
            if remaining <= piece:
                piece_share = remaining / piece
                return p[0] + piece_share * (q[0] - p[0]), p[1] + piece_share * (
                    q[1] - p[1]
                )
            remaining -= piece
        return self.points[-1]


@dataclass(frozen=True, slots=True)
class Streets:
    """Corners and the streets between them."""

    corners: tuple[Point, ...]
    streets: tuple[Street, ...]

    def streets_at(self, corner: int) -> list[int]:
        return [
            n for n, street in enumerate(self.streets) if corner in (street.a, street.b)
        ]


def draw_streets(rng: random.Random, size: int) -> Streets:
    """Draw a plan of ``size`` x ``size`` corners."""
    across = [0.0]
    up = [0.0]
    for line in (across, up):
        for _ in range(size - 1):
            line.append(line[-1] + rng.uniform(*BLOCK))
    corners = [
        (
            round(x + rng.uniform(-JITTER, JITTER), 2),
            round(y + rng.uniform(-JITTER, JITTER), 2),
        )
        for y in up
        for x in across
    ]
    streets = [Street(a, b, (corners[a], corners[b])) for a, b in _grid(rng, size)]
    for row, column in product(range(size - 1), repeat=2):
        # Diagonals alternate in direction, so no two cross.
        corner = row * size + column
        if (row + column) % 2:
            a, b = (corner, corner + size + 1)
        else:
            a, b = (corner + 1, corner + size)
        if rng.random() < DIAGONAL_SHARE:
            slant = Street(a, b, (corners[a], corners[b]))
            degrees = [
                sum(end in (other.a, other.b) for other in streets) for end in (a, b)
            ]
            if max(degrees) < MOST_STREETS and _leaves_apart(slant, streets):
                streets.append(slant)
    for number, street in enumerate(streets):
        (x, y), (u, v) = street.points
        length = street.length
        aside = rng.choice((-1, 1)) * rng.uniform(6.0, 14.0)
        middle = (
            (x + u) / 2 + aside * (v - y) / length,
            (y + v) / 2 - aside * (u - x) / length,
        )
        bend = round(middle[0], 2), round(middle[1], 2)
        bent = Street(street.a, street.b, ((x, y), bend, (u, v)))
        others = streets[:number] + streets[number + 1 :]
        if rng.random() < BENT_SHARE and _leaves_apart(bent, others):
            streets[number] = bent
    return Streets(tuple(corners), tuple(streets))


def _grid(rng: random.Random, size: int) -> list[tuple[int, int]]:
    """Return pairs of neighboring corners, with some left out while the town stays connected."""
    pairs = []
    for corner in range(size * size):
        pairs += [(corner, corner + 1)] if (corner + 1) % size else []
        pairs += [(corner, corner + size)] if corner + size < size * size else []
    for pair in rng.sample(pairs, len(pairs))[: int(MISSING_SHARE * len(pairs))]:
        rest = [other for other in pairs if other != pair]
        ends = [sum(corner in other for other in rest) for corner in pair]
        reached = set[int]()
        edge = {0}
        while edge:
            reached |= edge
            edge = {
                end for each in rest if not edge.isdisjoint(each) for end in each
            } - reached
        if min(ends) >= 2 and len(reached) == size * size:
            pairs.remove(pair)
    return pairs


def _leaves_apart(street: Street, others: list[Street]) -> bool:
    """True if the street leaves both of its corners well apart from every other street."""
    return all(
        abs(relative(street.leaving_heading(corner), other.leaving_heading(corner)))
        >= STREET_ANGLE
        for corner in (street.a, street.b)
        for other in others
        if corner in (other.a, other.b)
    )


SMALLEST, LARGEST = 3, 9
"""Range of corners per side; a larger town would run out of names."""

SPACING = 10.0
"""Approximate distance between panoramas, metres."""

LANDMARK_OFFSET = 9.0
"""Distance from the middle of the street to landmarks along it, metres."""

CORNER_OFFSET = 13.0
"""Distance from the middle of a junction to a landmark on its corner, metres."""

METRES_PER_DEGREE = 111_320.0  # at the equator, where all towns are placed

LIGHT_SHARE = {3: 0.4, 4: 0.85, 5: 1.0}
"""Number of exits of a junction -> probability of a traffic light."""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A named object at ``x`` and ``y`` (metres), visible from the panoramas of ``streets``.
    ``home`` is the panorama it belongs to; ``where`` is ``street``, ``corner`` or ``light``."""

    name: str
    x: float
    y: float
    home: int
    streets: frozenset[int]
    where: str


@dataclass(frozen=True, eq=False)
class Town:
    """A generated town. Panoramas 0 to C - 1 are the corners; ``xy`` (N, 2) is in metres.

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

    def is_junction(self, panorama: int) -> bool:
        """True if three or more streets meet there."""
        return self.graph.degree(panorama) > 2

    def point(self, panorama: int) -> Point:
        x, y = self.xy[panorama].tolist()
        return x, y


def scene_name(split: str, seed: int, size: int, number: int) -> str:
    """Return a scene name, which determines the town: ``test-s0-n6-0003``."""
    return f"{split}-s{seed}-n{size}-{number:04d}"


def build_town(scene: str) -> Town:
    """Build the town of a scene name, identical on every machine.

    Raises ``UsageError`` for a name not produced by ``scene_name``.
    """
    match = re.fullmatch(r"[a-z]+-s-?\d+-n(\d+)-\d+", scene)
    if match is None or not SMALLEST <= int(match[1]) <= LARGEST:
        raise UsageError(f"{scene!r} is not a generated town such as 'test-s0-n6-0003'")
    rng = random.Random(f"town/{scene}")
    streets = draw_streets(rng, int(match[1]))
    points = list(streets.corners)
    chains = list[tuple[int, ...]]()
    for street in streets.streets:
        steps = max(4, round(street.length / SPACING))
        inner = range(len(points), len(points) + steps - 1)
        points += [street.point_at(k / steps) for k in range(1, steps)]
        chains.append((street.a, *inner, street.b))
    ids = [f"{scene}-p{number:04d}" for number in range(len(points))]
    links = []
    for one, other in (pair for chain in chains for pair in pairwise(chain)):
        heading = bearing(points[one], points[other])
        links.append((ids[one], heading, ids[other]))
        links.append((ids[other], (heading + 180.0) % 360.0, ids[one]))
    north_east = np.array([(y, x) for x, y in points]) / METRES_PER_DEGREE
    graph = replace(streetgraph.build(scene, ids, links), positions=north_east)
    draws = [(corner, rng.random()) for corner in range(len(streets.corners))]
    lights = [
        corner
        for corner, draw in draws
        if draw < LIGHT_SHARE.get(graph.degree(corner), 0.0)
    ]
    landmarks = [
        *_line_streets(rng, chains, points),
        *_fill_corners(rng, graph, streets),
    ]
    names = town_names(rng)
    named = [replace(landmark, name=next(names)) for landmark in landmarks]
    for corner in lights:
        around = frozenset(streets.streets_at(corner))
        named.append(Landmark(LIGHT, *points[corner], corner, around, "light"))
    return Town(
        *(scene, streets, Navigator(graph), np.array(points)),
        *(tuple(chains), tuple(named), frozenset(lights)),
    )


def _line_streets(
    rng: random.Random, chains: Sequence[tuple[int, ...]], points: list[Point]
) -> list[Landmark]:
    """Place landmarks next to the panoramas of each street, at least three panoramas apart."""
    landmarks = []
    for number, chain in enumerate(chains):
        free = list(range(1, len(chain) - 1))
        count = rng.choice((1, 2, 2, 3))
        while free and count:
            k = rng.choice(free)
            count = count - 1
            free = [other for other in free if abs(other - k) >= 3]
            heading = math.radians(bearing(points[chain[k - 1]], points[chain[k + 1]]))
            side = rng.choice((-1, 1))
            x = points[chain[k]][0] + side * LANDMARK_OFFSET * math.cos(heading)
            y = points[chain[k]][1] - side * LANDMARK_OFFSET * math.sin(heading)
            landmarks.append(
                Landmark("", x, y, chain[k], frozenset({number}), "street")
            )
    return landmarks


def _fill_corners(
    rng: random.Random, graph: StreetGraph, streets: Streets
) -> list[Landmark]:
    """Place a landmark on one corner of about half of the junctions."""
    landmarks = []
    for corner, (x, y) in enumerate(streets.corners):
        if graph.degree(corner) < 3 or rng.random() < 0.45:
            continue
        around = streets.streets_at(corner)
        headings = sorted(
            streets.streets[number].leaving_heading(corner) for number in around
        )
        k = rng.randrange(len(headings))
        gap = (headings[(k + 1) % len(headings)] - headings[k]) % 360.0
        angle = math.radians(headings[k] + min(gap, 90.0) / 2)
        spot = x + CORNER_OFFSET * math.sin(angle), y + CORNER_OFFSET * math.cos(angle)
        landmarks.append(Landmark("", *spot, corner, frozenset(around), "corner"))
    return landmarks


SIGHT = 27.0
"""Maximum distance in metres at which a landmark is recognized."""

HALF_VIEW = 30.0
"""Half the horizontal field of view in degrees (60 in total, as in VELMA)."""

SECTORS = 8
WIDTH = 360.0 / SECTORS


def in_sight(town: Town) -> Mapping[str, tuple[Sighting, ...]]:
    """Map panorama ids to the landmarks visible from there, in all directions."""
    streets: dict[int, set[int]] = {}
    for number, chain in enumerate(town.chains):
        for panorama in chain:
            streets.setdefault(panorama, set()).add(number)
    sights: dict[int, list[Sighting]] = {
        panorama: [] for panorama in range(len(town.xy))
    }
    for landmark in town.landmarks:
        spot = landmark.x, landmark.y
        for panorama in {p for number in landmark.streets for p in town.chains[number]}:
            eye = town.point(panorama)
            distance = math.dist(eye, spot)
            overhead = landmark.where == "light" and panorama == landmark.home
            if distance <= SIGHT and not overhead:
                sights[panorama].append(
                    Sighting(landmark.name, bearing(eye, spot), distance)
                )
    return {
        town.graph.ids[panorama]: tuple(visible) for panorama, visible in sights.items()
    }


class TownPerceiver(Perceiver):
    """Perceiver and landmark scorer for towns: exact within ``SIGHT``, blind beyond it. ``sights``
    maps a scene to the landmarks visible from each of its panoramas."""

    name = "symbolic"

    def __init__(
        self, sights: Callable[[str], Mapping[str, tuple[Sighting, ...]]]
    ) -> None:
        self._sights = sights

    def perceive(self, scene: str, place: str) -> Percept:
        """Return eight sectors around a panorama. Raises ``DataError`` for an unknown panorama."""
        visible = self._at(scene, place)
        sectors = []
        for number in range(SECTORS):
            group = [
                each for each in visible if sector(each.heading, SECTORS) == number
            ]
            nearest_first = sorted(group, key=lambda each: each.distance or 0.0)
            caption = (
                ", ".join(each.name for each in nearest_first)
                or "houses along the street"
            )
            sectors.append(Sector(number * WIDTH, WIDTH, caption, tuple(group)))
        return Percept(tuple(sectors))

    def score(
        self, scene: str, place: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Scores:
        """Score landmarks in views: 4 or more if visible, higher if near and central, else 0.

        Shape (L, V), as in :meth:`.Perceiver.score`.
        """
        scores = np.zeros((len(landmarks), len(headings)))
        for sight in self._at(scene, place):
            off = np.array(
                [abs(relative(sight.heading, heading)) for heading in headings]
            )
            near = 2.0 * (1.0 - (sight.distance or 0.0) / SIGHT)
            clear = np.where(
                off > HALF_VIEW, 0.0, 4.0 + near + 2.0 * (1.0 - off / HALF_VIEW)
            )
            rows = [row for row, name in enumerate(landmarks) if name == sight.name]
            scores[rows] = np.maximum(scores[rows], clear)
        return scores

    def _at(self, scene: str, panorama: str) -> tuple[Sighting, ...]:
        try:
            return self._sights(scene)[panorama]
        except KeyError:
            raise DataError(
                scene, f"panorama {panorama!r}", "is not in the town"
            ) from None

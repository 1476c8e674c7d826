"""A town: streets, panoramas, landmarks, and what can be seen of them, for one scene name.

A landmark is seen along its street, or from all streets that meet at its corner, up to ``SIGHT``
metres away; houses hide it from elsewhere. Traffic lights hang over their junction and are seen
by those who come up to it.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

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

# What stands along a street. A name is given once a town, so that it means one place.

LIGHT = "a traffic light"
"""The one landmark that a town has many of."""

NAMES: Mapping[str, tuple[str, ...]] = Table("sentences", "town_names")


def town_names(rng: random.Random) -> Iterator[str]:
    """Names in a random order, none twice; 452 in all."""
    shops = [f"{owner} {trade}" for owner in NAMES["owners"] for trade in NAMES["trades"]]
    rng.shuffle(shops)
    plain = list(NAMES["plain"])
    rng.shuffle(plain)
    while shops:
        yield plain.pop() if plain and rng.random() < 0.3 else shops.pop()
    yield from plain


# Street plans: a grid that was pulled about, with streets missing, slanted and bent.
#
# Corners are on a jittered grid. Some streets are left out, which makes three-way junctions and
# plain bends of the road; some blocks are cut by a diagonal, which makes five-way junctions; some
# streets bend halfway. Streets leave a corner at least ``STREET_ANGLE`` degrees apart, none ends
# blindly, and every corner can be reached from every other.

BLOCK = (58, 92)
"""Metres from one corner to the next, before the corners are moved."""

JITTER = 7  # metres that a corner is moved, either way
MISSING_SHARE, DIAGONAL_SHARE, BENT_SHARE = 0.15, 0.2, 0.25
"""Shares of the streets left out, of the blocks with a diagonal, of the streets that bend."""

STREET_ANGLE = 35.0  # degrees: closer streets could not be told apart by a word
MOST_STREETS = 5  # streets that meet at a corner, at most


@dataclass(frozen=True, slots=True)
class Street:
    """A line from corner ``a`` to corner ``b``; ``points`` includes both ends, metres."""

    a: int
    b: int
    points: tuple[Point, ...]

    @property
    def length(self) -> float:
        return path_length(self.points)

    def leaving_heading(self, corner: int) -> float:
        """The heading in which the street leaves one of its ends, degrees from north."""
        points = self.points if corner == self.a else self.points[::-1]
        return bearing(points[0], points[1])

    def point_at(self, share: float) -> Point:
        """The point that far along, 0 at ``a`` and 1 at ``b``."""
        remaining = share * self.length
        for p, q in pairwise(self.points):
            piece = math.dist(p, q)
            if remaining <= piece:
                piece_share = remaining / piece
                return p[0] + piece_share * (q[0] - p[0]), p[1] + piece_share * (q[1] - p[1])
            remaining -= piece
        return self.points[-1]


@dataclass(frozen=True, slots=True)
class Streets:
    """Corners and the streets between them."""

    corners: tuple[Point, ...]
    streets: tuple[Street, ...]

    def streets_at(self, corner: int) -> list[int]:
        """The numbers of the streets that end there."""
        return [n for n, street in enumerate(self.streets) if corner in (street.a, street.b)]


def draw_streets(rng: random.Random, size: int) -> Streets:
    """A plan of ``size`` x ``size`` corners."""
    corners = _corners(rng, size)
    pairs = _grid(rng, size)
    for corner in range(size * (size - 1)):
        row, column = divmod(corner, size)
        if column + 1 < size:  # a diagonal each block, slanted by turns, so that no two cross
            pair = (
                (corner, corner + size + 1) if (row + column) % 2 else (corner + 1, corner + size)
            )
            if rng.random() < DIAGONAL_SHARE and _fits_slant(corners, pairs, pair):
                pairs.append(pair)
    streets = [Street(a, b, (corners[a], corners[b])) for a, b in pairs]
    for number, street in enumerate(streets):
        (x, y), (u, v) = street.points
        length, aside = street.length, rng.choice((-1, 1)) * rng.uniform(6.0, 14.0)
        middle = (x + u) / 2 + aside * (v - y) / length, (y + v) / 2 - aside * (u - x) / length
        bend = round(middle[0], 2), round(middle[1], 2)
        bent = Street(street.a, street.b, ((x, y), bend, (u, v)))
        others = streets[:number] + streets[number + 1 :]
        if rng.random() < BENT_SHARE and _leaves_apart(bent, others):
            streets[number] = bent
    return Streets(tuple(corners), tuple(streets))


def _corners(rng: random.Random, size: int) -> list[Point]:
    across, up = [0.0], [0.0]
    for line in (across, up):
        for _ in range(size - 1):
            line.append(line[-1] + rng.uniform(*BLOCK))
    return [
        (round(x + rng.uniform(-JITTER, JITTER), 2), round(y + rng.uniform(-JITTER, JITTER), 2))
        for y in up
        for x in across
    ]


def _grid(rng: random.Random, size: int) -> list[tuple[int, int]]:
    """Pairs of neighbouring corners, some left out where the others hold the town together."""
    pairs = []
    for corner in range(size * size):
        pairs += [(corner, corner + 1)] if (corner + 1) % size else []
        pairs += [(corner, corner + size)] if corner + size < size * size else []
    for pair in rng.sample(pairs, len(pairs))[: int(MISSING_SHARE * len(pairs))]:
        rest = [other for other in pairs if other != pair]
        ends = [sum(corner in other for other in rest) for corner in pair]
        if min(ends) >= 2 and _connected(rest, size * size):
            pairs.remove(pair)
    return pairs


def _connected(pairs: list[tuple[int, int]], corners: int) -> bool:
    reached, edge = set[int](), {0}
    while edge:
        reached |= edge
        edge = {corner for pair in pairs if not edge.isdisjoint(pair) for corner in pair} - reached
    return len(reached) == corners


def _fits_slant(corners: list[Point], pairs: list[tuple[int, int]], pair: tuple[int, int]) -> bool:
    others = [Street(a, b, (corners[a], corners[b])) for a, b in pairs]
    slant = Street(*pair, (corners[pair[0]], corners[pair[1]]))
    degrees = [sum(corner in other for other in pairs) for corner in pair]
    return max(degrees) < MOST_STREETS and _leaves_apart(slant, others)


def _leaves_apart(street: Street, others: list[Street]) -> bool:
    """True if it leaves both of its corners well apart from every other street."""
    return all(
        abs(relative(street.leaving_heading(corner), other.leaving_heading(corner))) >= STREET_ANGLE
        for corner in (street.a, street.b)
        for other in others
        if corner in (other.a, other.b)
    )


SMALLEST, LARGEST = 3, 9
"""Corners along a side of town. There are names for no larger one."""

SPACING = 10.0
"""Metres from one panorama to the next, about."""

LANDMARK_OFFSET = 9.0
"""Metres from the middle of the street to what stands along it."""

CORNER_OFFSET = 13.0
"""Metres from the middle of a junction to what stands on its corner."""

METRES_PER_DEGREE = 111_320.0  # at the equator, where all towns lie

LIGHT_SHARE = {3: 0.4, 4: 0.85, 5: 1.0}
"""Exits of a junction -> its chance of a traffic light."""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A named object. ``home`` is the panorama it stands next to, or its junction.

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
    """A scene. Panoramas 0 to C - 1 are the corners; ``xy`` (N, 2) gives all of them, metres.

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
        """Position of a panorama, metres."""
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
    points, chains = list(streets.corners), list[tuple[int, ...]]()
    for street in streets.streets:
        steps = max(4, round(street.length / SPACING))
        inner = range(len(points), len(points) + steps - 1)
        points += [street.point_at(k / steps) for k in range(1, steps)]
        chains.append((street.a, *inner, street.b))
    graph = _graph(scene, chains, points)
    draws = [(corner, rng.random()) for corner in range(len(streets.corners))]
    lights = [corner for corner, draw in draws if draw < LIGHT_SHARE.get(graph.degree(corner), 0.0)]
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


def _graph(scene: str, chains: Sequence[tuple[int, ...]], points: list[Point]) -> StreetGraph:
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


def _line_streets(
    rng: random.Random, chains: Sequence[tuple[int, ...]], points: list[Point]
) -> list[Landmark]:
    """Landmarks next to the panoramas of a street, at least three panoramas apart."""
    landmarks = []
    for number, chain in enumerate(chains):
        free = list(range(1, len(chain) - 1))
        for _ in range(rng.choice((1, 2, 2, 3))):
            if not free:
                break
            k = rng.choice(free)
            free = [other for other in free if abs(other - k) >= 3]
            heading = math.radians(bearing(points[chain[k - 1]], points[chain[k + 1]]))
            side = rng.choice((-1, 1))
            x = points[chain[k]][0] + side * LANDMARK_OFFSET * math.cos(heading)
            y = points[chain[k]][1] - side * LANDMARK_OFFSET * math.sin(heading)
            landmarks.append(Landmark("", x, y, chain[k], frozenset({number}), "street"))
    return landmarks


def _fill_corners(rng: random.Random, graph: StreetGraph, streets: Streets) -> list[Landmark]:
    """Something on one of the corners of about every second junction."""
    landmarks = []
    for corner, (x, y) in enumerate(streets.corners):
        if graph.degree(corner) < 3 or rng.random() < 0.45:
            continue
        around = streets.streets_at(corner)
        headings = sorted(streets.streets[number].leaving_heading(corner) for number in around)
        k = rng.randrange(len(headings))
        gap = (headings[(k + 1) % len(headings)] - headings[k]) % 360.0
        angle = math.radians(headings[k] + min(gap, 90.0) / 2)
        spot = x + CORNER_OFFSET * math.sin(angle), y + CORNER_OFFSET * math.cos(angle)
        landmarks.append(Landmark("", *spot, corner, frozenset(around), "corner"))
    return landmarks


SIGHT = 27.0
"""Metres from which a landmark is recognised."""

HALF_VIEW = 30.0
"""Degrees to either side of a view's centre (60 across, as VELMA's)."""

SECTORS = 8
WIDTH = 360.0 / SECTORS


def in_sight(town: Town) -> Mapping[str, tuple[Sighting, ...]]:
    """Panorama -> the landmarks in sight, in all directions."""
    streets: dict[int, set[int]] = {}
    for number, chain in enumerate(town.chains):
        for panorama in chain:
            streets.setdefault(panorama, set()).add(number)
    sights: dict[int, list[Sighting]] = {panorama: [] for panorama in range(len(town.xy))}
    for landmark in town.landmarks:
        spot = landmark.x, landmark.y
        for panorama in {p for number in landmark.streets for p in town.chains[number]}:
            eye = town.point(panorama)
            distance = math.dist(eye, spot)
            overhead = landmark.where == "light" and panorama == landmark.home
            if distance <= SIGHT and not overhead:
                sights[panorama].append(Sighting(landmark.name, bearing(eye, spot), distance))
    return {town.graph.ids[panorama]: tuple(visible) for panorama, visible in sights.items()}


class TownPerceiver(Perceiver):
    """Perceiver and landmark scorer of towns: flawless within ``SIGHT``, blind beyond.

    ``sights`` gives what can be seen from each panorama of a scene.
    """

    name = "symbolic"

    def __init__(self, sights: Callable[[str], Mapping[str, tuple[Sighting, ...]]]) -> None:
        self._sights = sights

    def perceive(self, scene: str, place: str) -> Percept:
        """Eight sectors around a panorama. Raises ``DataError`` where there is no such place."""
        visible, sectors = self._at(scene, place), []
        for number in range(SECTORS):
            group = [each for each in visible if sector(each.heading, SECTORS) == number]
            nearest_first = sorted(group, key=lambda each: each.distance or 0.0)
            caption = ", ".join(each.name for each in nearest_first) or "houses along the street"
            sectors.append(Sector(number * WIDTH, WIDTH, caption, tuple(group)))
        return Percept(tuple(sectors))

    def score(
        self, scene: str, place: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Scores:
        """At least 4 where a landmark is in the view, more the nearer and the more central.

        0 where it is not in the view. Shape (L, V), as in :meth:`.Perceiver.score`.
        """
        scores = np.zeros((len(landmarks), len(headings)))
        for sight in self._at(scene, place):
            clear = [_clearness(sight, heading) for heading in headings]
            for row, name in enumerate(landmarks):
                if name == sight.name:
                    scores[row] = np.maximum(scores[row], clear)
        return scores

    def _at(self, scene: str, panorama: str) -> tuple[Sighting, ...]:
        try:
            return self._sights(scene)[panorama]
        except KeyError:
            raise DataError(scene, f"panorama {panorama!r}", "is not in this town") from None


def _clearness(sight: Sighting, heading: float) -> float:
    off_centre = abs(relative(sight.heading, heading))
    if off_centre > HALF_VIEW:
        return 0.0
    return (
        4.0 + 2.0 * (1.0 - (sight.distance or 0.0) / SIGHT) + 2.0 * (1.0 - off_centre / HALF_VIEW)
    )

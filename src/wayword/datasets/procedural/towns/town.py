"""A town: streets, panoramas, landmarks, and what can be seen of them, for one scene name.

A thing is seen along its own street, or from all streets that meet at its corner, up to ``REACH``
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
from wayword.core.geometry import bearing, relative, sector, way_length
from wayword.core.perceiver import Perceiver, Percept, Sector, Sighting
from wayword.perception.landmarks import Scores
from wayword.worlds.street import graph as streetgraph
from wayword.worlds.street.graph import StreetGraph
from wayword.worlds.street.moves import Navigator

# What stands along a street. A name is given once a town, so that it means one place.

LIGHT = "a traffic light"
"""The one thing that a town has many of."""

PLAIN = (
    "a park", "a church", "a library", "a fire station", "a playground", "a parking lot",
    "a bike rental", "a post office", "a school", "a garden", "a gas station", "a museum",
    "a bus stop", "a hospital", "a fountain", "a farmers market", "a clock tower", "a mural",
    "a basketball court", "a subway entrance",
)  # fmt: skip
OWNERS = (
    "Marlow", "Tessa's", "Blue Lantern", "Juniper", "Old Mill", "Harbor", "Golden Fig", "Sunrise",
    "Copper Kettle", "Rosa's", "Northside", "Little Owl", "Silver Spoon", "Maple", "Grand",
    "Paper Moon", "Red Door", "Finch & Co", "Iron Gate", "Sweet Basil", "Lucky Star", "Walnut",
    "City", "Bluebird",
)  # fmt: skip
TRADES = (
    "Bakery", "Books", "Pharmacy", "Coffee", "Diner", "Hardware", "Bank", "Hotel", "Laundry",
    "Flowers", "Shoes", "Pizza", "Market", "Theater", "Barber Shop", "Toys", "Deli", "Gym",
)  # fmt: skip


def town_names(rng: random.Random) -> Iterator[str]:
    """Names in a random order, none twice; 452 in all."""
    shops = [f"{owner} {trade}" for owner in OWNERS for trade in TRADES]
    rng.shuffle(shops)
    plain = list(PLAIN)
    rng.shuffle(plain)
    while shops:
        if plain and rng.random() < 0.3:
            yield plain.pop()
        else:
            yield shops.pop()
    yield from plain


# Street plans: a grid that was pulled about, with streets missing, slanted and bent.
#
# Corners lie on a jittered grid. Some streets are left out, which makes three-way junctions and
# plain bends of the road; some blocks are cut by a diagonal, which makes five-way junctions; some
# streets bend halfway. Streets leave a corner at least ``APART`` degrees apart, none ends blindly,
# and every corner can be reached from every other.

BLOCK = (58, 92)
"""Metres from one corner to the next, before the corners are moved."""

JITTER = 7
MISSING, SLANTED, BENT = 0.15, 0.2, 0.25
"""Shares of the streets left out, of the blocks with a diagonal, of the streets that bend."""

APART = 35.0
MOST_WAYS = 5

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Street:
    """A line from corner ``a`` to corner ``b``; ``points`` includes both ends, metres."""

    a: int
    b: int
    points: tuple[Point, ...]

    @property
    def length(self) -> float:
        return way_length(self.points)

    def leaving(self, corner: int) -> float:
        """The heading in which the street leaves one of its ends, degrees from north."""
        points = self.points if corner == self.a else self.points[::-1]
        return bearing(points[0], points[1])

    def at(self, share: float) -> Point:
        """The point that far along, 0 at ``a`` and 1 at ``b``."""
        left = share * self.length
        for p, q in pairwise(self.points):
            piece = math.dist(p, q)
            if left <= piece:
                part = left / piece
                return p[0] + part * (q[0] - p[0]), p[1] + part * (q[1] - p[1])
            left -= piece
        return self.points[-1]


@dataclass(frozen=True, slots=True)
class Streets:
    """Corners and the streets between them."""

    corners: tuple[Point, ...]
    streets: tuple[Street, ...]

    def around(self, corner: int) -> list[int]:
        """The numbers of the streets that end there."""
        return [n for n, street in enumerate(self.streets) if corner in (street.a, street.b)]


def draw_streets(rng: random.Random, size: int) -> Streets:
    """A plan of ``size`` x ``size`` corners."""
    corners = _corners(rng, size)
    pairs = list(_grid(size))
    _leave_out(rng, pairs, len(corners))
    for pair in _diagonals(size):
        if rng.random() < SLANTED and _fits(corners, pairs, pair):
            pairs.append(pair)
    lines = {pair: (corners[pair[0]], corners[pair[1]]) for pair in pairs}
    streets = [Street(*pair, line) for pair, line in lines.items()]
    for number, street in enumerate(streets):
        bent = _bent(rng, street)
        rest = streets[:number] + streets[number + 1 :]
        if rng.random() < BENT and _clear(bent, rest):
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


def _grid(size: int) -> Iterator[tuple[int, int]]:
    for row in range(size):
        for column in range(size):
            here = row * size + column
            if column + 1 < size:
                yield here, here + 1
            if row + 1 < size:
                yield here, here + size


def _diagonals(size: int) -> Iterator[tuple[int, int]]:
    """One for each block, slanted either way by turns, so that no two cross."""
    for row in range(size - 1):
        for column in range(size - 1):
            here = row * size + column
            yield (here, here + size + 1) if (row + column) % 2 else (here + 1, here + size)


def _leave_out(rng: random.Random, pairs: list[tuple[int, int]], corners: int) -> None:
    shuffled = rng.sample(pairs, len(pairs))
    for pair in shuffled[: int(MISSING * len(pairs))]:
        rest = [other for other in pairs if other != pair]
        ends = [sum(corner in other for other in rest) for corner in pair]
        if min(ends) >= 2 and _connected(rest, corners):
            pairs.remove(pair)


def _connected(pairs: list[tuple[int, int]], corners: int) -> bool:
    around: dict[int, list[int]] = {}
    for a, b in pairs:
        around.setdefault(a, []).append(b)
        around.setdefault(b, []).append(a)
    reached, frontier = {0}, [0]
    while frontier:
        new = [corner for corner in around.get(frontier.pop(), []) if corner not in reached]
        reached.update(new)
        frontier += new
    return len(reached) == corners


def _fits(corners: list[Point], pairs: list[tuple[int, int]], pair: tuple[int, int]) -> bool:
    others = [Street(a, b, (corners[a], corners[b])) for a, b in pairs]
    slant = Street(*pair, (corners[pair[0]], corners[pair[1]]))
    ways = [sum(corner in other for other in pairs) for corner in pair]
    return max(ways) < MOST_WAYS and _clear(slant, others)


def _clear(street: Street, others: list[Street]) -> bool:
    """Whether it leaves both of its corners well apart from every other street."""
    return all(
        abs(relative(street.leaving(corner), other.leaving(corner))) >= APART
        for corner in (street.a, street.b)
        for other in others
        if corner in (other.a, other.b)
    )


def _bent(rng: random.Random, street: Street) -> Street:
    (x, y), (u, v) = street.points
    length, aside = street.length, rng.choice((-1, 1)) * rng.uniform(6.0, 14.0)
    middle = (x + u) / 2 + aside * (v - y) / length, (y + v) / 2 - aside * (u - x) / length
    through = round(middle[0], 2), round(middle[1], 2)
    return Street(street.a, street.b, ((x, y), through, (u, v)))


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


REACH = 27.0
"""Metres from which a landmark is recognised."""

HALF_VIEW = 30.0
"""Degrees to either side of a view's centre (60 across, as VELMA's)."""

SECTORS = 8
WIDTH = 360.0 / SECTORS


@dataclass(frozen=True, slots=True)
class LandmarkInSight:
    """A thing in sight: absolute heading (degrees) and distance (metres)."""

    name: str
    heading: float
    distance: float


def in_sight(town: Town) -> Mapping[str, tuple[LandmarkInSight, ...]]:
    """What can be seen from each panorama, all the way round."""
    streets: dict[int, set[int]] = {}
    for number, chain in enumerate(town.chains):
        for panorama in chain:
            streets.setdefault(panorama, set()).add(number)
    found: dict[int, list[LandmarkInSight]] = {panorama: [] for panorama in range(len(town.xy))}
    for landmark in town.landmarks:
        at = landmark.x, landmark.y
        for panorama in {p for number in landmark.streets for p in town.chains[number]}:
            here = town.point(panorama)
            distance = math.dist(here, at)
            under = landmark.where == "light" and panorama == landmark.home
            if distance <= REACH and not under:
                found[panorama].append(LandmarkInSight(landmark.name, bearing(here, at), distance))
    return {town.graph.ids[panorama]: tuple(seen) for panorama, seen in found.items()}


class TownPerceiver(Perceiver):
    """Perceiver and landmark scorer of towns: flawless within ``REACH``, blind beyond.

    ``sights`` gives what can be seen from each panorama of a scene.
    """

    name = "symbolic"

    def __init__(self, sights: Callable[[str], Mapping[str, tuple[LandmarkInSight, ...]]]) -> None:
        self._sights = sights

    def perceive(self, scene: str, place: str) -> Percept:
        """Eight sectors around a panorama. Raises ``DataError`` where there is no such place."""
        groups: list[list[LandmarkInSight]] = [[] for _ in range(SECTORS)]
        for seen in self._at(scene, place):
            groups[sector(seen.heading, SECTORS)].append(seen)
        return Percept(tuple(_sector(number, group) for number, group in enumerate(groups)))

    def score(
        self, scene: str, place: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Scores:
        """At least 4 where a landmark lies in the view, more the nearer and the more central.

        0 where it is not in the view. Shape (L, V), as in :meth:`.Perceiver.score`.
        """
        scores = np.zeros((len(landmarks), len(headings)))
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(landmarks):
            rows.setdefault(name, []).append(row)
        for seen in self._at(scene, place):
            for row in rows.get(seen.name, ()):
                clear = [_clearness(seen, heading) for heading in headings]
                scores[row] = np.maximum(scores[row], clear)
        return scores

    def _at(self, scene: str, panorama: str) -> tuple[LandmarkInSight, ...]:
        try:
            return self._sights(scene)[panorama]
        except KeyError:
            raise DataError(scene, f"panorama {panorama!r}", "is not in this town") from None


def _clearness(seen: LandmarkInSight, heading: float) -> float:
    off = abs(relative(seen.heading, heading))
    if off > HALF_VIEW:
        return 0.0
    return 4.0 + 2.0 * (1.0 - seen.distance / REACH) + 2.0 * (1.0 - off / HALF_VIEW)


def _sector(number: int, group: Sequence[LandmarkInSight]) -> Sector:
    names = [seen.name for seen in sorted(group, key=lambda seen: seen.distance)]
    caption = ", ".join(names) or "houses along the street"
    sightings = tuple(Sighting(seen.name, seen.heading, seen.distance) for seen in group)
    return Sector(number * WIDTH, WIDTH, caption, sightings)

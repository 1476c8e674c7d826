"""A town, determined by its scene name: streets, panoramas, landmarks and their visibility.

A landmark is visible along its street, or along all streets that meet at its corner, within
``SIGHT`` metres; houses hide it from other streets. Traffic lights hang over their junction and
are visible on approach.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from wayword.core.errors import DataError, UsageError
from wayword.core.geometry import Floats, Point, bearing, path_length, relative, sector
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
    pairs = product(NAMES["owners"], NAMES["trades"])
    shops = [f"{owner} {trade}" for owner, trade in pairs]
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
MISSING_SHARE = 0.15
"""Greatest share of the grid's streets that are left out: those that a corner needs stay."""
DIAGONAL_SHARE = 0.2
"""Share of blocks with a diagonal street."""
BENT_SHARE = 0.25
"""Share of streets that bend halfway."""
BEND_M = (6.0, 14.0)
"""Range of distances (metres) of a bend from the straight line."""

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
        """Length in metres along the street."""
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
                x = p[0] + piece_share * (q[0] - p[0])
                y = p[1] + piece_share * (q[1] - p[1])
                return x, y
            remaining -= piece
        return self.points[-1]


@dataclass(frozen=True)
class Streets:
    """Corners (metres) and the streets between them, which name corners by number."""

    corners: tuple[Point, ...]
    streets: tuple[Street, ...]

    def streets_at(self, corner: int) -> list[int]:
        """Return the numbers of the streets that end at a corner."""
        return [
            n for n, street in enumerate(self.streets) if corner in (street.a, street.b)
        ]


def draw_streets(rng: random.Random, size: int) -> Streets:
    """Draw a plan of ``size`` x ``size`` corners, numbered row by row; coordinates are metres.

    The order of draws is part of the town: another one would change every generated town.
    """
    # Corners: a grid with lines at random distances, and jitter.
    across = [0.0]
    up = [0.0]
    for line in (across, up):
        for _ in range(size - 1):
            line.append(line[-1] + rng.uniform(*BLOCK))
    corners = []
    for grid_y, grid_x in product(up, across):
        x = round(grid_x + rng.uniform(-JITTER, JITTER), 2)
        y = round(grid_y + rng.uniform(-JITTER, JITTER), 2)
        corners.append((x, y))

    # Streets along the grid, then at most one diagonal per block. Directions alternate, so that
    # diagonals meet at every second corner, and the corners between have none.
    pairs = _draw_grid(rng, size)
    streets = [Street(a, b, (corners[a], corners[b])) for a, b in pairs]
    for row, column in product(range(size - 1), repeat=2):
        corner = row * size + column
        if (row + column) % 2:
            a = corner
            b = corner + size + 1
        else:
            a = corner + 1
            b = corner + size
        if rng.random() < DIAGONAL_SHARE:
            diagonal = Street(a, b, (corners[a], corners[b]))
            # Streets at each corner, with the diagonals so far.
            degrees = Counter[int]()
            for other in streets:
                degrees.update((other.a, other.b))
            has_space = max(degrees[a], degrees[b]) < MOST_STREETS
            if has_space and _leaves_apart(diagonal, streets):
                streets.append(diagonal)

    # Bends, to the left or to the right of the middle. Every street makes the same draws, bent or
    # straight.
    for number, street in enumerate(streets):
        (x, y), (u, v) = street.points
        length = street.length
        # The unit normal of the street is (v - y, x - u) / length.
        aside = rng.choice((-1, 1)) * rng.uniform(*BEND_M)
        bend_x = (x + u) / 2 + aside * (v - y) / length
        bend_y = (y + v) / 2 - aside * (u - x) / length
        bend = (round(bend_x, 2), round(bend_y, 2))
        bent = Street(street.a, street.b, ((x, y), bend, (u, v)))
        others = streets[:number] + streets[number + 1 :]
        if rng.random() < BENT_SHARE and _leaves_apart(bent, others):
            streets[number] = bent
    return Streets(tuple(corners), tuple(streets))


def _draw_grid(rng: random.Random, size: int) -> list[tuple[int, int]]:
    """Draw the streets of a grid of ``size`` x ``size`` corners: pairs (lower, higher number).

    Some are left out, but no corner becomes a dead end, and each can be reached.
    """
    corner_count = size * size
    pairs = []
    for corner in range(corner_count):
        if (corner + 1) % size:  # not the last of its row
            pairs.append((corner, corner + 1))
        if corner + size < corner_count:
            pairs.append((corner, corner + size))
    # All are shuffled, so that the share changes no later draw.
    shuffled = rng.sample(pairs, len(pairs))
    for pair in shuffled[: int(MISSING_SHARE * len(pairs))]:
        rest = [other for other in pairs if other != pair]
        degrees = Counter[int]()
        for ends in rest:
            degrees.update(ends)
        makes_dead_end = any(degrees[corner] < 2 for corner in pair)
        if not makes_dead_end and len(_reached(rest)) == corner_count:
            pairs.remove(pair)
    return pairs


def _reached(pairs: list[tuple[int, int]]) -> set[int]:
    """Return the corners that can be reached from corner 0."""
    reached = set[int]()
    frontier = {0}
    while frontier:
        reached |= frontier
        neighbors = set[int]()
        for pair in pairs:
            if not frontier.isdisjoint(pair):
                neighbors.update(pair)
        frontier = neighbors - reached
    return reached


def _leaves_apart(street: Street, others: list[Street]) -> bool:
    """True if the street leaves both of its corners well apart from every other street."""
    for corner in (street.a, street.b):
        heading = street.leaving_heading(corner)
        for other in others:
            if corner not in (other.a, other.b):
                continue
            if abs(relative(heading, other.leaving_heading(corner))) < STREET_ANGLE:
                return False
    return True


# Range of corners per side; a larger town would run out of names.
SMALLEST = 3
LARGEST = 9

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

    ``home`` is the panorama it belongs to; ``where`` is ``street``, ``corner`` or ``light``.
    """

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
    xy: Floats
    chains: tuple[tuple[int, ...], ...]
    landmarks: tuple[Landmark, ...]
    lights: frozenset[int]

    @property
    def graph(self) -> StreetGraph:
        """Street graph of the town."""
        return self.navigator.graph

    @property
    def corners(self) -> int:
        """Number of corners."""
        return len(self.streets.corners)

    def is_junction(self, panorama: int) -> bool:
        """True if three or more streets meet there."""
        return self.graph.degree(panorama) > 2

    def point(self, panorama: int) -> Point:
        """Return a panorama's position, x and y in metres."""
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
    # One generator for all steps: their order decides the town.
    rng = random.Random(f"town/{scene}")
    streets = draw_streets(rng, int(match[1]))

    # Panoramas: the corners first, then those along each street, about SPACING apart.
    points = list(streets.corners)
    chains = list[tuple[int, ...]]()
    for street in streets.streets:
        steps = max(4, round(street.length / SPACING))
        inner = range(len(points), len(points) + steps - 1)
        points += [street.point_at(k / steps) for k in range(1, steps)]
        chains.append((street.a, *inner, street.b))

    # The graph, with links in both directions; positions are latitude and longitude.
    ids = [f"{scene}-p{number:04d}" for number in range(len(points))]
    links = []
    for chain in chains:
        for one, other in pairwise(chain):
            heading = bearing(points[one], points[other])
            links.append((ids[one], heading, ids[other]))
            links.append((ids[other], (heading + 180.0) % 360.0, ids[one]))
    north_east = np.array([(y, x) for x, y in points]) / METRES_PER_DEGREE
    graph = replace(streetgraph.build(scene, ids, links), positions=north_east)

    # Traffic lights, then landmarks with names.
    lights = [
        corner
        for corner in range(len(streets.corners))
        if rng.random() < LIGHT_SHARE.get(graph.degree(corner), 0.0)
    ]
    landmarks = _line_streets(rng, chains, points)
    landmarks += _fill_corners(rng, graph, streets)
    names = town_names(rng)
    named = [replace(landmark, name=next(names)) for landmark in landmarks]
    for corner in lights:
        around = frozenset(streets.streets_at(corner))
        named.append(
            Landmark(
                LIGHT,
                *points[corner],
                corner,
                around,
                "light",
            )
        )
    return Town(
        scene,
        streets,
        Navigator(graph),
        np.array(points),
        tuple(chains),
        tuple(named),
        frozenset(lights),
    )


def _line_streets(
    rng: random.Random,
    chains: Sequence[tuple[int, ...]],
    points: list[Point],
) -> list[Landmark]:
    """Place landmarks next to the panoramas of each street, at least three panoramas apart.

    ``chains`` are the panoramas of each street, its two corners included; ``points`` their
    positions in metres, x to the east and y to the north. Names are assigned later.
    """
    landmarks = []
    for number, chain in enumerate(chains):
        # Corners have landmarks of their own.
        free = list(range(1, len(chain) - 1))
        count = rng.choice((1, 2, 2, 3))
        while free and count:
            k = rng.choice(free)
            count -= 1
            free = [other for other in free if abs(other - k) >= 3]
            # To the left or to the right of the street, which leads from the panorama before to the
            # one after.
            panorama = chain[k]
            heading = math.radians(bearing(points[chain[k - 1]], points[chain[k + 1]]))
            side = rng.choice((-1, 1))
            x = points[panorama][0] + side * LANDMARK_OFFSET * math.cos(heading)
            y = points[panorama][1] - side * LANDMARK_OFFSET * math.sin(heading)
            landmarks.append(
                Landmark(
                    "",
                    x,
                    y,
                    panorama,
                    frozenset({number}),
                    "street",
                )
            )
    return landmarks


def _fill_corners(
    rng: random.Random,
    graph: StreetGraph,
    streets: Streets,
) -> list[Landmark]:
    """Place a landmark on one corner of about half of the junctions.

    Positions are metres, x to the east and y to the north; names are assigned later. Corners with
    two streets are bends, not junctions.
    """
    landmarks = []
    for corner, (x, y) in enumerate(streets.corners):
        # Bends draw no number: each draw decides all later ones of the town.
        if graph.degree(corner) < 3 or rng.random() < 0.45:
            continue
        around = streets.streets_at(corner)
        headings = sorted(
            streets.streets[number].leaving_heading(corner) for number in around
        )
        # In the middle between a street and the next one clockwise; in a gap wider than a right
        # angle, 45 degrees from the street, where the corner of a crossing would be.
        chosen = rng.randrange(len(headings))
        gap = (headings[(chosen + 1) % len(headings)] - headings[chosen]) % 360.0
        angle = math.radians(headings[chosen] + min(gap, 90.0) / 2)
        spot = x + CORNER_OFFSET * math.sin(angle), y + CORNER_OFFSET * math.cos(angle)
        landmarks.append(
            Landmark(
                "",
                *spot,
                corner,
                frozenset(around),
                "corner",
            )
        )
    return landmarks


SIGHT = 27.0
"""Maximum distance in metres at which a landmark is recognized."""

HALF_VIEW = 30.0
"""Half the horizontal field of view in degrees (60 in total, as in VELMA)."""

SECTORS = 8  # views of a panorama, as in NavGPT
WIDTH = 360.0 / SECTORS  # degrees


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
        street_panoramas = set[int]()
        for number in landmark.streets:
            street_panoramas.update(town.chains[number])
        for panorama in street_panoramas:
            eye = town.point(panorama)
            distance = math.dist(eye, spot)
            # A light above the eye is out of view.
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
        self,
        sights: Callable[[str], Mapping[str, tuple[Sighting, ...]]],
    ) -> None:
        self._sights = sights

    def perceive(self, scene: str, place: str) -> Percept:
        """Return ``SECTORS`` sectors around a panorama, the first centered on north.

        Raises ``DataError`` for an unknown panorama.
        """
        visible = self._at(scene, place)
        sectors = []
        for number in range(SECTORS):
            group = [
                each for each in visible if sector(each.heading, SECTORS) == number
            ]
            # The distance is always known in a town; the type allows None.
            nearest_first = sorted(group, key=lambda each: each.distance or 0.0)
            # Houses are seen where no landmark is.
            caption = (
                ", ".join(each.name for each in nearest_first)
                or "houses along the street"
            )
            sectors.append(
                Sector(
                    number * WIDTH,
                    WIDTH,
                    caption,
                    tuple(group),
                )
            )
        return Percept(tuple(sectors))

    def score(
        self,
        scene: str,
        place: str,
        headings: Sequence[int],
        landmarks: Sequence[str],
    ) -> Scores:
        """Score landmarks in views: 4 or more if visible, higher if near and central, else 0.

        Shape (L, V), as in :meth:`.Perceiver.score`.
        """
        scores = np.zeros((len(landmarks), len(headings)))
        for sight in self._at(scene, place):
            offsets = [abs(relative(sight.heading, heading)) for heading in headings]
            off = np.array(offsets)
            # 4 for a visible landmark, up to 2 for a near one, up to 2 for a central one.
            near = 2.0 * (1.0 - (sight.distance or 0.0) / SIGHT)
            central = 2.0 * (1.0 - off / HALF_VIEW)
            clear = np.where(off > HALF_VIEW, 0.0, 4.0 + near + central)
            rows = [row for row, name in enumerate(landmarks) if name == sight.name]
            scores[rows] = np.maximum(scores[rows], clear)
        return scores

    def _at(self, scene: str, panorama: str) -> tuple[Sighting, ...]:
        """Return what is in sight from a panorama. Raises ``DataError`` for an unknown
        one."""
        try:
            return self._sights(scene)[panorama]
        except KeyError:
            raise DataError(
                scene,
                f"panorama {panorama!r}",
                "is not in the town",
            ) from None

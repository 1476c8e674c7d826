"""Street plans: a grid that was pulled about, with streets missing, slanted and bent.

Corners lie on a jittered grid. Some streets are left out, which makes three-way junctions and
plain bends of the road; some blocks are cut by a diagonal, which makes five-way junctions; some
streets bend halfway. Streets leave a corner at least ``APART`` degrees apart, none ends blindly,
and every corner can be reached from every other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from wayword.core.angles import absolute, relative

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
        return sum(math.dist(p, q) for p, q in pairwise(self.points))

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


def bearing(start: Point, end: Point) -> float:
    """The heading from one point to another, degrees clockwise from north in [0, 360)."""
    return absolute(math.degrees(math.atan2(end[0] - start[0], end[1] - start[1])))


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

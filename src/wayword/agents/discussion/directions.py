"""Twelve directions of 30° around the agent, numbered clockwise from where it faces.

What lies in one is read off whatever sectors the perceiver offers: a recorded sentence covers 45°,
so a direction has those of the one or two sectors that it overlaps, and the tags of the things
that truly lie within its own 30°.

Source: DiscussNav (Long et al. 2024), section III-C.
"""

from __future__ import annotations

from dataclasses import dataclass

from wayword.core.angles import absolute, relative
from wayword.core.perceiver import Percept
from wayword.worlds.indoor import IndoorObservation
from wayword.worlds.viewpoints import Way

COUNT = 12
WIDTH = 360.0 / COUNT
TOUCHING = 1.0
"""Degrees by which a sector must reach into a direction to count as seen there."""


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction: ``id`` 1 (the front) to 12, clockwise; ``heading`` of its centre, absolute.

    ``ways`` are the neighbours that lie in it, the one nearest to its centre first.
    """

    id: int
    heading: float
    captions: tuple[str, ...]
    tags: tuple[str, ...]
    ways: tuple[Way, ...]


def around(seen: IndoorObservation, percept: Percept) -> tuple[Direction, ...]:
    """All twelve directions. Every way lies in exactly one of them."""
    return tuple(_direction(number, seen, percept) for number in range(COUNT))


def bearing(direction: int) -> str:
    """Where a direction lies: ``ahead``, ``30° to the right`` … ``behind``."""
    degrees = relative((direction - 1) * WIDTH, 0.0)
    if abs(degrees) in (0.0, 180.0):
        return "behind" if degrees else "ahead"
    return f"{abs(degrees):.0f}° to the {'right' if degrees > 0 else 'left'}"


def number_of(heading: float, facing: float) -> int:
    """Which direction an absolute heading lies in; a border belongs to the one on its right."""
    return int((absolute(heading - facing) + WIDTH / 2) // WIDTH) % COUNT + 1


def _direction(number: int, seen: IndoorObservation, percept: Percept) -> Direction:
    centre = absolute(seen.heading + number * WIDTH)
    captions: dict[str, None] = {}
    tags: dict[str, None] = {}
    for sector in percept.sectors:
        apart = abs(relative(sector.heading, centre))
        if sector.caption and apart < (sector.width + WIDTH) / 2 - TOUCHING:
            captions[sector.caption] = None
        for thing in sector.sightings:
            if number_of(thing.heading, seen.heading) == number + 1:
                tags[thing.name] = None
    ways = [way for way in seen.ways if number_of(way.heading, seen.heading) == number + 1]
    ways.sort(key=lambda way: abs(relative(way.heading, centre)))
    return Direction(number + 1, centre, tuple(captions), tuple(tags), tuple(ways))

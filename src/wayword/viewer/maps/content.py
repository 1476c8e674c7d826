"""What a map shows: walks, places and shapes in metres. ``drawing`` draws it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, TypeVar

from wayword.viewer.markup import Letters

T = TypeVar("T", bound=Hashable)
Point = tuple[float, float]
"""Metres, x to the east, y to the north; or units of the drawing."""
At = Callable[[Point], Point]
"""From metres to the drawing's units."""

# Kind of shapes on a street, which need room around them like its walks
LANDMARK = "landmark"


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A point of an actor's walk. ``step`` is 0 at the start, else the step that led here;
    ``blocked`` is True if something was in the way of that step, ``route`` the points between."""

    step: int
    place: str
    point: Point
    heading: float | None
    blocked: bool = False
    route: Sequence[Point] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape on a map, of some class, at points in metres.

    A ``line`` has two ends, a ``rect`` its south-western and north-eastern corners, an ``area`` all
    corners; a ``dot`` has a center and a radius, ``size`` in the drawing's units; ``cells`` have
    centers, and are ``size`` metres wide; a ``cone`` faces ``size`` degrees. ``label`` is placed in
    a ``rect`` if there is room, and next to any other shape. It is shown from step ``first`` to
    ``last``; always if ``first`` is 0.
    """

    form: Literal["line", "rect", "area", "dot", "cells", "cone", "label"]
    points: Sequence[Point]
    kind: str
    title: str = ""
    label: str = ""
    size: float = 0.0
    first: int = 0
    last: int = 0


def room_label(name: str, polygon: Sequence[Point]) -> Shape:
    """Return a room's name, at the corners of its outline's box."""
    # The box, not the outline: the name is placed where there is room in it.
    xs, ys = zip(*polygon, strict=True)
    ends = [(min(xs), min(ys)), (max(xs), max(ys))]
    return Shape("label", ends, "roomname", label=name)


def square(middle: Point, kind: str, half: float = 0.5, **fields: Any) -> Shape:
    """Return a square of a grid around its center; ``half`` is half its side."""
    x, y = middle
    corners = ((x - half, y - half), (x + half, y + half))
    return Shape("rect", corners, kind, **fields)


@dataclass(slots=True)
class Map:
    """Everything a map shows: each actor's walk over the places and edges of a graph.

    ``region`` has the places where a stop counts as success. ``floors`` maps places to storeys,
    from 0, if a walk or the gold path touches several. ``names`` describes places, for example by
    room, and ``rooms`` has those that stand next to letters; ``letters`` has their short names,
    drawn for all or for those in ``lettered``. ``scale`` is True if lengths are true, in ``unit``.
    ``divergence`` is the point where compared walks diverge. ``failed`` marks the ends of the
    walks, and ``mistake`` is the step before which a ring is drawn, 0 for none, ``departed`` is
    True if it left the path for good; ``named`` are the
    places in its sentence, ``missed`` objects in view that were left alone. ``shapes`` are below
    the walks, ``legend`` has class and text of signs that only some maps have, and ``views``, for
    each actor and step, the corners of the actor's view before it. ``targets`` can be pressed on a
    game's map: position, text, and attributes for the page's script. ``expert`` has the paths of an
    expert. A ``small`` map has no legend.
    """

    walks: dict[str, list[Waypoint]]
    places: dict[str, Point] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)
    gold: list[tuple[str, Point]] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    views: Mapping[str, Mapping[int, Sequence[Point]]] = field(default_factory=dict)
    legend: Sequence[tuple[str, str]] = ()
    region: frozenset[str] = frozenset()
    floors: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    rooms: Mapping[str, str] = field(default_factory=dict)
    scale: bool = True
    unit: str = "m"
    letters: Letters = field(default_factory=Letters)
    lettered: frozenset[str] | None = None
    divergence: Point | None = None
    failed: bool = False
    mistake: int = 0
    departed: bool = False
    named: frozenset[str] = frozenset()
    missed: Collection[str] = ()
    targets: Sequence[tuple[Point, str, Mapping[str, Any]]] | None = None
    expert: Sequence[Sequence[Point]] = ()
    small: bool = False

    @property
    def stops(self) -> list[Waypoint]:
        """The waypoints of all walks."""
        return list(chain.from_iterable(self.walks.values()))

    def title(self, place: str) -> str:
        """Return letter, id and name of a place: ``B, 545da9c1…, bedroom``."""
        name = self.names.get(place)
        return ", ".join(filter(None, (self.letters.title(place), name)))


def spans(frames: Sequence[Sequence[T]]) -> Iterator[tuple[T, int, int]]:
    """Return each item with the numbers (from 1) of the first and last frame that contain it: one
    frame per step, and the end."""
    since: dict[T, int] = {}
    for number, frame in enumerate(frames, 1):
        now = set(frame)
        # A list, because the loop removes items.
        ended = [item for item in since if item not in now]
        for item in ended:
            yield item, since.pop(item), number - 1
        for item in frame:
            since.setdefault(item, number)
    for item, first in since.items():
        yield item, first, len(frames)

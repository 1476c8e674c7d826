"""What a map shows: walks, places and shapes in metres. ``drawing`` draws it."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeVar

from wayword.core.episode import JsonObject
from wayword.core.geometry import Point, bounding_box, box_around
from wayword.viewer.markup import Letters

T = TypeVar("T", bound=Hashable)
Target = tuple[Point, str, JsonObject]
"""What can be pressed on a game's map: position, text, and attributes for the script."""
At = Callable[[Point], Point]
"""From metres to the drawing's units."""

SQUARES = "squares"
"""Unit of a grid of squares."""
# Kind of shapes on a street, which need room around them like its walks
LANDMARK = "landmark"
# Kind of the place where a detector reported a target that is elsewhere
FALSE = "false-report"


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A point of an actor's walk.

    ``step`` is 0 at the start, else the step that led here; ``blocked`` is True if
    something was in the way of that step, ``route`` the points between, if the path was
    not straight. ``heading`` is in degrees.
    """

    step: int
    place: str
    point: Point
    heading: float | None
    blocked: bool = False
    route: Sequence[Point] = ()


def line_of(walk: Iterable[Waypoint]) -> list[Point]:
    """Return a walk as a line of points."""
    return [*chain.from_iterable((*stop.route, stop.point) for stop in walk)]


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape on a map, of some class, at points in metres.

    A ``line`` has two ends, as has an ``arrow``, towards ``size`` degrees; a ``rect`` its
    south-western and north-eastern corners, an ``area`` all corners; a ``dot`` has a center
    and a radius, ``size`` in the drawing's units; ``cells`` have centers, and are ``size``
    metres wide; a ``cone`` faces ``size`` degrees. ``label`` is placed in a ``rect`` if there
    is room, and next to any other shape. It is shown from step ``first`` to ``last``; always
    if ``first`` is 0.
    """

    form: Literal["line", "arrow", "rect", "area", "dot", "cells", "cone", "label"]
    points: Sequence[Point]
    kind: str
    title: str = ""
    label: str = ""
    size: float = 0.0
    first: int = 0
    last: int = 0


class Extent(NamedTuple):
    """A rectangle with sides along the axes, in metres."""

    west: float
    south: float
    east: float
    north: float

    @staticmethod
    def of(points: Iterable[Point]) -> Extent:
        """Return the smallest rectangle around points, of which there must be one."""
        return Extent(*bounding_box(points))

    @staticmethod
    def around(middle: Point, width: float, depth: float) -> Extent:
        """Return the rectangle of a width (east) and depth (north) around its center."""
        return Extent(*box_around(*middle, width, depth))

    @property
    def corners(self) -> tuple[Point, Point]:
        """The south-western and the north-eastern corner, as shapes have them."""
        return (self.west, self.south), (self.east, self.north)

    @property
    def longest(self) -> float:
        """The length of the longer side."""
        return max(self.east - self.west, self.north - self.south)

    def grown(self, margin: float) -> Extent:
        """Return the rectangle with a margin on all sides."""
        return Extent(
            self.west - margin,
            self.south - margin,
            self.east + margin,
            self.north + margin,
        )

    def contains(self, point: Point) -> bool:
        """True if a point is inside or on a side."""
        x, y = point
        return self.west <= x <= self.east and self.south <= y <= self.north


def room_label(name: str, polygon: Sequence[Point]) -> Shape:
    """Return a room's name, at the corners of its outline's box."""
    # The box, not the outline: the name is placed where there is room in it.
    return Shape("label", Extent.of(polygon).corners, "roomname", label=name)


def square(middle: Point, kind: str, side: float = 1.0, **fields: Any) -> Shape:
    """Return a square around its center, by default one of a grid."""
    corners = Extent.around(middle, side, side).corners
    return Shape("rect", corners, kind, **fields)


@dataclass
class Map:
    """Everything a map shows: each actor's walk over the places and edges of a graph.

    Ground: ``shapes`` are below the walks, ``places`` and ``edges`` the graph,
    ``region`` the places where a stop counts as success, ``floors`` the storeys of
    places, from 0, if a walk or the gold path touches several. ``scale`` is True if
    lengths are true, in ``unit``, which is empty where it is not known.

    Names: ``names`` describes places, for example by room, and ``rooms`` has those that
    stand next to letters; ``letters`` has their short names, drawn for all or for those
    in ``lettered``. ``legend`` has class and text of signs that only some maps have.

    Events: ``divergence`` is the point where compared walks diverge. ``failed`` and
    ``solved`` mark the ends of the walks, ``mistake`` is the step before which a ring
    is drawn, 0 for none, and ``departed`` is True if it left the path for good; ``named`` are the
    places in its sentence, ``missed`` objects in view that were left alone. ``views``
    has, for each actor and step, the corners of the actor's view after it. ``expert``
    has the paths of an expert.

    ``targets`` can be pressed on a game's map: position, text, and attributes for the
    page's script. A ``small`` map has no legend.
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
    solved: bool = False
    mistake: int = 0
    departed: bool = False
    named: frozenset[str] = frozenset()
    missed: Collection[str] = ()
    targets: Sequence[Target] | None = None
    expert: Sequence[Sequence[Point]] = ()
    small: bool = False

    @property
    def stops(self) -> list[Waypoint]:
        """The waypoints of all walks."""
        return list(chain.from_iterable(self.walks.values()))

    def ringed(self, walk: Sequence[Waypoint]) -> Waypoint | None:
        """Return the last waypoint before the mistake; None if the mistake is not this actor's."""
        if not self.failed or all(stop.step != self.mistake for stop in walk):
            return None
        earlier = [stop for stop in walk if stop.step < self.mistake]
        return earlier[-1] if earlier else None

    @property
    def mistake_words(self) -> str:
        """What the ring of the mistake means."""
        return "left the path" if self.departed else "the mistake"

    @property
    def last(self) -> int:
        """The last step of any walk, 0 if there is only a start."""
        return max(stop.step for stop in self.stops)

    def title(self, place: str) -> str:
        """Return letter, id and name of a place: ``B, 545da9c1…, bedroom``."""
        title = self.letters.title(place)
        name = self.names.get(place)
        return ", ".join(filter(None, (title, name)))


def spans(frames: Sequence[Sequence[T]]) -> Iterator[tuple[T, int, int]]:
    """Yield each item with the numbers (from 1) of the first and last frame that contain it.

    One frame per step, and one for the end. An item that leaves and returns is yielded
    once for each stay; equal items in one frame count once.
    """
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

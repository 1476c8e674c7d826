"""Generated towns as meshes: streets, houses, landmarks with signs, and traffic lights.

A town says where its landmarks are, and nothing of the rest. Houses fill the free space along the
streets; they are drawn by chance, the same for each town, and hide no landmark.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise

import numpy as np

from wayword.core.geometry import Floats, Point, box_corners
from wayword.core.sight import Frame, Painter, PictureView
from wayword.core.world import World
from wayword.datasets.procedural.towns.town import LIGHT, Landmark, Town
from wayword.render.parts import (
    LETTER_COLUMNS,
    PARTS,
    TOWNS,
    MeshBuilder,
    Paint,
    TownLook,
    checksum,
    joined,
    letter_runs,
    paint_of,
    town_look,
    town_space,
)
from wayword.render.raster import Mesh, draw_view

EYE = 2.0
"""Height of the eye in metres: that of a camera on a car, as in Street View."""
ELEVATION = 5.0
"""Elevation of the views in degrees: signs hang above the eye."""
VIEW_WIDTH = 75.0
"""Width of each of three views in degrees: together they show all of the five directions that words
name, up to 112.5° to either side."""
LAYERS = ((6.0, -0.02, "sidewalk"), (3.6, 0.0, "asphalt"), (0.1, 0.01, "lane"))
"""Half width, height (metres) and paint of the layers of a street."""
MARGIN = 60.0
"""Ground around a town in metres."""
HOUSE_OFFSET = 11.5
"""Distance of houses from the middle of the street in metres."""
HOUSE_SPACE = 9.0
"""Least distance between the middles of buildings in metres."""
STREET_SPACE = 8.4
"""Least distance of a house's middle from any panorama in metres."""
STREET_STEP = 2.0
"""Most metres between points of a street that stand for it."""
HOUSE_PAINTS = ("brick", "plaster", "slate", "olive", "cream")
HOUSE_HEIGHTS = (5.0, 9.0)  # metres
POST_OFFSET = 7.0
"""Distance of the posts of a traffic light from the middle of its junction in metres."""
SIGN_PAINTS = (
    "sign_red",
    "sign_blue",
    "sign_green",
    "sign_brown",
    "sign_violet",
)
DOT = 0.15
"""Side of a dot of a sign's letters in metres: letters are 1.05 m high."""
SIGN_BOTTOM = 3.4
"""Height of the lower edge of a facade's sign in metres: over the heads of people."""
HUNG_BOTTOM = 5.1
"""Height of the lower edge of a sign across the sidewalk in metres: over that of the facade."""
STAND_OFF = 0.25
"""Distance of a sign from its wall in metres."""
LINE_ROWS = 9
"""Dots from one line of a sign to the next."""
FLUSH = 0.02
"""Distance of letters from their board in metres."""
SEEN_WITHIN = 110.0
"""Distance in metres up to which buildings are drawn."""
READ_WITHIN = 55.0
"""Distance in metres up to which letters are drawn: farther ones are no letters."""
GROUND = -0.05
"""Height of the ground in metres: under the streets."""
SCENES = 4
"""Most towns in memory: each takes about 20 MB."""
PLACES = 8
"""Most panoramas whose surroundings are in memory."""


@dataclass(frozen=True, eq=False)
class TownPiece:
    """A part of a town that is built once an actor comes near.

    ``at`` is its middle, ``within`` the distance up to which it is drawn (metres), and
    ``build`` returns its mesh.
    """

    at: Point
    within: float
    build: Callable[[], Mesh]


class TownScene:
    """A town as pieces.

    ``numbers``: index of a landmark -> its number in pictures. ``names``: number ->
    name of the landmark; 0 is everything without a name.
    """

    def __init__(self, town: Town) -> None:
        self.town = town
        self.names = [""]
        self.numbers: list[int] = []
        for landmark in town.landmarks:
            self.names.append(landmark.name)
            self.numbers.append(len(self.names) - 1)
        self._mesh = cache(lambda index: self.pieces[index].build())

    @cached_property
    def pieces(self) -> list[TownPiece]:
        """Ground, streets, landmarks and houses, in this order: their index is that of
        their mesh.
        """
        pieces = [_ground(self.town), *_streets(self.town)]
        points = _street_points(self.town)
        for landmark, number in zip(self.town.landmarks, self.numbers, strict=True):
            if landmark.where == "light":
                pieces += _light(self.town, landmark, number)
            else:
                pieces += _building(
                    self.town,
                    landmark,
                    number,
                    points,
                )
        pieces += _houses(self.town)
        return pieces

    def around(self, x: float, y: float) -> Mesh:
        """Return the mesh of what can be seen from a point (metres)."""
        near = [
            self._mesh(index)
            for index, piece in enumerate(self.pieces)
            if math.dist(piece.at, (x, y)) <= piece.within
        ]
        return joined(near)


def _ground(town: Town) -> TownPiece:
    """Return the ground, which is drawn from everywhere."""
    west, south = (town.xy.min(axis=0) - MARGIN).tolist()
    east, north = (town.xy.max(axis=0) + MARGIN).tolist()
    corners = box_corners((west, south, east, north))

    def build() -> Mesh:
        """Return a rectangle around the town."""
        builder = MeshBuilder()
        builder.add_face([(*corner, GROUND) for corner in corners], paint_of("ground"))
        return builder.mesh()

    return TownPiece((0.0, 0.0), math.inf, build)


def _streets(town: Town) -> list[TownPiece]:
    """Return a piece of street for each two neighboring panoramas."""
    pieces = []
    for chain in town.chains:
        for one, other in pairwise(chain):
            start = town.point(one)
            end = town.point(other)
            middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
            build = partial(_street_mesh, start, end)
            pieces.append(TownPiece(middle, SEEN_WITHIN, build))
    return pieces


def _street_mesh(start: Point, end: Point) -> Mesh:
    """Return the layers of a straight piece of street from one point to another (metres)."""
    builder = MeshBuilder()
    along = _direction(start, end)
    aside = (along[1], -along[0])
    for half, height, paint in LAYERS:
        # A little longer, so that no gap opens where a street bends; lines end at junctions.
        extra = 0.0
        if paint != "lane":
            extra = half
        a = _moved(start, along, -extra)
        b = _moved(end, along, extra)
        corners = [
            _moved(a, aside, half),
            _moved(b, aside, half),
            _moved(b, aside, -half),
            _moved(a, aside, -half),
        ]
        builder.add_face([(*corner, height) for corner in corners], paint_of(paint))
    return builder.mesh()


def _solid_mesh(
    number: int,
    look: TownLook,
    paint: str,
    back: Point,
    front: Point,
    extents: tuple[float, float, float],
) -> Mesh:
    """Return the mesh of a building or a post.

    ``number`` is the object's, ``back`` the middle of its back, ``front`` the unit
    vector that it faces, and ``extents`` its size across, deep and up, all in metres.
    """
    builder = MeshBuilder()
    builder.add_parts(
        number,
        look.parts,
        paint,
        back,
        front,
        extents,
        0.0,
    )
    return builder.mesh()


def _direction(start: Point, end: Point) -> Point:
    """Return the unit vector from one point to another.

    Rounded, because positions come from sines, whose last bits differ between C libraries.
    """
    length = math.dist(start, end)
    return round((end[0] - start[0]) / length, 9), round(
        (end[1] - start[1]) / length, 9
    )


def _moved(point: Point, direction: Point, metres: float) -> Point:
    """Return a point moved by some metres in a direction, rounded to the micrometre."""
    x = point[0] + direction[0] * metres
    y = point[1] + direction[1] * metres
    return round(x, 6), round(y, 6)


def kind_of_landmark(landmark: Landmark) -> str:
    """Return the kind of a landmark in ``towns.toml``: ``park`` for "a park", else ``shop``."""
    if landmark.name.startswith("a "):
        return landmark.name.removeprefix("a ")
    return "shop"


def _building(
    town: Town, landmark: Landmark, number: int, streets: Floats
) -> list[TownPiece]:
    """Return a landmark that faces its panorama, with its signs.

    It is as large as its place allows: clear of ``streets`` (P, 2), if any scale is.
    Letters are pieces of their own, as they are drawn from near only.
    """
    kind = kind_of_landmark(landmark)
    look = town_look(kind)
    spot = (round(landmark.x, 6), round(landmark.y, 6))
    front = _direction(spot, town.point(landmark.home))
    # Where streets meet at a sharp angle, a building of full size would stand on the other street
    # and hide what words name there.
    space = town_space()
    for scale in space.scales:
        across = round(look.extents[0] * scale, 6)
        deep = round(look.extents[1] * scale, 6)
        # A part of it stands in front of its spot; tall buildings stay behind the sidewalk.
        back = _moved(spot, front, 1.6 * scale - deep)
        if _distance(streets, back, front, across, deep) >= space.clearance:
            break
    extents = (across, deep, look.extents[2])
    solid = partial(
        _solid_mesh,
        number,
        look,
        look.paint,
        back,
        front,
        extents,
    )
    pieces = [TownPiece(spot, SEEN_WITHIN, solid)]
    if not look.sign:
        return pieces
    words = landmark.name if look.sign == "name" else look.sign
    color = paint_of(SIGN_PAINTS[number % len(SIGN_PAINTS)])
    facade = _moved(back, front, deep + STAND_OFF)
    aside = (-front[1], front[0])
    # One on the facade, and one across the sidewalk, read from along the street on both sides.
    lines = words.upper().split()
    signs = [Sign((" ".join(lines),), (*facade, SIGN_BOTTOM), front)]
    for side in (aside, (-aside[0], -aside[1])):
        hung = (*_moved(facade, side, FLUSH), HUNG_BOTTOM)
        signs.append(Sign(tuple(lines), hung, side))
    for sign in signs:
        boards = partial(_board_mesh, sign, color, number)
        letters = partial(_letter_mesh, sign, number)
        pieces.append(TownPiece(spot, SEEN_WITHIN, boards))
        pieces.append(TownPiece(spot, READ_WITHIN, letters))
    return pieces


def _street_points(town: Town) -> Floats:
    """Return points (P, 2) in the middle of the streets, at most ``STREET_STEP`` apart."""
    runs = []
    for chain in town.chains:
        for one, other in pairwise(chain):
            count = math.ceil(math.dist(town.xy[one], town.xy[other]) / STREET_STEP)
            runs.append(np.linspace(town.xy[one], town.xy[other], count + 1))
    return np.concatenate(runs)


def _distance(
    streets: Floats,
    back: Point,
    front: Point,
    across: float,
    deep: float,
) -> float:
    """Return the distance of a rectangle on the ground from the nearest of points (P, 2), metres.

    ``back`` is the middle of its back, ``front`` the unit vector it faces; it extends
    ``across`` and ``deep`` from there.
    """
    offsets = streets - np.array(back)
    along = offsets[:, 1] * front[0] - offsets[:, 0] * front[1]
    off = offsets[:, 0] * front[0] + offsets[:, 1] * front[1]
    aside = np.maximum(np.abs(along) - across / 2, 0.0)
    ahead = np.maximum(np.maximum(off - deep, -off), 0.0)
    distances = np.hypot(aside, ahead)
    # Rounded, so that the last bit of a position decides nothing.
    return round(float(distances.min()), 6)


@dataclass(frozen=True)
class Sign:
    """A board with ``lines`` of text.

    ``middle`` (x, y, z) is that of its lower edge in metres, ``front`` the direction it faces.
    """

    lines: tuple[str, ...]
    middle: tuple[float, float, float]
    front: Point

    @property
    def columns(self) -> int:
        """Its width in dots."""
        return max(map(len, self.lines)) * LETTER_COLUMNS + 1

    @property
    def rows(self) -> int:
        """Its height in dots."""
        return LINE_ROWS * len(self.lines) + 1

    def rectangle(
        self,
        columns: tuple[int, int],
        rows: tuple[int, int],
        off: float,
    ) -> list[tuple[float, float, float]]:
        """Return the corners of a rectangle, counted in dots from the upper left.

        ``off`` is its distance from the board in metres.
        """
        # To the right of who reads it.
        right = (-self.front[1], self.front[0])
        x, y, bottom = self.middle
        lifted = _moved((x, y), self.front, off)
        half = self.columns / 2
        a = _moved(lifted, right, (columns[0] - half) * DOT)
        b = _moved(lifted, right, (columns[1] - half) * DOT)
        low = round(bottom + (self.rows - rows[1]) * DOT, 6)
        high = round(bottom + (self.rows - rows[0]) * DOT, 6)
        return [(*a, low), (*b, low), (*b, high), (*a, high)]


def _board_mesh(sign: Sign, color: Paint, number: int) -> Mesh:
    """Return the board of a sign without letters."""
    builder = MeshBuilder()
    corners = sign.rectangle((0, sign.columns), (0, sign.rows), 0.0)
    builder.add_face(corners, color, number)
    return builder.mesh()


def _letter_mesh(sign: Sign, number: int) -> Mesh:
    """Return the letters of a sign, in runs of dots along their rows."""
    builder = MeshBuilder()
    ink = paint_of("white")
    for line_number, line in enumerate(sign.lines):
        # Centered on the board, with a dot around.
        first = 1 + (sign.columns - 1 - len(line) * LETTER_COLUMNS) // 2
        above = 1 + LINE_ROWS * line_number
        for position, letter in enumerate(line):
            left = first + position * LETTER_COLUMNS
            for x0, x1, y0, y1 in letter_runs(letter):
                across = (left + x0, left + x1)
                corners = sign.rectangle(across, (above + y0, above + y1), FLUSH)
                builder.add_face(corners, ink, number)
    return builder.mesh()


def _light(town: Town, landmark: Landmark, number: int) -> list[TownPiece]:
    """Return the posts of a traffic light, one between every two neighboring streets of
    a junction.
    """
    look = town_look(LIGHT.removeprefix("a "))
    around = town.streets.streets_at(landmark.home)
    headings = sorted(
        town.streets.streets[street].leaving_heading(landmark.home) for street in around
    )
    spot = (round(landmark.x, 6), round(landmark.y, 6))
    pieces = []
    for heading, after in zip(
        headings, [*headings[1:], headings[0] + 360.0], strict=True
    ):
        # In a wide gap, close to the first street: as far aside as a post of a right angle.
        angle = math.radians(heading + min(after - heading, 90.0) / 2)
        toward = (round(math.sin(angle), 9), round(math.cos(angle), 9))
        post = _moved(spot, toward, POST_OFFSET)
        front = (-toward[0], -toward[1])
        build = partial(
            _solid_mesh, number, look, look.paint, post, front, look.extents
        )
        pieces.append(TownPiece(post, SEEN_WITHIN, build))
    return pieces


def _houses(town: Town) -> list[TownPiece]:
    """Return houses along the streets, where landmarks leave space.

    The draws depend on the order of streets and sides, which is part of the town's look.
    """
    rng = random.Random(f"houses/{town.scene}")
    look = town_look("house")
    taken = [(landmark.x, landmark.y) for landmark in town.landmarks]
    pieces = []
    for chain in town.chains:
        for one, other in pairwise(chain):
            start = town.point(one)
            end = town.point(other)
            along = _direction(start, end)
            middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
            for side in (-1, 1):
                front = (-side * along[1], side * along[0])
                spot = _moved(middle, front, -HOUSE_OFFSET)
                # Drawn before the check for space: a landmark must not change others.
                paint = rng.choice(HOUSE_PAINTS)
                height = round(rng.uniform(*HOUSE_HEIGHTS), 2)
                distances = np.hypot(town.xy[:, 0] - spot[0], town.xy[:, 1] - spot[1])
                is_free = all(math.dist(spot, each) > HOUSE_SPACE for each in taken)
                if not is_free or distances.min() < STREET_SPACE:
                    continue
                taken.append(spot)
                back = _moved(spot, front, -look.extents[1] / 2)
                extents = (look.extents[0], look.extents[1], height)
                build = partial(
                    _solid_mesh,
                    0,
                    look,
                    paint,
                    back,
                    front,
                    extents,
                )
                pieces.append(TownPiece(spot, SEEN_WITHIN, build))
    return pieces


class TownPainter(Painter):
    """Draws generated towns.

    ``town`` returns the town of a scene. Scenes and surroundings are kept in memory,
    the last few of each.
    """

    def __init__(self, town: Callable[[str], Town]) -> None:
        self._scene = lru_cache(maxsize=SCENES)(lambda scene: TownScene(town(scene)))
        self._around = lru_cache(maxsize=PLACES)(self._surroundings)

    @property
    def name(self) -> str:
        """``schematic:`` and a checksum of the tables of shapes and paints."""
        return f"schematic:{checksum(PARTS, TOWNS)}"

    def scene(self, name: str) -> TownScene:
        """Return a town as pieces."""
        return self._scene(name)

    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return three pictures side by side: left, ahead and right."""
        heading = float(world.pose(actor)["heading"])
        views = []
        for label, turn in (
            ("left", -VIEW_WIDTH),
            ("ahead", 0.0),
            ("right", VIEW_WIDTH),
        ):
            toward = (heading + turn) % 360.0
            views.append(
                PictureView(
                    label,
                    toward,
                    ELEVATION,
                    VIEW_WIDTH,
                )
            )
        return views

    def frame(
        self,
        world: World,
        actor: str,
        view: PictureView,
        size: tuple[int, int],
    ) -> Frame:
        """Draw a view from the actor's panorama; ``size`` is rows and columns in pixels."""
        graph = vars(world)["graph"]
        x, y = self._point(graph.name, str(world.pose(actor)["panorama"]))
        return draw_view(self._around(graph.name, x, y), (x, y, EYE), view, size)

    def _point(self, scene: str, panorama: str) -> Point:
        """Return where a panorama is (metres), rounded to find its surroundings in the cache."""
        town = self._scene(scene).town
        x, y = town.point(town.graph.index[panorama])
        return round(x, 6), round(y, 6)

    def _surroundings(
        self,
        scene: str,
        x: float,
        y: float,
    ) -> Mesh:
        """Return the mesh of what can be seen from a point."""
        return self._scene(scene).around(x, y)

"""Looks of objects, as a table of parts, and the builder of meshes.

``parts.toml`` says what each kind looks like: its shape, its extents in metres, and its paint. A
shape is a list of parts in fractions of the object's box. An object's name may state its paint or
change its proportions: "red sofa", "tall mirror".

``homes.toml`` says the same of kinds whose extents and states a world knows: "cabinet open";
``rooms.toml`` of kinds of published rooms; and ``towns.toml`` of what stands along streets, with
the letters of its signs. ``looks.toml`` has the paints of adjectives.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import JsonObject
from wayword.core.files import text_checksum
from wayword.core.geometry import Floats, Point, grid_rectangles
from wayword.render.raster import DIGITS, Mesh, dot

Paint = tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]
"""Colors of a paint, and how far each extends along the three axes (metres, 0: all the way)."""

LIGHT = (0.34, 0.24, 0.91)
"""Direction to the light: from above, and unequal along x and y, so that corners show."""
AMBIENT = 0.66
"""Brightness of a face that looks away from the light."""
SIDES = 10
"""Sides of a tube, and meridians of a ball: round enough at 480 columns."""
BANDS = ((-1.0, -0.7), (-0.7, 0.0), (0.0, 0.7), (0.7, 1.0))
"""Bands of latitude of a ball, as sines."""
CEILING = 2.6
"""Height of the rooms of all generated buildings in metres."""
CORNERS = SIDES
"""Most corners of a face: the end of a tube. Arrays of faces have K = ``CORNERS`` corners each."""
TONES = {"light": (0.72, 71.0), "dark": (0.72, 0.0)}
"""Tone -> factor and summand of each color value."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object.

    ``shape``, ``extents`` along the wall, off the wall and up, height of its
    ``underside`` (metres), and the ``paint`` of an object whose name states none.
    """

    shape: str
    extents: tuple[float, float, float]
    underside: float
    paint: str


@dataclass(frozen=True, slots=True)
class _Part:
    """A solid in fractions of its object's box.

    The ``low`` and ``high`` corner, and the ``taper`` of its top: its width as a share
    of the bottom's.
    """

    solid: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    paint: str
    taper: float


PARTS = "parts.toml"
HOMES = "homes.toml"
ROOMS = "rooms.toml"
TOWNS = "towns.toml"
LOOKS = "looks.toml"


@cache
def _text(file: str) -> str:
    """Return a table's text, read once."""
    path = resources.files(__package__) / file
    return path.read_text(encoding="utf-8")


@cache
def _tables(file: str = PARTS) -> Mapping[str, JsonObject]:
    """Return the tables of a file by name, parsed once."""
    return tomllib.loads(_text(file))


@cache
def checksum(*files: str) -> str:
    """Return the checksum of tables, by default of ``parts.toml``, 12 hex digits.

    Part of the identity of a run with pictures: it changes with what they show.
    """
    texts = [_text(file) for file in files or (PARTS,)]
    return text_checksum("".join(texts), 12)


def kind_of(name: str, kind: str) -> Kind:
    """Return the look of an object with that name.

    Of its full name if the table has one, else of its kind, with the extents and the
    paint that the name's adjective states. A grey box for an unknown kind.
    """
    tables = _tables()
    adjective = name.removesuffix(kind).strip()
    kinds = tables["kinds"]
    # A full name has a line of its own only if it looks different: "round mirror".
    has_own_line = name in kinds
    row = kinds.get(name) or kinds.get(kind, "box .5 .4 .5 0 grey")
    shape, *numbers, paint = str(row).split()
    across, deep, high, underside = map(float, numbers)
    # Otherwise its adjective scales or paints the kind.
    if not has_own_line:
        factors = tables["scales"].get(adjective, (1.0, 1.0, 1.0))
        across *= factors[0]
        deep *= factors[1]
        high *= factors[2]
        if adjective in tables["paints"]:
            paint = adjective
    return Kind(
        shape,
        (across, deep, high),
        underside,
        paint,
    )


@cache
def _parts(shape: str) -> tuple[_Part, ...]:
    """Return the parts of a shape, of the first table that has it."""
    for file in (HOMES, TOWNS, ROOMS):
        if shape in _tables(file)["shapes"]:
            return _parse(_tables(file)["shapes"][shape])
    return _parse(_tables()["shapes"][shape])


def _parse(texts: Sequence[str]) -> tuple[_Part, ...]:
    """Return the parts that lines of a table describe.

    A line is ``solid x0 x1 y0 y1 z0 z1 paint [taper]``: bounds as fractions of the object's box.
    """
    parts = []
    for text in texts:
        solid, *rest = text.split()
        x0, x1, y0, y1, z0, z1 = map(float, rest[:6])
        low = (x0, y0, z0)
        high = (x1, y1, z1)
        paint = rest[6]
        taper = float(rest[7]) if len(rest) > 7 else 1.0
        parts.append(_Part(solid, low, high, paint, taper))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class HomeLook:
    """The look of an object of a home in a state: ``parts`` and ``paint``.

    ``lift``: the height of what it holds as a fraction of its own, None: as the world
    says. ``stands_out``: how far it stands out of the piece that it is built into, in
    metres; None: it is where the world says.
    """

    parts: tuple[_Part, ...]
    paint: str
    lift: float | None
    stands_out: float | None


@cache
def home_look(
    kind: str,
    states: tuple[str, ...] = (),
    files: tuple[str, ...] = (HOMES,),
) -> HomeLook:
    """Return the look of a kind in some states; a grey box for unknown kinds.

    Of the first of ``files`` that has the kind.
    """
    homes = _tables(HOMES)
    having = (_tables(file) for file in files if kind in _tables(file)["kinds"])
    tables = next(having, homes)
    row = tables["kinds"].get(kind, "box grey")
    stands_out = tables["flush"].get(kind)
    added: list[str] = []
    for state in states:
        row = tables["kinds"].get(f"{kind} {state}", row)
        stands_out = tables["flush"].get(f"{kind} {state}", stands_out)
        added += homes["states"].get(state, ())
    shape, paint = str(row).split()
    parts = _parts(shape) + _parse(added)
    return HomeLook(
        parts,
        paint,
        tables["lifts"].get(kind),
        stands_out,
    )


@cache
def look_paint(adjective: str) -> str:
    """Return the paint of an adjective of ``looks.toml``, empty for others."""
    return str(_tables(LOOKS)["looks"].get(adjective, ""))


@dataclass(frozen=True, slots=True)
class TownLook:
    """The look of a kind along a street.

    ``parts``, ``paint``, ``extents`` across, off its back and up (metres), and what its
    sign says: ``name`` for its own name, empty without one.
    """

    parts: tuple[_Part, ...]
    paint: str
    extents: tuple[float, float, float]
    sign: str


@cache
def town_look(kind: str) -> TownLook:
    """Return the look of a kind of ``towns.toml``; that of a shop for others."""
    kinds = _tables(TOWNS)["kinds"]
    row = kinds.get(kind, kinds["shop"])
    extents = tuple(map(float, row["extents"]))
    assert len(extents) == 3
    return TownLook(
        _parts(row["shape"]),
        row["paint"],
        extents,
        row["sign"],
    )


@dataclass(frozen=True, slots=True)
class TownSpace:
    """Space of buildings along a street.

    ``clearance`` from the middle of any street in metres, and ``scales``, the shares of
    a ground plan that are tried in turn.
    """

    clearance: float
    scales: tuple[float, ...]


@cache
def town_space() -> TownSpace:
    """Return the space of the buildings of ``towns.toml``."""
    row = _tables(TOWNS)["space"]
    return TownSpace(row["clearance"], tuple(row["scales"]))


LETTER_COLUMNS = 6
"""Dots from one letter of a sign to the next."""


@cache
def letter_runs(letter: str) -> tuple[tuple[int, int, int, int], ...]:
    """Return the rectangles that make up a letter of signs.

    Left and right column, top and bottom row, ends excluded, in dots of 5 x 7. Empty
    for a blank and for unknown letters.
    """
    rows = str(_tables(TOWNS)["letters"].get(letter, "")).split("|")
    dots: list[tuple[int, int]] = []
    for row, text in enumerate(rows):
        dots += [(row, column) for column, dot in enumerate(text) if dot == "#"]
    return tuple(grid_rectangles(dots))


def home_kinds(file: str = HOMES) -> frozenset[str]:
    """Return the kinds that ``homes.toml`` or ``rooms.toml`` has a look for."""
    return frozenset(name.split()[0] for name in _tables(file)["kinds"])


@cache
def paint_of(name: str, table: str = "paints") -> Paint:
    """Return a paint of the table; grey if there is none of that name."""
    tables = _tables()
    more: dict[str, Any] = {}
    for file in (HOMES, TOWNS, LOOKS):
        more |= _tables(file)["paints"]
    row = tables[table].get(name) or more.get(name) or tables["paints"]["grey"]
    # One color, which extends all the way.
    if not isinstance(row, Mapping):
        color = tuple(map(float, row))
        return (color,), (0.0, 0.0, 0.0)
    # A pattern.
    colors = [tuple(map(float, color)) for color in row["colors"]]
    extent = tuple(map(float, row["extent"]))
    return tuple(colors), extent


def _toned(paint: str, own: str) -> Paint:
    """Return the paint of a part, which may be a tone of its object's ``own``."""
    if not paint.endswith("*"):
        return paint_of(paint)
    colors, extents = paint_of(own)
    tone = paint.removesuffix("*")
    factor, summand = TONES.get(tone, (1.0, 0.0))
    toned = []
    for color in colors:
        values = [value * factor + summand for value in color]
        # No channel is brighter than white.
        toned.append(tuple(min(255.0, value) for value in values))
    return tuple(toned), extents


@cache
def _ring(count: int) -> Floats:
    """Return points (count, 2) on the circle in the unit square, counterclockwise."""
    points = []
    for step in range(count):
        # Half a step, so that the sides lie flat against a wall.
        angle = 2 * math.pi * (step + 0.5) / count
        x = 0.5 + 0.5 * math.cos(angle)
        y = 0.5 + 0.5 * math.sin(angle)
        points.append((x, y))
    # Rounded, because sines of C libraries differ in their last bits.
    return np.round(np.array(points), 9)


@cache
def _square() -> Floats:
    """Return the corners (4, 2) of the unit square, counterclockwise."""
    return np.array(
        [
            (0.0, 0.0),
            (1.0, 0.0),
            (1.0, 1.0),
            (0.0, 1.0),
        ]
    )


@cache
def _solid(part: _Part) -> list[Floats]:
    """Return the faces (k, 3) of a part, counterclockwise from outside.

    Corners are in fractions of the object's box: along the wall, off the wall, up. The list is
    cached and shared, so callers must not change its arrays.
    """
    low = np.array(part.low)
    high = np.array(part.high)
    if part.solid == "ball":
        extent = high - low
        return [low + extent * face for face in _ball()]
    if part.solid == "disc":
        # A tube whose axis leads off the wall, such as a dial: swap depth and height, which
        # mirrors the solid. The order is its own inverse, so it also swaps the faces back.
        order = [0, 2, 1]
        faces = _prism(
            _ring(SIDES),
            low[order],
            high[order],
            part.taper,
        )
        # Mirrored faces are turned around, so that they still look outward.
        return [face[::-1, order] for face in faces]
    base = _square()
    if part.solid == "tube":
        base = _ring(SIDES)
    return _prism(base, low, high, part.taper)


def _prism(
    base: Floats,
    low: Floats,
    high: Floats,
    taper: float,
) -> list[Floats]:
    """Return the faces of an upright prism over a base (k, 2), whose top is scaled by ``taper``."""
    extent = high - low
    count = len(base)
    bottom = np.full((count, 3), low[2])
    bottom[:, :2] = low[:2] + base * extent[:2]
    # The top is scaled about its middle.
    scaled = 0.5 + (base - 0.5) * taper
    top = np.full((count, 3), high[2])
    top[:, :2] = low[:2] + scaled * extent[:2]

    # The bottom is seen from below.
    faces = [bottom[::-1], top]
    for corner in range(count):
        after = (corner + 1) % count
        side = [
            bottom[corner],
            bottom[after],
            top[after],
            top[corner],
        ]
        faces.append(np.array(side))
    return faces


@cache
def _ball() -> tuple[Floats, ...]:
    """Return the faces of a ball in the unit cube."""
    ring = _ring(SIDES) - 0.5
    faces = []
    for start, end in BANDS:
        lower = ring * _radius(start)
        upper = ring * _radius(end)
        for corner in range(SIDES):
            after = (corner + 1) % SIDES
            points = [
                (*lower[corner], start / 2),
                (*lower[after], start / 2),
                (*upper[after], end / 2),
                (*upper[corner], end / 2),
            ]
            # From a ball around the origin to the unit cube.
            face = np.array(points) + 0.5
            faces.append(np.round(face, 9))
    return tuple(faces)


def _radius(height: float) -> float:
    """Return the radius of a unit ball at a height above its middle."""
    # The poles are flattened, so that every face has four corners.
    return math.sqrt(max(0.02, 1.0 - height * height))


class MeshBuilder:
    """Collects faces. ``names`` are the objects' names by number; number 0 is the building."""

    def __init__(self) -> None:
        self.names = [""]
        self._faces: list[Floats] = []
        self._paints: list[Paint] = []
        self._ids: list[int] = []

    def add_face(
        self,
        corners: Sequence[Sequence[float]],
        paint: Paint,
        number: int = 0,
    ) -> None:
        """Add a face (k, 3) in metres to an object or the building.

        Its corners are counterclockwise from where it is seen: it is invisible from behind.
        """
        self._add(np.array(corners, np.float64), paint, number)

    def add_room(self, corners: Sequence[Point], kind: str) -> None:
        """Add the floor and the ceiling of a room with that kind of floor.

        ``corners`` (metres) are counterclockwise, seen from above.
        """
        floor = [(*corner, 0.0) for corner in corners]
        ceiling = [(*corner, CEILING) for corner in reversed(corners)]
        self.add_face(floor, paint_of(kind, "floors"))
        self.add_face(ceiling, paint_of("ceiling", "building"))

    def add_wall(
        self,
        start: Point,
        end: Point,
        bottom: float,
        top: float = CEILING,
        paint: Paint | None = None,
    ) -> None:
        """Add both sides of a thin wall from ``bottom`` to ``top`` (metres)."""
        corners = [
            (*start, bottom),
            (*end, bottom),
            (*end, top),
            (*start, top),
        ]
        paint = paint or paint_of("wall", "building")
        self.add_face(corners, paint)
        self.add_face(corners[::-1], paint)

    def add_box(
        self,
        low: Sequence[float],
        high: Sequence[float],
        paint: Paint,
        number: int,
    ) -> None:
        """Add a box from its least to its greatest x, y, z (metres) to an object."""
        for face in _prism(_square(), np.array(low), np.array(high), taper=1.0):
            self._add(face, paint, number)

    def add_name(self, name: str) -> int:
        """Return the number of a new object, without faces."""
        self.names.append(name)
        return len(self.names) - 1

    def add_object(
        self,
        name: str,
        kind: str,
        back: Point,
        front: Point,
        limits: Point = (math.inf, math.inf),
    ) -> int:
        """Add an object and return its number.

        ``back`` is the middle of its back, ``front`` the unit vector along an axis that it faces,
        ``limits`` are the largest extents along and off the wall (metres).
        """
        look = kind_of(name, kind)
        across, deep, high = look.extents
        across = min(across, limits[0])
        deep = min(deep, limits[1])
        number = self.add_name(name)
        extents = (across, deep, high)
        shape = _parts(look.shape)
        self.add_parts(
            number,
            shape,
            look.paint,
            back,
            front,
            extents,
            look.underside,
        )
        return number

    def add_parts(
        self,
        number: int,
        parts: Sequence[_Part],
        own_paint: str,
        back: Point,
        front: Point,
        extents: tuple[float, float, float],
        underside: float,
    ) -> None:
        """Add parts to an object, whose corners are fractions of its ``extents`` (metres): across,
        off its back, and up from its ``underside``.

        ``back`` and ``front`` are as in :meth:`add_object`.
        """
        across = extents[0]
        # Seen from its front, the object's left is at the viewer's left.
        side = (-front[1], front[0])
        scale = np.array(extents)
        for part in parts:
            paint = _toned(part.paint, own_paint)
            for face in _solid(part):
                local = face * scale
                placed = np.empty_like(local)
                # From the middle of the back: along it, and off it.
                along = local[:, 0] - across / 2
                off = local[:, 1]
                for axis in (0, 1):
                    moved = back[axis] + along * side[axis]
                    placed[:, axis] = moved + off * front[axis]
                placed[:, 2] = underside + local[:, 2]
                # ``side`` and ``front`` form a left-handed frame, which turns faces inside out.
                self._add(placed[::-1], paint, number)

    def _add(
        self,
        corners: Floats,
        paint: Paint,
        number: int,
    ) -> None:
        """Add a face of float corners (k, 3)."""
        self._faces.append(corners)
        self._paints.append(paint)
        self._ids.append(number)

    def mesh(self) -> Mesh:
        """Return the mesh of all faces."""
        # Shapes.
        corner_counts = [len(face) for face in self._faces]
        counts = np.array(corner_counts, np.int32)
        corners = np.stack([_padded(face) for face in self._faces])
        normals = _normals(corners, counts)

        # From 0 for a face that looks away from the light to 1 for one that looks at it.
        lit = 0.5 + 0.5 * dot(normals, LIGHT)
        brightness = AMBIENT + (1.0 - AMBIENT) * lit
        brightness = np.round(brightness, DIGITS)

        # Colors, each with the face's brightness.
        counts_of_colors = [len(colors) for colors, _ in self._paints]
        color_counts = np.array(counts_of_colors, np.int32)
        most = max(counts_of_colors)
        colors = np.zeros((len(corners), most, 3))
        for index, (face_colors, _) in enumerate(self._paints):
            colors[index, : len(face_colors)] = face_colors
        bright = colors * brightness[:, None, None]
        shaded = np.rint(np.minimum(255.0, bright))
        extents = [extent for _, extent in self._paints]
        return Mesh(
            corners,
            counts,
            normals,
            shaded.astype(np.uint8),
            color_counts,
            np.array(extents),
            np.array(self._ids, np.int32),
            tuple(_tables()["building"]["sky"]),
        )


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Return one mesh of all faces of several meshes, in order.

    Ids are not renumbered: all meshes must number the objects of one scene. The sky is
    the first mesh's.
    """
    # Patterns of fewer colors are filled up with black, which ``color_counts`` leaves out.
    most = max(mesh.colors.shape[1] for mesh in meshes)
    count = sum(len(mesh.ids) for mesh in meshes)
    colors = np.zeros((count, most, 3), np.uint8)
    start = 0
    for mesh in meshes:
        end = start + len(mesh.ids)
        colors[start:end, : mesh.colors.shape[1]] = mesh.colors
        start = end
    return Mesh(
        np.concatenate([mesh.corners for mesh in meshes]),
        np.concatenate([mesh.counts for mesh in meshes]),
        np.concatenate([mesh.normals for mesh in meshes]),
        colors,
        np.concatenate([mesh.color_counts for mesh in meshes]),
        np.concatenate([mesh.extents for mesh in meshes]),
        np.concatenate([mesh.ids for mesh in meshes]),
        meshes[0].sky,
    )


def _padded(face: Floats) -> Floats:
    """Return a face with its last corner repeated up to ``CORNERS`` corners."""
    padded = np.empty((CORNERS, 3))
    padded[: len(face)] = face
    padded[len(face) :] = face[-1]
    return padded


def _normals(corners: Floats, counts: NDArray[np.int32]) -> Floats:
    """Return the unit normals (F, 3) of faces, by Newell's method, which allows equal corners.

    A normal points to where the corners run counterclockwise. Of ``corners`` (F, K, 3), the first
    ``counts`` (F,) count.
    """
    face_numbers = np.arange(len(corners))
    total = np.zeros((len(corners), 3))
    for corner in range(CORNERS):
        start = corners[:, corner]
        # The last corner of a face is followed by its first.
        after = np.where(corner + 1 < counts, corner + 1, 0)
        end = corners[face_numbers, after]
        change = start - end
        doubled = start + end  # twice their middle: only the direction matters
        cross = [
            change[:, 1] * doubled[:, 2],
            change[:, 2] * doubled[:, 0],
            change[:, 0] * doubled[:, 1],
        ]
        # Corners that only fill up the array add nothing.
        is_used = corner < counts
        crossed = np.stack(cross, axis=1)
        total += np.where(is_used[:, None], crossed, 0.0)
    lengths = np.sqrt(dot(total, total))
    # A face without an area has no normal; it is never drawn.
    lengths = np.maximum(lengths, 1e-12)
    return np.round(total / lengths[:, None], DIGITS)

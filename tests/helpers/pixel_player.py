"""A player of generated houses that sees pixels alone, and painters that show it something else.

It knows the instruction, the directions of the ways, and what each kind of furniture looks like. It
looks for the objects of the instruction by the shares of their colors, walks towards the latest one
that it sees, and stops near the last. Where it recognizes nothing, it moves by chance and stops
after as many moves as the agent ``random``, so that what it does better comes from its pictures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.geometry import relative
from wayword.core.sight import Frame, Painter, PictureView
from wayword.core.world import World
from wayword.datasets.procedural.houses.house import build_house
from wayword.datasets.procedural.houses.scene import house_mesh
from wayword.datasets.procedural.tables import Table, expand_sets
from wayword.render.parts import MeshBuilder
from wayword.render.raster import PinholeCamera, draw
from wayword.worlds.indoor.world import IndoorObservation

MOVES = 5  # of the agent ``random``
PATIENCE = 12  # moves towards objects, after which it stops
ENOUGH = 40  # pixels that show an object
SIDES = 8  # portraits of an object
PORTRAIT = (120, 160)  # rows and columns
PITCH = -20.0  # degrees
TOLERANCE = (
    0.25  # of an object's height, as a share of the eye's height above its underside
)
LIKE = 0.3  # least share of a patch's colors that an object must explain
ALMOST = 0.85  # share of the best object's likeness at which another is believed
NEAR = 2.2  # metres from the last object at which it stops
ALIGNED = 70.0  # degrees from an object within which a way leads there


@cache
def vocabulary() -> dict[str, tuple[str, ...]]:
    """Kind -> its full names."""
    sets = Table[tuple[str, ...]]("looks", "sets")
    looks = Table[tuple[str, ...]]("looks", "looks")
    return {
        kind: tuple(f"{look} {kind}" for look in expand_sets(names, sets))
        for kind, names in looks.items()
    }


def codes(color: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Each pixel's color as one number."""
    wide = color.astype(np.int32)
    return wide[..., 0] * 65536 + wide[..., 1] * 256 + wide[..., 2]


@cache
def colors_of_buildings() -> frozenset[int]:
    """The colors of floors, walls and ceilings, by which no object is recognized."""
    found: set[int] = set()
    for number in range(6):
        mesh = house_mesh(build_house(f"train-s0-r17-{number:04d}")).mesh
        for index in np.flatnonzero(mesh.ids == 0).tolist():
            count = int(mesh.color_counts[index])
            found |= set(codes(mesh.colors[index, :count]).tolist())
    return frozenset(found)


class Palette:
    """The colors by which objects are recognized.

    ``rows`` are all kinds with their full names; ``shares`` (looks, colors) is how much of each
    color an object shows from one side, in rows of ``SIDES`` looks for each name. ``keys`` are the
    colors of pixels, sorted, those of outlines within an object included, and ``color`` the column
    of each key in ``shares``.
    """

    def __init__(self) -> None:
        self.rows = [
            (name, kind) for kind, names in vocabulary().items() for name in names
        ]
        building = colors_of_buildings()
        numbers: dict[int, int] = {}
        shown = []
        heights = []
        for name, kind in self.rows:
            for pixels, rows in portraits(name, kind):
                heights.append(reach(rows, PORTRAIT[0], PORTRAIT[1] / 2, PITCH))
                values, counts = np.unique(pixels, return_counts=True)
                pairs = zip(values.tolist(), counts.tolist(), strict=True)
                own = {code: count for code, count in pairs if code not in building}
                shown.append(own)
                for code in own:
                    numbers.setdefault(code, len(numbers))
        self.heights = np.array(heights)
        self.shares = np.zeros((len(shown), len(numbers)))
        for row, own in enumerate(shown):
            for code, count in own.items():
                self.shares[row, numbers[code]] = count / sum(own.values())
        column_of = dict(numbers)
        self.keys = np.array(sorted(column_of), np.int32)
        self.color = np.array([column_of[key] for key in sorted(column_of)])

    def columns_of(self, shown: NDArray[np.int32]) -> NDArray[np.int64]:
        """The column of each pixel's color, -1 for what is of no object."""
        at = np.searchsorted(self.keys, shown).clip(0, len(self.keys) - 1)
        return np.where(self.keys[at] == shown, self.color[at], -1)

    def likeness(
        self, columns: NDArray[np.int64], reached: float | None
    ) -> NDArray[np.float64]:
        """How like a patch each name's object is (0 to 1): the overlap of the colors' shares, less
        if it reaches another height."""
        counts = np.bincount(columns, minlength=self.shares.shape[1])
        used = np.flatnonzero(counts)
        overlap = np.minimum(self.shares[:, used], counts[used] / counts.sum())
        like = overlap.sum(axis=1)
        if reached is not None:
            # Only the colors' overlap is known of what the picture's edge cuts.
            like *= np.exp(-(((self.heights - reached) / TOLERANCE) ** 2))
        return np.asarray(like.reshape(-1, SIDES).max(axis=1))


@cache
def palette() -> Palette:
    return Palette()


def reach(
    rows: NDArray[np.int64], height: int, focal: float, elevation: float
) -> float:
    """How high rows of pixels reach, as a share of the eye's height above the lowest."""
    edges = np.array([rows.min(), rows.max() + 1.0])
    angles = np.arctan2(edges - height / 2, focal) - math.radians(elevation)
    top, bottom = np.tan(angles).tolist()
    return float(1.0 - top / max(bottom, 0.01))


def portraits(
    name: str, kind: str
) -> list[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """An object alone, from the front and obliquely, facing each direction: the colors of its
    pixels, and their rows."""
    pictures = []
    for front in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
        builder = MeshBuilder()
        builder.add_object(name, kind, (0.0, 0.0), front)
        mesh = builder.mesh()
        for aside in (-1.2, 1.2):
            x = 3.0 * front[0] - aside * front[1]
            y = 3.0 * front[1] + aside * front[0]
            heading = math.degrees(math.atan2(-x, -y))
            camera = PinholeCamera((x, y, 1.5), heading, PITCH)
            frame = draw(mesh, camera, PORTRAIT)
            rows = np.nonzero(frame.ids)[0]
            pictures.append((codes(frame.color)[frame.ids > 0], rows))
    return pictures


def mentions(instruction: str) -> list[tuple[str, ...]]:
    """The objects of an instruction in order: the full names that may be meant."""
    text = instruction.lower()
    found: list[tuple[int, tuple[str, ...]]] = []
    for kind, names in vocabulary().items():
        for match in re.finditer(rf"\b{kind}\b", text):
            full = [name for name in names if text[: match.end()].endswith(name)]
            found.append((match.start(), tuple(full) or names))
    return [names for _, names in sorted(found)]


@dataclass(frozen=True)
class Spotted:
    """An object in a picture: pixels, relative bearing (degrees), and distance (m)."""

    pixels: int
    bearing: float
    distance: float


def recognize(
    color: NDArray[np.uint8], view: PictureView
) -> list[tuple[frozenset[str], Spotted]]:
    """Return the patches of a picture with the names that each may have; bearings are absolute."""
    label = import_module("scipy.ndimage").label
    columns = palette().columns_of(codes(color))
    patches, count = label(columns >= 0, structure=np.ones((3, 3)))
    height, width = columns.shape
    focal = width / 2 / math.tan(math.radians(view.width / 2))
    found = []

    for number in range(1, count + 1):
        rows, across = np.nonzero(patches == number)
        if len(rows) < ENOUGH:
            continue
        reached = None
        if rows.min() > 0 and rows.max() < height - 1:
            reached = reach(rows, height, focal, view.elevation)
        likeness = palette().likeness(columns[rows, across], reached)
        least = max(LIKE, ALMOST * float(likeness.max()))
        rows_like = np.flatnonzero(likeness >= least).tolist()
        names = frozenset(palette().rows[row][0] for row in rows_like)
        right = float(across.mean()) + 0.5 - width / 2
        bearing = view.heading + math.degrees(math.atan2(right, focal))
        # What stands on the floor is as far as its lowest row is low.
        lowest = float(rows.max()) + 0.5 - height / 2
        down = -view.elevation + math.degrees(math.atan2(lowest, focal))
        distance = math.inf
        if down > 1.0:
            distance = 1.5 / math.tan(math.radians(down))
        found.append((names, Spotted(len(rows), bearing, distance)))
    return found


class PixelPlayer(Agent):
    """Walks to the objects of the instruction in turn, as far as it sees them, and stops at the
    last one."""

    def __init__(self, settings: object, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._next = 0
        self._moves = 0
        self._has_seen = False
        self._visited: set[str] = set()

    async def begin(self, episode: Episode) -> None:
        self._mentions = mentions(episode.instruction)

    async def act(
        self, observation: IndoorObservation, space: ActionSpace
    ) -> Decision | Rejection:
        assert self.toolkit.eyes is not None
        frames = self.toolkit.eyes.frames()
        spotted = self._spot([(view, frame.color) for view, frame in frames])
        self._visited.add(observation.viewpoint)
        last = len(self._mentions) - 1
        if spotted is not None and spotted.distance < NEAR:
            if self._next == last:
                return Decision(STOP)
            self._next += 1
        limit = PATIENCE if self._has_seen else MOVES
        if self._moves == limit:
            return Decision(STOP)
        self._moves += 1
        headings = {each.viewpoint: each.heading for each in observation.neighbors}

        def off(move: Action, bearing: float) -> float:
            return abs(relative(headings[move.arguments[0]], bearing))

        moves = [action for action in space.listed if action != STOP]
        if spotted is not None:
            best = min(moves, key=lambda move: off(move, spotted.bearing))
            if off(best, spotted.bearing) < ALIGNED:
                return Decision(best)
        # Nothing to walk to: by chance, and somewhere new once it has seen its way.
        new = [move for move in moves if move.arguments[0] not in self._visited]
        if self._has_seen and new:
            moves = new
        return Decision(self.toolkit.rng.choice(moves))

    def _spot(
        self, pictures: Sequence[tuple[PictureView, NDArray[np.uint8]]]
    ) -> Spotted | None:
        """Find the object that comes next, or else the one after it."""
        seen = [each for view, color in pictures for each in recognize(color, view)]
        for number in range(self._next, min(self._next + 2, len(self._mentions))):
            found = [
                each
                for names, each in seen
                if not names.isdisjoint(self._mentions[number])
            ]
            if found:
                self._next = number
                self._has_seen = True
                return max(found, key=lambda each: each.pixels)
        return None


class Blank(Painter):
    """Shows every view as a plain gray picture."""

    name = "blank"

    def __init__(self, inner: Painter) -> None:
        self._inner = inner

    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        return self._inner.views(world, actor)

    def frame(
        self, world: World, actor: str, view: PictureView, size: tuple[int, int]
    ) -> Frame:
        color = np.full((*size, 3), 128, np.uint8)
        return Frame(color, np.ones(size), np.zeros(size, np.int32))


class Elsewhere(Blank):
    """Shows what would be seen from where another episode, in another house, begins."""

    name = "elsewhere"

    def __init__(self, inner: Painter, world: World) -> None:
        super().__init__(inner)
        self._world = world

    def frame(
        self, world: World, actor: str, view: PictureView, size: tuple[int, int]
    ) -> Frame:
        return self._inner.frame(self._world, actor, view, size)

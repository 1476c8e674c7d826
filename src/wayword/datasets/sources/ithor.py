"""iTHOR's 120 rooms: thirty kitchens, living rooms, bedrooms and bathrooms.

    from wayword.datasets.sources import ithor
    scene = ithor.scene(folder, "FloorPlan1")
    layout = ithor.layout(folder, "FloorPlan1")      # shared by all episodes of the scene
    world = HouseholdWorld(scene, layout=layout)

Published: the objects' boxes and flags, the cells of a 0.25 m grid on which an agent can stand, the
room's outline (a rectangle), which knob works which hob. Inferred: that nothing but tall furniture
stops a look within the room, as inner walls are not published; what each thing is in or on where
the file names several or none. One scene is one room.

Sources: ``ithor/`` (AI2-THOR metadata, outlines and knobs as LangSuitE publishes them) and
``alfred/layouts`` (ALFRED, Shridhar et al. 2020) of the data folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_array, read_json
from wayword.datasets.sources import thor
from wayword.datasets.sources.thor import Records
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Point, Scene

# The cells of a scene on which one can stand, and what is inferred about narrow places.
#
# The published cells of some scenes fall into parts with a gap of one cell between them, though
# tasks lead through it. Such gaps are closed; wider ones are left.

GRID = 0.25
"""Metres between cells."""
GAP = 2
"""Two parts are joined where cells of them are at most this many cells apart, either way."""
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cells:
    """``places``: x and y (metres) of every cell, published ones first. ``main``: those of the
    largest part that hangs together. ``added``: how many were inferred."""

    places: tuple[Point, ...]
    main: tuple[Point, ...]
    added: int


FARTHEST = 100.0
"""Metres: every published room lies within a fifth of it. A floor is a grid over all its places, so
that one flipped bit of an exponent would make it endless."""


def read_cells(path: Path) -> Cells:
    """The cells of a ``layout.npy``: (P, 2) x and z on a grid of 0.25 m. Raises ``DataError``."""
    try:
        found = read_array(path).astype(np.float64)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(path, "", f"is no array of numbers ({error})", "fetch it again") from error
    if found.ndim != 2 or found.shape[1] != 2 or not len(found):
        raise DataError(path, "", f"is not (P, 2) but {found.shape}", "fetch it again")
    if not (np.abs(found) <= FARTHEST).all():
        problem = f"has a place that is not within {FARTHEST:g} m of the origin"
        raise DataError(path, "", problem, "fetch it again")
    published = [(int(i), int(j)) for i, j in np.round(found / GRID).tolist()]
    joined = join(published)
    return Cells(
        tuple(map(_place, joined)),
        tuple(map(_place, sorted(parts(joined)[0]))),
        len(joined) - len(set(published)),
    )


def join(published: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells, and those that close gaps of one cell between the largest part and others."""
    cells = dict.fromkeys(published)
    while True:
        main, *others = parts(cells)
        bridge = min(
            (gap for other in others for gap in _gaps(main, other)),
            key=lambda gap: (len(gap), gap),
            default=None,
        )
        if bridge is None:
            return tuple(cells)
        cells |= dict.fromkeys(bridge)


def parts(cells: Iterable[Cell]) -> list[set[Cell]]:
    """The parts that hang together by steps to the four sides, the largest first."""
    left, found = set(cells), []
    while left:
        part, front = set[Cell](), [min(left)]
        while front:
            i, j = cell = front.pop()
            if cell in left:
                left.discard(cell)
                part.add(cell)
                front += [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
        found.append(part)
    return sorted(found, key=lambda part: (-len(part), min(part)))


def _gaps(one: set[Cell], other: set[Cell]) -> list[tuple[Cell, ...]]:
    """Cells that would join two parts, one list a way."""
    around = range(-GAP, GAP + 1)
    steps = [(di, dj) for di in around for dj in around if abs(di) + abs(dj) <= GAP + 1]
    return [
        _between((i, j), (i + di, j + dj))
        for i, j in other
        for di, dj in steps
        if (i + di, j + dj) in one
    ]


def _between(a: Cell, b: Cell) -> tuple[Cell, ...]:
    """The cells of a way from ``a`` along i, then along j, to ``b``, both left out."""
    (ai, aj), (bi, bj) = a, b
    way = [(i, aj) for i in range(min(ai, bi), max(ai, bi) + 1)]
    way += [(bi, j) for j in range(min(aj, bj), max(aj, bj) + 1)]
    return tuple(sorted(set(way) - {a, b}))


def _place(cell: Cell) -> Point:
    return cell[0] * GRID, cell[1] * GRID


OBJECTS = "ithor/ithor_scene_objects_120.json"
OUTLINES = "ithor/langsuite/alfred/floor_plan2polygons.json"
KNOBS = "ithor/langsuite/alfred/floor_plan_controlled_objects.json"
CELLS = "alfred/layouts/{name}-layout.npy"
ROOMS = {0: "kitchen", 2: "living room", 3: "bedroom", 4: "bathroom"}
"""Hundreds of a scene's number -> what room it is."""
EDGE = 0.05
"""Metres that the room's outline lies outside the outermost cells and things, at least."""


def names(folder: Path) -> tuple[str, ...]:
    """The scenes, by number. Raises ``DataError``."""
    return tuple(sorted(thor.scene_names(folder, OBJECTS), key=_number))


def room_of(name: str) -> str:
    """What room a scene is: ``room_of("FloorPlan301")`` is ``"bedroom"``. Raises ``UsageError``."""
    room = ROOMS.get(_number(name) // 100)
    if room is None:
        raise UsageError(f"{name!r} names no iTHOR scene, such as FloorPlan1 or FloorPlan430")
    return room


def files(folder: Path, scenes: Iterable[str]) -> dict[str, Path]:
    """The files that some scenes are read from, for checksums."""
    found = {name: find(folder, name) for name in (OBJECTS, OUTLINES, KNOBS)}
    cells = (CELLS.format(name=name) for name in scenes)
    return found | {name: find(folder, name) for name in cells}


def records(folder: Path, name: str) -> Records:
    """The published objects of a scene. Raises ``DataError``."""
    return thor.read_records(folder, OBJECTS, name)


@lru_cache(maxsize=128)
def scene(folder: Path, name: str) -> Scene:
    """A scene as published. Raises ``DataError`` for files that are missing or broken."""
    return from_records(folder, name, records(folder, name))


def from_records(folder: Path, name: str, listed: Records) -> Scene:
    """A scene with these objects in it, on the published floor."""
    shell = _shell(folder, name)
    builder = SceneBuilder(name)
    builder.room(room_of(name), shell.outline)
    builder.floor(shell.cells.places, GRID)
    there = {record.id for record in listed}
    knobs = {k: v for k, v in shell.knobs.items() if {k, *v} <= there}
    thor.add(builder, listed, knobs)
    return builder.build()


def layout(folder: Path, name: str, of: Scene | None = None) -> Layout:
    """The still parts of a scene, shared by its episodes: walls, floor, furniture, ways.

    With ``of``, a scene of that name with changes: where no furniture differs the parts are shared,
    else they are worked out for it alone.
    """
    shared = _layout(folder, name)
    if of is None or of is shared.scene:
        return shared
    fixed = [o for o in shared.scene.objects if "pickupable" not in o.affordances]
    same = [_outline_place(a) == _outline_place(b) for a, b in zip(fixed, of.objects, strict=False)]
    if len(same) < len(fixed) or not all(same):
        return Layout(of)
    return shared.with_things(of)


def cells(folder: Path, name: str) -> Cells:
    """Where one can stand. Raises ``DataError``."""
    return _shell(folder, name).cells


def start(folder: Path, name: str, x: float, y: float) -> tuple[Point, float]:
    """The cell nearest to a place (of the largest part of the floor), and how far that is (metres).

    Cells were gathered in another build of AI2-THOR than some files' starts.
    """
    main = _shell(folder, name).main
    away = np.hypot(main[:, 0] - x, main[:, 1] - y)
    nearest = int(np.argmin(away))
    return (float(main[nearest, 0]), float(main[nearest, 1])), float(away[nearest])


class _Shell:
    """What of a scene never changes: cells, outline, knobs."""

    def __init__(self, folder: Path, name: str) -> None:
        self.cells = read_cells(find(folder, CELLS.format(name=name)))
        self.main = np.array(self.cells.main)
        self.outline = _outline(_listed(folder, OUTLINES, name), np.array(self.cells.places))
        told = _listed(folder, KNOBS, name)
        self.knobs = {switch: tuple(worked) for switch, worked in told.items()}


@lru_cache(maxsize=128)
def _shell(folder: Path, name: str) -> _Shell:
    return _Shell(folder, name)


@lru_cache(maxsize=128)
def _layout(folder: Path, name: str) -> Layout:
    return Layout(scene(folder, name))


def _outline(polygon: list[list[float]], places: NDArray[np.float64]) -> tuple[Point, ...]:
    """The published rectangle, widened where a cell would touch or leave it."""
    corners = np.concatenate((np.array(polygon, dtype=np.float64), places - EDGE, places + EDGE))
    (west, south), (east, north) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return (west, south), (east, south), (east, north), (west, north)


def _listed(folder: Path, file: str, name: str) -> Any:
    path = find(folder, file)
    table = _table(path)
    if not isinstance(table, dict) or name not in table:
        raise DataError(path, f"scene {name!r}", "is not there", "fetch it again")
    return table[name]


@lru_cache(maxsize=8)
def _table(path: Path) -> Any:
    return read_json(path)


def _number(name: str) -> int:
    match = re.fullmatch(r"FloorPlan(\d+)", name)
    return int(match[1]) if match else 100


def _outline_place(thing: HouseObject) -> tuple[object, ...]:
    """What of an object a layout depends on."""
    return (
        *(thing.id, thing.x, thing.y, thing.width, thing.depth, thing.bottom, thing.height),
        *(thing.solid, thing.opaque),
    )

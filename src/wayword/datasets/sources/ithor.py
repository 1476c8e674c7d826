"""iTHOR's 120 rooms: thirty kitchens, living rooms, bedrooms and bathrooms.

    from wayword.datasets.sources import ithor
    scene = ithor.scene(folder, "FloorPlan1")
    layout = ithor.layout(folder, "FloorPlan1")      # shared by all episodes of the scene
    world = HouseholdWorld(scene, layout=layout)

Published: object boxes and flags, the cells of a 0.25 m grid on which an agent can stand, the
outline of the room (a rectangle), and which knob controls which burner. Inferred: lines of sight
(only tall furniture blocks them, as inner walls are not published), and receptacles of objects for
which the file lists several or none. Each scene is a single room.

Sources: ``ithor/`` (AI2-THOR metadata, outlines and knobs as published by LangSuitE) and
``alfred/layouts`` (ALFRED, Shridhar et al. 2020) in the data folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.arrays import read_array
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_json
from wayword.core.geometry import Floats, Point, box_corners
from wayword.datasets.sources import thor
from wayword.datasets.sources.thor import Records
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import Scene

# The standing cells of a scene, and cells inferred in narrow passages.
#
# In some scenes the published cells form separate parts, although tasks lead across the gap. Gaps
# of one cell are closed; wider ones stay.

GRID = 0.25
"""Cell spacing in metres."""
WIDEST_GAP = 2
"""Maximum offset, along each axis, between cells of two parts that are to be connected."""
Cell = tuple[int, int]


@dataclass(frozen=True)
class Cells:
    """Standing cells of a scene.

    ``places``: x and y (metres) of all cells, published ones first; ``main``: the
    largest connected part, where episodes start.
    """

    places: tuple[Point, ...]
    main: tuple[Point, ...]


FARTHEST = 100.0
"""Limit on coordinates in metres (published rooms need a fifth). The floor is a dense grid, so a
corrupt coordinate would exhaust memory."""


def read_cells(path: Path) -> Cells:
    """Read a ``layout.npy``: (P, 2) x and z on a grid of 0.25 m. Raises ``DataError``."""
    try:
        array = read_array(path).astype(np.float64)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            path,
            "",
            f"must be a numeric array ({error})",
            "fetch it again",
        ) from error
    problem = ""
    # The file is a user's download, so its shape is checked before use.
    if array.ndim != 2 or array.shape[1] != 2 or not len(array):
        problem = f"must have the shape (P, 2), got {array.shape}"
    elif not (np.abs(array) <= FARTHEST).all():
        problem = f"has a cell more than {FARTHEST:g} m from the origin"
    if problem:
        raise DataError(path, "", problem, "fetch it again")
    # Whole cells: coordinates are multiples of the grid with rounding noise.
    cells = join_parts((int(i), int(j)) for i, j in np.round(array / GRID).tolist())
    main = sorted(connected_parts(cells)[0])
    return Cells(
        tuple((i * GRID, j * GRID) for i, j in cells),
        tuple((i * GRID, j * GRID) for i, j in main),
    )


def join_parts(published: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return the cells with those that close one-cell gaps between the largest part and others."""
    # Offsets up to two along each axis, but not both: a corner is reached along one
    # cell.
    offsets = range(-WIDEST_GAP, WIDEST_GAP + 1)
    steps = [
        (di, dj)
        for di, dj in product(offsets, repeat=2)
        if abs(di) + abs(dj) <= WIDEST_GAP + 1
    ]
    # A dictionary keeps the published order; added cells come last.
    cells = dict.fromkeys(published)
    while True:
        main, *others = connected_parts(cells)
        bridges = []
        for cell, (di, dj) in product(chain.from_iterable(others), steps):
            # From the smaller parts to the largest one.
            end = (cell[0] + di, cell[1] + dj)
            if end in main:
                bridges.append(_bridge(cell, end))
        if not bridges:
            return tuple(cells)
        # One bridge at a time, as it may connect other parts too; ties go by position.
        shortest = min(bridges, key=lambda bridge: (len(bridge), bridge))
        cells |= dict.fromkeys(shortest)


def _bridge(start: Cell, end: Cell) -> list[Cell]:
    """Return the cells between two cells, along i, then along j, sorted."""
    bridge = {(i, start[1]) for i in _between(start[0], end[0])}
    bridge |= {(end[0], j) for j in _between(start[1], end[1])}
    return sorted(bridge - {start, end})


def _between(a: int, b: int) -> range:
    """Return the numbers from the smaller to the larger one, both included."""
    return range(min(a, b), max(a, b) + 1)


def connected_parts(cells: Iterable[Cell]) -> list[set[Cell]]:
    """Return the 4-connected components, largest first."""
    unvisited = set(cells)
    components = []
    while unvisited:
        part = set[Cell]()
        # The lowest cell first, so that parts come in a fixed order.
        frontier = [min(unvisited)]
        while frontier:
            i, j = cell = frontier.pop()
            # A cell may be on the frontier twice.
            if cell in unvisited:
                unvisited.discard(cell)
                part.add(cell)
                frontier += [
                    (i + 1, j),
                    (i - 1, j),
                    (i, j + 1),
                    (i, j - 1),
                ]
        components.append(part)
    return sorted(components, key=lambda part: (-len(part), min(part)))


OBJECTS = "ithor/ithor_scene_objects_120.json"
OUTLINES = "ithor/langsuite/alfred/floor_plan2polygons.json"
KNOBS = "ithor/langsuite/alfred/floor_plan_controlled_objects.json"
CELLS = "alfred/layouts/{name}-layout.npy"
ROOMS = {
    0: "kitchen",
    2: "living room",
    3: "bedroom",
    4: "bathroom",
}
"""Hundreds digit of a scene number -> its room."""
OUTLINE_MARGIN = 0.05
"""Minimum distance (metres) of the room's outline from the outermost cells."""


def names(folder: Path) -> tuple[str, ...]:
    """Return scene names, by number. Raises ``DataError``."""
    return tuple(sorted(thor.read_scenes(find(folder, OBJECTS)), key=_scene_number))


def room_of(name: str) -> str:
    """Return a scene's room type, ``bedroom`` for ``FloorPlan301``. Raises ``UsageError``."""
    room = ROOMS.get(_scene_number(name) // 100)
    if room is None:
        raise UsageError(
            f"{name!r} is not an iTHOR scene, such as FloorPlan1 or FloorPlan430"
        )
    return room


def files(folder: Path, scenes: Iterable[str]) -> dict[str, Path]:
    """Return the files that the scenes are read from, for checksums."""
    shared = {name: find(folder, name) for name in (OBJECTS, OUTLINES, KNOBS)}
    cells = (CELLS.format(name=name) for name in scenes)
    return shared | {name: find(folder, name) for name in cells}


def records(folder: Path, name: str) -> Records:
    """Return the published objects of a scene. Raises ``DataError``."""
    return thor.read_records(find(folder, OBJECTS), name)


@lru_cache(maxsize=128)
def scene(folder: Path, name: str) -> Scene:
    """Return a scene as published. Raises ``DataError`` for missing or broken files."""
    return from_records(folder, name, records(folder, name))


def from_records(folder: Path, name: str, listed: Records) -> Scene:
    """Build a scene with the given objects on the published floor of ``name``.

    Furniture must be that of the scene for its layout to be shared. Raises ``DataError``.
    """
    shell = _frame(folder, name)
    builder = SceneBuilder(name)
    builder.room(room_of(name), shell.outline)
    builder.floor(shell.cells.places, GRID)
    # Knobs whose objects are not in this scene are left out.
    ids = {record.id for record in listed}
    thor.add_objects(
        builder,
        listed,
        {k: v for k, v in shell.knobs.items() if {k, *v} <= ids},
    )
    return builder.build(is_published=True)


def layout(folder: Path, name: str, variant: Scene | None = None) -> Layout:
    """Return the fixed parts of a scene, shared by its episodes: walls, floor, furniture, routes.

    ``variant`` is a modified scene of that name: it shares the parts if all furniture is
    unchanged, else they are computed for it.
    """
    original = _layout(folder, name)
    if variant is None or variant is original.scene:
        return original
    fixed = [o for o in original.scene.objects if "pickupable" not in o.affordances]
    # Furniture comes first in every scene.
    footprints = [_footprint(o) for o in fixed]
    if footprints == [_footprint(o) for o in variant.objects[: len(fixed)]]:
        return original.with_scene(variant)
    return Layout(variant)


_footprint = attrgetter(
    "id",
    "x",
    "y",
    "width",
    "depth",
    "bottom",
    "height",
    "solid",
    "opaque",
)
"""The properties of an object that a layout depends on."""


@lru_cache(maxsize=128)
def _layout(folder: Path, name: str) -> Layout:
    """Return the layout of the scene as published; cached."""
    return Layout(scene(folder, name))


def cells(folder: Path, name: str) -> Cells:
    """Return the cells on which an agent can stand. Raises ``DataError``."""
    return _frame(folder, name).cells


def start(
    folder: Path,
    name: str,
    x: float,
    y: float,
) -> tuple[Point, float]:
    """Return the cell nearest to a point, in the largest part of the floor, and its distance (m).

    Starts may be off the grid: some files come from a different build of AI2-THOR than
    the cells.
    """
    main = _frame(folder, name).main
    # By squared axes, not by walking: the start is at most a few cells away.
    distances = np.hypot(main[:, 0] - x, main[:, 1] - y)
    nearest = int(np.argmin(distances))
    return (float(main[nearest, 0]), float(main[nearest, 1])), float(distances[nearest])


@dataclass(frozen=True)
class _Frame:
    """The fixed parts of a scene, in metres.

    ``main`` (P, 2): start positions. ``outline``: corners of the room, counterclockwise.
    ``knobs``: switch id -> ids of what it controls.
    """

    cells: Cells
    main: Floats
    outline: tuple[Point, ...]
    knobs: Mapping[str, tuple[str, ...]]


@lru_cache(maxsize=128)
def _frame(folder: Path, name: str) -> _Frame:
    """Read the fixed parts of a scene. Raises ``DataError``."""
    floor = read_cells(find(folder, CELLS.format(name=name)))
    places = np.array(floor.places)
    published = np.array(_scene_entry(folder, OUTLINES, name), dtype=float)
    # The published rectangle, enlarged if a cell would touch or cross it.
    corners = np.concatenate(
        (published, places - OUTLINE_MARGIN, places + OUTLINE_MARGIN)
    )
    west, south = corners.min(axis=0).tolist()
    east, north = corners.max(axis=0).tolist()
    outline = box_corners((west, south, east, north))
    knobs = _scene_entry(folder, KNOBS, name)
    targets = {switch: tuple(worked) for switch, worked in knobs.items()}
    return _Frame(floor, np.array(floor.main), outline, targets)


def _scene_entry(folder: Path, file: str, name: str) -> Any:
    """Return a scene's entry of a published file. Raises ``DataError`` if it is missing."""
    path = find(folder, file)
    table = _read_cached(path)
    if not isinstance(table, dict) or name not in table:
        raise DataError(
            path,
            f"scene {name!r}",
            "is missing",
            "fetch it again",
        )
    return table[name]


_read_cached = lru_cache(maxsize=8)(read_json)


def _scene_number(name: str) -> int:
    """Return the number of a scene's name, 100 if it is no name of a scene."""
    match = re.fullmatch(r"FloorPlan(\d+)", name)
    # 100 is no room: an unknown name gets its error there.
    return int(match[1]) if match else 100

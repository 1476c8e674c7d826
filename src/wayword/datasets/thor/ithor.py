"""iTHOR's 120 rooms: thirty kitchens, living rooms, bedrooms and bathrooms.

    from wayword.datasets.thor import ithor
    scene = ithor.scene(folder, "FloorPlan1")
    layout = ithor.layout(folder, "FloorPlan1")      # shared by all episodes of the scene
    world = RoomsWorld(scene, layout=layout)

    scene = ithor.scene(folder, "FloorPlan1", {"Apple_34d5f204": Change(position=(0.2, 0.6, 1.1))})
    world = RoomsWorld(scene, layout=ithor.layout(folder, "FloorPlan1", scene))

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
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_json
from wayword.datasets.thor import furnish, metadata
from wayword.datasets.thor.changing import Changes, changed
from wayword.datasets.thor.floor import GRID, Cells, read_cells
from wayword.datasets.thor.metadata import ObjectRecord, Records
from wayword.worlds.housework.builder import SceneBuilder
from wayword.worlds.housework.layout import Layout
from wayword.worlds.housework.scene import HouseObject, Point, Scene

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
    return tuple(sorted(metadata.scene_names(folder, OBJECTS), key=_number))


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
    return metadata.read_records(folder, OBJECTS, name)


def scene(
    folder: Path,
    name: str,
    changes: Changes | None = None,
    more: Iterable[ObjectRecord] = (),
) -> Scene:
    """A scene, as published or with ``changes`` (see ``changing``) and ``more`` objects in it.

    Raises ``DataError`` for files that are missing or broken, ``UsageError`` for changes to what
    is not there.
    """
    if not changes and not more:
        return _published(folder, name)
    listed = (*changed(records(folder, name), changes or {}), *more)
    return from_records(folder, name, listed)


def from_records(folder: Path, name: str, listed: Records) -> Scene:
    """A scene with these objects in it, on the published floor."""
    shell = _shell(folder, name)
    builder = SceneBuilder(name)
    builder.room(room_of(name), shell.outline)
    builder.floor(shell.cells.places, GRID)
    there = {record.id for record in listed}
    knobs = {k: v for k, v in shell.knobs.items() if {k, *v} <= there}
    furnish.add(builder, listed, knobs)
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
    same = [_place(a) == _place(b) for a, b in zip(fixed, of.objects, strict=False)]
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
def _published(folder: Path, name: str) -> Scene:
    return from_records(folder, name, records(folder, name))


@lru_cache(maxsize=128)
def _layout(folder: Path, name: str) -> Layout:
    return Layout(_published(folder, name))


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


def _place(thing: HouseObject) -> tuple[object, ...]:
    """What of an object a layout depends on."""
    return (
        *(thing.id, thing.x, thing.y, thing.width, thing.depth, thing.bottom, thing.height),
        *(thing.solid, thing.opaque),
    )

"""Records of AI2-THOR's object metadata: iTHOR's and RoboTHOR's files have the same fields.

    >>> at, centre, size = (1.0, 2.0, 0.9), (1.0, 2.0, 1.0), (0.5, 0.5, 0.5)
    >>> record = ObjectRecord("TVStand|1", "TVStand_1a", "TVStand", at, 0.0, centre, size)
    >>> (record.type, record.bottom, record.pickupable)
    ('tv_stand', 0.75, False)

Source: AI2-THOR, https://ai2thor.allenai.org/ithor/documentation/objects/object-types
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from wayword.core.angles import absolute
from wayword.core.errors import DataError, suggest
from wayword.core.files import field, find, read_json
from wayword.worlds.housework.builder import type_name
from wayword.worlds.housework.scene import Temperature

Point3 = tuple[float, float, float]
"""x east, y north, z up, metres: AI2-THOR's (x, z, y)."""

FLAGS = (
    *("receptacle", "pickupable", "moveable", "openable", "isOpen", "toggleable", "isToggled"),
    *("breakable", "sliceable", "cookable", "dirtyable", "isDirty", "canFillWithLiquid"),
    *("isFilledWithLiquid", "isHeatSource", "isColdSource"),
)
"""Fields of the file that are true or false."""
TEMPERATURES: dict[str, Temperature] = {"RoomTemp": "room", "Hot": "hot", "Cold": "cold"}


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """One object of a scene as it is published.

    ``id`` is its objectId, ``name`` its unique name (what other files call it), ``label`` its
    objectType. ``position`` is its pivot and ``heading`` its turn about the vertical (degrees);
    ``centre`` and ``size`` are those of its axis-aligned box as it lies. ``parents`` are the ids of
    what it is in or on. ``flags`` are those of ``FLAGS`` that are true, and also ``isCooked`` and
    ``isSliced`` where somebody changed it so.
    """

    id: str
    name: str
    label: str
    position: Point3
    heading: float
    centre: Point3
    size: Point3
    parents: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    temperature: Temperature = "room"

    @property
    def type(self) -> str:
        """Its type as the rooms world spells it: ``CounterTop`` is ``counter_top``."""
        return type_name(self.label)

    @property
    def bottom(self) -> float:
        """Height of its underside, metres."""
        return self.centre[2] - self.size[2] / 2

    @property
    def top(self) -> float:
        """Height of its upper side, metres."""
        return self.centre[2] + self.size[2] / 2

    @property
    def pickupable(self) -> bool:
        """Whether it can be carried."""
        return "pickupable" in self.flags


Records = tuple[ObjectRecord, ...]


def scene_names(folder: Path, file: str) -> tuple[str, ...]:
    """The scenes of a metadata file, in its order. Raises ``DataError``."""
    return tuple(_file(find(folder, file)))


def read_records(folder: Path, file: str, scene: str) -> Records:
    """The objects of a scene, in the file's order; each file and scene is parsed once.

    Raises ``DataError`` naming file, scene, object and field.
    """
    return _records(find(folder, file), scene)


@lru_cache(maxsize=4)
def _file(path: Path) -> Mapping[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise DataError(path, "", "is not a mapping from scenes to objects", "fetch it again")
    return found


@lru_cache(maxsize=256)
def _records(path: Path, scene: str) -> Records:
    scenes = _file(path)
    if scene not in scenes:
        raise DataError(path, f"scene {scene!r}", "is not there", suggest(scene, list(scenes)))
    listed = field(path, "", scenes, scene, list)
    return tuple(read_record(path, f"{scene}, object {n}", raw) for n, raw in enumerate(listed))


def read_record(path: Path, where: str, raw: Any) -> ObjectRecord:
    """One object of a metadata file. Raises ``DataError``."""
    box = field(path, where, raw, "aabb", dict)
    turn = field(path, where, raw, "rotation", dict)
    warmth = raw.get("temperature", "RoomTemp")
    if warmth not in TEMPERATURES:
        raise DataError(path, f"{where}, field 'temperature'", f"is unknown: {warmth!r}")
    return ObjectRecord(
        field(path, where, raw, "objectId", str),
        field(path, where, raw, "name", str),
        field(path, where, raw, "objectType", str),
        read_point(path, where, raw, "position"),
        absolute(float(field(path, where, turn, "y", (int, float)))),
        read_point(path, where, box, "center"),
        read_point(path, where, box, "size"),
        tuple(raw.get("parentReceptacles") or ()),
        frozenset(flag for flag in FLAGS if raw.get(flag)),
        TEMPERATURES[warmth],
    )


def read_point(path: Path, where: str, raw: Any, name: str) -> Point3:
    """A point of AI2-THOR, ``{"x", "y", "z"}`` with y up, in this project's frame."""
    try:
        at = raw[name]
        return at["x"] + 0.0, at["z"] + 0.0, at["y"] + 0.0
    except (KeyError, TypeError):  # say which field of which record it is
        point = field(path, where, raw, name, dict)
    x, y, z = (float(field(path, f"{where}, {name}", point, c, (int, float))) for c in "xzy")
    return x, y, z

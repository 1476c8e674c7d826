"""A house as plain frozen data.

Lengths are metres; x points east, y north, z up. Boxes are axis-aligned. Sources of scenes differ
(iTHOR metadata, VirtualHome graphs, generated houses); all of them end here, best through
:class:`~wayword.worlds.household.builder.SceneBuilder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.core.geometry import grid_index

Point = tuple[float, float]
Temperature = Literal["room", "hot", "cold"]
Preposition = Literal["", "on", "in"]

TEMPERATURES: tuple[Temperature, ...] = ("room", "hot", "cold")
AFFORDANCES = frozenset(
    (
        *("pickupable", "openable", "toggleable", "sliceable", "fillable", "cookable", "dirtyable"),
        *("slicer", "heater", "cooler", "cleaner", "filler", "brewer", "drinker"),
    )
)
"""Acts that an object can undergo, or do.

``heater`` heats its contents while on (and closed, where it can close), ``cooler`` cools them
while closed, ``cleaner`` washes and ``filler`` fills them with water while on, ``brewer`` with
coffee; ``drinker`` (a plant) takes the water of a vessel put to it; ``slicer`` slices from the
hand.
"""


@dataclass(frozen=True, slots=True)
class Room:
    """A named floor: ``polygon`` lists its corners in order (metres)."""

    name: str
    polygon: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Wall:
    """A straight wall from ``a`` to ``b``, floor to ceiling, without thickness."""

    a: Point
    b: Point


@dataclass(frozen=True, slots=True)
class Door:
    """A door leaf that fills the gap from ``a`` to ``b`` when closed, and is out of the way if not.

    ``rooms`` names the rooms on its two sides, one where it leads outside. A door that is not
    ``openable`` stays as it is.
    """

    id: str
    a: Point
    b: Point
    rooms: tuple[str, ...] = ()
    open: bool = True
    openable: bool = True


@dataclass(frozen=True, slots=True)
class HouseObject:
    """Furniture or a small object: ``HouseObject("apple|3", "apple", 1.0, 2.0, parent="table|1")``.

    ``x``, ``y`` are the centre and ``width`` (x), ``depth`` (y), ``height`` the extents of its
    axis-aligned box, whose underside is at ``bottom``. ``parent`` is the id of the object it is in
    or on, empty for the floor. ``receptacle`` says whether other objects go ``"on"`` or ``"in"``
    it; an openable one that objects go in encloses: closed, it hides them. ``accepts`` lists the
    types that fit (empty: all), ``capacity`` how many objects (0: any number), ``controls`` the ids
    of objects that go on and off with it (a knob and its burner, a tap and its basin). ``solid``
    objects stop bodies, ``opaque`` ones block sight where they rise above the eye.
    """

    id: str
    type: str
    x: float
    y: float
    width: float = 0.1
    depth: float = 0.1
    bottom: float = 0.0
    height: float = 0.1
    parent: str = ""
    affordances: frozenset[str] = frozenset()
    receptacle: Preposition = ""
    accepts: tuple[str, ...] = ()
    capacity: int = 0
    controls: tuple[str, ...] = ()
    solid: bool = False
    opaque: bool = False
    open: bool = False
    on: bool = False
    dirty: bool = False
    sliced: bool = False
    filled: bool = False
    cooked: bool = False
    temperature: Temperature = "room"

    @property
    def is_long(self) -> bool:
        """True for furniture on which objects can be more than half a metre apart, so that a spot
        on it is worth naming."""
        return max(self.width, self.depth) > 0.5 and "pickupable" not in self.affordances


@dataclass(frozen=True, slots=True)
class Floor:
    """Floor that feet may stand on, for houses that publish it (iTHOR's reachable positions).

    ``rows[j][i]`` is ``"."`` where a body may stand at ``(x + i * spacing, y + j * spacing)``, and
    ``"#"`` where not. Given a floor, walls and furniture are not asked; doors and bodies still are.
    """

    x: float
    y: float
    spacing: float
    rows: tuple[str, ...]

    def is_free(self, x: float, y: float) -> bool:
        """True if the cell nearest to a point is walkable."""
        # Half-way points fall to one side for certain, however they were rounded.
        i = grid_index(x, self.x, self.spacing)
        j = grid_index(y, self.y, self.spacing)
        return 0 <= j < len(self.rows) and 0 <= i < len(self.rows[j]) and self.rows[j][i] == "."


@dataclass(frozen=True, slots=True)
class Scene:
    """A house in its initial state. Check one made by hand with :func:`validate`."""

    name: str
    rooms: tuple[Room, ...]
    walls: tuple[Wall, ...] = ()
    doors: tuple[Door, ...] = ()
    objects: tuple[HouseObject, ...] = ()
    floor: Floor | None = field(default=None)

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, without fields at their defaults."""
        return {
            "name": self.name,
            "rooms": [{"name": r.name, "polygon": _points(r.polygon)} for r in self.rooms],
            "walls": [_points((w.a, w.b)) for w in self.walls],
            "doors": [_non_default_fields(door) for door in self.doors],
            "objects": [_non_default_fields(obj) for obj in self.objects],
            "floor": _non_default_fields(self.floor) if self.floor else None,
        }


def validate(scene: Scene, source: str = "") -> None:
    """Raise ``DataError`` for ids that clash, parents that are missing, cyclic or no receptacle,
    and unknown affordances or temperatures."""
    source = source or f"scene {scene.name}"
    ids: set[str] = set()
    for name in (*(obj.id for obj in scene.objects), *(door.id for door in scene.doors)):
        if name in ids:
            raise DataError(source, f"object {name!r}", "the id is used twice")
        ids.add(name)
    by_id = {obj.id: obj for obj in scene.objects}
    if not scene.rooms:
        raise DataError(source, "field 'rooms'", "a house needs a room")
    if len({room.name for room in scene.rooms}) < len(scene.rooms):
        raise DataError(source, "field 'rooms'", "two rooms have the same name")
    for obj in scene.objects:
        if problem := _find_problem(obj, by_id):
            raise DataError(source, f"object {obj.id!r}", problem)


def _find_problem(obj: HouseObject, by_id: Mapping[str, HouseObject]) -> str:
    """Return the first problem of an object in its scene; empty without one."""
    if unknown := sorted(obj.affordances - AFFORDANCES):
        return f"has unknown affordances {unknown}"
    if obj.temperature not in TEMPERATURES or obj.receptacle not in ("", "on", "in"):
        return "has an unknown temperature or kind of receptacle"
    if missing := [name for name in obj.controls if name not in by_id]:
        return f"controls {missing[0]!r}, which does not exist"
    ancestors, parent = {obj.id}, obj.parent
    while parent:
        if parent not in by_id:
            return f"has the parent {parent!r}, which does not exist"
        if parent in ancestors:
            return "is inside itself"
        if not by_id[parent].receptacle:
            return f"has the parent {parent!r}, which is no receptacle"
        ancestors.add(parent)
        parent = by_id[parent].parent
    return ""


def _points(points: tuple[Point, ...]) -> list[list[float]]:
    return [list(point) for point in points]


def _non_default_fields(record: Door | HouseObject | Floor) -> dict[str, Json]:
    """Return every field that differs from its default, in JSON values."""
    slim: dict[str, Json] = {}
    for spec in fields(record):
        value = getattr(record, spec.name)
        if value == spec.default:
            continue
        if isinstance(value, frozenset):
            value = sorted(value)
        slim[spec.name] = list(value) if isinstance(value, tuple) else value
    return slim

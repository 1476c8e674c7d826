"""Scene: a house as plain frozen data, with a JSON round trip.

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
        "pickupable",
        "openable",
        "toggleable",
        "sliceable",
        "slicer",
        "heater",
        "cooler",
        "cleaner",
        "filler",
        "brewer",
        "drinker",
        "fillable",
        "cookable",
        "dirtyable",
    )
)
"""What a thing can do or have done to it.

``heater`` heats its contents while on (and shut, where it can be shut), ``cooler`` cools them
while shut, ``cleaner`` washes and ``filler`` fills them with water while on, ``brewer`` with
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
    """A door leaf that fills the gap from ``a`` to ``b`` when shut, and is out of the way if not.

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
    """Furniture or a thing: ``HouseObject("apple|3", "apple", 1.0, 2.0, parent="table|1")``.

    ``x``, ``y`` are the centre and ``width`` (x), ``depth`` (y), ``height`` the extents of its
    axis-aligned box, whose underside is at ``bottom``. ``parent`` is the id of the object it is in
    or on, empty for the floor. ``receptacle`` says whether other things go ``"on"`` or ``"in"`` it;
    an openable one that things go in encloses: shut, it hides them. ``accepts`` lists the
    types that fit (empty: all), ``capacity`` how many things (0: any number), ``controls`` the ids
    of objects that go on and off with it (a knob and its burner, a tap and its basin). ``solid``
    things stop bodies, ``opaque`` ones stop looks where they rise above the eye.
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


@dataclass(frozen=True, slots=True)
class Floor:
    """Where feet may go, for houses that publish it (iTHOR's reachable positions).

    ``rows[j][i]`` is ``"."`` where a body may stand at ``(x + i * spacing, y + j * spacing)``, and
    ``"#"`` where not. Given a floor, walls and furniture are not asked; doors and bodies still are.
    """

    x: float
    y: float
    spacing: float
    rows: tuple[str, ...]

    def free(self, x: float, y: float) -> bool:
        """Whether the cell nearest to a point is walkable."""
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
        """Plain JSON values; :func:`from_json` gives an equal scene back."""
        return {
            "name": self.name,
            "rooms": [{"name": r.name, "polygon": _points(r.polygon)} for r in self.rooms],
            "walls": [_points((w.a, w.b)) for w in self.walls],
            "doors": [_slim(door) for door in self.doors],
            "objects": [_slim(thing) for thing in self.objects],
            "floor": _slim(self.floor) if self.floor else None,
        }


def from_json(record: Mapping[str, Json], source: str = "scene") -> Scene:
    """The scene a JSON record holds. Raises ``DataError`` naming ``source`` and the field."""
    try:
        scene = Scene(
            str(record["name"]),
            tuple(Room(r["name"], _corners(r["polygon"])) for r in record["rooms"]),
            tuple(Wall(*_corners(w)) for w in record.get("walls", ())),
            tuple(_door(d) for d in record.get("doors", ())),
            tuple(_object(o) for o in record.get("objects", ())),
            _floor(record.get("floor")),
        )
    except (KeyError, TypeError, ValueError) as error:
        problem = f"not a scene record ({type(error).__name__}: {error})"
        raise DataError(source, "", problem, "write scenes with Scene.to_json") from error
    validate(scene, source)
    return scene


def validate(scene: Scene, source: str = "") -> None:
    """Raises ``DataError`` for ids that clash, parents that are missing, cyclic or no receptacle,
    and unknown affordances or temperatures."""
    source = source or f"scene {scene.name}"
    ids: set[str] = set()
    for name in (*(thing.id for thing in scene.objects), *(door.id for door in scene.doors)):
        if name in ids:
            raise DataError(source, f"object {name!r}", "the id is used twice")
        ids.add(name)
    by_id = {thing.id: thing for thing in scene.objects}
    if not scene.rooms:
        raise DataError(source, "field 'rooms'", "a house needs a room")
    if len({room.name for room in scene.rooms}) < len(scene.rooms):
        raise DataError(source, "field 'rooms'", "two rooms have the same name")
    for thing in scene.objects:
        _validate_object(thing, by_id, source)


def _validate_object(thing: HouseObject, by_id: Mapping[str, HouseObject], source: str) -> None:
    where = f"object {thing.id!r}"
    unknown = sorted(thing.affordances - AFFORDANCES)
    if unknown:
        raise DataError(source, where, f"has unknown affordances {unknown}")
    if thing.temperature not in TEMPERATURES or thing.receptacle not in ("", "on", "in"):
        raise DataError(source, where, "has an unknown temperature or kind of receptacle")
    if missing := [name for name in thing.controls if name not in by_id]:
        raise DataError(source, where, f"controls {missing[0]!r}, which is not there")
    seen, parent = {thing.id}, thing.parent
    while parent:
        if parent not in by_id:
            raise DataError(source, where, f"has the parent {parent!r}, which is not there")
        if parent in seen:
            raise DataError(source, where, "is inside itself")
        if not by_id[parent].receptacle:
            raise DataError(source, where, f"has the parent {parent!r}, which is no receptacle")
        seen.add(parent)
        parent = by_id[parent].parent


def _points(points: tuple[Point, ...]) -> list[list[float]]:
    return [list(point) for point in points]


def _corners(points: Json) -> tuple[Point, ...]:
    return tuple((float(x), float(y)) for x, y in points)


def _slim(record: Door | HouseObject | Floor) -> dict[str, Json]:
    """Every field that differs from its default, in JSON values."""
    slim: dict[str, Json] = {}
    for spec in fields(record):
        value = getattr(record, spec.name)
        if value == spec.default:
            continue
        if isinstance(value, frozenset):
            value = sorted(value)
        slim[spec.name] = list(value) if isinstance(value, tuple) else value
    return slim


def _door(record: Mapping[str, Json]) -> Door:
    a, b = _corners((record["a"], record["b"]))
    return Door(**{**record, "a": a, "b": b, "rooms": tuple(record.get("rooms", ()))})


def _object(record: Mapping[str, Json]) -> HouseObject:
    made = dict(record)
    made["affordances"] = frozenset(record.get("affordances", ()))
    for name in ("accepts", "controls"):
        made[name] = tuple(record.get(name, ()))
    return HouseObject(**made)


def _floor(record: Mapping[str, Json] | None) -> Floor | None:
    return None if record is None else Floor(**{**record, "rows": tuple(record["rows"])})

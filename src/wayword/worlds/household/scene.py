"""A house as plain frozen data.

Lengths are metres; x points east, y north, z up. All sources of scenes are converted to this form,
best with :class:`~wayword.worlds.household.builder.SceneBuilder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wayword.core.errors import DataError, suggest
from wayword.core.geometry import Box, Point, box_around, grid_index

Temperature = Literal["room", "hot", "cold"]
Preposition = Literal["", "on", "in"]

TEMPERATURES: tuple[Temperature, ...] = ("room", "hot", "cold")
# Actions first, then roles.
AFFORDANCES = frozenset(
    (
        *(
            "pickupable",
            "openable",
            "toggleable",
            "sliceable",
            "fillable",
            "cookable",
            "dirtyable",
        ),
        *(
            "slicer",
            "heater",
            "cooler",
            "cleaner",
            "filler",
            "brewer",
            "drinker",
        ),
    )
)
"""Actions that an object can undergo or perform.

While on, a ``heater`` heats its contents (if openable, only while closed), a ``cleaner`` washes
them, a ``filler`` fills them with water and a ``brewer`` with coffee. A ``cooler`` cools them while
closed; a ``drinker`` (a plant) takes the water of a vessel put on it; a held ``slicer`` slices.
"""


@dataclass(frozen=True, slots=True)
class Room:
    """A named area of the floor; ``polygon`` lists its corners in order (metres)."""

    name: str
    polygon: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Wall:
    """A straight wall from ``a`` to ``b``, floor to ceiling, without thickness."""

    a: Point
    b: Point


@dataclass(frozen=True, slots=True)
class Door:
    """A door that closes the gap from ``a`` to ``b``.

    ``rooms`` names the rooms on its two sides, only one if it leads outside. A door
    that is not ``openable`` keeps its state.
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

    ``x``, ``y`` are the center and ``width`` (x), ``depth`` (y), ``height`` the extents of its
    axis-aligned box, with its underside at ``bottom``. ``parent`` is the id of the object it is in
    or on, empty for the floor. ``receptacle``: whether other objects go ``"on"`` or ``"in"`` it; an
    openable one with ``"in"`` hides its contents while closed. ``accepts``: types that fit (empty:
    all); ``capacity``: maximum number of objects (0: any); ``controls``: ids of objects that it
    switches on and off (a knob its burner, a tap its basin). ``solid`` objects stop bodies,
    ``opaque`` ones block sight if they rise above the eye.
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
    def box(self) -> Box:
        """The sides of its box in the plan."""
        return box_around(self.x, self.y, self.width, self.depth)

    @property
    def is_long(self) -> bool:
        """True for furniture over half a metre long: positions on it are described."""
        return (
            max(self.width, self.depth) > 0.5 and "pickupable" not in self.affordances
        )


@dataclass(frozen=True, slots=True)
class Floor:
    """Walkable floor, for houses that publish it (iTHOR's reachable positions).

    ``rows[j][i]`` is ``"."`` if a body may stand at ``(x + i * spacing, y + j * spacing)``, else
    ``"#"``. A floor replaces walls and furniture as obstacles; doors and bodies still block.
    """

    x: float
    y: float
    spacing: float
    rows: tuple[str, ...]

    def is_free(self, x: float, y: float) -> bool:
        """True if the cell nearest to a point is walkable."""
        # ``grid_index`` breaks half-way ties consistently, whatever the rounding error.
        i = grid_index(x, self.x, self.spacing)
        j = grid_index(y, self.y, self.spacing)
        return (
            0 <= j < len(self.rows)
            and 0 <= i < len(self.rows[j])
            and self.rows[j][i] == "."
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """A house in its initial state. Check a hand-made one with :func:`validate`."""

    name: str
    rooms: tuple[Room, ...]
    walls: tuple[Wall, ...] = ()
    doors: tuple[Door, ...] = ()
    objects: tuple[HouseObject, ...] = ()
    floor: Floor | None = None

    def by_id(self) -> dict[str, HouseObject]:
        """Return the objects by id, in their order; a dictionary of its own at each call."""
        return {obj.id: obj for obj in self.objects}


def validate(scene: Scene, source: str = "") -> None:
    """Raise ``DataError`` for a scene that no world could be built from.

    Checked are duplicate ids, parents that are missing, cyclic or not receptacles, and
    unknown affordances or temperatures. ``source`` names the file in the error.
    """
    # A name for the error; files give theirs.
    source = source or f"scene {scene.name}"
    # Doors and objects share names in commands, so they share one set of ids.
    ids: set[str] = set()
    for name in (
        *(obj.id for obj in scene.objects),
        *(door.id for door in scene.doors),
    ):
        if name in ids:
            raise DataError(source, f"object {name!r}", "is a duplicate id")
        ids.add(name)
    by_id = scene.by_id()
    # A pose is always in some room.
    if not scene.rooms:
        raise DataError(source, "field 'rooms'", "must have at least one room")
    if len({room.name for room in scene.rooms}) < len(scene.rooms):
        raise DataError(source, "field 'rooms'", "has two rooms of the same name")
    for obj in scene.objects:
        if problem := _find_problem(obj, by_id):
            raise DataError(source, f"object {obj.id!r}", problem)


_PERMITTED = {"temperature": TEMPERATURES, "receptacle": ("", "on", "in")}
"""Field of an object -> its values."""


def _find_problem(obj: HouseObject, by_id: Mapping[str, HouseObject]) -> str:
    """Return the first problem of an object; empty if it has none."""
    # The first problem is reported: later ones often follow from it.
    if unknown := sorted(obj.affordances - AFFORDANCES):
        return f"has the unknown affordance {unknown[0]!r}; {suggest(unknown[0], AFFORDANCES)}"
    for name, permitted in _PERMITTED.items():
        value = getattr(obj, name)
        if value not in permitted:
            return f"has the {name} {value!r}; must be one of {', '.join(map(repr, permitted))}"
    if missing := [name for name in obj.controls if name not in by_id]:
        return f"controls an unknown object {missing[0]!r}"
    # The chain of parents must end at the floor.
    ancestors = {obj.id}
    parent = obj.parent
    while parent:
        if parent not in by_id:
            able = [name for name, each in by_id.items() if each.receptacle]
            remedy = suggest(parent, able)
            return f"has the parent {parent!r}, which is no object's id; {remedy}"
        if parent in ancestors:
            return "is inside itself"
        if not by_id[parent].receptacle:
            return f"has a parent that is not a receptacle: {parent!r}"
        ancestors.add(parent)
        parent = by_id[parent].parent
    return ""

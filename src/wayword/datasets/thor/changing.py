"""Other poses and states than the published ones.

    >>> from wayword.datasets.thor.metadata import ObjectRecord
    >>> at, size = (0.0, 0.0, 1.0), (0.1, 0.1, 0.1)
    >>> mug = ObjectRecord("Mug|1", "Mug_1a", "Mug", at, 0.0, at, size)
    >>> away = Change(position=(2.0, 0.0, 0.5), flags={"isDirty": True})
    >>> (moved,) = changed((mug,), {"Mug_1a": away})
    >>> (moved.centre, sorted(moved.flags), moved.parents)
    ((2.0, 0.0, 0.5), ['isDirty'], ())

Datasets that start a scene from another state (ALFRED's ``object_poses``, rearrangement's
``starting_poses``, TEACh's initial states) say so by changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from wayword.core.angles import absolute, relative
from wayword.core.errors import UsageError, suggest
from wayword.datasets.thor.metadata import ObjectRecord, Point3, Records
from wayword.worlds.housework.scene import Temperature


@dataclass(frozen=True, slots=True)
class Change:
    """How an object differs from its record; what is None or not named stays.

    ``position`` is where its pivot goes (x east, y north, z up, metres) and ``heading`` how it is
    turned then (degrees); what it is in or on is judged anew by boxes, unless ``parent`` names it
    by id ("" for the floor). ``flags`` sets or clears flags of the file (``isOpen``, ``isDirty``,
    ``isToggled``, ``isFilledWithLiquid``, ...), also ``isCooked`` and ``isSliced``. ``gone`` takes
    the object out of the scene.
    """

    position: Point3 | None = None
    heading: float | None = None
    parent: str | None = None
    flags: Mapping[str, bool] = field(default_factory=dict)
    temperature: Temperature | None = None
    gone: bool = False


Changes = Mapping[str, Change]
"""Id or name of an object -> how it differs."""


def changed(records: Records, changes: Changes) -> Records:
    """The records with the changes made. Raises ``UsageError`` for an object that is not there."""
    known = {record.id for record in records} | {record.name for record in records}
    for name in changes:
        if name not in known:
            raise UsageError(f"the scene has no object {name!r}; {suggest(name, sorted(known))}")
    made = []
    for record in records:
        change = changes.get(record.id) or changes.get(record.name)
        if change is None:
            made.append(record)
        elif not change.gone:
            made.append(_changed(record, change))
    return tuple(made)


def copied(record: ObjectRecord, number: int, position: Point3, heading: float) -> ObjectRecord:
    """Another of the same at another place, with an id of its own: ``Pencil|..|copy|2``."""
    twin = replace(record, id=f"{record.id}|copy|{number}", name=f"{record.name}|copy|{number}")
    return moved(twin, position, heading)


def moved(record: ObjectRecord, position: Point3, heading: float) -> ObjectRecord:
    """The same with its pivot elsewhere, turned about the vertical; what it is in or on is open.

    A box that is turned by a quarter swaps width and depth; other turns leave it as it is, and so
    does any tilt: small things' boxes differ by little, and nobody publishes their shapes.
    """
    turn = relative(heading, record.heading)
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    dx, dy, dz = (c - p for c, p in zip(record.centre, record.position, strict=True))
    x, y, z = position
    centre = (x + dx * cos + dy * sin, y - dx * sin + dy * cos, z + dz)
    width, depth, height = record.size
    if 45.0 < abs(turn) < 135.0:
        width, depth = depth, width
    return replace(
        record,
        position=position,
        heading=absolute(heading),
        centre=centre,
        size=(width, depth, height),
        parents=(),
    )


def without(records: Records, names: Iterable[str]) -> Records:
    """The records but those of these ids or names."""
    gone = set(names)
    return tuple(r for r in records if r.id not in gone and r.name not in gone)


def _changed(record: ObjectRecord, change: Change) -> ObjectRecord:
    if change.position is not None or change.heading is not None:
        at = record.position if change.position is None else change.position
        record = moved(record, at, record.heading if change.heading is None else change.heading)
    if change.parent is not None:
        record = replace(record, parents=(change.parent or "Floor",))
    flags = set(record.flags)
    for flag, value in change.flags.items():
        (flags.add if value else flags.discard)(flag)
    warmth = change.temperature or record.temperature
    return replace(record, flags=frozenset(flags), temperature=warmth)

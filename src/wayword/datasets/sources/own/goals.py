"""The goal of a task file, in the goal language of ``worlds.household.goals``.

``- inside: {thing: mug, place: desk, dirty: false}``: a condition a line, by the name of its class.
A kind means any one of that kind; a name that the file gave to a thing means that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wayword.core.errors import suggest
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.sources.own.building import check_room
from wayword.datasets.sources.own.fields import Fields
from wayword.worlds.household.goals import (
    Beside,
    GoalCondition,
    Has,
    Held,
    Ids,
    Inside,
    Lit,
    Near,
    Stacked,
    Trait,
)
from wayword.worlds.household.house import FLAGS
from wayword.worlds.household.scene import TEMPERATURES

EXAMPLE = "inside: {thing: mug, place: desk}"
LAY = "lay one there, as in things: [{{kind: {kind}, place: desk}}]"


class _Reader:
    """Reads conditions about one arrangement; ``named`` are the file's own names of things."""

    def __init__(self, made: Arrangement, named: Mapping[str, str]) -> None:
        self._made, self._named = made, named

    def ids(self, given: Fields, name: str, room: str = "") -> Ids:
        """The ids of what a field names."""
        what = given.text(name)
        found = [self._named[what]] if what in self._named else [o.id for o in self._made.of(what)]
        if room:
            found = [i for i in found if self._made.room(self._made.objects[i]) == room]
        if not found:
            known = [*self._named, *sorted({o.type for o in self._made.objects.values()})]
            where = f"the {room}" if room else "the home"
            hint = LAY.format(kind=what) if what in OBJECTS else suggest(what, known)
            raise given.error(name, f"there is no {what!r} in {where}", hint)
        return tuple(found)

    def places(self, given: Fields) -> Ids:
        """The receptacles that ``place`` names, of one room where ``room`` says so."""
        room = given.text("room", "")
        check_room(self._made, given, room)
        found = self.ids(given, "place", room)
        if not self._made.objects[found[0]].receptacle:
            raise given.error("place", f"nothing goes into or onto a {given.text('place')}")
        return found

    def parts(self, given: Fields, things: Ids) -> int:
        """How many of the things it takes."""
        count = given.count("count", 1, 1)
        if count > len(things):
            raise given.error("count", f"asks for {count}, and there are {len(things)}")
        return count


def _traits(given: Fields) -> tuple[Trait, ...]:
    found: list[Trait] = [(f, given.flag(f, False)) for f in FLAGS if given.has(f)]
    if given.has("temperature"):
        found.append(("temperature", given.among("temperature", TEMPERATURES)))
    return tuple(found)


def _inside(read: _Reader, given: Fields) -> GoalCondition:
    things = read.ids(given, "thing")
    return Inside(things, read.places(given), _traits(given), read.parts(given, things))


def _has(read: _Reader, given: Fields) -> GoalCondition:
    things, traits = read.ids(given, "thing"), _traits(given)
    if not traits:
        raise given.error("", "names no state", f"there are: {', '.join((*FLAGS, 'temperature'))}")
    return Has(things, traits, read.parts(given, things))


def _stacked(read: _Reader, given: Fields) -> GoalCondition:
    movables = read.ids(given, "movable")
    return Stacked(read.ids(given, "thing"), movables, read.places(given), _traits(given))


READERS: Mapping[str, Callable[[_Reader, Fields], GoalCondition]] = {
    "inside": _inside,
    "has": _has,
    "stacked": _stacked,
    "held": lambda read, given: Held(read.ids(given, "thing")),
    "lit": lambda read, given: Lit(read.ids(given, "thing"), given.number("distance", 1.5)),
    "near": lambda read, given: Near(read.ids(given, "thing"), given.number("distance", 1.5)),
    "beside": lambda read, given: Beside(read.ids(given, "thing"), read.ids(given, "other")),
}


def read_goals(
    task: Fields, made: Arrangement, named: Mapping[str, str]
) -> tuple[GoalCondition, ...]:
    """The conditions that the file lists, at least one."""
    listed, read = task.list_("goal"), _Reader(made, named)
    if not listed:
        raise task.error("goal", "is missing", f"list conditions, as in - {EXAMPLE}")
    return tuple(_condition(task, read, n, given) for n, given in enumerate(listed, 1))


def _condition(task: Fields, read: _Reader, number: int, given: object) -> GoalCondition:
    outer = Fields(task.path, f"goal {number}", given, EXAMPLE)
    kinds = list(given) if isinstance(given, Mapping) else []
    if len(kinds) != 1:
        raise outer.error("", f"must be one condition, as in {EXAMPLE}")
    kind = str(kinds[0])
    if kind not in READERS:
        raise outer.error("", f"there is no condition {kind!r}", suggest(kind, list(READERS)))
    inner = Fields(task.path, f"goal {number} ({kind})", outer.get(kind), EXAMPLE)
    condition = READERS[kind](read, inner)
    inner.end()
    return condition

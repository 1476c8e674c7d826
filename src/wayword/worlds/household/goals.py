"""Goal conditions on the true final state, and references of household episodes.

A condition has one or more parts, as in ALFRED: goal-condition success is the share of satisfied
parts. Conditions refer to objects by id: for "a mug" in an instruction, they list every mug.

Source: ALFRED (Shridhar et al. 2020, section 4.3). For the state see
``worlds.household.house.report``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol, runtime_checkable

from wayword.core.episode import Json, JsonObject, Reference

State = JsonObject
Trait = tuple[str, Json]
"""A field of an object's state and its required value: ``("temperature", "hot")``."""
Ids = tuple[str, ...]


@runtime_checkable
class GoalCondition(Protocol):
    """A condition on the final state, scored in ``parts``."""

    @property
    def parts(self) -> int:
        """The number of parts."""

    @property
    def words(self) -> str:
        """The condition in a few words for users: ``hot egg in or on table``."""

    def met(self, state: State) -> int:
        """Return the number of satisfied parts."""


def kind_names(ids: Sequence[str]) -> list[str]:
    """Return the distinct kinds of objects, in the order of first mention.

    >>> kind_names(["Mug|-01.25|+00.90", "cup_3", "cup_4", "CoffeeMachine|+0.1"])
    ['mug', 'cup', 'coffee machine']
    """
    spaced = []
    # AI2-THOR joins type and position by bars, generated houses add a number to the
    # type: both have to read the same.
    for object_id in ids:
        # Without a position, a folder and a number.
        kind = object_id.partition("|")[0].rpartition("/")[2].rstrip("_0123456789")
        spaced.append(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", kind).lower())
    return list(dict.fromkeys(spaced))


def kinds(ids: Sequence[str]) -> str:
    """Return the distinct kinds of objects in words: the first three, which fit on a line of the
    viewer.

    >>> kinds(["egg_1", "mug_1", "mug_2", "cup_1", "pot_1"])
    'egg or mug or cup …'
    """
    names = kind_names(ids)
    text = " or ".join(names[:3])
    if len(names) > 3:
        text += " …"
    return text


def kinds_with(traits: Sequence[Trait], ids: Sequence[str]) -> str:
    """Return the kinds of objects after their traits.

    >>> kinds_with([("temperature", "hot"), ("dirty", False)], ["egg_1"])
    'hot clean egg'
    """
    words = []
    for name, value in traits:
        # A trait with a text, "hot", is its own word; a flag is named or negated.
        if isinstance(value, str):
            words.append(value)
        elif value:
            words.append("switched-on" if name == "on" else name)
        else:
            words.append(f"not {name}")
    text = " ".join(filter(None, (*words, kinds(ids))))
    return text.replace("not dirty", "clean")


def holders_of(state: State, obj: str) -> list[str]:
    """Return the receptacles that an object is in or on, innermost first."""
    chain: list[str] = []
    # The test of membership ends the loop in a damaged recording that contains a
    # circle.
    objects = state["objects"]
    while (obj := objects[obj]["in"]) and obj not in chain:
        chain.append(obj)
    return chain


def has_traits(state: State, obj: str, traits: tuple[Trait, ...]) -> bool:
    """True if an object has all of the traits."""
    # Each record is made on access: without traits, none is.
    return all(state["objects"][obj][name] == value for name, value in traits)


@dataclass(frozen=True, slots=True)
class Has:
    """At least ``parts`` of ``objects`` (default: any one) have all the traits."""

    objects: Ids
    traits: tuple[Trait, ...]
    parts: int = 1

    @property
    def words(self) -> str:
        """The condition in words: ``hot egg``."""
        return kinds_with(self.traits, self.objects)

    def met(self, state: State) -> int:
        """Return how many objects have the traits, at most ``parts``."""
        count = sum(has_traits(state, obj, self.traits) for obj in self.objects)
        # More than required is not better: the score is a share of required parts.
        return min(self.parts, count)


@dataclass(frozen=True, slots=True)
class Inside:
    """At least ``parts`` of ``objects``, each with the traits, are in or on the same receptacle.

    An object in a bowl on the table is also on the table.
    """

    objects: Ids
    receptacles: Ids
    traits: tuple[Trait, ...] = ()
    parts: int = 1

    @property
    def words(self) -> str:
        """The condition in words: ``hot egg in or on table``."""
        return f"{kinds_with(self.traits, self.objects)} in or on {kinds(self.receptacles)}"

    def met(self, state: State) -> int:
        """Return how many objects the best receptacle holds, at most ``parts``."""
        # Per receptacle: two apples on two tables do not make "two apples on a table".
        counts = dict.fromkeys(self.receptacles, 0)
        for obj in self.objects:
            if not has_traits(state, obj, self.traits):
                continue
            # Every holder counts: an apple in a bowl on the table is on the table, too.
            for holder in holders_of(state, obj):
                if holder in counts:
                    counts[holder] += 1
        # The receptacle with the most of them decides.
        return min(self.parts, max(counts.values(), default=0))


@dataclass(frozen=True, slots=True)
class Stacked:
    """Any of ``objects`` is in one of ``movables``, which is in or on one of ``receptacles``."""

    objects: Ids
    movables: Ids
    receptacles: Ids
    traits: tuple[Trait, ...] = ()
    parts: int = 1

    @property
    def words(self) -> str:
        """The condition in words: ``egg in bowl in or on table``."""
        objects = kinds_with(self.traits, self.objects)
        return f"{objects} in {kinds(self.movables)} in or on {kinds(self.receptacles)}"

    def met(self, state: State) -> int:
        """Return 1 if an object is in a movable that is in its place."""
        for obj in self.objects:
            chain = holders_of(state, obj)
            # The innermost movable: a bowl in a pot on a table satisfies both readings.
            levels = [level for level, r in enumerate(chain) if r in self.movables]
            if not levels or not has_traits(state, obj, self.traits):
                continue
            # The receptacle is farther out than the innermost movable.
            if any(r in self.receptacles for r in chain[levels[0] + 1 :]):
                return 1
        return 0


@dataclass(frozen=True, slots=True)
class Held:
    """An actor holds at least one of ``objects``."""

    objects: Ids
    parts: int = 1

    @property
    def words(self) -> str:
        """The condition in words: ``egg held``."""
        return f"{kinds(self.objects)} held"

    def met(self, state: State) -> int:
        """Return 1 if any of the objects is held."""
        return int(any(state["objects"][obj]["held"] for obj in self.objects))


@dataclass(frozen=True, slots=True)
class Lit:
    """Any of ``lamps`` is on and in an actor's view, at most ``distance`` metres away.

    ALFRED's simulator: in the image and within 1.5 m.
    """

    lamps: Ids
    distance: float = 1.5
    parts: int = 1

    @property
    def words(self) -> str:
        """The condition in words: ``desk lamp switched on, in view``."""
        return f"{kinds(self.lamps)} switched on, in view"

    def met(self, state: State) -> int:
        """Return 1 if an actor sees a lamp that is on, from near."""
        limit = self.distance + 1e-3  # distances are reported in whole millimetres
        for actor in state["actors"].values():
            for lamp in self.lamps:
                # What no actor sees is infinitely far away.
                is_near = actor["sees"].get(lamp, math.inf) <= limit
                if is_near and state["objects"][lamp]["on"]:
                    return 1
        return 0


@dataclass(frozen=True, slots=True)
class Near:
    """An actor sees one of ``objects`` and is within ``distance`` metres of its nearest point."""

    objects: Ids
    distance: float = 1.5
    parts: int = 1

    @property
    def words(self) -> str:
        """The condition in words: ``tv in view, nearby``."""
        return f"{kinds(self.objects)} in view, nearby"

    def met(self, state: State) -> int:
        """Return 1 if an actor sees an object from near."""
        for actor in state["actors"].values():
            if any(
                actor["sees"].get(obj, math.inf) <= self.distance
                for obj in self.objects
            ):
                return 1
        return 0


@dataclass(frozen=True, slots=True)
class NextTo:
    """Any of ``objects`` and one of ``others`` are directly in or on the same receptacle."""

    objects: Ids
    others: Ids
    parts: int = 1

    @property
    def words(self) -> str:
        """The condition in words: ``fork next to knife``."""
        return f"{kinds(self.objects)} next to {kinds(self.others)}"

    def met(self, state: State) -> int:
        """Return 1 if an object shares its receptacle with another one."""
        places = {
            name: state["objects"][name]["in"] for name in {*self.objects, *self.others}
        }
        for one, other in product(self.objects, self.others):
            # Objects on the floor have no common place: the floor is the whole house.
            if one != other and places[one] and places[one] == places[other]:
                return 1
        return 0


OF_OBJECTS = (Has, Inside, Stacked, Held, NextTo)
"""Conditions on what objects are in, on or held by, and on their states. ``Restored`` is none of
them, as a held object is where its actor is."""


@dataclass(frozen=True, slots=True)
class HouseholdReference(Reference):
    """Goal conditions of an episode of a ``kind`` of task.

    ``expert_length`` is L*, the expert's number of low-level actions including stop;
    None if it must be computed.
    """

    kind: str = ""
    goals: tuple[GoalCondition, ...] = ()
    expert_length: int | None = None

    def parts(self) -> int:
        """Return the number of parts of all goals."""
        return sum([goal.parts for goal in self.goals])

    def met(self, state: State) -> int:
        """Return the number of goal conditions satisfied in a final state."""
        return sum(goal.met(state) for goal in self.goals)

    @property
    def reads_objects_only(self) -> bool:
        """True if no goal depends on where an actor is, or what it sees."""
        return all(isinstance(goal, OF_OBJECTS) for goal in self.goals)


@dataclass(frozen=True, slots=True)
class Restored:
    """An object is in or on its target receptacle, and open or closed as required.

    With ``at`` (x and y, metres), its center is also within ``within`` metres of that
    point.
    """

    object: str
    receptacle: str
    open: bool
    at: tuple[float, float] | None = None
    within: float = 0.5
    parts: int = 1

    @property
    def words(self) -> str:
        """The condition in words: ``mug in or on shelf (closed)``."""
        text = kinds([self.object])
        if self.receptacle:
            text += f" in or on {kinds([self.receptacle])}"
        state = "open" if self.open else "closed"
        return f"{text} ({state})"

    def met(self, state: State) -> int:
        """Return 1 if the object is back: its receptacle, its opening, and its point if
        required."""
        record = state["objects"][self.object]
        if record["in"] != self.receptacle or record["open"] != self.open:
            return 0
        # States without positions are judged where no point is required.
        return int(self.at is None or self.is_near_target(record["x"], record["y"]))

    def is_near_target(self, x: float, y: float) -> bool:
        """True if a point is near enough to ``at``, or any point will do."""
        return self.at is None or math.dist(self.at, (x, y)) <= self.within


@dataclass(frozen=True, slots=True)
class RearrangementReference(HouseholdReference):
    """The state to restore: ``goals`` for changed objects, ``others`` for unchanged ones."""

    others: tuple[Restored, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerReference(HouseholdReference):
    """The correct answer. ``look`` lists the objects and receptacles that reveal it; seeing
    ``enough`` of them suffices (0: all). The bench's checksums contain these names."""

    answer: str = ""
    look: Ids = ()
    enough: int = 0

"""Goal conditions on the true final state, and the reference of an episode in the household world.

Conditions count in parts, as ALFRED's do: goal-condition success is the share of parts that hold.
They name objects by id; where an instruction says "a mug", a condition lists every mug.

Source: ALFRED (Shridhar et al. 2020, section 4.3); the state is that of
``worlds.household.house.report``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from wayword.core.episode import Json, Reference

State = Mapping[str, Json]
Trait = tuple[str, Json]
"""A field of an object's state and the value it must have: ``("temperature", "hot")``."""
Ids = tuple[str, ...]


@runtime_checkable
class GoalCondition(Protocol):
    """Something that should hold in the end, in ``parts`` that are scored one by one."""

    @property
    def parts(self) -> int:
        """How many parts it has."""
        ...

    @property
    def words(self) -> str:
        """What should hold, in a few words for people: ``hot egg in or on table``."""
        ...

    def met(self, state: State) -> int:
        """How many of them hold."""
        ...


_KINDS = 3
_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")


def kinds(ids: Sequence[str]) -> str:
    """The kinds of things, each once, the first three.

    >>> kinds(["Mug|-01.25|+00.90", "cup_3", "cup_4", "CoffeeMachine|+0.1"])
    'mug or cup or coffee machine'
    """
    names = (each.partition("|")[0].rpartition("/")[2].rstrip("_0123456789") for each in ids)
    found = list(dict.fromkeys(_CASE.sub(" ", name).replace("_", " ").lower() for name in names))
    return " or ".join(found[:_KINDS]) + (" …" if len(found) > _KINDS else "")


def kinds_with(traits: Sequence[Trait], ids: Sequence[str]) -> str:
    """The kinds of things behind their traits: a trait that is a word by its value, one that is
    true by its name.

    >>> kinds_with([("temperature", "hot"), ("dirty", False)], ["egg_1"])
    'hot not dirty egg'
    """
    how = (
        value if isinstance(value, str) else name if value else f"not {name}"
        for name, value in traits
    )  # fmt: skip
    return " ".join(filter(None, (*how, kinds(ids))))


def under(state: State, thing: str) -> list[str]:
    """What a thing is in or on, innermost first."""
    found: list[str] = []
    at = state["objects"][thing]["in"]
    while at and at not in found:
        found.append(at)
        at = state["objects"][at]["in"]
    return found


def shows(state: State, thing: str, traits: tuple[Trait, ...]) -> bool:
    """Whether a thing has all of the traits."""
    record = state["objects"][thing]
    return all(record[name] == value for name, value in traits)


@dataclass(frozen=True, slots=True)
class Has:
    """``parts`` of ``things``, by default any one, have all the traits."""

    things: Ids
    traits: tuple[Trait, ...]
    parts: int = 1

    @property
    def words(self) -> str:
        return kinds_with(self.traits, self.things)

    def met(self, state: State) -> int:
        return min(self.parts, sum(shows(state, thing, self.traits) for thing in self.things))


@dataclass(frozen=True, slots=True)
class Inside:
    """``parts`` of ``things``, each with the traits, are in or on one and the same receptacle.

    A thing in a bowl on the table is also on the table.
    """

    things: Ids
    receptacles: Ids
    traits: tuple[Trait, ...] = ()
    parts: int = 1

    @property
    def words(self) -> str:
        return f"{kinds_with(self.traits, self.things)} in or on {kinds(self.receptacles)}"

    def met(self, state: State) -> int:
        good = [under(state, thing) for thing in self.things if shows(state, thing, self.traits)]
        most = max((sum(r in chain for chain in good) for r in self.receptacles), default=0)
        return min(self.parts, most)


@dataclass(frozen=True, slots=True)
class Stacked:
    """One of ``things`` is in one of ``movables``, which is in or on one of ``receptacles``."""

    things: Ids
    movables: Ids
    receptacles: Ids
    traits: tuple[Trait, ...] = ()
    parts: int = 1

    @property
    def words(self) -> str:
        what = kinds_with(self.traits, self.things)
        return f"{what} in {kinds(self.movables)} in or on {kinds(self.receptacles)}"

    def met(self, state: State) -> int:
        for thing in self.things:
            chain = under(state, thing)
            low = next((n for n, r in enumerate(chain) if r in self.movables), len(chain))
            rises = any(r in self.receptacles for r in chain[low + 1 :])
            if rises and shows(state, thing, self.traits):
                return 1
        return 0


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody holds one of ``things``."""

    things: Ids
    parts: int = 1

    @property
    def words(self) -> str:
        return f"{kinds(self.things)} held"

    def met(self, state: State) -> int:
        return int(any(state["objects"][thing]["held"] for thing in self.things))


@dataclass(frozen=True, slots=True)
class Lit:
    """One of ``lamps`` is on and in an actor's view, no farther than ``distance`` (metres).

    ALFRED asks the same: that the lamp be on and ``visible``, which in its simulator means in the
    picture and within 1.5 m.
    """

    lamps: Ids
    distance: float = 1.5
    parts: int = 1

    @property
    def words(self) -> str:
        return f"{kinds(self.lamps)} switched on, in view"

    def met(self, state: State) -> int:
        views = [who["sees"] for who in state["actors"].values()]
        near = {i for view in views for i, away in view.items() if away <= self.distance + 1e-3}
        return int(any(state["objects"][i]["on"] for i in self.lamps if i in near))


@dataclass(frozen=True, slots=True)
class Near:
    """Somebody sees one of ``things`` and is within ``distance`` metres of its nearest point."""

    things: Ids
    distance: float = 1.5
    parts: int = 1

    @property
    def words(self) -> str:
        return f"{kinds(self.things)} in view, near by"

    def met(self, state: State) -> int:
        seen = [who["sees"] for who in state["actors"].values()]
        away = [view[thing] for view in seen for thing in self.things if thing in view]
        return int(any(metres <= self.distance for metres in away))


@dataclass(frozen=True, slots=True)
class Beside:
    """One of ``things`` and one of ``others`` are directly in or on the same receptacle."""

    things: Ids
    others: Ids
    parts: int = 1

    @property
    def words(self) -> str:
        return f"{kinds(self.things)} beside {kinds(self.others)}"

    def met(self, state: State) -> int:
        there = {state["objects"][other]["in"] for other in self.others} - {""}
        return int(any(state["objects"][thing]["in"] in there for thing in self.things))


@dataclass(frozen=True, slots=True)
class HouseholdReference(Reference):
    """The ground truth of an episode in the household world.

    ``kind`` is the type of task. ``goals`` are what should hold in the end. ``expert_length`` is
    L*, the expert's number of low-level actions, its stop included; None where the expert
    has to be run for it.
    """

    kind: str = ""
    goals: tuple[GoalCondition, ...] = ()
    expert_length: int | None = None

    def parts(self) -> int:
        """How many goal conditions there are."""
        return sum(goal.parts for goal in self.goals)

    def met(self, state: State) -> int:
        """How many of them hold in a final state."""
        return sum(goal.met(state) for goal in self.goals)


@dataclass(frozen=True, slots=True)
class Restored:
    """A thing is in or on what it should be in or on, and open or shut as it should be.

    With ``at`` (x and y, metres), its middle also lies within ``within`` of there.
    """

    thing: str
    receptacle: str
    open: bool
    at: tuple[float, float] | None = None
    within: float = 0.5
    parts: int = 1

    @property
    def words(self) -> str:
        where = f" in or on {kinds([self.receptacle])}" if self.receptacle else ""
        return f"{kinds([self.thing])}{where} ({'open' if self.open else 'closed'})"

    def met(self, state: State) -> int:
        record = state["objects"][self.thing]
        right = record["in"] == self.receptacle and record["open"] == self.open
        return int(right and (self.at is None or self.lies(record["x"], record["y"])))

    def lies(self, x: float, y: float) -> bool:
        """Whether a place is near enough to where the thing should be."""
        return self.at is None or math.dist(self.at, (x, y)) <= self.within


@dataclass(frozen=True, slots=True)
class RearrangementReference(HouseholdReference):
    """The state to restore: ``goals`` for what was changed, ``others`` for what was not."""

    others: tuple[Restored, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerReference(HouseholdReference):
    """The right answer; ``look`` lists the things and receptacles one looks at to find it, of
    which ``enough`` will do (0: it takes all of them)."""

    answer: str = ""
    look: Ids = ()
    enough: int = 0

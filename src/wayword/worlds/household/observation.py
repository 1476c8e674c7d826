"""HouseholdObservation: the view of an actor in a house, and the messages it receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from wayword.core.world import Family, Observation
from wayword.worlds import household

Answerer = Callable[[str, str], str | None]
"""``(actor, question) -> answer``, or None for no answer: a person, or a script."""


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message and its sender. It is in the recipients' observations until they have acted."""

    sender: str
    text: str


Direction = Literal["left", "middle", "right"]  # A third of the view

# Objects and doors in view are not frozen, though nothing changes them: a frozen object takes seven
# times as long to make, and one is made for each object in view at every turn.


@dataclass(slots=True, unsafe_hash=True)
class SeenObject:
    """An object in view.

    ``bearing`` is relative (degrees, right positive), ``distance`` to its nearest point (metres).
    ``container`` is what it is ``preposition`` ("on" or "in"), both empty if that is the floor
    or not in view. ``attributes`` are the states that show: open, closed, on, off, sliced, cooked,
    boiled, dirty, filled, coffee (with that), hot, cold. ``spot`` is where on long furniture it is,
    metres east and north of the middle, in worlds that tell it.
    """

    name: str
    direction: Direction
    bearing: float
    distance: float
    preposition: str
    container: str
    attributes: tuple[str, ...]
    spot: tuple[float, float] | None = None


@dataclass(slots=True, unsafe_hash=True)
class SeenDoor:
    """A door in view; ``rooms`` are those it joins."""

    name: str
    direction: Direction
    bearing: float
    distance: float
    open: bool
    rooms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeenActor:
    """Another actor in view, with the names (or types) of what it carries."""

    name: str
    direction: Direction
    bearing: float
    distance: float
    holding: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeldObject:
    """Something in the actor's own hands; ``contents`` names what is in or on it."""

    name: str
    attributes: tuple[str, ...]
    contents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HouseholdObservation(Observation):
    """The view of ``actor``.

    ``heading`` is absolute (degrees clockwise from north). ``objects`` are nearest first.
    ``messages`` came since the actor's last action.
    """

    family: ClassVar[Family | None] = household.family

    actor: str
    room: str
    heading: float
    holding: tuple[HeldObject, ...]
    objects: tuple[SeenObject, ...]
    doors: tuple[SeenDoor, ...]
    others: tuple[SeenActor, ...]
    messages: tuple[HeardMessage, ...]

"""HouseholdObservation: an actor's view of a house, and the messages it receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wayword.core.world import Observation
from wayword.worlds import household

Answerer = Callable[[str, str], str | None]
"""``(actor, question) -> answer``, from a user or a script; None for no answer."""


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message and its sender; recipients observe it until their next action."""

    sender: str
    text: str


Direction = Literal["left", "middle", "right"]  # one third of the view each

# Objects and doors are not frozen, although they never change: creating a frozen object is seven
# times slower, and one is created for every object in view at every turn.


@dataclass(slots=True, unsafe_hash=True)
class SeenObject:
    """An object in view.

    ``bearing`` is relative (degrees, positive to the right), ``distance`` is to its nearest point
    (metres). ``preposition`` ("on" or "in") and ``container`` are empty if it is on the floor or
    its container is not in view. ``attributes`` are its visible states: open, closed, on, off,
    sliced, cooked, boiled, dirty, filled, coffee, hot, cold. ``spot`` is its position on long
    furniture, metres east and north of the center.
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
    """A door in view; ``rooms`` are on its two sides."""

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
    """An object in the actor's hands; ``contents`` names the objects in or on it."""

    name: str
    attributes: tuple[str, ...]
    contents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HouseholdObservation(Observation):
    """The view of ``actor``. ``heading`` is degrees clockwise from north, ``objects`` are nearest
    first, and ``messages`` arrived since the actor's last action."""

    family = household.family

    actor: str
    room: str
    heading: float
    holding: tuple[HeldObject, ...]
    objects: tuple[SeenObject, ...]
    doors: tuple[SeenDoor, ...]
    others: tuple[SeenActor, ...]
    messages: tuple[HeardMessage, ...]

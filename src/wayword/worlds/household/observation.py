"""HouseholdObservation: what an actor perceives in a house."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from wayword.core.world import Family, Observation
from wayword.worlds import household

# Messages: what actors say to each other, and who answers their questions.
#
# A message reaches its recipients at their next turn, in the order of sending, and leaves their
# observation once they have acted.

Answerer = Callable[[str, str], str | None]
"""``(actor, question) -> answer``, or None for no answer: a person, or a script."""


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """What was said, and by whom."""

    sender: str
    text: str


@dataclass(slots=True)
class Mailbox:
    """One inbox an actor, and the log of all that was said (sender, recipients, text)."""

    inbox: dict[str, list[HeardMessage]]
    log: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)

    def send(self, sender: str, recipients: Iterable[str], text: str) -> None:
        """Put a message into each recipient's inbox."""
        to = tuple(recipients)
        self.log.append((sender, to, text))
        for name in to:
            self.inbox[name].append(HeardMessage(sender, text))

    def read(self, actor: str) -> None:
        """The actor has acted on what was in its inbox."""
        self.inbox[actor].clear()


Direction = Literal["left", "middle", "right"]
"""A third of the view."""

# What is in view is not frozen, though nobody changes it: a frozen object takes seven times as long
# to make, and one is made for each thing in view at every turn.


@dataclass(slots=True, unsafe_hash=True)
class SeenObject:
    """An object in view.

    ``bearing`` is relative (degrees, right positive), ``distance`` to its nearest point (metres).
    ``container`` is what it is ``preposition`` ("on" or "in"), both empty where that is the floor
    or not in view. ``attributes`` are the states that show: open, closed, on, off, sliced, cooked,
    boiled, dirty, filled, coffee (with that), hot, cold.
    """

    name: str
    direction: Direction
    bearing: float
    distance: float
    preposition: str
    container: str
    attributes: tuple[str, ...]


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
    """What ``actor`` perceives now.

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

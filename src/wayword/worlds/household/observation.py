"""HouseholdObservation: what an actor perceives in a house."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, ClassVar, Literal, TypeVar

from wayword.core.family import Family
from wayword.core.world import Observation
from wayword.worlds import household

# Messages: what actors say to each other, and who answers their questions.
#
# A message reaches its recipients at their next turn, in the order of sending, and leaves their
# observation once they have acted.

Answerer = Callable[[str, str], str | None]
"""``(actor, question) -> answer``, or None for no answer: a person, or a script."""


@dataclass(frozen=True, slots=True)
class Message:
    """What was said, and by whom."""

    sender: str
    text: str


@dataclass(slots=True)
class Mailbox:
    """One inbox an actor, and the log of all that was said (sender, recipients, text)."""

    inbox: dict[str, list[Message]]
    log: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)

    def send(self, sender: str, recipients: Iterable[str], text: str) -> None:
        """Put a message into each recipient's inbox."""
        to = tuple(recipients)
        self.log.append((sender, to, text))
        for name in to:
            self.inbox[name].append(Message(sender, text))

    def read(self, actor: str) -> None:
        """The actor has acted on what was in its inbox."""
        self.inbox[actor].clear()


Direction = Literal["left", "middle", "right"]
"""A third of the view."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class SeenDoor:
    """A door in view; ``rooms`` are those it joins."""

    name: str
    direction: Direction
    bearing: float
    distance: float
    open: bool
    rooms: tuple[str, ...]


_T = TypeVar("_T")


def _quick(cls: type[_T]) -> Callable[..., _T]:
    """A constructor of a frozen class at a fifth of its own time: it fills an object of a like
    class that is not frozen and has the same slots, and then makes it one of this class."""
    loose: Any = make_dataclass(cls.__name__, [f.name for f in fields(cls)], slots=True)  # type: ignore[arg-type]

    def make(*values: Any) -> _T:
        made = loose(*values)
        made.__class__ = cls
        found: _T = made
        return found

    return make


see_object, see_door = _quick(SeenObject), _quick(SeenDoor)
"""There is one of them for each thing in view, at every turn."""


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
    messages: tuple[Message, ...]

"""Speech: the fixed sentences that scripted actors say to each other.

    >>> text = render([Seen("plate_1", "on", "shelf_2", "kitchen"), Taking("plate_1")])
    >>> text
    'I see plate_1 on shelf_2 in the kitchen. I take plate_1.'
    >>> parse(text)
    (Seen(thing='plate_1', preposition='on', place='shelf_2', room='kitchen'), \
Taking(thing='plate_1', place=''))

Whatever else is said (by a person, by a model) is passed over, sentence by sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a thing is. ``preposition`` and ``place`` are empty for the floor, and for furniture;
    ``room`` is where it was seen from."""

    thing: str
    preposition: str = ""
    place: str = ""
    room: str = ""

    def __str__(self) -> str:
        where = f" {self.preposition} {self.place}" if self.place else ""
        return f"I see {self.thing}{where}{f' in the {self.room}' if self.room else ''}."


@dataclass(frozen=True, slots=True)
class Taking:
    """A thing is the speaker's: it fetches it, to a ``place`` or to hold it."""

    thing: str
    place: str = ""

    def __str__(self) -> str:
        return f"I take {self.thing}{f' to {self.place}' if self.place else ''}."


@dataclass(frozen=True, slots=True)
class Put:
    """A thing is where it should be."""

    thing: str
    preposition: str
    place: str

    def __str__(self) -> str:
        return f"I have put {self.thing} {self.preposition} {self.place}."


@dataclass(frozen=True, slots=True)
class Leaving:
    """The speaker cannot get a thing that it took on."""

    thing: str

    def __str__(self) -> str:
        return f"I cannot get {self.thing}."


@dataclass(frozen=True, slots=True)
class Searched:
    """A room has been looked through, all that opens there included."""

    room: str

    def __str__(self) -> str:
        return f"I have looked through the {self.room}."


@dataclass(frozen=True, slots=True)
class MakeWay:
    """Somebody may be standing in the speaker's way."""

    def __str__(self) -> str:
        return "Please make way."


Saying = Seen | Taking | Put | Leaving | Searched | MakeWay

_NAME = r"(\w+_\d+)"
_FORMS: tuple[tuple[re.Pattern[str], Callable[..., Saying]], ...] = (
    (re.compile(rf"I see {_NAME}(?: (on|in) {_NAME})?(?: in the (.+))?"), Seen),
    (re.compile(rf"I take {_NAME}(?: to {_NAME})?"), Taking),
    (re.compile(rf"I have put {_NAME} (on|in) {_NAME}"), Put),
    (re.compile(rf"I cannot get {_NAME}"), Leaving),
    (re.compile(r"I have looked through the (.+)"), Searched),
    (re.compile(r"Please make way"), MakeWay),
)


def render(sayings: Iterable[Saying]) -> str:
    """One message."""
    return " ".join(map(str, sayings))


def parse(text: str) -> tuple[Saying, ...]:
    """What a message says, in order; sentences of no known form are left out."""
    found = []
    for sentence in re.split(r"[.!?](?:\s+|$)", text):
        for form, make in _FORMS:
            match = form.fullmatch(sentence.strip())
            if match:
                found.append(make(*(group or "" for group in match.groups())))
                break
    return tuple(found)

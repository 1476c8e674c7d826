"""Twelve directions of 30° around the agent, numbered clockwise from where it faces.

Where they come from: ``onviewpoints`` (a graph, recorded words) and ``onbase`` (a body that looks
around).

Source: DiscussNav (Long et al. 2024), section III-C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from wayword.core.action import Action
from wayword.core.angles import absolute, relative
from wayword.core.decision import Decision
from wayword.core.model import Image
from wayword.core.world import Feedback, Observation

COUNT = 12
WIDTH = 360.0 / COUNT


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction: ``id`` 1 (the front) to 12, clockwise; ``heading`` of its centre, absolute.

    ``captions`` and ``tags`` say what is there, and ``action`` moves that way; None where it cannot
    be moved in.
    """

    id: int
    heading: float
    captions: tuple[str, ...]
    tags: tuple[str, ...]
    action: Action | None = None


def bearing(direction: int) -> str:
    """Where a direction lies: ``ahead``, ``30° to the right`` … ``behind``."""
    degrees = relative((direction - 1) * WIDTH, 0.0)
    if abs(degrees) in (0.0, 180.0):
        return "behind" if degrees else "ahead"
    return f"{abs(degrees):.0f}° to the {'right' if degrees > 0 else 'left'}"


def number_of(heading: float, facing: float) -> int:
    """Which direction an absolute heading lies in; a border belongs to the one on its right."""
    return int((absolute(heading - facing) + WIDTH / 2) // WIDTH) % COUNT + 1


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was taken: the headings faced before it and gone in (degrees), what went wrong
    if anything did, and whether one ``stayed`` where one was."""

    facing: float
    after: float
    event: str = ""
    stayed: bool = False


class Surroundings(Protocol):
    """Where directions come from, and how one is moved in."""

    words: str
    """What there is to read about them."""

    def take_in(self, observation: Observation) -> Action | None:
        """See; an action where more must be seen first. Raises ``UsageError`` for observations of
        another world."""
        ...

    def directions(self) -> tuple[Direction, ...] | None:
        """All twelve; None where they are those of the step before."""
        ...

    def picture(self, direction: Direction) -> Image | None:
        """What a direction looks like, None without pictures."""
        ...

    def taken(self, decision: Decision, feedback: Feedback) -> Step | None:
        """The step that a decision became, None where it was none."""
        ...

"""GridObservation: what an actor perceives on a grid."""

from __future__ import annotations

from dataclasses import dataclass

from wayword.core.world import Observation


@dataclass(frozen=True, slots=True)
class GridThing:
    """A thing in view.

    ``name`` is its colour, kind and a number, given in the order of first sight: ``red_ball_1``.
    ``ahead`` is how many steps before the actor it is, ``right`` how many to the right (to the left
    below zero). ``state`` is ``open``, ``closed`` or ``locked`` for doors, empty for all else.
    """

    name: str
    colour: str
    kind: str
    ahead: int
    right: int
    state: str


@dataclass(frozen=True, slots=True)
class GridHeld:
    """What is in the actor's hands."""

    name: str
    colour: str
    kind: str


@dataclass(frozen=True, slots=True)
class GridObservation(Observation):
    """What ``actor`` perceives: the 7 x 7 squares before and beside it that nothing hides.

    ``heading`` is absolute (degrees clockwise from north: 0, 90, 180 or 270). ``things`` are
    nearest first. ``walls`` are the steps to the wall straight ahead, straight to the left and
    straight to the right; None where none is in view there.
    """

    actor: str
    heading: float
    holding: tuple[GridHeld, ...]
    things: tuple[GridThing, ...]
    walls: tuple[int | None, int | None, int | None]

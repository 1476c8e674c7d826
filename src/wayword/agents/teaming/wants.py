"""Wants: the goals as an actor reads them: which things count, where they go, how many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wayword.datasets.homes.goals import GoalCondition, Held, Ids, Inside

Recognise = Callable[[str], str | None]
"""The name of a thing one has seen or been told of -> which object of the goals it is."""


@dataclass(frozen=True, slots=True)
class Want:
    """``count`` of ``things`` (ids) in or on one of ``places`` (ids), or in hands for no places."""

    things: frozenset[str]
    places: Ids
    count: int


class Wants:
    """What is wanted, asked by the names that things go by.

    ``foreign`` lists the kinds of goals that are not read: all but things in places and in hands.
    """

    def __init__(self, goals: tuple[GoalCondition, ...], recognise: Recognise) -> None:
        self._recognise = recognise
        self.wants: list[Want] = []
        self.foreign: list[str] = []
        for goal in goals:
            if isinstance(goal, Inside) and not goal.traits:
                self.wants.append(Want(frozenset(goal.things), goal.receptacles, goal.parts))
            elif isinstance(goal, Held):
                self.wants.append(Want(frozenset(goal.things), (), goal.parts))
            else:
                self.foreign.append(type(goal).__name__)

    def of(self, name: str) -> list[int]:
        """The wants that a thing would serve, by number."""
        thing = self._recognise(name)
        return [n for n, want in enumerate(self.wants) if thing in want.things]

    def places(self, name: str) -> list[int]:
        """The wants that a thing is a place for, by number."""
        thing = self._recognise(name)
        return [n for n, want in enumerate(self.wants) if thing in want.places]

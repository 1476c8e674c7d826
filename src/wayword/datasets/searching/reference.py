"""FindingReference: the answer to an episode of object-goal navigation."""

from __future__ import annotations

from dataclasses import dataclass

from wayword.core.episode import Reference
from wayword.worlds.housework.geometry import Point


@dataclass(frozen=True, slots=True)
class FindingReference(Reference):
    """What is to be found.

    ``targets`` are the ids of the objects that count, ``path`` the corners of the published
    shortest way (metres, x and y), empty where none is public, and ``shortest`` its length.
    ``within`` is how near to a target one must stop for the challenge's success (metres).
    """

    targets: frozenset[str]
    path: tuple[Point, ...] = ()
    shortest: float | None = None
    within: float = 1.0

"""Shortest-path oracle: shown the goal, it goes there the shortest way and stops.

An upper bound, and a test that world, references and metrics agree: its success rate must be 1.
In object-goal navigation it goes to the nearest place that has a target in view within the
reference's distance; where the world knows none it stops at once, and a note ``no_way`` says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayword.agents.parts.planned import PlannedWalk


@dataclass(frozen=True, slots=True)
class OracleSettings:
    """Nothing to set."""


class ShortestPathOracle(PlannedWalk):
    """Follows a shortest path from the start to the reference's goal, or to a thing to find."""

    Settings: ClassVar[type[OracleSettings]] = OracleSettings
    families: ClassVar[frozenset[str]] = PlannedWalk.families | {"two_phase"}
    how: ClassVar[str] = "shortest"


agent = ShortestPathOracle

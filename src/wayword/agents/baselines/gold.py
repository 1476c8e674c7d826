"""Gold oracle: shown the published path, it walks exactly that and stops.

It checks that data, world and metrics agree: on an untouched split it succeeds everywhere. Only an
episode whose path takes more actions than the step limit allows is cut short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayword.agents.baselines.oracle import PlannedWalk


@dataclass(frozen=True, slots=True)
class GoldSettings:
    """Nothing to set."""


class GoldOracle(PlannedWalk):
    """Follows the published path, and faces the target where there is one to be found."""

    Settings: ClassVar[type[GoldSettings]] = GoldSettings
    how: ClassVar[str] = "gold"


agent = GoldOracle

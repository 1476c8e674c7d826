"""What a run folder holds of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wayword.core.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """A finished episode: its metrics (rates as fractions of one) and all that happened."""

    episode_id: str
    scores: Mapping[str, float]
    trajectory: Trajectory


@dataclass(frozen=True, slots=True)
class FailedEpisode:
    """An episode that was not finished: why, and what happened until then, where that is known.

    A resumed run plays it again; what is written here stays as a record of the failure.
    """

    episode_id: str
    reason: str
    trajectory: Trajectory | None = None

"""SearchSettings: what every searcher can be set to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wayword.core.errors import UsageError
from wayword.perception.detecting import Detector
from wayword.perception.seeing_views import detector_called


@dataclass(frozen=True)
class SearchSettings:
    """``grounding`` names the detector that looks for the target: ``glip``, ``owl``, ``clip`` or
    ``perfect``, or a network for real pictures (``owlv2:WEIGHTS``). ``quality`` changes numbers of
    a simulated one (``--set quality.recall=0.8``), and ``detector_seed`` draws other errors. A
    score from ``grounding_threshold`` on (LGX's G_th) counts as found; with ``approach`` the
    searcher then goes up to what it found, else it faces it and stops.

    ``turns`` (n_r) is how often it rotates in place before it gives up, 0 for as long as it is let.
    ``resolution`` (r) is the degrees between captures, ``distance`` (e_d) how far it goes in a
    chosen direction, metres. ``radius`` is the body's for planning, metres.
    """

    grounding: str = "glip"
    quality: Mapping[str, float] = field(default_factory=dict)
    detector_seed: int = 0
    grounding_threshold: float = 0.85
    approach: bool = False
    turns: int = 5
    resolution: float = 30.0
    distance: float = 5.0
    radius: float = 0.18

    def __post_init__(self) -> None:
        self.detector()
        if not 1 <= self.resolution <= 360:
            raise UsageError(f"resolution={self.resolution:g} must lie in 1 to 360 degrees")
        if self.turns < 0 or not 0 < self.distance <= 50 or not 0 < self.radius <= 1:
            raise UsageError(
                "turns must not be negative, distance lie in 0 to 50, radius in 0 to 1"
            )

    def detector(self) -> Detector:
        """The detector that looks for the target."""
        return detector_called(self.grounding, self.detector_seed, **self.quality)

    @property
    def captures(self) -> int:
        """Views of a turn: 360 / r. (A capture more would only repeat the first.)"""
        return max(1, round(360 / self.resolution))

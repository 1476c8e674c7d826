"""Reports of the target by the detector of an agent that searches."""

from __future__ import annotations

from typing import NamedTuple

from wayword.core.trajectory import GROUNDED, NOT_THERE, Note, Trajectory
from wayword.metrics.recorded import finite


class DetectorReport(NamedTuple):
    """A report of the target by an agent's detector.

    ``step`` counts from 1, ``bearing`` is in degrees to the right of that step's view, ``distance``
    in metres; both are None if they were not measured. ``confirmed`` is False if the agent looked
    again from nearby and did not see it.
    """

    step: int
    score: float
    bearing: float | None
    distance: float | None
    confirmed: bool = True

    @staticmethod
    def of(note: Note, step: int) -> DetectorReport:
        """Read a note of a record, whose values may be of any type."""
        keys = ("score", "bearing", "distance")
        score, bearing, distance = (finite(note.details.get(key)) for key in keys)
        return DetectorReport(step, score or 0.0, bearing, distance)

    @property
    def text(self) -> str:
        """The report as a clause."""
        verb = "found" if self.confirmed else "reported"
        text = f"the detector {verb} the target (score {self.score:.2f}) at step {self.step}"
        if self.distance is not None:
            text += f", {self.distance:.1f} m away"
        if not self.confirmed:
            text += ", but not from nearby"
        return text


def last_report(trajectory: Trajectory) -> DetectorReport | None:
    """Return the last report of an agent's detector; None if it reported nothing."""
    report = None
    for number, step in enumerate(trajectory.steps, 1):
        for note in step.notes:
            if note.kind == GROUNDED:
                report = DetectorReport.of(note, number)
            elif note.kind == NOT_THERE and report is not None:
                report = report._replace(confirmed=False)
    return report


def search_outcome(trajectory: Trajectory) -> str:
    """Return how a search ended for the agent's detector, where no metric says it."""
    report = last_report(trajectory)
    if report is None:
        return "the detector did not find the target"
    return report.text

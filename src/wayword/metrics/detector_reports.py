"""Reports of the target by the detector of an agent that searches, and motions that failed."""

from __future__ import annotations

from typing import NamedTuple

from wayword.core.trajectory import GROUNDED, NOT_THERE, WENT_BACK, Note, Trajectory
from wayword.metrics.recorded import finite
from wayword.worlds.objectnav.base import STATUSES


class DetectorReport(NamedTuple):
    """A report of the target by an agent's detector.

    ``step`` counts from 1, ``bearing`` is in degrees to the right of that step's view, ``distance``
    in metres; both are None if they were not measured. ``doubt`` is a clause on why the agent did
    not find its target there; empty if it ended its search on this report.
    """

    step: int
    score: float
    bearing: float | None
    distance: float | None
    doubt: str = ""

    @property
    def confirmed(self) -> bool:
        """True if the agent ended its search on this report."""
        return not self.doubt

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
        if self.doubt:
            text += f", but {self.doubt}"
        return text


NOT_FROM_NEARBY = "not from nearby"
CUT_OFF = "the search ended before the agent had reached it"


def last_report(trajectory: Trajectory) -> DetectorReport | None:
    """Return the last report of an agent's detector; None if it reported nothing."""
    report = None
    for number, step in enumerate(trajectory.steps, 1):
        for note in step.notes:
            if note.kind == GROUNDED:
                report = DetectorReport.of(note, number)
            elif note.kind in (NOT_THERE, WENT_BACK) and report is not None:
                # An agent goes back to a sighting that it could not confirm.
                report = report._replace(doubt=NOT_FROM_NEARBY)
    # Only a stop of the agent itself says that it took the report for its target.
    if report is not None and report.confirmed and trajectory.ended != "stopped":
        report = report._replace(doubt=CUT_OFF)
    return report


def search_outcome(trajectory: Trajectory) -> str:
    """Return how a search ended for the agent's detector, where no metric says it."""
    report = last_report(trajectory)
    if report is None:
        return "the detector did not find the target"
    return report.text


def failed_motions(trajectory: Trajectory) -> str:
    """Return how many motions of a robot failed in which way: ``1 blocked, 2 cancelled``."""
    motions = [step.feedback.status for step in trajectory.steps]
    counts = [
        f"{motions.count(status)} {status}"
        for status in STATUSES
        if status != "ok" and status in motions
    ]
    return ", ".join(counts)

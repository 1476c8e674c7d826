"""Reports of the target by the detector of an agent that searches, and motions that failed."""

from __future__ import annotations

import math
from typing import NamedTuple

from wayword.core.geometry import Point, displaced
from wayword.core.trajectory import GROUNDED, NOT_THERE, WENT_BACK, Note, Trajectory
from wayword.metrics.recorded import as_mapping, finite, listed, point_of
from wayword.worlds.objectnav.base import STATUSES

# Metres from the target beyond which a report is of another object: detectors measure to its
# surface, and with some error
MISREPORTED = 1.0


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
        if self.distance is None:
            text += ", at an unknown distance"
        else:
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


def reported_point(trajectory: Trajectory) -> Point | None:
    """Return where an agent's detector last reported the target; None without a distance."""
    report = last_report(trajectory)
    if report is None or report.bearing is None or report.distance is None:
        return None
    observation = as_mapping(trajectory.steps[report.step - 1].observation)
    place = point_of(observation)
    heading = finite(observation.get("heading"))
    if place is None or heading is None:
        return None
    return displaced(place, heading + report.bearing, report.distance)


def metres_left(trajectory: Trajectory) -> float | None:
    """Return the metres from the end of a search to where the target was reported last; None
    without a distance. Agents that do not approach their target end far from it."""
    target = reported_point(trajectory)
    end = point_of(as_mapping(trajectory.state or {}))
    if target is None or end is None:
        return None
    return math.dist(end, target)


MOST_RADIANS = 1.6
"""Bearings in degrees are rarely all within the radians of a right angle."""


def bearings_note(trajectory: Trajectory) -> str:
    """Return that the bearings of the objects that a base showed may be in radians; else empty."""
    bearings = []
    for step in trajectory.steps:
        shown = listed(step.observation, "shown")
        bearings += [abs(finite(one.get("bearing")) or 0.0) for one in shown]
    if len(bearings) < 2 or not 0 < max(bearings) <= MOST_RADIANS:
        return ""
    return f"all bearings in shown are below {MOST_RADIANS:g}; are they in radians?"


def search_outcome(trajectory: Trajectory) -> str:
    """Return how a search ended for the agent's detector, where no metric says it."""
    report = last_report(trajectory)
    if report is None:
        return "the detector did not find the target"
    left = metres_left(trajectory)
    if left is None or not report.confirmed:
        return report.text
    return f"{report.text}, and the search ended {left:.1f} m from it"


def failed_motions(trajectory: Trajectory) -> str:
    """Return how many motions of a robot failed in which way: ``1 blocked, 2 cancelled``."""
    motions = [step.feedback.status for step in trajectory.steps]
    counts = [
        f"{motions.count(status)} {status}"
        for status in STATUSES
        if status != "ok" and status in motions
    ]
    return ", ".join(counts)

"""What a full turn showed: the names around, and a sentence for each of four directions.

>>> from wayword.perception.detecting import Detection
>>> directions({"Front": [], "Right": [Detection("bed", 0.0, 2.0, 0.9, 40.0)]})
{'Front': 'an empty wall', 'Right': 'a bed'}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wayword.core.angles import absolute, relative
from wayword.perception.detecting import Detection, Detector, caption
from wayword.worlds.search.observation import View

QUARTERS = {"Front": 0.0, "Right": 90.0, "Behind": 180.0, "Left": -90.0}
"""Direction -> its middle, relative to where a turn began."""


@dataclass(frozen=True, slots=True)
class Around:
    """A name seen in a turn: ``heading`` (absolute degrees), ``distance`` (metres, None where it is
    not known) and ``score`` of its best detection; of several things of the name, the nearest."""

    name: str
    heading: float
    distance: float | None
    score: float


def names_around(detector: Detector, views: Sequence[View]) -> list[Around]:
    """Every name detected in the views, in order of first sight, each once."""
    found: dict[str, Around] = {}
    for view in views:
        for seen in detector.detect(view):
            heading = absolute(view.heading + seen.bearing)
            one = Around(seen.name, heading, seen.distance, seen.score)
            before = found.get(seen.name)
            if before is None or _near(one) < _near(before):
                found[seen.name] = one
    return list(found.values())


def quarters(detector: Detector, views: Sequence[View]) -> dict[str, list[Detection]]:
    """The detections in each of four directions from the first view's heading on."""
    found: dict[str, list[Detection]] = {name: [] for name in QUARTERS}
    for view in views:
        for seen in detector.detect(view):
            off = relative(absolute(view.heading + seen.bearing), views[0].heading)
            nearest = min(QUARTERS, key=lambda name: abs(relative(off, QUARTERS[name])))
            found[nearest].append(seen)
    return found


def directions(seen: Mapping[str, Sequence[Detection]]) -> dict[str, str]:
    """A sentence for each direction."""
    return {name: caption(things) for name, things in seen.items()}


def _near(one: Around) -> float:
    return float("inf") if one.distance is None else one.distance

"""What can be seen in a town: a perceiver and a landmark scorer that know the answer.

A thing is seen along its own street, or from all streets that meet at its corner, up to ``REACH``
metres away; houses hide it from elsewhere. Traffic lights hang over their junction and are seen
by those who come up to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wayword.core.errors import DataError
from wayword.core.geometry import bearing, relative, sector
from wayword.core.perceiver import Perceiver, Percept, Sector, Sighting
from wayword.datasets.procedural.towns.town import Town
from wayword.perception.landmarks import Scores

REACH = 27.0
"""Metres from which a landmark is recognised."""

HALF_VIEW = 30.0
"""Degrees to either side of a view's centre (60 across, as VELMA's)."""

SECTORS = 8
WIDTH = 360.0 / SECTORS


@dataclass(frozen=True, slots=True)
class LandmarkInSight:
    """A thing in sight: absolute heading (degrees) and distance (metres)."""

    name: str
    heading: float
    distance: float


def in_sight(town: Town) -> Mapping[str, tuple[LandmarkInSight, ...]]:
    """What can be seen from each panorama, all the way round."""
    streets: dict[int, set[int]] = {}
    for number, chain in enumerate(town.chains):
        for panorama in chain:
            streets.setdefault(panorama, set()).add(number)
    found: dict[int, list[LandmarkInSight]] = {panorama: [] for panorama in range(len(town.xy))}
    for landmark in town.landmarks:
        at = landmark.x, landmark.y
        for panorama in {p for number in landmark.streets for p in town.chains[number]}:
            here = town.point(panorama)
            distance = math.dist(here, at)
            under = landmark.where == "light" and panorama == landmark.home
            if distance <= REACH and not under:
                found[panorama].append(LandmarkInSight(landmark.name, bearing(here, at), distance))
    return {town.graph.ids[panorama]: tuple(seen) for panorama, seen in found.items()}


class TownPerceiver(Perceiver):
    """Perceiver and landmark scorer of towns: flawless within ``REACH``, blind beyond.

    ``sights`` gives what can be seen from each panorama of a scene.
    """

    name = "symbolic"

    def __init__(self, sights: Callable[[str], Mapping[str, tuple[LandmarkInSight, ...]]]) -> None:
        self._sights = sights

    def perceive(self, scene: str, place: str) -> Percept:
        """Eight sectors around a panorama. Raises ``DataError`` where there is no such place."""
        groups: list[list[LandmarkInSight]] = [[] for _ in range(SECTORS)]
        for seen in self._at(scene, place):
            groups[sector(seen.heading, SECTORS)].append(seen)
        return Percept(tuple(_sector(number, group) for number, group in enumerate(groups)))

    def score(
        self, scene: str, place: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Scores:
        """At least 4 where a landmark lies in the view, more the nearer and the more central.

        0 where it is not in the view. Shape (L, V), as in :meth:`.Perceiver.score`.
        """
        scores = np.zeros((len(landmarks), len(headings)))
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(landmarks):
            rows.setdefault(name, []).append(row)
        for seen in self._at(scene, place):
            for row in rows.get(seen.name, ()):
                clear = [_clearness(seen, heading) for heading in headings]
                scores[row] = np.maximum(scores[row], clear)
        return scores

    def _at(self, scene: str, panorama: str) -> tuple[LandmarkInSight, ...]:
        try:
            return self._sights(scene)[panorama]
        except KeyError:
            raise DataError(scene, f"panorama {panorama!r}", "is not in this town") from None


def _clearness(seen: LandmarkInSight, heading: float) -> float:
    off = abs(relative(seen.heading, heading))
    if off > HALF_VIEW:
        return 0.0
    return 4.0 + 2.0 * (1.0 - seen.distance / REACH) + 2.0 * (1.0 - off / HALF_VIEW)


def _sector(number: int, group: Sequence[LandmarkInSight]) -> Sector:
    names = [seen.name for seen in sorted(group, key=lambda seen: seen.distance)]
    caption = ", ".join(names) or "houses along the street"
    sightings = tuple(Sighting(seen.name, seen.heading, seen.distance) for seen in group)
    return Sector(number * WIDTH, WIDTH, caption, sightings)

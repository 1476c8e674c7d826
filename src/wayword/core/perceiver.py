"""Perceiver: a place in, words and sightings out.

Three kinds stand behind the one protocol: recorded (files such as NavGPT's pack), symbolic (the
world's own ground truth) and neural (captioners and detectors on images).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from wayword.core.model import Image


@dataclass(frozen=True, slots=True)
class Sighting:
    """A thing seen: absolute ``heading`` (degrees in [0, 360)) and ``distance`` (metres)."""

    name: str
    heading: float
    distance: float | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Sector:
    """One direction: its centre ``heading`` and ``width`` in degrees, a sentence, what is there."""

    heading: float
    width: float
    caption: str
    sightings: tuple[Sighting, ...] = ()


@dataclass(frozen=True, slots=True)
class Percept:
    """What there is around a place: sectors clockwise from north, and one sentence for it all.

    ``summary`` is a whole sentence, empty where the source has none; agents then write their own.
    """

    sectors: tuple[Sector, ...]
    summary: str = ""


@runtime_checkable
class Perceiver(Protocol):
    """Turns a place into words."""

    @property
    def name(self) -> str:
        """How the run folder names the source, ablation included."""
        ...

    def perceive(self, scene: str, place: str) -> Percept:
        """What there is around ``place``. Raises ``DataError`` for a place it has no record of."""
        ...


@runtime_checkable
class Camera(Protocol):
    """Pictures of a place. A perceiver that is also a camera serves agents that look themselves."""

    def picture(
        self, scene: str, place: str, heading: float, width: float, elevation: float = 0.0
    ) -> Image:
        """The view towards an absolute ``heading``, ``width`` degrees wide and high.

        Raises ``DataError`` for a place without pictures.
        """
        ...

"""Perceiver: describes places, camera views and pictures with words, objects and scores.

One class covers all sources: recorded files, the simulator's ground truth, and networks. A
perceiver implements the methods it supports and inherits the rest, which raise; ``capabilities``
names the ones it implements::

    class Bare(Perceiver):
        name = "bare"

        def perceive(self, scene: str, place: str) -> Percept:
            return Percept((), "A bare room.")

    Bare().capabilities                         # frozenset({'perceive'})
    need(Bare(), "picture", "pictures=true")    # UsageError: pictures=true needs a perceiver that …

Methods on pictures are asynchronous, take a batch and return one answer per picture, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from wayword.core.blame import CodeError, is_shipped, place_of
from wayword.core.episode import NoSettings
from wayword.core.errors import UsageError
from wayword.core.field_types import value_problem
from wayword.core.geometry import Floats
from wayword.core.model import Image

Picture = NDArray[np.uint8]
"""(rows, columns, 3), red-green-blue."""

_OfPlaces = Literal["perceive", "picture", "score", "detect", "ground"]
_OfPictures = Literal["captions", "boxes", "find", "tags", "depths"]
Capability = Literal[_OfPlaces, _OfPictures]
"""Capability of a perceiver: the name of the method that provides it."""

ABILITIES: Mapping[Capability, str] = {
    "perceive": "describe places in words",
    "picture": "show pictures of places",
    "score": "score landmarks in view",
    "detect": "detect objects in camera views",
    "ground": "ground phrases in camera views",
    "captions": "caption pictures",
    "boxes": "detect objects in pictures",
    "find": "find phrases in pictures",
    "tags": "tag pictures",
    "depths": "estimate depth",
}


@dataclass(frozen=True, slots=True)
class Sighting:
    """A detected object: absolute ``heading`` (degrees in [0, 360)) and ``distance`` (metres)."""

    name: str
    heading: float
    distance: float | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Sector:
    """A direction: its center ``heading`` and ``width`` in degrees, a caption, the sightings."""

    heading: float
    width: float
    caption: str
    sightings: tuple[Sighting, ...] = ()


@dataclass(frozen=True, slots=True)
class Percept:
    """The surroundings of a place: sectors clockwise from north, and a one-sentence summary, empty
    if the source has none; agents then write their own."""

    sectors: tuple[Sector, ...]
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Detection:
    """An object in a camera view. ``bearing`` is the direction of its middle relative to the view's
    heading and ``width`` its extent (degrees); ``distance`` is in metres along the floor, None
    without depth; ``score`` is 0 to 1."""

    name: str
    bearing: float
    distance: float | None
    score: float
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class GroundedRegion:
    """The region of a camera view that matches a phrase best, with fields of a ``Detection``."""

    score: float
    bearing: float
    distance: float | None


@dataclass(frozen=True, slots=True)
class Box:
    """An object in a picture: its edges in pixels from the top left, and a score from 0 to 1."""

    name: str
    score: float
    left: float
    top: float
    right: float
    bottom: float

    @property
    def center(self) -> tuple[float, float]:
        """(row, column)."""
        return (self.top + self.bottom) / 2, (self.left + self.right) / 2


class Perceiver:
    """Base class of all perceivers. Safe to share between episodes.

    ``name`` identifies the source in run folders and caches: perceivers with the same name must
    give the same answers. ``caveats`` are the assumptions behind every score made with it, one
    short clause each: ``"detections are simulated"``. Perceivers for ``--set perceiver=…`` are
    built as ``cls(settings, own)``, where ``settings`` is an instance of the frozen dataclass
    ``Settings`` and ``own`` is the dataset's perceiver, or None.
    """

    Settings: ClassVar[type[Any]] = NoSettings
    name: str = ""
    caveats: tuple[str, ...] = ()

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The methods that this class implements."""
        cls = type(self)
        base = Perceiver
        return frozenset(
            n for n in ABILITIES if getattr(cls, n) is not getattr(base, n)
        )

    def perceive(self, scene: str, place: str) -> Percept:
        """Return the surroundings of a place. Raises ``DataError`` for an unrecorded place."""
        self._raise_missing("perceive")

    def picture(
        self,
        scene: str,
        place: str,
        heading: float,
        width: float,
        elevation: float = 0.0,
    ) -> Image:
        """Return the view towards an absolute ``heading``, ``width`` degrees wide and high. Raises
        ``DataError`` for a place without pictures."""
        self._raise_missing("picture")

    def score(
        self, scene: str, place: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Floats:
        """Return z-scores (L, V) of L landmarks in V views of a place, NaN if unknown. ``headings``
        are the views' centers, degrees clockwise from north. Raises ``DataError``."""
        self._raise_missing("score")

    def flow(
        self, scene: str, place: str, heading: int
    ) -> Literal["with", "against"] | None:
        """Return the direction of ``heading`` relative to the traffic, None if unknown, from the
        scores of front and rear views of vehicles."""
        return None

    def load_weights(self) -> None:
        """Load weights now instead of at first use. Raises ``UsageError``."""

    def check_view(self, view: Any) -> None:
        """Raise ``UsageError`` for unsupported kinds of views. Called before a body moves."""

    def detect(self, view: Any) -> list[Detection]:
        """List objects in a camera view (``worlds.objectnav.observation.View``), nearest first."""
        self._raise_missing("detect")

    def ground(self, view: Any, phrase: str) -> GroundedRegion | None:
        """Return the region of a camera view that matches a phrase best, None without regions."""
        self._raise_missing("ground")

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """Return one sentence per picture."""
        self._raise_missing("captions")

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """Return objects of the network's training classes, highest score first."""
        self._raise_missing("boxes")

    async def find(
        self, pictures: Sequence[Picture], phrases: Sequence[str]
    ) -> list[list[Box]]:
        """Return boxes for the phrases (open vocabulary), each named after its phrase."""
        self._raise_missing("find")

    async def tags(self, pictures: Sequence[Picture]) -> list[list[str]]:
        """Return names of the objects in each picture, highest score first."""
        self._raise_missing("tags")

    async def depths(self, pictures: Sequence[Picture]) -> list[Floats]:
        """Return depth maps (rows, columns): metres along the camera's axis."""
        self._raise_missing("depths")

    def _raise_missing(self, capability: Capability) -> NoReturn:
        """Raise the error for a capability that the perceiver lacks."""
        need(self, capability, "this run")
        raise NotImplementedError(
            f"{type(self).__name__}.{capability} calls the base class"
        )


COUNTS_OF_SECTORS = (6, 8, 12)
"""Numbers of directions that have names."""


class WatchedPerceiver(Perceiver):
    """A proxy of another perceiver that passes each percept to a callback, which records it."""

    def __init__(self, inner: Perceiver, on_percept: Callable[[Percept], None]) -> None:
        self._watched = inner
        self._on_percept = on_percept

    def __getattribute__(self, name: str) -> Any:
        """Forward everything but ``perceive``, which keeps the capabilities the same."""
        if name in ("perceive", "_watched", "_on_percept"):
            return object.__getattribute__(self, name)
        return getattr(self._watched, name)

    def perceive(self, scene: str, place: str) -> Percept:
        """Return the percept, and show it to the watcher."""
        percept = self._watched.perceive(scene, place)
        problem = ""
        if not is_shipped(type(self._watched)):
            problem = value_problem(percept, Percept, "perceive: its answer")
            count = 0 if problem else len(percept.sectors)
            if count and count not in COUNTS_OF_SECTORS:
                problem = (
                    f"perceive: its answer must have 6, 8 or 12 sectors, got {count}"
                )
        if problem:
            raise CodeError(f"{place_of(self._watched.perceive)}: {problem}")
        self._on_percept(percept)
        return percept


def need(perceiver: Perceiver | None, capability: Capability, who: str) -> Perceiver:
    """Return the perceiver if it has a capability. Raises ``UsageError`` on behalf of ``who``."""
    if perceiver is not None and capability in perceiver.capabilities:
        return perceiver
    requirement = (
        f"{who} needs a perceiver that can {ABILITIES[capability]} ({capability})"
    )
    if perceiver is None:
        available = "this dataset has none"
    else:
        available = f"{perceiver.name} only has: {', '.join(sorted(perceiver.capabilities)) or '-'}"
    raise UsageError(
        f"{requirement}; {available}. Use another dataset or --set perceiver=FILE.py"
    )

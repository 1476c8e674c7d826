"""Which landmarks are in view: scores, their standardisation, and the threshold.

A scorer looks in several directions from a panorama and says how well each landmark fits each
view. Raw similarities cannot be compared between landmarks, so each is standardised with the mean
and the deviation of its own scores over the training area; from ``TAU`` on it counts as seen, and
it is told in its best direction only.

Kinds: ``recorded`` (``landmark_records``), ``neural`` (``landmark_clip``), and the symbolic ones
of generated towns, which know what can be seen and need no standardisation.

Source: VELMA (Schumann et al. 2023), section 5.2, equation 3, and appendix D (traffic).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

TAU = 3.5
CAPTION = "picture of {}"
FRONT, REAR = "the front view of a vehicle", "the rear view of a vehicle"
"""What the traffic's flow is read from: front views face one who stands against it."""

LEAST = 1e-9
"""Deviations up to this are rounding errors, and standardise nothing."""

Floats = NDArray[np.float64]
Standard = tuple[float, float]
"""Mean and deviation of a landmark's scores over the training area."""


@runtime_checkable
class LandmarkScorer(Protocol):
    """How clearly landmarks are seen. Safe to share between episodes."""

    @property
    def name(self) -> str:
        """How the run folder names the source."""
        ...

    def score(
        self, scene: str, panorama: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Floats:
        """Standardised scores (L, V) of L landmarks in V views; NaN where nothing is known.

        ``headings`` are the views' centres, degrees clockwise from north. Raises ``DataError``
        for files that cannot be used.
        """
        ...

    def flow(self, scene: str, panorama: str, heading: int) -> Literal["with", "against"] | None:
        """Whether one who faces ``heading`` looks with the traffic or against it; None: unknown."""
        ...


class ViewScorer(Protocol):
    """Raw similarities of phrases and views, and what is needed to standardise them."""

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str:
        """Everything that the standards depend on; they are cached under it."""
        ...

    def similarity(
        self, scene: str, panorama: str, headings: Sequence[int], phrases: Sequence[str]
    ) -> Floats:
        """Raw similarities (phrases, views); NaN where nothing is known."""
        ...

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        """Each landmark's mean and deviation over the training area; unknown ones left out."""
        ...


class StandardisedScorer:
    """Raw similarities, standardised landmark by landmark.

    ``folder`` keeps each landmark's mean and deviation, worked out once; None keeps nothing. A
    landmark whose deviation is unknown, or zero but for rounding, is never seen.
    """

    def __init__(self, views: ViewScorer, folder: Path | None = None) -> None:
        self._views = views
        digest = hashlib.sha256(views.identity.encode()).hexdigest()[:20]
        self._file = folder / f"standards-{digest}.json" if folder else None
        self._standards: dict[str, Standard] | None = None
        self._unknown: set[str] = set()

    @property
    def name(self) -> str:
        return self._views.name

    def score(
        self, scene: str, panorama: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Floats:
        standards = self._known(landmarks)
        raw = self._views.similarity(scene, panorama, headings, landmarks)
        nothing = (np.nan, np.nan)
        pairs = [standards.get(landmark, nothing) for landmark in landmarks]
        mean, deviation = np.array(pairs, np.float64).reshape(-1, 2).T[:, :, None]
        return np.asarray((raw - mean) / np.where(deviation > LEAST, deviation, np.nan))

    def flow(self, scene: str, panorama: str, heading: int) -> Literal["with", "against"] | None:
        front, rear = self._views.similarity(scene, panorama, [heading], [FRONT, REAR])[:, 0]
        if np.isnan(front) or np.isnan(rear):
            return None
        return "against" if front > rear else "with"

    def _known(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        if self._standards is None:
            self._standards = _read(self._file)
        known = self._standards
        missing = [name for name in landmarks if name not in known and name not in self._unknown]
        if missing:
            found = self._views.standards(missing)
            self._unknown.update(set(missing) - set(found))
            if found:
                known.update(found)
                _write(self._file, known)
        return known


def visible(scores: Floats, tau: float = TAU) -> list[tuple[int, int]]:
    """Landmarks in view: the number of each (row) and of its best view (column), in order.

        >>> visible(np.array([[0.0, 4.0, 5.0], [3.0, 1.0, np.nan]]))
        [(0, 2)]

    ``scores`` (L, V) are standardised; NaN is never in view.
    """
    seen = np.where(np.isnan(scores), -np.inf, scores)
    best = seen.argmax(axis=1) if seen.size else np.zeros(len(seen), np.int64)
    return [(row, int(view)) for row, view in enumerate(best) if seen[row, view] >= tau]


def _read(file: Path | None) -> dict[str, Standard]:
    """The cached standards; none where the file is missing or damaged."""
    if file is None:
        return {}
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): (float(pair[0]), float(pair[1])) for name, pair in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError, IndexError):
        return {}


def _write(file: Path | None, standards: Mapping[str, Standard]) -> None:
    if file is None:
        return
    partial = file.with_suffix(f".{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(dict(standards)), encoding="utf-8")
        partial.replace(file)
    except OSError:
        return  # a cache that cannot be written only costs time

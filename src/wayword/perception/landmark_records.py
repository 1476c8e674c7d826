"""Landmark scores read from a file, worked out elsewhere with any image-text model.

The file is JSON lines, plain or gzipped, of two kinds of record:

``{"panorama": "x5k…", "heading": 303, "scores": {"a park": 0.231, "Staples": 0.187}}``
    One view: its centre (whole degrees clockwise from north) and the raw similarity of each
    landmark with it. A step at heading h looks at h - 90, h - 45, h, h + 45 and h + 90.
``{"landmark": "a park", "mean": 0.195, "deviation": 0.011}`` or
``{"landmark": "a park", "training": [0.19, 0.2, …]}``
    What the landmark's scores are like over the training area: their mean and deviation, or the
    scores themselves.

The phrases ``the front view of a vehicle`` and ``the rear view of a vehicle``, scored at an
episode's first view, tell the flow of traffic; they need no second record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.errors import DataError
from wayword.core.files import field, read_json_lines
from wayword.perception.landmarks import Floats, Standard

NUMBER = (int, float)


class RecordedScores:
    """A :class:`~.landmarks.ViewScorer` on a file, read when first asked.

    A landmark without training scores is never seen; a view without a record shows nothing.
    Raises ``DataError`` naming file, line and field for what is no such record.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._views: dict[tuple[str, int], Mapping[str, float]] | None = None
        self._standards: dict[str, Standard] = {}

    @property
    def name(self) -> str:
        return f"recorded:{self._path.name}"

    @property
    def identity(self) -> str:
        """The file as it is now."""
        try:
            status = self._path.stat()
        except OSError as error:
            problem = error.strerror or str(error)
            raise DataError(self._path, "", f"cannot be read ({problem})") from error
        return f"{self._path.resolve()} {status.st_size} {status.st_mtime_ns}"

    def similarity(
        self, scene: str, panorama: str, headings: Sequence[int], phrases: Sequence[str]
    ) -> Floats:
        views = self._read()
        nothing: Mapping[str, float] = {}
        columns = [views.get((panorama, heading % 360), nothing) for heading in headings]
        rows = [[column.get(phrase, np.nan) for column in columns] for phrase in phrases]
        return np.array(rows, np.float64).reshape(len(phrases), len(headings))

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        self._read()
        return {name: self._standards[name] for name in landmarks if name in self._standards}

    def _read(self) -> Mapping[tuple[str, int], Mapping[str, float]]:
        if self._views is None:
            views: dict[tuple[str, int], Mapping[str, float]] = {}
            for number, record in read_json_lines(self._path):
                where = f"line {number}"
                if isinstance(record, dict) and "landmark" in record:
                    name = field(self._path, where, record, "landmark", str)
                    self._standards[name] = self._standard(where, record)
                else:
                    place, scores = self._view(where, record)
                    views[place] = {**views.get(place, {}), **scores}
            self._views = views
        return self._views

    def _view(self, where: str, record: Any) -> tuple[tuple[str, int], Mapping[str, float]]:
        panorama = field(self._path, where, record, "panorama", str)
        heading = field(self._path, where, record, "heading", NUMBER)
        self._finite(where, "heading", heading)
        scores = field(self._path, where, record, "scores", dict)
        for name, score in scores.items():
            self._finite(where, f"scores.{name[:40]}", score)
        return (panorama, round(heading) % 360), scores

    def _standard(self, where: str, record: Mapping[str, Any]) -> Standard:
        if "training" in record:
            scores = field(self._path, where, record, "training", list)
            for score in scores:
                self._finite(where, "training", score)
            if not scores:
                raise DataError(self._path, f"{where}, field 'training'", "is empty")
            return float(np.mean(scores)), float(np.std(scores))
        mean = field(self._path, where, record, "mean", NUMBER)
        deviation = field(self._path, where, record, "deviation", NUMBER)
        self._finite(where, "mean", mean)
        self._finite(where, "deviation", deviation)
        if deviation <= 0:
            raise DataError(
                self._path, f"{where}, field 'deviation'", f"is not above 0: {deviation}"
            )
        return float(mean), float(deviation)

    def _finite(self, where: str, name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, NUMBER) or not math.isfinite(value):
            shown = repr(value)[:40]
            raise DataError(self._path, f"{where}, field {name!r}", f"is not a number: {shown}")

"""Which landmarks are in view: scores, their standardisation, and the threshold.

A scorer looks in several directions from a panorama and says how well each landmark fits each
view. Raw similarities cannot be compared between landmarks, so each is standardised with the mean
and the deviation of its own scores over the training area; at ``TAU`` or above it counts as seen,
and it is told in its best direction only.

Kinds: ``recorded`` (files of scores or of features), ``neural`` (``networks.matching``), and the
symbolic ones of generated towns, which know what can be seen and need no standardisation.

Source: VELMA (Schumann et al. 2023), section 5.2, equation 3, and appendix D (traffic).
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import pickle
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError, needing
from wayword.core.files import keep, read_field, read_json_lines
from wayword.core.perceiver import Perceiver

TAU = 3.5
CAPTION = "picture of {}"
FRONT, REAR = "the front view of a vehicle", "the rear view of a vehicle"
"""What the traffic's flow is read from: front views face one who stands against it."""

LEAST = 1e-9
"""Deviations up to this are rounding errors, and standardise nothing."""

Scores = NDArray[np.float64]
Standard = tuple[float, float]
"""Mean and deviation of a landmark's scores over the training area."""


class StandardisedScorer(Perceiver, ABC):
    """Raw similarities, standardised landmark by landmark.

    ``folder`` keeps each landmark's mean and standard deviation over the training area, computed
    once; None keeps nothing. A landmark whose deviation is unknown, or zero up to rounding, is
    never in view. A subclass sets up what ``identity`` reads before it calls ``__init__`` here.
    """

    def __init__(self, folder: Path | None = None) -> None:
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:20]
        self._file = folder / f"standards-{digest}.json" if folder else None
        self._known_standards: dict[str, Standard] | None = None
        self._unknown: set[str] = set()

    @property
    @abstractmethod
    def identity(self) -> str:
        """Everything that the means and deviations depend on; they are cached under it."""

    @abstractmethod
    def raw_scores(
        self, scene: str, place: str, headings: Sequence[int], phrases: Sequence[str]
    ) -> Scores:
        """Raw similarities (phrases, views); NaN for unknown."""

    @abstractmethod
    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        """Mean and deviation of each landmark over the training area; unknown ones left out."""

    def score(
        self, scene: str, place: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Scores:
        standards = self._known(landmarks)
        raw = self.raw_scores(scene, place, headings, landmarks)
        nothing = (np.nan, np.nan)
        pairs = [standards.get(landmark, nothing) for landmark in landmarks]
        mean, deviation = np.array(pairs, np.float64).reshape(-1, 2).T[:, :, None]
        return np.asarray((raw - mean) / np.where(deviation > LEAST, deviation, np.nan))

    def flow(self, scene: str, place: str, heading: int) -> Literal["with", "against"] | None:
        front, rear = self.raw_scores(scene, place, [heading], [FRONT, REAR])[:, 0]
        if np.isnan(front) or np.isnan(rear):
            return None
        return "against" if front > rear else "with"

    def _known(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        if self._known_standards is None:
            self._known_standards = _read(self._file)
        known = self._known_standards
        missing = [name for name in landmarks if name not in known and name not in self._unknown]
        if missing:
            found = self.standards(missing)
            self._unknown.update(set(missing) - set(found))
            if found:
                known.update(found)
                _write(self._file, known)
        return known


def visible(scores: Scores, tau: float = TAU) -> list[tuple[int, int]]:
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
    if file is not None:
        content = json.dumps(dict(standards)).encode()
        keep(file, lambda opened: opened.write(content))


# Landmark scores read from a file, worked out elsewhere with any image-text model.
#
# The file is JSON lines, plain or gzipped, of two kinds of record:
#
# ``{"panorama": "x5k…", "heading": 303, "scores": {"a park": 0.231, "Staples": 0.187}}``
#     One view: its centre (whole degrees clockwise from north) and the raw similarity of each
#     landmark with it. A step at heading h looks at h - 90, h - 45, h, h + 45 and h + 90.
# ``{"landmark": "a park", "mean": 0.195, "deviation": 0.011}`` or
# ``{"landmark": "a park", "training": [0.19, 0.2, …]}``
#     What the landmark's scores are like over the training area: their mean and deviation, or the
#     scores themselves.
#
# The phrases ``the front view of a vehicle`` and ``the rear view of a vehicle``, scored at an
# episode's first view, tell the flow of traffic; they need no second record.

NUMBER = (int, float)


class RecordedScores(StandardisedScorer):
    """Landmark scores from a file, read when first asked.

    A landmark without training scores is never seen; a view without a record shows nothing.
    Raises ``DataError`` naming file, line and field for what is no such record.
    """

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        self._path = path
        self.name = f"recorded:{path.name}"
        self._views: dict[tuple[str, int], Mapping[str, float]] | None = None
        self._standards: dict[str, Standard] = {}
        super().__init__(folder)

    @property
    def identity(self) -> str:
        """The file as it is now."""
        try:
            status = self._path.stat()
        except OSError as error:
            problem = error.strerror or str(error)
            raise DataError(self._path, "", f"cannot be read ({problem})") from error
        return f"{self._path.resolve()} {status.st_size} {status.st_mtime_ns}"

    def raw_scores(
        self, scene: str, place: str, headings: Sequence[int], phrases: Sequence[str]
    ) -> Scores:
        views = self._read()
        nothing: Mapping[str, float] = {}
        columns = [views.get((place, heading % 360), nothing) for heading in headings]
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
                    name = read_field(self._path, where, record, "landmark", str)
                    self._standards[name] = self._standard(where, record)
                else:
                    place, scores = self._view(where, record)
                    views[place] = {**views.get(place, {}), **scores}
            self._views = views
        return self._views

    def _view(self, where: str, record: Any) -> tuple[tuple[str, int], Mapping[str, float]]:
        panorama = read_field(self._path, where, record, "panorama", str)
        heading = self._number(where, record, "heading")
        scores = read_field(self._path, where, record, "scores", dict)
        for name, score in scores.items():
            self._finite(where, f"scores.{name[:40]}", score)
        return (panorama, round(heading) % 360), scores

    def _standard(self, where: str, record: Mapping[str, Any]) -> Standard:
        if "training" in record:
            scores = read_field(self._path, where, record, "training", list)
            for score in scores:
                self._finite(where, "training", score)
            if not scores:
                raise DataError(self._path, f"{where}, field 'training'", "is empty")
            return float(np.mean(scores)), float(np.std(scores))
        mean, deviation = (self._number(where, record, name) for name in ("mean", "deviation"))
        if deviation <= 0:
            problem = f"is not above 0: {deviation}"
            raise DataError(self._path, f"{where}, field 'deviation'", problem)
        return mean, deviation

    def _number(self, where: str, record: Any, name: str) -> float:
        return self._finite(where, name, read_field(self._path, where, record, name, NUMBER))

    def _finite(self, where: str, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, NUMBER) or not math.isfinite(value):
            shown = repr(value)[:40]
            raise DataError(self._path, f"{where}, field {name!r}", f"is not a number: {shown}")
        return float(value)


# CLIP features as VELMA's authors publish them: a folder of four files, no pictures.
#
#     landmarks.pickle            "picture of a park" -> its text's feature, (D,)
#     landmarks_mean_std.pickle   "picture of a park" -> mean and deviation over the training area
#     images_60_460_800.pickle    "PANORAMA_HEADING" -> features of the views at heading - 90, - 45,
#                                 0, + 45, + 90, (5, D)
#     meta_60_460_800.json        how the views were cut (not read)
#
#     wayword run velma --on map2seq:unseen_dev --model … --set scores=recorded \
#         --set scores_file=features/openai/clip-vit-large-patch14
#
# Features have length one; a score is their product times ``exp(2.6592)``, which the means and
# deviations are in. Files are unpickled with arrays and tensors alone: nothing in them is run.
# Tensors need torch (extra ``[vision]``). Source: released code of VELMA (Schumann et al. 2024).

TEXTS, STANDARDS = "landmarks.pickle", "landmarks_mean_std.pickle"
VIEWS = 5
SCALE = math.exp(2.6592)
"""CLIP's logit scale as the authors set it."""
_ARRAYS = {
    ("collections", "OrderedDict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("torch._utils", "_rebuild_tensor_v2"),
}
"""All that a file of arrays and tensors needs; anything else is refused."""


class FeatureArchive(StandardisedScorer):
    """Landmark scores from published features. A view that is not among them shows nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = f"features:{folder.name}"
        super().__init__(None)

    @property
    def identity(self) -> str:
        return str(self._folder.resolve())

    def raw_scores(
        self, scene: str, place: str, headings: Sequence[int], phrases: Sequence[str]
    ) -> Scores:
        views = self._images.get(f"{place}_{headings[len(headings) // 2] % 360}")
        found = np.full((len(phrases), len(headings)), np.nan)
        if views is None:
            return found
        seen = _array(views).reshape(VIEWS, -1)
        seen = seen if len(headings) == VIEWS else seen[VIEWS // 2][None]
        for row, phrase in enumerate(phrases):
            text = self._texts.get(CAPTION.format(phrase), self._texts.get(phrase))
            if text is not None:
                found[row] = SCALE * (seen @ _array(text))
        return found

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        known = {name: self._standards.get(CAPTION.format(name)) for name in landmarks}
        return {name: (float(p[0]), float(p[1])) for name, p in known.items() if p is not None}

    @cached_property
    def _texts(self) -> Mapping[str, Any]:
        return _load(self._folder / TEXTS)

    @cached_property
    def _standards(self) -> Mapping[str, Any]:
        return _load(self._folder / STANDARDS)

    @cached_property
    def _images(self) -> Mapping[str, Any]:
        files = sorted(self._folder.glob("images_*.pickle"))
        if len(files) != 1:
            problem = f"holds {len(files)} files images_*.pickle, and needs one"
            raise DataError(self._folder, "", problem, "give the folder of one network's features")
        return _load(files[0])


def _array(value: Any) -> Scores:
    """An array, or a tensor on any device, as numbers."""
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value, np.float64)


class _Arrays(pickle.Unpickler):
    """Reads arrays and tensors, and refuses everything else that a pickle may hold."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("torch"):
            with needing("tensors need torch", "vision"):
                torch = import_module("torch")
            if (module, name) == ("torch.storage", "_load_from_bytes"):
                return lambda raw: torch.load(io.BytesIO(raw), weights_only=True)
        if (module, name) in _ARRAYS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is neither an array nor a tensor")


def _load(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            read = _Arrays(file).load()
    except OSError as error:
        raise DataError(path, "", f"cannot be read ({error.strerror})") from error
    except (pickle.UnpicklingError, EOFError, ValueError, AttributeError) as error:
        raise DataError(path, "", f"is no archive of features ({error})") from error
    if not isinstance(read, dict):
        raise DataError(path, "", "holds no dictionary of features")
    return read

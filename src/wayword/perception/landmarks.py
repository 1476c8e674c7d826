"""Landmarks in view: scores, standardization and threshold.

A scorer rates each landmark in several views from a panorama. Raw similarities are not comparable
between landmarks, so each is standardized with the mean and deviation of its own scores over the
training area. A landmark with a score of at least ``TAU`` is in view, in its best direction only.

Sources: ``recorded`` (files of scores or features), ``neural`` (``networks.matching``), and the
ground truth of generated towns, which needs no standardization.

Source: VELMA (Schumann et al. 2023), section 5.2, equation 3, and appendix D (traffic).
"""

from __future__ import annotations

import io
import json
import math
import pickle
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError, needing
from wayword.core.files import NUMBER, keep, read_field, read_json_lines, text_checksum
from wayword.core.geometry import Floats
from wayword.core.perceiver import Perceiver

TAU = 3.5  # threshold in standard deviations above the mean, from VELMA
CAPTION = "picture of {}"
# Phrases that show the flow of traffic: an agent facing oncoming traffic sees fronts.
FRONT = "the front view of a vehicle"
REAR = "the rear view of a vehicle"
_MIN_DEVIATION = 1e-9  # smaller deviations are rounding errors and count as zero

Scores = Floats
"""Scores (L, V) of landmarks in views."""
Standard = tuple[float, float]
"""Mean and deviation of a landmark's scores over the training area."""


class StandardizedScorer(Perceiver, ABC):
    """Base class of scorers that standardize the similarities of each landmark.

    ``folder`` caches each landmark's mean and standard deviation over the training area, with
    ``identity`` as the key; None disables the cache. A landmark whose deviation is unknown or zero
    is never in view.
    """

    identity: str = ""

    def __init__(self, folder: Path | None = None) -> None:
        self._cache_folder = folder
        self._file = self.cache_file("standards", "json")
        self._cached_standards: dict[str, Standard] | None = None
        self._unknown: set[str] = set()

    def cache_file(self, name: str, ending: str) -> Path | None:
        """Return the file that caches something of this identity; None without a folder."""
        if self._cache_folder is None:
            return None
        digest = text_checksum(self.identity, 20)
        return self._cache_folder / f"{name}-{digest}.{ending}"

    @abstractmethod
    def raw_scores(
        self,
        scene: str,
        place: str,
        headings: Sequence[int],
        phrases: Sequence[str],
    ) -> Scores:
        """Return raw similarities (phrases, views); NaN if unknown."""

    @abstractmethod
    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        """Return each landmark's mean and deviation over the training area, if known."""

    def score(
        self,
        scene: str,
        place: str,
        headings: Sequence[int],
        landmarks: Sequence[str],
    ) -> Scores:
        """Return standardized scores (landmarks, views); NaN if unknown.

        Standards that are not cached are computed first, and cached.
        """
        if self._cached_standards is None:
            self._cached_standards = self._read_standards()
        # Both sets are asked about: a landmark without standards is not looked up
        # again.
        standards = self._cached_standards
        missing = [
            n for n in landmarks if n not in standards and n not in self._unknown
        ]
        if missing:
            new_standards = self.standards(missing)
            self._unknown.update(set(missing) - set(new_standards))
            standards.update(new_standards)
            # Written as a whole and renamed, so that two runs never share a torn file.
            if new_standards and self._file:
                content = json.dumps(standards).encode()
                keep(self._file, lambda file: file.write(content))
        raw = self.raw_scores(scene, place, headings, landmarks)
        pairs = [standards.get(landmark, (np.nan, np.nan)) for landmark in landmarks]
        # A landmark without standards gives NaN, and so is never in view.
        mean, deviation = np.array(pairs, np.float64).reshape(-1, 2).T[:, :, None]
        divisor = np.where(deviation > _MIN_DEVIATION, deviation, np.nan)
        return np.asarray((raw - mean) / divisor)

    def _read_standards(self) -> dict[str, Standard]:
        """Read the cache of standards; a missing or damaged file holds none."""
        if self._file is None:
            return {}
        # A damaged cache is computed again, like a missing one.
        with suppress(OSError, ValueError, TypeError, AttributeError, IndexError):
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            return {
                str(name): (float(pair[0]), float(pair[1]))
                for name, pair in stored.items()
            }
        return {}

    def flow(
        self,
        scene: str,
        place: str,
        heading: int,
    ) -> Literal["with", "against"] | None:
        """Return the flow of traffic relative to the heading; None if unknown."""
        # Both phrases are scored in one view, so they need no standards.
        front, rear = self.raw_scores(
            scene,
            place,
            [heading],
            [FRONT, REAR],
        )[:, 0]
        if np.isnan(front) or np.isnan(rear):
            return None
        return "against" if front > rear else "with"


def visible(scores: Scores, tau: float = TAU) -> list[tuple[int, int]]:
    """Return the landmarks in view, in order: each with its row and the column of its best view.

    ``scores`` (L, V) are standardized; a landmark is in view from ``tau`` deviations
    on. NaN is never in view.
    """
    # NaN counts as minus infinity: ``argmax`` would return it.
    finite = np.where(np.isnan(scores), -np.inf, scores)
    best = finite.argmax(axis=1) if finite.size else np.zeros(len(finite), np.int64)
    return [
        (row, int(view)) for row, view in enumerate(best) if finite[row, view] >= tau
    ]


# Landmark scores from a file, computed by any image-text model.
#
# The file is JSON lines, plain or gzipped, of two kinds of record:
#
# ``{"panorama": "x5k…", "heading": 303, "scores": {"a park": 0.231, "Staples": 0.187}}``
#     One view: its center (whole degrees clockwise from north) and the raw similarity of each
#     landmark with it. A step at heading h uses those at h - 90, h - 45, h, h + 45 and h + 90.
# ``{"landmark": "a park", "mean": 0.195, "deviation": 0.011}``
#     Mean and deviation of the landmark's scores over the training area.
#
# The phrases ``the front view of a vehicle`` and ``the rear view of a vehicle``, scored at an
# episode's first view, give the flow of traffic; they need no record of training scores.


class RecordedScores(StandardizedScorer):
    """Landmark scores from a file, read at the first use.

    A landmark without a mean and deviation is never seen; a view without a record shows
    nothing. Raises ``DataError`` naming file, line and field of an invalid record.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        try:
            path.stat()  # not is_file, because pipes are allowed
        except OSError as error:
            raise DataError(path, "", f"cannot be read ({error.strerror})") from None
        self._path = path
        self.name = f"recorded:{path.name}"

    def raw_scores(
        self,
        scene: str,
        place: str,
        headings: Sequence[int],
        phrases: Sequence[str],
    ) -> Scores:
        """Return the recorded scores (phrases, views) of a panorama; NaN without a record."""
        views, _ = self._records
        scores = np.full((len(phrases), len(headings)), np.nan)
        for column, heading in enumerate(headings):
            recorded = views.get((place, heading % 360), {})
            scores[:, column] = [recorded.get(phrase, np.nan) for phrase in phrases]
        return scores

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        """Return the recorded standards of the landmarks that have one."""
        _, standards = self._records
        return {name: standards[name] for name in landmarks if name in standards}

    @cached_property
    def _records(
        self,
    ) -> tuple[dict[tuple[str, int], dict[str, float]], dict[str, Standard]]:
        """Scores by panorama and heading, and standards by landmark. Raises ``DataError``."""
        views: dict[tuple[str, int], dict[str, float]] = {}
        standards: dict[str, Standard] = {}
        # Records of both kinds may come in any order.
        for number, record in read_json_lines(self._path):
            where = f"line {number}"
            read = partial(read_field, self._path, where, record)
            if isinstance(record, dict) and "landmark" in record:
                mean = self._number(where, "mean", read("mean", NUMBER))
                deviation = self._number(where, "deviation", read("deviation", NUMBER))
                if deviation <= 0:
                    problem = f"must be above 0, got {deviation}"
                    raise DataError(self._path, f"{where}, field 'deviation'", problem)
                standards[read("landmark", str)] = (mean, deviation)
                continue
            # Every number is checked here, as a wrong one would surface as a wrong
            # score.
            panorama = read("panorama", str)
            scores = read("scores", dict)
            heading = self._number(where, "heading", read("heading", NUMBER))
            for name, score in scores.items():
                self._number(where, f"scores.{name[:40]}", score)
            views.setdefault((panorama, round(heading) % 360), {}).update(scores)
        return views, standards

    def _number(
        self,
        where: str,
        name: str,
        value: Any,
    ) -> float:
        """Return a finite number. Raises ``DataError``, also for a bool, which is an int."""
        is_finite = isinstance(value, int | float) and math.isfinite(value)
        if isinstance(value, bool) or not is_finite:
            problem = f"must be a finite number, got {repr(value)[:40]}"
            raise DataError(self._path, f"{where}, field {name!r}", problem)
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
# Features are unit vectors; a score is their dot product times ``exp(2.6592)``, the scale of the
# means and deviations. Unpickling is restricted to arrays and tensors: no code in the files runs.
# Tensors need torch (extra ``[vision]``). Source: released code of VELMA (Schumann et al. 2024).

TEXTS = "landmarks.pickle"
STANDARDS = "landmarks_mean_std.pickle"
VIEWS = 5  # features of a panorama and heading, from left to right
SCALE = math.exp(2.6592)  # CLIP's logit scale as the authors set it
_ARRAYS = {
    ("collections", "OrderedDict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("torch._utils", "_rebuild_tensor_v2"),
}
"""The only names that unpickling may load: those of arrays and tensors."""


class FeatureArchive(StandardizedScorer):
    """Landmark scores from published features. A view without features has no landmarks."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.name = f"features:{folder.name}"
        self._load = cache(lambda name: _load_features(folder / name))

    def raw_scores(
        self,
        scene: str,
        place: str,
        headings: Sequence[int],
        phrases: Sequence[str],
    ) -> Scores:
        """Return the scores (phrases, views) of published features; NaN without them.

        ``headings`` are five views, or the middle one alone.
        """
        # Features belong to five views at once, named after the middle heading.
        views = self._images.get(f"{place}_{headings[len(headings) // 2] % 360}")
        scores = np.full((len(phrases), len(headings)), np.nan)
        if views is None:
            return scores
        texts = self._load(TEXTS)
        features = _as_array(views).reshape(VIEWS, -1)
        if len(headings) != VIEWS:  # the middle one, to see the flow of traffic
            features = features[VIEWS // 2][None]
        for row, phrase in enumerate(phrases):
            text = _of_caption(texts, phrase)
            if text is not None:
                scores[row] = SCALE * (features @ _as_array(text))
        return scores

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        """Return the published standards of the landmarks that have one."""
        published = self._load(STANDARDS)
        standards: dict[str, Standard] = {}
        for name in landmarks:
            pair = _of_caption(published, name)
            if pair is not None:
                standards[name] = (float(pair[0]), float(pair[1]))
        return standards

    @cached_property
    def _images(self) -> JsonObject:
        """Return the features of the pictures. Raises ``DataError`` unless the folder has one such
        file."""
        files = sorted(self._folder.glob("images_*.pickle"))
        # One network's features: two files would mix two scales.
        if len(files) != 1:
            problem = f"must contain one file images_*.pickle, got {len(files)}"
            raise DataError(
                self._folder,
                "",
                problem,
                "name the folder of one network's features",
            )
        return _load_features(files[0])


def _of_caption(table: JsonObject, name: str) -> Any:
    """Return a landmark's entry; None if there is none. The authors' files name captions, files
    made by others may name landmarks."""
    return table.get(CAPTION.format(name), table.get(name))


def _as_array(value: Any) -> Scores:
    """Return an array or a tensor as an array."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    return np.asarray(value, np.float64)


class _Arrays(pickle.Unpickler):
    """Unpickler of arrays and tensors that refuses all other objects."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that features need. Raises ``UnpicklingError`` for any other, so that a
        file cannot run code."""
        # Tensors hide their bytes in a nested load, which is restricted to weights as
        # well.
        if module.startswith("torch"):
            with needing("tensors need torch", "vision"):
                torch = import_module("torch")
            if (module, name) == ("torch.storage", "_load_from_bytes"):
                return lambda raw: torch.load(io.BytesIO(raw), weights_only=True)
        if (module, name) in _ARRAYS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not an array or tensor")


def _load_features(path: Path) -> JsonObject:
    """Return the features in a pickle of arrays. Raises ``DataError`` for anything else in it."""
    try:
        with path.open("rb") as file:
            features = _Arrays(file).load()
    except OSError as error:
        raise DataError(path, "", f"cannot be read ({error.strerror})") from error
    except (
        pickle.UnpicklingError,
        EOFError,
        ValueError,
        AttributeError,
    ) as error:
        raise DataError(path, "", f"cannot be read as features ({error})") from error
    if not isinstance(features, dict):
        raise DataError(path, "", "must contain a dictionary of features")
    return features


@lru_cache(maxsize=4)
def recorded_scorer(scores: str) -> Perceiver:
    """Return the scorer of a file of scores, or of a folder of published features.

    Raises ``UsageError`` or ``DataError``.
    """
    if not scores:
        # The setting has no default: a run without scores would see nothing.
        raise UsageError("scores=recorded needs a file: set scores_file=FILE.jsonl")
    if Path(scores).is_dir():
        return FeatureArchive(Path(scores))
    return RecordedScores(Path(scores))

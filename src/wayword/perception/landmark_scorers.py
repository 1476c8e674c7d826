"""Landmark scorers by name: one a process for each set of files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from wayword.core.errors import UsageError
from wayword.core.files import cache_folder
from wayword.perception.landmarks import LandmarkScorer, StandardisedScorer


def recorded_scorer(scores: str) -> LandmarkScorer:
    """Scores read from a file (see ``landmark_records``). Raises ``UsageError``, ``DataError``."""
    if not scores:
        raise UsageError("scores=recorded needs the file: set scores_file=FILE.jsonl")
    return _recorded(scores)


def neural_scorer(model: str, images: str, training: str) -> LandmarkScorer:
    """A CLIP or SigLIP model on panorama pictures (see ``landmark_clip``).

    Raises ``UsageError`` where a folder or a package is missing.
    """
    if not images or not training:
        raise UsageError(
            "scores=neural needs panorama pictures and the graph's nodes.txt, whose areas say what "
            "the scores are standardised on: set images=FOLDER and nodes=FILE"
        )
    return _neural(model, images, training)


@lru_cache(maxsize=4)
def _recorded(scores: str) -> LandmarkScorer:
    from wayword.perception.landmark_records import RecordedScores

    return StandardisedScorer(RecordedScores(Path(scores)), cache_folder() / "landmarks")


@lru_cache(maxsize=1)
def _neural(model: str, images: str, training: str) -> LandmarkScorer:
    from wayword.perception.landmark_clip import ClipScores, PanoramaPictures

    cache = cache_folder() / "landmarks"
    views = ClipScores.open(model, PanoramaPictures(Path(images), Path(training)), cache)
    return StandardisedScorer(views, cache)

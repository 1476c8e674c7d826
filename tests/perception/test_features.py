"""VELMA's published CLIP features: what is read, how it is scored, and what is never run."""

from __future__ import annotations

import math
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from wayword.core.errors import DataError
from wayword.perception.landmarks import (
    FRONT,
    REAR,
    FeatureArchive,
    recorded_scorer,
    visible,
)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A park ahead on the left of panorama P at heading 350, seen from its front."""
    park, front, rear = np.eye(4, dtype=np.float32)[:3]
    views = np.zeros((5, 4), np.float32)
    views[1], views[2] = park, front
    content = {
        "landmarks.pickle": {"picture of a park": park, FRONT: front, REAR: rear},
        "landmarks_mean_std.pickle": {"picture of a park": (2.0, 3.0)},
        "images_60_460_800.pickle": {"P_x_350": views},
    }
    for name, text in content.items():
        (tmp_path / name).write_bytes(pickle.dumps(text))
    return tmp_path


def test_scores_are_scaled_and_standardised_as_released(archive: Path) -> None:
    scorer = recorded_scorer(str(archive))
    headings = [(350 + turn) % 360 for turn in (-90, -45, 0, 45, 90)]
    scores = scorer.score("manhattan", "P_x", headings, ["a park", "a bank"])
    assert scores.shape == (2, 5)
    assert scores[0, 1] == pytest.approx((math.exp(2.6592) - 2.0) / 3.0)
    assert scores[0, 0] == pytest.approx(-2.0 / 3.0)
    assert np.isnan(scores[1]).all()  # no feature of that text
    assert visible(scores) == [(0, 1)]
    assert np.isnan(scorer.score("manhattan", "P_x", [0] * 5, ["a park"])).all()
    assert scorer.flow("manhattan", "P_x", 350) == "against"


def test_features_that_are_named_after_landmarks_are_seen(archive: Path) -> None:
    for name in ("landmarks.pickle", "landmarks_mean_std.pickle"):
        table = pickle.loads((archive / name).read_bytes())
        bare = {text.removeprefix("picture of "): each for text, each in table.items()}
        (archive / name).write_bytes(pickle.dumps(bare))
    headings = [(350 + turn) % 360 for turn in (-90, -45, 0, 45, 90)]
    scores = FeatureArchive(archive).score("manhattan", "P_x", headings, ["a park"])
    assert visible(scores) == [(0, 1)]


def test_nothing_in_an_archive_is_run(archive: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, ("true",)

    (archive / "landmarks.pickle").write_bytes(pickle.dumps({"a": Evil()}))
    with pytest.raises(DataError, match="not an array or tensor"):
        FeatureArchive(archive).raw_scores("m", "P_x", [350], ["a"])
    (archive / "images_60_460_800.pickle").unlink()
    with pytest.raises(DataError, match="must contain one file"):
        FeatureArchive(archive).raw_scores("m", "P_x", [350], ["a"])

"""Walks on real graphs get, episode by episode, the values of the scorer that the field uses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.helpers.metric_keys import OF_OBJECTS

from wayword.datasets.r2r import R2R, R2RSettings
from wayword.metrics import predictions
from wayword.metrics.scoring import scorer

FILE = "r2r_val_seen_trajectories.jsonl.gz"


@pytest.mark.real
def test_every_reference_trajectory_gets_the_released_scores(data: Path) -> None:
    path = data / "reference_scores" / FILE
    with gzip.open(path, "rt") as lines:
        released = [json.loads(line)["released"] for line in lines]
    dataset = R2R("val_seen", data, R2RSettings())
    found = predictions.read(path, dataset)
    keys = {metric.key for metric in scorer("indoor").metrics} - OF_OBJECTS

    assert len(found.pairs) == len(released) == 340
    assert (found.of, found.missing) == (1021, 681)
    assert sum(found.illegal_moves) == 0
    for expected, scores in zip(released, found.score(dataset), strict=True):
        # The released scorer divides by the gold path
        expected["spl_gold"] = expected["spl"]
        assert {key: scores[key] for key in keys} == pytest.approx(expected, abs=1e-6)

"""The indoor metrics agree, episode by episode, with values of the scorer the field uses."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.evaluation.predictions import trajectory_from_places
from wayword.evaluation.scorer import scorer
from wayword.worlds import viewpoints
from wayword.worlds.viewpoints import ViewpointGraph

KEYS = ("tl", "ne", "sr", "osr", "spl", "cls", "ndtw", "sdtw")


@pytest.mark.real
def test_every_reference_trajectory_gets_the_released_scores(data: Path) -> None:
    records = _records(data)
    gold = {r["path_id"]: r for r in _annotations(data)}

    @cache
    def graph(scene: str) -> ViewpointGraph:
        return viewpoints.load(data / "r2r" / "connectivity" / f"{scene}_connectivity.json.gz")

    pairs = []
    for record in records:
        places = record["trajectory"]
        episode = Episode(str(record["path_id"]), "", record["scan"], {"viewpoint": places[0]})
        path = tuple(gold[record["path_id"]]["path"])
        task = Task(episode, PathReference(episode.id, path))
        pairs.append((task, trajectory_from_places(episode.id, places, "viewpoint")))
    scores = scorer("indoor").score(cast("Dataset", SimpleNamespace(graph=graph)), pairs)

    assert len(scores) == 340
    for record, found in zip(records, scores, strict=True):
        assert found == pytest.approx({k: record["released"][k] for k in KEYS}, abs=1e-6), record


def _records(data: Path) -> list[dict[str, Any]]:
    path = data / "reference_scores" / "r2r_val_seen_trajectories.jsonl.gz"
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def _annotations(data: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (data / "r2r" / "annotations" / "R2R_val_seen.json").read_text()
    )
    return found

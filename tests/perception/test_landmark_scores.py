"""Scores to sightings: the standardisation, its cache, recorded files, pictures."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from helpers.small_street import SmallStreet, play
from wayword.agents.velma.agent import VelmaSettings
from wayword.core.errors import DataError, UsageError
from wayword.perception.landmarks import (
    FRONT,
    REAR,
    TAU,
    RecordedScores,
    Scores,
    Standard,
    StandardizedScorer,
    recorded_scorer,
    visible,
)
from wayword.perception.networks.matching import neural_scorer

TRAINING = {"a park": [0.1, 0.2, 0.3], "Staples": [0.2, 0.2, 0.2]}


class Views(StandardizedScorer):
    """Raw similarities: 0.2 plus a hundredth a degree of heading; counts its standards."""

    name = "views"
    identity = "views-1"

    def __init__(self, folder: Path | None = None) -> None:
        self.asked: list[str] = []
        super().__init__(folder)

    def raw_scores(
        self, scene: str, place: str, headings: Sequence[int], phrases: Sequence[str]
    ) -> Scores:
        row = [0.2 + heading / 100 for heading in headings]
        return np.array([row for _ in phrases]).reshape(len(phrases), len(headings))

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        self.asked += landmarks
        return {
            name: (float(np.mean(TRAINING[name])), float(np.std(TRAINING[name])))
            for name in landmarks
            if name in TRAINING
        }


def test_scores_are_standardised_landmark_by_landmark() -> None:
    scorer = Views()
    scores = scorer.score("", "x", [0, 45], ["a park", "Staples", "nowhere"])
    deviation = np.std([0.1, 0.2, 0.3])
    assert scores[0] == pytest.approx([0.0, 0.45 / deviation])
    assert np.isnan(scores[1]).all(), "a deviation of zero says nothing"
    assert np.isnan(scores[2]).all()
    assert scorer.score("", "x", [0, 45], []).shape == (0, 2)


def test_standards_are_worked_out_once_and_kept(tmp_path: Path) -> None:
    scorer = first = Views(tmp_path)
    before = scorer.score("", "x", [45], ["a park", "nowhere"])
    scorer.score("", "y", [45], ["a park", "nowhere"])
    assert first.asked == ["a park", "nowhere"]
    again = Views(tmp_path)
    after = again.score("", "x", [45], ["a park"])
    assert not again.asked
    assert after[0] == before[0]

    class Others(Views):
        identity = "views-2"

    other = Others(tmp_path)
    other.score("", "x", [45], ["a park"])
    assert other.asked == ["a park"], "another model has standards of its own"


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"a park": 3}', '{"a park": ["x", 1]}']
)
def test_a_damaged_cache_is_made_again(tmp_path: Path, text: str) -> None:
    Views(tmp_path).score("", "x", [0], ["a park"])
    (file,) = tmp_path.iterdir()
    file.write_text(text)
    again = Views(tmp_path)
    again.score("", "x", [0], ["a park"])
    assert again.asked == ["a park"]
    assert json.loads(file.read_text())["a park"][0] == pytest.approx(0.2)


def test_a_landmark_is_reported_in_its_best_view_from_the_threshold_on() -> None:
    nan = np.nan
    scores = np.array(
        [[0, 3.49, 0], [3.5, 3.6, 3.55], [nan, nan, 9], [nan, nan, nan], [4, 4, 4]],
        float,
    )
    assert visible(scores) == [(1, 1), (2, 2), (4, 0)]
    assert visible(scores, 3.0)[0] == (0, 1)
    assert visible(np.zeros((0, 5))) == []
    assert TAU == 3.5


RECORDS = [
    {"landmark": "a park", "mean": 0.2, "deviation": 0.0816},
    {"landmark": "Staples", "mean": 0.2, "deviation": 0.01},
    {"panorama": "s1", "heading": 315, "scores": {"a park": 0.9, "Staples": 0.2}},
    {"panorama": "s1", "heading": 0, "scores": {"a park": 0.5}},
    {"panorama": "s1", "heading": 360, "scores": {"Staples": 0.24}},
    {"panorama": "s0", "heading": 0, "scores": {FRONT: 0.3, REAR: 0.31}},
]


def recorded(
    folder: Path, records: Sequence[object], name: str = "scores.jsonl"
) -> Path:
    text = "\n".join(r if isinstance(r, str) else json.dumps(r) for r in records)
    path = folder / name
    raw = text.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


@pytest.mark.parametrize("name", ["scores.jsonl", "scores.jsonl.gz"])
def test_recorded_scores_end_up_in_the_prompt(tmp_path: Path, name: str) -> None:
    path = recorded(tmp_path, RECORDS, name)
    settings = VelmaSettings(shots=0, scores="recorded", scores_file=str(path))
    street = SmallStreet(landmarks=["a park", "Staples"])
    trajectory, script = play(street, ["forward", "forward", "stop"], settings)
    assert script.prompts[-1].endswith(
        "Action Sequence:\nYou face the way the traffic flows.\n1. forward\n"
        "You see a park slightly left.\nYou see Staples ahead.\n2. forward\n3."
    )
    notes = [
        (note.kind, note.details["panorama"])
        for s in trajectory.steps
        for note in s.notes
    ]
    assert notes == [("no_landmark_scores", "s0")], "said once, not at every step"


def test_recorded_scores_are_a_landmark_scorer(tmp_path: Path) -> None:
    scorer = recorded_scorer(str(recorded(tmp_path, RECORDS)))
    assert scorer.capabilities == {"score"}
    assert scorer.name == "recorded:scores.jsonl"
    assert scorer.flow("", "s0", 0) == "with"
    assert scorer.flow("", "s1", 0) is None
    assert scorer.score("", "s1", [0], ["Staples"])[0, 0] == pytest.approx(4.0)
    assert np.isnan(scorer.score("", "s1", [90], ["Staples"])).all()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: is not valid JSON"),
        ("[1]", "line 1: must be an object, got 1"),
        ("{}", "line 1, field 'panorama': is missing"),
        ('{"panorama": 3}', "line 1, field 'panorama': must be a text, got 3"),
        ('{"panorama": "x", "heading": "north", "scores": {}}', "field 'heading'"),
        ('{"panorama": "x", "heading": NaN, "scores": {}}', "NaN is not valid in JSON"),
        ('{"panorama": "x", "heading": 0, "scores": {"a": "b"}}', "field 'scores.a'"),
        (
            '{"panorama": "x", "heading": 0, "scores": {"a": Infinity}}',
            "Infinity is not valid in JSON",
        ),
        (
            '{"landmark": "a", "mean": true, "deviation": 1}',
            "field 'mean': must be a number, got True",
        ),
        ('{"landmark": "a", "mean": 1}', "field 'deviation': is missing"),
        (
            '{"landmark": "a", "mean": 1, "deviation": 0}',
            "field 'deviation': must be above 0",
        ),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        RecordedScores(recorded(tmp_path, [line])).standards(["a"])
    assert message in str(error.value)
    assert "scores.jsonl" in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_files_and_settings_end_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="set scores_file"):
        recorded_scorer("")
    with pytest.raises(DataError, match="No such file or directory"):
        recorded_scorer(str(tmp_path / "none.jsonl"))
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="Not a directory"):
        recorded_scorer(str(tmp_path / "file" / "scores.jsonl"))
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert recorded_scorer(str(tmp_path / "pipe.jsonl")).name == "recorded:pipe.jsonl"
    with pytest.raises(UsageError, match="set images=FOLDER and nodes=FILE"):
        neural_scorer("any", "", "")
    with pytest.raises(UsageError, match="no such folder"):
        neural_scorer("any", str(tmp_path / "none"), str(tmp_path / "nodes.txt"))

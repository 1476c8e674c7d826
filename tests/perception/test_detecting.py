"""Simulated detectors: their errors are seeded, and follow the numbers that state them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wayword.core.errors import UsageError
from wayword.core.perceiver import Detection
from wayword.perception.detectors import (
    PRESETS,
    Quality,
    SimulatedDetector,
    caption,
    detector_called,
)
from wayword.worlds.objectnav.observation import DepthImage, Shown, View

DEPTH = DepthImage.of(np.full((1, 1), np.inf), (0.0,), (0.0,), 5.0)


def mug(
    number: int = 0, away: float = 2.0, size: float = 5.0, words: str = "mug"
) -> Shown:
    return Shown(f"mug|{number}", "mug", words, 10.0, -5.0, away, away, size, size, 1.0)


def view(*shown: Shown, x: float = 0.0) -> View:
    return View("room", x, 0.0, 0.0, 0.9, 80.0, DEPTH, shown)


def noticed(quality: Quality, **how: float) -> float:
    detector = SimulatedDetector(quality)
    return sum(bool(detector.detect(view(mug(n, **how)))) for n in range(600)) / 600


def test_a_perfect_detector_sees_what_there_is_and_grounds_what_fits() -> None:
    detector = detector_called("perfect")
    assert detector.capabilities == {"detect", "ground"}
    there = view(mug(1, words="cat-shaped mug"), mug(2, away=3.0, words="striped mug"))
    assert [(d.name, d.distance, d.score) for d in detector.detect(there)] == [
        ("mug", 2.0, 1.0), ("mug", 3.0, 1.0)
    ]  # fmt: skip
    found = detector.ground(there, "striped mug")
    assert found is not None
    assert (found.score, found.distance) == (1.0, 3.0)
    other = detector.ground(there, "olive-colored jacket")
    assert other is not None
    assert other.score == 0.0
    assert detector.ground(view(), "mug") is None


def test_recall_falls_with_distance_and_rises_with_size() -> None:
    quality = Quality(recall=0.9, far=5.0, small=2.0)
    near = noticed(quality, away=0.5)
    far = noticed(quality, away=5.0)
    assert near == pytest.approx(0.9 * np.exp(-0.1) * 5 / 7, abs=0.06)
    assert far == pytest.approx(0.9 * np.exp(-1.0) * 5 / 7, abs=0.06)
    assert noticed(quality, away=0.5, size=50.0) > near + 0.1


def test_errors_belong_to_object_place_and_seed() -> None:
    detector = detector_called("clip", seed=3)
    here = view(*(mug(n) for n in range(40)))
    assert detector.detect(here) == detector_called("clip", seed=3).detect(here)
    assert detector.detect(here) != detector_called("clip", seed=4).detect(here)
    moved = view(*(mug(n) for n in range(40)), x=2.0)
    assert [d.score for d in detector.detect(here)] != [
        d.score for d in detector.detect(moved)
    ]


@pytest.mark.parametrize("name", ["glip", "owl", "clip"])
def test_a_threshold_trades_false_alarms_for_misses(name: str) -> None:
    detector = detector_called(name)

    def passed(threshold: float, phrase: str) -> float:
        scores = [detector.ground(view(mug(n)), phrase) for n in range(500)]
        return sum(s is not None and s.score >= threshold for s in scores) / 500

    thresholds = (0.6, 0.75, 0.85, 0.95)
    hits = [passed(t, "mug") for t in thresholds]
    alarms = [passed(t, "laptop") for t in thresholds]
    assert hits == sorted(hits, reverse=True)
    assert alarms == sorted(alarms, reverse=True)
    assert hits[0] > hits[-1] + 0.2
    assert alarms[0] > 0.05 > alarms[-1]
    assert all(hit > alarm for hit, alarm in zip(hits, alarms, strict=True))


def test_objects_that_share_a_word_are_mistaken_more_often() -> None:
    detector = detector_called("glip")
    phrases = ("striped mug", "striped vase")
    scores = {
        phrase: np.mean([
            seen.score
            for n in range(400)
            if (seen := detector.ground(view(mug(n, words="chipped mug")), phrase))
        ])
        for phrase in phrases
    }  # fmt: skip
    assert scores["striped mug"] > scores["striped vase"] + 0.05


def test_false_alarms_come_as_often_as_stated() -> None:
    detector = SimulatedDetector(Quality(false_alarms=0.2))
    empty = [detector.detect(view(x=float(n))) for n in range(600)]
    assert sum(map(bool, empty)) / 600 == pytest.approx(0.2, abs=0.05)


def test_two_looks_in_one_direction_have_the_same_false_alarm() -> None:
    detector = SimulatedDetector(Quality(false_alarms=0.5))
    alarms = 0
    for x in range(20):
        north = [
            detector.detect(replace(view(x=x), heading=heading))
            for heading in (359.6, 0.0, 0.2)
        ]
        assert north[0] == north[1] == north[2], x
        alarms += len(north[0])
    assert 0 < alarms < 20


def test_captions_name_the_largest_objects_once() -> None:
    seen = [Detection("bed", 0, 2, 0.9, 9), Detection("apple", 0, 2, 0.9, 30)] * 2
    assert caption(seen) == "an apple and a bed"
    assert caption([]) == "an empty wall"


def test_unknown_names_and_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="no detector is called 'yolov9'"):
        detector_called("yolov9")
    with pytest.raises(UsageError, match="no setting 'rcall'; did you mean 'recall'"):
        detector_called("glip", rcall=0.5)
    with pytest.raises(UsageError, match="recall must be at most"):
        detector_called("glip", recall=1.5)
    assert detector_called("glip", recall=0.5).name == "simulated:glip,recall=0.5"


def test_stand_ins_are_ranked_as_their_networks_in_every_kind_of_error() -> None:
    """GLIP grounds best, then OWL, then CLIP; YOLO lists more than OWL and fewer than GLIP."""
    best, middle, last = (PRESETS[name] for name in ("glip", "owl", "clip"))
    for field in ("recall", "far", "match"):
        values = [getattr(each, field) for each in (best, middle, last)]
        assert values == sorted({*values}, reverse=True), field
    errors = ("small", "false_alarms", "fade", "spread", "other", "other_spread")
    for field in errors:
        values = [getattr(each, field) for each in (best, middle, last)]
        assert values == sorted({*values}), field
    assert middle.recall < PRESETS["yolo"].recall < best.recall
    assert PRESETS["perfect"] == Quality()

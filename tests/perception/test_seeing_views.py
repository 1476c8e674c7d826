"""Boxes in a picture as bearings and distances, checked against where things truly are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from wayword.core.errors import DataError, UsageError
from wayword.core.perceiver import Box, Perceiver
from wayword.perception import detectors
from wayword.perception.detectors import (
    EyeDetector,
    detector_called,
    distance_at,
    middle_of,
    pixels,
)
from wayword.perception.panorama import encode
from wayword.worlds.objectnav.observation import Camera, DepthImage, View

HIGH = 60
WIDE = 80
FIELD = 80.0


class Fake(Perceiver):
    """An eye that finds one box for every phrase, further right and less sure each time."""

    name = "fake"

    def __init__(self, boxes: Sequence[Box]) -> None:
        self._known = boxes
        self.asked: list[Sequence[str]] = []

    async def find(
        self, pictures: Sequence[Any], phrases: Sequence[str]
    ) -> list[list[Box]]:
        self.asked.append(phrases)
        return [[box for box in self._known if box.name in phrases] for _ in pictures]

    async def boxes(self, pictures: Sequence[Any]) -> list[list[Box]]:
        return [list(self._known) for _ in pictures]


def column(bearing: float) -> float:
    """The pixel edge that a bearing falls on."""
    focal = WIDE / 2 / math.tan(math.radians(FIELD / 2))
    return WIDE / 2 + focal * math.tan(math.radians(bearing))


def box(name: str, score: float, bearing: float, wide: float = 10.0) -> Box:
    return Box(
        name, score, column(bearing - wide / 2), 25, column(bearing + wide / 2), 35
    )


def view() -> View:
    """A wall 2 m ahead, a pillar at 1 m from 15 to 25 degrees to the right."""
    camera = Camera(field_of_view=FIELD)
    bearings = np.array(camera.bearings)
    metres = np.where(
        (bearings > 15) & (bearings < 25), 1.0, 2.0 / np.cos(np.radians(bearings))
    )
    depth = DepthImage.of(metres[None, :], camera.bearings, (0.0,), 5.0)
    image = encode(np.zeros((HIGH, WIDE, 3), np.uint8)).data
    return View("here", 0.0, 0.0, 0.0, 0.9, FIELD, depth, image=image)


@pytest.fixture
def eye(monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake = Fake(
        [box("lamp", 0.9, 20.0), box("vase", 0.95, -30.0), box("red vase", 0.6, 0.0)]
    )
    monkeypatch.setattr(detectors, "_eye", lambda kind, name: fake)
    return fake


@pytest.mark.parametrize(
    ("network", "names"),
    [("detr", ["lamp", "red vase", "vase"]), ("owlv2", ["lamp", "vase"])],
)
def test_a_box_is_where_the_object_is(
    eye: Fake, network: str, names: list[str]
) -> None:
    lamp, *_, vase = detections = EyeDetector(f"{network}:x").detect(view())
    assert [one.name for one in detections] == names
    assert lamp.bearing == pytest.approx(20.0, abs=0.1)
    assert lamp.width == pytest.approx(10.0, abs=0.1)
    assert lamp.distance == pytest.approx(1.0, abs=0.02)
    assert vase.distance == pytest.approx(2.0 / math.cos(math.radians(30)), abs=0.03)


def test_a_grounder_is_queried_for_the_phrase_itself(eye: Fake) -> None:
    found = EyeDetector("owlv2:x").ground(view(), "red vase")
    assert found is not None
    assert (found.score, eye.asked) == (0.6, [["red vase"]])
    assert EyeDetector("groundingdino:x").ground(view(), "blue door") is None


def test_a_grounder_detects_indoor_objects(eye: Fake) -> None:
    EyeDetector("owlv2:x").detect(view())
    assert "armchair" in eye.asked[0]


def test_a_plain_detector_grounds_what_its_names_say(eye: Fake) -> None:
    found = EyeDetector("detr:x").ground(view(), "red vase")
    assert found is not None
    assert found.score == 0.95  # `vase` is in the phrase too, and surer
    assert EyeDetector("detr:x").ground(view(), "teddy bear") is None


def test_depth_that_does_not_cover_a_box_gives_no_distance() -> None:
    assert distance_at(view(), 60.0, 0.0) is None
    assert distance_at(view(), 20.0, 0.0) == pytest.approx(1.0, abs=0.02)


def test_the_middle_of_a_picture_is_as_wide_as_it_is_declared() -> None:
    picture = np.zeros((HIGH, WIDE, 3), np.uint8)
    picture[:, round(column(-15.0)) : round(column(15.0))] = 255
    shown = pixels(middle_of(encode(picture).data, FIELD, 30.0).data)
    assert shown.shape[:2] == (HIGH, round(column(15.0) - column(-15.0)))
    assert shown.min() > 200


def test_names_are_simulated_without_a_colon_and_networks_with_one() -> None:
    assert detector_called("perfect").name == "simulated:perfect"
    assert detector_called("owlv2:x").name == "owlv2:x"
    with pytest.raises(UsageError, match="no detector is called 'yolov99:x'"):
        detector_called("yolov99:x")
    with pytest.raises(UsageError, match="is a network"):
        detector_called("owlv2:x", recall=0.5)
    # Simulated ones cannot see the pictures of a robot.
    with pytest.raises(
        UsageError, match=r"simulated: clip, .*; for pictures, .* colors, detr"
    ):
        detector_called("colrs")
    with pytest.raises(UsageError, match=r"owlv2: add .*: owlv2:NAME"):
        detector_called("owlv2")


def test_without_a_picture_or_with_a_broken_one_there_is_one_line() -> None:
    from dataclasses import replace

    with pytest.raises(UsageError, match="needs a picture, and this view has none"):
        EyeDetector("owlv2:x").ground(replace(view(), image=b""), "mug")
    # Without the address of the bytes in memory.
    expected = r"^camera: cannot be read as a picture \(cannot identify image file\)"
    with pytest.raises(DataError, match=expected):
        pixels(b"no picture")

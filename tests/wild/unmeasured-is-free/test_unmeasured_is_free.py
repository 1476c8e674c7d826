"""Readings of lasers and depth cameras as drivers send them: unknown, free, or a distance."""

from __future__ import annotations

import base64
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.looping import for_each
from helpers.rosbridge_server import serving, until
from wayword.agents.discussnav.directions import stride
from wayword.agents.search.costmap import Costmap
from wayword.core.errors import DataError
from wayword.verbalize.objectnav import around
from wayword.worlds.objectnav.observation import DepthImage, View, clear_ahead
from wayword.worlds.objectnav.robot_messages import (
    NothingMeasured,
    image_depth,
    scan_depth,
)
from worlds.objectnav.test_rosbase import driven, robot_at

EYE = 0.9
REACH = 5.0
WALL = 1.0  # metres to the wall in the right half of a frame
LEFT = -24.0  # a bearing in the left half, degrees
TYPES = {
    "16UC1": "<u2",
    "mono16": "<u2",
    "16SC1": "<i2",
    "32FC1": "<f4",
    "64FC1": "<f8",
}
CASES = tomllib.loads(
    Path(__file__).with_name("cases.toml").read_text(encoding="utf-8")
)["case"]


def laser(values: list[Any], **fields: Any) -> dict[str, Any]:
    step = 1.2 / (len(values) - 1)
    return {
        "ranges": values,
        "angle_min": -0.6,
        "angle_increment": step,
        "range_min": 0.12,
        "range_max": 12.0,
        **fields,
    }


def picture(pixels: np.ndarray, encoding: str) -> dict[str, Any]:
    return {
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "step": pixels.strides[0],
        "encoding": encoding,
        "is_bigendian": 0,
        "data": base64.b64encode(pixels.tobytes()).decode(),
    }


def frame(case: dict[str, Any], left_share: float) -> DepthImage:
    """The frame of a case, whose value fills the left share of the view."""
    if case["sensor"] == "laser":
        value = None if case["value"] == "null" else case["value"]
        left = round(60 * left_share)
        values = [WALL] * (60 - left) + [value] * left  # counter-clockwise
        limits = {k: case[k] for k in ("range_min", "range_max") if k in case}
        message = laser(values, **limits)
        no_return = case.get("no_return", "unknown")
        return scan_depth(message, "/scan", EYE, REACH, no_return=no_return)
    unit = case.get("unit") or (0.001 if "16" in case["sensor"] else 1.0)
    pixels = np.full((60, 80), round(WALL / unit), TYPES[case["sensor"]])
    pixels[:, : round(80 * left_share)] = case["value"]
    message = picture(pixels, case["sensor"])
    return image_depth(message, "/depth", 69.0, REACH, unit=case.get("unit", 0.0))


@for_each("case", CASES, ids=lambda case: case["name"])
def test_a_reading_is_unknown_free_or_a_distance(case: dict[str, Any]) -> None:
    depth = frame(case, left_share=0.5)
    clear = clear_ahead(depth, EYE, LEFT)
    level = depth.metres()[0, np.array(depth.bearings) < -10.0]
    expected = case["reads"]
    if expected == "unknown":
        assert clear == 0.0
        assert stride(clear) == 0.0, "no step is offered"
        assert np.isinf(level).all()
        assert not depth.measured()[:, np.array(depth.bearings) < -10.0].any()
    elif expected == "free":
        assert clear == REACH
    else:
        along = expected / math.cos(math.radians(LEFT))
        distance = expected if case["sensor"] == "laser" else along
        assert level[0] == pytest.approx(distance, abs=0.35)
    assert 0.7 < clear_ahead(depth, EYE, 20.0) < 1.1, "the wall is where it is"


@for_each("case", CASES, ids=lambda case: case["name"])
def test_only_what_was_measured_marks_the_map(case: dict[str, Any]) -> None:
    """Of the cells to the left, none is free or closed by a ray that measured nothing."""
    depth = frame(case, left_share=0.5)
    costmap = Costmap(0.0, 0.0)
    costmap.add(View("robot", 0.0, 0.0, 0.0, EYE, 69.0, depth))
    own_row, own_column = costmap.cell(0.0, 0.0)
    left = slice(None, own_column)
    marked = costmap.explored[:, left].sum()
    assert (marked == 0) == (case["reads"] == "unknown")
    assert costmap.occupied[:, own_column:].any()
    assert costmap.free[own_row, own_column]


@for_each("case", CASES, ids=lambda case: case["name"])
def test_a_frame_that_measured_nothing_is_an_error_with_its_topic(
    case: dict[str, Any],
) -> None:
    if case["reads"] != "unknown":
        assert frame(case, left_share=1.0).measured().any()
        return
    with pytest.raises(NothingMeasured) as error:
        frame(case, left_share=1.0)
    line = str(error.value)
    assert line.startswith("/scan: " if case["sensor"] == "laser" else "/depth: ")
    assert "\n" not in line


def test_single_holes_do_not_close_a_direction() -> None:
    """A depth camera leaves holes of single pixels; the rays around them say that it is free."""
    random = np.random.default_rng(0)
    pixels = np.full((60, 80), 4.0, "<f4")
    pixels[random.random(pixels.shape) < 0.3] = np.nan
    depth = image_depth(picture(pixels, "32FC1"), "/depth", 69.0, REACH)
    assert clear_ahead(depth, EYE, 0.0) == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize(
    ("message", "read"),
    [
        (picture(np.full((60, 80), 1000.0, "<f4"), "32FC1"), image_depth),
        (laser([1000.0] * 60), scan_depth),
        (laser([1000.0] * 60, range_max=20_000.0), scan_depth),
    ],
    ids=["depth", "laser", "laser with its range in millimetres"],
)
def test_distances_in_millimetres_are_refused_with_their_unit(
    message: dict[str, Any], read: Any
) -> None:
    options = (69.0, REACH) if read is image_depth else (EYE, REACH)
    with pytest.raises(DataError, match=r"^/topic: .*median of 1000 m.*metre"):
        read(message, "/topic", *options)


@pytest.mark.parametrize("centimetres", [50.0, 100.0, 400.0])
def test_a_depth_image_in_centimetres_is_refused_with_its_unit(
    centimetres: float,
) -> None:
    message = picture(np.full((60, 80), centimetres, "<f4"), "32FC1")
    with pytest.raises(
        DataError, match=r"^/depth: .*its unit is not the metre.*depth_unit"
    ):
        image_depth(message, "/depth", 69.0, REACH)
    near = image_depth(message, "/depth", 69.0, REACH, unit=0.01)
    assert near.metres()[0].min() < REACH


def test_metres_that_are_read_as_millimetres_are_refused() -> None:
    metres = picture(np.full((60, 80), 2.0, "<f4"), "32FC1")
    with pytest.raises(DataError, match=r"^/depth: .*median of 0\.002 m.*depth_unit"):
        image_depth(metres, "/depth", 69.0, REACH, unit=0.001)
    whole = picture(np.full((60, 80), 3, "<u2"), "16UC1")
    with pytest.raises(DataError, match=r"^/depth: .*its unit is not the metre"):
        image_depth(whole, "/depth", 69.0, REACH)
    near = picture(np.full((60, 80), 0.03, "<f4"), "32FC1")
    assert image_depth(near, "/depth", 69.0, REACH).metres()[0].max() < 0.1


NO_FRAMES = {
    "no rows": {"height": 0, "width": 0, "step": 0, "data": ""},
    "no data": {"data": ""},
    "half of the data": {"data": base64.b64encode(bytes(60 * 160)).decode()},
    "rows shorter than their pixels": {"step": 80},
    "no encoding": {"encoding": None},
    "a color picture": {"encoding": "bgr8"},
    "not base64": {"data": "?"},
    "numbers outside a byte": {"data": [300]},
}


@for_each("name", NO_FRAMES, ids=str)
def test_a_frame_that_is_none_is_one_line_with_its_topic(name: str) -> None:
    message = picture(np.full((60, 80), 1000, "<u2"), "16UC1") | NO_FRAMES[name]
    with pytest.raises(DataError) as error:
        image_depth(message, "/depth", 69.0, REACH)
    assert str(error.value).startswith("/depth: field ")
    assert "\n" not in str(error.value)


NO_SCANS = {
    "no readings": {"ranges": []},
    "no angles": {"angle_increment": 0.0},
    "angles in degrees": {"angle_min": -34.0, "angle_increment": 1.15},
    "an unknown angle": {"angle_min": None},
    "an infinite angle": {"angle_min": math.inf},
}


@for_each("name", NO_SCANS, ids=str)
def test_a_scan_that_is_none_is_one_line_with_its_topic(name: str) -> None:
    with pytest.raises(DataError) as error:
        scan_depth(laser([1.0] * 60) | NO_SCANS[name], "/scan", EYE, REACH)
    assert str(error.value).startswith("/scan: field ")
    assert "\n" not in str(error.value)


def test_lists_of_bytes_and_missing_steps_are_read() -> None:
    """Bridges without base64 send lists; some drivers leave ``step`` at 0."""
    message = picture(np.full((60, 80), 1000, "<u2"), "16UC1")
    expected = image_depth(message, "/depth", 69.0, REACH)
    as_list = list(base64.b64decode(message["data"]))
    assert image_depth(message | {"data": as_list}, "/depth", 69.0, REACH) == expected
    assert image_depth(message | {"step": 0}, "/depth", 69.0, REACH) == expected


def test_words_say_unknown_where_nothing_was_measured() -> None:
    depth = frame(CASES[0], left_share=0.5)
    text = around(View("robot", 0.0, 0.0, 0.0, EYE, 69.0, depth))
    assert "unknown 30° to the left" in text


def test_a_covered_sensor_fails_the_episode_and_one_dark_frame_does_not() -> None:
    dark = laser([None] * 60)
    robot = robot_at()
    with serving(robot) as url:
        world = driven(url)
        robot.extra["/scan"] = dark
        # a frame made before may still be on its way, on a busy machine for long
        link = world.base.link  # type: ignore[attr-defined]
        assert until(lambda: link.latest({"/scan": -math.inf}, 5.0)["/scan"] == dark)
        with pytest.raises(NothingMeasured, match=r"^/scan: "):
            world.observe("agent")

        def uncover() -> None:
            robot.extra.pop("/scan", None)

        import threading

        timer = threading.Timer(0.2, uncover)
        timer.start()
        assert world.observe("agent").depth.measured().any()
        timer.join()
    assert json.dumps(dark)

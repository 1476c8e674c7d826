"""Messages of a robot with any value in any field: one error of ours, and the reader survives."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from math import inf, nan
from typing import Any

import pytest

from helpers.looping import for_each
from wayword.core.errors import DataError
from wayword.worlds.objectnav import robot_messages
from wayword.worlds.objectnav.rosbridge import Link

POSE = {
    "header": {"frame_id": "odom"},
    "pose": {
        "pose": {
            "position": {"x": 1.0, "y": 2.0, "z": 0.0},
            "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
        }
    },
}
SCAN = {
    "angle_min": -1.0, "angle_increment": 0.5, "range_min": 0.1, "range_max": 9.0,
    "ranges": [1.0, 2.0, None, 3.0],
}  # fmt: skip
IMAGE = {
    "encoding": "16UC1", "height": 2, "width": 2, "step": 4, "is_bigendian": 0,
    "data": base64.b64encode(bytes([1, 4, 1, 4, 1, 4, 1, 4])).decode(),
}  # fmt: skip
GRID = {
    "info": {
        "resolution": 0.05, "width": 2, "height": 1,
        "origin": {"position": {"x": 0.0, "y": 0.0}, "orientation": {"z": 0.0}},
    },
    "data": [0, 100],
}  # fmt: skip
TF = {
    "transforms": [
        {
            "header": {"frame_id": "map"},
            "child_frame_id": "base_link",
            "transform": {
                "translation": {"x": 0.0, "y": 0.0, "z": 0.0},
                "rotation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
            },
        }
    ]
}
ODD = [
    inf, -inf, nan, 1e308, -1e308, 1e-320, 10**18, -1, 0, None, "", "x", True, [], {}, [[]], [inf],
    {"x": inf}, "\ud800", "inf",
]  # fmt: skip


def transform(message: Any, topic: str) -> Any:
    transforms = robot_messages.Transforms()
    transforms.add(message, topic)
    return transforms.place("map", "base_link", 0.0)


READERS: dict[str, tuple[Any, Callable[[Any, str], Any]]] = {
    "place": (POSE, robot_messages.parse_place),
    "frame": (POSE, lambda message, _: robot_messages.parse_frame(message)),
    "scan": (
        SCAN,
        lambda message, topic: robot_messages.scan_depth(message, topic, 0.9, 5.0),
    ),
    "image": (
        IMAGE,
        lambda message, topic: robot_messages.image_depth(message, topic, 60, 5.0),
    ),
    "grid": (GRID, robot_messages.floor_map),
    "transforms": (TF, transform),
}


def error_of(read: Callable[[Any, str], Any], message: Any) -> Exception | None:
    try:
        read(message, "/topic")
    except Exception as error:  # noqa: BLE001 - the test looks at its type
        return error
    return None


def odd_messages(value: Any) -> Iterator[Any]:
    """Copies of a message with another value, or none, in one place."""
    yield from ODD
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in list(items):
            for odd in odd_messages(inner):
                copy = deepcopy(value)
                copy[key] = odd
                yield copy
            copy = deepcopy(value)
            del copy[key]
            yield copy


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@for_each("name", list(READERS))
def test_a_malformed_message_is_one_error_with_its_topic(name: str) -> None:
    message, read = READERS[name]
    read(message, "/topic")
    odd = [each for each in odd_messages(message) if isinstance(each, dict)]
    assert len(odd) > 10
    for each in odd:
        error = error_of(read, each)
        assert error is None or type(error) in (
            DataError,
            robot_messages.NothingMeasured,
        ), each
        assert error is None or str(error).startswith("/topic"), each
        assert error is None or len(str(error)) < 400, each


def test_the_reader_survives_any_message_and_warns_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    link = Link("ws://127.0.0.1:9")
    link.subscribe("/tf", "tf2_msgs/msg/TFMessage")
    transforms = robot_messages.Transforms()
    link.listener = lambda topic, message: transforms.add(message, topic)
    texts = ["", "5", "[]", "null", "{", "[" * 100_000, '{"op": 10' + "0" * 400 + "}"]
    sent = {"op": "publish", "topic": "/tf", "msg": TF}
    texts += [json.dumps(each) for each in odd_messages(sent)]
    texts += [
        json.dumps({"op": op, "id": odd, "values": odd, "result": odd, "msg": odd, "topic": odd})
        for op in ("action_result", "service_response", "action_feedback", "status", "publish")
        for odd in ODD
    ]  # fmt: skip
    for text in texts:
        link._store_message(text)
    link._store_message(json.dumps(sent))
    assert transforms.place("map", "base_link", 0.0) is not None
    assert list(link.malformed) == ["/tf"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("robot: a message on /tf is ignored: ")


def test_an_image_with_rows_shorter_than_its_pixels_is_refused() -> None:
    """16-bit pixels under the name of 32-bit ones would be half as many, with wrong distances."""
    message = {**IMAGE, "encoding": "32FC1"}
    with pytest.raises(DataError, match="2 pixels of 4 bytes"):
        robot_messages.image_depth(message, "/depth", 60.0, 5.0)


def test_an_answer_that_no_one_waits_for_is_not_kept() -> None:
    link = Link("ws://127.0.0.1:9")
    for number in range(1_000):
        for op in ("service_response", "action_result", "action_feedback"):
            link._store_message(json.dumps({"op": op, "id": f"other:{number}"}))
    assert not link._answers
    assert not link._with_feedback
    with link._request() as request:
        link._store_message(json.dumps({"op": "service_response", "id": request}))
        assert list(link._answers) == [request]
    assert not link._answers
    assert not link._pending

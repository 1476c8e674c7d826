"""Formats of compressed images."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.rosbridge_server import serving
from wayword.core.errors import DataError
from worlds.objectnav.test_rosbase import driven, ended, robot_at

TOPIC = "/camera/image_raw/compressed"


def looked(**fields: Any) -> None:
    """Look once through a camera that sends these fields in its messages."""
    robot = robot_at()
    robot.extra = {TOPIC: {**robot._messages()[TOPIC], **fields}}
    with serving(robot) as url:
        world = driven(url)
        world.observe("agent")
        ended(world)


@pytest.mark.parametrize(
    "form",
    ["16UC1; png compressed", "16UC1; compressedDepth png", "32FC1; compressedDepth"],
)
def test_depth_is_refused_with_the_topic_to_use(form: str) -> None:
    with pytest.raises(
        DataError, match=r"depth, not a picture; set dataset\.image"
    ) as error:
        looked(format=form)
    assert TOPIC in str(error.value)


@pytest.mark.parametrize(
    "form",
    ["jpeg", "png", "", None, "rgb8; jpeg compressed bgr8", "mono16; png compressed"],
)
def test_pictures_are_pictures(form: str | None) -> None:
    looked(format=form)

"""The simulated robot of ``wayword robot --fake``, through the real protocol and detector."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import wayword
from wayword.core.errors import UsageError
from wayword.perception.detectors import detector_called
from wayword.perception.networks.colors import boxes_of
from wayword.runs import robots
from wayword.settings import parse


def options(command: str) -> dict[str, str]:
    """The settings of a command line."""
    words = shlex.split(command)
    pairs = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    return dict(pair.split("=", 1) for pair in pairs)


def test_the_printed_command_finds_its_target_in_the_cameras_pictures(
    tmp_path: Path,
) -> None:
    with robots.simulated() as robot:
        given = options(robot.command)
        url = given["dataset.url"]
        assert "480 x 360 pixels" in robots.inspect({"url": url})
        result = wayword.run(
            "frontier",
            "robot",
            out=tmp_path / "run",
            concurrency=1,
            settings=parse([f"{key}={value}" for key, value in given.items()]),
        )
    (episode,) = result.episodes
    assert episode.trajectory.ended == "stopped"
    (grounded,) = [n for n in episode.trajectory.notes() if n.kind == "grounded"][-1:]
    assert grounded.details["score"] == 1.0
    assert given["dataset.target"] in robot.names
    steps = len(episode.trajectory.steps)
    outcome = f"1_{given['dataset.target']}: stopped after {steps} steps"
    assert f"{outcome}; the detector found the target (score 1.00)" in result.notices


def test_missing_weights_are_reported_before_anything_connects() -> None:
    with robots.simulated() as robot:
        url = robot.url
    # Nothing listens there any more: connecting would take the patience of 30 seconds.
    with pytest.raises(UsageError, match="ssd:/nowhere: must be a folder"):
        wayword.run(
            "frontier",
            "robot",
            settings={
                "grounding": "ssd:/nowhere",
                "dataset": {"url": url, "target": "mug"},
            },
        )


def test_a_malformed_fault_names_the_form() -> None:
    for text in ("drop", "0:drop", "3:explode", "x:drop"):
        with pytest.raises(UsageError, match=f"fault '{text}': write GOAL:FAULT"):
            robots.parse_faults([text])


def test_a_color_names_a_thing_by_its_last_words() -> None:
    import numpy as np

    from wayword.perception.networks.colors import color_of

    picture = np.full((20, 20, 3), 190, np.uint8)
    picture[2:8, 3:9] = color_of("mug")
    picture[12:18, 3:9] = color_of("mug")
    boxes = boxes_of(picture, "cat-shaped mug")
    assert [(box.left, box.top, box.right, box.bottom) for box in boxes] == [
        (3.0, 2.0, 9.0, 8.0),
        (3.0, 12.0, 9.0, 18.0),
    ]
    assert boxes_of(picture, "sofa") == []
    assert detector_called("colors:names").name == "colors:names"

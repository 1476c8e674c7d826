"""The simulated robot of ``wayword robot --fake``, through the real protocol and detector."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

import wayword
from wayword.cli.app import app
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
    assert robots.parse_faults(["1:drop", "12:drop"]) == {1: "drop", 12: "drop"}


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


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with robots.simulated() as robot:
        yield robot.url


def test_a_web_page_from_elsewhere_is_refused(served: str) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        connect(served, origin=Origin("http://pages.example"))
    with connect(served, origin=Origin("http://localhost:8080")) as client:
        client.ping()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"op": "publish", "topic": "cmd_vel"}',
        '{"op": "subscribe", "topic": [1]}',
        '{"op": "send_action_goal", "id": 1, "action": "/spin", "args": {}}',
    ],
)
def test_a_malformed_message_is_answered_and_ends_the_connection(
    text: str, served: str, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(served) as client:
        client.send(text)
        answers = []
        # A goal is answered with feedback before its arguments are read.
        while not answers or answers[-1]["op"] != "status":
            answers.append(json.loads(client.recv(timeout=5)))
        with pytest.raises(ConnectionClosedError, match="1007"):
            client.recv(timeout=5)
    assert "malformed message" in answers[-1]["msg"]
    assert not caplog.records  # the server's log has no traceback


def test_a_port_that_cannot_be_had_is_named(served: str) -> None:
    taken = int(served.rpartition(":")[2])
    for port in (70_000, taken):
        with pytest.raises(UsageError, match=f"port {port}: .*; give another --port"):  # noqa: SIM117
            with robots.simulated(port=port):
                pass


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["--set", "url=ws://127.0.0.1:1"], "begin with dataset"),
        (["--fault", "1:drop"], "add --fake"),
        (["--fake", "--set", "dataset.url=ws://127.0.0.1:1"], "remove it, or --fake"),
    ],
)
def test_options_without_effect_are_refused(options: list[str], remedy: str) -> None:
    result = CliRunner().invoke(app, ["robot", *options])
    assert isinstance(result.exception, UsageError)
    assert remedy in str(result.exception)

"""The simulated robot of ``wayword robot --fake``, through the real protocol and detector."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

import wayword
from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.core.trajectory import Trajectory
from wayword.core.visible import spaced
from wayword.datasets.apartments import Apartments
from wayword.metrics.detector_reports import last_report
from wayword.perception.detectors import detector_called
from wayword.perception.networks.colors import boxes_of
from wayword.runs import robots
from wayword.runs.results import RunResult
from wayword.settings import parse
from wayword.viewer.content import Content
from wayword.viewer.data import Sources
from wayword.viewer.library import Library
from wayword.viewer.maps import objectnav


def options(command: str) -> dict[str, str]:
    """The settings of a command line."""
    words = shlex.split(command)
    pairs = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    return dict(pair.split("=", 1) for pair in pairs)


@dataclass(frozen=True)
class Search:
    """A search by the printed command."""

    robot: robots.SimulatedRobot
    probe: str
    result: RunResult
    folder: Path

    @property
    def target(self) -> str:
        return options(self.robot.command)["dataset.target"]

    @property
    def trajectory(self) -> Trajectory:
        (episode,) = self.result.episodes
        return episode.trajectory


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Search:
    folder = tmp_path_factory.mktemp("search") / "run"
    with robots.simulated() as robot:
        given = options(robot.command)
        probe = robots.inspect({"url": given["dataset.url"]})
        result = wayword.run(
            "frontier",
            "robot",
            out=folder,
            concurrency=1,
            settings=parse([f"{key}={value}" for key, value in given.items()]),
        )
    return Search(robot, probe, result, folder)


def test_the_printed_command_finds_its_target_in_the_cameras_pictures(
    search: Search,
) -> None:
    assert "480 x 360 pixels" in search.probe
    trajectory = search.trajectory
    assert trajectory.ended == "stopped"
    (grounded,) = [n for n in trajectory.notes() if n.kind == "grounded"][-1:]
    assert grounded.details["score"] == 1.0
    assert search.target in search.robot.names
    outcome = f"1_{search.target}: stopped after {len(trajectory.steps)} steps"
    found = f"{outcome}; the detector found the target (score 1.00) at step "
    assert any(line.startswith(found) for line in search.result.notices)


def test_the_page_of_a_search_shows_the_pictures_and_where_the_target_was_reported(
    search: Search,
) -> None:
    """A robot's search has no score: the page's head says what the terminal says."""
    content = Content(Library([search.folder.parent]))
    text = content.episode(search.folder.name, f"1_{search.target}")
    report = last_report(search.trajectory)
    assert report is not None
    assert report.distance is not None
    assert f"The detector found the target (score 1.00) at step {report.step}" in text
    assert text.count('<img src="data:image/png;base64,') == len(
        search.trajectory.steps
    )
    # A line in the picture of the report, and the point on the map.
    assert text.count("the detector reports the target") == 1
    assert re.search(r'<line x1="[\d.]+" y1="0" x2="[\d.]+" y2="1">', text)
    assert "target, as the detector reported it" in text
    assert f'data-key="g" data-go="{report.step}"' in text


def test_the_point_on_the_map_is_in_the_target(search: Search) -> None:
    drawn = objectnav.map(search.trajectory, Sources())
    assert drawn is not None
    ((point,),) = [each.points for each in drawn.shapes if each.label == "target"]
    # The simulated home of ``robots.simulated``.
    settings = Apartments.Settings(homes=1, episodes=1)
    apartments = Apartments("test", None, settings)
    place = apartments.place(apartments.tasks[0].episode.scene)
    near = []
    for item in place.scene.objects:
        reach = math.hypot(item.width, item.depth) / 2
        if spaced(item.type) == search.target:
            near.append(math.dist(point, (item.x, item.y)) <= reach)
    assert any(near)


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

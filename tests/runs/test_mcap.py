"""Runs as MCAP files, read back by the library of the format's authors."""

from __future__ import annotations

import base64
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import make_reader
from mcap.writer import Writer
from typer.testing import CliRunner

from helpers.recorded_run import make_run
from wayword.cli.app import app
from wayword.core.action import Action, Decision, Rejection
from wayword.core.errors import RecordingError, UsageError
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.runs import RunFolder, run
from wayword.runs.mcap import export_mcap, write_episode

JPEG = b"\xff\xd8\xff\xe0 no real picture"


def read(data: bytes) -> list[tuple[str, str, int, dict[str, Any]]]:
    """Topic, schema, time and content of all messages, checksums verified."""
    reader = make_reader(io.BytesIO(data), validate_crcs=True)
    found = []
    for schema, channel, message in reader.iter_messages():
        assert schema is not None
        assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
        content = json.loads(message.data)
        assert json.loads(schema.data)["properties"].keys() == content.keys()
        found.append((channel.topic, schema.name, message.log_time, content))
    return found


def robot_walk() -> Trajectory:
    """Two steps of a robot with a camera: a turn, and a motion that something blocked."""
    seen = {"type": "View", "x": 1.0, "y": 2.0, "heading": 90.0, "image": JPEG}
    where = {"x": 1.0, "y": 2.0, "heading": 0.0}
    turn = Decision(Action("rotate", ("-90",)), "The door is behind me.")
    go = Decision(Action("goto", ("1", "3")))
    blocked = Feedback("blocked", {"reason": "a chair"})
    steps = [
        Step("agent", seen, turn, Feedback("ok"), where, seconds=1.5),
        Step("agent", {**seen, "image": b""}, go, blocked, where, seconds=0.25),
    ]
    return Trajectory("1", {"agent": where}, steps)


def written(trajectory: Trajectory) -> bytes:
    file = io.BytesIO()
    write_episode(Writer(file), trajectory)
    return file.getvalue()


def test_poses_pictures_and_words_of_a_robot_are_read_back() -> None:
    found = read(written(robot_walk()))
    kinds = [(topic, schema) for topic, schema, _, _ in found]
    step = [
        ("/pose", "foxglove.PoseInFrame"),
        ("/log", "foxglove.Log"),
        ("/step", "wayword.Step"),
    ]
    assert kinds == [("/camera", "foxglove.CompressedImage"), *step, *step]
    assert [time for *_, time, _ in found] == [1_500_000_000] * 4 + [1_750_000_000] * 3
    camera, pose, log = (content for *_, content in found[:3])
    assert base64.b64decode(camera["data"]) == JPEG
    assert camera["format"] == "jpeg"
    assert pose["timestamp"] == {"sec": 1, "nsec": 500_000_000}
    assert pose["pose"]["position"] == {"x": 1.0, "y": 2.0, "z": 0.0}
    turned = pose["pose"]["orientation"]  # north is a quarter turn from ROS's x
    assert turned["z"] == pytest.approx(turned["w"]) == pytest.approx(0.5**0.5)
    assert "The door is behind me.\nrotate[-90]\nok" in log["message"]
    assert (log["level"], found[5][3]["level"]) == (2, 3)
    assert "a chair" in found[5][3]["message"]


def test_bytes_are_marked_for_the_viewer() -> None:
    reader = make_reader(io.BytesIO(written(robot_walk())))
    schemas = {
        schema.name: json.loads(schema.data)
        for schema, _, _ in reader.iter_messages()
        if schema
    }
    data = schemas["foxglove.CompressedImage"]["properties"]["data"]
    assert data == {"type": "string", "contentEncoding": "base64"}
    orientation = schemas["foxglove.PoseInFrame"]["properties"]["pose"]["properties"][
        "orientation"
    ]
    assert orientation["properties"]["w"] == {"type": "number"}


def test_a_run_of_any_world_is_exported_episode_by_episode(tmp_path: Path) -> None:
    run("frontier", on="apartments", limit=2, max_steps=6, out=tmp_path / "searches")
    make_run(tmp_path / "odd", ["../a/b"])
    arguments = [
        "export",
        str(tmp_path / "searches"),
        str(tmp_path / "odd"),
        "--as",
        "mcap",
    ]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "logs")])
    assert done.exit_code == 0, done.output
    assert "3 episodes as MCAP" in done.output
    files = sorted(
        path.relative_to(tmp_path / "logs") for path in (tmp_path / "logs").rglob("*.*")
    )
    assert len(files) == 3
    assert Path("odd/.._a_b.mcap") in files, "an episode's name is no path"
    for record in RunFolder.read(tmp_path / "searches").records():
        (path,) = (tmp_path / "logs" / "searches").glob(f"*{record.episode_id}.mcap")
        found = read(path.read_bytes())
        poses = [
            content["pose"]["position"]
            for topic, *_, content in found
            if topic == "/pose"
        ]
        assert [(each["x"], each["y"]) for each in poses] == [
            (step.pose["x"], step.pose["y"]) for step in record.trajectory.steps
        ]
    again = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "logs")])
    assert again.exit_code != 0
    assert isinstance(again.exception, SystemExit | RecordingError)


def test_rejections_are_reported() -> None:
    no = Rejection("unknown", "no such action", "fly away")
    step = Step("agent", {}, no, Feedback("rejected"), {"viewpoint": "a"})
    found = read(written(Trajectory("1", {"agent": {}}, [step])))
    assert [topic for topic, *_ in found] == ["/log", "/step"]
    assert "no such action" in found[0][3]["message"]


def test_without_the_library_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcap.writer", None)
    with pytest.raises(UsageError, match=r"extra-mcap"):
        export_mcap([], tmp_path / "logs")

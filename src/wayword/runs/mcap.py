"""Runs as MCAP files, one per episode, for Foxglove and other viewers of robot logs.

Topics: ``/pose`` (``foxglove.PoseInFrame``) and ``/camera`` (``foxglove.CompressedImage``) for
steps that have them, ``/log`` (``foxglove.Log``) as text, and ``/step`` with all columns of the
exported tables. Times count from the start of the episode. Poses use the axes of ROS: x forward,
angles counterclockwise.

Sources: MCAP (mcap.dev/spec), JSON with JSON schemas; Foxglove's message schemas.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.errors import needing
from wayword.core.files import make_parent
from wayword.core.trajectory import Step, Trajectory
from wayword.runs.export import OnEpisode, records, require_new, row_of
from wayword.runs.record import RunFolder
from wayword.worlds.objectnav.robot_messages import ros_pose

INFO, WARNING = 2, 3  # levels of a foxglove.Log


def export_mcap(
    runs: Sequence[Path],
    out: Path,
    on_episode: OnEpisode | None = None,
) -> int:
    """Write ``RUN/EPISODE.mcap`` for each episode to the folder ``out``. Returns their number.
    Raises ``UsageError`` without the package ``mcap``, ``RecordingError`` if a run cannot be read
    or ``out`` is not empty."""
    with needing("MCAP files are written by mcap", "mcap"):
        writers = import_module("mcap.writer")
    opened = [RunFolder.read(path) for path in runs]
    require_new(out)
    done = 0
    for run, record in records(opened, on_episode):
        name = re.sub(r"[^\w.-]", "_", record.episode_id)
        path = out / run.path.name / f"{name}.mcap"
        make_parent(path)
        with path.open("xb") as file:
            write_episode(writers.Writer(file), record.trajectory)
        done += 1
    return done


def write_episode(writer: Any, trajectory: Trajectory) -> None:
    """Write an episode through an ``mcap.writer.Writer``."""
    writer.start(profile="", library="wayword")
    channels: dict[str, int] = {}
    seconds = 0.0
    for step in trajectory.steps:
        seconds += step.seconds
        now = round(seconds * 1e9)
        stamp = {"sec": now // 10**9, "nsec": now % 10**9}
        for topic, kind, message in messages(step, stamp):
            # Schemas are derived from messages, so a channel starts with its first one.
            if topic not in channels:
                schema = json.dumps(schema_of(message)).encode()
                number = writer.register_schema(kind, "jsonschema", schema)
                channels[topic] = writer.register_channel(topic, "json", number)
            data = json.dumps(
                message, default=lambda raw: base64.b64encode(raw).decode()
            ).encode()
            writer.add_message(channels[topic], now, data, now)
    writer.finish()


def messages(
    step: Step,
    stamp: Mapping[str, int],
) -> Iterator[tuple[str, str, JsonObject]]:
    """Yield topic, schema name and content of each message of a step.

    ``stamp`` is the time since the start of the episode, in whole seconds and nanoseconds. A step
    has a picture or a pose only if they were recorded; the other two messages are in every step.
    """
    row = row_of(step)
    if isinstance(step.observation, Mapping):
        image = step.observation.get("image")
    else:
        image = None
    if isinstance(image, bytes) and image:
        form = "png" if image.startswith(b"\x89PNG") else "jpeg"
        content = {
            "timestamp": stamp,
            "frame_id": "camera",
            "data": image,
            "format": form,
        }
        yield "/camera", "foxglove.CompressedImage", content
    if {"x", "y", "heading"} <= step.pose.keys():
        place = (float(step.pose[key]) for key in ("x", "y", "heading"))
        pose = {"timestamp": stamp, "frame_id": "map", "pose": ros_pose(*place)}
        yield "/pose", "foxglove.PoseInFrame", pose
    words = [
        row["thought"],
        row["action"] or row["rejection"],
        row["status"],
        row["feedback"],
    ]
    yield (
        "/log",
        "foxglove.Log",
        {
            "timestamp": stamp,
            "level": INFO if step.feedback.ok else WARNING,
            "name": step.actor,
            "message": "\n".join(filter(None, words)),
            "file": "",
            "line": 0,
        },
    )
    yield "/step", "wayword.Step", row


def schema_of(value: Any) -> dict[str, Any]:
    """JSON schema of messages like this one."""
    if isinstance(value, Mapping):
        properties = {key: schema_of(each) for key, each in value.items()}
        return {"type": "object", "properties": properties}
    if isinstance(value, bytes):
        return {"type": "string", "contentEncoding": "base64"}
    names = {bool: "boolean", int: "integer", float: "number"}
    return {"type": names.get(type(value), "string")}

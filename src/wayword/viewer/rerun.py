"""Episodes as a Rerun recording: where everybody went over the map, with thoughts and answers.

    wayword view runs/first --rerun first.rrd
    rerun first.rrd

On the timeline ``step`` each actor has its place and heading; ``log`` has what was done, why, and
what came of it; beneath them lie rooms, edges and the gold path. Step 0 is the start. Rerun's axes
are x to the east and y to the north, in metres.

Source: Rerun 0.24 and later, ``RecordingStream`` (rerun.io/docs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from wayword.core.action import Rejection
from wayword.core.errors import UsageError, needing
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.viewer.data import Sources, open_sources
from wayword.viewer.maps import generic
from wayword.viewer.maps.drawing import Map

ARROW = 0.6
"""Metres: how long a heading is drawn."""
GREY, GREEN, BLUE = (130, 130, 130), (60, 160, 80), (50, 90, 200)


def record(
    run: Path,
    out: Path,
    episodes: Sequence[str] = (),
    limit: int = 20,
    data: Path | None = None,
    trusted: Path | None = None,
) -> int:
    """Write a run's episodes, or the first ``limit``, into one ``.rrd`` file; returns how many.

    Each is a recording of its own. Raises ``UsageError`` where Rerun is missing or an episode is.
    """
    rerun = _library()
    folder = RunFolder.read(run)
    every = folder.records()
    wanted = (each for each in every if not episodes or each.episode_id in episodes)
    found = list(islice(wanted, len(episodes) or limit))
    missing = sorted(set(episodes) - {each.episode_id for each in found})
    if missing or not found:
        raise UsageError(f"{run}: has no finished episode {', '.join(missing)}".rstrip())
    known = open_sources(folder.config, [each.episode_id for each in found], data, trusted)
    out.parent.mkdir(parents=True, exist_ok=True)
    stream = rerun.RecordingStream(f"wayword-{run.name}")
    stream.save(str(out))
    for each in found:
        _episode(rerun, stream, each, known, each.episode_id if len(found) > 1 else "")
    stream.flush()
    stream.disconnect()
    return len(found)


def _episode(rerun: Any, stream: Any, record: EpisodeRecord, known: Sources, top: str) -> None:
    """One episode, below the entity ``top`` where several share a file."""
    trajectory, path = record.trajectory, f"{top}/" if top else ""
    told = [f"# {record.episode_id}", known.instruction(record.episode_id)]
    told += [f"- {key}: {value:g}" for key, value in sorted(record.scores.items())]
    document = rerun.TextDocument("\n".join(told), media_type=rerun.MediaType.MARKDOWN)
    stream.log(f"{path}episode", document, static=True)
    drawn = generic.geography(trajectory, known)
    if drawn is not None:
        _ground(rerun, stream, drawn, path)
        _walks(rerun, stream, drawn, path)
    for number, step in enumerate(trajectory.steps, 1):
        stream.set_time("step", sequence=number)
        decision = step.decision
        refused = isinstance(decision, Rejection)
        what = (
            f"rejected: {decision.reason}" if isinstance(decision, Rejection) else decision.action
        )
        lines = [f"{step.actor}: {what}", decision.thought, step.feedback.status]
        level = rerun.TextLogLevel.WARN if refused else rerun.TextLogLevel.INFO
        text = "\n".join(line for line in lines if line)
        stream.log(f"{path}log/{step.actor}", rerun.TextLog(text, level=level))


def _ground(rerun: Any, stream: Any, drawn: Map, path: str) -> None:
    if drawn.rooms:
        corners = [(room.low, room.high) for room in drawn.rooms]
        centers = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in corners]
        halves = [((b[0] - a[0]) / 2, (b[1] - a[1]) / 2) for a, b in corners]
        names = [room.name for room in drawn.rooms]
        boxes = rerun.Boxes2D(centers=centers, half_sizes=halves, labels=names, colors=GREY)
        stream.log(f"{path}map/rooms", boxes, static=True)
    for name, lines in (("edges", drawn.edges), ("doors", drawn.doors)):
        if lines:
            strips = rerun.LineStrips2D([list(line) for line in lines], colors=GREY)
            stream.log(f"{path}map/{name}", strips, static=True)
    if drawn.gold:
        gold = rerun.LineStrips2D([[point for _, point in drawn.gold]], colors=GREEN)
        stream.log(f"{path}map/gold", gold, static=True)


def _walks(rerun: Any, stream: Any, drawn: Map, path: str) -> None:
    for actor, stands in drawn.walks.items():
        for number, stand in enumerate(stands):
            stream.set_time("step", sequence=stand.step)
            at, way = [stand.point], [each.point for each in stands[: number + 1]]
            stream.log(f"{path}map/{actor}/at", rerun.Points2D(at, radii=0.15, colors=BLUE))
            if len(way) > 1:
                stream.log(f"{path}map/{actor}/way", rerun.LineStrips2D([way], colors=BLUE))
            if stand.heading is not None:
                angle = math.radians(stand.heading)
                arrow = [(ARROW * math.sin(angle), ARROW * math.cos(angle))]
                heading = rerun.Arrows2D(vectors=arrow, origins=at, colors=BLUE)
                stream.log(f"{path}map/{actor}/heading", heading)


def _library() -> Any:
    with needing("recordings need Rerun", "rerun"):
        import rerun
    return rerun

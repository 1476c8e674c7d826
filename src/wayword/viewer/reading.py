"""What the pages need of a run folder, without holding it in memory.

The table of a run needs ids, scores and endings, which stand at the beginning of each line; whole
trajectories are read only for the episodes that get a page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.trajectory import Trajectory
from wayword.recording import EpisodeRecord, RecordedRun, from_json
from wayword.recording.lines import corrupt, parse_line, read_lines
from wayword.recording.values import restore

_STRING = rb'"(?:[^"\\]|\\.)*"'
_ID = re.compile(rb'\{"episode":(' + _STRING + rb")")
_ENDED = re.compile(rb',"trajectory":\{"episode_id":' + _STRING + rb',"ended":"([a-z_]+)"')


@dataclass(frozen=True, slots=True)
class Head:
    """One line of a run's table. A failed episode has no scores and says why in ``error``."""

    episode_id: str
    ended: str
    scores: dict[str, float]
    error: str = ""


def heads(run: RecordedRun) -> list[Head]:
    """Failed episodes first (those not finished since), then the finished ones as they ended."""
    scored = run.scores()  # first, as it says clearly what is wrong with a line
    endings = dict(_endings(run))
    finished = [Head(name, endings.get(name, ""), scores) for name, scores in scored]
    there = {head.episode_id for head in finished}
    failed = {
        failure.episode_id: Head(failure.episode_id, "failed", {}, failure.reason)
        for failure in run.failures()
        if failure.episode_id not in there
    }
    return [*failed.values(), *finished]


def records(run: RecordedRun, wanted: Set[str]) -> Iterator[EpisodeRecord]:
    """The episodes asked for, one in memory at a time; of a failed one, its latest try.

    A failure without a trajectory comes with an empty one.
    """
    path = run.path / "episodes.jsonl"
    finished = set()
    for number, line in read_lines(path):
        if _episode(line) in wanted:
            parsed = parse_line(path, number, line)
            finished.add(str(parsed["episode"]))
            yield EpisodeRecord(str(parsed["episode"]), *_whole(path, number, parsed))
    failed: dict[str, Trajectory] = {}
    for failure in run.failures() if wanted - finished else ():
        name = failure.episode_id
        if name in wanted and name not in finished:
            empty = Trajectory(name, {}, ended="failed", error=failure.reason)
            failed[name] = failure.trajectory or empty
    for name, trajectory in failed.items():
        yield EpisodeRecord(name, {}, trajectory)


def _whole(path: Path, number: int, parsed: Json) -> tuple[dict[str, float], Trajectory]:
    try:
        told = from_json(parsed["trajectory"])
    except RecordingError as error:
        raise corrupt(path, number, f"field 'trajectory' {error}") from error
    scores = restore(parsed["scores"])
    return {k: v for k, v in scores.items() if isinstance(v, int | float)}, told


def _endings(run: RecordedRun) -> Iterator[tuple[str, str]]:
    path = run.path / "episodes.jsonl"
    for number, line in read_lines(path):
        found = _ENDED.search(line)
        if found is not None:
            yield _episode(line), found[1].decode()
            continue
        parsed = parse_line(path, number, line)
        told = parsed.get("trajectory")
        yield str(parsed.get("episode")), str(told.get("ended") if isinstance(told, dict) else "")


def _episode(line: bytes) -> str:
    found = _ID.match(line)
    if found is None:  # a line written by other means, with its fields in another order
        parsed = json.loads(line)
        return str(parsed.get("episode")) if isinstance(parsed, dict) else ""
    return str(json.loads(found[1]))

"""What each session of a run took: wall time, and what was spent on episodes that were dropped.

A run may be stopped and continued many times. Finished episodes hold their own accounting; the
wall time of a session, and the tokens and dollars of the episodes a spent budget cut short, are in
no episode, and would otherwise be forgotten: a budget could then be spent anew at every start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from wayword.recording.lines import LineWriter, parse_line, read_lines
from wayword.recording.values import dump, plain

NAME = "sessions.jsonl"


@dataclass(frozen=True, slots=True)
class Session:
    """One start of a run: when, how long (seconds), and how many episodes it finished.

    ``dropped_tokens`` and ``dropped_dollars`` went into episodes that it did not finish.
    """

    started: str
    seconds: float
    finished: int
    dropped_tokens: int = 0
    dropped_dollars: float = 0.0


def add_session(run: Path, session: Session) -> None:
    """Append a session to the run folder. Raises ``RecordingError``."""
    writer = LineWriter(run / NAME)
    try:
        writer.append(dump(plain(asdict(session))))
    finally:
        writer.close()


def sessions(run: Path) -> Iterator[Session]:
    """The sessions that ended in order; a killed one left none. Raises ``RecordingError``."""
    path = run / NAME
    for number, line in read_lines(path):
        told = parse_line(path, number, line)
        yield Session(
            str(told["started"]),
            float(told["seconds"]),
            int(told["finished"]),
            int(told.get("dropped_tokens", 0)),
            float(told.get("dropped_dollars", 0.0)),
        )

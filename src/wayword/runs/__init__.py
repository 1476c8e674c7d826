"""Plans, runs, run folders and reports.

    calling results               runs from Python, and their results
    plan running active play      plans; running them; playing as a person
    opening verify                opening runs from elsewhere; verifying them
    record codec json_lines       the run folder: records, their encoding, files of lines
    config index                  run.json, the index of records
    remote                        run folders in a store
    ray_engine                    runs on a Ray cluster
    reports lengths differences   tables of runs, by length, and comparisons
    scored_runs sweep reproduce   what both are made of; grids; published tables
    predicted                     predictions of other systems as runs
    export calls mcap             training data, robot logs
    forecast rehearsal            cost estimates
    perceive tracking             descriptions of pictures, trackers
    catalog machine               lists and checks of data; checks of this machine

A run folder is the complete record of a run, in files that any tool can read:

    run.json            the settings: "identity" (those that identify the run), the versions of
                        wayword, Python and packages, the checksums of the data; "format" is the
                        version of this layout
    episodes.jsonl.gz   a line per finished episode, in the order they ended
    failures.jsonl.gz   a line per failure, with its reason; a resumed run retries the episode
    sessions.jsonl      a line per session that ended normally, with its wall time
    calls.jsonl         tokens and US dollars of each billed call: reserved before the call, settled
                        after it
    batches.sqlite      with --batch: the batches that were sent, and their answers
    .lock               id and machine of the writing process

Each line of ``episodes.jsonl.gz`` is ``{"episode": id, "scores": {...}, "trajectory": {...}}``,
compressed as a separate gzip member. Rates are between 0 and 1. A trajectory has the fields
``start`` (each actor's pose), ``steps``, ``state`` (the final state of the world), ``ended``
(``stopped``, ``step_limit`` or ``failed``) and ``seconds``. A step has ``actor``, ``observation``,
``decision``, ``feedback``, ``pose`` (after the step), ``calls``, ``notes`` and ``percept`` (the
perceiver's description, if the agent read one). With several trials, it is the last trial; the
field ``earlier`` has the others in the same form, each with its ``verdict`` and the
``closing_calls`` and ``closing_notes`` of reflections. Empty fields are omitted. Headings are
degrees clockwise from north.

``wayword.runs.codec`` documents the encoding of nan, bytes and arrays. A run that is killed keeps
all finished episodes and leaves at most a partial last line, which is removed when it is resumed. A
power cut may also lose the episodes since the last sync, which follows the first write a second or
more after the previous one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayword.runs.calling import RunOptions, run, run_async
    from wayword.runs.codec import from_json, to_json
    from wayword.runs.config import Checksums, Session, add_session, sessions
    from wayword.runs.plan import Plan
    from wayword.runs.record import EpisodeRecord, FailedEpisode, RecordedRun, RunFolder
    from wayword.runs.results import RunResult

__all__ = [
    "Checksums",
    "EpisodeRecord",
    "FailedEpisode",
    "Plan",
    "RecordedRun",
    "RunFolder",
    "RunOptions",
    "RunResult",
    "Session",
    "add_session",
    "from_json",
    "run",
    "run_async",
    "sessions",
    "to_json",
]

_HOMES = {
    **dict.fromkeys(("RunOptions", "run", "run_async"), "calling"),
    **dict.fromkeys(("from_json", "to_json"), "codec"),
    **dict.fromkeys(("Checksums", "Session", "add_session", "sessions"), "config"),
    **dict.fromkeys(
        ("EpisodeRecord", "FailedEpisode", "RecordedRun", "RunFolder"),
        "record",
    ),
    "Plan": "plan",
    "RunResult": "results",
}
"""Public names by the module that defines them."""


def __getattr__(name: str) -> Any:
    """Load a public name at its first use: commands that play nothing start without it."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

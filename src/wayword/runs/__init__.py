r"""Plans, runs, run folders and reports.

    calling results               runs from Python; what a notebook does with a result
    plan running active play      a plan and its parts; running, verifying; a person plays
    record codec config index     the run folder, merging; values and files, run.json, index
    remote                        folders in a store
    ray_engine                    the processes of a Ray cluster
    reports sweep reproduce       tables, curves, published tables
    export forecast               training data, cost estimates
    perceive tracking catalogue   descriptions of pictures, trackers, registered parts

A run folder holds the complete record of a run, in files that any tool can read:

    run.json            the settings: "identity" (those that make it this run), the versions of
                        wayword, Python and the packages, the checksums of the data; "format" is
                        the version of this layout
    episodes.jsonl.gz   a line per finished episode, in the order they ended
    failures.jsonl.gz   a line per failure, with its reason; a resumed run retries the episode
    sessions.jsonl      a line per session that ended cleanly: its wall time, and the cost of
                        episodes that it did not finish
    calls.jsonl         tokens and US dollars of each billed call, reserved before it and settled
                        afterwards
    .lock               the writing process: its id and machine

A line of ``episodes.jsonl.gz`` is ``{"episode": id, "scores": {...}, "trajectory": {...}}``, a
separate gzip member. Rates in the scores are fractions of one. A trajectory holds ``start`` (each
actor's place), ``steps``, ``state`` (of the world, at the end), ``ended`` (``stopped``,
``step_limit`` or ``failed``) and ``seconds``. A step holds ``actor``, ``observation``,
``decision``, ``feedback``, ``pose`` (the true place afterwards), ``calls``, ``notes`` and
``percept`` (what the agent read from a perceiver, if anything). Of several
trials it is the last one; the others are in ``earlier`` in the same form, with the
``verdict`` on them and the ``closing_calls`` and ``closing_notes`` of reflections. Empty fields
are omitted. Headings are degrees clockwise from north.

With ``jq``, in the folder:

    jq .identity run.json
    # the success rate
    zcat episodes.jsonl.gz | jq -s 'map(.scores.sr) | add / length'
    # the episodes to look at
    zcat episodes.jsonl.gz | jq -r 'select(.scores.sr == 0) | .episode'
    # one episode, step by step
    zcat episodes.jsonl.gz | jq -c 'select(.episode == "5593_0") | .trajectory.steps[]
        | [.decision.action // .decision.rejected, .decision.arguments, .pose]'
    # prompt tokens of each episode
    zcat episodes.jsonl.gz | jq '[.trajectory | .earlier[]?, .
        | .opening_calls, .steps[].calls, .closing_calls | .[]? | .answer.usage.prompt] | add'

With DuckDB and pandas:

    duckdb.sql("SELECT avg(scores.sr) FROM read_json('episodes.jsonl.gz')")
    pandas.read_json("episodes.jsonl.gz", lines=True)

``wayword.runs.codec`` documents the encoding of nan, bytes and arrays. Python reads them back
unchanged:

    from wayword.runs import RunFolder
    for record in RunFolder.read("runs/first").records():
        print(record.episode_id, record.scores["sr"], len(record.trajectory.steps))

A run killed at any moment keeps every finished episode and leaves at most a partial line at the
end, which the next start drops. A power cut may also lose the episodes of the last second or,
if the run was waiting, those since its last write.
"""

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

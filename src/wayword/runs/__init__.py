r"""From names to numbers: plans, runs, the run folder, reports.

    plan running active play      a plan and its parts; carrying it out; a person plays
    record codec config index     the run folder: episodes, values and files, run.json, the index
    remote merge                  folders in a store; shards made one
    ray_engine                    the processes of a Ray cluster
    reports sweep reproduce       tables, curves, published tables
    export replaying forecast     training data, replays and checks, cost up front
    perceive tracking catalogue   pictures to words, trackers, the list of parts

The run folder holds everything a run did, in files that any tool can read:

    run.json            the settings: "identity" (those that make it this run), the versions of
                        wayword, Python and the packages, the checksums of the data; "format" is
                        the version of this layout
    episodes.jsonl.gz   a line a finished episode, in the order they ended
    failures.jsonl.gz   a line a failure, with its reason; a resumed run plays the episode again
    sessions.jsonl      a line a session that ended in order: its wall time, and the cost of
                        episodes that it did not finish
    calls.jsonl         tokens and US dollars of each billed call, reserved before it and settled
                        after
    .lock               the process that writes: its number, its machine

A line of ``episodes.jsonl.gz`` is ``{"episode": id, "scores": {...}, "trajectory": {...}}``, a gzip
member of its own. Rates in the scores are fractions of one. A trajectory holds ``start`` (each
actor's place), ``steps``, ``state`` (of the world, at the end), ``ended`` (``stopped``,
``step_limit`` or ``failed``) and ``seconds``. A step holds ``actor``, ``observation``,
``decision``, ``feedback``, ``pose`` (the true place afterwards), ``calls``, ``notes`` and
``percept`` (what the agent read of its surroundings from a perceiver, where it read anything). Of
several trials it is the last one; those before it are in ``earlier`` and look the same, with the
``verdict`` after them and the ``closing_calls`` and ``closing_notes`` of reflections. Empty fields
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

``wayword.runs.codec`` documents how nan, bytes and arrays are written. In Python all of it comes
back as it was:

    from wayword.runs import RunFolder
    for record in RunFolder.read("runs/first").records():
        print(record.episode_id, record.scores["sr"], len(record.trajectory.steps))

A run killed at any moment leaves every finished episode whole, and at worst part of a line at the
end, which the next start drops. A power cut may also take the episodes of the last second or,
when the run was waiting, those since its last write.
"""

from wayword.runs.codec import from_json, to_json
from wayword.runs.config import Checksums, Session, add_session, sessions
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, FailedEpisode, RecordedRun, RunFolder
from wayword.runs.running import RunResult, run, run_async

__all__ = [
    "Checksums",
    "EpisodeRecord",
    "FailedEpisode",
    "Plan",
    "RecordedRun",
    "RunFolder",
    "RunResult",
    "Session",
    "add_session",
    "from_json",
    "run",
    "run_async",
    "sessions",
    "to_json",
]

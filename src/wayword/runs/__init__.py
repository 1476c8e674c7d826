r"""From names to numbers: plans, runs, the run folder, reports.

    plan parts run play       what is run, by which parts, carried out
    folder records lease remote config codec compact jsonl
                              the run folder, and how its files are written
    episodes running ray_engine ray_players
                              which episodes, and who plays them
    reports sweep export replaying perceive catalogue

The run folder holds everything a run did, in files that any tool can read:

    config.json      what was run: "identity" (the settings that make it this run), the versions of
                     wayword, Python and the packages, the checksums of the data; "format" is the
                     version of this layout
    episodes.jsonl   one line a finished episode, in the order they ended
    index.jsonl      one line for each of these without its trajectory: can be made again
    columns.bin      of large runs, what the index tells in arrays: can be made again
    failures.jsonl   one line a failure, with its reason; a resumed run plays the episode again
    sessions.jsonl   one line a session that ended in order: its wall time, and what was spent on
                     episodes it did not finish
    spending.jsonl   tokens and US dollars of each billed call, reserved before it and settled after
    signature.json   the signature over config and lines, after ``--sign``
    .lock            the lease of the process that writes: its number, its machine

A line of ``episodes.jsonl`` is ``{"episode": id, "scores": {...}, "trajectory": {...}, "sum":
"..."}``; ``wayword.runs.records`` says what the sum is over. Rates in the scores are fractions of
one. A trajectory holds ``start`` (each actor's place), ``steps``, ``state`` (of the world, at the
end), ``ended`` (``stopped``, ``step_limit`` or ``failed``) and ``seconds``. A step holds ``actor``,
``observation``, ``decision``, ``feedback``, ``pose`` (the true place afterwards; older folders say
``where``), ``calls``, ``notes`` and ``percept`` (what the agent read of its surroundings from a
perceiver, where it read anything). Of several trials it is the last one; those before it are in
``earlier`` and look the same, with the ``verdict`` that was told after them and the
``closing_calls`` and ``closing_notes`` of reflections. What is empty is left out. Headings are
degrees clockwise from north.

With ``jq``, in the folder:

    jq .identity config.json
    # the success rate
    jq -s 'map(.scores.sr) | add / length' episodes.jsonl
    # the episodes to look at
    jq -r 'select(.scores.sr == 0) | .episode' episodes.jsonl
    # one episode, step by step
    jq -c 'select(.episode == "5593_0") | .trajectory.steps[]
        | [.decision.action // .decision.rejected, .decision.arguments, .pose]' episodes.jsonl
    # prompt tokens of each episode
    jq '[.trajectory | .earlier[]?, . | .opening_calls, .steps[].calls, .closing_calls | .[]?
        | .answer.usage.prompt] | add' episodes.jsonl

Prompts repeat most of the one before and are stored as what is new, and a percept read again is
the number of the first: ``wayword.runs.compact`` says how, ``wayword.runs.jsonl`` how nan, bytes
and arrays are written. In Python all of it comes back whole:

    from wayword.runs import RunFolder
    for record in RunFolder.read("runs/first").records():
        print(record.episode_id, record.scores["sr"], len(record.trajectory.steps))

A run killed at any moment leaves every finished episode whole, and at worst half a line at the
end, which the next start drops. A power cut may also take the episodes of the last second or,
when the run stood waiting, those since its last write.
"""

from wayword.runs.codec import from_json, to_json
from wayword.runs.config import Checksums, Session, add_session, sessions
from wayword.runs.folder import EpisodeRecord, FailedEpisode, RecordedRun, RunFolder
from wayword.runs.plan import Plan
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

"""The trained models in the package: seconds an episode, tokens a second, and what is read twice.

Generated houses for ``local:walker`` and towns for ``local:velma``, test splits, one episode at a
time, on one thread of the engine and on two. A prompt that only grows has each token read once:
the tokens evaluated, divided by the length of the last prompt, are one, but for what stands where
an answer was scored.

``python -m benchmarks.trained`` prints both, and exits with 1 above 1.1.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from wayword.core.model import Usage
from wayword.runs import Plan, RunFolder, run

EPISODES, READ_BOUND = 5, 1.1


def usages(path: Path) -> list[list[Usage]]:
    """What each call took, by episode."""
    found = []
    for record in RunFolder.read(path).records():
        answers = [call.answer for call in record.trajectory.calls()]
        found.append([each.usage for each in answers if each is not None])
    return found


def measure(agent: str, on: str, threads: int, out: Path) -> float:
    """Play, print a line, and return how often a token was read."""
    settings = {"model": {"threads": threads}}
    plan = Plan(agent, on, f"local:{agent}", settings, limit=EPISODES, concurrency=1, out=out)
    began = time.perf_counter()
    result = run(plan)
    seconds = time.perf_counter() - began
    played = usages(result.path)
    evaluated = sum(each.prompt - each.reused for calls in played for each in calls)
    once = sum(calls[-1].prompt for calls in played)
    print(
        f"{agent:<7} threads {threads}: {seconds / EPISODES:6.2f} s an episode, "
        f"{evaluated / seconds:6.0f} tokens a second, each read {evaluated / once:.3f} times"
    )
    return evaluated / once


def main() -> int:
    """Measure, print, and say whether the bound holds."""
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for agent, on in (("walker", "houses:test"), ("velma", "towns:test")):
            for threads in (1, 2):
                worst = max(worst, measure(agent, on, threads, Path(folder) / f"{agent}{threads}"))
    kept = worst <= READ_BOUND
    print(f"trained: {'ok' if kept else 'MISSED'}, a token is read at most {READ_BOUND} times")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

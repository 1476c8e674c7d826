"""The trained models in the package, against the same prompts read from their start each time.

Generated houses for ``local:walker`` and towns for ``local:velma``, test splits, one episode at a
time, on one thread of the engine. A prompt that only grows has each token read once: the tokens
evaluated, divided by the length of the last prompt, are at most one, since an episode also shares
its opening with the one before.

The plain version sends the prompts of the run to the same engine, in the same process, with
``cache_prompt`` off and one token to write: what it does not do is play the episodes, score the
options and write the record. ``python -m benchmarks.trained`` prints both, and exits with 1 where a
token is read more than 1.02 times or the run is not twice as fast as the plain version.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from wayword.core.model import Prompt
from wayword.models.local import LocalModel, LocalSettings
from wayword.runs import Plan, RunFolder, run

EPISODES, READ_BOUND, FASTER = 5, 1.02, 2.0


def text(prompt: Prompt) -> str:
    """The characters of a prompt, without a chat template."""
    return prompt if isinstance(prompt, str) else "\n".join(str(m.content) for m in prompt)


def plain(agent: str, prompts: list[str]) -> float:
    """Seconds that the engine takes for the prompts, each from its start."""
    engine = LocalModel(agent, LocalSettings(threads=1))._load_engine()
    began = time.perf_counter()
    for prompt in prompts:
        engine.complete({"prompt": prompt, "max_tokens": 1, "cache_prompt": False})
    return time.perf_counter() - began


def measure(agent: str, on: str, out: Path) -> bool:
    """Play, print a line, and return True if both bounds hold."""
    settings = {"model": {"threads": 1}}
    plan = Plan(agent, on, f"local:{agent}", settings, limit=EPISODES, concurrency=1, out=out)
    began = time.perf_counter()
    result = run(plan)
    seconds = time.perf_counter() - began
    episodes = [
        [call for call in record.trajectory.calls() if call.answer is not None]
        for record in RunFolder.read(result.path).records()
    ]
    calls = [call for episode in episodes for call in episode]
    usages = [[call.answer.usage for call in each if call.answer] for each in episodes]
    evaluated = sum(usage.prompt - usage.reused for each in usages for usage in each)
    read = evaluated / sum(each[-1].prompt for each in usages)
    slow = plain(agent, [text(call.prompt) for call in calls])
    print(
        f"{agent:<7} {seconds / EPISODES:6.2f} s an episode, {len(calls)} calls, each token read "
        f"{read:.3f} times (at most {READ_BOUND}), {slow / seconds:.1f}× as fast as from the start "
        f"(at least {FASTER:g}×)"
    )
    return read <= READ_BOUND and slow >= FASTER * seconds


def main() -> int:
    """Measure, print, and return 1 where a bound is missed."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = (("walker", "houses:test"), ("velma", "towns:test"))
        held = [measure(agent, on, Path(folder) / agent) for agent, on in pairs]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())

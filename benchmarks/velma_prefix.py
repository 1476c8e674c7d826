"""What a growing prompt saves: one walk of VELMA, 24 steps,, with and without reuse of the prefix.

The prompts are those of a generated town's episode, two examples included, walked along its gold
path; the embedded model ranks the five actions after each. With reuse, the prompts are given as
the agent gives them: each one continues the last. Without, each begins with a line of its own, so
that nothing the engine keeps fits; that line's tokens are counted like any other.

``python -m benchmarks.velma_prefix`` prints tokens evaluated, seconds and their ratios, and exits
with 1 below ten times fewer tokens or eight times less time. ``--steps`` shortens the walk.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks._rows import Rows
from wayword.agents.velma.agent import Velma, VelmaSettings
from wayword.core.dataset import Task
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.datasets.towns import Towns
from wayword.models.local import LocalModel, LocalSettings
from wayword.worlds.street.moves import WORDS

STEPS = 24


@dataclass(frozen=True, slots=True)
class Cost:
    """What a series of calls took."""

    evaluated: int
    whole: int
    seconds: float


class Guide(Model):
    """A model that knows the way, and keeps the prompts it was asked with."""

    name = "guide"

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self.prompts = list[str]()

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        self.prompts.append(str(prompt))
        word = self._words[len(self.prompts) - 1]
        return Choice(
            tuple(options), tuple(0.0 if o == word else -9.0 for o in options)
        )

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise AssertionError("VELMA ranks words here")

    async def aclose(self) -> None:
        """Nothing to close."""


def prompts_of_a_walk(steps: int) -> list[str]:
    """The prompts of the first episode that takes so many calls, cut there."""
    towns = Towns()
    for task in towns.tasks:
        words = [action.name for action in towns.demonstration(task).actions]
        if len(words) > steps:
            return _walked(towns, task, words)[:steps]
    raise SystemExit(f"no episode takes more than {steps} steps")


def _walked(towns: Towns, task: Task, words: list[str]) -> list[str]:
    guide = Guide(words[len(task.episode.extra["opening"]) :])
    setup = Setup(
        towns,
        lambda toolkit, actor: Velma(VelmaSettings(), toolkit),
        {"main": guide},
        max_steps=55,
    )
    ended = asyncio.run(rollout(task, setup)).ended
    assert ended == "stopped", ended
    return guide.prompts


async def cost(prompts: Sequence[str]) -> Cost:
    """Rank the actions after each prompt with a fresh model; loading it is not counted."""
    model = LocalModel("smollm2", LocalSettings(slots=1))
    try:
        await model.choose("The sky is", ("blue", "green"))
        began = time.perf_counter()
        usages = [(await model.choose(prompt, WORDS)).usage for prompt in prompts]
        seconds = time.perf_counter() - began
    finally:
        await model.aclose()
    evaluated = sum(usage.prompt - usage.reused for usage in usages)
    return Cost(evaluated, sum(usage.prompt for usage in usages), seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether the bounds hold."""
    parser = argparse.ArgumentParser(description="prefix reuse on one walk of VELMA")
    parser.add_argument("--steps", type=int, default=STEPS)
    prompts = prompts_of_a_walk(parser.parse_args(arguments).steps)
    longest = max(map(len, prompts))
    print(
        f"{len(prompts)} prompts, the longest {longest:,} characters; local:smollm2, one thread"
    )
    kept = asyncio.run(cost(prompts))
    fresh = asyncio.run(
        cost([f"{number}\n{prompt}" for number, prompt in enumerate(prompts)])
    )
    for name, each in (("reused", kept), ("not reused", fresh)):
        print(
            f"{name:<11} {each.evaluated:>8,} of {each.whole:,} tokens, {each.seconds:7.1f} s"
        )
    rows = Rows("velma_prefix")
    rows.add("fewer_tokens", fresh.evaluated / kept.evaluated, at_least=10)
    rows.add("faster", fresh.seconds / kept.seconds, at_least=8)
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())

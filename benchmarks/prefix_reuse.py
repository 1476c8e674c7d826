"""Tokens that the embedded model evaluates where prompts grow, by its engine's own count.

A prompt that grows for 40 steps, ranked at each, with and without the prefix cache: the plain
version asks the same engine the same questions with ``cache_prompt`` off, and both must rank the
actions alike. The ideal is each prompt token once.

NavGPT with numbered exits, walks of 8 steps in generated houses, and on R2R where ``$WAYWORD_DATA``
is set. The ideal is each token of an episode's last prompt once, without the answers in it, which
the model has written itself, and without what the episode before has in common with it.

``python -m benchmarks.prefix_reuse`` prints the ratios and exits with 1 where fewer than 10 times
fewer tokens are read, more than 1.1 times the ideal, or it is not 5 times as fast.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks._rows import Rows
from wayword.agents.navgpt.agent import NavGPT, NavGPTSettings
from wayword.core.action import Rejection
from wayword.core.model import Completion, Prompt, Sampling, Usage, Wrapper
from wayword.core.rollout import Setup, rollout
from wayword.models.local import LocalModel, LocalSettings
from wayword.models.parts.decoding import continued
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan

STEPS = 40
ACTIONS = ("forward", "left", "right", "stop", "around")
"""Words of one token each, so that one pass of the plain version ranks them exactly as well."""
OPENING = (
    "Follow the instruction through the streets. Actions: forward, left, right, around, "
    "stop.\nInstruction: Go straight past the pharmacy, turn left at the second light, and stop "
    "beside the blue awning.\nActions and observations:\n"
)


@dataclass(frozen=True, slots=True)
class Walk:
    """What one way of asking took."""

    best: tuple[str, ...]
    prompt: int
    read: int
    seconds: float


def prompts() -> list[str]:
    """The prompt before each of the steps; each is the one before and two more lines."""
    text = OPENING
    found = []
    for step in range(1, STEPS + 1):
        found.append(f"{text}{step}.")
        text += f"{step}. forward\nShop {step} is on your right.\n"
    return found


async def reusing(model: LocalModel) -> Walk:
    """The model as agents use it."""
    began = time.perf_counter()
    best = []
    read = 0
    longest = 0
    for prompt in prompts():
        choice = await model.choose(prompt, ACTIONS)
        best.append(choice.best)
        read += choice.usage.prompt - choice.usage.reused
        longest = choice.usage.prompt
    return Walk(tuple(best), longest, read, time.perf_counter() - began)


def plain(model: LocalModel) -> Walk:
    """Every prompt from its start; the actions by their first tokens out of one pass."""
    engine = model._load_engine()
    base = OPENING
    endings = [continued("1.", action)[1] for action in ACTIONS]
    first = [token for (token,) in map(engine.tokens, endings)]
    began = time.perf_counter()
    best = []
    read = 0
    for prompt in prompts():
        base = prompt
        payload = {
            "prompt": base,
            "max_tokens": 1,
            "temperature": 0.0,
            "logprobs": 20_000,
        }
        answer = engine.complete({**payload, "cache_prompt": False})
        listed = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        found = {entry["id"]: entry["logprob"] for entry in listed}
        scores = [found.get(token, -100.0) for token in first]
        best.append(ACTIONS[scores.index(max(scores))])
        read += answer["timings"]["prompt_n"]
    return Walk(
        tuple(best), len(engine.tokens(base)), read, time.perf_counter() - began
    )


async def _both() -> tuple[Walk, Walk]:
    model = LocalModel("smollm2", LocalSettings(slots=1, context=4096))
    model._load_engine()
    try:
        return await reusing(model), plain(model)
    finally:
        await model.aclose()


def measure() -> dict[str, float]:
    """``fewer_tokens`` and ``faster`` over the plain version; ``of_ideal``: read / prompt."""
    ours, theirs = asyncio.run(_both())
    assert ours.best == theirs.best, (ours.best, theirs.best)
    return {
        "fewer_tokens": theirs.read / ours.read,
        "of_ideal": ours.read / ours.prompt,
        "faster": theirs.seconds / ours.seconds,
        "seconds": ours.seconds,
        "seconds_plain": theirs.seconds,
        "tokens": float(ours.read),
        "tokens_plain": float(theirs.read),
    }


EPISODES = 4
TURNS = 8


class Walking(Wrapper):
    """The model, which may not stop, and what its calls took."""

    def __init__(self, inner: LocalModel) -> None:
        super().__init__(inner)
        self.usage: list[Usage] = []
        self.seconds = self.processor = 0.0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        assert sampling.json_schema is not None
        properties: Any = {
            **sampling.json_schema["properties"],
            "arrived": {"enum": [False]},
        }
        schema = {**sampling.json_schema, "properties": properties}
        began = time.perf_counter()
        processor = time.process_time()
        answer = await self._inner.complete(
            prompt, replace(sampling, json_schema=schema)
        )
        self.seconds += time.perf_counter() - began
        self.processor += time.process_time() - processor
        self.usage.append(answer.usage)
        return answer

    async def choose(self, prompt: Prompt, options: object) -> Any:
        raise AssertionError("NavGPT ranks nothing")


def navgpt(
    on: str, settings: NavGPTSettings, episodes: int = EPISODES
) -> dict[str, float]:
    """``of_ideal``: tokens evaluated / needed; ``seconds`` and ``processor`` time a call."""
    data = os.environ.get("WAYWORD_DATA")
    dataset = open_dataset(Plan("navgpt", on, data=Path(data) if data else None))
    local = LocalModel("smollm2")
    local._load_engine()
    model = Walking(local)
    read = 0
    needed = 0
    rejected = 0
    calls = 0

    async def play() -> None:
        nonlocal read, needed, rejected, calls
        for task in dataset.tasks[:: max(1, len(dataset.tasks) // episodes)][:episodes]:
            model.usage.clear()
            setup = Setup(
                dataset, lambda tools, actor: NavGPT(settings, tools), {"main": model},
                max_steps=TURNS,
            )  # fmt: skip
            played = await rollout(task, setup)
            assert played.ended != "failed", played.error
            rejected += sum(
                isinstance(step.decision, Rejection) for step in played.steps
            )
            first, *_, last = model.usage
            answers = sum(usage.completion for usage in model.usage[:-1])
            needed += last.prompt - answers - first.reused
            read += sum(usage.prompt - usage.reused for usage in model.usage)
            calls += len(model.usage)
        await model.aclose()

    asyncio.run(play())
    return {
        "of_ideal": read / needed,
        "read": read,
        "needed": needed,
        "calls": calls,
        "rejected": rejected,
        "seconds": model.seconds / calls,
        "processor": model.processor / calls,
    }


def walks() -> float:
    """Print NavGPT's ratio on each dataset; return the worst."""
    worst = 0.0
    for on in ["houses"] + (["r2r:val_seen"] if os.environ.get("WAYWORD_DATA") else []):
        found = navgpt(on, NavGPTSettings(decoding="numbered"))
        print(
            f"NavGPT with numbered exits on {on}: {found['of_ideal']:.2f}× the tokens needed "
            f"({found['read']:.0f} of {found['needed']:.0f}), "
            f"{found['calls']:.0f} calls, {found['rejected']:.0f} rejected (at most 0), "
            f"{found['seconds']:.2f} s and {found['processor']:.2f} s of processor time a call"
        )
        assert not found["rejected"]
        worst = max(worst, found["of_ideal"])
    return worst


def main() -> int:
    """Print the ratios; 1 where a bound is broken."""
    found = measure()
    tokens = f"{found['tokens']:.0f} instead of {found['tokens_plain']:.0f} tokens"
    seconds = f"{found['seconds']:.1f} instead of {found['seconds_plain']:.1f} s"
    print(
        f"prefix reuse over {STEPS} steps, tokens read: {found['fewer_tokens']:.1f}× fewer",
        end="",
    )
    print(
        f" ({tokens}), {found['of_ideal']:.2f}× the prompt itself",
        end="",
    )
    print()
    print(
        f"prefix reuse over {STEPS} steps, time: {found['faster']:.1f}× faster", end=""
    )
    print(f" ({seconds})")
    rows = Rows("prefix_reuse")
    rows.add("fewer_tokens", found["fewer_tokens"], at_least=10)
    rows.add("tokens_of_ideal", found["of_ideal"], at_most=1.1)
    rows.add("faster", found["faster"], at_least=5)
    rows.add("navgpt_tokens_of_ideal", walks(), at_most=1.1)
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())

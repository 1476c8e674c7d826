"""A prompt that grows for 40 steps, ranked at each, with and without the prefix cache.

The plain version asks the same engine the same questions with ``cache_prompt`` off. Both must rank
the actions alike. Tokens read are counted by the engine; the ideal is each prompt token once.

``python -m benchmarks.prefix_reuse`` prints the ratios and exits with 1 where fewer than 10 times
fewer tokens are read, more than 1.1 times the ideal, or it is not 5 times as fast.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass

from wayword.models.local import LocalModel, Settings
from wayword.models.parts.decoding import continued

STEPS = 40
ACTIONS = ("forward", "left", "right", "stop", "around")
"""Words of one token each, so that one pass of the plain version ranks them exactly as well."""
FEWER_TOKENS, OF_IDEAL, FASTER = 10.0, 1.1, 5.0
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
    text, found = OPENING, []
    for step in range(1, STEPS + 1):
        found.append(f"{text}{step}.")
        text += f"{step}. forward\nShop {step} is on your right.\n"
    return found


async def reusing(model: LocalModel) -> Walk:
    """The model as agents use it."""
    began, best, read, longest = time.perf_counter(), [], 0, 0
    for prompt in prompts():
        choice = await model.choose(prompt, ACTIONS)
        best.append(choice.best)
        read += choice.usage.prompt - choice.usage.reused
        longest = choice.usage.prompt
    return Walk(tuple(best), longest, read, time.perf_counter() - began)


def plain(model: LocalModel) -> Walk:
    """Every prompt from its start; the actions by their first tokens out of one pass."""
    engine = model._loaded()
    base, endings = OPENING, [continued("1.", action)[1] for action in ACTIONS]
    first = [token for (token,) in map(engine.tokens, endings)]
    began, best, read = time.perf_counter(), [], 0
    for prompt in prompts():
        base = prompt
        payload = {"prompt": base, "max_tokens": 1, "temperature": 0.0, "logprobs": 20_000}
        answer = engine.complete({**payload, "cache_prompt": False})
        listed = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        found = {entry["id"]: entry["logprob"] for entry in listed}
        scores = [found.get(token, -100.0) for token in first]
        best.append(ACTIONS[scores.index(max(scores))])
        read += answer["timings"]["prompt_n"]
    return Walk(tuple(best), len(engine.tokens(base)), read, time.perf_counter() - began)


async def _both() -> tuple[Walk, Walk]:
    model = LocalModel("smollm2", Settings(slots=1, context=4096))
    model._loaded()
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


def main() -> int:
    """Print the ratios; 1 where a bound is broken."""
    found = measure()
    tokens = f"{found['tokens']:.0f} instead of {found['tokens_plain']:.0f} tokens"
    seconds = f"{found['seconds']:.1f} instead of {found['seconds_plain']:.1f} s"
    print(
        f"prefix reuse over {STEPS} steps, tokens read: {found['fewer_tokens']:.1f}× fewer", end=""
    )
    print(
        f" ({tokens}; at least {FEWER_TOKENS}×), {found['of_ideal']:.2f}× the prompt itself", end=""
    )
    print(f" (at most {OF_IDEAL}×)")
    print(f"prefix reuse over {STEPS} steps, time: {found['faster']:.1f}× faster", end="")
    print(f" ({seconds}; at least {FASTER}×)")
    kept = found["fewer_tokens"] >= FEWER_TOKENS and found["of_ideal"] <= OF_IDEAL
    return int(not kept or found["faster"] < FASTER)


if __name__ == "__main__":
    sys.exit(main())

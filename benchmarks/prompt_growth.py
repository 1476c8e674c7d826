"""How much of a NavGPT prompt the next one repeats, in small pieces of text.

Random walks of eight steps in generated houses, and on R2R where ``$WAYWORD_DATA`` is set. For
each pair of successive prompts: the share of the shorter one's tokens *before its current
observation* that stand at the start of the other. The bound is 90%, for every pair.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks._rows import Rows
from wayword.agents.navgpt.agent import NavGPT, NavGPTSettings
from wayword.core.agent import Agent, Toolkit
from wayword.core.model import Message, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.models.scripted import ScriptedModel
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan

EPISODES = 12
STEPS = 8


class Wanderer:
    """Answers with a random legal viewpoint, never stops, and keeps the prompts."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self._rng = random.Random(0)

    def __call__(self, prompt: Prompt, sampling: Sampling) -> str:
        assert not isinstance(prompt, str)
        self.prompts.append(
            "\n".join(m.content for m in prompt if isinstance(m, Message))
        )
        assert sampling.json_schema is not None
        legal = sampling.json_schema["properties"]["action"]["enum"]
        chosen = self._rng.choice(legal)
        return json.dumps(
            {"thought": "I go on this way.", "arrived": False, "action": chosen}
        )


def tokens(text: str) -> list[str]:
    """Words and marks: for a shared prefix, any cut into small pieces gives the same share."""
    return re.findall(r"\w{1,4}|\s|[^\w\s]", text)


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens both begin with."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def shares(on: str, data: Path | None) -> list[float]:
    """The share of each pair of successive prompts."""
    dataset = open_dataset(Plan("navgpt", on, data=data))
    found = []
    for task in dataset.tasks[:: max(1, len(dataset.tasks) // EPISODES)][:EPISODES]:
        wanderer = Wanderer()

        def build(toolkit: Toolkit, actor: str) -> Agent:
            return NavGPT(NavGPTSettings(), toolkit)

        models = {"main": ScriptedModel(answers=wanderer)}
        asyncio.run(rollout(task, Setup(dataset, build, models, max_steps=STEPS)))
        for before, after in pairwise(wanderer.prompts):
            kept = tokens(before[: before.rindex("\nObservation: ")])
            found.append(shared(kept, tokens(after)) / len(kept))
    return found


def main() -> int:
    """Print the least and mean share; 1 when a pair shares less than the bound."""
    data = os.environ.get("WAYWORD_DATA")
    rows = Rows("prompt_growth")
    found = shares("houses", None)
    print(f"houses: {len(found)} pairs of prompts, mean {sum(found) / len(found):.1%}")
    rows.add("least_share_houses", min(found), at_least=0.9)
    if data:
        found = shares("r2r:val_seen", Path(data))
        print(f"R2R: {len(found)} pairs of prompts, mean {sum(found) / len(found):.1%}")
        rows.add("least_share_r2r", min(found), at_least=0.9)
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())

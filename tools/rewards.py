"""Table of docs/training.md, by its script ``tabular.py``: python tools/rewards.py

Prints how many of the last episodes are solved with each reward: of the last quarter of the
episodes, as the mean of three seeds. It takes a few minutes.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SEEDS = (0, 1, 2)
LAST = 4
"""The last episodes are one of so many parts of all."""


class Setting(NamedTuple):
    """A row of the table: ``routes`` episodes of the dataset ``on``, played ``episodes`` times."""

    title: str
    on: str
    routes: int
    episodes: int


REWARDS = ("success", "guided", "potential", "progress", "cost")
SETTINGS = (
    Setting("1 house route, 200 episodes", "houses:train", 1, 200),
    Setting("2 house routes, 400 episodes", "houses:train", 2, 400),
    Setting("10 house routes, 2,000 episodes", "houses:train", 10, 2000),
    Setting("2 town routes, 400 episodes", "towns:train", 2, 400),
    Setting("2 tasks of `grounding`, 300 episodes", "grounding:train", 2, 300),
)
SLOW = ("potential", "progress", "cost")
"""Rewards that are left out on ``grounding``, where the first two plan at every step."""


def script() -> Callable[..., Any]:
    """Return ``train`` of the page's ``tabular.py``."""
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    _, _, text = page.partition('title="tabular.py"\n')
    module = ModuleType("tabular")
    exec(text.partition("```")[0], vars(module))
    train: Callable[..., Any] = module.train
    return train


def solved(reward: str, setting: Setting) -> float:
    """Return the share of the last episodes that are solved, the mean of the seeds."""
    train = script()
    shares = []
    for seed in SEEDS:
        train(reward, seed, setting.episodes, setting.on, setting.routes)
        log = Path(f"{reward}-seed-{seed}.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(line)["success"] for line in log.splitlines()]
        last = rows[-(setting.episodes // LAST) :]
        shares.append(sum(last) / len(last))
    return sum(shares) / len(shares)


def line(setting: Setting) -> str:
    """Return a row of the table, in percent."""
    cells = []
    for reward in REWARDS:
        is_slow = setting.on.startswith("grounding") and reward in SLOW
        cells.append("" if is_slow else f"{100 * solved(reward, setting):.0f}")
    return " ".join(
        ["|", setting.title, *(f"| {cell}".rstrip() for cell in cells), "|"]
    )


def main() -> None:
    """Print the rows of the table; the logs are written to a folder that is removed."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for setting in SETTINGS:
                print(line(setting), flush=True)
        finally:
            os.chdir(before)


if __name__ == "__main__":
    main()

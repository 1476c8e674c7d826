"""Cost of 100 R2R episodes in each way to pay: the table of docs/models.md.

    python tools/costs.py --data /path/to/data

Each episode is rehearsed as for `--dry-run`: the agent sends its prompts for as many steps as the
expert takes and 10% more, and gets legal actions and thoughts of typical length. No model is asked.
Cached are the tokens that a prompt shares with an earlier one of its episode, from 1,024 on. A
reasoning model is taken to use 40% of its budget of thinking; `--thinking 0` leaves that out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from wayword.runs.forecast import forecast
from wayword.runs.plan import Plan

AGENTS = ("navgpt", "discussnav", "react")
EPISODES = 100


def main() -> None:
    """Print the table in Markdown, a line an agent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--on", default="r2r:val_seen")
    parser.add_argument("--model", default="openai:gpt-6-sol")
    parser.add_argument("--thinking", type=int, help="budget of a call, in tokens")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    given = parser.parse_args()
    settings = {}
    if given.thinking is not None:
        settings = {"model": {"thinking": given.thinking}}
    payments: list[str] = []
    for agent in AGENTS:
        plan = Plan(
            agent,
            given.on,
            given.model,
            settings,
            limit=given.episodes,
            data=given.data,
        )
        estimate = forecast(plan, rehearsed=given.episodes)
        if not payments:
            payments = list(estimate.ways)
            columns = ["Agent", "calls", "read", "shared", "written", *payments]
            print(f"| {' | '.join(columns)} |")
            print(f"|{' --- |' * len(columns)}")
        row = [
            f"`{agent}`",
            f"{estimate.calls:.1f}",
            f"{estimate.prompt_tokens / 1e6:.2f} M",
            f"{estimate.shared:.0%}",
            f"{estimate.completion_tokens / 1e6:.2f} M",
            *(f"${estimate.ways[way]:.2f}" for way in payments),
        ]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()

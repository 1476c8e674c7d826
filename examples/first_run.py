"""A first run: two agents without a model in generated houses, and their table."""

from pathlib import Path

import wayword
from wayword.runs.reports import table

runs = Path("runs/first")
for agent in ("oracle", "random"):
    result = wayword.run(wayword.Plan(agent, "houses", limit=10, out=runs / agent))
    print(f"{agent}: {result.outcome.finished} episodes in {result.path}")

print(table([runs], keys=["sr", "spl", "ne", "tl"]))

"""A first run: two agents without a model in generated houses, and their table."""

import wayword
from wayword.runs.reports import table

for agent in ("oracle", "random"):
    result = wayword.run(agent, "houses", limit=10, out=f"runs/first/{agent}")
    print(f"{agent}: {result.outcome.finished} episodes in {result.path}")

print(table("runs/first", keys=["sr", "spl", "ne", "tl"]))

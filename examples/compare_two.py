"""Two runs episode by episode: does walking on help a random walker?"""

from pathlib import Path

import wayword
from wayword.runs.reports import compare

runs = {}
for steps in (2, 6):
    plan = wayword.Plan(
        "random", "houses", settings={"steps": steps}, limit=20, out=Path(f"runs/steps-{steps}")
    )
    runs[steps] = wayword.run(plan).path

print(compare(runs[2], runs[6], keys=["sr", "osr", "ne", "tl"]).text)

"""Walk the gold path of a generated house, and say what there is on the way.

python examples/houses_tour.py            prints the tour
python examples/houses_tour.py plan.svg   draws the floor plan with the path as well
"""

import sys
from pathlib import Path

from wayword.datasets.houses import Houses
from wayword.datasets.procedural.houses.plan_svg import plan_svg

houses = Houses("train", None, Houses.Settings(houses=1, episodes=3, seed=7))
task, eyes = houses.tasks[0], houses.perceiver()
print(task.episode.instruction)
for viewpoint in task.reference.path:
    print(f"  {viewpoint}  {eyes.perceive(task.episode.scene, viewpoint).summary}")
if len(sys.argv) > 1:
    house = houses.house(task.episode.scene)
    Path(sys.argv[1]).write_text(plan_svg(house, task.reference.path), encoding="utf-8")

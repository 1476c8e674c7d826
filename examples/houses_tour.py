"""Walk the gold path of a generated house, and describe each place on it."""

from wayword.datasets.houses import Houses

houses = Houses("train", None, Houses.Settings(houses=1, episodes=3, seed=7))
task = houses.tasks[0]
eyes = houses.perceiver()
print(task.episode.instruction)
for viewpoint in task.reference.path:
    print(f"  {viewpoint}  {eyes.perceive(task.episode.scene, viewpoint).summary}")

"""An agent of your own: keep going as straight as possible. ``wayword run examples/my_agent.py``.

The class at the bottom is all there is to it; the last lines play it from Python.
"""

from dataclasses import dataclass

from wayword.core.action import STOP, Decision
from wayword.core.agent import Agent
from wayword.core.geometry import relative


@dataclass(frozen=True)
class Settings:
    """``steps``: moves before it stops."""

    steps: int = 5


class Straight(Agent):
    """Takes the neighbor that turns least, and stops after ``steps`` moves."""

    Settings = Settings
    families = frozenset({"indoor"})

    def __init__(self, settings, toolkit):
        self.left = settings.steps

    async def act(self, observation, space):
        if self.left == 0 or not observation.neighbors:
            return Decision(STOP, "far enough")
        turns = [
            abs(relative(one.heading, observation.heading))
            for one in observation.neighbors
        ]
        return Decision(space.listed[turns.index(min(turns))], "straight on")

    def on_feedback(self, decision, feedback):
        self.left -= 1


agent = Straight

if __name__ == "__main__":
    import wayword

    result = wayword.run(Straight, "houses", limit=10, out="runs/straight")
    print(result.table(["sr", "spl", "ne", "steps"]))

"""An agent of one's own: keep going as straight as possible. ``wayword run examples/my_agent.py``.

The class at the bottom is all there is to it; the last lines play it from Python.
"""

from dataclasses import dataclass
from pathlib import Path

from wayword.core.action import STOP, Decision
from wayword.core.agent import Agent
from wayword.core.geometry import relative


@dataclass(frozen=True)
class Settings:
    """``steps``: moves before it stops."""

    steps: int = 5


class Straight(Agent):
    """Takes the way that turns least, and stops after ``steps`` moves."""

    Settings = Settings
    families = frozenset({"indoor"})

    def __init__(self, settings, toolkit):
        self.left = settings.steps

    async def act(self, observation, space):
        if self.left == 0 or not observation.neighbors:
            return Decision(STOP, "far enough")
        turns = [abs(relative(way.heading, observation.heading)) for way in observation.neighbors]
        return Decision(space.listed[turns.index(min(turns))], "straight on")

    def on_feedback(self, decision, feedback):
        self.left -= 1


agent = Straight

if __name__ == "__main__":
    import wayword
    from wayword.runs.reports import table

    plan = wayword.Plan(__file__, "houses", limit=10, out=Path("runs/straight"))
    print(table([wayword.run(plan).path], keys=["sr", "spl", "ne", "steps"]))

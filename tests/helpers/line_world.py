"""A user's file with a small world: a line of places. Tests change it before they write it."""

WORLD = """\
from dataclasses import dataclass

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, Reference
from wayword.core.world import Family, Feedback, Observation, World


@dataclass(frozen=True)
class Place(Observation):
    number: int


class Line(World):
    def reset(self, episode):
        self.place, self.stopped = 0, False

    def observe(self, actor):
        return Place(self.place)

    def action_space(self, actor):
        return ActionSpace((Action("right"), STOP))

    def step(self, actor, action):
        if action not in self.action_space(actor):
            raise ValueError(f"{action} is not possible here")
        self.place += action.name == "right"
        self.stopped = action == STOP
        return Feedback()

    def done(self, actor):
        return self.stopped

    def state(self):
        return {"place": self.place}


def task(number):
    episode = Episode(f"to_{number}", f"Walk to place {number}, then stop.", "line", {})
    return Task(episode, Reference(episode.id))


class Lines(Dataset):
    family = Family("line")
    tasks = [task(number) for number in (1, 2, 3)]

    def world(self, episode):
        return Line()

    def succeeded(self, task, trajectory):
        return task.episode.id == f"to_{trajectory.state['place']}"


dataset = Lines
"""

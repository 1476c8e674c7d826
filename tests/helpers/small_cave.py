"""A family without a verbalizer, whose actions take arguments that change with every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, Reference
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family, Feedback, Observation, World

DOORS = {
    "hall": ("tower", "old cellar"),
    "old cellar": ("hall",),
    "tower": ("hall", "roof"),
    "roof": ("tower",),
}
WORDS = "open sesame"


@dataclass(frozen=True)
class Seen(Observation):
    """The place, and a text."""

    room: str
    text: str


class Cave(World):
    """Go from room to room, take the lamp, say the words at the gate."""

    def __init__(self, lamp: str = "roof") -> None:
        self.lamp = lamp

    def reset(self, episode: Episode) -> None:
        """The hall."""
        self.room = "hall"
        self.has_lamp = False
        self.said = ""
        self.stopped = False

    def observe(self, actor: str) -> Seen:
        """No sentence says what can be done."""
        lamp = "There is a light." if self.room == self.lamp else "It is dark."
        return Seen(self.room, lamp)

    def action_space(self, actor: str) -> ActionSpace:
        """Doors, the lamp where it is, and a word at the gate."""
        listed = [Action("go", (room,)) for room in DOORS[self.room]]
        if self.room == self.lamp and not self.has_lamp:
            listed.append(Action("take", ("lamp",)))
        spoken = ("say",) if self.room == "hall" else ()
        return ActionSpace((*listed, STOP), open_verbs=spoken)

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out one of them."""
        if action not in self.action_space(actor):
            raise ValueError(f"{action} is not possible here")
        if action.name == "go":
            (self.room,) = action.arguments
        if action.name == "take":
            self.has_lamp = True
        if action.name == "say":
            (self.said,) = action.arguments
        self.stopped = action == STOP
        return Feedback()

    def done(self, actor: str) -> bool:
        """After a stop."""
        return self.stopped

    def state(self) -> Mapping[str, Any]:
        """Everything that changes."""
        return {"room": self.room, "has_lamp": self.has_lamp, "said": self.said}


class Caves(Dataset):
    """One cave."""

    family = Family("cave")
    max_steps = 12
    text = f"Find the lamp, take it, go back to the hall, say {WORDS!r}, then stop."
    tasks = (Task(Episode("a", text, "cave", {}), Reference("a")),)

    def world(self, episode: Episode) -> World:
        """A cave."""
        return Cave()

    def succeeded(self, task: Task, trajectory: Trajectory) -> bool:
        """Lamp, hall and words."""
        end = trajectory.state
        return end["has_lamp"] and end["room"] == "hall" and end["said"] == WORDS

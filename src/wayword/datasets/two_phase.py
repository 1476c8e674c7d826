"""The two-phase test: which room is the target in? Eight targets, four rooms, no data needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from random import Random

from wayword.core.dataset import INDEPENDENT, DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.settings import Checked, Count
from wayword.worlds import two_phase
from wayword.worlds.two_phase.world import (
    HALLWAY,
    SolvableTwoPhase,
    TwoPhaseReference,
    TwoPhaseWorld,
)

ROOM_OBJECTS: Mapping[str, tuple[str, ...]] = {
    "kitchen": ("sink", "fridge"),
    "living room": ("couch", "tv"),
    "bedroom": ("bed", "blanket"),
    "office": ("desk", "computer"),
}
"""Room -> objects that identify it. Table II of the paper."""
TARGET_ROOMS: Mapping[str, str] = {
    **dict.fromkeys(("Red Bull can", "Stevia sugar packets"), "kitchen"),
    **dict.fromkeys(("remote control", "coffee table"), "living room"),
    **dict.fromkeys(("bust", "olive-colored jacket"), "bedroom"),
    **dict.fromkeys(("silver pen", "whiteboard"), "office"),
}
"""Target -> the room it is in. Table II of the paper."""
QUESTIONS = [
    (target, room)
    for target, room in product(TARGET_ROOMS, ROOM_OBJECTS)
    if room != TARGET_ROOMS[target]
]
"""Pairs of a target and a start room."""


@dataclass(frozen=True)
class TwoPhaseSettings(Checked):
    """``shuffles``: number of times that each question is asked, with its objects in a new order.

    The first order is the table's with the hallway last; later orders are drawn from ``seed``.
    """

    shuffles: Count = 1
    seed: int = 0


class TwoPhase(SolvableTwoPhase):
    """Leave the room for the hallway, then choose the room that contains the target.

        >>> task = TwoPhase().tasks[0]
        >>> task.episode.instruction, task.episode.start["objects"]
        ('Find the Red Bull can.', ['couch', 'tv', 'hallway'])
        >>> task.reference.room
        'kitchen'

    Eight targets, each from the three rooms it is not in: 24 episodes, and 24 more per additional
    shuffle. Phase 1 lists the common objects of the start room and the hallway, phase 2 those of
    all four rooms. Going to a common object means going to its room.

    The paper ran this on a robot with a detector, so its success rate includes detection errors;
    here only the choices count.

    Source: LGX (Dorbala et al. 2024), Table II and Fig. 4.
    """

    Settings = TwoPhaseSettings
    family = two_phase.family
    clusters = INDEPENDENT
    splits = ("test",)
    max_steps = 10
    room_objects = ROOM_OBJECTS
    settings: TwoPhaseSettings

    @property
    def tasks(self) -> Sequence[Task]:
        """All questions in the table's order, then shuffled for each further round."""
        return DrawnTasks(len(QUESTIONS) * self.settings.shuffles, self._task)

    def world(self, episode: Episode) -> TwoPhaseWorld:
        """Return the hallway with its rooms of objects."""
        return TwoPhaseWorld(ROOM_OBJECTS)

    def _task(self, number: int) -> Task:
        """Return a question; the first round has the table's order, later ones a drawn one."""
        shuffle, index = divmod(number, len(QUESTIONS))
        target, room = QUESTIONS[index]
        objects = [*ROOM_OBJECTS[room], HALLWAY]
        phase_2_objects = list(chain.from_iterable(ROOM_OBJECTS.values()))
        if shuffle:  # the first order is the table's
            rng = Random(f"two_phase/{self.settings.seed}/{shuffle}/{target}/{room}")
            rng.shuffle(objects)
            rng.shuffle(phase_2_objects)
        name = f"{target} from {room} {shuffle}".lower().replace(" ", "_")
        start = {"room": room, "objects": objects, "beyond": phase_2_objects}
        episode = Episode(
            name,
            f"Find the {target}.",
            "home",
            start,
            extra={"target": target},
        )
        return Task(episode, TwoPhaseReference(name, TARGET_ROOMS[target]))


dataset = TwoPhase

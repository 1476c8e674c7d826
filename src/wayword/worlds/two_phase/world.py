"""The two-phase test as a world: leave a room for the hallway, then choose the right room.

    >>> from wayword.core.action import Action
    >>> from wayword.core.episode import Reference, Episode
    >>> rooms = {"kitchen": ("sink", "fridge"), "office": ("desk", "computer")}
    >>> world = TwoPhaseWorld(rooms)
    >>> start = {
    ...     "room": "office",
    ...     "objects": ["desk", "computer", "hallway"],
    ...     "beyond": ["sink", "desk", "fridge", "computer"],
    ... }
    >>> world.reset(Episode("1", "Find the can.", "home", start, extra={"target": "can"}))
    >>> world.step("agent", Action("go", ("hallway",))).status
    'ok'
    >>> world.observe("agent").objects
    ('sink', 'desk', 'fridge', 'computer')
    >>> world.step("agent", Action("go", ("fridge",))).details["room"]
    'kitchen'

There is no geometry and no detector: objects are listed and one is chosen, at most twice.

Source: LGX (Dorbala et al. 2024, section V-A, Table II and Fig. 4), without its robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.dataset import Dataset, Task, listed
from wayword.core.episode import Episode, JsonObject, Reference
from wayword.core.errors import DataError, UsageError
from wayword.core.game import ActionPlan
from wayword.core.starts import check_start
from wayword.core.world import Feedback, Observation, World
from wayword.worlds import two_phase

HALLWAY = "hallway"  # listed in the start room; choosing it leads to phase 2


@dataclass(frozen=True, slots=True)
class TwoPhaseObservation(Observation):
    """The objects listed in a place, empty once the test is over.

    ``phase`` is 1 in the start room and 2 in the hallway; ``target`` is the object to
    find.
    """

    family = two_phase.family

    target: str
    phase: int
    place: str
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TwoPhaseReference(Reference):
    """The room that contains the target."""

    room: str


class TwoPhaseWorld(World):
    """Two choices; family ``"two_phase"``. Actions: ``go[object]`` for each listed one, ``stop``.

    ``rooms``: room -> its common objects. Going to an object other than the hallway ends the
    episode, without feedback on whether it was right.
    """

    def __init__(self, rooms: Mapping[str, Sequence[str]]) -> None:
        self._room_of: dict[str, str] = {}
        for room, objects in rooms.items():
            self._room_of |= dict.fromkeys(objects, room)
        self._target = ""
        self._place = ""
        self._lists: tuple[tuple[str, ...], ...] = ((), ())  # the objects of each phase
        self._phase = 1
        self._is_done = False
        self._chosen = list[str]()

    def reset(self, episode: Episode) -> None:
        """Start the test. Raises ``DataError`` if objects of the start belong to no room."""
        check_start(episode, ("room", "objects", "beyond"))
        start = episode.start
        objects = tuple(map(str, start.get("objects", ())))
        beyond = tuple(map(str, start.get("beyond", ())))
        unknown = {*objects, *beyond} - {*self._room_of, HALLWAY}
        problem = ""
        if unknown:
            problem = f"objects without a room: {sorted(unknown)}"
        elif HALLWAY not in objects or not beyond:
            problem = "has no choices"
        if problem:
            raise DataError("two_phase", f"episode {episode.id}", problem)
        self._lists = (objects, beyond)
        self._target = str(episode.extra.get("target", episode.instruction))
        self._place = str(start["room"])
        self._phase = 1
        self._is_done = False
        self._chosen = []

    def observe(self, actor: str) -> TwoPhaseObservation:
        """Return the target, the phase, and what can be chosen now."""
        return TwoPhaseObservation(
            self._target,
            self._phase,
            self._place,
            self._listed(),
        )

    def action_space(self, actor: str) -> ActionSpace:
        """Return a choice for each listed object, and a stop."""
        return ActionSpace((*(Action("go", (obj,)) for obj in self._listed()), STOP))

    def step(self, actor: str, action: Action) -> Feedback:
        """Go to a listed object, or stop. Raises ``ValueError`` for any other action."""
        if action not in self.action_space(actor):
            raise ValueError(f"{action} is not on the menu")
        if action == STOP:
            self._is_done = True
            return Feedback("ok", {"action": "stop"})
        obj = action.arguments[0]
        self._chosen.append(obj)
        if obj == HALLWAY:
            self._place = HALLWAY
            self._phase = 2
        else:
            self._place = self._room_of[obj]
            self._is_done = True
        return Feedback("ok", {"object": obj, "room": self._place})

    def done(self, actor: str) -> bool:
        """True once an object other than the hallway is chosen, or the actor has stopped."""
        return self._is_done

    def pose(self, actor: str) -> JsonObject:
        """Return the place: a room or the hallway."""
        return {"place": self._place}

    def state(self) -> JsonObject:
        """Return place, phase, the objects chosen in order, and if the test is over."""
        chosen = list(self._chosen)
        return {
            "place": self._place,
            "phase": self._phase,
            "chosen": chosen,
            "done": self._is_done,
        }

    def route(self, room: str) -> list[str]:
        """Return the objects to choose from here to end in a room, which must be beyond
        the hallway.

        For oracles.
        """
        obj = next(obj for obj in self._lists[1] if self._room_of[obj] == room)
        return [HALLWAY, obj] if self._phase == 1 else [obj]

    def _listed(self) -> tuple[str, ...]:
        """Return the objects that can be chosen now."""
        return () if self._is_done else self._lists[self._phase - 1]


class SolvableTwoPhase(Dataset):
    """Two-phase tests: ``shortest`` goes to the hallway, then to an object of the target's room."""

    solutions = ("shortest",)

    def make_plan(
        self,
        task: Task,
        world: World,
        actor: str,
        kind: str,
    ) -> ActionPlan:
        """Return the choices of the shortest solution. Raises ``UsageError`` without a room."""
        reference = task.reference
        if not isinstance(reference, TwoPhaseReference) or not isinstance(
            world,
            TwoPhaseWorld,
        ):
            raise UsageError(f"episode {task.episode.id} has no published room")
        return listed(
            lambda: [Action("go", (obj,)) for obj in world.route(reference.room)]
        )


world = TwoPhaseWorld

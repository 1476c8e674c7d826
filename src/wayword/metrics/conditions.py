"""Goal conditions of an episode: their words, how many of their parts hold, and their objects."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.visible import spaced
from wayword.metrics.household import answer_is_right
from wayword.metrics.recorded import as_mapping
from wayword.worlds.household.goals import AnswerReference, HouseholdReference, kinds
from wayword.worlds.household.world import HouseholdWorld
from wayword.worlds.two_phase.world import TwoPhaseReference

Condition = tuple[str, int, int]
"""A goal condition: its words, how many of its parts hold, and how many there are."""


def conditions(reference: Any, state: JsonObject) -> list[Condition]:
    """Return the goal conditions of an episode with their final states; empty if unknown.

    In the order of the reference's goals.
    """
    if isinstance(reference, TwoPhaseReference):
        left = state.get("phase") == 2
        right = left and state.get("place") == reference.room
        return [
            ("leave the room", int(left), 1),
            (f"go to the {reference.room}", int(right), 1),
        ]
    if isinstance(reference, AnswerReference):
        right = bool(answer_is_right(state, reference.answer))
        given = "nothing"
        if answer := answer_given(state):
            given = f"“{answer}”"
        words = f"expected answer: “{reference.answer}”, given: {given}"
        return [(words, int(right), 1)]
    if not isinstance(reference, HouseholdReference):
        return []
    try:
        return [(goal.words, goal.met(state), goal.parts) for goal in reference.goals]
    except (KeyError, TypeError, AttributeError):
        # A run folder may hold a state that is not of this world.
        return []


def answer_given(state: JsonObject) -> str:
    """Return the answer that an actor gave, by the final state, or empty."""
    actors = map(as_mapping, as_mapping(state.get("actors")).values())
    return next((str(actor["answer"]) for actor in actors if actor.get("answer")), "")


def goal_ids(goal: Any) -> list[str]:
    """Return the ids of the objects that a goal condition is about, without its destination."""
    if isinstance(goal, str):  # a place to look at
        return [goal]
    ids: list[str] = []
    for part in getattr(goal, "dishes", (goal,)):
        ids += [*getattr(part, "objects", ()), *getattr(part, "lamps", ())]
        if single := getattr(part, "object", ""):
            ids.append(single)
    return ids


@dataclass(frozen=True)
class Sought:
    """The object of a goal condition, without its destination: its kind, the actors' names for such
    objects, their room (empty if there are several), their ids, True if they can be picked up,
    how many objects an actor can hold, and the final points (m) of those objects."""

    kind: str
    names: Set[str]
    room: str
    ids: Sequence[str] = ()
    small: bool = False
    hands: int = 1
    points: Sequence[tuple[float, float]] = ()

    @staticmethod
    def of(goal: Any, world: HouseholdWorld) -> Sought:
        """Find a goal's objects in the final world."""
        ids = goal_ids(goal)
        # Actors number objects in the order in which they see them, so each has its own names.
        called = [world.name(actor, each) for actor, each in product(world.actors, ids)]
        names = {name for name in called if name}
        placed = world.house.entities
        indices = [world.layout.index[each] for each in ids]
        points = [placed.point(i) for i in indices]
        rooms = {world.layout.room_at(x, y) for x, y in points}
        room = ""
        if len(rooms) == 1:
            room = spaced(rooms.pop())
        objects = [each for each in world.scene.objects if each.id in ids]
        # Objects of one kind may differ; one that can be picked up is enough.
        small = any("pickupable" in each.affordances for each in objects)
        bodies = [actor.body for actor in world.house.actors.values()]
        hands = max(body.inventory_capacity for body in bodies)
        return Sought(kinds(ids), names, room, ids, small, hands, points)

    def ended(self, words: str, state: JsonObject, parts: int = 1) -> str:
        """Return an unmet condition with where its object came to be.

        Its final place, or the number of such objects: ``kettle: sink basin, kitchen →
        cabinet``, ``bowl (either of 2) → cabinet``.
        """
        name, moved, target = words.partition(" in or on ")
        number = len(self.ids)
        # Any of several objects would have done, so none has a final place to name.
        if number > 1 and parts == 1 and moved:
            choice = "either" if number == 2 else "any"
            return f"{name} ({choice} of {number}) → {target}"
        placed: JsonObject = {}
        if number == 1:
            placed = as_mapping(as_mapping(state.get("objects")).get(self.ids[0]))
        where = []
        if holder := str(placed.get("in") or ""):
            where.append(kinds([holder]))
        if room := spaced(placed.get("room") or ""):
            where.append(room)
        place = ", ".join(where)
        if not place:
            return words
        if not moved and words.endswith(")"):  # ``safe (open)``
            name, _, required = words.removesuffix(")").partition(" (")
            return f"{name} ({place}): should be {required}"
        if not moved:
            return f"{words} (now in the {place})"
        # A destination that is as required needs no such word.
        required = " (open)" if placed.get("open") else " (closed)"
        target = target.removesuffix(required)
        return f"{name}: {place} → {target}"

"""Goal conditions of an episode: their words, how many of their parts hold, and their objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, product, zip_longest
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.visible import plural, spaced
from wayword.metrics.household import answer_is_right
from wayword.metrics.recorded import as_mapping
from wayword.worlds.household.goals import (
    AnswerReference,
    GoalCondition,
    HouseholdReference,
    Restored,
    kinds,
)
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
        found = [_of(goal, state) for goal in single_goals(reference)]
        # Each dish of a meal is another object, so all may hold without the meal.
        if all(met == parts for _, met, parts in found):
            meals = [_of(goal, state) for goal in reference.goals]
            found += [each for each in meals if each[1] < each[2]]
        return found
    except (KeyError, TypeError, AttributeError):
        # A run folder may hold a state that is not of this world.
        return []


def _of(goal: GoalCondition, state: JsonObject) -> Condition:
    """Return a goal condition's words, and how many of its parts hold in a state."""
    return goal.words, goal.met(state), goal.parts


def single_goals(reference: HouseholdReference) -> list[GoalCondition]:
    """Return the goals, and instead of a meal each condition on one of its dishes.

    That tells what is missing: ``pencil in or on side table``, not a table that is there.
    """
    return [*chain.from_iterable(getattr(g, "singles", (g,)) for g in reference.goals)]


def counted(words: str, met: int, parts: int) -> str:
    """Return a condition on several objects with their number: ``1 of 2 mugs in or on shelf``."""
    if parts == 1:
        return words
    head, moved, target = words.partition(" in or on ")
    if "," in head or " with " in head:  # no single object is counted
        return f"{words} ({met} of {parts} parts)"
    return f"{met} of {parts} {plural(head)}{moved}{target}"


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


def shown(
    found: Sequence[Condition], sought: Sequence[Sought], state: JsonObject
) -> list[Condition]:
    """Return conditions as pages word them, with the places of their objects."""
    listed = []
    for (words, met, parts), about in zip_longest(found, sought[: len(found)]):
        if met < parts and about:
            words = about.ended(words, state, met, parts)
        elif about and about.restored:
            words = about.kept(about.restored)
        else:
            words = counted(words, met, parts)
        listed.append((words, met, parts))
    return listed


def views(
    reference: AnswerReference, sought: Sequence[Sought], seen: Mapping[str, int]
) -> Condition:
    """Return how many places of a question were seen, and which were missed, as a condition.

    ``seen`` has the names of objects that came into view.
    """
    missed: Counter[str] = Counter()
    rooms: dict[str, None] = {}
    for item in sought:
        if seen.keys().isdisjoint(item.names):
            missed[item.kind] += 1
        if item.room:
            rooms[item.room] = None
    total = len(sought)
    viewed = total - missed.total()
    # Of several such objects, one may be enough.
    enough = reference.enough or total
    met = min(viewed, enough)
    where = f" in the {' or '.join(rooms)}" if rooms else ""
    if total == 1:
        verb = "saw" if viewed else "never saw"
        return f"{verb} the {sought[0].kind}{where}", met, enough
    words = f"saw {viewed} of {total} objects to look at{where}"
    if missed:
        kinds_missed = [
            f"{kind} ({n})" if n > 1 else kind for kind, n in missed.items()
        ]
        words += f", missed {missed.total()}: {', '.join(kinds_missed)}"
    return words, met, enough


@dataclass(frozen=True)
class Sought:
    """The object of a goal condition, without its destination: its kind, the actors' names for such
    objects that are not as required, their room (empty if there are several), their ids, True if
    they can be picked up, how many objects an actor can hold, the final points (m) of those
    objects, and ``labels``, a lone actor's names for objects by id.

    For a goal of rearrangement ``restored`` is that goal, ``several`` the kinds of which the home
    has several, and ``prepositions`` says for each receptacle whether objects are in or on it."""

    kind: str
    names: Set[str]
    room: str
    ids: Sequence[str] = ()
    small: bool = False
    hands: int = 1
    points: Sequence[tuple[float, float]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    restored: Restored | None = None
    several: Set[str] = frozenset()
    prepositions: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(goal: Any, world: HouseholdWorld) -> Sought:
        """Find a goal's objects in the final world."""
        ids = goal_ids(goal)
        # What is as required is not sought any more, unless that is all there is.
        left = [each for each in ids if not _is_met(goal, each, world)] or ids
        # Actors number objects in the order in which they see them, so each has its own names.
        called = [
            world.name(actor, each) for actor, each in product(world.actors, left)
        ]
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
        target = getattr(goal, "receptacle", "")
        labels = {}
        if len(world.actors) == 1 and target:
            for each in world.scene.objects:
                if name := world.name(next(iter(world.actors)), each.id):
                    labels[each.id] = spaced(name)
        found = Sought(
            kinds(ids), names, room, ids, small, hands, points, labels, target
        )
        if not isinstance(goal, Restored):
            return found
        numbers = Counter(kinds([each.id]) for each in world.scene.objects)
        return replace(
            found,
            restored=goal,
            several={kind for kind, number in numbers.items() if number > 1},
            prepositions={each.id: each.receptacle for each in world.scene.objects},
        )

    def ended(self, words: str, state: JsonObject, met: int = 0, parts: int = 1) -> str:
        """Return an unmet condition with where its object came to be.

        Its final place, or the number of such objects: ``kettle in or on cabinet (now: sink
        basin, kitchen)``, ``bowl (either of 2) in or on cabinet``. With the actor's numbers where
        it has seen the objects: ``toilet paper 2 in or on sink basin 1 (now: sink 1, bathroom)``.
        """
        if self.restored is not None:
            return self.misplaced(self.restored, state)
        if parts > 1:
            return counted(words, met, parts)
        name, moved, target = words.partition(" in or on ")
        number = len(self.ids)
        # Any of several objects would have done, so none has a final place to name.
        if number > 1:
            choice = f"({'either' if number == 2 else 'any'} of {number})"
            return f"{name} {choice}{moved}{target}"
        placed: JsonObject = {}
        if number == 1:
            placed = as_mapping(as_mapping(state.get("objects")).get(self.ids[0]))
            name = self.labels.get(self.ids[0], name) if moved else name
        where = []
        if holder := str(placed.get("in") or ""):
            where.append(self.labels.get(holder) or kinds([holder]))
        if room := spaced(placed.get("room") or ""):
            where.append(room)
        place = ", ".join(where)
        if not place:
            return words
        if not moved:
            return f"{words} (now: {place})"
        target = self.labels.get(self.target, target)
        return f"{name} in or on {target} (now: {place})"

    def misplaced(self, goal: Restored, state: JsonObject) -> str:
        """Return what is not as a goal of rearrangement requires: ``microwave: open, should be
        closed``, ``butter knife: in the sink basin, should be on the counter top``."""
        record = as_mapping(as_mapping(state.get("objects")).get(goal.object))
        holder = str(record.get("in") or "")
        now = []
        should = []
        if record.get("held") or holder != goal.receptacle:
            should.append(self._at(goal.receptacle))
            place = "held" if record.get("held") else self._at(holder)
            # Two of a kind that no actor has told apart.
            if place == should[0]:
                place = place.replace(" the ", " another ", 1)
            now.append(place)
        if bool(record.get("open")) != goal.open:
            now.append("closed" if goal.open else "open")
            should.append("open" if goal.open else "closed")
        name = self._called(goal.object)
        if not now:
            return f"{name}: {self._at(holder)}, but too far from its place there"
        return f"{name}: {' and '.join(now)}, should be {' and '.join(should)}"

    def kept(self, goal: Restored) -> str:
        """Return a met goal of rearrangement: ``microwave closed``, ``mug on the shelf``."""
        name = self._called(goal.object)
        # What cannot be carried was only to be opened or closed.
        if not self.small:
            return f"{name} {'open' if goal.open else 'closed'}"
        return f"{name} {self._at(goal.receptacle)}"

    def _called(self, object_id: str) -> str:
        """Return an object's kind, or its name if the home has several of its kind and the actor
        has seen it."""
        kind = kinds([object_id])
        return self.labels.get(object_id, kind) if kind in self.several else kind

    def _at(self, holder: str) -> str:
        """Return a place: ``in the sink basin``, ``on shelf 2``, ``on the floor``."""
        if not holder:
            return "on the floor"
        preposition = self.prepositions.get(holder) or "in or on"
        name = self._called(holder)
        article = "" if name[-1:].isdigit() else "the "
        return f"{preposition} {article}{name}"


def _is_met(goal: Any, object_id: str, world: HouseholdWorld) -> bool:
    """True if one of a goal's several objects is as required."""
    # Any of several would do for one part, so none is done as long as it is not met.
    # A place to look at for an answer is an id, and has no objects.
    if len(getattr(goal, "objects", ())) < 2 or goal.parts == 1:
        return False
    return bool(replace(goal, objects=(object_id,), parts=1).met(world.now()))

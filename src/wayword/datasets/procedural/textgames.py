"""Household tasks of generated homes as problems of ALFWorld's planning domain (PDDL).

A problem has the rooms that its task needs: ALFWorld's games are single rooms, too, and the planner
grounds every pair of furniture and object. A place is a piece of furniture that holds objects, and
every object lies in or on one. Names are those of AI2-THOR, as far as ALFWorld's engine reads them:
the type, ``_bar_``, and a number.

Source of the domain: ALFWorld (Shridhar et al. 2021), ``alfred.pddl``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from wayword.datasets.procedural.homes.chores import PICK_STACK
from wayword.worlds.household.goals import (
    GoalCondition,
    Has,
    Held,
    HouseholdReference,
    Inside,
    Lit,
    Trait,
)
from wayword.worlds.household.scene import HouseObject, Scene

RoomAt = Callable[[float, float], str]
"""The name of the room at a point (metres)."""

TREATED: Mapping[Trait, str] = {
    ("dirty", False): "isClean",
    ("temperature", "hot"): "isHot",
    ("temperature", "cold"): "isCool",
}
"""A trait of an object -> the fact of the domain."""

TREATABLE = ("cleanable", "heatable", "coolable")
"""What can be done to every object, as the words of a task do not exclude any."""

TOOLS: Mapping[str, str] = {
    "isClean": "sink_basin",
    "isHot": "microwave",
    "isCool": "fridge",
}
"""A fact -> the type of the furniture that brings it about."""

VERBS: Mapping[str, str] = {
    "isClean": "clean",
    "isHot": "heat",
    "isCool": "cool",
}
"""A fact -> the verb of the command that brings it about."""

# Types that the domain names: a problem without them would not be read.
NEEDED_FURNITURE = ("sink_basin", "microwave", "fridge")
NEEDED_OBJECTS = ("knife", "butter_knife")


@dataclass(frozen=True)
class _Room:
    """The part of a scene that a problem has: furniture, and the furniture of each object."""

    furniture: Sequence[HouseObject]
    place_of: Mapping[HouseObject, HouseObject]


@dataclass(frozen=True)
class TextGame:
    """A task in the planning domain: its ``problem``, and the commands that solve it."""

    problem: str
    walkthrough: Sequence[str]


def text_game(
    scene: Scene, room_at: RoomAt, reference: HouseholdReference
) -> TextGame | None:
    """Return the game of a task; None for a task that the domain does not have.

    The domain has no slices or stacks. A floor lamp lies in no receptacle, so it cannot
    be switched on; the engine fails to load a game whose goal no action can reach.
    """
    if reference.kind == PICK_STACK:
        return None
    needed = _needed(scene, reference.goals)
    # A trait such as sliced is not in the domain, and a home may have no tool for one.
    if not needed:
        return None
    part = _part(scene, room_at, needed)
    known = {each.id: each for each in (*part.furniture, *part.place_of)}
    conditions = [_condition(goal, known) for goal in reference.goals]
    # A goal's objects are missing from the problem, such as floor lamps.
    if not all(conditions):
        return None
    commands = _Walkthrough(part).commands(reference.goals)
    return TextGame(_problem(part, conditions), commands)


def _problem(part: _Room, conditions: Sequence[str]) -> str:
    """Return the PDDL problem of a part of a scene; ``conditions`` are its goals as formulas."""
    facts = [*_facts(part), *_types(part)]
    goal = " ".join(dict.fromkeys(conditions))
    return (
        "(define (problem home)\n(:domain alfred)\n(:objects\n"
        + "\n".join(_declared(part))
        + ")\n(:init\n"
        + "\n".join(facts)
        + f")\n(:goal (and {goal}))\n(:metric minimize (total-cost)))\n"
    )


def _needed(scene: Scene, goals: Sequence[GoalCondition]) -> list[HouseObject]:
    """Return the objects whose rooms the problem must have: those of the goals, and a tool for each
    trait.

    Empty if a goal has a trait that is not in the domain, or for which the home has no
    tool; ``_condition`` refuses unknown goals.
    """
    ids: set[str] = set()
    tools: set[str] = set()
    for goal in goals:
        traits: Sequence[Trait] = ()
        if isinstance(goal, Inside):
            ids |= {*goal.objects, *goal.receptacles}
            traits = goal.traits
        elif isinstance(goal, Has):
            ids |= set(goal.objects)
            traits = goal.traits
        elif isinstance(goal, Held):
            ids |= set(goal.objects)
        elif isinstance(goal, Lit):
            ids |= set(goal.lamps)
        if any(trait not in TREATED for trait in traits):
            return []
        tools |= {TOOLS[TREATED[trait]] for trait in traits}
    # One tool of each type is enough: the first one of the home.
    first = {each.type: each for each in reversed(scene.objects) if _is_furniture(each)}
    if not tools <= first.keys():
        return []
    found = [each for each in scene.objects if each.id in ids]
    return found + [first[tool] for tool in sorted(tools)]


def _part(scene: Scene, room_at: RoomAt, needed: Sequence[HouseObject]) -> _Room:
    """Return the furniture of the rooms of the needed objects, with what lies there."""
    by_id = scene.by_id()
    rooms = {room_at(each.x, each.y) for each in needed}
    furniture = [
        each
        for each in scene.objects
        if _is_furniture(each) and room_at(each.x, each.y) in rooms
    ]
    objects = {}
    for item in scene.objects:
        if _is_furniture(item) or not item.affordances & {"pickupable", "toggleable"}:
            continue
        under = by_id.get(item.parent)
        # What lies in a bowl lies on the bowl's furniture.
        while under is not None and not _is_furniture(under):
            under = by_id.get(under.parent)
        if under in furniture:
            objects[item] = under
    return _Room(furniture, objects)


def _is_furniture(item: HouseObject) -> bool:
    """True for a place: it holds objects, and is not carried."""
    return bool(item.receptacle) and "pickupable" not in item.affordances


def _condition(goal: GoalCondition, known: Mapping[str, HouseObject]) -> str:
    """Return a goal as a formula over its objects; empty if none of them is in the problem.

    ``known``: id -> object of the problem.
    """
    if isinstance(goal, Inside):
        pairs = [
            (known[each], known[place])
            for each in goal.objects
            for place in goal.receptacles
            if each in known and place in known
        ]
        if goal.parts == 2:
            return _two_inside(pairs)
        return _any(_inside(each, place, goal.traits) for each, place in pairs)
    if isinstance(goal, Has):
        return _any(_treated(known[o], goal.traits) for o in goal.objects if o in known)
    if isinstance(goal, Held):
        return _any(
            f"(holds agent1 {_name(known[each])})"
            for each in goal.objects
            if each in known
        )
    if isinstance(goal, Lit):
        return _any(
            f"(isToggled {_name(known[each])})" for each in goal.lamps if each in known
        )
    return ""


def _any(formulas: Iterable[str]) -> str:
    """Return a disjunction of formulas; empty without one."""
    listed = list(formulas)
    if len(listed) == 1:
        return listed[0]
    return f"(or {' '.join(listed)})" if listed else ""


def _inside(item: HouseObject, place: HouseObject, traits: Sequence[Trait]) -> str:
    """Return the formula that an object lies at a place, with its traits."""
    lies = f"(inReceptacle {_name(item)} {_name(place)})"
    return f"(and {lies} {_treated(item, traits)})" if traits else lies


def _two_inside(pairs: Sequence[tuple[HouseObject, HouseObject]]) -> str:
    """Return the formula that two objects lie at the same place."""
    return _any(
        f"(and {_inside(one, place, ())} {_inside(other, place, ())})"
        for one, place in pairs
        for other, its_place in pairs
        if its_place is place and one.id < other.id
    )


def _treated(item: HouseObject, traits: Sequence[Trait]) -> str:
    """Return the formula that an object has its traits."""
    return " ".join(f"({TREATED[trait]} {_name(item)})" for trait in traits)


def _name(item: HouseObject) -> str:
    """Return the name of an object in the problem."""
    kind, _, number = item.id.partition("|")
    kind = kind.replace("_", "")
    # The engine knows a basin by the second part of its sink's name.
    if kind == "sinkbasin":
        return f"sink_bar_{number}_bar_sinkbasin"
    return f"{kind}_bar_{number}"


def _type(kind: str) -> str:
    """Return the name of a type in the domain: ``SinkBasinType``."""
    return "".join(word.capitalize() for word in kind.split("_")) + "Type"


def _declared(part: _Room) -> list[str]:
    """Return the lines that declare what a problem has: agent, locations, objects and types."""
    furniture_types = {*NEEDED_FURNITURE, *(each.type for each in part.furniture)}
    object_types = {*NEEDED_OBJECTS, *(each.type for each in part.place_of)}
    return [
        "agent1 - agent",
        *(f"loc_bar_{number} - location" for number in range(len(part.furniture) + 1)),
        *(f"{_name(each)} - receptacle" for each in part.furniture),
        *(f"{_name(each)} - object" for each in part.place_of),
        *(f"{_type(each)} - rtype" for each in sorted(furniture_types)),
        *(f"{_type(each)} - otype" for each in sorted(object_types)),
    ]


def _facts(part: _Room) -> list[str]:
    """Return the lines of where everything is: a piece of furniture at each location from 1, the
    agent at 0, where none is."""
    facts = ["(atLocation agent1 loc_bar_0)", "(= (total-cost) 0)"]
    locations = {}
    for number, item in enumerate(part.furniture, 1):
        name = _name(item)
        locations[item] = f"loc_bar_{number}"
        facts.append(f"(receptacleAtLocation {name} {locations[item]})")
        facts.append(f"(receptacleType {name} {_type(item.type)})")
        if "openable" in item.affordances:
            facts.append(f"(openable {name})")
            if item.open:
                facts.append(f"(opened {name})")
    for item, under in part.place_of.items():
        name = _name(item)
        facts.append(f"(inReceptacle {name} {_name(under)})")
        facts.append(f"(objectAtLocation {name} {locations[under]})")
        facts.append(f"(objectType {name} {_type(item.type)})")
        if "toggleable" in item.affordances:
            facts.append(f"(toggleable {name})")
        if "pickupable" in item.affordances:
            facts.append(f"(pickupable {name})")
            facts += [f"({ability} {name})" for ability in TREATABLE]
    return facts


def _types(part: _Room) -> list[str]:
    """Return the lines of what furniture of a type can hold."""
    pairs = {}
    for place in part.furniture:
        for item in part.place_of:
            # No list means that it holds anything.
            if not place.accepts or item.type in place.accepts:
                pairs[_type(place.type), _type(item.type)] = True
    return [f"(canContain {place} {item})" for place, item in pairs]


# The commands that solve a game.


def spoken_names(part: _Room) -> dict[HouseObject, str]:
    """Return the engine's names: the type, and a number within the type.

    The engine numbers the sorted names of the problem from the highest number down.
    """
    by_kind: dict[str, list[HouseObject]] = {}
    for item in sorted((*part.furniture, *part.place_of), key=_name):
        kind = item.type.replace("_", "")
        by_kind.setdefault(kind, []).append(item)
    return {
        item: f"{kind} {len(items) - index}"
        for kind, items in by_kind.items()
        for index, item in enumerate(items)
    }


class _Walkthrough:
    """The commands of a player who knows where everything is.

    Methods add commands, in the order in which they are to be given.
    """

    def __init__(self, part: _Room) -> None:
        self._part = part
        self._names = spoken_names(part)
        self._opened = {each for each in part.furniture if each.open}
        self._place: HouseObject | None = None
        self._commands: list[str] = []

    def commands(self, goals: Sequence[GoalCondition]) -> list[str]:
        """Return the commands that meet the goals."""
        for goal in goals:
            if isinstance(goal, Held):
                self._take(self._first(goal.objects))
            elif isinstance(goal, Lit):
                lamp = self._first(goal.lamps)
                self._go(self._part.place_of[lamp])
                self._commands.append(f"use {self._names[lamp]}")
        # A treatment stands in several goals: the one with a place has all of it.
        inside = [goal for goal in goals if isinstance(goal, Inside)]
        if inside:
            self._bring(max(inside, key=lambda goal: len(goal.traits)))
        return self._commands

    def _bring(self, goal: Inside) -> None:
        """Treat as many objects as the goal asks for, and put them into the first place."""
        # Any of the places will do: the first in the order of the scene.
        places = [each for each in self._part.furniture if each.id in goal.receptacles]
        place = places[0]
        objects = [each for each in self._part.place_of if each.id in goal.objects]
        lies_there = [o for o in objects if self._part.place_of[o] is place]
        # An object that lies there needs no move, but one to be treated must be taken first.
        missing = goal.parts
        if not goal.traits:
            # Not below 0, as more may lie there than the goal asks for.
            missing = max(0, missing - len(lies_there))
            objects = [each for each in objects if each not in lies_there]
        for item in objects[:missing]:
            self._take(item)
            for trait in goal.traits:
                self._treat(item, TREATED[trait])
            self._go(place)
            self._commands.append(f"move {self._names[item]} to {self._names[place]}")

    def _treat(self, item: HouseObject, fact: str) -> None:
        """Bring about a fact of an object in the hand."""
        tools = [each for each in self._part.furniture if each.type == TOOLS[fact]]
        self._go(tools[0])
        names = f"{self._names[item]} with {self._names[tools[0]]}"
        self._commands.append(f"{VERBS[fact]} {names}")

    def _take(self, item: HouseObject) -> None:
        """Take an object from where it lies."""
        place = self._part.place_of[item]
        self._go(place)
        self._commands.append(f"take {self._names[item]} from {self._names[place]}")

    def _go(self, place: HouseObject) -> None:
        """Go to a place, and open it if it can be opened."""
        if place is not self._place:
            self._commands.append(f"go to {self._names[place]}")
            self._place = place
        if "openable" in place.affordances and place not in self._opened:
            self._commands.append(f"open {self._names[place]}")
            self._opened.add(place)

    def _first(self, ids: Sequence[str]) -> HouseObject:
        """Return the first of these objects, in the order of the scene."""
        return next(each for each in self._part.place_of if each.id in ids)

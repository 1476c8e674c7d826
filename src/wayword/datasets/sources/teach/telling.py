"""Telling: the task, and where things are, in words for the commander alone.

Things have the names by which the world will know them: ``type_n`` in the scene's order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from wayword.datasets.sources.teach.compiling import Compiled, Dish
from wayword.datasets.sources.teach.definitions import definitions, described, fill
from wayword.datasets.sources.teach.drawing import DrawnTask
from wayword.worlds.household.goals import GoalCondition, Has, Ids, Inside, Trait
from wayword.worlds.household.scene import HouseObject, Scene

TOGETHER = (
    "Two of you work together: the commander knows what is to be done and where things are, the "
    "follower does it."
)
"""What both are told."""
MORE_TOGETHER = (
    "Several of you work together: the commander knows what is to be done and where things are, "
    "the followers do it. What is said to one of you begins with a name."
)
"""What all are told where there are several followers."""
HOW = (
    "How things come by their states: clean, and vessels filled with water, in a sink_basin whose "
    "faucet is switched on; filled with coffee, in or on a coffee_machine that is switched on; "
    "sliced, by a knife in the hand; cooked, in a toaster or a closed microwave that is switched "
    "on, or in a pan or pot on a stove_burner that is; boiled in water, the same in a pot filled "
    "with water."
)
"""What both have to know of the world."""
COMMANDER = (
    "You are the commander. You cannot touch or move anything yourself: tell the follower by chat "
    "what to do, one thing at a time, and answer its questions. It does not know the task. Stop "
    "when all is done. "
) + HOW
FOLLOWER = (
    "You are the follower. Only the commander knows what is to be done: wait for its messages, do "
    "what they say, tell it by chat when that is done, and ask it where things are. Stop when it "
    "says that all is done. "
) + HOW
WORDS: dict[Trait, str] = {
    ("dirty", False): "clean",
    ("filled", True): "filled with water",
    ("coffee", True): "filled with coffee",
    ("sliced", True): "sliced",
    ("cooked", True): "cooked",
    ("boiled", True): "boiled in water",
    ("on", True): "switched on",
    ("on", False): "switched off",
    ("open", True): "open",
}
STATES = ("open", "on", "dirty", "filled", "sliced", "cooked")
LISTED = 60
"""Things whose places are told, at most."""


def names_of(scene: Scene) -> dict[str, str]:
    """Id -> the name of each object, as a world whose things are all named has them."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for each in scene.objects:
        counts[each.type] = counts.get(each.type, 0) + 1
        names[each.id] = f"{each.type}_{counts[each.type]}"
    return names


def task_in_words(drawn: DrawnTask) -> str:
    """What is to be done: our wording of TEACh's tasks, its own for others."""
    spoken = tuple(" ".join(_words(param)) for param in drawn.params)
    if drawn.definition.name in definitions():
        return described(drawn.definition.name, spoken)
    return fill(drawn.definition.description, spoken)


def commander_task(drawn: DrawnTask, room_at: Callable[[float, float], str]) -> str:
    """The commander's instruction: the task, when it is done, and where things are."""
    names = names_of(drawn.scene)
    lines = [f"{task_in_words(drawn)} (Only you know this task.)", "It is done when there is:"]
    lines += [f"- {line}" for line in wanted(drawn.compiled, drawn.scene)]
    lines.append("Where things are at first:")
    lines += [f"- {line}" for line in places(drawn, names, room_at)]
    return "\n".join(lines)


def wanted(compiled: Compiled, scene: Scene) -> list[str]:
    """What should hold in the end, a line each."""
    types = {o.id: o for o in scene.objects}
    names = names_of(scene)
    lines = [_dish(dish, types) for dish in compiled.dishes if dish.parts]
    return lines + [_every(goal, names, types) for goal in compiled.every]


def places(
    drawn: DrawnTask, names: Mapping[str, str], room_at: Callable[[float, float], str]
) -> list[str]:
    """Where all things are that matter, room by room."""
    objects = {o.id: o for o in drawn.scene.objects}
    rooms: dict[str, list[str]] = {}
    for thing in list(dict.fromkeys(_matters(drawn)))[:LISTED]:
        each = objects[thing]
        rooms.setdefault(room_at(each.x, each.y), []).append(_where(each, names, objects))
    return [f"in the {room}: {'; '.join(lines)}" for room, lines in rooms.items()]


def _matters(drawn: DrawnTask) -> Iterable[str]:
    for order in drawn.plan:
        yield from (each for each in (order.thing, order.other) if each)
    for dish in drawn.compiled.dishes:
        yield from (*dish.things, *(t for portion in dish.load for t in portion.things), *dish.at)
    for goal in drawn.compiled.every:
        yield from (*getattr(goal, "things", ()), *getattr(goal, "receptacles", ()))


def _where(thing: HouseObject, names: Mapping[str, str], objects: Mapping[str, HouseObject]) -> str:
    states = [state for state in STATES if getattr(thing, state)]
    shown = f" ({', '.join(states)})" if states else ""
    under = objects.get(thing.parent)
    at = f" {under.receptacle} {names[under.id]}" if under else ""
    if under and under.parent:
        over = objects[under.parent]
        at += f" {over.receptacle} {names[over.id]}"
    return f"{names[thing.id]}{shown}{at}"


def _dish(dish: Dish, objects: Mapping[str, HouseObject]) -> str:
    line = _a(dish.things, dish.traits, objects)
    if dish.load:
        loads = [
            f"{portion.count} x {_a(portion.things, portion.traits, objects)}"
            for portion in dish.load
        ]
        line += f", with these in or on it: {', '.join(loads)}"
    if dish.at:
        line += f", in or on {_a(dish.at, (), objects)}"
    return line


def _a(things: Ids, traits: tuple[Trait, ...], objects: Mapping[str, HouseObject]) -> str:
    kinds = " or ".join(dict.fromkeys(" ".join(_words(objects[t].type)) for t in things))
    how = " and ".join(WORDS.get(trait, trait[0]) for trait in traits)
    return f"{kinds} ({how})" if how else kinds


def _every(
    goal: GoalCondition, names: Mapping[str, str], objects: Mapping[str, HouseObject]
) -> str:
    if isinstance(goal, Has):
        how = " and ".join(WORDS.get(trait, trait[0]) for trait in goal.traits)
        return f"{names[goal.things[0]]}, {how}"
    if isinstance(goal, Inside):
        things = ", ".join(names[t] for t in goal.things)
        one = "one and the same " if goal.parts > 1 else ""
        return f"{things}, in or on {one}{_a(goal.receptacles, (), objects)}"
    return type(goal).__name__


def _words(name: str) -> list[str]:
    """``SmallHandheldObjects`` and ``counter_top`` as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")

"""Drawing: a task's parameters that fit a house, chosen by seed; and telling it to the commander.

TEACh's games say which parameters its tasks had; they are not among the published definitions. Here
they are drawn from what there is: types and classes of things that the house has. Things have the
names by which the world will know them: ``type_n`` in the scene's order.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from wayword.datasets.sources.teach.compiling import Compiled, Dish, Unbuildable, compile_task
from wayword.datasets.sources.teach.definitions import (
    Classes,
    Definition,
    definitions,
    described,
    fill,
    of_class,
)
from wayword.datasets.sources.teach.planning import plan_task
from wayword.datasets.sources.teach.props import met, spoiled
from wayword.worlds.household.errands import Order
from wayword.worlds.household.goals import GoalCondition, Has, Ids, Inside, Trait
from wayword.worlds.household.scene import HouseObject, Scene

TRIES = 12
MOST = 5
"""Things that a task about all of a kind is about, at most."""
SLICED = ("Apple", "Bread", "Lettuce", "Potato", "Tomato")
SPOTS = ("CounterTop", "DiningTable", "CoffeeTable", "SideTable")
SWITCHED = ("Lights", "Lamps", "DeskLamp", "FloorLamp", "LightSwitch", "Television", "Faucet")
CARRIED = (
    *("Fruit", "Vegetables", "Drinkware", "Dishware", "Silverware", "Condiments", "Knives"),
    *("WritingUtensils", "SmallHandheldObjects", "Tableware", "MediaEntertainment"),
)
"""Classes of things that are put somewhere."""
PLACES = ("Furniture", "Tables", "Chairs")
WASHED = ("Drinkware", "Dishware", "Silverware", "Cookware", "Tableware", "Knives")
NOWHERE = frozenset(
    ("stove_burner", "coffee_machine", "toaster", "microwave", "house_plant", "sink_basin", "sink")
)
"""Receptacles that nothing is to be put away in."""
_ODD = {"cd": "CD", "tv_stand": "TVStand"}

Draw = Callable[[random.Random, "Stock"], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Stock:
    """What a scene has, by type, and the classes of types."""

    scene: Scene
    classes: Classes

    def of(self, name: str) -> list[HouseObject]:
        """The things of a type or class, by TEACh's name."""
        kinds = of_class(name, self.classes)
        return [o for o in self.scene.objects if o.type in kinds]

    def some(self, names: tuple[str, ...], *able: str, most: int = 99) -> list[str]:
        """Those of some names of which there are things, all of them able, and not too many."""
        found = []
        for name in names:
            things = self.of(name)
            if 0 < len(things) <= most and all(frozenset(able) <= o.affordances for o in things):
                found.append(name)
        return found

    def carried(self) -> tuple[str, ...]:
        """Types of small things, by TEACh's names, then classes."""
        kinds = {o.type for o in self.scene.objects if "pickupable" in o.affordances}
        return (*sorted(map(pascal, kinds)), *CARRIED)

    def places(self) -> list[str]:
        """Types and classes of furniture that things may be put in or on."""
        furniture = [
            o for o in self.scene.objects
            if o.receptacle and "pickupable" not in o.affordances and o.type not in NOWHERE
        ]  # fmt: skip
        there = {o.type for o in furniture}
        classes = [name for name in PLACES if there & set(of_class(name, self.classes))]
        return [*sorted(pascal(kind) for kind in there), *classes]


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """A task with its parameters, the scene in the state it starts in, goals and plan."""

    definition: Definition
    params: tuple[str, ...]
    scene: Scene
    compiled: Compiled
    plan: tuple[Order, ...]


def pascal(kind: str) -> str:
    """``counter_top`` -> ``CounterTop``: AI2-THOR's name of a type."""
    return _ODD.get(kind) or "".join(word.capitalize() for word in kind.split("_"))


def draw_task(
    rng: random.Random,
    definition: Definition,
    tasks: Mapping[str, Definition],
    classes: Classes,
    scene: Scene,
) -> DrawnTask:
    """The task in that scene. Raises ``Unbuildable`` where the scene lacks what it takes."""
    stock = Stock(scene, classes)
    if definition.nparams and definition.name not in DRAWS:
        raise Unbuildable(f"no rule draws the parameters of {definition.name!r}")
    why = Unbuildable("nothing of the kind")
    for _ in range(TRIES if definition.nparams else 1):
        try:
            params = DRAWS[definition.name](rng, stock) if definition.nparams else ()
            compiled = compile_task(definition, params, tasks, classes, scene)
            start = spoiled(rng, compiled, scene)
            plan = plan_task(compiled, start)
        except Unbuildable as unfit:
            why = unfit
            continue
        whole = sum(goal.parts for goal in compiled.goals)
        if plan and met(compiled, {o.id: o for o in start.objects}) < whole:
            return DrawnTask(definition, params, start, compiled, plan)
        why = Unbuildable("all is done already")
    raise why


def _one(rng: random.Random, names: list[str], what: str) -> str:
    if not names:
        raise Unbuildable(f"no {what}")
    return rng.choice(names)


def _clean(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    return (_one(rng, stock.some(stock.carried(), "dirtyable", "pickupable"), "thing to wash"),)


def _clean_all(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    names = (*stock.carried(), *WASHED)
    found = stock.some(names, "dirtyable", "pickupable", most=MOST)
    return (_one(rng, found, "things to wash"),)


def _sliced(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    return (_one(rng, stock.some(SLICED, "sliceable"), "thing to slice"),)


def _potato(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    return (_one(rng, stock.some(("Potato",), "cookable"), "potato"),)


def _in_a_dish(rng: random.Random, stock: Stock, thing: str) -> tuple[str, ...]:
    dish = _one(rng, stock.some(("Bowl", "Plate"), "pickupable"), "bowl or plate")
    return str(rng.randint(1, 4)), thing, "in" if dish == "Bowl" else "on", dish


def _slices(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    return _in_a_dish(rng, stock, *_sliced(rng, stock))


def _cooked_slices(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    return _in_a_dish(rng, stock, *_potato(rng, stock))


def _put(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    things = _one(rng, stock.some(stock.carried(), "pickupable", most=MOST), "things to put")
    place = _one(rng, stock.places(), "place to put things")
    return things, stock.of(place)[0].receptacle or "on", place


def _toggle(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    things = _one(rng, stock.some(SWITCHED, "toggleable", most=MOST), "things to switch")
    on = things != "Faucet" and rng.random() < 0.6
    return ("on", "1", things) if on else ("off", "0", things)


def _breakfast(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    counts = [rng.randint(0, 1) for _ in range(6)]
    if sum(counts) < 2:
        counts[0] = counts[1] = 1
    coffees, toasts, potatoes, apples, sandwiches, salads = map(str, counts)
    dish = "Plate" if rng.random() < 0.5 else "Bowl"
    spot = _one(rng, stock.some(SPOTS), "place to serve it")
    return (
        *(coffees, toasts, potatoes, dish, apples, "Plate", sandwiches, *_filling(rng)),
        *(salads, *_filling(rng), str(rng.randint(0, 2)), spot),
    )


def _filling(rng: random.Random) -> tuple[str, str]:
    """Slices of lettuce and of tomato, some of one at least."""
    lettuce, tomato = rng.randint(0, 2), rng.randint(0, 2)
    return str(lettuce), str(tomato if lettuce or tomato else 1)


def _salad(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    return (*_filling(rng), str(rng.randint(0, 2)))


def _workspace(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    pens, books = rng.randint(0, 2), rng.randint(0, 2)
    laptops = 1 if not pens + books else rng.randint(0, 1)
    return str(pens), str(laptops), str(books)


DRAWS: dict[str, Draw] = {
    "Clean X": _clean,
    "Sliced X": _sliced,
    "Cooked Slice Of X": _potato,
    "N Cooked Slices Of X In Y": _cooked_slices,
    "N Slices Of X In Y": _slices,
    "Put All X On Y": _put,
    "Put All X In One Y": _put,
    "Boil X": _potato,
    "Clean All X": _clean_all,
    "Toggle X All Y": _toggle,
    "Breakfast": _breakfast,
    "Sandwich": lambda rng, stock: _filling(rng),
    "Salad": _salad,
    "Workspace": _workspace,
}
"""Task -> its parameters; tasks not listed have none."""


# Telling: the task, and where things are, in words for the commander alone.

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

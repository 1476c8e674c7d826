"""Drawing: a task's parameters that fit a house, chosen by seed.

TEACh's games say which parameters its tasks had; they are not among the published definitions. Here
they are drawn from what there is: types and classes of things that the house has.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wayword.datasets.sources.teach.compiling import Compiled, Unbuildable, compile_task
from wayword.datasets.sources.teach.definitions import Classes, Definition, of_class
from wayword.datasets.sources.teach.planning import plan_task
from wayword.datasets.sources.teach.props import met, spoiled
from wayword.worlds.household.errands import Order
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

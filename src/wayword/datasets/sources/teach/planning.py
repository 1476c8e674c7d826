"""Planning: what a task asks of a scene as orders, on things that are chosen here.

A dish is made on the thing that lacks least. Things are washed and filled at a sink, cut where they
lie open, cooked in what heats them, boiled in a pot of water on a hob; coffee comes out of the
machine. The plan looks at the scene's first state and keeps track of what its own orders change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from wayword.datasets.sources.teach.compiling import Compiled, Dish, Unbuildable
from wayword.worlds.household.errands import Deed, Order
from wayword.worlds.household.goals import GoalCondition, Has, Inside, Trait
from wayword.worlds.household.scene import HouseObject, Scene

SURFACES = ("counter_top", "dining_table", "side_table", "coffee_table", "desk", "shelf")
"""Where things are laid out, the best first."""
HEATERS = ("toaster", "microwave", "stove_burner")
"""What cooks, the best first."""
SEQUENCE = ("open", "sliced", "dirty", "filled", "coffee", "boiled", "cooked", "on")
"""The order in which a thing is given its traits."""


def plan_task(compiled: Compiled, scene: Scene) -> tuple[Order, ...]:
    """Orders that bring the goals about. Raises ``Unbuildable`` where something is missing."""
    planner = Planner(scene)
    for goal in compiled.every:
        planner.meet(goal)
    chosen = planner.choose(compiled.dishes)
    for dish, thing, _ in chosen:
        planner.make(thing, dish.traits)
    for dish, _, load in chosen:
        for portion, each in zip(_portions(dish), load, strict=True):
            planner.make(each, portion)
    for dish, thing, load in chosen:
        planner.serve(dish, thing, load)
    return tuple(planner.orders)


@dataclass(eq=False)
class Planner:
    """A scene whose state follows the orders given so far."""

    scene: Scene
    orders: list[Order] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._objects = {o.id: o for o in self.scene.objects}
        self._in = {o.id: o.parent for o in self.scene.objects}
        self._has: dict[tuple[str, str], object] = {}
        self._switch = {c: o.id for o in self.scene.objects for c in o.controls}
        self._kept: set[str] = set()
        self._pot = ""

    def meet(self, goal: GoalCondition) -> None:
        """A goal about all things of a kind."""
        if isinstance(goal, Has):
            self.make(goal.things[0], goal.traits)
        elif isinstance(goal, Inside):
            self._gather(goal)
        else:
            raise Unbuildable(f"no plan for {type(goal).__name__}")

    def choose(self, dishes: tuple[Dish, ...]) -> list[tuple[Dish, str, list[str]]]:
        """A thing for each dish, and things for its load, none of them twice."""
        chosen = []
        for dish in dishes:
            size = sum(portion.count for portion in dish.load)
            thing = self._best(dish.things, dish.traits, size)
            load = [
                self._best(portion.things, portion.traits)
                for portion in dish.load
                for _ in range(portion.count)
            ]
            chosen.append((dish, thing, load))
        return chosen

    def make(self, thing: str, traits: tuple[Trait, ...]) -> None:
        """Give a thing what it lacks."""
        for name, value in sorted(traits, key=lambda trait: SEQUENCE.index(trait[0])):
            if self._state(thing, name) != value:
                self._give(thing, name, bool(value))
                self._has[thing, name] = value

    def serve(self, dish: Dish, thing: str, load: list[str]) -> None:
        """Bring a dish where it should be, and on it what belongs there."""
        if dish.at and not any(place in dish.at for place in self._chain(thing)):
            self._bring(thing, self._free(dish.at, thing))
        elif load and not self._in_the_open(thing):
            self._bring(thing, self._surface(thing))
        for each in load:
            if thing not in self._chain(each):
                self._bring(each, thing)

    def _gather(self, goal: Inside) -> None:
        """Things in or on one receptacle: the one that has most of them."""
        places = sorted(
            goal.receptacles, key=lambda r: -sum(r in self._chain(t) for t in goal.things)
        )
        fitting = [r for r in places if all(self._takes(r, t) for t in goal.things)]
        place = next((r for r in fitting if self._space(r) >= len(goal.things)), None)
        if place is None:
            raise Unbuildable("nothing has room for all of them")
        for thing in goal.things:
            if place not in self._chain(thing):
                self._bring(thing, place)

    def _best(self, things: tuple[str, ...], traits: tuple[Trait, ...], size: int = 0) -> str:
        free = [t for t in things if t not in self._kept]
        roomy = [t for t in free if self._space(t) >= size] if size else free
        if not roomy:
            raise Unbuildable("too few things with room on them" if size else "too few things")
        best = min(roomy, key=lambda t: sum(self._state(t, n) != value for n, value in traits))
        self._kept.add(best)
        return best

    def _give(self, thing: str, name: str, value: bool) -> None:
        if name == "on":
            self._do("on" if value else "off", self._switch.get(thing, thing))
        elif name == "open":
            self._do("open" if value else "close", thing)
        else:
            _WAYS[name](self, thing)

    def _wash(self, thing: str) -> None:
        self._treat(thing, "cleaner")
        self._has[thing, "filled"] = True
        self._has[thing, "coffee"] = False

    def _water(self, thing: str) -> None:
        """Fill a vessel; a plant is given what a vessel holds."""
        if "drinker" not in self._objects[thing].affordances:
            self._treat(thing, "filler", without="brewer")
            return
        vessel = self._first(lambda o: self._pours(o, thing), "vessel to water it with", thing)
        self._water(vessel)
        self._bring(vessel, thing)

    def _brew(self, thing: str) -> None:
        self._treat(thing, "brewer")

    def _slice(self, thing: str) -> None:
        knife = self._first(lambda o: "slicer" in o.affordances, "knife", thing)
        if not self._in_the_open(thing):
            self._bring(thing, self._surface(thing))
        self._do("slice", thing, knife)
        self._in[knife] = self._in[thing]

    def _cook(self, thing: str) -> None:
        self._treat(thing, "heater")

    def _boil(self, thing: str) -> None:
        if not self._pot or not self._space(self._pot):
            self._pot = self._first(lambda o: self._boils(o, thing), "pot to boil it in", thing)
            self._kept.add(self._pot)
        pot = self._pot
        if not self._state(pot, "filled"):
            self._treat(pot, "filler", without="brewer")
            self._has[pot, "filled"] = True
        hob = self._tool(pot, "heater", without="openable")
        self._bring(pot, hob)
        self._bring(thing, pot)
        self._run(hob)
        self._has[thing, "cooked"] = True

    def _treat(self, thing: str, kind: str, without: str = "") -> None:
        """Have an appliance work on a thing."""
        tool = self._tool(thing, kind, without)
        self._bring(thing, tool)
        if self._lid(tool):
            self._do("close", tool)
        self._run(tool)

    def _run(self, tool: str) -> None:
        switch = self._switched(tool)
        self._do("on", switch)
        self._do("off", switch)

    def _bring(self, thing: str, place: str) -> None:
        if self._in[thing] == place:
            return
        spec = self._objects[place]
        while spec.capacity and self._space(place) < 1:
            other = next(t for t, at in self._in.items() if at == place and t != thing)
            self._bring(other, self._surface(other))
        self._do("bring", thing, place)
        self._in[thing] = place

    def _do(self, deed: Deed, thing: str, other: str = "") -> None:
        self.orders.append(Order(deed, thing, other))

    def _tool(self, thing: str, kind: str, without: str) -> str:
        def able(o: HouseObject) -> bool:
            does = kind in o.affordances and (not without or without not in o.affordances)
            return does and self._takes(o.id, thing) and bool(self._switched(o.id))

        found = [o for o in self.scene.objects if able(o)]
        if not found:
            raise Unbuildable(f"no {kind} takes {self._objects[thing].type}")
        order = {name: n for n, name in enumerate(HEATERS)}

        def rank(o: HouseObject) -> tuple[int, bool, float]:
            return order.get(o.type, 9), self._space(o.id) < 1, self._away(o.id, thing)

        return min(found, key=rank).id

    def _switched(self, tool: str) -> str:
        """What switches a tool: itself, or a control; empty for nothing."""
        own = "toggleable" in self._objects[tool].affordances
        return tool if own else self._switch.get(tool, "")

    def _surface(self, thing: str) -> str:
        there = [o for o in self.scene.objects if o.type in SURFACES and self._open_to(o, thing)]
        if not there:
            raise Unbuildable("no surface to lay things on")
        return min(there, key=lambda o: (SURFACES.index(o.type), self._away(o.id, thing))).id

    def _free(self, places: tuple[str, ...], thing: str) -> str:
        found = [r for r in places if self._takes(r, thing) and self._space(r)]
        if not found:
            raise Unbuildable(f"no place takes {self._objects[thing].type}")
        return min(found, key=lambda r: self._away(r, thing))

    def _open_to(self, o: HouseObject, thing: str) -> bool:
        return o.receptacle == "on" and self._takes(o.id, thing) and bool(self._space(o.id))

    def _boils(self, o: HouseObject, thing: str) -> bool:
        able = {"fillable", "pickupable"} <= o.affordances and self._takes(o.id, thing)
        return (
            able
            and bool(self._space(o.id))
            and any(
                "heater" in hob.affordances
                and hob.type not in ("microwave", "coffee_machine")
                and self._takes(hob.id, o.id)
                for hob in self.scene.objects
            )
        )

    def _pours(self, o: HouseObject, plant: str) -> bool:
        return {"fillable", "pickupable"} <= o.affordances and self._takes(plant, o.id)

    def _first(self, suits: Callable[[HouseObject], bool], what: str, near: str) -> str:
        """The nearest such thing, one that lies in the open before others."""
        found = [o for o in self.scene.objects if suits(o) and o.id not in self._kept]
        if not found:
            raise Unbuildable(f"no {what}")
        return min(found, key=lambda o: (not self._in_the_open(o.id), self._away(o.id, near))).id

    def _away(self, one: str, other: str) -> float:
        """Metres between two things, as the crow flies."""
        a, b = (self._objects[[each, *self._chain(each)][-1]] for each in (one, other))
        return math.hypot(a.x - b.x, a.y - b.y)

    def _takes(self, place: str, thing: str) -> bool:
        spec = self._objects[place]
        fits = not spec.accepts or self._objects[thing].type in spec.accepts
        return bool(spec.receptacle) and fits and place != thing

    def _space(self, place: str) -> int:
        bound = self._objects[place].capacity
        return bound - sum(at == place for at in self._in.values()) if bound else 99

    def _lid(self, thing: str) -> bool:
        spec = self._objects[thing]
        return spec.receptacle == "in" and "openable" in spec.affordances

    def _in_the_open(self, thing: str) -> bool:
        """Whether it lies on something, none of it shut, hot or wet."""
        return all(self._objects[r].receptacle == "on" for r in self._chain(thing))

    def _state(self, thing: str, name: str) -> object:
        found = self._has.get((thing, name))
        if found is None:
            found = getattr(self._objects[thing], name, False)
        return found

    def _chain(self, thing: str) -> list[str]:
        return list(self._holders(thing))

    def _holders(self, thing: str) -> Iterator[str]:
        at = self._in[thing]
        while at:
            yield at
            at = self._in[at]


_WAYS: dict[str, Callable[[Planner, str], None]] = {
    "dirty": Planner._wash,
    "filled": Planner._water,
    "coffee": Planner._brew,
    "sliced": Planner._slice,
    "cooked": Planner._cook,
    "boiled": Planner._boil,
}


def _portions(dish: Dish) -> list[tuple[Trait, ...]]:
    """The traits of each thing of a dish's load."""
    return [portion.traits for portion in dish.load for _ in range(portion.count)]

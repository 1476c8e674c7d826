"""Plan of a task of TEACh: orders for selected objects of a scene.

A dish is made from the object that needs the fewest changes. Objects are washed and filled at a
sink, sliced on an open surface, cooked in an appliance, boiled in a pot of water on a burner;
coffee comes from the machine. The plan starts from the scene's initial state and tracks the
changes made by its orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from wayword.datasets.procedural.tables import Table
from wayword.datasets.sources import teach
from wayword.datasets.sources.teach import Unbuildable
from wayword.worlds.household.goals import GoalCondition, Has, Ids, Inside, Trait
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.skills import Order, OrderKind

KINDS = Table[tuple[str, ...]]("teach", "kinds", package=__package__)
"""Types and classes used in drawing and planning."""
SEQUENCE = ("open", "sliced", "dirty", "filled", "coffee", "boiled", "cooked", "on")
"""Order in which to produce the traits of an object."""


def plan_task(compiled: teach.Compiled, scene: Scene) -> tuple[Order, ...]:
    """Return orders that achieve the goals, from the scene's state on.

    Raises ``Unbuildable`` if something is missing.
    """
    planner = Planner(scene)
    for goal in compiled.every:
        # Goals about all objects of a kind first: dishes may use the same tools.
        planner.meet(goal)
    chosen = planner.choose(compiled.dishes)
    # Dishes are made before loads, and served last, when everything is ready.
    for dish, item, _ in chosen:
        planner.make(item, dish.traits)
    for _, _, load in chosen:
        for each, traits in load:
            planner.make(each, traits)
    for dish, item, load in chosen:
        planner.serve(dish, item, [each for each, _ in load])
    return tuple(planner.orders)


Chosen = tuple[teach.Dish, str, list[tuple[str, tuple[Trait, ...]]]]
"""A dish, the object used for it, and the objects of its load with the traits they need."""


class Planner:
    """A scene whose state reflects the orders given so far.

    ``orders`` is the plan. Methods add orders and record their effects; they raise
    ``Unbuildable`` if the scene lacks what an order needs. Objects are given by id.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.orders = list[Order]()
        self._objects = scene.by_id()
        self._holder_of = {o.id: o.parent for o in scene.objects}
        self._changed: dict[tuple[str, str], object] = {}  # (object, state) -> value
        self._switch_of: dict[str, str] = {}
        # Of two switches for one appliance, the later one counts.
        for switch in scene.objects:
            self._switch_of |= dict.fromkeys(switch.controls, switch.id)
        self._reserved: set[str] = set()
        self._pot = ""

    def meet(self, goal: GoalCondition) -> None:
        """Meet a goal for all objects of a kind."""
        if isinstance(goal, Has):
            self.make(goal.objects[0], goal.traits)
            return
        assert isinstance(goal, Inside)
        # In or on one receptacle: choose the one that already has the most.
        items = goal.objects
        places = sorted(
            goal.receptacles, key=lambda r: -sum(r in self._holders(t) for t in items)
        )
        # A place must take all of them, and have room.
        fitting = [r for r in places if all(self._accepts(r, t) for t in items)]
        place = next((r for r in fitting if self._room(r) >= len(items)), None)
        if place is None:
            raise Unbuildable("no receptacle has room for all objects")
        for item in items:
            if place not in self._holders(item):
                self._bring(item, place)

    def choose(self, dishes: list[teach.Dish]) -> list[Chosen]:
        """Choose an object for each dish and objects for its load.

        No object is chosen twice. Raises ``Unbuildable`` if there are too few.
        """
        chosen = []
        for dish in dishes:
            portions: list[teach.Portion] = []
            for portion in dish.load:
                # Each object once: a portion of three needs three.
                portions += [portion] * portion.count
            item = self._best_object(dish.objects, dish.traits, len(portions))
            load = [
                (self._best_object(p.objects, p.traits), p.traits) for p in portions
            ]
            chosen.append((dish, item, load))
        return chosen

    def _best_object(
        self,
        items: Ids,
        traits: tuple[Trait, ...],
        size: int = 0,
    ) -> str:
        """Return the object with the fewest missing traits, and reserve it.

        It has room for ``size`` other objects. Raises ``Unbuildable`` if there is none left.
        """
        options = [t for t in items if t not in self._reserved]
        problem = "too few objects"
        if size:
            options = [t for t in options if self._room(t) >= size]
            problem = "too few objects with room on them"
        if not options:
            raise Unbuildable(problem)

        def missing_traits(item: str) -> int:
            """Return how many traits an object lacks."""
            return sum(self._state(item, name) != value for name, value in traits)

        # The first of equals in scene order, so that plans repeat.
        best = min(options, key=missing_traits)
        self._reserved.add(best)
        return best

    def make(self, item: str, traits: tuple[Trait, ...]) -> None:
        """Give an object its missing traits, in the order of ``SEQUENCE``."""
        for name, value in sorted(traits, key=lambda trait: SEQUENCE.index(trait[0])):
            # Nothing to do for a state that holds.
            if self._state(item, name) == value:
                continue
            match name:
                case "on":
                    switch = self._switch_of.get(item, item)
                    self._order("on" if value else "off", switch)
                case "open":
                    self._order("open" if value else "close", item)
                case "coffee":
                    self._treat(item, "brewer")
                case "cooked":
                    self._treat(item, "heater")
                case "dirty":
                    self._treat(item, "cleaner")
                    # Washing fills a vessel with water, and coffee is gone.
                    self._changed[item, "filled"] = True
                    self._changed[item, "coffee"] = False
                case "filled":
                    self._fill(item)
                case "sliced":
                    self._slice(item)
                case "boiled":
                    self._boil(item)
            # Kept, so that later orders know it.
            self._changed[item, name] = value

    def serve(
        self,
        dish: teach.Dish,
        item: str,
        load: list[str],
    ) -> None:
        """Bring a dish to its place, and put its load on it."""
        if dish.at and not any(place in dish.at for place in self._holders(item)):
            # Free places only, so that serving never clears a table.
            free = [r for r in dish.at if self._accepts(r, item) and self._room(r)]
            if not free:
                raise Unbuildable(
                    f"no free destination accepts {self._objects[item].type}"
                )
            self._bring(item, min(free, key=lambda r: self._gap(r, item)))
        # A load needs a dish that is out of cupboards.
        elif load and not self._in_the_open(item):
            self._bring(item, self._surface(item))
        for each in load:
            # What lies on the dish already stays.
            if item not in self._holders(each):
                self._bring(each, item)

    def _fill(self, item: str) -> None:
        """Fill a vessel, or water a plant from one."""
        if "drinker" not in self._objects[item].affordances:
            self._treat(item, "filler", without="brewer")
            return
        carries_water = {"fillable", "pickupable"}
        # Any vessel that fits into the plant's pot.
        vessel = self._nearest(
            lambda o: carries_water <= o.affordances and self._accepts(item, o.id),
            "vessel to water it with",
            item,
        )
        self._fill(vessel)
        self._bring(vessel, item)

    def _slice(self, item: str) -> None:
        """Slice an object on an open surface, and leave the knife next to it."""
        knife = self._nearest(lambda o: "slicer" in o.affordances, "knife", item)
        # Slicing needs space around the object.
        if not self._in_the_open(item):
            self._bring(item, self._surface(item))
        self._order("slice", item, knife)
        # The knife stays next to the slices.
        self._holder_of[knife] = self._holder_of[item]

    def _boil(self, item: str) -> None:
        """Boil an object in a pot of water on a burner."""
        # Heaters that a pot can stand on.
        hobs = [
            o
            for o in self.scene.objects
            if "heater" in o.affordances
            and o.type not in ("microwave", "coffee_machine")
        ]

        def boils(pot: HouseObject) -> bool:
            """True if an object can be boiled in a pot that fits a burner."""
            if not {"fillable", "pickupable"} <= pot.affordances:
                return False
            if not self._accepts(pot.id, item) or not self._room(pot.id):
                return False
            return any(self._accepts(hob.id, pot.id) for hob in hobs)

        # The same pot for all objects, as long as it has room.
        if not self._pot or not self._room(self._pot):
            self._pot = self._nearest(boils, "pot to boil it in", item)
            self._reserved.add(self._pot)
        pot = self._pot
        if not self._state(pot, "filled"):
            self._treat(pot, "filler", without="brewer")
            self._changed[pot, "filled"] = True
        # A hob without a door: a pot does not go into the microwave.
        hob = self._tool(pot, "heater", without="openable")
        self._bring(pot, hob)
        self._bring(item, pot)
        self._run(hob)
        # Boiling cooks as well.
        self._changed[item, "cooked"] = True

    def _treat(
        self,
        item: str,
        kind: str,
        without: str = "",
    ) -> None:
        """Process an object with an appliance of that ``kind``.

        ``without`` is an affordance that the appliance must not have.
        """
        tool = self._tool(item, kind, without)
        self._bring(item, tool)
        spec = self._objects[tool]
        # Appliances with a door run only while it is closed.
        if spec.receptacle == "in" and "openable" in spec.affordances:
            self._order("close", tool)
        self._run(tool)

    def _run(self, tool: str) -> None:
        """Turn an appliance on, and off again."""
        switch = self._switch_for(tool)
        self._order("on", switch)
        self._order("off", switch)

    def _bring(self, item: str, place: str) -> None:
        """Move an object in or on a receptacle, after clearing it if it is full."""
        # Already there, directly.
        if self._holder_of[item] == place:
            return
        # The first in scene order makes way.
        while self._objects[place].capacity and self._room(place) < 1:
            other = next(
                t for t, at in self._holder_of.items() if at == place and t != item
            )
            self._bring(other, self._surface(other))
        self._order("bring", item, place)
        self._holder_of[item] = place

    def _order(
        self,
        kind: OrderKind,
        item: str,
        other: str = "",
    ) -> None:
        """Add an order to the plan."""
        self.orders.append(Order(kind, item, other))

    def _tool(self, item: str, kind: str, without: str) -> str:
        """Return the appliance to use for an object: toasters first, then the nearest."""
        # A toaster before a microwave: types in the table come in order of preference.
        order = {name: n for n, name in enumerate(KINDS["heaters"])}

        def suits(tool: HouseObject) -> bool:
            """True if a tool treats the object, accepts it and can be switched."""
            if kind not in tool.affordances or without in tool.affordances:
                return False
            return self._accepts(tool.id, item) and bool(self._switch_for(tool.id))

        def rank(tool: HouseObject) -> tuple[float, ...]:
            """Sort key: preferred types first, then free tools, then near ones."""
            is_full = self._room(tool.id) < 1
            # Types that are not in the table come last; no table has nine.
            return order.get(tool.type, 9), is_full, self._gap(tool.id, item)

        return self._best(suits, rank, f"no {kind} accepts {self._objects[item].type}")

    def _switch_for(self, tool: str) -> str:
        """Return the switch of a tool: the tool itself or a control; empty if it has no switch."""
        if "toggleable" in self._objects[tool].affordances:
            return tool
        return self._switch_of.get(tool, "")

    def _surface(self, item: str) -> str:
        """Return the surface to put an object on: the best type, then the nearest."""
        # The table lists surfaces by preference.
        kinds = KINDS["surfaces"]
        return self._best(
            lambda o: (
                (o.type in kinds and o.receptacle == "on")
                and self._accepts(o.id, item)
                and self._room(o.id) > 0
            ),
            lambda o: (kinds.index(o.type), self._gap(o.id, item)),
            "no surface to place objects on",
        )

    def _nearest(
        self,
        suits: Callable[[HouseObject], bool],
        description: str,
        near: str,
    ) -> str:
        """Return the nearest suitable object to ``near``; objects in the open come first.

        Reserved objects are left out. ``description`` completes the error.
        """
        return self._best(
            lambda o: suits(o) and o.id not in self._reserved,
            lambda o: (not self._in_the_open(o.id), self._gap(o.id, near)),
            f"no {description}",
        )

    def _best(
        self,
        suits: Callable[[HouseObject], bool],
        rank: Callable[[HouseObject], tuple[float, ...]],
        problem: str,
    ) -> str:
        """Return the suitable object of the lowest rank. Raises ``Unbuildable(problem)``."""
        options = list(filter(suits, self.scene.objects))
        if not options:
            raise Unbuildable(problem)
        return min(options, key=rank).id

    def _gap(self, one: str, other: str) -> float:
        """Return the distance between the furniture of two objects, in metres."""
        a = self._furniture(one)
        b = self._furniture(other)
        return math.hypot(a.x - b.x, a.y - b.y)

    def _furniture(self, item: str) -> HouseObject:
        """Return the outermost holder of an object, or the object itself."""
        # The last of the chain is the outermost.
        return self._objects[[item, *self._holders(item)][-1]]

    def _accepts(self, place: str, item: str) -> bool:
        """True if an object goes in or on a place, full or not."""
        spec = self._objects[place]
        fits = not spec.accepts or self._objects[item].type in spec.accepts
        return bool(spec.receptacle) and fits and place != item

    def _room(self, place: str) -> int:
        """Return the number of further objects that fit; 99 if unbounded."""
        bound = self._objects[place].capacity
        if bound:
            return bound - sum(at == place for at in self._holder_of.values())
        # More than any task moves.
        return 99

    def _in_the_open(self, item: str) -> bool:
        """True if all receptacles that hold the object are open surfaces."""
        return all(self._objects[r].receptacle == "on" for r in self._holders(item))

    def _state(self, item: str, name: str) -> object:
        """Return a state of an object, after the orders given so far."""
        if (item, name) in self._changed:
            return self._changed[item, name]
        return getattr(self._objects[item], name, False)

    def _holders(self, item: str) -> list[str]:
        """Return the receptacles that contain or support an object, innermost first."""
        chain = []
        while item := self._holder_of[item]:
            chain.append(item)
        return chain

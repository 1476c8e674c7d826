"""TEACh's tasks drawn for a house: what it lacks for them, their parameters, a plan, the words.

Generated homes get a toaster, a house plant and light switches. In every house a coffee machine
brews, plants drink, books and laptops open, candles burn and eggs crack. TEACh's games say which
parameters its tasks had and how a house was at first; they are not among the published definitions.
Here parameters are drawn from what there is, and things are moved and made dirty, by seed. Things
have the names by which the world will know them: ``type_n`` in the scene's order.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from wayword.core.episode import Json
from wayword.datasets.procedural.homes.objects import OBJECTS, names_of
from wayword.datasets.sources import teach
from wayword.worlds.household.errands import Deed, Order
from wayword.worlds.household.goals import GoalCondition, Has, Ids, Inside, Trait
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Point, Preposition, Scene, Temperature

ABILITIES: Mapping[str, tuple[str, ...]] = {
    "coffee_machine": ("brewer",),
    "house_plant": ("drinker",),
    "laptop": ("openable", "toggleable"),
    "book": ("openable",),
    "candle": ("toggleable",),
    "egg": ("sliceable", "cookable"),
}
"""Type -> what it is able to do in these tasks, beside what it was."""
VESSELS = ("bottle", "bowl", "cup", "kettle", "mug", "pot", "watering_can", "wine_bottle")
"""What a plant is watered from."""
ARM = 1.2
"""Metres from where one can stand within which things are laid."""
MOVED, DIRTY = 0.3, 0.25
"""Shares of the things that are moved, and of those that can be dirty and are."""
SPOT_TRIES = 12
WALL = 0.6
"""Metres from where one can stand to a light switch, at most."""

FromFloor = Callable[[float, float], float]


@dataclass(frozen=True, eq=False)
class Stage:
    """A house ready for tasks. ``starts`` are free places (metres); ``layout`` gives the still
    parts of a scene that differs from ``scene`` in its small things alone."""

    scene: Scene
    starts: tuple[Point, ...]
    layout: Callable[[Scene], Layout]
    room_at: Callable[[float, float], str]


def able(thing: HouseObject) -> HouseObject:
    """A thing as these tasks need it."""
    if thing.type not in ABILITIES:
        return thing
    affordances = thing.affordances | frozenset(ABILITIES[thing.type])
    if thing.type == "house_plant":
        return replace(thing, affordances=affordances, receptacle="in", accepts=VESSELS)
    return replace(thing, affordances=affordances)


def furnished(
    rng: random.Random, scene: Scene, starts: tuple[Point, ...], from_floor: FromFloor
) -> Scene:
    """A generated home with what it lacks for these tasks."""
    added: list[HouseObject] = []
    counters = [o for o in scene.objects if o.type == "counter_top"]
    if counters:
        toaster = _still("toaster", ("toggleable", "heater"), "in", ("bread",), 1)
        added.append(laid(rng, toaster, rng.choice(counters), from_floor))
    stands = [o for o in scene.objects if o.type in ("side_table", "shelf", "dining_table", "desk")]
    if stands:
        plant = _still("house_plant", ("fillable",))
        added.append(laid(rng, plant, rng.choice(stands), from_floor))
    for number, (x, y) in enumerate(_on_walls(rng, scene, starts), 1):
        switch = replace(_still("light_switch", ("toggleable",)), id=f"light_switch|{number}")
        added.append(replace(switch, x=x, y=y, bottom=1.2))
    return replace(scene, objects=tuple(able(o) for o in (*scene.objects, *added)))


def shuffled(rng: random.Random, scene: Scene, from_floor: FromFloor) -> Scene:
    """A published room: some things elsewhere, where such things lie, and some of them dirty."""
    objects = [able(o) for o in scene.objects]
    open_to_all = [
        o for o in scene.objects
        if o.receptacle and not o.capacity and "heater" not in o.affordances
    ]  # fmt: skip
    for n, thing in enumerate(objects):
        loose = "pickupable" in thing.affordances and thing.type in OBJECTS
        places = OBJECTS[thing.type].places if loose else {}
        free = [o for o in open_to_all if o.type in places]
        if free and rng.random() < MOVED:
            under = rng.choices(free, [places[o.type] for o in free])[0]
            objects[n] = thing = laid(rng, thing, under, from_floor, thing)
        if {"pickupable", "dirtyable"} <= thing.affordances:
            objects[n] = replace(thing, dirty=rng.random() < DIRTY)
    return replace(scene, objects=tuple(objects))


def laid(
    rng: random.Random,
    thing: HouseObject,
    under: HouseObject,
    from_floor: FromFloor,
    otherwise: HouseObject | None = None,
) -> HouseObject:
    """A thing at a random spot in or on furniture that a hand reaches; else the best of those
    tried, or ``otherwise``."""
    wide = 0.4 * max(0.0, under.width - thing.width)
    deep = 0.4 * max(0.0, under.depth - thing.depth)
    spots = [
        (round(under.x + rng.uniform(-wide, wide), 3), round(under.y + rng.uniform(-deep, deep), 3))
        for _ in range(SPOT_TRIES)
    ]
    x, y = next(
        (s for s in spots if from_floor(*s) <= ARM), min(spots, key=lambda s: from_floor(*s))
    )
    if otherwise is not None and from_floor(x, y) > ARM:
        return otherwise
    raised = under.height if under.receptacle == "on" else under.height / 2
    cold: Temperature = "cold" if "cooler" in under.affordances else "room"
    bottom = round(under.bottom + raised, 3)
    return replace(thing, x=x, y=y, bottom=bottom, parent=under.id, temperature=cold)


def spoiled(rng: random.Random, compiled: teach.Compiled, scene: Scene) -> Scene:
    """The scene with what the task is about not yet as it should be: dirty, on, off."""
    wrong = _wrong(compiled)
    kept = {o.id: o for o in scene.objects}
    chosen = {each for each in wrong if rng.random() < 0.7} or set(wrong)
    for thing, name, value in sorted(chosen):
        kept[thing] = _as(kept[thing], name, value)
    if met(compiled, kept) == sum(goal.parts for goal in compiled.goals):
        for thing, name, value in wrong:
            kept[thing] = _as(kept[thing], name, value)
    return replace(scene, objects=tuple(_wired(kept)))


def met(compiled: teach.Compiled, objects: Mapping[str, HouseObject]) -> int:
    """How many parts of the goals hold before anybody acts."""
    state = {"objects": {o.id: _record(o) for o in objects.values()}, "actors": {}}
    return sum(goal.met(state) for goal in compiled.goals)


def _wrong(compiled: teach.Compiled) -> list[tuple[str, str, bool]]:
    """Things, and states that would be wrong for them: of those that a scene can start in."""
    traits = [(t, trait) for dish in compiled.dishes for t in dish.things for trait in dish.traits]
    for goal in compiled.every:
        if isinstance(goal, Has):
            traits += [(goal.things[0], trait) for trait in goal.traits]
    return [(t, name, not value) for t, (name, value) in traits if name in ("dirty", "on")]


def _as(thing: HouseObject, name: str, value: bool) -> HouseObject:
    if name == "on":
        return replace(thing, on=value)
    return replace(thing, dirty=value) if "dirtyable" in thing.affordances else thing


def _wired(objects: Mapping[str, HouseObject]) -> list[HouseObject]:
    """What is switched elsewhere is on when its switch is."""
    running = {c for o in objects.values() if o.on for c in o.controls}
    return [replace(o, on=True) if o.id in running else o for o in objects.values()]


def _record(thing: HouseObject) -> dict[str, Json]:
    flags = ("open", "on", "dirty", "sliced", "filled", "cooked")
    record: dict[str, Json] = {name: getattr(thing, name) for name in flags}
    return {**record, "coffee": False, "boiled": False, "in": thing.parent}


def _still(
    kind: str,
    affordances: tuple[str, ...],
    receptacle: Preposition = "",
    accepts: tuple[str, ...] = (),
    capacity: int = 0,
) -> HouseObject:
    """Something small that nobody carries away."""
    return HouseObject(
        *(f"{kind}|1", kind, 0.0, 0.0, 0.2, 0.2, 0.0, 0.2),
        affordances=frozenset(affordances),
        receptacle=receptacle,
        accepts=accepts,
        capacity=capacity,
    )


def _on_walls(rng: random.Random, scene: Scene, starts: tuple[Point, ...]) -> list[Point]:
    """Up to two places on walls, close to where one can stand."""
    found: list[Point] = []
    for wall in rng.sample(scene.walls, len(scene.walls)):
        x, y = (wall.a[0] + wall.b[0]) / 2, (wall.a[1] + wall.b[1]) / 2
        near = min(starts, key=lambda at: (at[0] - x) ** 2 + (at[1] - y) ** 2)
        away = ((near[0] - x) ** 2 + (near[1] - y) ** 2) ** 0.5
        if 0.1 < away <= WALL:
            found.append((
                round(x + 0.12 * (near[0] - x) / away, 3), round(y + 0.12 * (near[1] - y) / away, 3)
            ))  # fmt: skip
        if len(found) == 2:
            break
    return found


# Planning: what a task asks of a scene as orders, on things that are chosen here.
#
# A dish is made on the thing that lacks least. Things are washed and filled at a sink, cut where
# they lie open, cooked in what heats them, boiled in a pot of water on a hob; coffee comes out of
# the machine. The plan looks at the scene's first state and keeps track of what its own orders
# change.

SURFACES = ("counter_top", "dining_table", "side_table", "coffee_table", "desk", "shelf")
"""Where things are laid out, the best first."""
HEATERS = ("toaster", "microwave", "stove_burner")
"""What cooks, the best first."""
SEQUENCE = ("open", "sliced", "dirty", "filled", "coffee", "boiled", "cooked", "on")
"""The order in which a thing is given its traits."""


def plan_task(compiled: teach.Compiled, scene: Scene) -> tuple[Order, ...]:
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
            raise teach.Unbuildable(f"no plan for {type(goal).__name__}")

    def choose(self, dishes: tuple[teach.Dish, ...]) -> list[tuple[teach.Dish, str, list[str]]]:
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

    def serve(self, dish: teach.Dish, thing: str, load: list[str]) -> None:
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
            raise teach.Unbuildable("nothing has room for all of them")
        for thing in goal.things:
            if place not in self._chain(thing):
                self._bring(thing, place)

    def _best(self, things: tuple[str, ...], traits: tuple[Trait, ...], size: int = 0) -> str:
        free = [t for t in things if t not in self._kept]
        roomy = [t for t in free if self._space(t) >= size] if size else free
        if not roomy:
            raise teach.Unbuildable(
                "too few things with room on them" if size else "too few things"
            )
        best = min(roomy, key=lambda t: sum(self._state(t, n) != value for n, value in traits))
        self._kept.add(best)
        return best

    def _give(self, thing: str, name: str, value: bool) -> None:
        if name == "on":
            self._do("on" if value else "off", self._switch.get(thing, thing))
        elif name == "open":
            self._do("open" if value else "close", thing)
        elif name in _TREATED:
            self._treat(thing, _TREATED[name])
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

    def _slice(self, thing: str) -> None:
        knife = self._first(lambda o: "slicer" in o.affordances, "knife", thing)
        if not self._in_the_open(thing):
            self._bring(thing, self._surface(thing))
        self._do("slice", thing, knife)
        self._in[knife] = self._in[thing]

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
            raise teach.Unbuildable(f"no {kind} takes {self._objects[thing].type}")
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
            raise teach.Unbuildable("no surface to lay things on")
        return min(there, key=lambda o: (SURFACES.index(o.type), self._away(o.id, thing))).id

    def _free(self, places: tuple[str, ...], thing: str) -> str:
        found = [r for r in places if self._takes(r, thing) and self._space(r)]
        if not found:
            raise teach.Unbuildable(f"no place takes {self._objects[thing].type}")
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
            raise teach.Unbuildable(f"no {what}")
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
        """What a thing is in or on, innermost first."""
        found = []
        while at := self._in[thing]:
            found.append(at)
            thing = at
        return found


_TREATED = {"coffee": "brewer", "cooked": "heater"}
_WAYS: dict[str, Callable[[Planner, str], None]] = {
    "dirty": Planner._wash,
    "filled": Planner._water,
    "sliced": Planner._slice,
    "boiled": Planner._boil,
}


def _portions(dish: teach.Dish) -> list[tuple[Trait, ...]]:
    """The traits of each thing of a dish's load."""
    return [portion.traits for portion in dish.load for _ in range(portion.count)]


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
    classes: teach.Classes

    def of(self, name: str) -> list[HouseObject]:
        """The things of a type or class, by TEACh's name."""
        kinds = teach.of_class(name, self.classes)
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
        classes = [name for name in PLACES if there & set(teach.of_class(name, self.classes))]
        return [*sorted(pascal(kind) for kind in there), *classes]


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """A task with its parameters, the scene in the state it starts in, goals and plan."""

    definition: teach.Definition
    params: tuple[str, ...]
    scene: Scene
    compiled: teach.Compiled
    plan: tuple[Order, ...]


def pascal(kind: str) -> str:
    """``counter_top`` -> ``CounterTop``: AI2-THOR's name of a type."""
    return _ODD.get(kind) or "".join(word.capitalize() for word in kind.split("_"))


def draw_task(
    rng: random.Random,
    definition: teach.Definition,
    tasks: Mapping[str, teach.Definition],
    classes: teach.Classes,
    scene: Scene,
) -> DrawnTask:
    """The task in that scene. Raises ``Unbuildable`` where the scene lacks what it takes."""
    stock = Stock(scene, classes)
    if definition.nparams and definition.name not in DRAWS:
        raise teach.Unbuildable(f"no rule draws the parameters of {definition.name!r}")
    why = teach.Unbuildable("nothing of the kind")
    for _ in range(TRIES if definition.nparams else 1):
        try:
            params = DRAWS[definition.name](rng, stock) if definition.nparams else ()
            compiled = teach.compile_task(definition, params, tasks, classes, scene)
            start = spoiled(rng, compiled, scene)
            plan = plan_task(compiled, start)
        except teach.Unbuildable as unfit:
            why = unfit
            continue
        whole = sum(goal.parts for goal in compiled.goals)
        if plan and met(compiled, {o.id: o for o in start.objects}) < whole:
            return DrawnTask(definition, params, start, compiled, plan)
        why = teach.Unbuildable("all is done already")
    raise why


def _one(rng: random.Random, names: list[str], what: str) -> str:
    if not names:
        raise teach.Unbuildable(f"no {what}")
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


def _workspace(rng: random.Random, stock: Stock) -> tuple[str, ...]:
    pens, books = rng.randint(0, 2), rng.randint(0, 2)
    laptops = 1 if not pens + books else rng.randint(0, 1)
    return str(pens), str(laptops), str(books)


DRAWS: dict[str, Draw] = {
    "Clean X": _clean,
    "Sliced X": _sliced,
    "Cooked Slice Of X": _potato,
    "N Cooked Slices Of X In Y": lambda rng, stock: _in_a_dish(rng, stock, *_potato(rng, stock)),
    "N Slices Of X In Y": lambda rng, stock: _in_a_dish(rng, stock, *_sliced(rng, stock)),
    "Put All X On Y": _put,
    "Put All X In One Y": _put,
    "Boil X": _potato,
    "Clean All X": _clean_all,
    "Toggle X All Y": _toggle,
    "Breakfast": _breakfast,
    "Sandwich": lambda rng, stock: _filling(rng),
    "Salad": lambda rng, stock: (*_filling(rng), str(rng.randint(0, 2))),
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


def task_in_words(drawn: DrawnTask) -> str:
    """What is to be done: our wording of TEACh's tasks, its own for others."""
    spoken = tuple(" ".join(_words(param)) for param in drawn.params)
    if drawn.definition.name in teach.definitions():
        return teach.described(drawn.definition.name, spoken)
    return teach.fill(drawn.definition.description, spoken)


def commander_task(drawn: DrawnTask, room_at: Callable[[float, float], str]) -> str:
    """The commander's instruction: the task, when it is done, and where things are."""
    names = names_of(drawn.scene.objects)
    lines = [f"{task_in_words(drawn)} (Only you know this task.)", "It is done when there is:"]
    lines += [f"- {line}" for line in wanted(drawn.compiled, drawn.scene)]
    lines.append("Where things are at first:")
    lines += [f"- {line}" for line in places(drawn, names, room_at)]
    return "\n".join(lines)


def wanted(compiled: teach.Compiled, scene: Scene) -> list[str]:
    """What should hold in the end, a line each."""
    types = {o.id: o for o in scene.objects}
    names = names_of(scene.objects)
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


def _dish(dish: teach.Dish, objects: Mapping[str, HouseObject]) -> str:
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

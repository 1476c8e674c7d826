"""TEACh's tasks drawn for a house: missing objects, parameters, plan and instructions.

Generated homes get a toaster, a house plant and light switches. Parameters and initial states are
recorded in TEACh's games, not in its task definitions, so parameters are drawn from the available
objects, and objects are moved and made dirty, by seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

from wayword.core.geometry import Point
from wayword.datasets.procedural.homes.objects import OBJECTS, lying_on, names_of
from wayword.datasets.procedural.tables import Table
from wayword.datasets.sources import teach
from wayword.datasets.sources.teach import Unbuildable
from wayword.datasets.sources.teach_planning import KINDS, plan_task
from wayword.worlds.household.goals import Has, Ids, Inside, Trait
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.skills import Order

ABILITIES = Table[tuple[str, ...]]("teach", "abilities", package=__package__)
"""Type -> affordances added for these tasks."""
TEXTS = Table[str]("teach", "texts", package=__package__)
"""Instructions and rules for the actors."""
REACH_M = 1.2
"""Maximum distance (metres) of objects from a standing position."""
MOVED_SHARE = 0.3
"""Share of the objects of a published room that are moved, if another place suits them."""
DIRTY_SHARE = 0.25
"""Share of the dirtyable objects that are made dirty."""
UNDONE_SHARE = 0.7
"""Share of a task's goal states that do not hold at the start."""
# Chosen without measurement.
SPOT_TRIES = 12  # random spots tried per surface, since part of it may be out of reach
SWITCH_M = 0.6
"""Maximum distance (metres) of a light switch from a standing position."""
SWITCH_OFF_WALL = 0.12
"""Distance (metres) of a light switch from its wall, so that the wall does not hide it."""
MOST_SWITCHES = 2  # in a home

FromFloor = Callable[[float, float], float]


@dataclass(frozen=True, eq=False)
class Stage:
    """A house ready for tasks.

    ``starts``: free positions (metres). ``layout`` returns the fixed parts for a scene that differs
    from ``scene`` only in small objects. ``room_at`` returns the room of a point (metres).
    """

    scene: Scene
    starts: tuple[Point, ...]
    layout: Callable[[Scene], Layout]
    room_at: Callable[[float, float], str]


def enable(item: HouseObject) -> HouseObject:
    """Return an object with the affordances that these tasks need."""
    # Most objects need nothing more.
    if item.type not in ABILITIES:
        return item
    item = replace(item, affordances=item.affordances.union(ABILITIES[item.type]))
    if item.type == "house_plant":  # watered by placing a vessel in it
        return replace(item, receptacle="in", accepts=KINDS["vessels"])
    return item


def furnish(
    rng: Random,
    scene: Scene,
    starts: tuple[Point, ...],
    from_floor: FromFloor,
) -> Scene:
    """Add the objects that these tasks need to a generated home.

    ``starts`` are free positions (metres), of which light switches have to be in reach.
    ``from_floor`` returns the distance (metres) of a point from the nearest of them.
    """
    extras: list[HouseObject] = []
    # Drawn in a fixed order, since each draw changes the generator's state.
    counters = [o for o in scene.objects if o.type == "counter_top"]
    if counters:
        toaster = _fixture(
            "toaster",
            "toggleable",
            "heater",
            receptacle="in",
            accepts=("bread",),
            capacity=1,
        )
        extras.append(lay_object(rng, toaster, rng.choice(counters), from_floor))
    tables = [
        o
        for o in scene.objects
        if o.type
        in (
            "side_table",
            "shelf",
            "dining_table",
            "desk",
        )
    ]
    if tables:
        plant = _fixture("house_plant", "fillable")
        extras.append(lay_object(rng, plant, rng.choice(tables), from_floor))

    # Light switches in the middle of walls, on the side of the nearest standing position.
    switch = _fixture("light_switch", "toggleable")
    switches = list[HouseObject]()
    # All walls in random order: the first that suit are taken.
    for wall in rng.sample(scene.walls, len(scene.walls)):
        x = (wall.a[0] + wall.b[0]) / 2
        y = (wall.a[1] + wall.b[1]) / 2
        # Squares are enough to compare distances.
        nearest = min(starts, key=lambda at: (at[0] - x) ** 2 + (at[1] - y) ** 2)
        distance = ((nearest[0] - x) ** 2 + (nearest[1] - y) ** 2) ** 0.5
        # A position on the wall itself has no side.
        if 0.1 < distance <= SWITCH_M and len(switches) < MOST_SWITCHES:
            x = round(x + SWITCH_OFF_WALL * (nearest[0] - x) / distance, 3)
            y = round(y + SWITCH_OFF_WALL * (nearest[1] - y) / distance, 3)
            name = f"light_switch|{len(switches) + 1}"
            # 1.2 m is a usual height of light switches.
            switches.append(
                replace(
                    switch,
                    id=name,
                    x=x,
                    y=y,
                    bottom=1.2,
                )
            )
    objects = (*scene.objects, *extras, *switches)
    return replace(scene, objects=tuple(map(enable, objects)))


def _fixture(kind: str, *affordances: str, **fields: Any) -> HouseObject:
    """Return a small object that cannot be carried, without a place yet."""
    box = (0.0, 0.0, 0.2, 0.2, 0.0, 0.2)
    return HouseObject(
        f"{kind}|1",
        kind,
        *box,
        affordances=frozenset(affordances),
        **fields,
    )


def shuffle_room(rng: Random, scene: Scene, from_floor: FromFloor) -> Scene:
    """Move some objects of a published room to other plausible places, and make some dirty.

    The draws depend on the order of the objects, so it must stay.
    """
    objects = [enable(o) for o in scene.objects]
    # Receptacles with room for any number, so that nothing has to be cleared.
    unlimited = [o for o in scene.objects if o.receptacle and not o.capacity]
    open_to_all = [o for o in unlimited if "heater" not in o.affordances]
    for n, item in enumerate(objects):
        # Types without a list of places stay where they are.
        weight_of: Mapping[str, float] = {}
        if "pickupable" in item.affordances and item.type in OBJECTS:
            weight_of = OBJECTS[item.type].places
        holders = [o for o in open_to_all if o.type in weight_of]
        if holders and rng.random() < MOVED_SHARE:
            (holder,) = rng.choices(holders, [weight_of[o.type] for o in holders])
            # Falls back to its published place if no spot is in reach.
            item = lay_object(
                rng,
                item,
                holder,
                from_floor,
                fallback=item,
            )
        if {"pickupable", "dirtyable"} <= item.affordances:
            item = replace(item, dirty=rng.random() < DIRTY_SHARE)
        objects[n] = item
    return replace(scene, objects=tuple(objects))


def lay_object(
    rng: Random,
    item: HouseObject,
    holder: HouseObject,
    from_floor: FromFloor,
    fallback: HouseObject | None = None,
) -> HouseObject:
    """Place an object at a random reachable spot in or on furniture.

    If none is found, return ``fallback``; without one, use the best spot tried.
    """
    # 0.4 instead of half the free length keeps objects off the edges.
    x_span = 0.4 * max(0.0, holder.width - item.width)
    y_span = 0.4 * max(0.0, holder.depth - item.depth)
    # All spots are drawn before any is tested: the number of draws never depends on the
    # layout.
    spots = []
    for _ in range(SPOT_TRIES):
        x = round(holder.x + rng.uniform(-x_span, x_span), 3)
        spots.append((x, round(holder.y + rng.uniform(-y_span, y_span), 3)))
    best = min(spots, key=lambda spot: from_floor(*spot))
    # The first within reach, so that results vary; else the one closest to it.
    x, y = next((spot for spot in spots if from_floor(*spot) <= REACH_M), best)
    if fallback is not None and from_floor(x, y) > REACH_M:
        return fallback
    return lying_on(item, holder, x, y)


def undo_goals(rng: Random, compiled: teach.Compiled, scene: Scene) -> Scene:
    """Undo the task's goal states in the scene: make objects dirty, turn them on or off.

    At least one state is undone where that is possible; the draws are part of a task's identity.
    """
    traits: list[tuple[str, Trait]] = []
    for dish in compiled.dishes:
        traits += product(dish.objects, dish.traits)
    for goal in compiled.every:
        if isinstance(goal, Has):
            traits += [(goal.objects[0], trait) for trait in goal.traits]
    # Only states that can be undone without moving anything.
    opposites = [
        (t, name, not value) for t, (name, value) in traits if name in ("dirty", "on")
    ]
    objects = scene.by_id()

    def undo(item: str, name: str, value: bool) -> None:
        """Set a state; what cannot get dirty is left as it is."""
        if name == "on":
            objects[item] = replace(objects[item], on=value)
        elif "dirtyable" in objects[item].affordances:
            objects[item] = replace(objects[item], dirty=value)

    # Most of the states; all of them if the others would not leave anything to do.
    drawn = {opposite for opposite in opposites if rng.random() < UNDONE_SHARE}
    # Sorted, because sets have no order and the result is part of an identity.
    for opposite in sorted(drawn or set(opposites)):
        undo(*opposite)
    # Everything done already: then all of the states are undone.
    if count_met(compiled, objects) == sum(goal.parts for goal in compiled.goals):
        for opposite in opposites:
            undo(*opposite)

    # A switch that is on has its appliances on.
    running_ids = set[str]()
    for switch in objects.values():
        if switch.on:
            running_ids.update(switch.controls)
    for item_id in running_ids & objects.keys():
        objects[item_id] = replace(objects[item_id], on=True)
    return replace(scene, objects=tuple(objects.values()))


def count_met(compiled: teach.Compiled, objects: Mapping[str, HouseObject]) -> int:
    """Count the goal parts that hold before the first action."""
    # The judge's own rule on a state made of the initial scene.
    states = (*STATES, "coffee", "boiled")  # the last two are false at the start
    records: dict[str, dict[str, Any]] = {}
    for item in objects.values():
        records[item.id] = {name: getattr(item, name, False) for name in states}
        records[item.id]["in"] = item.parent
    return sum(goal.met({"objects": records, "actors": {}}) for goal in compiled.goals)


# Drawing: parameters that suit a scene, its initial state, and the plan.

# Chosen without measurement.
TRIES = 12  # draws of parameters before a task counts as unbuildable
MOST = 5
"""Maximum number of objects for a task about all objects of a kind."""
_THOR_NAMES = {"cd": "CD", "tv_stand": "TVStand"}
"""Names of types that are not their words capitalized."""


@dataclass(frozen=True)
class SceneStock:
    """Objects of a scene by type, and the classes of types: what tasks can be drawn from."""

    scene: Scene
    classes: teach.Classes

    def of(self, name: str) -> list[HouseObject]:
        """Return the objects of a type or class, by TEACh's name."""
        kinds = teach.of_class(name, self.classes)
        return [o for o in self.scene.objects if o.type in kinds]

    def some(
        self,
        names: tuple[str, ...],
        *enable: str,
        most: int = 99,
    ) -> list[str]:
        """Return the names that match 1 to ``most`` objects.

        All of these objects must have the affordances ``enable``.
        """
        matches = []
        # Each name once; types first, then classes.
        for name in dict.fromkeys(names):
            items = self.of(name)
            is_able = all(o.affordances.issuperset(enable) for o in items)
            # All of them must be able, as "all" means each.
            if is_able and 0 < len(items) <= most:
                matches.append(name)
        return matches

    def carried(self) -> tuple[str, ...]:
        """Return the types of small objects by TEACh's names, then classes."""
        kinds = {o.type for o in self.scene.objects if "pickupable" in o.affordances}
        return (*sorted(map(thor_name, kinds)), *KINDS["carried"])

    def places(self) -> list[str]:
        """Return the types and classes of furniture that can hold objects."""
        kinds = {
            o.type
            for o in self.scene.objects
            if o.receptacle
            and "pickupable" not in o.affordances
            and o.type not in KINDS["nowhere"]
        }
        classes = [
            name
            for name in KINDS["places"]
            if not kinds.isdisjoint(teach.of_class(name, self.classes))
        ]
        return [*sorted(map(thor_name, kinds)), *classes]


@dataclass(frozen=True)
class DrawnTask:
    """A task with its parameters, initial scene, goals and plan."""

    definition: teach.Definition
    params: tuple[str, ...]
    scene: Scene
    compiled: teach.Compiled
    plan: tuple[Order, ...]


def thor_name(kind: str) -> str:
    """Convert ``counter_top`` to ``CounterTop``, AI2-THOR's name of the type."""
    words = [word.capitalize() for word in kind.split("_")]
    # Irregular names first.
    return _THOR_NAMES.get(kind) or "".join(words)


def draw_task(
    rng: Random,
    definition: teach.Definition,
    classes: teach.Classes,
    scene: Scene,
) -> DrawnTask:
    """Draw the task in a scene. Raises ``Unbuildable`` if the scene lacks required objects.

    The same ``rng``, definition and scene give the same task.
    """
    stock = SceneStock(scene, classes)
    cause = Unbuildable("not drawn")
    has_params = definition.task_nparams > 0
    # Without parameters every draw is the same.
    for _ in range(TRIES if has_params else 1):
        try:
            params = draw_params(rng, definition.task_name, stock) if has_params else ()
            compiled = teach.compile_task(
                definition,
                params,
                classes,
                scene,
            )
            start = undo_goals(rng, compiled, scene)
            plan = plan_task(compiled, start)
        except Unbuildable as unfit:
            cause = unfit
            continue
        parts = sum(goal.parts for goal in compiled.goals)
        # Something must be left to do, and a plan must exist.
        if plan and count_met(compiled, start.by_id()) < parts:
            return DrawnTask(
                definition,
                params,
                start,
                compiled,
                plan,
            )
        cause = Unbuildable("its goals are met at the start")
    raise cause


def draw_params(rng: Random, task: str, stock: SceneStock) -> tuple[str, ...]:
    """Draw parameters of a task that suit the scene. Raises ``Unbuildable``."""

    def one(names: list[str], description: str) -> str:
        """Draw one of the names. Raises ``Unbuildable`` if there are none."""
        if not names:
            raise Unbuildable(f"no {description}")
        return rng.choice(names)

    # Each draw changes the generator's state, so the order of calls is fixed.
    carried = stock.carried()
    enable = ("dirtyable", "pickupable")
    match task:
        case "Clean X":
            return (one(stock.some(carried, *enable), "object to wash"),)
        case "Clean All X":
            names = (*carried, *KINDS["washed"])
            return (one(stock.some(names, *enable, most=MOST), "objects to wash"),)
        case "Cooked Slice Of X" | "Boil X" | "N Cooked Slices Of X In Y":
            item = one(stock.some(("Potato",), "cookable"), "potato")
        case "Sliced X" | "N Slices Of X In Y":
            item = one(stock.some(KINDS["sliced"], "sliceable"), "object to slice")
        case "Put All X On Y" | "Put All X In One Y":
            items = one(
                stock.some(carried, "pickupable", most=MOST),
                "objects to place",
            )
            place = one(stock.places(), "place to put objects")
            return items, stock.of(place)[0].receptacle or "on", place
        case "Toggle X All Y":
            names = KINDS["switched"]
            items = one(stock.some(names, "toggleable", most=MOST), "objects to switch")
            # A request for running faucets would be odd.
            # 0.6 leaves both directions frequent; chosen without measurement.
            is_on = items != "Faucet" and rng.random() < 0.6
            return ("on", "1", items) if is_on else ("off", "0", items)
        case "Breakfast":
            return _draw_meal(
                rng, lambda: one(stock.some(KINDS["spots"]), "place to serve it")
            )
        case "Sandwich":
            return _filling_params(rng)
        case "Salad":
            return (*_filling_params(rng), str(rng.randint(0, 2)))
        case "Workspace":
            return _workspace_params(rng)
    # Only tasks with a number serve on a dish.
    if not task.startswith("N "):
        return (item,)
    dish = one(stock.some(("Bowl", "Plate"), "pickupable"), "bowl or plate")
    return str(rng.randint(1, 4)), item, "in" if dish == "Bowl" else "on", dish


def _workspace_params(rng: Random) -> tuple[str, str, str]:
    """Draw the numbers of pens, laptops and books, at least one in total."""
    pens = rng.randint(0, 2)
    books = rng.randint(0, 2)
    laptops = 1
    # At least one object in total.
    if pens or books:
        laptops = rng.randint(0, 1)
    return str(pens), str(laptops), str(books)


def _filling_params(rng: Random) -> tuple[str, str]:
    """Draw the numbers of lettuce and tomato slices, at least one in total."""
    lettuce = rng.randint(0, 2)
    tomato = rng.randint(0, 2)
    # A sandwich or salad needs a filling.
    if not lettuce and not tomato:
        tomato = 1
    return str(lettuce), str(tomato)


def _draw_meal(rng: Random, spot: Callable[[], str]) -> tuple[str, ...]:
    """Draw a breakfast: up to one of each dish, at least two in total, and the place to serve it.

    ``spot`` draws the place. The order of the draws is part of a task's identity, so it
    must stay.
    """
    counts = [rng.randint(0, 1) for _ in range(6)]
    # Fewer than two dishes are no breakfast.
    if sum(counts) < 2:
        counts[0] = counts[1] = 1
    coffees, toasts, potatoes, apples, sandwiches, salads = map(str, counts)
    dish = "Plate" if rng.random() < 0.5 else "Bowl"
    place = spot()
    sandwich_filling = _filling_params(rng)
    salad_filling = _filling_params(rng)
    salad_potatoes = str(rng.randint(0, 2))
    return (
        coffees,
        toasts,
        potatoes,
        dish,
        apples,
        "Plate",
        sandwiches,
        *sandwich_filling,
        salads,
        *salad_filling,
        salad_potatoes,
        place,
    )


# The commander's instruction: the task and the locations of objects.

WORDS = Table[str]("teach", "words", package=__package__)
"""State, as in ``not dirty`` -> its words, if these differ."""
STATES = ("open", "on", "dirty", "filled", "sliced", "cooked")
MOST_LISTED = 60
"""Maximum number of objects whose locations the instruction lists."""


def commander_task(drawn: DrawnTask, room_at: Callable[[float, float], str]) -> str:
    """Write the commander's instruction: the task, its success condition, and object locations.

    ``room_at`` returns the room of a point (metres).
    """
    text = drawn.definition.desc.format(*map(_spaced, drawn.params))
    lines = [f"{text} (Only you know this task.)", "It is done when there is:"]
    lines += [f"- {line}" for line in goal_lines(drawn.compiled, drawn.scene)]
    lines.append("Where things are at first:")
    return "\n".join((*lines, *(f"- {line}" for line in places(drawn, room_at))))


def goal_lines(compiled: teach.Compiled, scene: Scene) -> list[str]:
    """Describe the goals in words, one line per goal.

    Dishes are described by types, since any object of a type will do; other goals name their
    objects as the world does.
    """
    objects = scene.by_id()
    names = names_of(scene.objects)

    def states(traits: tuple[Trait, ...]) -> str:
        """Return required states in words."""
        return " and ".join(
            WORDS.get(n if value else f"not {n}", n) for n, value in traits
        )

    def some(items: Ids, traits: tuple[Trait, ...] = ()) -> str:
        """Return kinds of objects in words, with their states."""
        kinds = " or ".join(dict.fromkeys(_spaced(objects[t].type) for t in items))
        return f"{kinds} ({states(traits)})" if traits else kinds

    lines = []
    for dish in compiled.dishes:
        # A dish without parts is made, but not scored.
        if not dish.parts:
            continue
        line = some(dish.objects, dish.traits)
        if dish.load:
            portions = [
                f"{portion.count} x {some(portion.objects, portion.traits)}"
                for portion in dish.load
            ]
            line += f", with these in or on it: {', '.join(portions)}"
        if dish.at:
            line += f", in or on {some(dish.at)}"
        lines.append(line)
    for goal in compiled.every:
        line = type(goal).__name__
        if isinstance(goal, Has):
            line = f"{names[goal.objects[0]]}, {states(goal.traits)}"
        elif isinstance(goal, Inside):
            items = ", ".join(names[t] for t in goal.objects)
            # One receptacle for all, if there are several objects.
            one = "one and the same " if goal.parts > 1 else ""
            line = f"{items}, in or on {one}{some(goal.receptacles)}"
        lines.append(line)
    return lines


def places(drawn: DrawnTask, room_at: Callable[[float, float], str]) -> list[str]:
    """List the locations of all relevant objects, room by room, at most ``MOST_LISTED``."""
    objects = drawn.scene.by_id()
    names = names_of(drawn.scene.objects)

    # Objects of the plan first: a long list is cut at its end.
    mentioned: list[str] = []
    for order in drawn.plan:
        mentioned += (order.object, order.other)
    for dish in drawn.compiled.dishes:
        mentioned += dish.objects
        for portion in dish.load:
            mentioned += portion.objects
        mentioned += dish.at
    for goal in drawn.compiled.every:
        mentioned += getattr(goal, "objects", ())
        mentioned += getattr(goal, "receptacles", ())
    relevant_ids = [item for item in dict.fromkeys(mentioned) if item]

    # Each with its states, what it is in or on, and what that is in or on.
    rooms: dict[str, list[str]] = {}
    # Cut at the end, where objects matter least.
    for item_id in relevant_ids[:MOST_LISTED]:
        item = objects[item_id]
        line = names[item_id]
        states = [state for state in STATES if getattr(item, state)]
        if states:
            line += f" ({', '.join(states)})"
        if holder := objects.get(item.parent):
            # Two levels: "in the bowl on the table".
            line += f" {holder.receptacle} {names[holder.id]}"
            if holder.parent:
                line += f" {objects[holder.parent].receptacle} {names[holder.parent]}"
        rooms.setdefault(room_at(item.x, item.y), []).append(line)
    return [f"in the {room}: {'; '.join(lines)}" for room, lines in rooms.items()]


def _spaced(name: str) -> str:
    """Return ``small handheld objects`` for ``SmallHandheldObjects``."""
    # A blank before each capital, as the names are AI2-THOR's.
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("_", " ")

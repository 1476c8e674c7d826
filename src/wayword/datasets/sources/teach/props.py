"""Props: what a house needs for TEACh's tasks beside its furniture, and the state it starts in.

Generated homes get a toaster, a house plant and light switches. In every house a coffee machine
brews, plants drink, books and laptops open, candles burn and eggs crack. TEACh's own start states
are not published with its definitions: things are moved and made dirty here by seeded rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from wayword.core.episode import Json
from wayword.datasets.procedural.homes.objects import OBJECTS
from wayword.datasets.sources.teach.compiling import Compiled
from wayword.worlds.household.goals import Has
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Point, Preposition, Scene, Temperature

ABLE: Mapping[str, tuple[str, ...]] = {
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
SPOTS = 12
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
    if thing.type not in ABLE:
        return thing
    affordances = thing.affordances | frozenset(ABLE[thing.type])
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
        for _ in range(SPOTS)
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


def spoiled(rng: random.Random, compiled: Compiled, scene: Scene) -> Scene:
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


def met(compiled: Compiled, objects: Mapping[str, HouseObject]) -> int:
    """How many parts of the goals hold before anybody acts."""
    state = {"objects": {o.id: _record(o) for o in objects.values()}, "actors": {}}
    return sum(goal.met(state) for goal in compiled.goals)


def _wrong(compiled: Compiled) -> list[tuple[str, str, bool]]:
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

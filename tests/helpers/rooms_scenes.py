"""Houses for the tests of the rooms world, and a short way to start an episode in them."""

from __future__ import annotations

import random
from typing import Any

from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.core.world import Feedback
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.layout import Layout, nearest_place
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.verbs import SPEECH, Body
from wayword.worlds.household.world import HouseholdWorld

Pose = tuple[float, float, float]


def flat(**kitchen: Any) -> Scene:
    """A kitchen and a hall, a door between them at (4, 1)–(4, 2); ``shut=True`` shuts it."""
    house = SceneBuilder("flat")
    house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    house.room("hall", [(4, 0), (7, 0), (7, 3), (4, 3)])
    house.door("door", (4, 1), (4, 2), closed=kitchen.get("shut", False))
    fridge = house.furniture(
        *("fridge", 0.4, 2.6, 0.8, 0.8, 1.8, "openable", "cooler"),
        receptacle="in",
        open=kitchen.get("fridge_open", False),
        name="fridge",
    )
    house.furniture(
        *("microwave", 3.2, 2.7, 0.5, 0.4, 0.4, "openable", "toggleable", "heater"),
        receptacle="in",
        bottom=0.9,
        accepts=("apple", "mug", "bowl"),
        name="microwave",
    )
    table = house.furniture(
        "table", 2.0, 2.6, 1.0, 0.6, 0.8, receptacle="on", capacity=3, name="table"
    )
    sink = house.furniture(
        "sink",
        3.6,
        0.3,
        0.6,
        0.5,
        0.9,
        "cleaner",
        "filler",
        receptacle="in",
        name="sink",
    )
    house.furniture(
        *("faucet", 3.6, 0.1, 0.1, 0.1, 0.2, "toggleable"),
        bottom=0.9,
        controls=(sink,),
        name="faucet",
    )
    house.item("apple", "sliceable", "cookable", parent=fridge, name="apple")
    house.item("knife", "slicer", parent=table, x=1.8, name="knife")
    house.item(
        "mug", "fillable", "dirtyable", parent=table, x=2.3, dirty=True, name="mug"
    )
    house.item("bowl", parent="", x=1.0, y=0.6, receptacle="in", name="bowl")
    house.item("box", "openable", x=5.0, y=2.5, receptacle="in", name="box", height=0.3)
    house.furniture(
        *("cabinet", 6.6, 1.5, 0.7, 0.7, 2.0, "openable"),
        receptacle="in",
        name="cabinet",
    )
    return house.build()


def start(
    scene: Scene,
    *poses: Pose,
    body: Body | None = None,
    **options: Any,
) -> HouseholdWorld:
    """A world in which ``agent`` (or ``agent_1``, ``agent_2`` …) stands at the given poses."""
    if len(poses) == 1:
        names = ("agent",)
    else:
        names = tuple(f"agent_{n + 1}" for n in range(len(poses)))
    begin = {
        name: {"x": x, "y": y, "heading": heading}
        for name, (x, y, heading) in zip(names, poses, strict=True)
    }
    world = HouseholdWorld(scene, body, **options)
    world.reset(Episode("test", "", scene.name, {"poses": begin}, actors=names))
    return world


def act(world: HouseholdWorld, text: str, actor: str = "agent") -> Feedback:
    """Step with ``"put apple_1 table_1"``, or ``"chat where are you"``."""
    verb, *words = text.split()
    reply = (" ".join(words),) if verb in SPEECH else tuple(words)
    return world.step(actor, Action(verb, reply))


def seen(world: HouseholdWorld, actor: str = "agent") -> set[str]:
    """The ids of the objects and doors in view."""
    view = world.observe(actor)
    names = [obj.name for obj in (*view.objects, *view.doors)]
    return {str(world.object_id(actor, name)) for name in names}


def random_house(seed: int, rooms: int = 6, things: int = 60) -> Scene:
    """Rooms of 4 m in a grid with doors between neighbours, and furniture and things at random."""
    rng = random.Random(seed)
    wide = max(1, round(rooms**0.5))
    house = SceneBuilder(f"random-{seed}-{rooms}-{things}")
    cells = [(n % wide, n // wide) for n in range(rooms)]
    for n, (i, j) in enumerate(cells):
        x = 4.0 * i
        y = 4.0 * j
        house.room(f"room_{n}", [(x, y), (x + 4, y), (x + 4, y + 4), (x, y + 4)])
    for i, j in cells:
        for i2, j2, a, b in (
            (i + 1, j, (4.0 * i + 4, 4.0 * j + 1.4), (4.0 * i + 4, 4.0 * j + 2.5)),
            (i, j + 1, (4.0 * i + 1.4, 4.0 * j + 4), (4.0 * i + 2.5, 4.0 * j + 4)),
        ):
            if (i2, j2) in cells:
                house.door(f"door|{i}|{j}|{i2}|{j2}", a, b, closed=rng.random() < 0.4)
    holders = [""]
    for n in range(things):
        i, j = rng.choice(cells)
        x = 4.0 * i + rng.uniform(0.3, 3.7)
        y = 4.0 * j + rng.uniform(0.3, 3.7)
        if n % 4 == 0:
            size = rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.7), rng.uniform(0.4, 2.0)
            kinds = [
                ("openable", "cooler"),
                ("openable", "toggleable", "heater"),
                ("cleaner",),
                (),
            ]
            kind = rng.choice(kinds)
            made = house.furniture(
                *(
                    rng.choice(["cabinet", "shelf", "fridge", "table"]),
                    x,
                    y,
                    *size,
                    *kind,
                ),
                *(("toggleable", "filler") if "cleaner" in kind else ()),
                receptacle="in" if kind else "on",
                open="openable" in kind and rng.random() < 0.5,
                bottom=rng.choice([0.0, 0.0, 0.0, 1.3]),
            )
            holders.append(made)
        else:
            what = rng.choice(["apple", "mug", "knife", "bowl", "book"])
            extra = {
                "apple": ("sliceable", "cookable"),
                "mug": ("fillable", "dirtyable"),
            }
            holder = rng.choice(holders)
            made = house.item(
                *(what, *extra.get(what, ("slicer",) if what == "knife" else ())),
                parent=holder,
                **({} if holder else {"x": x, "y": y}),
                receptacle="in" if what == "bowl" else "",
                dirty=what == "mug",
            )
            if what == "bowl":
                holders.append(made)
    return house.build()


def free_poses(scene: Scene, count: int, seed: int, radius: float = 0.2) -> list[Pose]:
    """Random free poses, at least a metre apart, headings in whole pans."""
    rng = random.Random(seed)
    layout = Layout(scene)
    west, south, east, north = layout.bounds
    closed = [not door.open for door in scene.doors]
    found: list[Pose] = []
    while len(found) < count:
        at = rng.uniform(west, east), rng.uniform(south, north)
        place = nearest_place(layout, radius, at, closed)
        if place and all(
            (place[0] - x) ** 2 + (place[1] - y) ** 2 > 1 for x, y, _ in found
        ):
            found.append((*place, 30.0 * rng.randrange(12)))
    return found

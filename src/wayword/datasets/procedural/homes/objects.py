"""What small things a home has, and where each is likely to be.

Types and what may be done to them follow AI2-THOR and ALFRED's tasks. Metres.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from wayword.datasets.procedural.homes.home import Home, surfaces
from wayword.worlds.household.scene import HouseObject, Preposition, Scene


@dataclass(frozen=True, slots=True)
class Small:
    """A kind of small thing.

    ``places``: type of furniture -> weight. ``most``: how many a home has at most. Those that are
    receptacles take the types in ``accepts``.
    """

    places: dict[str, float]
    affordances: tuple[str, ...] = ()
    size: float = 0.1
    height: float = 0.1
    most: int = 2
    receptacle: Preposition = ""
    accepts: tuple[str, ...] = ()
    capacity: int = 3

    def make(self, name: str, kind: str) -> HouseObject:
        """One of them, clean and nowhere yet."""
        return HouseObject(
            *(name, kind, 0.0, 0.0, self.size, self.size, 0.0, self.height),
            affordances=frozenset(("pickupable", *self.affordances)),
            receptacle=self.receptacle,
            accepts=self.accepts,
            capacity=self.capacity if self.receptacle else 0,
        )


_FOOD = {"counter_top": 4.0, "fridge": 4.0, "dining_table": 3.0, "shelf": 0.3}
_DISH = {
    "counter_top": 4.0, "cabinet": 4.0, "dining_table": 3.0, "sink_basin": 1.5, "shelf": 1.0,
    "coffee_table": 0.7, "side_table": 0.4, "desk": 0.4, "fridge": 0.3,
}  # fmt: skip
_COOKING = {"counter_top": 3.0, "cabinet": 4.0, "stove_burner": 1.5, "sink_basin": 0.7}
_CUTLERY = {"counter_top": 4.0, "dining_table": 4.0, "sink_basin": 2.0, "drawer": 0.3}
_DESK = {
    "desk": 4.0, "drawer": 2.0, "side_table": 2.0, "dresser": 2.0, "coffee_table": 1.0,
    "bed": 1.0, "shelf": 1.5, "lamp_table": 1.5, "tv_stand": 0.7, "dining_table": 0.7,
}  # fmt: skip
_POCKET = {**_DESK, "safe": 1.5, "sofa": 1.0, "arm_chair": 0.7}
_READING = {
    "bed": 2.0, "desk": 3.0, "sofa": 2.0, "coffee_table": 3.0, "bookcase": 4.0, "shelf": 2.0,
    "lamp_table": 1.0, "dining_table": 0.5, "arm_chair": 0.7,
}  # fmt: skip
_BATH = {"shelf": 0.5, "cart": 3.0, "toilet": 2.0, "cabinet": 0.3, "sink_basin": 0.3}
_EATEN = ("apple", "bread", "egg", "lettuce", "potato", "tomato")
_CUT = ("fork", "spoon", "knife", "butter_knife", "spatula", "ladle", "dish_sponge")
_TRINKETS = ("key_chain", "watch", "credit_card", "pen", "pencil", "cd", "cell_phone")
_FRUIT = ("dirtyable", "sliceable", "cookable")

OBJECTS: dict[str, Small] = {
    "apple": Small(_FOOD, _FRUIT, most=3),
    "tomato": Small(_FOOD, _FRUIT, most=3),
    "potato": Small(_FOOD, _FRUIT, most=3),
    "lettuce": Small(_FOOD, ("dirtyable", "sliceable"), 0.18, 0.15),
    "bread": Small(_FOOD, ("sliceable", "cookable"), 0.2),
    "egg": Small(_FOOD, ("dirtyable", "cookable"), 0.06, 0.06, 3),
    "wine_bottle": Small({"counter_top": 3.0, "fridge": 2.0, "dining_table": 2.0}, height=0.3),
    "mug": Small(_DISH, ("dirtyable", "fillable"), 0.1, 0.1, 3, "in", (*_CUT, *_TRINKETS), 2),
    "cup": Small(_DISH, ("dirtyable", "fillable"), 0.09, 0.12, 3, "in", (*_CUT, *_TRINKETS), 2),
    "bowl": Small(_DISH, ("dirtyable", "fillable"), 0.18, 0.08, 2, "in",
                  (*_EATEN, *_CUT, *_TRINKETS)),
    "plate": Small(_DISH, ("dirtyable",), 0.22, 0.03, 3, "on", (*_EATEN, *_CUT, *_TRINKETS)),
    "pan": Small(_COOKING, ("dirtyable", "fillable"), 0.25, 0.08, 1, "in", (*_EATEN, *_CUT)),
    "pot": Small(_COOKING, ("dirtyable", "fillable"), 0.22, 0.15, 1, "in", (*_EATEN, *_CUT)),
    "kettle": Small(_COOKING, ("dirtyable", "fillable"), 0.2, 0.2, 1),
    "fork": Small(_CUTLERY, ("dirtyable",), most=3),
    "spoon": Small(_CUTLERY, ("dirtyable",), most=3),
    "butter_knife": Small(_CUTLERY, ("dirtyable", "slicer"), most=2),
    "knife": Small(_CUTLERY, ("dirtyable", "slicer"), most=2),
    "spatula": Small(_CUTLERY, ("dirtyable",), 0.12, most=1),
    "ladle": Small(_CUTLERY, ("dirtyable",), 0.12, most=1),
    "dish_sponge": Small({"counter_top": 2.0, "sink_basin": 3.0, "cabinet": 1.0}, ("dirtyable",)),
    "salt_shaker": Small({"counter_top": 3.0, "dining_table": 3.0, "cabinet": 2.0}, most=1),
    "pepper_shaker": Small({"counter_top": 3.0, "dining_table": 3.0, "cabinet": 2.0}, most=1),
    "soap_bottle": Small({"counter_top": 2.0, "cart": 2.0, "toilet": 1.0, "shelf": 0.5}),
    "book": Small(_READING, (), 0.2, 0.05, 4),
    "newspaper": Small({"sofa": 2.0, "coffee_table": 3.0, "dining_table": 1.0, "tv_stand": 1.0}),
    "laptop": Small({"desk": 3.0, "sofa": 2.0, "bed": 2.0, "coffee_table": 2.0}, (), 0.3, 0.03),
    "remote_control": Small({"sofa": 3.0, "tv_stand": 3.0, "coffee_table": 3.0, "arm_chair": 1.0}),
    "pillow": Small({"sofa": 2.0, "bed": 4.0, "arm_chair": 1.0}, (), 0.35, 0.15, 3),
    "key_chain": Small(_POCKET),
    "watch": Small(_POCKET),
    "credit_card": Small(_POCKET),
    "cell_phone": Small(_POCKET),
    "cd": Small(_DESK, most=3),
    "pen": Small(_DESK, most=3),
    "pencil": Small(_DESK, most=3),
    "alarm_clock": Small({"desk": 2.0, "lamp_table": 3.0, "dresser": 3.0, "side_table": 2.0}),
    "vase": Small({"coffee_table": 2.0, "shelf": 2.0, "side_table": 2.0, "dining_table": 1.0}),
    "statue": Small({"shelf": 2.0, "tv_stand": 2.0, "coffee_table": 1.0, "dresser": 1.0}),
    "box": Small({"sofa": 1.0, "coffee_table": 1.0, "bed": 1.0, "arm_chair": 1.0, "shelf": 1.0},
                 (), 0.3, 0.2, 1, "in", ("key_chain", "watch", "credit_card", "cell_phone", "cd",
                                         "pen", "pencil", "remote_control", "book")),
    "basket_ball": Small({"bed": 1.0, "arm_chair": 1.0, "shelf": 2.0}, (), 0.24, 0.24, 1),
    "tissue_box": Small({**_BATH, "side_table": 2.0, "dresser": 1.0, "coffee_table": 1.0}),
    "toilet_paper": Small(_BATH, most=3),
    "soap_bar": Small({**_BATH, "bathtub": 2.0, "sink_basin": 2.0}, ("dirtyable",)),
    "spray_bottle": Small({**_BATH, "counter_top": 0.5}),
    "candle": Small({**_BATH, "coffee_table": 1.0, "shelf": 1.0}),
    "cloth": Small({**_BATH, "bathtub": 2.0, "laundry_hamper": 1.0}, ("dirtyable",), 0.2, 0.03),
    "towel": Small({"bathtub": 1.0, "shelf": 1.0, "cart": 2.0, "laundry_hamper": 1.0}, (), 0.3),
}  # fmt: skip
"""Type -> what it is like and where it may be."""


# Small things laid about a home, each where such a thing is likely to be.

SPARE = 2
"""Places left free in receptacles of bounded capacity, where they have more than one."""
ARM = 1.2
"""Metres from where one can stand within which things are laid: less than bodies reach."""
SPOTS = 12
DIRTY = 0.25
"""Share of the things that can be dirty and are."""


@dataclass(eq=False)
class Arrangement:
    """A home's furniture and the things in it, by id; change ``objects`` and take ``scene()``."""

    home: Home
    objects: dict[str, HouseObject] = field(default_factory=dict)

    def scene(self) -> Scene:
        """The scene: furniture first, in the home's own order."""
        return replace(self.home.scene, objects=tuple(self.objects.values()))

    def of(self, kind: str) -> list[HouseObject]:
        """The objects of a type."""
        return [o for o in self.objects.values() if o.type == kind]

    def ids(self, kind: str) -> tuple[str, ...]:
        """The ids of the objects of a type."""
        return tuple(o.id for o in self.of(kind))

    def contents(self, under: str) -> list[HouseObject]:
        """What is directly in or on an object."""
        return [o for o in self.objects.values() if o.parent == under]

    def room(self, thing: HouseObject) -> str:
        """The room an object is in."""
        return self.home.layout.room_at(thing.x, thing.y)

    def space(self, under: HouseObject) -> int:
        """How many more things fit, many where there is no bound."""
        return under.capacity - len(self.contents(under.id)) if under.capacity else 99

    def lay(self, rng: random.Random, thing: HouseObject, under: HouseObject) -> HouseObject:
        """A thing moved to a random spot in or on a piece of furniture."""
        x, y = self._spot(rng, thing, under)
        raised = under.height if under.receptacle == "on" else under.height / 2
        placed = replace(
            thing,
            x=x,
            y=y,
            bottom=round(under.bottom + raised, 3),
            parent=under.id,
            temperature="cold" if "cooler" in under.affordances else "room",
        )
        self.objects[thing.id] = placed
        return placed

    def _spot(
        self, rng: random.Random, thing: HouseObject, under: HouseObject
    ) -> tuple[float, float]:
        """A random spot, off the edges, that a hand reaches; else the nearest of those tried."""
        wide = 0.4 * max(0.0, under.width - thing.width)
        deep = 0.4 * max(0.0, under.depth - thing.depth)
        tried: list[tuple[float, float, float]] = []
        for _ in range(SPOTS):
            x = round(under.x + rng.uniform(-wide, wide), 3)
            y = round(under.y + rng.uniform(-deep, deep), 3)
            away = self.home.from_floor(x, y)
            if away <= ARM:
                return x, y
            tried.append((away, x, y))
        return min(tried)[1:]


def arrange(rng: random.Random, home: Home, plenty: float = 1.0) -> Arrangement:
    """Things by the rules of ``objects``; ``plenty`` multiplies how many there are of each."""
    made = Arrangement(home, {o.id: o for o in home.scene.objects})
    furniture = surfaces(home.scene)
    for kind, spec in OBJECTS.items():
        likely = [o for o in furniture if o.type in spec.places]
        if not likely:
            continue
        count = round(rng.uniform(0.2, spec.most + 0.4) * plenty)
        for number in range(1, count + 1):
            free = [o for o in likely if made.space(o) > min(SPARE, max(0, o.capacity - 1))]
            if not free:
                break
            (under,) = rng.choices(free, weights=[spec.places[o.type] for o in free])
            made.lay(rng, _new(rng, kind, number), under)
    return made


def _new(rng: random.Random, kind: str, number: int) -> HouseObject:
    spec = OBJECTS[kind]
    dirty = "dirtyable" in spec.affordances and rng.random() < DIRTY
    return replace(spec.make(f"{kind}|{number}", kind), dirty=dirty)

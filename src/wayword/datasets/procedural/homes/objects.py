"""Small objects of a home, and their likely places.

Types and affordances follow AI2-THOR and ALFRED's tasks. Units are metres.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from wayword.core.episode import JsonObject
from wayword.datasets.procedural.homes.home import Home, surfaces
from wayword.datasets.procedural.tables import Table, Tables, expand_sets
from wayword.worlds.household.scene import HouseObject, Preposition, Scene, Temperature


@dataclass(frozen=True)
class ObjectKind:
    """A kind of small object; sizes in metres.

    ``places``: furniture type -> weight. ``most``: typical maximum per home. ``size``: width and
    depth. ``receptacle`` holds up to ``capacity`` objects of the types in ``accepts`` (empty: any).
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
        """Return a clean object of the kind, not placed yet."""
        capacity = self.capacity if self.receptacle else 0
        return HouseObject(
            name,
            kind,
            x=0.0,
            y=0.0,
            width=self.size,
            depth=self.size,
            bottom=0.0,
            height=self.height,
            affordances=frozenset(("pickupable", *self.affordances)),
            receptacle=self.receptacle,
            accepts=self.accepts,
            capacity=capacity,
        )


def _small(row: JsonObject, tables: Tables) -> ObjectKind:
    """Make a kind from a row of ``objects.toml``: ``like`` names a set of places, to which those of
    ``places`` are added."""
    fields = dict(row)
    accepts = expand_sets(fields.pop("accepts", ()), tables["kinds"])
    places = dict(tables["places"].get(fields.pop("like", ""), ()))
    places |= fields.pop("places", {})
    return ObjectKind(places, accepts=accepts, **fields)


OBJECTS: Mapping[str, ObjectKind] = Table("objects", "objects", _small)
"""Object type -> its kind."""


# Placement of small objects in a home, each at a likely place.

SPARE = 2
"""Slots left free in receptacles with more than one slot."""
ARM_LENGTH = 1.2
"""Maximum distance of objects from a standing position (metres); less than a body's reach."""
TRIED_SPOTS = 12  # random spots tried per surface, since part of it may be out of reach
DIRTY_SHARE = 0.25
"""Share of the dirtyable objects that are dirty."""


@dataclass(eq=False)
class Arrangement:
    """Furniture and objects of a home by id; modify ``objects``, then call ``scene()``."""

    home: Home
    objects: dict[str, HouseObject] = field(default_factory=dict)

    def scene(self) -> Scene:
        """Return the scene: furniture first, in the home's order."""
        return replace(self.home.scene, objects=tuple(self.objects.values()))

    def of(self, kind: str) -> list[HouseObject]:
        """Return the objects of a type, in the order of placement."""
        return [o for o in self.objects.values() if o.type == kind]

    def ids(self, kind: str) -> tuple[str, ...]:
        """Return the ids of the objects of a type."""
        return tuple(o.id for o in self.of(kind))

    def contents(self, under: str) -> list[HouseObject]:
        """Return the objects directly in or on an object."""
        return [o for o in self.objects.values() if o.parent == under]

    def room(self, item: HouseObject) -> str:
        """Return the name of the room that an object is in."""
        return self.home.layout.room_at(item.x, item.y)

    def free_slots(self, under: HouseObject) -> int:
        """Return the number of further objects that fit; 99 if unbounded."""
        if not under.capacity:
            return 99
        return under.capacity - len(self.contents(under.id))

    def place_on(
        self,
        rng: random.Random,
        item: HouseObject,
        under: HouseObject,
    ) -> HouseObject:
        """Move an object to a random spot in or on furniture, off its edges and within reach; if
        no spot is, to the one nearest to a standing position. Returns the moved object."""
        # 0.4 instead of half the free length keeps objects off the edges.
        half_width = 0.4 * max(0.0, under.width - item.width)
        half_depth = 0.4 * max(0.0, under.depth - item.depth)
        spots: list[tuple[float, float, float]] = []
        for _ in range(TRIED_SPOTS):
            x = round(under.x + rng.uniform(-half_width, half_width), 3)
            y = round(under.y + rng.uniform(-half_depth, half_depth), 3)
            distance = self.home.distance_from_floor(x, y)
            spots.append((distance, x, y))
            if distance <= ARM_LENGTH:
                break
        else:
            _, x, y = min(spots)
        placed = lying_on(item, under, x, y)
        self.objects[item.id] = placed
        return placed


def lying_on(
    item: HouseObject,
    under: HouseObject,
    x: float,
    y: float,
) -> HouseObject:
    """Return the object at a point in or on furniture; it is cold if the furniture cools."""
    raised = under.height
    if under.receptacle != "on":
        raised = under.height / 2  # on a shelf in the middle
    temperature: Temperature = "cold" if "cooler" in under.affordances else "room"
    return replace(
        item,
        x=x,
        y=y,
        bottom=round(under.bottom + raised, 3),
        parent=under.id,
        temperature=temperature,
    )


def arrange(rng: random.Random, home: Home, clutter: float = 1.0) -> Arrangement:
    """Place objects by the rules of ``OBJECTS``; ``clutter`` multiplies the number of each type."""
    arrangement = Arrangement(home, home.scene.by_id())
    furniture = surfaces(home.scene)
    held = Counter(o.parent for o in arrangement.objects.values())
    for kind, spec in OBJECTS.items():
        supports = [o for o in furniture if o.type in spec.places]
        if not supports:
            continue
        # Rounds to 0 at times, so that not every home has every type.
        count = round(rng.uniform(0.2, spec.most + 0.4) * clutter)
        for number in range(1, count + 1):
            free = []
            for support in supports:
                spare = min(SPARE, support.capacity - 1)
                slots = support.capacity - held[support.id] - spare
                if not support.capacity or slots > 0:
                    free.append(support)
            if not free:
                break
            (under,) = rng.choices(free, weights=[spec.places[o.type] for o in free])
            held[under.id] += 1
            dirty = "dirtyable" in spec.affordances and rng.random() < DIRTY_SHARE
            item = replace(spec.make(f"{kind}|{number}", kind), dirty=dirty)
            arrangement.place_on(rng, item, under)
    return arrangement


def names_of(objects: Iterable[HouseObject]) -> dict[str, str]:
    """Map object ids to names (``mug_2``), as in a world where every object is named."""
    counts = Counter[str]()
    names = dict[str, str]()
    for each in objects:
        counts[each.type] += 1
        names[each.id] = f"{each.type}_{counts[each.type]}"
    return names

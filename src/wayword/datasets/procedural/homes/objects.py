"""What small things a home has, and where each is likely to be.

Types and what may be done to them follow AI2-THOR and ALFRED's tasks. Metres.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wayword.datasets.procedural.homes.home import Home, surfaces
from wayword.datasets.procedural.tables import Table, Tables
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


def _small(row: Mapping[str, Any], tables: Tables) -> Small:
    sets = tables["kinds"]
    taken = tuple(each for name in row.get("accepts", ()) for each in sets.get(name, (name,)))
    places = dict(tables["places"].get(row.get("like", ""), ())) | row.get("places", {})
    rest = {name: row[name] for name in row if name not in ("like", "places", "accepts")}
    return Small(places, accepts=taken, **rest)


OBJECTS: Mapping[str, Small] = Table("objects", "objects", _small)
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


def names_of(objects: Iterable[HouseObject]) -> dict[str, str]:
    """Id -> the name of each object, as a world whose things are all named has them."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for each in objects:
        counts[each.type] = counts.get(each.type, 0) + 1
        names[each.id] = f"{each.type}_{counts[each.type]}"
    return names

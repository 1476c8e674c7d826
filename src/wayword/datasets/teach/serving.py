"""Goal conditions for what is made and served: dishes, each on a thing of its own.

A thing that was sliced stays one thing here: it is all of its slices. So several slices of an apple
are one sliced apple; a sandwich and a salad need a tomato each.

Source: TEACh (Padmakumar et al. 2022), section 3.1: conditions on components, and relations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wayword.datasets.homes.goals import Ids, State, Trait, shows, under


@dataclass(frozen=True, slots=True)
class Portion:
    """``count`` of ``things``, each with the traits."""

    things: Ids
    traits: tuple[Trait, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Dish:
    """One of ``things`` with the traits, ``load`` in or on it, and it in or on one of ``at``
    (empty: wherever)."""

    things: Ids
    traits: tuple[Trait, ...] = ()
    load: tuple[Portion, ...] = ()
    at: Ids = ()

    @property
    def parts(self) -> int:
        """A part for each trait, each thing of the load, and for being where it should be."""
        return len(self.traits) + sum(each.count for each in self.load) + bool(self.at)

    def met_by(self, state: State, thing: str) -> int:
        """How many parts hold, were it that thing."""
        record = state["objects"][thing]
        met = sum(bool(record[name] == value) for name, value in self.traits)
        if self.at:
            met += any(place in self.at for place in under(state, thing))
        for portion in self.load:
            there = sum(
                shows(state, each, portion.traits) and thing in under(state, each)
                for each in portion.things
            )
            met += min(portion.count, there)
        return met


@dataclass(frozen=True, slots=True)
class Served:
    """All of ``dishes``, each on a thing of its own: as many parts as the best way to tell them
    apart has."""

    dishes: tuple[Dish, ...]

    @property
    def parts(self) -> int:
        return sum(dish.parts for dish in self.dishes)

    def met(self, state: State) -> int:
        """How many parts hold."""
        kinds = dict.fromkeys(dish.things for dish in self.dishes)
        return sum(_most(state, [d for d in self.dishes if d.things == k]) for k in kinds)


def _most(state: State, dishes: list[Dish]) -> int:
    """The best sum over all ways to give dishes of like things one each."""
    worth = [[dish.met_by(state, thing) for thing in dish.things] for dish in dishes]
    best = {frozenset[int](): 0}
    for row in worth:
        grown: dict[frozenset[int], int] = {}
        for taken, total in best.items():
            for also, value in _each(taken, row):
                grown[also] = max(grown.get(also, 0), total + value)
        best = grown
    return max(best.values(), default=0)


def _each(taken: frozenset[int], row: list[int]) -> Iterator[tuple[frozenset[int], int]]:
    """A dish on each free thing, or, where that is worth nothing, on none."""
    yield taken, 0
    for number, value in enumerate(row):
        if value and number not in taken:
            yield taken | {number}, value

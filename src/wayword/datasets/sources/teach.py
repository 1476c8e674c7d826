"""TEACh's task definitions, compiled to goal conditions in a scene.

A definition lists components (objects with properties, or other tasks) and relations (what must be
in or on what). ``#0``, ``#1`` … are its parameters. Goals are stated over dishes, i.e. objects to
make and serve, each assigned to a different object. A sliced object remains one object, which
stands for all of its slices: several slices of an apple count once; a sandwich and a salad need a
tomato each.

Source: TEACh (Padmakumar et al. 2022), section 3.1. ``teach.toml`` restates its 25
``task_definitions``, with instructions worded by this project.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import TypeAdapter

from wayword.core.errors import DataError
from wayword.core.files import find, read_json
from wayword.datasets.procedural.tables import Table
from wayword.worlds.household import goals
from wayword.worlds.household.builder import type_name
from wayword.worlds.household.scene import Scene

FOLDER = Path("teach") / "meta_data_files"


@dataclass(frozen=True)
class Component:
    """An object of a task, with the field names of the published file.

    ``determiner``: how many (``a``, ``all``, a number, a parameter).
    ``conditions``: AI2-THOR property -> required value.
    ``task_name``: if set, that task must be done instead, with ``task_params``.
    """

    determiner: str
    conditions: Mapping[str, str | int] = field(default_factory=dict)
    task_name: str = ""
    task_params: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relation:
    """A relation of components: the heads must be in or on the tail.

    On any object that matches it (``a``), or all on the same one (``the``).
    """

    property: Literal["parentReceptacles"]
    head_entity_list: tuple[str, ...]
    tail_entity_list: tuple[str]
    tail_determiner_list: tuple[Literal["a", "the"]]


@dataclass(frozen=True)
class Definition:
    """A task with the field names of the published file.

    ``task_anchor_object`` is the component that represents its result where the task is
    part of another.
    """

    task_id: int
    task_name: str
    task_nparams: int
    desc: str
    task_anchor_object: str | None
    components: Mapping[str, Component]
    relations: tuple[Relation, ...]


def fill_params(text: str, params: tuple[str, ...]) -> str:
    """Replace the parameter references in a text."""
    return re.sub(r"#(\d+)", lambda match: params[int(match[1])], text)


@cache
def definitions() -> dict[str, Definition]:
    """Name -> definition of TEACh's 25 tasks, by TEACh's numbers."""
    text = (resources.files(__package__) / "teach.toml").read_text(encoding="utf-8")
    listed = TypeAdapter(list[Definition]).validate_python(tomllib.loads(text)["tasks"])
    return {each.task_name: each for each in listed}


# Object types: AI2-THOR's type names and TEACh's classes, mapped to types of the household world.
#
# Source: TEACh's ``custom_object_classes``, limited to the classes its tasks use.

Classes = Mapping[str, tuple[str, ...]]
"""Class -> its types in the household world."""

BASINS = {"sink": ("sink", "sink_basin"), "bathtub": ("bathtub", "bathtub_basin")}
"""AI2-THOR models the basin as a separate object."""
CUT_ENDINGS = ("Sliced", "Cracked")
"""Suffixes of types that result from cutting."""

CLASSES: Classes = Table[tuple[str, ...]]("teach", "classes", package=__package__)
"""Classes for generated homes, limited to the types in these homes."""


def of_type(name: str) -> tuple[tuple[str, ...], bool]:
    """Convert an AI2-THOR type to household types; True if it is a cut type."""
    for ending in CUT_ENDINGS:
        if name.endswith(ending):
            return (type_name(name.removesuffix(ending)),), True
    kind = type_name(name)
    return BASINS.get(kind, (kind,)), False


def of_class(name: str, classes: Classes) -> tuple[str, ...]:
    """Return the types of a class; a type is its own class."""
    return classes.get(name) or of_type(name)[0]


def classes_file(folder: Path) -> Path:
    """Return the file of TEACh's object classes. Raises ``DataError``."""
    return find(folder / FOLDER / "ai2thor_resources", "custom_object_classes.json")


@lru_cache(maxsize=4)
def read_classes(folder: Path) -> dict[str, tuple[str, ...]]:
    """Read TEACh's classes from the data folder. Raises ``DataError``."""
    path = classes_file(folder)
    record = read_json(path, dict)  # type -> classes
    members: dict[str, list[str]] = {}
    for kind, names in record.items():
        if not isinstance(names, Sequence) or isinstance(names, str):
            raise DataError(
                path,
                f"type {kind!r}",
                f"must be a list of classes, got {names!r}",
            )
        if kind.endswith(CUT_ENDINGS):
            continue  # the same object before cutting is already listed
        for name in names:
            members.setdefault(str(name), []).append(type_name(kind))
    return {name: tuple(kinds) for name, kinds in members.items()}


@dataclass(frozen=True)
class Portion:
    """A number (``count``) of ``objects`` that must have the ``traits``."""

    objects: goals.Ids
    traits: tuple[goals.Trait, ...] = ()
    count: int = 1


@dataclass(eq=False)
class Dish:
    """A dish: one of ``objects`` with ``traits``, carrying ``load``, in or on one of ``at``.

    Without ``at`` it may be anywhere. Compiling a task adds relations to it.
    """

    objects: goals.Ids
    traits: tuple[goals.Trait, ...] = ()
    load: tuple[Portion, ...] = ()
    at: goals.Ids = ()

    @property
    def parts(self) -> int:
        """Number of traits and of loaded objects, plus 1 if it has a place."""
        return len(self.traits) + sum(each.count for each in self.load) + bool(self.at)

    @property
    def words(self) -> str:
        """Description, as in ``hot plate with 2 not whole potato in or on table``."""
        text = goals.kinds_with(self.traits, self.objects)
        load = [
            f"{portion.count} {goals.kinds_with(portion.traits, portion.objects)}"
            for portion in self.load
        ]
        if load:
            text += f" with {', '.join(load)}"
        if self.at:
            text += f" in or on {goals.kinds(self.at)}"
        return text

    @property
    def singles(self) -> Iterator[goals.GoalCondition]:
        """Each trait, load and place as a condition of its own, on any object of the kind."""
        for trait in self.traits:
            yield goals.Has(self.objects, (trait,))
        for each in self.load:
            yield goals.Inside(each.objects, self.objects, each.traits, each.count)
        if self.at:
            yield goals.Inside(self.objects, self.at)

    def parts_met(self, state: goals.State, item: str) -> int:
        """Return the number of satisfied parts if ``item`` is the dish."""
        record = state["objects"][item]
        met = sum(bool(record[name] == value) for name, value in self.traits)
        met += any(place in self.at for place in goals.holders_of(state, item))
        for portion in self.load:
            loaded = sum(
                goals.has_traits(state, each, portion.traits)
                and item in goals.holders_of(state, each)
                for each in portion.objects
            )
            met += min(portion.count, loaded)
        return met


@dataclass(frozen=True)
class Served:
    """Goal: all ``dishes``, each a different object. Parts are counted for the best assignment."""

    dishes: tuple[Dish, ...]

    @property
    def parts(self) -> int:
        """Number of scored parts of all dishes."""
        return sum(dish.parts for dish in self.dishes)

    @property
    def words(self) -> str:
        """The dishes in words for users."""
        return ", ".join(dish.words for dish in self.dishes)

    @property
    def singles(self) -> tuple[goals.GoalCondition, ...]:
        """The conditions on each dish, one by one."""
        return tuple(chain.from_iterable(dish.singles for dish in self.dishes))

    def met(self, state: goals.State) -> int:
        """Return the number of satisfied parts."""
        from scipy.optimize import linear_sum_assignment

        # Dishes with the same eligible objects compete for them; others do not.
        parts_met = 0
        for objects in dict.fromkeys(dish.objects for dish in self.dishes):
            dishes = [dish for dish in self.dishes if dish.objects == objects]
            worth = np.zeros((len(dishes), len(objects)), dtype=np.int64)
            for row, dish in enumerate(dishes):
                worth[row] = [dish.parts_met(state, item) for item in objects]
            parts_met += int(worth[linear_sum_assignment(worth, maximize=True)].sum())
        return parts_met


# Compilation of a definition and its parameters to goals in a scene.
#
# Simplifications: slices stay together, so any number of them is one sliced object; slicing an
# egg cracks it; sinks and bathtubs are represented by their basins; "toasted" and "cooked" are
# both ``cooked``, regardless of the heat source.

PROPERTIES = Table[str]("teach", "properties", package=__package__)
"""AI2-THOR's property -> our state."""
NEEDED_AFFORDANCES = {
    "sliced": "sliceable", "cooked": "cookable", "boiled": "cookable", "coffee": "fillable",
    "on": "toggleable", "open": "openable",
}  # fmt: skip
"""State -> the affordance an object needs to reach it."""
SLICED: goals.Trait = ("sliced", True)


class Unbuildable(Exception):
    """The scene lacks something that the task needs."""


@dataclass(eq=False)
class CompiledPart:
    """A compiled component: dishes to make, ids of all objects of a kind, or places."""

    dishes: list[Dish] = field(default_factory=list)
    every: goals.Ids = ()
    places: goals.Ids = ()


@dataclass(eq=False)
class Compiled:
    """A task in a scene.

    ``every``: goals on all objects of a kind; ``anchor``: the dish that represents its
    result in other tasks; ``dishes``: those to make, each a different object.
    """

    dishes: list[Dish] = field(default_factory=list)
    every: list[goals.GoalCondition] = field(default_factory=list)
    anchor: Dish | None = None

    @property
    def goals(self) -> tuple[goals.GoalCondition, ...]:
        """Conditions for judges. Objects loaded on a dish also count individually when ready."""
        ready: Counter[tuple[goals.Ids, tuple[goals.Trait, ...]]] = Counter()
        for dish in self.dishes:
            for portion in dish.load:
                if portion.traits:
                    ready[portion.objects, portion.traits] += portion.count
        conditions = list(self.every)
        for (objects, traits), count in ready.items():
            conditions.append(goals.Has(objects, traits, count))
        served = tuple(dish for dish in self.dishes if dish.parts)
        if served:
            conditions.append(Served(served))
        return tuple(conditions)

    def add_relation(
        self,
        parts: Mapping[str, CompiledPart],
        relation: Relation,
    ) -> None:
        """Put the heads of a relation in or on its tail."""
        heads: list[Dish] = []
        every: list[str] = []
        for name in relation.head_entity_list:
            heads += parts[name].dishes
            every += parts[name].every
        tail = parts[relation.tail_entity_list[0]]
        if tail.dishes:
            self._load(tail.dishes[0], heads)
        elif relation.tail_determiner_list == ("a",):
            for head in heads:
                head.at = tail.places
            self.every += [goals.Inside((item,), tail.places) for item in every]
        else:  # all on the same one
            if every:
                together = goals.Inside(tuple(every), tail.places, parts=len(every))
                self.every.append(together)
            if heads:
                self.dishes.append(Dish(tail.places))
                self._load(self.dishes[-1], heads)

    def _load(self, tail: Dish, heads: list[Dish]) -> None:
        """Convert heads to portions of the dish they are on."""
        for head in heads:
            self.dishes = [dish for dish in self.dishes if dish is not head]
            # Equal heads are one portion, counted.
            kind = (head.objects, head.traits)
            others = tuple(p for p in tail.load if (p.objects, p.traits) != kind)
            count = 1 + sum(p.count for p in tail.load if p not in others)
            tail.load = (*others, Portion(*kind, count))


def compile_task(
    definition: Definition,
    params: tuple[str, ...],
    classes: Classes,
    scene: Scene,
) -> Compiled:
    """Compile a definition to goals in a scene.

    ``params`` replace the references in the definition's texts. Raises ``Unbuildable``
    if the scene lacks objects.
    """
    built = Compiler(classes, scene).build(definition, params)
    required: Counter[goals.Ids] = Counter()
    for dish in built.dishes:
        required[dish.objects] += 1
        for portion in dish.load:
            required[portion.objects] += portion.count
    for objects, count in required.items():
        if len(objects) < count:
            kind = objects[0].partition("|")[0] if objects else "object"
            raise Unbuildable(f"needs {count} of {kind}, has {len(objects)}")
    return built


@dataclass(frozen=True)
class Compiler:
    """Compiler for one scene."""

    classes: Classes
    scene: Scene

    def build(self, definition: Definition, params: tuple[str, ...]) -> Compiled:
        """Compile the components, then the relations between them."""
        built = Compiled()
        parts = dict[str, CompiledPart]()
        heads = set[str]()
        for relation in definition.relations:
            heads.update(relation.head_entity_list)
        for name, component in definition.components.items():
            parts[name] = self._component(built, component, params, name in heads)
        for relation in definition.relations:
            built.add_relation(parts, relation)
        anchor = parts.get(definition.task_anchor_object or "")
        if anchor and len(anchor.dishes) == 1:
            built.anchor = anchor.dishes[0]
        return built

    def _component(
        self,
        built: Compiled,
        each: Component,
        params: tuple[str, ...],
        head: bool,
    ) -> CompiledPart:
        """Compile a component; ``head``: a relation puts it in or on something.

        Adds goals and dishes to ``built``. A place for others, and an object of which nothing is
        required, gives no dish. Raises ``Unbuildable`` if the scene has no suitable object.
        """
        # "All" counts as 0: it makes a goal for each object, not a number of dishes.
        determiner = fill_params(each.determiner, params)
        count = int({"all": "0", "a": "1"}.get(determiner, determiner))
        if each.task_name:
            # Another task, to be done ``count`` times.
            inner_params = tuple(fill_params(p, params) for p in each.task_params)
            part = CompiledPart()
            for _ in range(count):
                inner = self.build(definitions()[each.task_name], inner_params)
                built.every += inner.every
                anchor = inner.anchor
                if anchor and SLICED in anchor.traits and part.dishes:
                    break  # the first sliced object already covers the other slices
                built.dishes += inner.dishes
                if anchor:
                    part.dishes.append(anchor)
            return part

        # All objects of a kind: one goal per object and trait.
        objects, traits, place = self._conditions(each, params)
        if determiner == "all":
            for item in objects:
                built.every += [goals.Has((item,), (trait,)) for trait in traits]
            return CompiledPart(every=objects)
        if not objects and count:
            kind, *_ = map(str, each.conditions.values())
            raise Unbuildable(f"no suitable {fill_params(kind, params)}")

        # A place for others, else a number of dishes.
        if place or not (traits or head):
            return CompiledPart(places=objects)
        if SLICED in traits:
            count = min(count, 1)  # slices of one object stay together
        dishes = [Dish(objects, traits) for _ in range(count)]
        built.dishes += dishes
        return CompiledPart(dishes)

    def _conditions(
        self,
        each: Component,
        params: tuple[str, ...],
    ) -> tuple[goals.Ids, tuple[goals.Trait, ...], bool]:
        """Return a component's eligible objects, their required traits, and True for a place.

        ``params`` are the task's parameters, which the conditions may name. An object is eligible
        by its type and by its affordances: it must be able to reach every required trait.
        """
        kinds: tuple[str, ...] = ()
        traits: list[goals.Trait] = []
        place = False
        for name, given in each.conditions.items():
            value = fill_params(str(given), params)
            if name == "objectType":
                kinds, is_cut = of_type(value)
                if is_cut:
                    traits.append(SLICED)
            elif name == "simbotObjectClass":
                kinds = of_class(value, self.classes)
            elif name == "receptacle":
                place = True
            else:
                traits.append((PROPERTIES[name], bool(int(value))))

        # Traits are the goal: an eligible object can reach them, and need not have them yet.
        needed = {
            NEEDED_AFFORDANCES[name] for name, _ in traits if name in NEEDED_AFFORDANCES
        }
        objects = tuple(
            o.id
            for o in self.scene.objects
            if o.type in kinds
            and (o.receptacle or not place)
            and needed <= o.affordances
        )
        return objects, tuple(traits), place

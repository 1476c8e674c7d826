"""TEACh's tasks: what its definitions ask of a house, as goal conditions in a scene.

A definition names what must be there (components: things with properties, or other tasks) and what
must be in or on what (relations). ``#0``, ``#1`` … stand for its parameters. Conditions are about
what is made and served: dishes, each on a thing of its own. A thing that was sliced stays one thing
here: it is all of its slices. So several slices of an apple are one sliced apple; a sandwich and a
salad need a tomato each.

Source: TEACh (Padmakumar et al. 2022), section 3.1, and its ``task_definitions`` (one JSON a task).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from wayword.core.episode import Json
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_field, read_json
from wayword.worlds.household.goals import (
    GoalCondition,
    Has,
    Ids,
    Inside,
    State,
    Trait,
    kinds,
    kinds_with,
    shows,
    under,
)
from wayword.worlds.household.scene import Scene

FOLDER = Path("teach") / "meta_data_files"
_PARAMETER = re.compile(r"#(\d+)")
_BOTH = (str, int)


@dataclass(frozen=True, slots=True)
class Component:
    """Something a task is about: ``determiner`` of them (``a``, ``all``, a number, a parameter).

    ``conditions`` are AI2-THOR's properties and the values they must have; where ``task`` names
    another definition, that is to be done instead, with ``params``.
    """

    name: str
    determiner: str
    conditions: tuple[tuple[str, Json], ...] = ()
    task: str = ""
    params: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """``heads`` must be in or on the component ``tail``: any of those (``a``), or one and the same
    that the tail is (``the``)."""

    heads: tuple[str, ...]
    tail: str
    determiner: str


@dataclass(frozen=True, slots=True)
class Definition:
    """One task. ``anchor`` names the component that stands for its result, empty for none."""

    number: int
    name: str
    nparams: int
    description: str
    anchor: str
    components: tuple[Component, ...]
    relations: tuple[Relation, ...] = ()


def fill(text: str, params: tuple[str, ...]) -> str:
    """A text with the parameters in their places."""
    return _PARAMETER.sub(lambda found: params[int(found[1])], text)


def read_definitions(folder: Path) -> dict[str, Definition]:
    """Name -> definition, by TEACh's numbers. ``folder`` is the data folder. Raises ``DataError``
    that names file and field."""
    place = folder / FOLDER / "task_definitions"
    paths = sorted(place.glob("*.json")) if place.is_dir() else []
    if not paths:
        raise DataError(place, "", "holds no task definitions", "fetch TEACh's meta_data_files")
    found: dict[str, Definition] = {}
    source: dict[str, Path] = {}
    for path in paths:
        definition = read_definition(path)
        found[definition.name], source[definition.name] = definition, path
    for definition in found.values():
        for each in definition.components:
            if each.task and each.task not in found:
                where = f"component {each.name!r}, field 'task_name'"
                raise DataError(source[definition.name], where, f"no task is called {each.task!r}")
    return found


def read_definition(path: Path, record: Json = None) -> Definition:
    """The definition of a file, or of a ``record`` in it."""
    record = read_json(path) if record is None else record
    nparams = read_field(path, "task", record, "task_nparams", int)
    components = read_field(path, "task", record, "components", dict)
    relations = read_field(path, "task", record, "relations", list)
    anchor = read_field(path, "task", record, "task_anchor_object", (str, type(None)))
    made = Definition(
        read_field(path, "task", record, "task_id", int),
        read_field(path, "task", record, "task_name", str),
        nparams,
        read_field(path, "task", record, "desc", str),
        anchor or "",
        tuple(_component(path, name, each) for name, each in components.items()),
        tuple(_relation(path, n, each, components) for n, each in enumerate(relations)),
    )
    highest = max((int(n) for n in _PARAMETER.findall(str(record))), default=-1)
    if highest >= nparams:
        problem = f"is {nparams}, but the task speaks of #{highest}"
        raise DataError(path, "field 'task_nparams'", problem)
    return made


def _component(path: Path, name: str, record: Json) -> Component:
    where = f"component {name!r}"
    determiner = read_field(path, where, record, "determiner", str)
    if "task_name" in record:
        params = read_field(path, where, record, "task_params", list)
        task = read_field(path, where, record, "task_name", str)
        return Component(name, determiner, (), task, tuple(str(each) for each in params))
    conditions = read_field(path, where, record, "conditions", dict)
    for key, value in conditions.items():
        if not isinstance(value, _BOTH):
            raise DataError(path, f"{where}, condition {key!r}", f"has the wrong type: {value!r}")
    return Component(name, determiner, tuple(conditions.items()))


def _relation(path: Path, number: int, record: Json, components: Mapping[str, Json]) -> Relation:
    where = f"relation {number}"
    heads = read_field(path, where, record, "head_entity_list", list)
    tails = read_field(path, where, record, "tail_entity_list", list)
    determiners = read_field(path, where, record, "tail_determiner_list", list)
    if read_field(path, where, record, "property", str) != "parentReceptacles":
        problem = f"is {record['property']!r}; only 'parentReceptacles' is known"
        raise DataError(path, f"{where}, field 'property'", problem)
    if len(tails) != 1 or len(determiners) != 1 or determiners[0] not in ("a", "the"):
        raise DataError(path, f"{where}, field 'tail_entity_list'", "must hold one 'a' or 'the'")
    for name in (*heads, *tails):
        if name not in components:
            raise DataError(path, where, f"speaks of {name!r}, which is no component")
    return Relation(tuple(heads), tails[0], determiners[0])


# Kinds: AI2-THOR's type names and TEACh's classes of them, as types of the household world.
#
# Source: TEACh's ``custom_object_classes``; the classes here are those its tasks draw on.

Classes = Mapping[str, tuple[str, ...]]
"""Class -> the types of the household world that belong to it."""

BASINS = {"sink": ("sink", "sink_basin"), "bathtub": ("bathtub", "bathtub_basin")}
"""What one puts things into is, in AI2-THOR, a thing of its own."""
CUT_ENDINGS = ("Sliced", "Cracked")
"""Endings of types that a knife makes out of others."""

CLASSES: Classes = {
    "Chairs": ("arm_chair", "sofa"),
    "Cookware": ("kettle", "knife", "ladle", "pan", "pot", "spatula"),
    "Dishware": ("bowl", "plate"),
    "Drinkware": ("cup", "mug"),
    "Fruit": ("apple", "tomato"),
    "Furniture": ("arm_chair", "bed", "coffee_table", "desk", "dining_table", "dresser", "shelf",
                  "side_table", "sofa", "tv_stand"),
    "Knives": ("butter_knife", "knife"),
    "Lamps": ("desk_lamp", "floor_lamp"),
    "Lights": ("desk_lamp", "floor_lamp", "light_switch"),
    "MediaEntertainment": ("book", "cd", "cell_phone", "laptop", "newspaper", "remote_control"),
    "Silverware": ("butter_knife", "fork", "spoon"),
    "SmallHandheldObjects": ("book", "cd", "cell_phone", "credit_card", "key_chain", "pen",
                             "pencil", "remote_control", "watch"),
    "Tables": ("coffee_table", "desk", "dining_table", "shelf", "side_table"),
    "Tableware": ("bowl", "cup", "mug", "pepper_shaker", "plate", "salt_shaker", "wine_bottle"),
    "Vegetables": ("lettuce", "potato"),
    "Condiments": ("pepper_shaker", "salt_shaker"),
    "WritingUtensils": ("pen", "pencil"),
}  # fmt: skip
"""Classes for generated homes, of the types that these have."""


def snake(name: str) -> str:
    """``CounterTop`` -> ``counter_top``, ``TVStand`` -> ``tv_stand``, ``CD`` -> ``cd``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def of_type(name: str) -> tuple[tuple[str, ...], bool]:
    """Our types for one of AI2-THOR's, and whether it is one that was cut."""
    for ending in CUT_ENDINGS:
        if name.endswith(ending):
            return (snake(name.removesuffix(ending)),), True
    kind = snake(name)
    return BASINS.get(kind, (kind,)), False


def of_class(name: str, classes: Classes) -> tuple[str, ...]:
    """The types of a class; a type is a class of its own."""
    return classes.get(name) or of_type(name)[0]


def read_classes(folder: Path) -> dict[str, tuple[str, ...]]:
    """TEACh's classes from the data folder. Raises ``DataError``."""
    path = find(folder / FOLDER / "ai2thor_resources", "custom_object_classes.json")
    record = read_json(path)
    if not isinstance(record, dict):
        raise DataError(path, "", "is not an object of type -> classes", "fetch it again")
    found: dict[str, list[str]] = {}
    for kind, names in record.items():
        if not isinstance(names, Sequence) or isinstance(names, str):
            raise DataError(path, f"type {kind!r}", f"needs a list of classes, not {names!r}")
        if kind.endswith(CUT_ENDINGS):
            continue  # the same things as before they were cut
        for name in names:
            found.setdefault(str(name), []).append(snake(kind))
    return {name: tuple(kinds) for name, kinds in found.items()}


@cache
def definitions() -> dict[str, Definition]:
    """Name -> definition of the tasks that generated homes ask for: TEACh's twenty-five, by its
    numbers, in this project's words."""
    text = (resources.files(__package__) / "teach.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)["tasks"]
    made = [read_definition(Path("teach.toml"), record) for record in listed]
    return {each.name: each for each in made}


def described(name: str, params: tuple[str, ...]) -> str:
    """What is to be done, in words."""
    return definitions()[name].description.format(*params)


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

    @property
    def words(self) -> str:
        """``hot plate with 2 not whole potato in or on table``."""
        load = [f"{each.count} {kinds_with(each.traits, each.things)}" for each in self.load]
        what = kinds_with(self.traits, self.things) + (f" with {', '.join(load)}" if load else "")
        return what + (f" in or on {kinds(self.at)}" if self.at else "")

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

    @property
    def words(self) -> str:
        return ", ".join(dish.words for dish in self.dishes)

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


# Compiling: a definition with its parameters as goals in a scene.
#
#     found = compile_task(definitions()["Coffee"], (), tasks, classes, scene)
#     found.goals      conditions for judges
#     found.dishes     what is to be made, for planners
#
# Simplifications: slices of a thing stay together, so any number of slices is one sliced thing;
# an egg is cracked by slicing it; a sink is its basin, a bathtub its basin; "toasted" and
# "cooked" are both ``cooked``, whatever the heat came from. TEACh's ``isCooked`` and
# ``simbotIsCooked`` are one.

PROPERTIES: dict[str, tuple[str, int]] = {
    "isDirty": ("dirty", 0),
    "isCooked": ("cooked", 1),
    "simbotIsCooked": ("cooked", 1),
    "simbotIsBoiled": ("boiled", 1),
    "isFilledWithLiquid": ("filled", 1),
    "simbotIsFilledWithCoffee": ("coffee", 1),
    "isToggled": ("on", -1),
    "isOpen": ("open", -1),
}
"""AI2-THOR's property -> our state, and the value that is known (-1: either)."""
ABLE = {
    "sliced": "sliceable", "cooked": "cookable", "boiled": "cookable", "coffee": "fillable",
    "on": "toggleable", "open": "openable",
}  # fmt: skip
"""State -> the affordance without which a thing never gets there."""
CUT: Trait = ("sliced", True)


class Unbuildable(Exception):
    """Why a task cannot be had in a scene."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a task asks of a scene. ``every`` are goals about all things of a kind."""

    dishes: tuple[Dish, ...]
    every: tuple[GoalCondition, ...]

    @property
    def goals(self) -> tuple[GoalCondition, ...]:
        """The conditions, for judges. What lies on a dish also counts for being ready at all."""
        ready: dict[tuple[Ids, tuple[Trait, ...]], int] = {}
        for portion in (portion for dish in self.dishes for portion in dish.load):
            if portion.traits:
                key = portion.things, portion.traits
                ready[key] = ready.get(key, 0) + portion.count
        made = tuple(Has(things, traits, n) for (things, traits), n in ready.items())
        served = tuple(dish for dish in self.dishes if dish.parts)
        return (*self.every, *made, *((Served(served),) if served else ()))


@dataclass(eq=False)
class Draft:
    """A dish in the making."""

    things: Ids
    traits: tuple[Trait, ...] = ()
    load: list[Portion] = field(default_factory=list)
    at: Ids = ()


@dataclass(eq=False)
class CompiledPart:
    """What a component came to: things to be made, ids of all of a kind, or places."""

    drafts: list[Draft] = field(default_factory=list)
    every: Ids = ()
    places: Ids = ()


@dataclass
class Built:
    """What a definition came to."""

    drafts: list[Draft] = field(default_factory=list)
    every: list[GoalCondition] = field(default_factory=list)
    anchor: Draft | None = None


def compile_task(
    definition: Definition,
    params: tuple[str, ...],
    tasks: Mapping[str, Definition],
    classes: Classes,
    scene: Scene,
) -> Compiled:
    """What a definition asks of a scene. Raises ``Unbuildable`` where the scene lacks it, and
    ``UsageError`` for parameters that are too few or a property that is unknown."""
    built = Compiler(tasks, classes, scene).build(definition, params)
    dishes = tuple(Dish(d.things, d.traits, tuple(d.load), d.at) for d in built.drafts)
    _enough(dishes)
    return Compiled(dishes, tuple(built.every))


@dataclass(frozen=True)
class Compiler:
    """One scene's things, and the definitions that tasks refer to."""

    tasks: Mapping[str, Definition]
    classes: Classes
    scene: Scene

    def build(self, definition: Definition, params: tuple[str, ...]) -> Built:
        """Components first, then relations between them."""
        if len(params) != definition.nparams:
            problem = f"takes {definition.nparams} parameters, not {len(params)}"
            raise UsageError(f"task {definition.name!r} {problem}")
        built, parts = Built(), dict[str, CompiledPart]()
        heads = {name for relation in definition.relations for name in relation.heads}
        for each in definition.components:
            parts[each.name] = self._component(built, each, params, each.name in heads)
        for relation in definition.relations:
            relate(built, parts, relation)
        anchor = parts.get(definition.anchor)
        if anchor and len(anchor.drafts) == 1:
            built.anchor = anchor.drafts[0]
        return built

    def _component(
        self, built: Built, each: Component, params: tuple[str, ...], head: bool
    ) -> CompiledPart:
        count = _count(fill(each.determiner, params))
        if each.task:
            return self._sub_task(built, each, params, count or 0)
        things, traits, place = self._conditions(each, params)
        if count is None:
            built.every += [Has((thing,), (trait,)) for thing in things for trait in traits]
            return CompiledPart(every=things)
        if not things and count:
            raise Unbuildable(f"no {fill(each.conditions[0][1], params)} that will do")
        if place or not (traits or head):
            return CompiledPart(places=things)
        made = [Draft(things, traits) for _ in range(_whole(count, traits))]
        built.drafts += made
        return CompiledPart(made)

    def _sub_task(
        self, built: Built, each: Component, params: tuple[str, ...], count: int
    ) -> CompiledPart:
        part = CompiledPart()
        given = tuple(fill(param, params) for param in each.params)
        for _ in range(count):
            inner = self.build(self.tasks[each.task], given)
            built.every += inner.every
            traits = inner.anchor.traits if inner.anchor else ()
            if CUT in traits and part.drafts:
                break  # the other slices are there already
            built.drafts += inner.drafts
            part.drafts += [inner.anchor] if inner.anchor else []
        return part

    def _conditions(
        self, each: Component, params: tuple[str, ...]
    ) -> tuple[Ids, tuple[Trait, ...], bool]:
        kinds: tuple[str, ...] = ()
        traits: list[Trait] = []
        place = False
        for name, given in each.conditions:
            value = fill(given, params) if isinstance(given, str) else given
            if name == "objectType":
                kinds, cut = of_type(str(value))
                traits += [CUT] if cut else []
            elif name == "simbotObjectClass":
                kinds = of_class(str(value), self.classes)
            elif name == "receptacle":
                place = True
            else:
                traits.append(_trait(each.name, name, value))
        able = {ABLE[name] for name, _ in traits if name in ABLE}
        things = tuple(
            o.id
            for o in self.scene.objects
            if o.type in kinds and (o.receptacle or not place) and able <= o.affordances
        )
        return things, tuple(traits), place


def relate(built: Built, parts: Mapping[str, CompiledPart], relation: Relation) -> None:
    """Put the heads of a relation in or on its tail."""
    tail = parts[relation.tail]
    heads = [draft for name in relation.heads for draft in parts[name].drafts]
    every = tuple(thing for name in relation.heads for thing in parts[name].every)
    if tail.drafts:
        _load(built, tail.drafts[0], heads)
    elif relation.determiner == "a":
        for head in heads:
            head.at = tail.places
        built.every += [Inside((thing,), tail.places) for thing in every]
    else:
        if every:
            built.every.append(Inside(every, tail.places, parts=len(every)))
        if heads:
            gathered = Draft(tail.places)
            built.drafts.append(gathered)
            _load(built, gathered, heads)


def _load(built: Built, tail: Draft, heads: list[Draft]) -> None:
    """Heads become portions of what they are on."""
    for head in heads:
        built.drafts = [draft for draft in built.drafts if draft is not head]
        like = next(
            (p for p in tail.load if (p.things, p.traits) == (head.things, head.traits)), None
        )
        if like is not None:
            tail.load.remove(like)
        tail.load.append(Portion(head.things, head.traits, like.count + 1 if like else 1))


def _count(determiner: str) -> int | None:
    """How many, None for all."""
    if determiner == "all":
        return None
    if determiner == "a":
        return 1
    if not determiner.isdecimal():
        raise UsageError(f"{determiner!r} is no number; it is a, all, or 0, 1, 2 …")
    return int(determiner)


def _whole(count: int, traits: tuple[Trait, ...]) -> int:
    """How many things that many are: slices of one thing stay together."""
    return min(count, 1) if CUT in traits else count


def _trait(component: str, name: str, value: Json) -> Trait:
    state, known = PROPERTIES.get(name, ("", -1))
    if not state or str(value) not in ("0", "1") or known not in (-1, int(value)):
        raise UsageError(f"component {component!r}: condition {name!r} = {value!r} is unknown here")
    return state, bool(int(value))


def _enough(dishes: tuple[Dish, ...]) -> None:
    """Raises ``Unbuildable`` where several dishes want the same things, and these are too few."""
    wanted: dict[Ids, int] = {}
    for dish in dishes:
        wanted[dish.things] = wanted.get(dish.things, 0) + 1
        for portion in dish.load:
            wanted[portion.things] = wanted.get(portion.things, 0) + portion.count
    for things, count in wanted.items():
        if len(things) < count:
            kind = things[0].partition("|")[0] if things else "thing"
            raise Unbuildable(f"{len(things)} of {kind}, and {count} are needed")

"""Definitions: TEACh's tasks as data, read from its published files.

A definition names what must be there (components: things with properties, or other tasks) and what
must be in or on what (relations). ``#0``, ``#1`` … stand for its parameters.

Source: TEACh (Padmakumar et al. 2022), section 3.1, and its ``task_definitions`` (one JSON a task).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.core.files import find, read_field, read_json

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


def read_definition(path: Path) -> Definition:
    """One file."""
    record = read_json(path)
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
CUT = ("Sliced", "Cracked")
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
    for ending in CUT:
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
        if kind.endswith(CUT):
            continue  # the same things as before they were cut
        for name in names:
            found.setdefault(str(name), []).append(snake(kind))
    return {name: tuple(kinds) for name, kinds in found.items()}


# The tasks that generated homes ask for: TEACh's twenty-five, in this library's own notation.
#
# With the published definitions at hand, a test holds the two against each other.
#
# Source: TEACh (Padmakumar et al. 2022), section 3.1 and Table 2.

_CLASS, _TYPE = "simbotObjectClass", "objectType"


def _thing(name: str, determiner: str, kind: str, by: str = _TYPE, **more: Json) -> Component:
    return Component(name, determiner, ((by, kind), *more.items()))


def _place(name: str, kind: str, by: str = _TYPE) -> Component:
    return _thing(name, "a", kind, by, receptacle=1)


def _task(name: str, determiner: str, task: str, *params: str) -> Component:
    return Component(name, determiner, (), task, params)


def _on(heads: str, tail: str, determiner: str = "the") -> tuple[Relation, ...]:
    return (Relation(tuple(heads.split()), tail, determiner),)


def _simple() -> list[Definition]:
    """Tasks about things of one kind."""
    sink, knife = _place("sink", "Sink"), _thing("knife", "a", "Knife")
    toast = _thing("toast", "a", "BreadSliced", isCooked=1)
    coffee = _thing("coffee", "a", "Mug", isDirty=0, simbotIsFilledWithCoffee=1)
    omelette = _thing("omelette", "a", "EggCracked", isCooked=1)
    poached = _thing("poached_egg", "a", "EggCracked", simbotIsBoiled=1)
    plant = _thing("water_plant", "a", "HousePlant", isFilledWithLiquid=1)
    clean, every = (_thing("#0", n, "#0", _CLASS, isDirty=0) for n in ("a", "all"))
    cooked = _thing("#0", "a", "#0Sliced", simbotIsCooked=1)
    boiled = _thing("boiled_#0", "a", "#0", simbotIsBoiled=1)
    switched = _thing("#1", "all", "#2", _CLASS, isToggled="#1")
    return [
        Definition(101, "Toast", 0, "Toast a slice of bread.", "toast", (toast,)),
        Definition(102, "Coffee", 0, "Make coffee in a clean mug.", "coffee", (coffee,)),
        Definition(103, "Clean X", 1, "Wash a {0}.", "#0", (clean, sink)),
        Definition(
            104, "Sliced X", 1, "Slice a {0}.", "#0", (_thing("#0", "a", "#0Sliced"), knife)
        ),
        Definition(105, "Cooked Slice Of X", 1, "Slice a {0} and cook it.", "#0", (cooked, knife)),
        Definition(109, "Omelette", 0, "Crack an egg and cook it.", "omelette", (omelette,)),
        Definition(112, "Boil X", 1, "Boil a {0} in water.", "boiled_#0", (boiled,)),
        Definition(113, "Poach Egg", 0, "Crack an egg and boil it.", "poached_egg", (poached,)),
        Definition(114, "Water Plant", 0, "Give a plant some water.", "", (plant,)),
        Definition(115, "Clean All X", 1, "Wash every {0}.", "#0", (every, sink)),
        Definition(116, "Toggle X All Y", 3, "Switch {0} every {2}.", "", (switched,)),
    ]


def _placed() -> list[Definition]:
    """Tasks about what is in or on what."""
    toast, clean = _task("toast", "a", "Toast"), _task("plate", "a", "Clean X", "Plate")
    bowl = _task("#3", "a", "Clean X", "#3")
    cooked = _task("#1", "#0", "Cooked Slice Of X", "#1")
    sliced = _task("#1", "#0", "Sliced X", "#1")
    each, place = _thing("#0", "all", "#0", _CLASS), _place("#2", "#2", _CLASS)
    candles = _thing("candles", "all", "Candle", isToggled=1)
    bathtub = _place("bathtub", "Bathtub")
    return [
        Definition(106, "Plate Of Toast", 0, "Serve toast on a clean plate.", "plate",
                   (toast, clean), _on("toast", "plate")),
        Definition(107, "N Cooked Slices Of X In Y", 4,
                   "Serve {0} cooked slice(s) of {1} {2} a clean {3}.", "#3",
                   (cooked, bowl), _on("#1", "#3")),
        Definition(108, "N Slices Of X In Y", 4, "Serve {0} slice(s) of {1} {2} a clean {3}.",
                   "#3", (sliced, bowl), _on("#1", "#3")),
        Definition(110, "Put All X On Y", 3, "Put every {0} {1} any {2}.", "", (each, place),
                   _on("#0", "#2", "a")),
        Definition(111, "Put All X In One Y", 3, "Put every {0} {1} one and the same {2}.", "",
                   (each, place), _on("#0", "#2")),
        Definition(304, "Candles", 0, "Light every candle and put it in the bathtub.", "",
                   (candles, bathtub), _on("candles", "bathtub", "a")),
    ]  # fmt: skip


def _composed() -> list[Definition]:
    """Tasks made of others."""
    coffee, toast = _task("coffee", "a", "Coffee"), _task("toast", "a", "Plate Of Toast")
    plate = _task("plate", "a", "Clean X", "Plate")
    lettuce = _task("lettuce", "#0", "Sliced X", "Lettuce")
    tomato = _task("tomato", "#1", "Sliced X", "Tomato")
    potato = _task("potato", "#2", "Cooked Slice Of X", "Potato")
    breakfast = (
        _task("coffee", "#0", "Coffee"),
        _task("toast", "#1", "Plate Of Toast"),
        _task("potatoes", "#2", "N Cooked Slices Of X In Y", "2", "Potato", "on", "#3"),
        _task("apple", "#4", "N Slices Of X In Y", "1", "Apple", "on", "#5"),
        _task("sandwich", "#6", "Sandwich", "#7", "#8"),
        _task("salad", "#9", "Salad", "#10", "#11", "#12"),
        _place("serving_spot", "#13"),
    )
    desk = (
        _thing("writing", "#0", "WritingUtensils", _CLASS),
        _thing("laptop", "#1", "Laptop", isToggled=1, isOpen=1),
        _thing("book", "#2", "Book", isOpen=1),
        _place("gather_spot", "Tables", _CLASS),
        _thing("lights", "a", "LightSwitch", isToggled=1),
    )
    kitchen = (
        *(coffee, toast, _task("omelette", "a", "Omelette")),
        *(_thing("spatula", "a", "Spatula"), _place("drawer", "Drawer")),
    )
    bathroom = (
        _thing("faucets", "all", "Faucet", isToggled=0),
        _task("candles", "a", "Candles"),
        *(_thing("soap", "all", "SoapBar"), _thing("counter", "a", "CounterTop")),
    )
    custom = (
        _task("boiled_potato", "a", "Boil X", "Potato"),
        _task("poached_egg", "a", "Poach Egg"),
    )
    several = "Do the following tasks."
    tutorial = (coffee, _task("potato", "a", "Cooked Slice Of X", "Potato"))
    return [
        Definition(201, "Tutorial", 0, several, "", tutorial),
        Definition(301, "Breakfast", 14, "Make breakfast and serve it.", "", breakfast,
                   _on("coffee toast potatoes apple sandwich salad", "serving_spot", "a")),
        Definition(302, "Sandwich", 2, "Make a sandwich on a clean plate.", "plate",
                   (_task("toast", "2", "Toast"), lettuce, tomato, plate),
                   _on("toast lettuce tomato", "plate")),
        Definition(303, "Salad", 3, "Make a salad on a clean plate.", "plate",
                   (lettuce, tomato, potato, plate), _on("lettuce tomato potato", "plate")),
        Definition(305, "Workspace", 3, "Set up a place to work.", "", desk,
                   _on("writing laptop book", "gather_spot")),
        Definition(401, "Basic Kitchen Tasks", 0, several, "", kitchen,
                   _on("spatula", "drawer", "a")),
        Definition(403, "Basic Bathroom Tasks", 0, several, "", bathroom,
                   _on("soap", "counter", "a")),
        Definition(405, "Custom Properties Kitchen Tasks", 0, several, "", custom),
    ]  # fmt: skip


@lru_cache(maxsize=1)
def definitions() -> dict[str, Definition]:
    """Name -> definition, by TEACh's numbers."""
    every = sorted([*_simple(), *_placed(), *_composed()], key=lambda each: each.number)
    return {each.name: each for each in every}


def described(name: str, params: tuple[str, ...]) -> str:
    """What is to be done, in words."""
    return definitions()[name].description.format(*params)

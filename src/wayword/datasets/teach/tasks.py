"""The tasks that generated homes ask for: TEACh's twenty-five, in this library's own notation.

With the published definitions at hand, a test holds the two against each other.

Source: TEACh (Padmakumar et al. 2022), section 3.1 and Table 2.
"""

from __future__ import annotations

from functools import lru_cache

from wayword.core.episode import Json
from wayword.datasets.teach.definitions import Component, Definition, Relation

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

"""What a type of object can do, takes and hides.

The file's flags are kept. Rules add what they do not say: which taps, hobs and cupboards work on
what is in them, whether things go in or on a receptacle, what a hob or a towel rail takes, what
stops a look. Labels are AI2-THOR's object types.

Source: the tables of object types and their properties in AI2-THOR's documentation; ALFRED's goals
(Shridhar et al. 2020) were a check that nothing they ask for is ruled out.
"""

from __future__ import annotations

from wayword.datasets.thor.metadata import ObjectRecord
from wayword.worlds.housework.builder import type_name
from wayword.worlds.housework.scene import Preposition

OF_FLAGS = {
    "pickupable": "pickupable",
    "openable": "openable",
    "toggleable": "toggleable",
    "sliceable": "sliceable",
    "cookable": "cookable",
    "dirtyable": "dirtyable",
    "canFillWithLiquid": "fillable",
    "isHeatSource": "heater",
    "isColdSource": "cooler",
}
"""Flag of the file -> affordance."""
OF_TYPES: dict[str, tuple[str, ...]] = {
    "Knife": ("slicer",),
    "ButterKnife": ("slicer",),
    "Fridge": ("cooler",),
    "SinkBasin": ("cleaner", "filler"),
    "BathtubBasin": ("cleaner", "filler"),
    "CoffeeMachine": ("brewer",),
    "Bread": ("cookable",),  # its slices are, in AI2-THOR; here a sliced loaf is one thing
    "Egg": ("cookable",),
}
"""Affordances that flags do not tell."""

HOLLOW = frozenset(
    (
        *("Fridge", "Microwave", "Cabinet", "Drawer", "Safe", "Box", "LaundryHamper", "Toaster"),
        *("Sink", "SinkBasin", "Bathtub", "BathtubBasin", "GarbageCan", "CoffeeMachine", "Cart"),
        *("Bowl", "Cup", "Mug", "Pot", "Pan"),
    )
)
"""Things go in these, and on all other receptacles."""

DISHES = ("Pot", "Pan", "Kettle")
FOOD = ("Apple", "Bread", "Egg", "Lettuce", "Potato", "Tomato")
CUTLERY = ("ButterKnife", "Fork", "Knife", "Ladle", "Spatula", "Spoon")
TRINKETS = (
    *("CD", "Candle", "CellPhone", "Cloth", "CreditCard", "DishSponge", "KeyChain", "Pen"),
    *("Pencil", "PepperShaker", "SaltShaker", "SoapBar", "TissueBox", "Watch"),
)
CUPS = ("Cup", "Mug")
SERVED = (*FOOD, *CUTLERY, *TRINKETS, *CUPS)
"""What goes in or on a dish that one carries."""

ACCEPTS: dict[str, tuple[str, ...]] = {
    "StoveBurner": (*DISHES, *FOOD, *CUTLERY),
    "Toaster": ("Bread",),
    "CoffeeMachine": CUPS,
    "TowelHolder": ("Towel", "HandTowel"),
    "HandTowelHolder": ("HandTowel", "Towel"),
    "ToiletPaperHanger": ("ToiletPaper",),
    "Plate": SERVED,
    "Pan": (*SERVED, "Plate", "Bowl"),
    "Pot": (*SERVED, "Plate", "Bowl"),
    "Bowl": SERVED,
    "Cup": (*CUTLERY, "Pen", "Pencil", "CreditCard", "KeyChain", "Watch", "Candle", "CD"),
    "Mug": (*CUTLERY, "Pen", "Pencil", "CreditCard", "KeyChain", "Watch", "Candle", "CD"),
}
"""What a receptacle takes; those not listed take anything."""
SPACES = {
    **dict.fromkeys(("StoveBurner", "CoffeeMachine", "TowelHolder", "HandTowelHolder"), 1),
    **dict.fromkeys(("ToiletPaperHanger", "Toaster"), 1),
}
"""How many things a receptacle holds, where there is a bound."""

TALL = frozenset(("Fridge", "Cabinet", "Dresser", "Safe", "Microwave", "ShelvingUnit", "Cart"))
"""What one cannot look through, where it rises above the eye. Shelves, curtains and shower screens
are left out: their boxes are full of air or glass."""
FLAT_ON_WALLS = frozenset(
    (
        *("Window", "Painting", "Poster", "Mirror", "LightSwitch", "Blinds", "Curtains", "Faucet"),
        *("StoveKnob", "StoveBurner", "SinkBasin", "BathtubBasin", "ShowerHead", "TowelHolder"),
        *("HandTowelHolder", "ToiletPaperHanger", "Shelf", "Drawer", "Cabinet", "Television"),
    )
)
"""What bodies do not run into: it hangs, or is part of something that they do run into."""
NO_THING = frozenset(("Floor", "Ceiling", "Wall"))
"""Labels of the file that are no things here."""


def affordances(record: ObjectRecord) -> frozenset[str]:
    """What an object can do or have done to it."""
    told = [able for flag, able in OF_FLAGS.items() if flag in record.flags]
    return frozenset((*told, *OF_TYPES.get(record.label, ())))


def preposition(record: ObjectRecord) -> Preposition:
    """Whether things go in or on it, or "" where it is no receptacle."""
    if "receptacle" not in record.flags or record.label in NO_THING:
        return ""
    return "in" if record.label in HOLLOW else "on"


def accepts(record: ObjectRecord) -> tuple[str, ...]:
    """The types it takes, as the rooms world spells them; none for all."""
    return tuple(map(type_name, ACCEPTS.get(record.label, ())))


def takes(receptacle: ObjectRecord, thing: ObjectRecord) -> bool:
    """Whether things of that type go in or on it."""
    fits = receptacle.label not in ACCEPTS or thing.label in ACCEPTS[receptacle.label]
    return bool(preposition(receptacle)) and fits and receptacle.id != thing.id

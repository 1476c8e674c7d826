"""What each class of VirtualHome node is in the rooms world.

Properties are VirtualHome's own; where the releases differ (a bookshelf that opens in one and not
in the other), the classes below decide. They follow C-WAH's lists of surfaces and containers.
"""

from __future__ import annotations

from wayword.datasets.virtualhome.graph import Node
from wayword.worlds.housework.scene import Preposition

FRAME = ("Rooms", "Floor", "Floors", "Walls", "Ceiling", "Windows", "Doors")
"""Categories that make the house, not what is in it."""
SURFACES = frozenset(
    (
        *("bathroomcounter", "bed", "bench", "bookshelf", "chair", "coffeetable", "desk"),
        *("kitchencounter", "kitchentable", "nightstand", "shelf", "sofa", "towelrack"),
        *("tvstand", "wallshelf"),
    )
)
BOXES = frozenset(
    (
        *("bathroomcabinet", "cabinet", "closet", "dishwasher", "fridge", "garbagecan"),
        *("kitchencabinets", "microwave", "stove", "toilet", "washingmachine"),
    )
)
"""Classes that things are in, behind a door or lid."""
BASINS = frozenset(("sink", "bathtub"))
"""Classes that things are in, open at the top."""
DISHES: dict[str, Preposition] = {"plate": "on", "dishbowl": "in"}
"""Things that other things are in or on."""
FIXED = frozenset(("chair", "coatrack", "rug", "towelrack", "wallpictureframe"))
"""Classes that VirtualHome lets a body take, and that stay where they are here: too big for a hand,
or part of the room."""
HUNG = frozenset(("curtains", "wallpictureframe", "rug", "ceilinglamp", "walllamp", "ceilingfan"))
WORKS: dict[str, tuple[str, ...]] = {
    "fridge": ("cooler",),
    "microwave": ("heater",),
    "stove": ("heater",),
    "dishwasher": ("cleaner",),
    "washingmachine": ("cleaner",),
    "cutleryknife": ("slicer",),
}
"""Class -> what it does; VirtualHome's graphs do not say."""


def is_thing(node: Node) -> bool:
    """Whether a hand takes it."""
    return "GRABBABLE" in node.properties and node.kind not in FIXED


def preposition(node: Node) -> Preposition:
    """How things are at it: ``on``, ``in`` or not at all."""
    if is_thing(node):
        return DISHES.get(node.kind, "")
    if node.kind in SURFACES:
        return "on"
    return "in" if node.kind in BOXES | BASINS else ""


def affordances(node: Node) -> frozenset[str]:
    """What it can do or have done to it."""
    found = set(WORKS.get(node.kind, ()))
    if is_thing(node):
        found.add("pickupable")
    elif node.kind in BOXES:
        found.add("openable")
    if "HAS_SWITCH" in node.properties and node.kind != "fridge":
        found.add("toggleable")
    return frozenset(found)


def left_out(node: Node) -> str:
    """Why a node is no object of the scene; empty where it is one."""
    if node.category in FRAME:
        return "part of the building (rooms, floors, walls, ceilings, windows, doors)"
    if node.category == "Characters":
        return "a character"
    if node.box is None:
        return "no bounding box is published"
    if is_thing(node) or preposition(node) or affordances(node):
        return ""
    if node.kind in HUNG:
        return "hung or laid out: lamps overhead, pictures, curtains, rugs"
    if node.category in ("Furniture", "Appliances") and node.box.width * node.box.depth > 0.04:
        return ""
    return "cannot be taken, opened, switched or stood on"

"""Kinds: AI2-THOR's type names and TEACh's classes of them, as types of the rooms world.

Source: TEACh's ``custom_object_classes``; the classes here are those its tasks draw on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from wayword.core.errors import DataError
from wayword.core.files import find, read_json
from wayword.datasets.teach.definitions import FOLDER

Classes = Mapping[str, tuple[str, ...]]
"""Class -> the types of the rooms world that belong to it."""

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
    """The types of the rooms world for one of AI2-THOR's, and whether it is one that was cut."""
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

"""Registered datasets whose episodes are generated, found by opening each without data."""

from __future__ import annotations

import re
from functools import cache

from wayword.core import registry
from wayword.core.dataset import DrawnTasks
from wayword.core.errors import UsageError


def is_generated(name: str) -> bool:
    """True if a dataset draws episodes of its own in its default split, without files."""
    cls = registry.load("dataset", name)
    if "seed" not in cls.Settings.__dataclass_fields__:
        return False
    no_folder = None  # also where the environment names a data folder
    try:
        dataset = cls(cls.splits[0], no_folder, cls.Settings())
        return isinstance(dataset.tasks, DrawnTasks)
    except UsageError as error:
        if re.search("needs? its (data|package)", str(error)):
            return False
        raise


@cache
def generated() -> dict[str, dict[str, str]]:
    """The names of generated datasets -> their generated splits by ``test`` and ``train``."""
    own = {}
    for name in registry.names("dataset"):
        if is_generated(name):
            splits = registry.load("dataset", name).splits
            prefix = "generated_" if "generated_test" in splits else ""
            pairs = {kind: f"{prefix}{kind}" for kind in ("test", "train")}
            own[name] = {
                kind: split for kind, split in pairs.items() if split in splits
            }
    return own

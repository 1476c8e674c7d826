"""Registered datasets whose episodes are generated, found by opening each without data."""

from __future__ import annotations

from functools import cache

from wayword.core import registry
from wayword.core.dataset import DrawnTasks
from wayword.core.errors import UsageError
from wayword.runs.plan import Plan, open_dataset


def is_generated(name: str) -> bool:
    """True if a dataset draws episodes of its own in its default split, without files."""
    if "seed" not in registry.load("dataset", name).Settings.__dataclass_fields__:
        return False
    try:
        return isinstance(open_dataset(Plan("random", name)).tasks, DrawnTasks)
    except UsageError as error:
        if "needs its data" in str(error):
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

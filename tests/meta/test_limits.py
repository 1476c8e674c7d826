"""Limits that users meet, compared with a table that people review.

Tests that import a limit by name follow any change of it, so the numbers stand in the table alone.
"""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from wayword.core import registry

TABLE = Path(__file__).with_name("limits.toml")
LIMITS: dict[str, dict[str, tuple[float, str]]] = tomllib.loads(
    TABLE.read_text(encoding="utf-8")
)
STEPS = "max_steps"


def limit(module: str, name: str) -> Any:
    """The constant, or the default of a class's field, with that dotted name."""
    owner: Any = import_module(f"wayword.{module}")
    *classes, last = name.split(".")
    for each in classes:
        owner = getattr(owner, each)
    value = getattr(owner, last, None)
    # A field of a dataclass with slots is a descriptor of the class, not its default.
    if not isinstance(value, int | float):
        value = owner.__dataclass_fields__[last].default
    return value


@pytest.mark.parametrize("module", LIMITS)
def test_limits_are_those_of_the_reviewed_table(module: str) -> None:
    changed = [
        f"{module}.{name} is {limit(module, name)!r}, in {TABLE.name} {value!r}: {why}"
        for name, (value, why) in LIMITS[module].items()
        if limit(module, name) != value
    ]
    assert not changed, "\n".join(changed)


def test_every_dataset_has_its_steps_in_the_table() -> None:
    missing = []
    for name in registry.names("dataset"):
        dataset = registry.load("dataset", name)
        for owner in getattr(dataset, "__mro__", ()):
            if STEPS in vars(owner):
                listed = LIMITS[owner.__module__.removeprefix("wayword.")]
                if f"{owner.__qualname__}.{STEPS}" not in listed:
                    missing.append(name)
                break
    assert not missing

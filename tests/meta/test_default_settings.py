"""Defaults of shipped settings have the types of their fields: creation does not check them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any

import pytest

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.settings import Checked, make


def settings_classes() -> Iterator[type[Any]]:
    """Yield the settings of shipped datasets that programs create as well."""
    for name in registry.names("dataset"):
        cls = registry.load("dataset", name).Settings
        if issubclass(cls, Checked):
            yield cls


def test_defaults_are_what_the_check_makes_of_them() -> None:
    for cls in settings_classes():
        defaults = {each.name: each.default for each in fields(cls)}
        given = {
            name: value for name, value in defaults.items() if value is not MISSING
        }
        checked = vars(make(cls, given, cls.__name__))
        for name, value in given.items():
            assert checked[name] == value, (cls, name)
            assert type(checked[name]) is type(value), (cls, name)


def test_a_users_default_is_converted_to_its_type() -> None:
    @dataclass(frozen=True)
    class Own(Checked):
        count: int = "5"  # type: ignore[assignment]

    assert Own().count == 5


def test_a_users_wrong_default_is_refused() -> None:
    @dataclass(frozen=True)
    class Own(Checked):
        count: int = "many"  # type: ignore[assignment]

    with pytest.raises(UsageError, match="count must be a whole number"):
        Own()

"""What generated places hold and how tasks in them are worded, as TOML files next to this one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import resources
from typing import Any, TypeVar

T = TypeVar("T")
Tables = Mapping[str, Mapping[str, Any]]


class Table(Mapping[str, T]):
    """Table ``name`` of ``{file}.toml``, read when it is first looked at.

    ``make`` turns a value into a row; it is given the file's other tables, too. Lists are tuples.
    """

    def __init__(
        self, file: str, name: str, make: Callable[[Any, Tables], T] = lambda value, _: value
    ) -> None:
        self._file, self._name, self._make = file, name, make

    @cached_property
    def _rows(self) -> dict[str, T]:
        text = (resources.files(__package__) / f"{self._file}.toml").read_text(encoding="utf-8")
        tables = _frozen(tomllib.loads(text))
        return {key: self._make(value, tables) for key, value in tables[self._name].items()}

    def __getitem__(self, key: str) -> T:
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value

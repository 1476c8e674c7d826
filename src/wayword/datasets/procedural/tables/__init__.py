"""Contents of generated places and wordings of tasks, as TOML files next to this one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import Any, TypeVar

T = TypeVar("T")
Tables = Mapping[str, Mapping[str, Any]]


class Table(Mapping[str, T]):
    """Table ``name`` of ``{file}.toml`` in ``package``, read on first access.

    ``make`` converts a value to a row and also receives the file's other tables. Lists are tuples.
    """

    def __init__(
        self,
        file: str,
        name: str,
        make: Callable[[Any, Tables], T] = lambda value, _: value,
        package: str = __name__,
    ) -> None:
        self._file = file
        self._name = name
        self._make = make
        self._package = package

    @cached_property
    def _rows(self) -> dict[str, T]:
        tables = _read(self._package, self._file)
        return {
            key: self._make(value, tables) for key, value in tables[self._name].items()
        }

    def __getitem__(self, key: str) -> T:
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


@cache
def _read(package: str, file: str) -> Tables:
    text = (resources.files(package) / f"{file}.toml").read_text(encoding="utf-8")
    tables: Tables = _frozen(tomllib.loads(text))
    return tables


def with_article(words: str) -> str:
    """Return the words with ``a`` or ``an``: ``an oak bench``."""
    return f"{'an' if words[0].lower() in 'aeiou' else 'a'} {words}"


def join_words(words: Sequence[str]) -> str:
    """Return the words as a list: ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value

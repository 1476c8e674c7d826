"""Contents of generated places and wordings of tasks, as TOML files next to this one."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal, TypeVar

from wayword.core.dataset import FIRST_WORDING
from wayword.core.episode import JsonObject

T = TypeVar("T")
Tables = Mapping[str, JsonObject]


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
        """Rows of the table, converted at first use."""
        tables = _read(self._package, self._file)
        rows = tables[self._name]
        return {key: self._make(value, tables) for key, value in rows.items()}

    def __getitem__(self, key: str) -> T:
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def items(self) -> ItemsView[str, T]:  # that of Mapping looks each key up again
        """Return the rows of the table, which is read at first use."""
        return self._rows.items()


@cache
def _read(package: str, file: str) -> Tables:
    """Return all tables of a file; cached."""
    text = (resources.files(package) / f"{file}.toml").read_text(encoding="utf-8")
    tables: Tables = _frozen(tomllib.loads(text))
    return tables


Wording = Literal[1, 2]
"""Version of generated instructions. A new one changes sentences, and nothing that is drawn."""
_FIRST: Mapping[str, str] = Table("sentences", "first_wording")


def choose_sentence(
    rng: random.Random, options: Sequence[str], wording: Wording
) -> str:
    """Draw one of the sentences, in a version of the instructions."""
    return in_wording(rng.choice(options), wording)


def in_wording(sentence: str, wording: Wording) -> str:
    """Return a sentence as a version of the instructions has it.

    >>> in_wording("Lay the table", 2), in_wording("Lay the table", 1)
    ('Lay the table', 'The table is to be laid')
    """
    if wording == FIRST_WORDING:
        return _FIRST.get(sentence, sentence)
    return sentence


def expand_sets(
    names: Sequence[str], sets: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Replace each name of a set by its members; other names stay."""
    members: list[str] = []
    for name in names:
        members += sets.get(name, (name,))
    return tuple(members)


def _frozen(value: Any) -> Any:
    """Return a value whose dictionaries are read-only and whose lists are tuples."""
    if isinstance(value, dict):
        return {key: _frozen(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value

"""Fields of a task file: each is taken by name, checked, and what is left over is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wayword.core.errors import DataError, suggest

MOST = 1000.0
"""Metres, and how many of anything a file may ask for."""


class Fields:
    """A mapping of a YAML file, with where it lies in there for errors.

    Methods take a field and check it; ``end`` raises ``DataError`` for what nobody took.
    """

    def __init__(self, path: Path, where: str, given: Any, example: str) -> None:
        self.path, self.where, self._taken = path, where, set[str]()
        if not isinstance(given, Mapping):
            raise self.error("", f"must hold fields, as in {example}, not {given!r}")
        self._given = given

    def error(self, name: str, problem: str, remedy: str = "") -> DataError:
        """The error for one of the fields."""
        parts = [self.where, f"field {name!r}" if name else ""]
        return DataError(self.path, ", ".join(part for part in parts if part), problem, remedy)

    def get(self, name: str) -> Any:
        """The value as it stands; None where there is none."""
        self._taken.add(name)
        return self._given.get(name)

    def has(self, name: str) -> bool:
        """Whether it is given."""
        return self._given.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """Words. Without a ``default`` they must be there."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.error(
                name, "is missing" if value is None else f"must be words, not {value!r}"
            )
        return value.strip()

    def flag(self, name: str, default: bool) -> bool:
        """``true`` or ``false``."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.error(name, f"must be true or false, not {value!r}")
        return default if value is None else value

    def count(self, name: str, default: int, least: int = 0, most: int = int(MOST)) -> int:
        """A whole number."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            problem = f"must be a whole number from {least} to {most}, not {value!r}"
            raise self.error(name, problem)
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A number; metres or degrees. Without a ``default`` it must be there."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MOST:
            raise self.error(name, f"must be a number, at most {MOST:g}, not {value!r}")
        return float(value)

    def pair(self, name: str) -> tuple[float, float]:
        """Two numbers, ``[x, y]`` in metres."""
        value = self.get(name)
        pair = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
        good = [v for v in pair if isinstance(v, int | float) and not isinstance(v, bool)]
        if len(pair) != 2 or len(good) != 2 or not all(abs(v) <= MOST for v in good):
            raise self.error(name, f"must be two numbers, as in [1.5, 2], not {value!r}")
        return float(good[0]), float(good[1])

    def list_(self, name: str) -> list[Any]:
        """A list, empty where it is left out."""
        value = self.get(name)
        if value is not None and not isinstance(value, list):
            raise self.error(name, f"must be a list, a line with '- ' for each, not {value!r}")
        return value or []

    def among(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """One of the names in ``known``."""
        value = self.text(name, default)
        if value not in known and value != default:
            raise self.error(name, f"there is no {value!r}", suggest(value, list(known)))
        return value

    def inner(self, name: str, example: str) -> Fields:
        """The fields of a field."""
        where = ", ".join(part for part in (self.where, f"field {name!r}") if part)
        return Fields(self.path, where, self.get(name), example)

    def end(self) -> None:
        """Raises ``DataError`` for the first field that is not known."""
        for name in self._given:
            if name not in self._taken:
                raise self.error(
                    "", f"has no field {name!r}", suggest(str(name), list(self._taken))
                )

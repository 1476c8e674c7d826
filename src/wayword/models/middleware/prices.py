"""Prices of models, from a shipped table that ``--prices FILE`` extends.

The cost of a model without a price is unknown, not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le

from wayword.core.errors import DataError, UsageError
from wayword.core.model import Usage
from wayword.models.servers.profile import read_table
from wayword.settings import make

SHIPPED = Path(__file__).parent.parent / "prices.yaml"
Dollars = Annotated[float, Ge(0), Le(1_000_000)]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. ``cached`` is the price of reused prompt tokens."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None

    def of(self, usage: Usage) -> float:
        cached = self.input if self.cached is None else self.cached
        fresh = usage.prompt - usage.reused
        total = (
            fresh * self.input + usage.reused * cached + usage.completion * self.output
        )
        return total / 1e6


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by the model's name; ``*`` in a name stands for any text."""

    table: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """Return the price of the longest matching name, None if none matches."""
        matches = [
            name for name in self.table if name == model or fnmatchcase(model, name)
        ]
        return (
            self.table[max(matches, key=lambda n: (n == model, len(n)))]
            if matches
            else None
        )


def load_prices(custom: Path | None = None) -> Prices:
    """Return the shipped table, extended by the user's file. Raises ``DataError``."""
    table = _read(SHIPPED)
    return Prices(table if custom is None else {**table, **_read(custom)})


def _read(path: Path) -> dict[str, Price]:
    prices = {}
    for name, entry in read_table(path, "prices").items():
        try:
            prices[name] = make(
                Price, entry if isinstance(entry, dict) else {}, f"price of {name}"
            )
        except UsageError as error:
            problem = str(error)
            remedy = "write {input: 1.25, cached: 0.125, output: 10.0}"
            raise DataError(path, "", problem, remedy) from None
    return prices

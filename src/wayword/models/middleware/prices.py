"""Prices of models, from a shipped table that ``--prices FILE`` extends.

The cost of a model without a price is unknown, not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le

from wayword.core.errors import DataError, UsageError
from wayword.core.model import Usage
from wayword.models.servers.profile import read_table
from wayword.settings import load_shipped, make

SHIPPED = Path(__file__).parent.parent / "prices.yaml"
Dollars = Annotated[float, Ge(0), Le(1_000_000)]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens.

    ``cached`` is the price of prompt tokens from the provider's prefix cache; without it, they cost
    ``input``. ``write`` is the price of tokens written to that cache and ``write_hour`` of those
    kept for an hour; without them, 1.25 and 2 times ``input``, which all providers with such a
    price charge. With ``write``, any prompt without counts is assumed to be written. ``flex`` is
    the share of all of these prices that the tier of this name costs; without it, one half.

    Source: https://developers.openai.com/api/docs/guides/flex-processing,
    https://developers.openai.com/api/docs/guides/prompt-caching and
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    write: Dollars | None = None
    write_hour: Dollars | None = None
    flex: Annotated[float, Ge(0), Le(1)] | None = None

    def of(self, usage: Usage) -> float:
        """Return the dollars of a usage; an estimated one is priced at the dearer rate."""
        cached, write, write_hour = self._cache_prices
        fresh = self.input
        if usage.estimated and self.write is not None:
            fresh = max(self.input, self.write)
        total = (
            (usage.prompt - usage.reused - usage.written) * fresh
            + usage.reused * cached
            + (usage.written - usage.written_hour) * write
            + usage.written_hour * write_hour
            + usage.completion * self.output
        )
        if usage.tier == "flex":
            total *= self._flex_share
        return total / 1e6

    @property
    def _flex_share(self) -> float:
        # The rates of the Batch API, at which OpenAI and Gemini bill this tier
        return 0.5 if self.flex is None else self.flex

    @property
    def _cache_prices(self) -> tuple[float, float, float]:
        """Prices of prompt tokens from the cache, written to it, and written for an hour."""
        # (set price, its price without one as a multiple of the input's); see the class
        rules = ((self.cached, 1.0), (self.write, 1.25), (self.write_hour, 2.0))
        cached, write, write_hour = (
            factor * self.input if price is None else price for price, factor in rules
        )
        return cached, write, write_hour

    def higher(self, other: Price) -> Price:
        """Return the higher one of each of the prices."""
        write: float | None
        cached, write, write_hour = map(max, self._cache_prices, other._cache_prices)
        if self.write is other.write is None:
            write = None  # with a price, prompts without counts would count as written
        input_price = max(self.input, other.input)
        output_price = max(self.output, other.output)
        flex: float | None = max(self._flex_share, other._flex_share)
        if self.flex is other.flex is None:
            flex = None
        return Price(input_price, output_price, cached, write, write_hour, flex)

    def __str__(self) -> str:
        set_prices = {k: v for k, v in asdict(self).items() if v is not None}
        return ", ".join(f"{name} {value:g}" for name, value in set_prices.items())


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by the model's name; ``*`` in a name stands for any text."""

    table: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """Return the price of the longest matching name, None if none matches."""
        matches = [
            name for name in self.table if name == model or fnmatchcase(model, name)
        ]
        if matches:
            return self.table[max(matches, key=lambda n: (n == model, len(n)))]
        return None


def load_prices(custom: Path | None = None) -> Prices:
    """Return the shipped table, extended by the user's file. Raises ``DataError``."""
    table = _shipped(SHIPPED)
    if custom is not None:
        table = {**table, **_parsed(custom, read_table(custom, "prices"))}
    return Prices(table)


@cache
def _shipped(path: Path) -> Mapping[str, Price]:
    """Return the shipped prices; read once."""
    return _parsed(path, load_shipped(path))


def _parsed(path: Path, table: Mapping[str, Any]) -> dict[str, Price]:
    """Return the prices of a table. Raises ``DataError`` naming the entry."""
    prices = {}
    for name, entry in table.items():
        if not isinstance(entry, dict):
            entry = {}  # reported: it has no input and no output
        try:
            prices[name] = make(Price, entry, f"price of {name}")
        except UsageError as error:
            problem = str(error)
            remedy = (
                "write {input: 1.25, cached: 0.125, output: 10.0}; write is optional"
            )
            raise DataError(path, "", problem, remedy) from None
    return prices

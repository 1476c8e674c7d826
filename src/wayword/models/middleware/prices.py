"""Prices of models, from a shipped table that ``--prices FILE`` extends.

The cost of a model without a price is unknown, not 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from math import inf
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.model import Usage
from wayword.models.servers.profile import read_table
from wayword.settings import load_shipped, make

SHIPPED = Path(__file__).parent.parent / "prices.yaml"

# Prices of prompt tokens without one of their own, as multiples of ``input``; see ``Price``.
_MULTIPLES = {"cached": 1.0, "write": 1.25, "write_hour": 2.0}

# Share of all prices that a tier costs: OpenAI, Anthropic, Gemini and Mistral halve batches, and
# OpenAI and Gemini bill flex at the same rates. OpenAI's priority costs 1.7 to 2.5 times as much.
_TIERS = {"flex": 0.5, "batch": 0.5, "priority": 2.0}

# Multiples for a request whose prompt is longer than ``Price.long``, at OpenAI, Gemini 2.5 and
# Claude 4.5.
_LONG_INPUT = 2.0
_LONG_OUTPUT = 1.5

# The end of a version's name: gpt-4o-2024-11-20
_DATE = re.compile(r"-20\d\d-[01]\d-[0-3]\d$")
# Addresses that keep data in a region
_REGIONAL = re.compile(r"https://[a-z]{2}\.api\.openai\.com(?![\w.-])")

# Of a million tokens: more is a typing error.
Dollars = Annotated[float, Ge(0), Le(1_000_000)]
Share = Annotated[float, Ge(0), Le(1)]
Multiple = Annotated[float, Ge(1), Le(100)]
Tokens = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens.

    ``cached`` is the price of prompt tokens from the provider's prefix cache; without it, they cost
    ``input``. ``write`` is the price of tokens written to that cache and ``write_hour`` of those
    kept for an hour; without them, 1.25 and 2 times ``input``, which all providers with such a
    price charge. With ``write``, any prompt without counts is assumed to be written. ``flex`` is
    the share of all of these prices that the tier of this name costs, and ``batch`` that of
    batches; without them, one half. ``priority`` is the multiple that this tier costs; without it,
    2. A request with more than ``long`` tokens in its prompt costs twice as much for all of them,
    and 1.5 times for its answer. ``regional`` is the multiple at OpenAI's addresses of one region.

    Source: https://developers.openai.com/api/docs/guides/flex-processing,
    https://developers.openai.com/api/docs/guides/prompt-caching and
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    write: Dollars | None = None
    write_hour: Dollars | None = None
    flex: Share | None = None
    batch: Share | None = None
    priority: Multiple | None = None
    long: Tokens | None = None
    regional: Multiple | None = None

    def of(self, usage: Usage) -> float:
        """Return the dollars of a usage; the prompt of an estimated one is priced at the dearer of
        ``input`` and ``write``."""
        fresh = self.input
        # Only a stated ``write`` means that writes are billed; see the class.
        if usage.estimated and self.write is not None:
            fresh = max(self.input, self.write)
        prompt = (
            (usage.prompt - usage.reused - usage.written) * fresh
            + usage.reused * self._of("cached")
            + (usage.written - usage.written_hour) * self._of("write")
            + usage.written_hour * self._of("write_hour")
        )
        completion = usage.completion * self.output
        if self.long is not None and usage.prompt > self.long:
            prompt *= _LONG_INPUT
            completion *= _LONG_OUTPUT
        total = prompt + completion
        if usage.tier in _TIERS:
            total *= self._of(usage.tier)
        return total / 1e6

    def in_region(self) -> Price:
        """Return the price at an address of one region."""
        prices = {
            field: value * (self.regional or 1.0)
            for field, value in self._stated().items()
            if field in ("input", "output", *_MULTIPLES)
        }
        return replace(self, **prices, regional=None)

    def _of(self, field: str) -> float:
        """Return the value of a field; without one, what providers charge."""
        value: float | None = getattr(self, field)
        if value is not None:
            return value
        if field in _TIERS:
            return _TIERS[field]
        if field == "regional":
            return 1.0
        return _MULTIPLES[field] * self.input

    def higher(self, other: Price) -> Price:
        """Return the higher one of each of the prices that either of them states.

        For a run whose prices have changed: its budget must hold at both.
        """
        highest: dict[str, Any] = {}
        for field in self._stated() | other._stated():
            if field == "long":
                highest[field] = min(self.long or inf, other.long or inf)
            else:
                highest[field] = max(self._of(field), other._of(field))
        return Price(**highest)

    def _stated(self) -> dict[str, Any]:
        """Return the prices that are stated, by field."""
        return {field: v for field, v in asdict(self).items() if v is not None}

    def __str__(self) -> str:
        stated = self._stated().items()
        return ", ".join(f"{field} {value:g}" for field, value in stated)


@dataclass(frozen=True)
class Prices:
    """Prices by the model's name; ``*`` in a name stands for any text."""

    table: Mapping[str, Price]

    def of(self, model: str, address: str = "") -> Price | None:
        """Return the price of the longest matching name, None if none matches.

        A version with a date costs what the model costs, unless it has a price of its own.
        ``address`` is the server's, if it is known: some are of one region.
        """
        for name in (model, _DATE.sub("", model)):
            matches = [
                key for key in self.table if key == name or fnmatchcase(name, key)
            ]
            if matches:
                price = self.table[max(matches, key=lambda k: (k == name, len(k)))]
                return price.in_region() if _REGIONAL.match(address) else price
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


def _parsed(path: Path, table: JsonObject) -> dict[str, Price]:
    """Return the prices of a table. Raises ``DataError`` naming the entry."""
    prices = {}
    for name, entry in table.items():
        remedy = "write {input: 1.25, cached: 0.125, output: 10.0}; write is optional"
        # Anything else is reported as one without its fields, and the remedy shows them.
        values = entry if isinstance(entry, dict) else {}
        try:
            prices[name] = make(Price, values, f"price of {name}")
        except UsageError as error:
            raise DataError(path, "", str(error), remedy) from None
    return prices

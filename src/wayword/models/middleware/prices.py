"""Prices of models, and what each answer costs: a shipped table that the user can extend.

``--prices FILE`` extends it; a model of no known price has no cost, never a cost of 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from wayword.core.errors import DataError
from wayword.core.model import Usage
from wayword.settings import load_yaml

SHIPPED = Path(__file__).parent.parent / "prices.yaml"
_FIELDS = ("input", "cached", "output")
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. ``cached`` is for prompt tokens that were reused."""

    input: float
    output: float
    cached: float | None = None

    def of(self, usage: Usage) -> float:
        """The cost of a call, in US dollars."""
        cached = self.input if self.cached is None else self.cached
        fresh = usage.prompt - usage.reused
        total = fresh * self.input + usage.reused * cached + usage.completion * self.output
        return total / 1e6


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by the model's name; ``*`` in a name stands for any text."""

    table: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """The most specific price: the longest name that fits. None where none is known."""
        fitting = [name for name in self.table if name == model or fnmatchcase(model, name)]
        return self.table[max(fitting, key=lambda n: (n == model, len(n)))] if fitting else None


def load_prices(own: Path | None = None) -> Prices:
    """The shipped table, and before it the user's own. Raises ``DataError``."""
    table = _read(SHIPPED)
    return Prices(table if own is None else {**table, **_read(own)})


def _read(path: Path) -> dict[str, Price]:
    import yaml

    try:
        found = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise DataError(path, "", problem, "name a YAML file of prices") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise DataError(path, "", f"cannot be read as prices: {reason}") from None
    if not isinstance(found, dict):
        raise DataError(path, "", "is not a mapping of model names to prices")
    return {str(name): _price(path, str(name), entry) for name, entry in found.items()}


def _price(path: Path, name: str, entry: object) -> Price:
    remedy = "write {input: 1.25, cached: 0.125, output: 10.0}"
    if not isinstance(entry, dict) or not {"input", "output"} <= set(entry) <= set(_FIELDS):
        raise DataError(
            path, name, "needs the fields input and output, and may have cached", remedy
        )
    for key, value in entry.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _MOST:
            problem = f"must be between 0 and {_MOST:,} dollars per million tokens"
            raise DataError(path, f"{name}, field {key!r}", problem, remedy)
    return Price(**{key: float(value) for key, value in entry.items()})

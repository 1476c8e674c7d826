"""Tokens and dollars that a run may spend, over all of its models."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from wayword.core.errors import BudgetExhausted, DataError
from wayword.core.model import (
    Choice,
    Completion,
    Model,
    Prompt,
    Sampling,
    Usage,
    Wrapper,
    tokens_of,
)

# What answers cost: a table of prices that the user can extend.

SHIPPED = Path(__file__).parent.parent / "prices.yaml"
_Answer = TypeVar("_Answer", Completion, Choice)
_FIELDS = ("input", "cached", "output")


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


class PricedModel(Wrapper):
    """A model whose answers carry their cost: None where no price is known."""

    def __init__(self, inner: Model, prices: Prices) -> None:
        super().__init__(inner)
        self._price = prices.of(inner.name)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """As the model inside, priced."""
        return self._priced(await self._inner.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """As the model inside, priced."""
        return self._priced(await self._inner.choose(prompt, options))

    def _priced(self, answer: _Answer) -> _Answer:
        if answer.cost is not None or self._price is None:
            return answer
        return replace(answer, cost=self._price.of(answer.usage))


def _read(path: Path) -> dict[str, Price]:
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
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
    for field, value in entry.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise DataError(path, f"{name}, field {field!r}", "is not a positive number", remedy)
    return Price(**{field: float(value) for field, value in entry.items()})


@dataclass(slots=True)
class Account:
    """What may be spent, and what has been. One for all models and episodes of a run.

    ``max_tokens`` and ``max_dollars`` are None for no limit; ``tokens``, ``dollars`` and ``calls``
    add up. Answers from the cache are free. ``unpriced`` counts answers without a known price:
    a limit in dollars cannot see them. A resumed run starts with what was spent before.
    """

    max_tokens: int | None = None
    max_dollars: float | None = None
    tokens: int = 0
    dollars: float = 0.0
    calls: int = 0
    unpriced: int = 0
    _lock: threading.Lock = dataclasses.field(
        default_factory=threading.Lock, repr=False, compare=False
    )

    def check(self) -> None:
        """Raises ``BudgetExhausted`` once a limit is reached."""
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            raise BudgetExhausted(
                f"the budget of {self.max_tokens:,} tokens is spent ({self.tokens:,} used)"
            )
        if self.max_dollars is None:
            return
        if self.dollars >= self.max_dollars:
            raise BudgetExhausted(
                f"the budget of ${self.max_dollars:.2f} is spent (${self.dollars:.4f} used)"
            )
        if self.unpriced:
            raise BudgetExhausted(
                "a limit in dollars needs prices, and this model has none; add it to a price file "
                "or limit tokens instead"
            )

    def add(self, answer: Completion | Choice) -> None:
        """Count an answer."""
        if answer.cached:
            return
        with self._lock:
            self.calls += 1
            self.tokens += tokens_of(answer)
            self.dollars += answer.cost or 0.0
            self.unpriced += answer.cost is None


class BudgetedModel(Wrapper):
    """A model that is asked only while the account lasts.

    The limit is checked before a request and the answer counted after it, so that calls in the
    air when it is reached still come home: a run may overshoot by those. Raises
    ``BudgetExhausted``.
    """

    def __init__(self, inner: Model, account: Account) -> None:
        super().__init__(inner)
        self._account = account

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """As the model inside, while the budget lasts."""
        self._account.check()
        answer = await self._inner.complete(prompt, sampling)
        self._account.add(answer)
        return answer

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """As the model inside, while the budget lasts."""
        self._account.check()
        answer = await self._inner.choose(prompt, options)
        self._account.add(answer)
        return answer

"""Tokens and dollars that a run may spend, over all of its models."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from wayword.core.errors import BudgetExhausted
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.models.wrapping.base import Wrapper, tokens_of


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
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

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

"""Asking again after failures that may pass: full jitter, and the server's own wish first.

Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.models.wrapping.base import Wrapper

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``retries`` attempts after the first; waits grow from ``first`` to ``longest`` seconds.

    The wait before retry k is drawn from [half, whole] of ``first * 2**k``, at most ``longest``.
    A server's Retry-After is honoured to the letter, plus a little jitter so that many episodes
    do not come back in the same instant; one above ``patience`` seconds ends the call instead.
    """

    retries: int = 5
    first: float = 1.0
    longest: float = 60.0
    patience: float = 600.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.Random)

    def wait(self, retry: int, wish: float | None) -> float:
        """Seconds before retry number ``retry``, counted from 0."""
        usual = min(self.longest, self.first * 2.0 ** min(retry, 30))
        if wish is None:
            return usual * self.rng.uniform(0.5, 1.0)
        return wish + min(usual, 1.0) * self.rng.uniform(0.0, 0.5)


class RetryingModel(Wrapper):
    """A model whose passing failures are tried again.

    Raises ``ModelError`` with the last reason once the attempts are used up, and at once for
    failures that will not pass.
    """

    def __init__(self, inner: Model, policy: RetryPolicy | None = None) -> None:
        super().__init__(inner)
        self._policy = policy or RetryPolicy()

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """As the model inside, after as many attempts as it takes."""
        return await self._again(lambda: self._inner.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """As the model inside, after as many attempts as it takes."""
        return await self._again(lambda: self._inner.choose(prompt, options))

    async def _again(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        policy, retry = self._policy, 0
        while True:
            try:
                return await ask()
            except ModelError as error:
                if not error.retryable:
                    raise
                if retry >= policy.retries:
                    raise ModelError(f"{error}; gave up after {retry + 1} attempts") from None
                if (error.retry_after or 0.0) > policy.patience:
                    wish = f"it asks to wait {error.retry_after:.0f} s"
                    raise ModelError(f"{error}; {wish}, more than {policy.patience:.0f}") from None
                wait = policy.wait(retry, error.retry_after)
            await policy.sleep(wait)
            retry += 1

"""Requests a minute, first come, first served; and asking again after failures that may pass."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage, Wrapper

_CRUMB = 1e-6
"""Requests too few to wait for: rounding would make a wait that never ends."""
_Answer = TypeVar("_Answer", Completion, Choice)


class Turns(Protocol):
    """Whatever lets requests pass at a rate: a :class:`Limiter`, or one that processes share."""

    async def admit(self) -> None:
        """Wait for a turn."""
        ...


class Limiter:
    """Requests a minute, shared by any number of calls; zero is no limit.

    Up to six seconds' worth may go at once.
    """

    def __init__(
        self,
        per_minute: float = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if per_minute < 0:
            raise ValueError("a rate limit is positive, or 0 for none")
        self._clock, self._sleep = clock, sleep
        self._rate = per_minute / 60.0
        self._level = self._most = max(1.0, self._rate * 6.0)
        self._then = clock()
        self._queue = asyncio.Lock()  # asyncio's lock wakes waiters in their order

    async def admit(self) -> None:
        """Wait for a turn."""
        if not self._rate:
            return
        async with self._queue:
            while True:
                now = self._clock()
                self._level = min(self._most, self._level + (now - self._then) * self._rate)
                self._then = now
                if (lacking := 1.0 - self._level) <= _CRUMB:
                    break
                await self._sleep(lacking / self._rate)
            self._level -= 1.0


class RateLimitedModel(Wrapper):
    """A model that is asked no faster than its limiter allows."""

    def __init__(self, inner: Model, limiter: Turns) -> None:
        super().__init__(inner)
        self._limiter = limiter

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """As the model inside, when its turn has come."""
        await self._limiter.admit()
        return await self._inner.complete(prompt, sampling)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """As the model inside, when its turn has come."""
        await self._limiter.admit()
        return await self._inner.choose(prompt, options)


# Asking again after failures that may pass: equal jitter, and a server's Retry-After first.
#
# Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``retries`` attempts after the first; waits grow from ``first`` to ``longest`` seconds.

    The wait before retry k is drawn from [half, whole] of ``first * 2**k``, at most ``longest``.
    A server's Retry-After is the least wait; up to half a second is added, so that many episodes
    do not come back in the same instant. One above ``patience`` seconds ends the call instead.

    A server that cannot be reached and has never answered is tried ``first_contact`` times again,
    not ``retries`` times. ``strikes`` calls in a row that fail for good, without one answer in
    between, make the last failure fatal.

    A server that has answered before and is away (no connection, 429, 502, 503, 504) ``trip`` times
    in a row is an outage: all calls wait together, one of them asks again every so often, and with
    its first answer all go on. An outage costs no call its retries. One longer than ``patience`` is
    fatal. With no retries there is no such waiting.
    """

    retries: int = 5
    first: float = 1.0
    longest: float = 60.0
    patience: float = 600.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.Random)
    first_contact: int = 2
    strikes: int = 5
    trip: int = 4
    clock: Callable[[], float] = time.monotonic

    def wait(self, retry: int, retry_after: float | None) -> float:
        """Seconds before retry number ``retry``, counted from 0, outside of an outage."""
        usual = min(self.longest, self.first * 2.0 ** min(retry, 30))
        if retry_after is None:
            return usual * self.rng.uniform(0.5, 1.0)
        return retry_after + min(usual, 1.0) * self.rng.uniform(0.0, 0.5)


class Outage:
    """Whether the server is away, as all calls see it together (a circuit breaker).

    ``since`` is when the first of the failures in a row was, None while the server answers.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._row = self._probes = 0
        self._began: float | None = None
        self._retry_after: float | None = None
        self._probing = asyncio.Lock()

    @property
    def open(self) -> bool:
        """Whether calls wait."""
        return self._policy.retries > 0 and self._row >= self._policy.trip

    @property
    def seconds(self) -> float:
        """How long the server has been away."""
        return 0.0 if self._began is None else self._policy.clock() - self._began

    def failed(self, error: ModelError) -> None:
        """A call found the server away."""
        self._row += 1
        self._began = self._policy.clock() if self._began is None else self._began
        self._retry_after = error.retry_after

    def answered(self) -> None:
        """The server is there."""
        self._row = self._probes = 0
        self._began = None

    async def attempt(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Ask; in an outage wait for the turn to be the one that asks, or for the end of it."""
        if self.open:
            async with self._probing:
                if self.open:
                    # probes every half minute at most: a server that is back should not wait long
                    pause = self._policy.wait(min(self._probes, 5), self._retry_after)
                    self._probes += 1
                    await self._policy.sleep(pause)
                    return await ask()
        return await ask()


class RetryingModel(Wrapper):
    """A model whose passing failures are tried again.

    Raises ``ModelError`` with the last reason once the attempts are used up, and at once for
    failures that will not pass. After a fatal one nothing is asked any more: calls that wait or
    come later get the same error. Answers that were billed and could not be read are added to the
    usage of the answer that follows, or to the error.
    """

    def __init__(
        self,
        inner: Model,
        policy: RetryPolicy | None = None,
        on_retry: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(inner)
        self._policy = policy or RetryPolicy()
        self._outage = Outage(self._policy)
        self._on_retry = on_retry
        self._answered = False
        self._strikes = 0
        self._dead: ModelError | None = None

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """As the model inside, after as many attempts as it takes."""
        return await self._again(lambda: self._inner.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """As the model inside, after as many attempts as it takes."""
        return await self._again(lambda: self._inner.choose(prompt, options))

    async def _again(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        retry, waste = 0, Usage()
        while True:
            if self._dead is not None:
                raise ModelError(str(self._dead), fatal=True, billed=waste or None)
            try:
                answer = await self._outage.attempt(ask)
            except ModelError as error:
                waste += error.billed or Usage()
                if self._in_outage(error):
                    wait = 0.0  # the outage has a wait of its own, which all calls share
                elif (final := self._final(error, retry)) is not None:
                    final = self._struck(final)
                    final.billed = waste or None
                    raise final from None
                else:
                    wait = self._policy.wait(retry, error.retry_after)
                    retry += 1
            else:
                self._answered, self._strikes = True, 0
                self._outage.answered()
                return replace(answer, usage=answer.usage + waste) if waste else answer
            if self._on_retry is not None:
                self._on_retry()  # before the wait, which people should hear the reason of
            if wait:
                await self._policy.sleep(wait)

    def _in_outage(self, error: ModelError) -> bool:
        """Count the failure; whether it belongs to an outage, which all calls wait out together."""
        retry_after = error.retry_after or 0.0
        # a server that is away may answer with any failure until it is back
        away = error.away or (error.retryable and self._outage.open)
        if not (away and self._answered) or retry_after > self._policy.patience:
            return False
        self._outage.failed(error)
        return self._outage.open and self._outage.seconds <= self._policy.patience

    def _final(self, error: ModelError, retry: int) -> ModelError | None:
        """The error that ends the call after attempt number ``retry``; None to try again."""
        policy = self._policy
        if not error.retryable:
            return error
        if self._outage.open:
            minutes = self._outage.seconds / 60
            return ModelError(f"{error}; away for {minutes:.0f} minutes", fatal=True)
        new = error.fatal and not self._answered
        most = min(policy.retries, policy.first_contact) if new else policy.retries
        if retry >= most:
            tries = f"; gave up after {retry + 1} attempts" if retry else ""
            return ModelError(f"{error}{tries}", fatal=error.fatal)
        if (error.retry_after or 0.0) > policy.patience:
            wish = f"it asks to wait {error.retry_after:.0f} s"
            return ModelError(f"{error}; {wish}, more than {policy.patience:.0f}")
        return None

    def _struck(self, error: ModelError) -> ModelError:
        """The error, fatal once too many calls in a row have failed."""
        self._strikes += 1
        if self._strikes >= self._policy.strikes and not error.fatal:
            row = f"{error}; {self._strikes} calls in a row failed without an answer"
            error = ModelError(row, fatal=True)
        if error.fatal:
            self._dead = error
        return error

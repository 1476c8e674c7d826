"""Requests a minute, first come, first served; and retries after transient failures."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from wayword.core.errors import ModelError
from wayword.core.model import Answer, Model, Usage, Wrapper

_TOLERANCE = 1e-6  # share of a request that is not waited for: rounding could make the wait endless


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
            raise ValueError("a rate limit must be positive, or 0 for none")
        self._clock, self._sleep = clock, sleep
        self._rate = per_minute / 60.0
        self._level = self._burst = max(1.0, self._rate * 6.0)
        self._filled_at = clock()
        self._queue = asyncio.Lock()  # asyncio's lock wakes waiters in their order

    async def admit(self) -> None:
        """Wait for a turn."""
        if not self._rate:
            return
        async with self._queue:
            while True:
                now = self._clock()
                self._level = min(self._burst, self._level + (now - self._filled_at) * self._rate)
                self._filled_at = now
                if (missing := 1.0 - self._level) <= _TOLERANCE:
                    break
                await self._sleep(missing / self._rate)
            self._level -= 1.0


class RateLimitedModel(Wrapper):
    """A model that is asked no faster than its limiter allows."""

    def __init__(self, inner: Model, limiter: Turns) -> None:
        super().__init__(inner)
        self._limiter = limiter

    async def call(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        await self._limiter.admit()
        return await ask()


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
    not ``retries`` times. ``max_failures`` calls in a row that fail for good, without one answer in
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
    max_failures: int = 5
    trip: int = 4
    clock: Callable[[], float] = time.monotonic

    def wait(self, retry: int, retry_after: float | None) -> float:
        """Seconds before retry number ``retry``, counted from 0, outside of an outage."""
        backoff = min(self.longest, self.first * 2.0 ** min(retry, 30))
        if retry_after is None:
            return backoff * self.rng.uniform(0.5, 1.0)
        return retry_after + min(backoff, 1.0) * self.rng.uniform(0.0, 0.5)


class Outage:
    """A circuit breaker that all calls share: it is open while the server is away."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures_in_row = self._probes = 0
        self._began_at: float | None = None
        self._retry_after: float | None = None
        self._probing = asyncio.Lock()

    @property
    def open(self) -> bool:
        """True if calls wait."""
        return self._policy.retries > 0 and self._failures_in_row >= self._policy.trip

    @property
    def seconds(self) -> float:
        """Time since the first of the failures in a row; 0 while the server answers."""
        return 0.0 if self._began_at is None else self._policy.clock() - self._began_at

    def failed(self, error: ModelError) -> None:
        """A call found the server away."""
        self._failures_in_row += 1
        self._began_at = self._policy.clock() if self._began_at is None else self._began_at
        self._retry_after = error.retry_after

    def answered(self) -> None:
        """The server is there."""
        self._failures_in_row = self._probes = 0
        self._began_at = None

    async def attempt(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
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
        self._failures = 0
        self._fatal_error: ModelError | None = None

    async def call(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        retry, waste = 0, Usage()
        while True:
            if self._fatal_error is not None:
                raise ModelError(str(self._fatal_error), fatal=True, billed=waste or None)
            try:
                answer = await self._outage.attempt(ask)
            except ModelError as error:
                waste += error.billed or Usage()
                if self._in_outage(error):
                    wait = 0.0  # the outage has a wait of its own, which all calls share
                elif (final := self._final_error(error, retry)) is not None:
                    final.billed = waste or None
                    raise final from None
                else:
                    wait = self._policy.wait(retry, error.retry_after)
                    retry += 1
            else:
                self._answered, self._failures = True, 0
                self._outage.answered()
                return replace(answer, usage=answer.usage + waste) if waste else answer
            if self._on_retry is not None:
                self._on_retry()  # before the wait, which people should hear the reason of
            if wait:
                await self._policy.sleep(wait)

    def _in_outage(self, error: ModelError) -> bool:
        """Count the failure; True if it belongs to an outage, which all calls wait out together."""
        retry_after = error.retry_after or 0.0
        # a server that is away may answer with any failure until it is back
        is_away = error.away or (error.retryable and self._outage.open)
        if not (is_away and self._answered) or retry_after > self._policy.patience:
            return False
        self._outage.failed(error)
        return self._outage.open and self._outage.seconds <= self._policy.patience

    def _final_error(self, error: ModelError, retry: int) -> ModelError | None:
        """The error that ends the call after attempt number ``retry``; None to try again. It is
        fatal once too many calls in a row have failed."""
        policy, fatal = self._policy, error.fatal
        max_retries = policy.retries
        if fatal and not self._answered:
            max_retries = min(max_retries, policy.first_contact)
        requested_wait = error.retry_after or 0.0
        line = str(error)
        if error.retryable and self._outage.open:
            line, fatal = f"{line}; unavailable for {self._outage.seconds / 60:.0f} minutes", True
        elif error.retryable and retry >= max_retries:
            line += f"; gave up after {retry + 1} attempts" if retry else ""
        elif error.retryable and requested_wait > policy.patience:
            line += f"; it asks to wait {requested_wait:.0f} s, more than {policy.patience:.0f}"
            fatal = False
        elif error.retryable:
            return None
        self._failures += 1
        if self._failures >= policy.max_failures and not fatal:
            line += f"; {self._failures} calls in a row failed without an answer"
            fatal = True
        changed = error.retryable or (line, fatal) != (str(error), error.fatal)
        final = ModelError(line, fatal=fatal) if changed else error
        if fatal:
            self._fatal_error = final
        return final

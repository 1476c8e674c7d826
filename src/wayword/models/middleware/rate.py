"""Rate limit in requests per minute, and retries after transient failures."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from wayword.core.errors import ModelError
from wayword.core.model import Answer, Model, Usage, Wrapper

# Missing share of a request that is ignored: rounding could wait forever
_TOLERANCE = 1e-6


class RateLimit(Protocol):
    """A rate limit: a :class:`Limiter`, or one that several processes share."""

    async def admit(self) -> None:
        """Wait until the next request may be sent."""


class Limiter:
    """Token bucket of requests per minute, shared by any number of calls; 0 sets no limit.

    A burst contains at most the requests of six seconds.
    """

    def __init__(
        self,
        per_minute: float = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if per_minute < 0:
            raise ValueError(f"a rate limit must be at least 0, got {per_minute}")
        self._clock = clock
        self._sleep = sleep
        self._rate = per_minute / 60.0
        self._level = self._burst = max(1.0, self._rate * 6.0)
        self._filled_at = clock()
        self._queue = asyncio.Lock()  # asyncio.Lock is fair: first come, first served

    async def admit(self) -> None:
        """Wait until another call is within the rate."""
        if not self._rate:
            return
        async with self._queue:
            while True:
                now = self._clock()
                self._level = min(
                    self._burst,
                    self._level + (now - self._filled_at) * self._rate,
                )
                self._filled_at = now
                if (missing := 1.0 - self._level) <= _TOLERANCE:
                    break
                await self._sleep(missing / self._rate)
            self._level -= 1.0


class RateLimitedModel(Wrapper):
    """A model that is called no faster than its limiter allows."""

    def __init__(self, inner: Model, limiter: RateLimit) -> None:
        super().__init__(inner)
        self._limiter = limiter

    async def call(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Wait for the limiter, then ask."""
        await self._limiter.admit()
        return await ask()


# Retries: exponential backoff with equal jitter, after a server's Retry-After if it sends one.
#
# Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/


@dataclass(frozen=True)
class RetryPolicy:
    """Rules for retries: up to ``retries`` attempts after the first.

    The wait before retry k (from 0) is a random share, half to all, of ``first * 2**k`` seconds, at
    most ``longest``; with Retry-After, that time plus up to half a second, so that episodes do not
    all return at once. Above ``patience`` seconds the call fails instead. A second Retry-After of 0
    in a row counts as none, since it would use up all retries at once.

    A server that has never answered and cannot be reached is tried only ``first_contact`` more
    times. After ``max_failures`` failed calls in a row, the failure is fatal.

    If a server that has answered before is unavailable (no connection, 429, 502, 503, 504) ``trip``
    times in a row, this is an outage: all calls wait, one of them probes the server from time to
    time, and all continue at its first answer. An outage uses up no retries, and is fatal after
    ``patience`` seconds. Without retries, outages are not waited out. With ``waits_at_first``, a
    server that has not answered yet is waited for in the same way.
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
    waits_at_first: bool = False
    clock: Callable[[], float] = time.monotonic

    def wait(self, retry: int, retry_after: float | None) -> float:
        """Return the seconds before retry number ``retry`` (from 0), outside of outages."""
        # 2**1024 overflows
        backoff = min(self.longest, self.first * 2.0 ** min(retry, 30))
        if retry_after is None:
            return backoff * self.rng.uniform(0.5, 1.0)
        return retry_after + min(backoff, 1.0) * self.rng.uniform(0.0, 0.5)


def _stated(wait: float | None, last: float | None) -> float | None:
    """Return the wait that a failure states after that of the last one."""
    return None if wait == last == 0.0 else wait


class Outage:
    """A circuit breaker that all calls share: open while the server is unavailable."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures_in_row = self._probes = 0
        self._began_at: float | None = None
        self._retry_after: float | None = None
        self._last_wait: float | None = None
        self._probing = asyncio.Lock()

    @property
    def open(self) -> bool:
        """True after so many failures in a row that the service counts as down."""
        return self._policy.retries > 0 and self._failures_in_row >= self._policy.trip

    @property
    def seconds(self) -> float:
        """Time since the first of the failures in a row, 0 after an answer."""
        if self._began_at is None:
            return 0.0
        return self._policy.clock() - self._began_at

    def failed(self, error: ModelError) -> None:
        """Count a failure, and keep the pause that the service asked for."""
        self._failures_in_row += 1
        if self._began_at is None:
            self._began_at = self._policy.clock()
        self._retry_after = _stated(error.retry_after, self._last_wait)
        self._last_wait = error.retry_after

    def answered(self) -> None:
        """Count an answer, which ends an outage."""
        self._failures_in_row = self._probes = 0
        self._began_at = self._last_wait = None

    async def attempt(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Make a call; during an outage, wait for its end or for this call's turn to probe."""
        if self.open:
            async with self._probing:
                if self.open:
                    # at most 2**5 s between probes: a server that is back is noticed soon
                    pause = self._policy.wait(min(self._probes, 5), self._retry_after)
                    self._probes += 1
                    await self._policy.sleep(pause)
                    return await ask()
        return await ask()


class RetryingModel(Wrapper):
    """A model with retries after transient failures.

    Raises ``ModelError`` for other failures, and with the last reason after all attempts. After a
    fatal failure, waiting and later calls raise the same error. The usage of billed but unreadable
    answers is added to that of the next answer, or to the error.
    """

    def __init__(
        self,
        inner: Model,
        policy: RetryPolicy,
        on_retry: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(inner)
        self._policy = policy
        self._outage = Outage(policy)
        self._on_retry = on_retry
        self._answered = False
        self._failures = 0
        self._fatal_error: ModelError | None = None

    async def call(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Ask until an answer comes or the retries are used; failed attempts stay
        billed."""
        retry = 0
        last_wait: float | None = None
        waste = Usage()
        while True:
            if self._fatal_error is not None:
                raise ModelError(
                    str(self._fatal_error),
                    fatal=True,
                    billed=waste or None,
                )
            try:
                answer = await self._outage.attempt(ask)
            except ModelError as error:
                waste += error.billed or Usage()
                # during an outage, any transient failure counts as unavailability
                is_away = error.away or (error.retryable and self._outage.open)
                is_short = (error.retry_after or 0.0) <= self._policy.patience
                is_waited_out = False
                # An address that no server answers at is no lack of capacity.
                is_first_waited = self._policy.waits_at_first and not error.fatal
                is_known = self._answered or is_first_waited
                if is_away and is_short and is_known:
                    self._outage.failed(error)
                    is_patient = self._outage.seconds <= self._policy.patience
                    is_waited_out = self._outage.open and is_patient
                if is_waited_out:
                    wait = 0.0  # Outage.attempt waits instead
                elif (final := self._final_error(error, retry)) is not None:
                    final.billed = waste or None
                    raise final from None
                else:
                    stated = _stated(error.retry_after, last_wait)
                    wait = self._policy.wait(retry, stated)
                    last_wait = error.retry_after
                    retry += 1
            else:
                self._answered = True
                self._failures = 0
                self._outage.answered()
                if waste:
                    answer = replace(answer, usage=answer.usage + waste)
                return answer
            if self._on_retry is not None:
                self._on_retry()  # before the wait, to show users its reason
            if wait:
                await self._policy.sleep(wait)

    def _final_error(self, error: ModelError, retry: int) -> ModelError | None:
        """Return the error that ends the call after attempt number ``retry``; None to retry. It is
        fatal if too many calls in a row have failed."""
        policy = self._policy
        fatal = error.fatal
        max_retries = policy.retries
        if fatal and not self._answered:
            max_retries = min(max_retries, policy.first_contact)
        requested_wait = error.retry_after or 0.0
        line = str(error)
        # The reason for giving up is part of the message.
        if error.retryable and self._outage.open:
            line = f"{line}; unavailable for {self._outage.seconds / 60:.0f} minutes"
            fatal = True
        elif error.retryable and retry >= max_retries:
            if retry:
                line += f"; gave up after {retry + 1} attempts"
        elif error.retryable and requested_wait > policy.patience:
            line += f"; it requests a wait of {requested_wait:.0f} s, above {policy.patience:.0f} s"
        elif error.retryable:
            return None
        # Each call may fail for its own reason; many in a row have a common one.
        self._failures += 1
        if self._failures >= policy.max_failures and not fatal:
            line += f"; {self._failures} calls in a row failed without an answer"
            fatal = True
        final = error
        if error.retryable or (line, fatal) != (str(error), error.fatal):
            final = ModelError(line, fatal=fatal)
        if fatal:
            self._fatal_error = final
        return final

"""Tokens and dollars that a run may spend, over all of its models.

A run's ledger (``calls.jsonl``) is what survives any end of its process. One row a write::

    {"tokens": 4930, "dollars": 0.0141, "call": "5f0c2a91b3d4", "open": true}
    {"tokens": 1204, "dollars": 0.0019, "call": "5f0c2a91b3d4"}

The first row is written before a call goes out and holds the most that the call may cost; the
second one settles it. A row replaces the open row of the same ``call`` before it; all other rows
add up (:class:`Totals`). So a call that was under way when its process was killed counts at its
estimate. Rows without ``call`` are sums: folded, merged, or written by an earlier version.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf, sqrt
from operator import itemgetter
from types import TracebackType
from typing import Protocol

from wayword.core.action import Decision, Rejection
from wayword.core.errors import BudgetExhausted, ModelError
from wayword.core.model import Answer, Choice, Completion, Model, Prompt, Sampling, Usage, Wrapper
from wayword.models.middleware.prices import Price

_TYPICAL_MARGIN = 1.25  # episodes differ, so a little more than a typical one is kept for the next

_SPREAD = 4.0
"""The next calls may cost this factor more than the only one so far, half of that after two,
and so on: what a reasoning model writes differs tenfold from call to call. Likewise the
next turns of an episode, as histories grow; of those the root of the deepest so far counts."""

_CONFIDENCE = 0.9
"""Share of the episodes under way that are expected to end within what is kept for them."""

_MAX_ENDED = 256  # ended episodes whose cost is retained, twice as many at most

_STALL_S = 1.0
"""Seconds after which a call that waits for older episodes goes out, where no call is under way."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Row of a run's ledger; the fields are described at the head of this module."""

    tokens: int
    dollars: float
    call: str = ""
    open: bool = False


class Ledger(Protocol):
    """Storage for the rows of a run."""

    def write(self, row: LedgerRow) -> None:
        """Append a row at once. Raises ``RecordingError``."""
        ...


class Totals:
    """Tokens and US dollars of a ledger, its rows added in order."""

    def __init__(self) -> None:
        self._tokens, self._dollars = 0, 0.0
        self._open: dict[str, LedgerRow] = {}

    def add(self, row: LedgerRow) -> None:
        """Count a row."""
        self._open.pop(row.call, None)
        if row.open:
            self._open[row.call] = row
        else:
            self._tokens += row.tokens
            self._dollars += row.dollars

    @property
    def tokens(self) -> int:
        return self._tokens + sum(row.tokens for row in self._open.values())

    @property
    def dollars(self) -> float:
        return self._dollars + sum(row.dollars for row in self._open.values())


@dataclass(slots=True)
class Meter:
    """Share of the budget that an episode under way has taken, and the turns it has played.

    ``number`` counts the episodes of a run from 1; ``rejected``: the last turn's answer was."""

    number: int
    share: float = 0.0
    turns: int = 0
    rejected: bool = False


class Estimate:
    """The share of the budget that episodes take, by what ended ones took and others have taken.

    The first episodes to end are the shortest, so those under way count as longer than what they
    have taken (the estimator of Kaplan and Meier, with one more episode that never ends). What
    nine of ten episodes would need is known after nine ended ones at the earliest. Until then, and
    for longer episodes than any known, each is expected to play all of its ``limit`` turns (0: no
    limit is known). ``ended`` are the shares that ended ones took, the smallest first.
    """

    def __init__(self) -> None:
        self.ended: list[float] = []
        self.limit = 0
        self._largest_share = self._paid = self._dearest_turn = 0.0
        self._turns, self._deepest = 0, 1

    def add(self, share: float) -> None:
        """Count an episode that has ended."""
        insort(self.ended, share)
        if len(self.ended) > 2 * _MAX_ENDED:
            del self.ended[::2]

    def paid(self, meter: Meter, share: float) -> None:
        """Count a call of an episode."""
        meter.share += share
        self._paid += share
        self._largest_share = max(self._largest_share, meter.share)
        self._dearest_turn = max(self._dearest_turn, meter.share / max(1, meter.turns))

    def stepped(self, meter: Meter) -> None:
        """Count a turn of an episode."""
        meter.turns += 1
        self._turns += 1
        self._deepest = max(self._deepest, meter.turns)

    @property
    def typical(self) -> float:
        """The share that an episode takes on average, and a little more."""
        return _TYPICAL_MARGIN * sum(self.ended) / max(1, len(self.ended))

    @property
    def usual(self) -> float:
        """The share that three of four episodes do not pass, and a little more."""
        return _TYPICAL_MARGIN * self.ended[len(self.ended) * 3 // 4] if self.ended else 0.0

    def remaining_need(self, running: Iterable[Meter]) -> Callable[[Meter], float]:
        """Function that estimates the remaining share of an episode, given all running ones."""
        taken = sorted(meter.share for meter in running if meter.share)
        negated, survival = list[float](), 1.0  # negative, as bisect needs them to rise
        for rank, share in enumerate(self.ended):
            remaining = 1 + len(self.ended) - rank + len(taken) - bisect_left(taken, share)
            survival *= 1.0 - 1.0 / remaining
            negated.append(-survival)

        def need(meter: Meter) -> float:
            rank = bisect_right(self.ended, meter.share)
            current = -negated[rank - 1] if rank else 1.0
            end = bisect_left(negated, (_CONFIDENCE - 1.0) * current - 1e-9, rank)
            cap = self._remaining_share(meter)
            return min(cap, self.ended[end] - meter.share) if end < len(negated) else cap

        return need

    def at_most(self, episodes: int) -> float:
        """An upper bound of the share of all of these episodes, without a look at each."""
        turns = episodes * self.limit if self.limit else inf
        return turns * self._dearest_turn * (1.0 + _SPREAD / sqrt(self._deepest))

    def _remaining_share(self, meter: Meter) -> float:
        """The share that an episode may take up to its last turn."""
        if not self.limit:
            return max(2.0 * self._largest_share - meter.share, 0.5 * meter.share)
        turn = max(self._paid / max(1, self._turns), meter.share / max(1, meter.turns))
        return max(0, self.limit - meter.turns) * turn * (1.0 + _SPREAD / sqrt(self._deepest))


EPISODE: ContextVar[Meter | None] = ContextVar("wayword_episode", default=None)
"""The meter of the episode that a call belongs to. Tasks that an agent starts inherit it."""


class Account:
    """The budget of a run and what is spent of it, for all of its models and episodes.

    ``max_tokens`` and ``max_dollars`` are None for no limit; ``tokens``, ``dollars`` and ``calls``
    add up. Answers from the cache are free. ``unpriced`` counts answers without a known price:
    a limit in dollars cannot see them. ``retries`` counts requests that were made again, ``flying``
    those under way now, ``late`` those that were under way when the limit was reached. A resumed
    run starts with what was spent before.

    Several calls at once must not pass the limit together, and what a call costs is known only once
    it has been answered. So the first call of a limited run is made alone, and another joins those
    under way only if the budget would still hold were each as dear as the dearest so far, or
    dearer while few are known. A lone call is always made: the budget is passed by that one, or
    where calls grow dearer.

    An episode that is cut short has been paid for in vain. So no episode begins (``begin``) that
    the rest of the budget cannot be expected to finish. Episodes under way go before new ones: a
    call goes out only if the budget carries what all older episodes may still need and what its
    own one may (:class:`Estimate`). So few episodes make their first call while little is known,
    and where those under way need more than is left, the youngest wait.
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        max_dollars: float | None = None,
        tokens: int = 0,
        dollars: float = 0.0,
        ledger: Ledger | None = None,
        on_retried: Callable[[int], None] | None = None,
    ) -> None:
        self.max_tokens, self.max_dollars = max_tokens, max_dollars
        self.tokens, self.dollars = tokens, dollars
        self.ledger, self.on_retried = ledger, on_retried
        self.calls = self.unpriced = self.retries = self.flying = self.late = 0
        self._lock, self.estimate = threading.Lock(), Estimate()
        self._meters: dict[int, Meter] = {}
        self._started = 0
        self._waiters: list[tuple[int, asyncio.Event]] = []
        self._dearest: float | None = None
        self._unsettled: tuple[int, float] = (0, 0.0)

    @property
    def used(self) -> float:
        """The share of the budget that is spent, by the tighter limit; 0 without limits.

        Requests that calls under way have already made count.
        """
        tokens, dollars = self._unsettled
        return self._share(self.tokens + tokens, self.dollars + dollars)

    def expect(self, episodes: Iterable[tuple[float, float]]) -> None:
        """Count tokens and dollars of episodes of an earlier session as a guess at the next."""
        for tokens, dollars in episodes:
            self.estimate.add(self._share(tokens, dollars))

    def begin(self) -> None:
        """Count the caller's episode as under way: its calls are those made in this context.

        Raises ``BudgetExhausted`` where the rest of the budget would not see it through.
        """
        self.check()
        need = self.estimate.typical
        self._check_rest(sum(max(0.0, need - m.share) for m in self._meters.values()) + need)
        self._started += 1
        meter = Meter(self._started)
        self._meters[meter.number] = meter
        EPISODE.set(meter)

    def end(self, complete: bool) -> None:
        """The caller's episode has ended; ``complete`` if it was played to its end."""
        meter = EPISODE.get()
        if meter is not None and self._meters.pop(meter.number, meter) and complete:
            self.estimate.add(meter.share)
        EPISODE.set(None)
        self._wake()

    def stepped(self, decision: Decision | Rejection | None = None) -> None:
        """Note that a turn of the caller's episode has ended, with that decision."""
        if (meter := EPISODE.get()) is not None:
            rejection = decision.fallback_for if isinstance(decision, Decision) else decision
            meter.rejected = rejection is not None
            self.estimate.stepped(meter)

    async def admit(self) -> None:
        """Wait while older episodes, or calls under way, need what is left.

        Raises ``BudgetExhausted`` once it is spent, and for the first call of an episode that the
        rest would not finish. A call of the oldest episode waits for other calls alone. While no
        call is under way, the oldest one that waits goes out after a second: what the older
        episodes do may itself wait for it (the same question in the cache).
        """
        caller = EPISODE.get()
        self._check_call(caller)
        if not self._may_go(caller):
            waiter = (caller.number if caller else 0, asyncio.Event())
            insort(self._waiters, waiter, key=itemgetter(0))
            try:
                while not self._may_go(caller):
                    waiter[1].clear()
                    stalled = False
                    try:
                        async with asyncio.timeout(_STALL_S):
                            await waiter[1].wait()
                    except TimeoutError:
                        stalled = not self.flying and waiter[0] == self._waiters[0][0]
                    self._check_call(caller)
                    if stalled:
                        break
            finally:
                self._waiters.remove(waiter)
                self._wake()
        self.flying += 1

    def landed(self) -> None:
        """A call that was admitted is over, whatever came of it, and paid where it was billed."""
        self.flying -= 1
        self._wake()

    async def written(self) -> None:
        """Wait until what the caller paid is written down: at once, where ``on_spent`` does it."""

    def check(self) -> None:
        """Raises ``BudgetExhausted`` once a limit is reached."""
        if self.used >= 1.0:
            raise BudgetExhausted(self.spent())
        if self.max_dollars is not None and self.unpriced:
            raise BudgetExhausted(
                "a limit in dollars needs prices, and this model has none; add it to a price file "
                "or limit tokens instead"
            )

    def retried(self) -> None:
        """Count a request that is made again."""
        self.retries += 1
        if self.on_retried is not None:
            self.on_retried(self.retries)

    async def reserve(self, row: LedgerRow) -> None:
        """Write down the most that a call may cost, before a request goes out."""
        self.write(row)

    def release(self, call: str) -> None:
        """Settle a call that was not billed."""
        self.write(LedgerRow(0, 0.0, call))

    def write(self, row: LedgerRow) -> None:
        """Write a row down, where the account has a ledger."""
        if self.ledger is not None:
            self.ledger.write(row)

    def add_unsettled(self, tokens: int, dollars: float) -> None:
        """Count a request that a call under way has made; negative where the call is settled."""
        self._unsettled = self._unsettled[0] + tokens, self._unsettled[1] + dollars

    def pay(self, tokens: int, dollars: float | None, call: str = "") -> None:
        """Count a billed call. Negative numbers earn nothing; ``dollars`` None is an unknown price.

        What cannot be written down is an error: a budget must survive the end of its process.
        """
        tokens, cost = max(0, tokens), max(0.0, dollars or 0.0)
        with self._lock:
            was_spent = self.used >= 1.0
            self.calls += 1
            self.tokens += tokens
            self.dollars += cost
            self.unpriced += dollars is None
            if was_spent:
                self.late += 1
        share = self._share(tokens, cost)
        self._dearest = max(share, self._dearest or 0.0)
        if (meter := EPISODE.get()) is not None:
            self.estimate.paid(meter, share)
        self.write(LedgerRow(tokens, cost, call))

    def _share(self, tokens: float, dollars: float) -> float:
        shares = [0.0]
        if self.max_tokens is not None:
            shares.append(tokens / self.max_tokens if self.max_tokens > 0 else 1.0)
        if self.max_dollars is not None:
            shares.append(dollars / self.max_dollars if self.max_dollars > 0 else 1.0)
        return max(shares)

    def _check_call(self, caller: Meter | None) -> None:
        """Raises ``BudgetExhausted`` where no call, or not the first one of an episode, is paid."""
        self.check()
        oldest = next(iter(self._meters.values()), None)
        has_history = self.used and self.estimate.ended
        if caller is None or caller.share or caller is not oldest or not has_history:
            return
        remaining_need = self.estimate.remaining_need(self._meters.values())
        owed = sum(remaining_need(meter) for meter in self._meters.values() if meter.share)
        self._check_rest(owed + min(self.estimate.usual, remaining_need(caller)))

    def _check_rest(self, need: float) -> None:
        """Raises ``BudgetExhausted`` where less is left than an episode is known to need."""
        if self.used and self.estimate.ended and self.used + need > 1.0:
            raise BudgetExhausted(f"the rest of {self._limit()} would not finish another episode")

    def _wake(self) -> None:
        """Wake the oldest waiting call: no other may go before it, and it wakes the next. If two
        hundred woke at once, they would stay in step, each wave of calls as one lump."""
        if self._waiters:
            self._waiters[0][1].set()

    def _may_go(self, caller: Meter | None) -> bool:
        """True if a call of this episode is next. Those of older episodes go before it."""
        if self.max_tokens is None and self.max_dollars is None:
            return True
        older = caller is not None and bool(self._waiters) and self._waiters[0][0] < caller.number
        return not older and self._affords_call() and self._affords_episode(caller)

    def _affords_call(self) -> bool:
        """True if the budget would hold were each call under way, and one more, the dearest."""
        if not self.flying:
            return True
        if self._dearest is None:
            return False
        dearest = self._dearest * (1.0 + _SPREAD / self.calls)
        return self.used + (self.flying + 1) * dearest <= 1.0

    def _affords_episode(self, caller: Meter | None) -> bool:
        """True if the budget carries what this episode and all older ones may still need."""
        oldest = next(iter(self._meters.values()), None)
        if caller is None or caller is oldest:
            return True
        if self.used + self.estimate.at_most(len(self._meters)) <= 1.0:
            return True  # with room to spare: a look at each takes longer than all else of a call
        remaining_need = self.estimate.remaining_need(self._meters.values())
        owed = 0.0
        for meter in self._meters.values():  # in the order they began
            owed += remaining_need(meter)
            if meter is caller:
                break
        return self.used + owed <= 1.0

    def _limit(self) -> str:
        """The tighter limit, in words."""
        is_tokens = self._share(self.tokens, 0.0) >= self._share(0, self.dollars)
        if self.max_tokens is not None and is_tokens:
            return f"the budget of {self.max_tokens:,} tokens"
        amount = self.max_dollars or 0.0
        digits = ".2g" if 0.0 < amount < 0.01 else ".2f"  # not to read $0.00
        return f"the budget of ${amount:{digits}}"

    def spent(self) -> str:
        """Message that a limit is reached."""
        limit = self._limit()
        late_calls = f"; {self.late} calls were under way" if self.late else ""
        amount = f"{self.tokens:,}" if limit.endswith("tokens") else f"${self.dollars:.4f}"
        return f"{limit} is spent ({amount} used{late_calls})"


# One call under way: the requests that it has made, and those that it is making.


class Call:
    """Upper bound of the bill of a call, at any moment, and the part in the ledger."""

    def __init__(self, account: Account, price: Price | None) -> None:
        self._account, self._price = account, price
        self._id = secrets.token_hex(6)
        self._ended, self._flying = Usage(), list[Usage]()
        self._reserved = self._unsettled = (0, 0.0)
        self.announced = False
        self.estimate: Usage | None = None
        """Estimate of the whole call, of a model that does not announce its requests."""

    @property
    def usage(self) -> Usage:
        """Requests that have ended, and those under way at their estimates."""
        return sum(self._flying, self._ended if self.estimate is None else self.estimate)

    async def send(self, cap: Usage) -> None:
        """Raise the reserved amount where this request needs it. Raises ``BudgetExhausted``."""
        self.estimate, self.announced = None, True
        if self._ended:
            self._account.check()  # a request that is repeated is paid for again
        self._flying.append(cap)
        await self.reserve()

    async def reserve(self) -> None:
        """Write down what the call may cost by now, where that is more than before."""
        tokens, dollars = self._tokens_and_dollars(self.usage)
        if tokens > self._reserved[0] or dollars > self._reserved[1]:
            self._reserved = max(tokens, self._reserved[0]), max(dollars, self._reserved[1])
            await self._account.reserve(LedgerRow(*self._reserved, self._id, open=True))

    def received(self, cap: Usage, billed: Usage) -> None:
        """A request has ended."""
        self._flying.remove(cap)
        self._ended += billed
        tokens, dollars = self._tokens_and_dollars(billed)
        self._unsettled = self._unsettled[0] + tokens, self._unsettled[1] + dollars
        self._account.add_unsettled(tokens, dollars)

    def settle(self, usage: Usage | None, cost: float | None = None) -> None:
        """Close a finished call; ``usage`` is None where nothing was billed."""
        tokens, dollars = self._unsettled
        self._account.add_unsettled(-tokens, -dollars)
        if usage is not None:
            cost = self.price(usage) if cost is None else cost
            self._account.pay(usage.prompt + usage.completion, cost, self._id)
        elif self._reserved[0]:
            self._account.release(self._id)

    def price(self, usage: Usage) -> float | None:
        """US dollars; None where no price is known."""
        return None if self._price is None else self._price.of(usage)

    def _tokens_and_dollars(self, usage: Usage) -> tuple[int, float]:
        return usage.prompt + usage.completion, self.price(usage) or 0.0


_CALL: ContextVar[Call | None] = ContextVar("wayword_call", default=None)


class sending:  # noqa: N801 - a context manager, used as a verb
    """Around one request to a server that bills it; for models that talk to such a server.

    >>> async def ask(server, prompt):
    ...     async with sending(Usage(900, 512)) as request:
    ...         answer = await server.post(prompt)
    ...         request.billed = Usage(answer.prompt_tokens, answer.completion_tokens)

    ``most`` is an upward estimate. It is in the run's ledger before the request goes out, and
    counts where the process is killed or the request cancelled. ``billed`` is what the request has
    cost; of a ``ModelError``, its own ``billed``.
    """

    def __init__(self, most: Usage) -> None:
        self._largest_share, self._call = most, _CALL.get()
        self.billed = most

    async def __aenter__(self) -> sending:
        if self._call is not None:
            await self._call.send(self._largest_share)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._call is not None and isinstance(error, ModelError | None):
            billed = self.billed if error is None else error.billed
            self._call.received(self._largest_share, billed or Usage())


class PaidModel(Wrapper):
    """A model that is asked only while the account lasts, and whose answers carry their cost.

    ``cost`` is None where no price is known. Every call ends in the ledger, whatever ends it: an
    answer, a failure that was billed, a cancellation (at the estimate of what was under way).
    Raises ``BudgetExhausted``.
    """

    def __init__(
        self, inner: Model, account: Account | None = None, price: Price | None = None
    ) -> None:
        super().__init__(inner)
        self._account, self._price = account or Account(), price
        self._announces = False  # true once the model has announced its requests (``sending``)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """As the model inside, while the budget lasts."""
        cap = Usage(
            rough_tokens(prompt) * sampling.n, sampling.max_tokens * sampling.n, estimated=True
        )
        return await self._paid(cap, lambda: self._inner.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """As the model inside, while the budget lasts."""
        option_characters = sum(map(len, options))
        cap = Usage(rough_tokens(prompt) * len(options), option_characters, estimated=True)
        return await self._paid(cap, lambda: self._inner.choose(prompt, options))

    async def _paid(self, cap: Usage, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        await self._account.admit()
        call = Call(self._account, self._price)
        token = _CALL.set(call)
        try:
            if not self._announces:
                call.estimate = cap
                await call.reserve()
            answer = await ask()
        except ModelError as error:
            call.settle(error.billed)
            await self._account.written()
            raise
        except BaseException:  # cancelled, or the budget spent between two requests
            call.settle(call.usage or None)
            raise
        else:
            cost = call.price(answer.usage) if answer.cost is None else answer.cost
            call.settle(None if answer.cached else answer.usage, cost)
            await self._account.written()
            return replace(answer, cost=cost)
        finally:
            self._announces |= call.announced
            _CALL.reset(token)
            self._account.landed()


def rough_tokens(prompt: Prompt) -> int:
    """An upper estimate of a prompt's tokens that costs no time; a picture counts 1,500.

    Half of the bytes: text of the agents has 2.5 to 4.5 bytes a token, and IDs about 2.
    """
    if isinstance(prompt, str):
        return len(prompt.encode(errors="replace")) // 2 + 1
    texts = sum(len(message.content.encode(errors="replace")) // 2 + 8 for message in prompt)
    return texts + 1500 * sum(len(message.images) for message in prompt)

"""Budget of a run: limits on the tokens and dollars of all its models.

One :class:`Call` is passed along from its admission to its bill. Each of its requests is one row of
the ledger, which is open until the request ends::

    PaidModel   opens the call, for the current episode, and asks the account to admit it
    sending     has a row reserved for a request, and settles it at its bill
    Account     writes the rows to the ledger, and adds their costs to the call and its episode

Two context variables lead to it, because code of users stands between: an agent that asks a model
does not pass its episode (``EPISODE``), nor a model that sends a request its call (``_CALL``). Each
is read in one place on the way to the bill.

Processes that share an account reach it by its ``desk``, a handle of the account of another
process. It gets a copy of the call, and finds it by its name.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from bisect import insort
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any

from wayword.core.action import Decision, Rejection
from wayword.core.errors import BudgetExhausted, Lost, ModelError, UsageError
from wayword.core.model import (
    ASSUMED,
    Answer,
    Choice,
    Completion,
    Model,
    PictureTokens,
    Prompt,
    Sampling,
    Usage,
    Wrapper,
)
from wayword.core.visible import in_dollars
from wayword.models.middleware.ledger import Ledger, LedgerRow, Totals
from wayword.models.middleware.need import SPREAD, Estimate, Meter
from wayword.models.middleware.prices import Price

# Reserve more than a typical episode's cost, because episodes differ.
_TYPICAL_MARGIN = 1.25


_NO_PRICE = (
    "a dollar limit needs prices, and this model has none; add it to a price file (--prices) or "
    "limit tokens instead"
)

# Share of a budget that sums of reservations may be off by.
_ROUNDING = 1e-9

# Longest wait for older episodes while no call is pending, in seconds.
_STALL_S = 1.0


EPISODE: ContextVar[Meter | None] = ContextVar("wayword_episode", default=None)
"""Meter of the current episode, which pays for calls. Tasks that an agent starts inherit it."""


@dataclass(eq=False, repr=False)
class Account:
    """The budget of a run and its spending, over all models and episodes.

    ``max_tokens`` and ``max_dollars`` are None without a limit. A resumed run starts with its
    earlier spending. Cached answers are free. ``unpriced`` counts answers without a known price,
    which a dollar limit cannot include, ``retries`` repeated requests, ``pending`` calls in
    progress, ``late`` those that were in progress when the limit was reached. ``desk`` is where the
    models ask: this account, or a handle of another process's.

    A call's cost is known only afterwards, and concurrent calls must not exceed the limit together.
    The first call of a limited run is therefore made alone, and another is admitted only if the
    budget would suffice if all pending calls cost as much as the most expensive one so far, plus a
    margin. A single call is always admitted: the budget is exceeded by at most that call, unless
    calls become more expensive.

    An interrupted episode is wasted money. An episode therefore begins only if the rest of the
    budget is expected to finish it, and a call is admitted only if the budget covers the expected
    need (:class:`Estimate`) of its own episode and of all older ones, which have priority. While
    little is known, few episodes make their first call; if the running ones need more than is left,
    the youngest wait.
    """

    max_tokens: int | None = None
    max_dollars: float | None = None
    tokens: int = 0
    dollars: float = 0.0
    ledger: Ledger | None = None
    on_retried: Callable[[int], None] | None = None
    desk: Any = None

    def __post_init__(self) -> None:
        self.desk = self.desk or self
        # Bills, and the episodes and calls in progress.
        self.prices: dict[str, Price | None] = {}  # by the model's name
        self.unpriceable: list[str] = []  # models without a price that state no cost
        self.totals = Totals()  # for the cost of requests that are cancelled
        self.estimate = Estimate()
        self.calls = 0
        self.unpriced = 0
        self.retries = 0
        self.late = 0
        self._session = secrets.token_hex(4)
        self._opened_at = time.monotonic()
        self._requests = 0
        self._calls: dict[str, Call] = {}
        self._meters: dict[int, Meter] = {}
        self._started = 0
        self._waiters: list[tuple[int, asyncio.Event]] = []
        self._max_call_share: float | None = None
        # Of gathered calls: the sum of their reservations, and an event at the next bill.
        self._reserved = 0.0
        self._billed = asyncio.Event()
        # Requests of earlier sessions without a bill, at the costs that ``resume`` counted.
        self._earlier: dict[str, LedgerRow] = {}

    @property
    def used(self) -> float:
        """Spent share of the budget, by the tighter limit; 0 without limits."""
        return self._share(self.tokens, self.dollars)

    @property
    def pending(self) -> int:
        """The number of calls in progress."""
        return len(self._calls)

    def require_prices(self) -> None:
        """Raise ``UsageError`` if a limit of dollars could count no call of some model."""
        if self.max_dollars is not None and self.unpriceable:
            raise UsageError(f"{self.unpriceable[0]}: {_NO_PRICE}")

    def expect(self, episodes: Iterable[tuple[float, float]]) -> None:
        """Add the tokens and dollars of episodes that earlier sessions finished to the estimate."""
        for tokens, dollars in episodes:
            self.estimate.add(self._share(tokens, dollars))

    def resume(self, ledger: Ledger, totals: Totals) -> None:
        """Write to a ledger whose rows have these totals."""
        self.ledger = ledger
        self.totals = totals
        self.tokens += totals.tokens
        self.dollars += totals.dollars
        self._earlier = totals.open_costs()

    def keep_prices(self, earlier: Mapping[str, Price]) -> list[str]:
        """Raise prices that are lower than in earlier sessions of the run. Returns notices."""
        notices = []
        for name, before in earlier.items():
            now = self.prices.get(name)
            if name not in self.prices or now == before:
                continue
            self.prices[name] = before if now is None else before.higher(now)
            notices.append(
                f"the price of {name} was {before} in an earlier session of this run, and is now "
                f"{now or 'unknown'}; the higher one counts (start a new run to use the new one)"
            )
        return notices

    def begin(self, owner: str = "", episode: str = "") -> Meter:
        """Start the caller's episode: all calls made in this context are part of it.

        Raises ``BudgetExhausted`` if the rest of the budget would not finish it.
        """
        self.check()
        # The running episodes and this one are expected to cost the mean of the ended ones.
        ended = self.estimate.ended
        need = _TYPICAL_MARGIN * sum(ended) / max(1, len(ended))
        self._check_rest(
            sum(max(0.0, need - m.share) for m in self._meters.values()) + need
        )
        self._started += 1
        meter = Meter(self._started, owner=owner, episode=episode)
        self._meters[meter.number] = meter
        EPISODE.set(meter)
        return meter

    def end(self, complete: bool, meter: Meter | None = None) -> None:
        """End an episode, the caller's by default; ``complete`` is False if it failed."""
        meter = meter or EPISODE.get()
        if meter is not None:
            ended = self._meters.pop(meter.number, None)
            if ended is not None and complete:
                self.estimate.add(ended.share)
        EPISODE.set(None)
        self._wake()

    def stepped(self, decision: Decision | Rejection | None = None) -> None:
        """Count a turn of the current episode, and note if its answer was rejected."""
        meter = EPISODE.get()
        if meter is None:
            return
        rejection = decision
        if isinstance(decision, Decision):
            rejection = decision.fallback_for
        meter.rejected = rejection is not None
        self.estimate.stepped(meter)

    async def admit(self, call: Call) -> None:
        """Wait while older episodes or pending calls need the rest of the budget.

        Raises ``BudgetExhausted`` once it is spent, and for the first call of an episode that the
        rest would not finish. If no call is pending, the oldest waiting call is admitted after a
        second: an older episode may itself wait for it (for the same question in the cache).
        """
        caller = call.episode
        has_price = call.price is not None or call.may_state_cost
        if self.max_dollars is not None and not has_price:
            raise BudgetExhausted(_NO_PRICE)
        self._check_call(caller)
        if not call.gathered and not self._may_go(caller):
            # 0: calls outside of episodes go first
            waiter = (getattr(caller, "number", 0), asyncio.Event())
            insort(self._waiters, waiter, key=itemgetter(0))
            stalled = False
            try:
                while not stalled and not self._may_go(caller):
                    waiter[1].clear()
                    try:
                        async with asyncio.timeout(_STALL_S):
                            await waiter[1].wait()
                    except TimeoutError:
                        stalled = not self.pending and waiter[0] == self._waiters[0][0]
                    self._check_call(caller)
            finally:
                self._waiters.remove(waiter)
                self._wake()
        self._calls[call.name] = call

    async def reserve(self, name: str, row: LedgerRow) -> LedgerRow:
        """Record the maximum cost of a call's next request, before it is sent.

        ``name`` is the call's. Returns the row with the request's name and time. Raises
        ``BudgetExhausted`` for a repeated request, which is billed again.
        """
        call = self._calls[name]
        if call.billed:
            self.check()
        if call.gathered:
            await self._wait_for_room(row)
        # Names begin with the session's, so that they differ from those of earlier ones.
        self._requests += 1
        request = f"{self._session}-{self._requests}"
        row = row._replace(call=request, open=True, at=self._now())
        call.requests[request] = row
        self.write(row)
        return row

    async def adopt(self, name: str, row: LedgerRow) -> bool:
        """Let a call pay for a request that an earlier session has sent, by the row of its ledger.
        Returns False if that session has paid."""
        counted = self._earlier.pop(row.call, None)
        if counted is None:
            return False
        self.totals.forget(row.call)
        self.tokens -= counted.tokens
        self.dollars -= counted.dollars or 0.0
        self._hold(row, 1)
        row = row._replace(open=True, at=self._now())
        self._calls[name].requests[row.call] = row
        return True

    async def _wait_for_room(self, row: LedgerRow) -> None:
        """Wait until the budget covers the most that a gathered call and all others may cost: they
        are sent together, before any of them has a bill. Raises ``BudgetExhausted`` if it does not
        cover this one alone."""
        if self.max_dollars is not None and row.dollars is None:
            raise BudgetExhausted(_NO_PRICE)
        share = self._share(row.tokens, row.dollars or 0.0)
        while self.used + self._reserved + share > 1.0:
            if self._reserved < _ROUNDING:
                raise BudgetExhausted(
                    f"the rest of {self._limit()} does not cover the most that another request "
                    "may cost"
                )
            await self._billed.wait()
            self.check()
        self._hold(row, 1)

    def _hold(self, row: LedgerRow, sign: int) -> None:
        """Add the reservation of a gathered call, or with -1 take it back."""
        self._reserved += sign * self._share(row.tokens, row.dollars or 0.0)

    async def settle(self, name: str, row: LedgerRow) -> LedgerRow:
        """Record the end of a request of a call, and return it at its cost.

        A row that is still open counts at its probable cost, because its answer was
        lost.
        """
        return self._settle(self._calls[name], row)

    def _settle(self, call: Call, row: LedgerRow) -> LedgerRow:
        """Record the end of a request, with the time at which it ended."""
        now = self._now()
        reserved = call.requests.pop(row.call)
        if row.open:
            row = row._replace(seconds=now - reserved.at)
        try:
            return self.pay(row._replace(at=now), call)
        finally:
            if call.gathered:
                self._hold(reserved, -1)
                self._billed.set()
                self._billed = asyncio.Event()

    def landed(self, name: str) -> None:
        """End a call. Requests that it has not settled were cancelled, and may have been billed.

        May be called for a call that is unknown, whose process died.
        """
        call = self._calls.pop(name, None)
        if call is None:
            return  # its process died, and with it the call
        try:
            for request in [*call.requests.values()]:
                self._settle(call, request)
        finally:
            self._wake()

    def check(self) -> None:
        """Raise ``BudgetExhausted`` once a limit is reached."""
        if self.used >= 1.0:
            raise BudgetExhausted(self.spent())
        if self.max_dollars is not None and self.unpriced:
            raise BudgetExhausted(_NO_PRICE)

    def retried(self) -> None:
        """Count a repeated request, and report it."""
        self.retries += 1
        if self.on_retried is not None:
            self.on_retried(self.retries)

    def write(self, row: LedgerRow) -> None:
        """Add a row to the totals and to the ledger. Raises ``RecordingError``."""
        self.totals.add(row)
        if self.ledger is not None:
            self.ledger.write(row)

    def pay(self, row: LedgerRow, call: Call | None = None) -> LedgerRow:
        """Add the end of a request, and return it at its cost.

        Without ``call``, the current episode pays. Raises ``RecordingError`` if it
        cannot be written: the budget must survive a crash.
        """
        call = call or Call()
        dollars = row.dollars
        # a server may send negative counts
        if dollars is not None:
            dollars = max(0.0, dollars)
        row = row._replace(tokens=max(0, row.tokens), dollars=dollars)
        self.write(row)
        if row.open:
            row = self.totals.probable(row)
        if row.tokens or row.dollars != 0.0:
            self._count(call, row)
        return row

    def _count(self, call: Call, cost: LedgerRow) -> None:
        """Add a bill to the spending, to its call and to its episode."""
        if self.used >= 1.0 and not call.late:
            call.late = True
            self.late += 1
        if not call.billed:
            call.billed = True
            self.calls += 1
        self.tokens += cost.tokens
        self.dollars += cost.dollars or 0.0
        self.unpriced += cost.dollars is None
        share = self._share(cost.tokens, cost.dollars or 0.0)
        call.share += share
        self._max_call_share = max(call.share, self._max_call_share or 0.0)
        if call.episode is not None:
            self.estimate.paid(call.episode, share)

    def _now(self) -> float:
        """Return the seconds since the session began, to a millisecond, as rows have them."""
        return round(time.monotonic() - self._opened_at, 3)

    def _share(self, tokens: float, dollars: float) -> float:
        """Return the share of the budget that an amount is, by the tighter limit; 0 without any."""
        return max(
            _share_of(self.max_tokens, tokens), _share_of(self.max_dollars, dollars)
        )

    def _check_call(self, caller: Meter | None) -> None:
        """Raise ``BudgetExhausted`` if no call can be paid, or no first call of an episode.

        The first call of an episode is refused only to the oldest one: younger ones
        wait until those before them have ended.
        """
        self.check()
        oldest = next(iter(self._meters.values()), None)
        has_history = self.used and self.estimate.ended
        if caller is None or caller.share or caller is not oldest or not has_history:
            return
        meters = self._meters.values()
        remaining_need = self.estimate.remaining_need(meters)
        owed = sum(remaining_need(meter) for meter in meters if meter.share)
        ended = self.estimate.ended
        upper_quartile = _TYPICAL_MARGIN * ended[len(ended) * 3 // 4]
        self._check_rest(owed + min(upper_quartile, remaining_need(caller)))

    def _check_rest(self, need: float) -> None:
        """Raise ``BudgetExhausted`` if the rest does not cover ``need``, once costs are known."""
        if self.used and self.estimate.ended and self.used + need > 1.0:
            raise BudgetExhausted(
                f"the rest of {self._limit()} does not cover another episode"
            )

    def _wake(self) -> None:
        """Wake the oldest waiting call, which wakes the next one: if all woke at once, their calls
        would stay synchronized in bursts."""
        if self._waiters:
            self._waiters[0][1].set()

    def _may_go(self, caller: Meter | None) -> bool:
        """True if a call of this episode is next; those of older episodes have priority.

        The budget must suffice for the pending calls and one more at the highest cost, and for the
        expected need of this episode and all older ones.
        """
        if self.max_tokens is None and self.max_dollars is None:
            return True
        if caller is not None and self._waiters and self._waiters[0][0] < caller.number:
            return False
        # All pending calls and this one may cost as much as the most expensive one.
        if self.pending:
            if self._max_call_share is None:
                return False
            cap = self._max_call_share * (1.0 + SPREAD / self.calls)
            if self.used + (self.pending + 1) * cap > 1.0:
                return False
        if caller is None or caller is next(iter(self._meters.values()), None):
            return True
        meters = self._meters.values()  # oldest first
        # Large budgets cover the most that all may need, which is quickly computed.
        if self.used + len(meters) * self.estimate.most <= 1.0:
            return True
        remaining_need = self.estimate.remaining_need(meters)
        owed = 0.0
        for meter in meters:
            owed += remaining_need(meter)
            if meter is caller:
                break
        return self.used + owed <= 1.0

    def _limit(self) -> str:
        """Return the limit that is nearer, for a message."""
        by_tokens = _share_of(self.max_tokens, self.tokens)
        by_dollars = _share_of(self.max_dollars, self.dollars)
        if self.max_tokens is not None and by_tokens >= by_dollars:
            return f"the budget of {self.max_tokens:,} tokens"
        return f"the budget of {in_dollars(self.max_dollars or 0.0)}"

    def spent(self) -> str:
        """Return the message that a limit is reached."""
        limit = self._limit()
        used = f"${self.dollars:.4f} used"
        if limit.endswith("tokens"):
            used = f"{self.tokens:,} used"
        if self.late:
            used += f"; calls pending at that time: {self.late}"
        return f"{limit} is spent ({used})"


def _share_of(limit: float | None, amount: float) -> float:
    """Return the share of a limit that an amount is: 0 without one, 1 of a limit of 0."""
    if limit is None:
        return 0.0
    return amount / limit if limit > 0 else 1.0


@dataclass(eq=False)
class Call:
    """A model call, from its admission to its last bill: the one object that all of them share.

    ``episode`` pays for it, and ``price`` is that of its tokens. ``cost`` is the sum of its bills
    in US dollars so far, ``share`` that of the budget, and ``requests`` are in progress, by their
    names. ``total`` reserves the cost of the call of a model that does not announce its requests.
    ``may_state_cost`` is False if answers have no cost without a price.
    ``gathered`` calls are sent together: the budget admits each of their requests by the most that
    it may cost.
    """

    price: Price | None = None
    name: str = field(default_factory=lambda: secrets.token_hex(6))
    episode: Meter | None = field(default_factory=EPISODE.get)
    requests: dict[str, LedgerRow] = field(default_factory=dict)
    cost: float = 0.0
    share: float = 0.0
    billed: bool = False
    late: bool = False
    gathered: bool = False
    may_state_cost: bool = True
    # The account that admitted the call. It is set later, because another process's account
    # admits a copy, which must not contain a handle.
    desk: Any = None
    total: sending | None = None

    def priced(self, usage: Usage, cost: float | None = None) -> LedgerRow:
        """Return the row of a usage: at its ``cost`` if that is known, else at the call's price."""
        if cost is None and self.price is not None:
            cost = self.price.of(usage)
        return LedgerRow(usage.prompt + usage.completion, cost)

    async def begin(self, request: sending) -> None:
        """Free what is reserved for the whole call: the model announces its own requests."""
        if self.total is None or self.total is request:
            return
        await self.total.settle(None)
        self.total = None


# The call that a model backend is making. The methods of models, which users write too, do not
# take it as an argument: ``PaidModel`` sets it, and only ``sending`` reads it.
_CALL: ContextVar[Call | None] = ContextVar("wayword_call", default=None)


class sending:  # noqa: N801 - a context manager, used as a verb
    """Context manager around a billed request; model backends use it for each request.

    >>> async def ask(server, prompt):
    ...     async with sending(Usage(900, 512)) as request:
    ...         answer = await server.post(prompt)
    ...         request.billed = Usage(answer.prompt_tokens, answer.completion_tokens)

    ``cap`` is an upper estimate, for a request of ``samples``, which is written to the run's ledger
    before the request. If the request is cancelled or the process killed, its probable bill counts:
    see :mod:`wayword.models.middleware.ledger`. ``billed`` is the actual usage, set inside the
    block; after a ``ModelError``, the error's ``billed`` counts instead. ``earlier`` is the row
    in the ledger of a request that an earlier session of the run has sent, and perhaps paid. Raises
    ``BudgetExhausted`` before a repeated request.
    """

    def __init__(self, cap: Usage, samples: int = 1, earlier: str = "") -> None:
        self.cap = cap
        self.samples = samples
        self.earlier = earlier
        self.billed: Usage | None = cap
        self.cost: float | None = None
        """US dollars, for a backend that knows them; by default, the price of ``billed``."""
        self._call: Call | None = None  # until the bill is settled
        self._is_paid = False  # by an earlier session

    async def __aenter__(self) -> sending:
        self._call = call = _CALL.get()
        if call is not None:
            await call.begin(self)
            row = call.priced(self.cap)._replace(samples=self.samples)
            if self.earlier:
                self._row = row._replace(call=self.earlier)
                self._is_paid = not await call.desk.adopt(call.name, self._row)
            else:
                self._row = await call.desk.reserve(call.name, row)
        return self

    @property
    def row(self) -> str:
        """Name of the request's row in the ledger; empty outside of a run."""
        if self._call is None:
            return self.earlier
        return self._row.call

    async def __aexit__(
        self, _: object, error: BaseException | None, __: object
    ) -> None:
        if error is None:
            await self.settle(self.billed)
        elif isinstance(error, ModelError):
            call = self._call
            if call is not None and error.lost and error.billed:
                # It stays open in the ledger, and counts at its probable cost.
                lost = await self._end(call, self._row._replace(lost=error.lost))
                prompt = min(error.billed.prompt, lost.tokens)
                error.billed = Usage(prompt, lost.tokens - prompt, estimated=True)
            else:
                await self.settle(error.billed, "error")
        # any other error leaves the request open: Account.landed counts it as cancelled

    async def settle(self, billed: Usage | None, lost: Lost = "") -> None:
        """Record the bill, unless it has been recorded; None if there is none.

        ``lost`` marks one that is no evidence of what requests cost.
        """
        if self._call is not None:
            row = LedgerRow(0, 0.0)
            if billed is not None:
                row = self._call.priced(billed, self.cost)._replace(lost=lost)
            await self._end(self._call, row._replace(call=self._row.call))

    async def _end(self, call: Call, row: LedgerRow) -> LedgerRow:
        """Settle the request's row, and add its cost to the call."""
        self._call = None
        if self._is_paid:
            # The answer has a cost, but the ledger has its bill already.
            call.cost += row.dollars or 0.0
            return row
        row = await call.desk.settle(call.name, row)
        call.cost += row.dollars or 0.0
        return row


class PaidModel(Wrapper):
    """A model with a budget, whose answers have a ``cost`` (None if the price is unknown).

    With a limit of dollars, a model without a price is not asked, unless it ``may_state_cost``:
    then its first answer shows whether it does. Every request is recorded in the ledger, also after
    a billed failure or a cancellation. Raises ``BudgetExhausted``.
    """

    def __init__(
        self,
        inner: Model,
        account: Account | None = None,
        price: Price | None = None,
        gathered: bool = False,
        may_state_cost: bool = True,
    ) -> None:
        super().__init__(inner)
        self._account = account or Account()
        self._may_state_cost = may_state_cost
        self._gathered = gathered
        self._account.prices[inner.name] = price
        if price is None and not may_state_cost:
            self._account.unpriceable.append(inner.name)
        self._announces = False  # true once the model has used ``sending``

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Answer within the budget; the reservation is for all samples at their limit."""
        n = sampling.n
        prompt_tokens = rough_tokens(prompt, self.pictures) * n
        cap = Usage(prompt_tokens, sampling.max_tokens * n, estimated=True)
        work = partial(self._inner.complete, prompt, sampling)
        return await self._paid(sending(cap, n), work)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Rank within the budget; the reservation is a prompt for each option."""
        characters = sum(map(len, options))
        prompt_tokens = rough_tokens(prompt, self.pictures) * len(options)
        cap = Usage(prompt_tokens, characters, estimated=True)
        work = partial(self._inner.choose, prompt, options)
        return await self._paid(sending(cap), work)

    async def _paid(
        self, total: sending, ask: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Make a call within the budget, and return its answer with the cost.

        ``total`` reserves for the whole call. A model that announces its requests with
        :class:`sending` replaces it by reservations of its own.
        """
        price = self._account.prices[self._inner.name]
        call = Call(price, gathered=self._gathered, may_state_cost=self._may_state_cost)
        desk = self._account.desk
        await desk.admit(call)
        call.desk = desk
        token = _CALL.set(call)
        try:
            if self._announces or self._gathered:
                answer = await ask()
            else:
                # Reserve for the whole call, until the model announces its first request.
                call.total = total
                async with total:
                    answer = await ask()
                    total.cost = answer.cost
                    total.billed = None if answer.cached else answer.usage
            if answer.cost is None and call.price is not None:
                answer = replace(answer, cost=call.cost)
            return answer
        finally:
            # A reservation that is gone was freed by the model's own requests. Such a model needs
            # none for its next call.
            self._announces = call.total is None
            _CALL.reset(token)
            desk.landed(call.name)


PICTURE_MARGIN = 1.5
"""Factor of a picture's estimated tokens: servers scale pictures and add marks around them."""


def rough_tokens(prompt: Prompt, pictures: PictureTokens = ASSUMED) -> int:
    """Return a fast upper estimate of a prompt's tokens: half its bytes, and its pictures.

    The agents' text has 2.5 to 4.5 bytes per token, IDs about 2.
    """
    if isinstance(prompt, str):
        return len(prompt.encode(errors="replace")) // 2 + 1
    tokens = math.ceil(PICTURE_MARGIN * pictures.of_prompt(prompt))
    for message in prompt:
        # 8: the marks of a message, such as its role
        tokens += len(message.text.encode(errors="replace")) // 2 + 8
    return tokens

"""Tokens and dollars that a run may spend, over all of its models."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from wayword.core.errors import BudgetExhausted, ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Wrapper, tokens_of

_Answer = TypeVar("_Answer", Completion, Choice)

_SLACK = 1.25
"""Episodes differ, so a little more than their mean is kept for each one under way."""


_SCARCE = 4.0
"""The next calls may cost so many times more again than the only one known, half of that where two
are known, and so on: what a reasoning model writes differs tenfold from call to call."""


@dataclass(slots=True)
class Meter:
    """What one episode under way has taken of the budget, as a share of it; ``number`` from 1."""

    number: int
    share: float = 0.0


_EPISODE: ContextVar[Meter | None] = ContextVar("wayword_episode", default=None)
"""The meter of the episode that a call belongs to. Tasks that an agent starts inherit it."""


def under_way() -> Meter | None:
    """The meter of the episode that the caller plays."""
    return _EPISODE.get()


def play_as(meter: Meter | None) -> None:
    """The caller's calls are those of this episode from now on."""
    _EPISODE.set(meter)


OnSpent = Callable[[int, float], None]
"""Called with the tokens and dollars of each billed call, as soon as they are known."""


@dataclass(slots=True)
class Account:
    """What may be spent, and what has been. One for all models and episodes of a run.

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
    the rest of the budget cannot be expected to finish, and when those under way would together
    need more than is left, the youngest wait until an older one has ended.
    """

    max_tokens: int | None = None
    max_dollars: float | None = None
    tokens: int = 0
    dollars: float = 0.0
    calls: int = 0
    unpriced: int = 0
    retries: int = 0
    flying: int = 0
    late: int = 0
    on_spent: OnSpent | None = field(default=None, repr=False)
    on_retried: Callable[[int], None] | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _ended: list[float] = field(default_factory=list, repr=False, compare=False)
    _running: dict[int, Meter] = field(default_factory=dict, repr=False, compare=False)
    _begun: int = field(default=0, repr=False, compare=False)
    _turn: asyncio.Event | None = field(default=None, repr=False, compare=False)
    _waiting: list[int] = field(default_factory=list, repr=False, compare=False)
    _dearest: float | None = field(default=None, repr=False, compare=False)

    @property
    def used(self) -> float:
        """The share of the budget that is spent, by the tighter limit; 0 without limits."""
        return self._share(self.tokens, self.dollars)

    @property
    def expected(self) -> float | None:
        """The share of the budget that an episode takes on average; None where none has ended."""
        return sum(self._ended) / len(self._ended) if self._ended else None

    def expect_share(self, share: float | None) -> None:
        """Take over what another account expects."""
        self._ended = [] if share is None else [share]

    def expect(self, tokens: int, dollars: float, episodes: int) -> None:
        """Tell what ``episodes`` of an earlier session took, as a first guess at the next ones."""
        if episodes:
            self._ended = [self._share(tokens, dollars) / episodes]

    def begin(self) -> None:
        """Count the caller's episode as under way: its calls are those made in this context.

        Raises ``BudgetExhausted`` where the rest of the budget would not see it through.
        """
        self.check()
        need = self._need()
        owed = sum(max(0.0, need - meter.share) for meter in self._running.values())
        if self.used and self.used + owed + need > 1.0:
            raise BudgetExhausted(f"the rest of {self._limit()} would not finish another episode")
        self._begun += 1
        meter = Meter(self._begun)
        self._running[meter.number] = meter
        _EPISODE.set(meter)

    def end(self, whole: bool) -> None:
        """The caller's episode has ended; ``whole`` says that it was played to its end."""
        meter = _EPISODE.get()
        if meter is not None and self._running.pop(meter.number, meter) and whole:
            self._ended.append(meter.share)
        _EPISODE.set(None)
        self._wake()

    async def admit(self) -> None:
        """Wait while older episodes, or calls under way, need what is left.

        Raises ``BudgetExhausted`` once it is spent. A call of the oldest episode waits for other
        calls alone, so there is always one that goes on.
        """
        self.check()
        own = _EPISODE.get()
        if not self._may_go(own):
            number = own.number if own else 0
            self._waiting.append(number)
            try:
                while not self._may_go(own):
                    if self._turn is None or self._turn.is_set():
                        self._turn = asyncio.Event()
                    await self._turn.wait()
                    self.check()
            finally:
                self._waiting.remove(number)
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

    def add(self, answer: Completion | Choice) -> None:
        """Count an answer."""
        if not answer.cached:
            self.pay(tokens_of(answer), answer.cost)

    def pay(self, tokens: int, dollars: float | None) -> None:
        """Count a billed call. Negative numbers earn nothing; ``dollars`` None is an unknown price.

        What cannot be written down is an error: a budget must survive the end of its process.
        """
        tokens, cost = max(0, tokens), max(0.0, dollars or 0.0)
        with self._lock:
            passed = self.used >= 1.0
            self.calls += 1
            self.tokens += tokens
            self.dollars += cost
            self.unpriced += dollars is None
            if passed:
                self.late += 1
        share = self._share(tokens, cost)
        self._dearest = max(share, self._dearest or 0.0)
        meter = _EPISODE.get()
        if meter is not None:
            meter.share += share
        if self.on_spent is not None:
            self.on_spent(tokens, cost)

    def _share(self, tokens: float, dollars: float) -> float:
        shares = [0.0]
        if self.max_tokens is not None:
            shares.append(tokens / self.max_tokens if self.max_tokens > 0 else 1.0)
        if self.max_dollars is not None:
            shares.append(dollars / self.max_dollars if self.max_dollars > 0 else 1.0)
        return max(shares)

    def _need(self) -> float:
        """The share of the budget that an episode is expected to take in all."""
        if self._ended:
            return _SLACK * sum(self._ended) / len(self._ended)
        # nothing is known of whole episodes: the one that has taken most may be at its half
        return 2.0 * max((meter.share for meter in self._running.values()), default=0.0)

    def _wake(self) -> None:
        if self._turn is not None:
            self._turn.set()

    def _may_go(self, own: Meter | None) -> bool:
        """Whether a call of this episode is next. Those of older episodes go before it."""
        if self.max_tokens is None and self.max_dollars is None:
            return True
        older = own is not None and any(number < own.number for number in self._waiting)
        return not older and self._affords_call() and self._fits(own)

    def _affords_call(self) -> bool:
        """Whether the budget would hold if each call under way, and one more, were the dearest."""
        if not self.flying:
            return True
        if self._dearest is None:
            return False
        dearest = self._dearest * (1.0 + _SCARCE / self.calls)
        return self.used + (self.flying + 1) * dearest <= 1.0

    def _fits(self, own: Meter | None) -> bool:
        """Whether this episode can go on beside the older ones, by what each may still need."""
        if own is None:
            return True
        need, owed = self._need(), 0.0
        for meter in self._running.values():  # in the order they began
            if meter is own:
                return not owed or self.used + owed + max(0.0, need - own.share) <= 1.0
            owed += max(0.0, need - meter.share)
        return True

    def _limit(self) -> str:
        """The tighter limit, in words."""
        tokens = self._share(self.tokens, 0.0) >= self._share(0, self.dollars)
        if self.max_tokens is not None and tokens:
            return f"the budget of {self.max_tokens:,} tokens"
        return f"the budget of {_dollars(self.max_dollars or 0.0)}"

    def spent(self) -> str:
        """That a limit is reached, in words."""
        limit = self._limit()
        late = f"; {self.late} calls were under way" if self.late else ""
        used = f"{self.tokens:,}" if limit.endswith("tokens") else f"${self.dollars:.4f}"
        return f"{limit} is spent ({used} used{late})"


def _dollars(amount: float) -> str:
    """``$2.00``; below a cent, as many digits as it takes not to read ``$0.00``."""
    return f"${amount:.2f}" if not 0.0 < amount < 0.01 else f"${amount:.2g}"


class BudgetedModel(Wrapper):
    """A model that is asked only while the account lasts.

    The limit is checked before a request and the answer counted after it, before the request ends
    for the account. An answer that was billed and could not be read is counted too. Raises
    ``BudgetExhausted``.
    """

    def __init__(self, inner: Model, account: Account) -> None:
        super().__init__(inner)
        self._account = account

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """As the model inside, while the budget lasts."""
        return await self._paid(lambda: self._inner.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """As the model inside, while the budget lasts."""
        return await self._paid(lambda: self._inner.choose(prompt, options))

    async def _paid(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        await self._account.admit()
        try:
            answer = await ask()
            self._account.add(answer)
        except ModelError as error:
            if error.billed is not None:
                self._account.pay(error.billed.prompt + error.billed.completion, error.cost)
                await self._account.written()
            raise
        finally:
            self._account.landed()
        await self._account.written()
        return answer

"""Ledger of a run (``calls.jsonl``): a row for each billed request, and the totals of all rows.

The ledger survives a crash of the process. It has one row per write::

    {"tokens": 4930, "dollars": 0.0141, "call": "5f0c2a91-7", "open": true, "at": 12.031}
    {"tokens": 1204, "dollars": 0.0019, "call": "5f0c2a91-7", "at": 13.378}

The first row is written before a request and reserves the most that it may cost; the second one
settles it. A row replaces the open row of the same ``call``; all other rows are added. Names begin
with the session's, and ``at`` counts seconds within it. Rows without ``call`` are sums of merged or
older ledgers.

A request whose answer was lost stays open, because it has been billed, or may have been: its
process was killed, or its row is written again with its ``seconds`` because it was cancelled or
``lost`` for another reason. It counts at the cost that it probably had, by the run's other requests
(:func:`expected_costs`). So no bill is forgotten, and reservations do not use up a budget that the
bills leave. Later requests improve these estimates.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from math import sqrt
from statistics import correlation, fmean, median, pstdev
from typing import NamedTuple, Protocol

from wayword.core.errors import Lost

# Requests that are remembered, the latest ones: their mean is exact to about 4%.
_MAX_REMEMBERED = 1000

# Ratio of reservations of one kind: prompts of a run differ less in length than token limits.
_SIMILAR = 1.5

# A model works on after its answer was cut off. Only the longer answers are cut off, and their mean
# length is two to three times the length at that moment, for lognormal and Pareto lengths and
# limits of 1 to 20 times that length.
_WORKS_ON = 2.5

# One finished request in so many may be an outlier; the longest of the others decides.
_OUTLIERS = 100


class LedgerRow(NamedTuple):
    """Row of a run's ledger; see the module's docstring.

    ``dollars`` is None if the price is unknown, ``at`` and ``seconds`` are in seconds.
    """

    tokens: int
    dollars: float | None
    call: str = ""
    open: bool = False
    at: float = 0.0
    seconds: float = 0.0
    lost: Lost = ""
    samples: int = 0

    @property
    def session(self) -> str:
        """Session of the call: the first part of its name."""
        return self.call.partition("-")[0]


class Ledger(Protocol):
    """Storage for the rows of a run."""

    def write(self, row: LedgerRow) -> None:
        """Append a row durably. Raises ``RecordingError``."""


class Totals:
    """Total tokens and US dollars of a ledger, including requests that were never settled.

    Rows are added in the order of the file.
    """

    def __init__(self) -> None:
        self._tokens = 0
        self._dollars = 0.0
        self._open: dict[str, LedgerRow] = {}
        # Reservations of finished requests, with their seconds, and their bills
        self._finished = deque[tuple[LedgerRow, LedgerRow]](maxlen=_MAX_REMEMBERED)
        self._last: dict[str, float] = {}  # time of each session's last row

    def add(self, row: LedgerRow) -> None:
        """Add a row; a row of an open call replaces its reservation."""
        reserved = self._open.pop(row.call, None)
        self._last[row.session] = row.at
        if row.open:
            self._open[row.call] = row
            return
        self._tokens += row.tokens
        self._dollars += row.dollars or 0.0
        # refused requests cost nothing, and the bills of other failures are estimates
        if reserved is not None and row.tokens and not row.lost:
            reserved = reserved._replace(seconds=row.at - reserved.at)
            self._finished.append((reserved, row))

    def open_costs(self) -> dict[str, LedgerRow]:
        """Return the open requests at their probable costs."""
        costs = {}
        tokens = self._expected("tokens")
        dollars = self._expected("dollars")
        for number, (name, row) in enumerate(self._open.items()):
            cost = None if row.dollars is None else dollars[number]
            costs[name] = row._replace(tokens=round(tokens[number]), dollars=cost)
        return costs

    def forget(self, call: str) -> None:
        """Take back an open row."""
        self._open.pop(call, None)

    @property
    def tokens(self) -> int:
        """Tokens paid, and those expected of open calls."""
        return self._tokens + round(sum(self._expected("tokens")))

    @property
    def dollars(self) -> float:
        """Dollars paid, and those expected of open calls."""
        return self._dollars + self.assumed

    @property
    def assumed(self) -> float:
        """Dollars expected of open calls, whose bills are not known."""
        return sum(self._expected("dollars"))

    def probable(self, row: LedgerRow) -> LedgerRow:
        """Return the row that was added last, an open one, at its probable cost."""
        tokens = round(self._expected("tokens", _MAX_REMEMBERED)[-1])
        if row.dollars is None:
            return row._replace(tokens=tokens)
        dollars = self._expected("dollars", _MAX_REMEMBERED)[-1]
        return row._replace(tokens=tokens, dollars=dollars)

    def _expected(self, unit: str, latest: int | None = None) -> list[float]:
        """Return the expected costs of the open requests: all, or as many of the ``latest``.

        ``unit`` is a field of rows: ``tokens`` or ``dollars``.
        """
        rows = [*self._open.values()]
        if latest is not None:
            rows = rows[-latest:]
        lost = []
        for row in rows:
            # That of a killed process took until the last row of its session, at least.
            seconds = row.seconds or max(0.0, self._last[row.session] - row.at)
            reserved = getattr(row, unit) or 0.0
            lost.append(BilledRequest(seconds, reserved, 0.0, row.samples, row.lost))
        finished = []
        for row, bill in self._finished:
            reserved = getattr(row, unit) or 0.0
            cost = getattr(bill, unit) or 0.0
            finished.append(BilledRequest(row.seconds, reserved, cost))
        return expected_costs(lost, finished)


class BilledRequest(NamedTuple):
    """A request in tokens or dollars: its duration, reservation and cost, and how it ended."""

    seconds: float
    reserved: float
    cost: float = 0.0
    samples: int = 1
    lost: Lost = ""

    @property
    def kind(self) -> int:
        """The power of ``_SIMILAR`` nearest to the reservation.

        Requests of about the same reservation are of one kind: a model and a token
        limit.
        """
        return round(math.log(self.reserved) / math.log(_SIMILAR))

    @property
    def works_on(self) -> float:
        """Ratio of the final length to that by now: of several samples, most have ended."""
        return 1.0 + (_WORKS_ON - 1.0) / sqrt(max(1, self.samples))


def expected_costs(
    lost: Sequence[BilledRequest],
    finished: Sequence[BilledRequest],
) -> list[float]:
    """Return the probable costs of lost requests, by the finished ones of their kind.

    The bill of a lost request never arrives: what it may have cost depends on the reason.

    - The server replied with an error: the mean, because it fails at answers of any length.
    - The answer was cut off: more than the longest that passed (:meth:`_Evidence.cut_off`).
    - It was killed, cancelled, or waited for in vain: the mean of those that took longer than it
      had until then, which may be lost ones, too (Kaplan-Meier estimate).

    Without any finished requests, all of the reservation counts, and for the first few a part of
    it. The sum has a margin of two standard errors.
    """
    # By default, a lost request costs all that was reserved for it.
    costs = [request.reserved for request in lost]
    finished = [request for request in finished if request.reserved]
    if not finished:
        return costs
    # Only requests of one kind, a model and a token limit, are alike.
    estimates = 0
    for kind in sorted({request.kind for request in lost if request.reserved}):
        numbers = []
        for number, request in enumerate(lost):
            if request.reserved and request.kind == kind:
                numbers.append(number)
        similar = [each for each in finished if each.kind == kind] or finished
        evidence = _Evidence(similar, [lost[number] for number in numbers])
        for number, cost in zip(numbers, evidence.costs(), strict=True):
            estimates += 1
            reserved = lost[number].reserved
            # The first few requests prove little: a part of the reservation counts, 1/n².
            cost += max(0.0, reserved - cost) / len(similar) ** 2
            # The margins add up to two standard errors: the sum of 1/sqrt(k) is 2 sqrt(n).
            cost += evidence.deviation / sqrt(estimates)
            costs[number] = min(reserved, cost)
    return costs


class _Evidence:
    """What the finished requests of a kind say of the lost ones.

    The correlation of durations and costs is 1 if the duration shows the cost, 0 if
    waiting times hide it; estimates by duration count as much.
    """

    def __init__(
        self, finished: Sequence[BilledRequest], lost: Sequence[BilledRequest]
    ) -> None:
        self._lost = lost
        self._ended = [(request.seconds, request.cost) for request in finished]
        seconds = [request.seconds for request in finished]
        costs = sorted(request.cost for request in finished)
        self._mean = fmean(costs)
        self._mean_seconds = fmean(seconds)
        self.deviation = pstdev(costs)
        strength = 0.0
        self._slope = 0.0
        if self.deviation and len({*seconds}) > 1:
            strength = max(0.0, correlation(*zip(*self._ended, strict=True)))
            # A weak trend of usual durations says little of much longer ones.
            self._slope = strength**2 * self.deviation / pstdev(seconds)

        # Why was an answer cut off: because it took too long, or for a reason that has nothing to
        # do with its length? All of the long ones, and half of the others, took longer than the
        # median: a share s of late ones means a share of 2 s - 1 of long ones.
        usual = median(seconds)
        cut_off = [request for request in lost if request.lost == "cut off"]
        late = sum(request.seconds > usual for request in cut_off)
        share_late = (late + 1) / (len(cut_off) + 2)  # a few prove little
        share_long = max(0.0, 2.0 * share_late - 1.0)
        # As far as durations do not show costs, all count as long: a lost answer that costs more
        # than booked would pass the budget.
        self._too_long = 1.0 - strength * (1.0 - share_long)
        self._shortest = costs[0]
        self._longest = costs[-1 - len(costs) // _OUTLIERS]

    def costs(self) -> list[float]:
        """Return the expected costs of the lost requests, without a margin."""
        # After an error of the server: the mean.
        costs = [self._mean] * len(self._lost)
        # Those cut off count as ended at that time, at the cost estimated here.
        for number, request in enumerate(self._lost):
            if request.lost == "cut off":
                costs[number] = self.cut_off(request)
                self._ended.append((request.seconds, costs[number]))
        average = fmean(cost for _, cost in self._ended)

        # Killed, cancelled, or waited for in vain: the mean of those that took longer. From the
        # longest to the shortest, the costs of longer ones are summed up.
        longer = 0
        longer_cost = 0.0
        remaining = sorted(self._ended)
        for number, request in sorted(
            enumerate(self._lost), key=lambda each: -each[1].seconds
        ):
            if request.lost not in ("", "time limit"):
                continue
            while remaining and remaining[-1][0] > request.seconds:
                longer_cost += remaining.pop()[1]
                longer += 1
            if longer:
                cost = longer_cost / longer
            else:
                cost = average + self._beyond(request)  # none took as long
            costs[number] = min(cost, request.reserved)
            longer_cost += costs[number]
            longer += 1
        return costs

    def cut_off(self, request: BilledRequest) -> float:
        """Return the cost of an answer that was cut off.

        Between the mean and that of the longest that passed and beyond.
        """
        final = self._shortest + request.works_on * (self._longest - self._shortest)
        above = self._too_long * (final - self._mean)
        return min(request.reserved, self._mean + max(above, self._beyond(request)))

    def _beyond(self, request: BilledRequest) -> float:
        """Return what a request that has taken so long, and continues, costs above the mean."""
        above = self._slope * (request.seconds - self._mean_seconds)
        return request.works_on * max(0.0, above)

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
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Row of a run's ledger; see the module's docstring."""

    tokens: int
    dollars: float
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
    """Total tokens and US dollars of a ledger, including requests that were never settled."""

    def __init__(self) -> None:
        self._tokens = 0
        self._dollars = 0.0
        self._open: dict[str, LedgerRow] = {}
        self._finished = deque[tuple[BilledRequest, BilledRequest]](
            maxlen=_MAX_REMEMBERED
        )
        self._last: dict[str, float] = {}  # time of each session's last row

    def add(self, row: LedgerRow) -> None:
        """Add a row; a row of an open call replaces its reservation."""
        reserved = self._open.pop(row.call, None)
        self._last[row.session] = max(row.at, self._last.get(row.session, 0.0))
        if row.open:
            self._open[row.call] = row
            return
        self._tokens += row.tokens
        self._dollars += row.dollars
        # refused requests cost nothing, and the bills of other failures are estimates
        if reserved is not None and row.tokens and not row.lost:
            seconds = row.at - reserved.at
            self._finished.append(_requests(reserved, seconds, row.tokens, row.dollars))

    @property
    def tokens(self) -> int:
        """Tokens paid, and those expected of open calls."""
        return self._tokens + round(sum(self._expected(0)))

    @property
    def dollars(self) -> float:
        """Dollars paid, and those expected of open calls."""
        return self._dollars + sum(self._expected(1))

    def lose(self, row: LedgerRow) -> tuple[int, float]:
        """Add a request whose answer was lost, and return its probable tokens and US dollars."""
        self.add(row)  # as the last open one
        latest = _MAX_REMEMBERED
        return round(self._expected(0, latest)[-1]), self._expected(1, latest)[-1]

    def _expected(self, unit: int, latest: int = 0) -> list[float]:
        """Expected costs of the open requests, or the latest ones, in tokens (0) or dollars (1)."""
        lost = []
        for row in [*self._open.values()][-latest:]:
            # That of a killed process took until the last row of its session, at least.
            seconds = row.seconds or max(0.0, self._last[row.session] - row.at)
            lost.append(_requests(row, seconds)[unit])
        return expected_costs(lost, [pair[unit] for pair in self._finished])


class BilledRequest(NamedTuple):
    """A request in tokens or dollars: its duration, reservation and cost, and how it ended."""

    seconds: float
    reserved: float
    cost: float = 0.0
    samples: int = 1
    lost: Lost = ""

    @property
    def kind(self) -> int:
        """Requests of about the same reservation are of one kind: a model and a token limit."""
        return round(math.log(self.reserved) / math.log(_SIMILAR))

    @property
    def works_on(self) -> float:
        """Ratio of the final length to that by now: of several samples, most have ended."""
        return 1.0 + (_WORKS_ON - 1.0) / sqrt(max(1, self.samples))


def _requests(
    row: LedgerRow,
    seconds: float,
    tokens: int = 0,
    dollars: float = 0.0,
) -> tuple[BilledRequest, BilledRequest]:
    """A request in tokens, and in dollars."""
    return (
        BilledRequest(seconds, row.tokens, tokens, row.samples, row.lost),
        BilledRequest(seconds, row.dollars, dollars, row.samples, row.lost),
    )


def expected_costs(
    lost: Sequence[BilledRequest],
    finished: Sequence[BilledRequest],
) -> list[float]:
    """Return the probable costs of lost requests, by the finished ones of their kind.

    The bill of a lost request never arrives: what it may have cost depends on the reason.

    - The server replied with an error: the mean, because it fails at answers of any length.
    - The answer was cut off: more than the longest that passed (:func:`_cost_cut_off`).
    - It was killed, cancelled, or waited for in vain: the mean of those that took longer than it
      had until then, which may be lost ones, too (Kaplan-Meier estimate).

    Without any finished requests, all of the reservation counts, and for the first few a part of
    it. The sum has a margin of two standard errors.
    """
    # Only requests of one kind, a model and a token limit, are alike.
    finished = [request for request in finished if request.reserved]
    by_kind = defaultdict[int, list[BilledRequest]](list)
    for request in finished:
        by_kind[request.kind].append(request)
    numbers_by_kind = defaultdict[int, list[int]](list)
    for number, request in enumerate(lost):
        if request.reserved:
            numbers_by_kind[request.kind].append(number)

    # By default, a lost request costs all that was reserved for it.
    costs = [request.reserved for request in lost]
    estimates = 0
    for kind, numbers in numbers_by_kind.items():
        similar = by_kind.get(kind, finished)
        if not similar:
            continue
        expected = _costs_of_kind([lost[number] for number in numbers], similar)
        deviation = pstdev(request.cost for request in similar)
        for number, cost in zip(numbers, expected, strict=True):
            estimates += 1
            reserved = lost[number].reserved
            # The first few requests prove little: a part of the reservation counts, 1/n².
            cost += max(0.0, reserved - cost) / len(similar) ** 2
            # The margins add up to two standard errors: the sum of 1/sqrt(k) is 2 sqrt(n).
            costs[number] = min(reserved, cost + deviation / sqrt(estimates))
    return costs


def _costs_of_kind(
    lost: Sequence[BilledRequest],
    finished: Sequence[BilledRequest],
) -> list[float]:
    """Expected costs of lost requests of one kind, without a margin."""
    # After an error of the server: the mean.
    mean = fmean(request.cost for request in finished)
    costs = [mean] * len(lost)
    # seconds and costs of all requests that have ended
    known = [(request.seconds, request.cost) for request in finished]
    trend = _Trend(finished)

    # Cut off: those count as ended when they were cut off, at the cost estimated here.
    cut_off = [request for request in lost if request.lost == "cut off"]
    if cut_off:
        cost_cut_off = _cost_cut_off(cut_off, finished, trend)
        for number, request in enumerate(lost):
            if request.lost == "cut off":
                costs[number] = cost_cut_off(request)
                known.append((request.seconds, costs[number]))
    average = fmean(cost for _, cost in known)

    # Killed, cancelled, or waited for in vain: the mean of those that took longer. From the longest
    # to the shortest, the costs of longer ones are summed up.
    known.sort(reverse=True)
    censored = [n for n, each in enumerate(lost) if each.lost in ("", "time limit")]
    censored.sort(key=lambda number: lost[number].seconds, reverse=True)
    longer = 0
    longer_cost = 0.0
    remaining = deque(known)
    for number in censored:
        request = lost[number]
        while remaining and remaining[0][0] > request.seconds:
            longer_cost += remaining.popleft()[1]
            longer += 1
        if longer:
            cost = longer_cost / longer
        else:
            cost = average + trend.beyond(request)  # none took as long
        costs[number] = min(cost, request.reserved)
        longer_cost += costs[number]
        longer += 1
    return costs


class _Trend:
    """How the cost of finished requests depends on their duration.

    ``strength`` is their correlation: 1 if the duration shows the cost, 0 if waiting times hide it.
    """

    def __init__(self, finished: Sequence[BilledRequest]) -> None:
        times = [request.seconds for request in finished]
        costs = [request.cost for request in finished]
        self.strength = 0.0
        self._slope = 0.0
        self._mean_time = fmean(times)
        if len({*times}) > 1 and len({*costs}) > 1:
            self.strength = max(0.0, correlation(times, costs))
            slope = self.strength * pstdev(costs) / pstdev(times)
            # A weak trend of usual durations says little of much longer ones.
            self._slope = self.strength * slope

    def beyond(self, request: BilledRequest) -> float:
        """What a request that has taken so long, and goes on, probably costs above the mean."""
        above = self._slope * (request.seconds - self._mean_time)
        return request.works_on * max(0.0, above)


def _cost_cut_off(
    cut_off: Sequence[BilledRequest],
    finished: Sequence[BilledRequest],
    trend: _Trend,
) -> Callable[[BilledRequest], float]:
    """Return a function that estimates the cost of a request whose answer was cut off.

    It was cut off because it took too long, or its connection broke for another reason. Of the
    latter, one half take longer than usual, of the former all, if durations show costs. Otherwise,
    it is taken for one of the former, because requests cost too little to be lost for nothing.
    """
    # Of connections that broke by chance, half are later than usual.
    usual = median(request.seconds for request in finished)
    late = sum(request.seconds > usual for request in cut_off)
    share_late = (late + 1) / (len(cut_off) + 2)  # a few prove little
    too_long = 1.0 - trend.strength * (1.0 - max(0.0, 2.0 * share_late - 1.0))

    # From the shortest answer to the longest that passed, and beyond it.
    costs = sorted(request.cost for request in finished)
    mean = fmean(costs)
    shortest = costs[0]
    longest = costs[-1 - len(costs) // _OUTLIERS]

    def estimate(request: BilledRequest) -> float:
        """Return the estimated cost of an open request, at most its reservation."""
        final_cost = shortest + request.works_on * (longest - shortest)
        cost = mean + max(too_long * (final_cost - mean), trend.beyond(request))
        return min(request.reserved, cost)

    return estimate

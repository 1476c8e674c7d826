"""Ledger of a run (``calls.jsonl``): a row for each billed request, and the totals of all rows.

The ledger survives a crash of the process. It has one row per write::

    {"tokens": 4930, "dollars": 0.0141, "call": "5f0c2a91-7", "open": true, "at": 12.031}
    {"tokens": 1204, "dollars": 0.0019, "call": "5f0c2a91-7", "at": 13.378}

The first row is written before a request and reserves the most that it may cost; the second one
settles it. A row replaces the open row of the same ``call``; all other rows are added. Names begin
with the session's, and ``at`` counts seconds within it. Rows without ``call`` are sums of merged or
older ledgers.

A request whose answer was lost stays open. It has been billed, or may have been: its process was
killed, it was cancelled (then its row is written again with its ``seconds``), or a gateway gave up
on it while the model worked on (``lost``). It counts at the cost that it probably had, by the run's
other requests (:func:`expected_cost`). So no bill is forgotten, and reservations do not use up a
budget that the bills leave. Later requests improve these estimates.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import correlation, fmean, median, pstdev, pvariance
from typing import NamedTuple, Protocol

# Requests that are remembered, the latest ones: their mean is exact to about 4%.
_MAX_REMEMBERED = 1000

# Standard errors added to the expected cost of lost requests: the bill is lower 39 times in 40.
_MARGIN = 2.0

# Ratio of reservations of one kind: prompts of a run differ less in length than token limits.
_SIMILAR = 1.5

# A model works on after a gateway has given up on it. Only the longer answers are lost this way.
# Their mean is two to three times the length at that moment, for lognormal and Pareto lengths and
# limits of 1 to 20 times that length.
_WORKS_ON = 2.5

# An answer that a gateway has cut off is longer than those that it has let pass. Where waiting
# times hide the lengths, it counts as so many times the longest of these.
_STILL_LONGER = 1.5

# The same for the longest of the killed requests, which were not chosen by their length.
_GOES_ON = 1.5


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Row of a run's ledger; see the module's docstring."""

    tokens: int
    dollars: float
    call: str = ""
    open: bool = False
    at: float = 0.0
    seconds: float = 0.0
    lost: bool = False
    samples: int = 0

    @property
    def session(self) -> str:
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
        self._finished = deque[tuple[TimedBill, TimedBill]](maxlen=_MAX_REMEMBERED)
        self._given_up = deque[float](maxlen=_MAX_REMEMBERED)
        self._last: dict[str, float] = {}  # time of each session's last row
        self._estimated = 0

    def add(self, row: LedgerRow) -> None:
        reserved = self._open.pop(row.call, None)
        self._last[row.session] = max(row.at, self._last.get(row.session, 0.0))
        if row.open:
            self._open[row.call] = row
            if row.lost:
                self._given_up.append(row.seconds)
            return
        self._tokens += row.tokens
        self._dollars += row.dollars
        # refused requests cost nothing, and the bills of other failures are estimates
        if reserved is not None and row.tokens and not row.lost:
            self._finished.append(_bills(reserved, row.at - reserved.at, row))

    @property
    def tokens(self) -> int:
        return self._tokens + self._lost(self._open.values())[0]

    @property
    def dollars(self) -> float:
        return self._dollars + self._lost(self._open.values())[1]

    def lost(self, row: LedgerRow) -> tuple[int, float]:
        """Return the tokens and US dollars that one more lost request has probably cost."""
        self._estimated += 1
        return self._lost([row], self._estimated - 1)

    def _lost(self, rows: Iterable[LedgerRow], earlier: int = 0) -> tuple[int, float]:
        lost = [_bills(row, self._duration(row)) for row in rows]
        tokens, dollars = (
            expected_cost(
                [bills[unit] for bills in lost],
                [bills[unit] for bills in self._finished],
                self._given_up,
                earlier,
            )
            for unit in (0, 1)
        )
        return round(tokens), dollars

    def _duration(self, row: LedgerRow) -> float:
        killed_at = self._last.get(row.session, 0.0)
        return row.seconds or max(0.0, killed_at - row.at)


class TimedBill(NamedTuple):
    """A request: its duration, its reservation and its bill, in tokens or dollars."""

    seconds: float
    reserved: float
    samples: int = 1
    cost: float = 0.0
    killed: bool = False

    @property
    def kind(self) -> int:
        """Requests of about the same reservation are of one kind: a model and a token limit."""
        return round(math.log(self.reserved) / math.log(_SIMILAR))


def _bills(
    row: LedgerRow, seconds: float, settled: LedgerRow | None = None
) -> tuple[TimedBill, TimedBill]:
    """Return a request's bill in tokens, and in dollars."""
    end = settled or LedgerRow(0, 0.0)
    return (
        TimedBill(seconds, row.tokens, row.samples, end.tokens, not row.lost),
        TimedBill(seconds, row.dollars, row.samples, end.dollars, not row.lost),
    )


def expected_cost(
    lost: Iterable[TimedBill],
    finished: Iterable[TimedBill],
    given_up: Iterable[float] = (),
    earlier: int = 0,
) -> float:
    """Return the probable cost of lost requests.

    A request that had been in progress for some time is one of the longer ones of its kind. It is
    expected to cost as much as those that took longer still: the ``finished`` ones, and the killed
    ones at what they are expected to cost (Kaplan-Meier estimate). It may also be one of those that
    a gateway gives up: its cost by then is that of finished ones of the same duration, and it works
    on. ``given_up`` are the durations of these, which say how many of the longer ones they are: all
    of them, if the gateway gives up after a fixed time.

    Without any finished requests, all of the reservation counts, and for the first few a part of
    it. Two standard errors of the sum are added, less those that ``earlier`` estimates contain.
    """
    lost = sorted((each for each in lost if each.reserved), reverse=True)
    finished = sorted((each for each in finished if each.reserved), reverse=True)
    given_up = sorted(given_up)
    limit = sum(request.reserved for request in lost)
    if not lost or not finished:
        return limit
    kinds = defaultdict[int, list[TimedBill]](list)
    for request in finished:
        kinds[request.kind].append(request)

    cut_off = _share_cut_off(finished, given_up)
    expected = 0.0
    variance = 0.0
    for kind in {request.kind for request in lost}:
        similar = kinds.get(kind, finished)
        worked_on = _extrapolation(similar)
        spread = pvariance(each.cost for each in similar)
        longest = sorted(each.cost for each in similar)[-1 - len(similar) // 50]
        usual = median(each.seconds for each in similar)
        seen = 0
        longer = 0
        longer_cost = 0.0
        # both lists from the longest to the shortest: the costs of longer requests are summed up
        for request in lost:
            if request.kind != kind:
                continue
            while seen < len(similar) and similar[seen].seconds > request.seconds:
                longer_cost += similar[seen].cost
                longer += 1
                seen += 1
            count = len(given_up) - bisect_right(given_up, request.seconds)
            if not request.killed or not longer:
                count += 1  # the request itself
            cost = longer_cost + count * worked_on(request)
            cost /= longer + count
            if not request.killed and request.seconds > usual:
                cost = max(cost, cut_off * _STILL_LONGER * longest)
            cost = min(request.reserved, cost)
            cost += (request.reserved - cost) / len(similar) ** 2
            expected += cost
            variance += spread
            if request.killed:  # it would have taken longer than the next ones
                longer_cost += cost
                longer += 1
    # Errors of the sum, and of the means that its terms are taken from.
    variance *= 1.0 + len(lost) / len(finished)
    margin = sqrt(variance)
    if earlier:
        total = len(lost) + earlier
        margin *= sqrt(total / len(lost)) - sqrt(earlier / len(lost))
    return min(limit, expected + _MARGIN * margin)


def _share_cut_off(finished: Sequence[TimedBill], given_up: Sequence[float]) -> float:
    """Return the share of given-up requests that a gateway cut off for their length, at least.

    These have all taken longer than usual, and of the others one half.
    """
    if not given_up:
        return 0.0
    usual = median(each.seconds for each in finished)
    late = len(given_up) - bisect_right(given_up, usual)
    error = 1.0 / sqrt(len(given_up))
    return max(0.0, 2.0 * late / len(given_up) - 1.0 - error)


def _extrapolation(finished: Sequence[TimedBill]) -> Callable[[TimedBill], float]:
    """Return a function that estimates the cost of a request that ended later than it was lost.

    The line through the finished requests has the cost of a second of one sample as its slope. Its
    offset is the cost of the prompt, and of the shorter ones of several samples. Waiting times blur
    it. Least squares would be too flat, and the ratio of the deviations too steep where there are
    outliers: the slope is their geometric mean.
    """
    costs = [each.cost for each in finished]
    times = [each.seconds for each in finished]
    speed = 0.0
    if len({*costs}) > 1 and len({*times}) > 1:
        correlated = max(0.0, correlation(times, costs))
        speed = sqrt(correlated) * pstdev(costs) / pstdev(times)
    mean = fmean(costs)
    offset = mean - speed * fmean(times)

    def worked_on(request: TimedBill) -> float:
        by_then = max(mean, offset + speed * request.seconds)
        longest = min(by_then, max(0.0, speed * request.seconds))
        # the longest of several samples is so long already that little of it is to come
        longest /= sqrt(max(1, request.samples))
        factor = _GOES_ON if request.killed else _WORKS_ON
        cost = by_then + (factor - 1.0) * longest
        return min(request.reserved, cost)

    return worked_on

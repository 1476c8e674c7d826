"""The probable cost of lost requests, and the rows that it is taken from."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import cast, get_args

import pytest

from wayword.core.errors import Lost
from wayword.models.middleware.ledger import (
    BilledRequest,
    LedgerRow,
    Totals,
    expected_costs,
)

LIMIT = 800.0


def expected_cost(lost: list[BilledRequest], finished: list[BilledRequest]) -> float:
    return sum(expected_costs(lost, finished))


def same(count: int, cost: float = 60.0, seconds: float = 1.0) -> list[BilledRequest]:
    """Finished requests that cost the same."""
    return [BilledRequest(seconds, LIMIT, cost)] * count


def drawn(rng: random.Random, count: int) -> list[BilledRequest]:
    """Finished requests of lognormal lengths; they take 0.01 s a token."""
    lengths = [min(LIMIT, rng.lognormvariate(4, 1)) for _ in range(count)]
    return [BilledRequest(0.01 * length, LIMIT, length) for length in lengths]


def test_without_other_requests_the_reservation_counts() -> None:
    lost = [BilledRequest(3.0, 500.0), BilledRequest(0.0, 20.0)]
    assert expected_costs(lost, []) == [500.0, 20.0]
    assert expected_costs([], same(9)) == []
    assert expected_costs([BilledRequest(1.0, 0.0)], same(9)) == [0.0]


def test_of_the_first_few_the_reservation_counts_in_part() -> None:
    lost = [BilledRequest(0.5, LIMIT)]
    costs = [expected_cost(lost, same(count)) for count in (1, 2, 4, 100)]
    assert costs[0] == LIMIT
    assert costs == pytest.approx([LIMIT, 60 + 740 / 4, 60 + 740 / 16, 60.074])


@pytest.mark.parametrize("lost", get_args(Lost))
def test_requests_that_cost_the_same_have_no_margin(lost: Lost) -> None:
    requests = [BilledRequest(0.5, LIMIT, lost=lost)] * 7
    assert expected_cost(requests, same(10_000)) == pytest.approx(7 * 60.0, rel=1e-4)


def test_the_cost_of_a_killed_request_is_that_of_requests_that_took_longer() -> None:
    finished = [*same(500, 10.0, 1.0), *same(500, 90.0, 3.0)]
    young, old = (
        expected_cost([BilledRequest(seconds, LIMIT)] * 400, finished) / 400
        for seconds in (0.5, 2.0)
    )
    assert 50 < young < 60
    assert 90 < old < 100


def test_a_server_fails_at_answers_of_any_length() -> None:
    finished = [*same(500, 10.0, 1.0), *same(500, 90.0, 3.0)]
    for seconds in (0.5, 2.0, 9.0):
        failed = [BilledRequest(seconds, LIMIT, lost="error")] * 400
        assert 50 < expected_cost(failed, finished) / 400 < 60


def test_answers_that_are_cut_off_are_longer_than_those_that_pass() -> None:
    finished = [each for each in drawn(random.Random(1), 300) if each.cost < 160]
    longest = max(request.cost for request in finished)
    cut_off = [BilledRequest(9.0, LIMIT, lost="cut off")] * 50
    assert expected_cost(cut_off, finished) > 50 * longest
    # of several samples, most have ended
    of_five = [request._replace(samples=5) for request in cut_off]
    wide = [request._replace(reserved=5 * LIMIT) for request in finished]
    single = [request._replace(reserved=5 * LIMIT) for request in cut_off]
    several = [request._replace(reserved=5 * LIMIT) for request in of_five]
    assert expected_cost(several, wide) < 0.7 * expected_cost(single, wide)


@pytest.mark.parametrize(
    ("others", "is_outlier"), [(98, False), (99, True), (250, True)]
)
def test_one_answer_of_a_hundred_may_be_an_outlier(
    others: int, is_outlier: bool
) -> None:
    cut_off = [BilledRequest(9.0, LIMIT, lost="cut off")]
    plain = [*same(others, 60.0), *same(1, 70.0)]
    with_outlier = [*same(others, 60.0), *same(1, 700.0)]
    costs = [expected_cost(cut_off, finished) for finished in (plain, with_outlier)]
    # its deviation is a margin in any case
    assert (costs[1] < costs[0] + 100) == is_outlier


def test_connections_that_break_at_any_time_do_not_cut_off_the_longest() -> None:
    rng = random.Random(3)
    finished = drawn(rng, 600)
    mean = fmean(request.cost for request in finished)
    broken = [each._replace(lost="cut off", cost=0.0) for each in drawn(rng, 60)]
    per_request = expected_cost(broken, finished) / 60
    assert mean < per_request < 5 * mean
    late = [each._replace(seconds=9.0) for each in broken]
    assert expected_cost(late, finished) / 60 > 8 * mean


def test_a_break_at_the_usual_time_is_no_late_one() -> None:
    """Late ones are those above the median of 5 s; if all are, length was the cause."""
    finished = [BilledRequest(float(n), LIMIT, 10.0 * n) for n in range(1, 10)]

    def cost_at(seconds: float) -> float:
        lost = [BilledRequest(seconds, LIMIT, lost="cut off")] * 20
        return expected_cost(lost, finished)

    assert cost_at(5.0) == pytest.approx(cost_at(5.0 - 1e-9))
    assert cost_at(5.0 + 1e-9) > 1.2 * cost_at(5.0)


def test_a_request_is_compared_with_those_of_its_kind() -> None:
    finished = [*same(500, 60.0), *[BilledRequest(1.0, 20.0, 19.0)] * 500]
    per_small = expected_cost([BilledRequest(0.5, 20.0)] * 100, finished) / 100
    assert per_small == pytest.approx(19.0, rel=1e-3)
    per_large = expected_cost([BilledRequest(0.5, LIMIT)] * 100, finished) / 100
    assert per_large == pytest.approx(60.0, rel=1e-3)
    # without any of its kind, with all of them
    other = expected_cost([BilledRequest(0.5, 150.0)] * 100, finished) / 100
    assert 39.5 < other < 60


@pytest.mark.parametrize("lost", ["", "cut off", "time limit"])
@pytest.mark.parametrize("seed", range(4))
def test_no_estimate_is_above_the_reservations_and_none_falls_with_time(
    seed: int, lost: Lost
) -> None:
    finished = drawn(random.Random(seed), 50 * (seed + 1))
    costs = [
        expected_cost([BilledRequest(0.1 * tenths, LIMIT, lost=lost)], finished)
        for tenths in range(200)
    ]
    assert all(0 < cost <= LIMIT for cost in costs)
    assert costs[-1] == LIMIT
    assert costs[100] > costs[10] >= costs[0]


def test_the_margins_add_up_to_two_standard_errors() -> None:
    finished = drawn(random.Random(0), 500)
    mean = fmean(request.cost for request in finished)
    deviation = pstdev(request.cost for request in finished)
    failed = [BilledRequest(0.5, LIMIT, lost="error")] * 100
    margin = expected_cost(failed, finished) - 100 * mean
    assert margin == pytest.approx(2 * deviation * math.sqrt(100), rel=0.1)


@dataclass(frozen=True)
class Gateway:
    """A server behind a gateway, in virtual time: its answers and their faults.

    ``wait`` is the median time in a queue, which hides how long an answer took; ``resets`` the
    share of connections that break by chance.
    """

    samples: int
    wait: float
    patience: float
    resets: float = 0.0
    pareto: bool = False

    def reply(self, rng: random.Random) -> tuple[float, int, str]:
        """Seconds until it ends, billed tokens, and what came: an answer or a fault."""
        lengths = [self._length(rng) for _ in range(self.samples)]
        seconds = max(lengths) / 1000
        fault = rng.choices(
            ["", "free", "error", "cut off"],
            [0.85 - self.resets, 0.04, 0.11, self.resets],
        )[0]
        if seconds > self.patience:
            seconds = self.patience
            fault = "cut off"
        waiting = rng.lognormvariate(math.log(self.wait), 0.8) if self.wait else 0.0
        seconds += waiting
        if seconds > CLIENT_WAITS and fault != "free":
            seconds = CLIENT_WAITS
            fault = "time limit"
        return seconds, 0 if fault == "free" else 100 + sum(lengths), fault

    def _length(self, rng: random.Random) -> int:
        if self.pareto:
            return math.ceil(min(LIMIT, 20 * rng.paretovariate(1.3)))
        return math.ceil(min(LIMIT, 40 * rng.lognormvariate(0.0, 1.0)))


CLIENT_WAITS = 2.0
PATIENCE = {1: 0.16, 5: 0.32}
"""Seconds of the gateway, by samples: one answer in twelve takes longer."""


def played(gateway: Gateway, rng: random.Random, width: int, count: int) -> float:
    """Record divided by bill of a run with seven killed sessions and two cancelled ones."""
    ledger = Totals()
    bill = 0
    reserved = round(200 + LIMIT * gateway.samples)
    ends = ["killed"] * 7 + ["cancelled"] * 2 + [""]
    number = 0
    for session, end in enumerate(ends):
        stop = number + rng.randrange(1, 8 + 3 * width) if end else count
        slots = [(0.001 * slot, "", 0, "free") for slot in range(width)]
        started = dict[str, float]()
        rows = list[LedgerRow]()
        while slots and not (end and number >= stop):
            now, name, tokens, fault = heapq.heappop(slots)
            if name:
                row = LedgerRow(reserved, 0.0, name, True, now, samples=gateway.samples)
                if fault in ("", "free"):
                    row = LedgerRow(tokens, 0.0, name, at=now)
                else:
                    seconds = now - started[name]
                    row = row._replace(seconds=seconds, lost=cast(Lost, fault))
                rows.append(row)
                del started[name]
            if number >= stop:
                continue
            number += 1
            name = f"{session}-{number}"
            seconds, tokens, fault = gateway.reply(rng)
            bill += tokens
            started[name] = now
            rows.append(
                LedgerRow(reserved, 0.0, name, True, now, samples=gateway.samples)
            )
            heapq.heappush(slots, (now + seconds + 0.001, name, tokens, fault))
        if end == "cancelled":
            for name, start in started.items():
                row = LedgerRow(reserved, 0.0, name, True, now, now - start)
                rows.append(row._replace(samples=gateway.samples))
        for row in rows:
            ledger.add(row)
    return ledger.tokens / bill


@pytest.mark.parametrize("wait", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("samples", [1, 5])
@pytest.mark.parametrize(("width", "count"), [(1, 350), (8, 1000), (64, 2000)])
def test_the_record_of_a_killed_run_behind_a_gateway_is_near_its_bill(
    width: int, count: int, samples: int, wait: float
) -> None:
    gateway = Gateway(samples, wait, PATIENCE[samples])
    ratios = [played(gateway, random.Random(seed), width, count) for seed in range(4)]
    assert all(0.98 <= ratio <= 1.3 for ratio in ratios), ratios
    assert 1.0 <= fmean(ratios) <= 1.2


@pytest.mark.parametrize("wait", [0.0, 0.3])
def test_the_record_is_near_the_bill_where_connections_break_by_chance(
    wait: float,
) -> None:
    gateway = Gateway(1, wait, patience=9.0, resets=0.03)
    ratios = [played(gateway, random.Random(seed), 8, 1000) for seed in range(4)]
    assert all(0.98 <= ratio <= 1.3 for ratio in ratios), ratios


@pytest.mark.parametrize("wait", [0.0, 0.3])
def test_the_record_of_answers_with_a_heavier_tail_is_near_the_bill(
    wait: float,
) -> None:
    gateway = Gateway(1, wait, PATIENCE[1], pareto=True)
    ratios = [played(gateway, random.Random(seed), 8, 1000) for seed in range(4)]
    assert 0.98 <= fmean(ratios) <= 1.2, ratios


def rows(*entries: tuple[str, int, float, str]) -> Totals:
    """Totals of rows: call, tokens, time, and what it is."""
    totals = Totals()
    for call, tokens, at, kind in entries:
        totals.add(
            LedgerRow(
                tokens,
                tokens / 1e6,
                call,
                open=kind != "settled",
                at=at,
                seconds=at if kind in ("cancelled", "lost") else 0.0,
                lost="error" if kind in ("lost", "failed") else "",
            )
        )
    return totals


def lost(totals: Totals, row: LedgerRow) -> tuple[int, float | None]:
    """The probable tokens and dollars of a request whose answer was lost."""
    totals.add(row)
    row = totals.probable(row)
    return row.tokens, row.dollars


def finished_rows(
    count: int, cost: Callable[[int], int]
) -> list[tuple[str, int, float, str]]:
    """Requests of session ``a`` that take as many seconds as their number."""
    found = []
    for number in range(1, count + 1):
        found += [
            (f"a-{number}", 800, 0.0, "open"),
            (f"a-{number}", cost(number), float(number), "settled"),
        ]
    return found


def test_the_age_of_a_killed_request_is_that_of_its_own_session() -> None:
    history = finished_rows(100, lambda number: 4 * number)
    killed = [("b-1", 800, 5.0, "open"), ("b-2", 0, 85.0, "settled")]
    settled = rows(*history).tokens
    young = rows(*history, ("b-1", 800, 5.0, "open")).tokens - settled
    old = rows(*history, *killed).tokens - settled
    assert old > young + 50, "it had been in progress for 80 s, not 95 s or none"
    older = rows(*history, ("b-1", 800, 0.0, "open"), *killed[1:]).tokens - settled
    assert older >= old


def test_rows_that_are_no_evidence_change_no_estimate() -> None:
    history = finished_rows(50, lambda number: 60)
    lost = ("c-1", 800, 5.0, "cancelled")
    plain = rows(*history, lost).tokens
    # a refusal that cost nothing, and a sum without a reservation
    refused = [("b-1", 800, 0.0, "open"), ("b-1", 0, 9.0, "settled")]
    assert rows(*history, *refused, lost).tokens == plain
    assert rows(*history, ("", 7, 0.0, "settled"), lost).tokens == plain + 7


def test_a_failure_whose_bill_is_an_estimate_is_no_evidence() -> None:
    totals = rows(*finished_rows(50, lambda number: 60))
    plain = lost(totals, LedgerRow(800, 0.0, "c-1", True, seconds=5.0))
    failing = rows(*finished_rows(50, lambda number: 60), ("b-1", 800, 0.0, "open"))
    failing.add(LedgerRow(800, 0.0008, "b-1", at=9.0, lost="error"))
    assert lost(failing, LedgerRow(800, 0.0, "c-1", True, seconds=5.0)) == plain


def test_dollars_and_tokens_are_estimated_apart() -> None:
    totals = rows(*finished_rows(200, lambda number: 60))
    tokens, dollars = lost(totals, LedgerRow(800, 800e-6, "c-1", True, seconds=5.0))
    assert (tokens, dollars) == (60, pytest.approx(60e-6, rel=1e-2))
    free = lost(totals, LedgerRow(800, 0.0, "c-2", True, seconds=5.0))
    assert free == (60, 0.0)


def test_open_rows_of_other_calls_stay_when_one_is_settled() -> None:
    totals = rows(
        ("a-1", 100, 0.0, "open"), ("a-2", 70, 0.0, "open"), ("a-1", 40, 1.0, "settled")
    )
    assert totals.tokens == 40 + 70
    assert math.isclose(totals.dollars, 110e-6)


def test_the_probable_cost_of_a_row_is_its_own() -> None:
    totals = Totals()
    for number, tokens in enumerate((100, 300)):
        row = LedgerRow(tokens, tokens / 1000, call=f"a-{number}", open=True)
        totals.add(row)
        probable = totals.probable(row)
        assert (probable.tokens, probable.dollars) == (tokens, tokens / 1000)
    without_price = LedgerRow(500, None, call="a-2", open=True)
    totals.add(without_price)
    probable = totals.probable(without_price)
    assert (probable.tokens, probable.dollars) == (500, None)


def test_of_lost_requests_the_longer_ones_count_for_the_shorter() -> None:
    finished = [*same(500, 10.0, 1.0), BilledRequest(7.0, LIMIT, 50.0)]
    deviation = pstdev(each.cost for each in finished)
    shorter = BilledRequest(5.0, LIMIT)
    longer = BilledRequest(10.0, LIMIT)
    (alone,) = expected_costs([shorter], finished)
    first, second = expected_costs([shorter, longer], finished)
    beyond = second - deviation / math.sqrt(2)
    assert beyond > 150
    assert alone - deviation == pytest.approx(50, rel=0.01)
    assert first - deviation == pytest.approx((50 + beyond) / 2, rel=0.01)


def test_a_cut_off_request_is_late_if_it_took_longer_than_most() -> None:
    """A few that took very long make no other one early."""
    finished = [
        BilledRequest(1.0 + at / 100, LIMIT, 10.0 + at / 10) for at in range(90)
    ]
    finished += [BilledRequest(100.0, LIMIT, 90.0)] * 10
    early, late = (
        expected_cost([BilledRequest(seconds, LIMIT, lost="cut off")] * 20, finished)
        for seconds in (0.5, 5.0)
    )
    assert late > 3 * early

"""The probable cost of lost requests, and the rows that it is taken from."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import fmean

import pytest

from wayword.models.middleware.ledger import (
    LedgerRow,
    TimedBill,
    Totals,
    expected_cost,
)

LIMIT = 800.0


def same(count: int, cost: float = 60.0, seconds: float = 1.0) -> list[TimedBill]:
    """Finished requests that cost the same."""
    return [TimedBill(seconds, LIMIT, cost=cost)] * count


def drawn(rng: random.Random, count: int) -> list[TimedBill]:
    """Finished requests of lognormal lengths; they take 0.01 s a token."""
    lengths = [min(LIMIT, rng.lognormvariate(4, 1)) for _ in range(count)]
    return [TimedBill(0.01 * length, LIMIT, cost=length) for length in lengths]


def test_without_other_requests_the_reservation_counts() -> None:
    lost = [TimedBill(3.0, 500.0), TimedBill(0.0, 20.0)]
    assert expected_cost(lost, []) == 520.0
    assert expected_cost([], same(9)) == 0.0
    assert expected_cost([TimedBill(1.0, 0.0)], same(9)) == 0.0


def test_of_the_first_few_the_reservation_counts_in_part() -> None:
    lost = [TimedBill(0.5, LIMIT)]
    costs = [expected_cost(lost, same(count)) for count in (1, 2, 4, 100)]
    assert costs[0] == LIMIT
    assert costs == pytest.approx([LIMIT, 60 + 740 / 4, 60 + 740 / 16, 60.074])


def test_requests_that_cost_the_same_have_no_margin() -> None:
    lost = [TimedBill(0.5, LIMIT)] * 7
    assert expected_cost(lost, same(10_000)) == pytest.approx(7 * 60.0, rel=1e-4)


def test_the_cost_is_that_of_requests_that_took_longer() -> None:
    finished = [*same(500, 10.0, 1.0), *same(500, 90.0, 3.0)]
    young, old = (
        expected_cost([TimedBill(seconds, LIMIT)] * 400, finished) / 400
        for seconds in (0.5, 2.0)
    )
    assert 50 < young < 60
    assert 90 < old < 100


def test_a_request_is_compared_with_those_of_its_kind() -> None:
    finished = [*same(500, 60.0), *[TimedBill(1.0, 20.0, cost=19.0)] * 500]
    per_small = expected_cost([TimedBill(0.5, 20.0)] * 100, finished) / 100
    assert per_small == pytest.approx(19.0, rel=1e-3)
    per_large = expected_cost([TimedBill(0.5, LIMIT)] * 100, finished) / 100
    assert per_large == pytest.approx(60.0, rel=1e-3)
    # without any of its kind, with all of them
    other = expected_cost([TimedBill(0.5, 150.0)] * 100, finished) / 100
    assert 39.5 < other < 60


@pytest.mark.parametrize("seed", range(4))
def test_no_estimate_is_above_the_reservations_and_none_falls_with_time(
    seed: int,
) -> None:
    finished = drawn(random.Random(seed), 50 * (seed + 1))
    costs = [
        expected_cost([TimedBill(0.1 * tenths, LIMIT)], finished)
        for tenths in range(200)
    ]
    assert all(0 < cost <= LIMIT for cost in costs)
    assert costs[-1] == LIMIT
    assert costs[100] > costs[10] > costs[0]


@pytest.mark.parametrize(
    ("concurrency", "kills", "seconds"), [(1, 20, 20.0), (8, 10, 8.0), (64, 8, 3.0)]
)
def test_requests_of_killed_sessions_cost_what_they_would_have(
    concurrency: int, kills: int, seconds: float
) -> None:
    """Sessions of requests that follow each other, killed at a random moment."""
    ratios = []
    for seed in range(20):
        rng = random.Random(seed)
        finished = list[TimedBill]()
        lost = list[TimedBill]()
        truth = 0.0
        for _ in range(kills):
            over = rng.uniform(0.2, seconds)
            for _ in range(concurrency):
                clock = 0.0
                while True:
                    (request,) = drawn(rng, 1)
                    if clock + request.seconds > over:
                        break
                    clock += request.seconds
                    finished.append(request)
                lost.append(TimedBill(over - clock, LIMIT, killed=True))
                truth += request.cost
        bill = truth + sum(request.cost for request in finished)
        record = bill - truth + expected_cost(lost, finished)
        ratios.append(record / bill)
    assert sum(0.98 <= ratio <= 1.3 for ratio in ratios) >= 16
    assert 1.0 <= fmean(ratios) <= 1.2


@pytest.mark.parametrize("patience", [1.2, 1.6, 2.5])
def test_a_gateway_that_gives_up_leaves_the_long_ones(patience: float) -> None:
    for seed in range(10):
        finished = list[TimedBill]()
        lost = list[TimedBill]()
        truth = 0.0
        for request in drawn(random.Random(seed), 600):
            if request.seconds < patience:
                finished.append(request)
            else:
                lost.append(TimedBill(patience, LIMIT))
                truth += request.cost
        bill = truth + sum(request.cost for request in finished)
        given_up = [request.seconds for request in lost]
        record = bill - truth + expected_cost(lost, finished, given_up)
        assert 0.98 <= record / bill <= 1.3


def test_estimates_one_by_one_have_the_margin_of_all_together() -> None:
    finished = drawn(random.Random(0), 200)
    lost = [TimedBill(0.5, LIMIT)] * 30
    singly = sum(
        expected_cost([each], finished, (), earlier)
        for earlier, each in enumerate(lost)
    )
    together = expected_cost(lost, finished)
    assert singly == pytest.approx(together, rel=0.02)
    assert together > 30 * expected_cost([lost[0]], finished, (), 10_000)


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
                lost=kind in ("lost", "failed"),
            )
        )
    return totals


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
    plain = totals.lost(LedgerRow(800, 0.0, "c-1", True, seconds=5.0))
    failing = rows(*finished_rows(50, lambda number: 60), ("b-1", 800, 0.0, "open"))
    failing.add(LedgerRow(800, 0.0008, "b-1", at=9.0, lost=True))
    assert failing.lost(LedgerRow(800, 0.0, "c-1", True, seconds=5.0)) == plain


def test_dollars_and_tokens_are_estimated_apart() -> None:
    totals = rows(*finished_rows(200, lambda number: 60))
    tokens, dollars = totals.lost(LedgerRow(800, 800e-6, "c-1", True, seconds=5.0))
    assert (tokens, dollars) == (60, pytest.approx(60e-6, rel=1e-2))
    free = totals.lost(LedgerRow(800, 0.0, "c-2", True, seconds=5.0))
    assert free == (60, 0.0)


def test_open_rows_of_other_calls_stay_when_one_is_settled() -> None:
    totals = rows(
        ("a-1", 100, 0.0, "open"), ("a-2", 70, 0.0, "open"), ("a-1", 40, 1.0, "settled")
    )
    assert totals.tokens == 40 + 70
    assert math.isclose(totals.dollars, 110e-6)

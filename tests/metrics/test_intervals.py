"""Intervals are those of the textbook where there is one, and agree with their p-values."""

from __future__ import annotations

from math import inf, isnan, nan

import numpy as np
import pytest
from scipy.stats import binomtest

from wayword.metrics.intervals import (
    FEWEST,
    POSITIVE,
    RATE,
    Floats,
    Interval,
    MeanEstimate,
    estimates,
    holm,
    mean_intervals,
    rate_interval,
)

DIFFERENCE = (-1.0, 1.0)
ANY = (-inf, inf)


def outcomes(hits: int, misses: int) -> Floats:
    return np.repeat([1.0, 0.0], [hits, misses])


def estimate(
    values: Floats, bounds: tuple[float, float], clusters: list[int] | None = None
) -> MeanEstimate:
    return estimates(values[:, None], [bounds], clusters)[0]


@pytest.mark.parametrize(("hits", "n"), [(0, 30), (1, 10), (9, 10), (30, 30), (7, 50)])
def test_a_rate_has_the_clopper_pearson_interval(hits: int, n: int) -> None:
    exact = binomtest(hits, n).proportion_ci()
    found = rate_interval(outcomes(hits, n - hits))
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


def test_identical_episodes_of_a_cluster_count_once() -> None:
    once = rate_interval(outcomes(3, 17))
    repeated = np.repeat(outcomes(3, 17), 3)
    clusters = np.repeat(np.arange(20), 3).tolist()
    found = rate_interval(repeated, clusters)
    assert found.mean == once.mean
    assert (found.low, found.high) == pytest.approx((once.low, once.high), abs=0.01)


def test_the_p_value_of_success_is_that_of_mcnemars_exact_test() -> None:
    for wins, losses, ties in [(6, 0, 24), (9, 2, 5), (4, 4, 0), (24, 10, 300)]:
        values = np.repeat([1.0, -1.0, 0.0], [wins, losses, ties])
        exact = binomtest(wins, wins + losses).pvalue
        assert estimate(values, DIFFERENCE).p == pytest.approx(exact, abs=1e-6)


def test_a_sweep_of_few_clusters_has_the_p_value_of_an_exact_enumeration() -> None:
    for clusters in range(2, 14):
        values = np.ones(3 * clusters)
        owners = np.repeat(np.arange(clusters), 3).tolist()
        enumerated = 2 / 2**clusters
        found = estimate(values, DIFFERENCE, owners).p
        assert found == pytest.approx(enumerated, rel=1e-6)


def test_equal_and_opposite_runs_have_intervals_with_a_width() -> None:
    same = estimate(np.zeros(10), DIFFERENCE)
    assert same.p == 1.0
    assert same.interval().low < -0.2 < 0.2 < same.interval().high
    opposite = estimate(np.ones(10), DIFFERENCE)
    assert 0.3 < opposite.interval().low < 0.9
    assert opposite.interval().high == 1.0


def test_a_mean_without_bounds_has_an_interval_from_forty_clusters_on() -> None:
    values = np.random.default_rng(0).normal(5, 1, FEWEST)
    (enough,) = mean_intervals(values[:, None], [POSITIVE])
    (too_few,) = mean_intervals(values[1:, None], [POSITIVE])
    (pairs,) = mean_intervals(
        values[:, None], [POSITIVE], np.repeat(range(FEWEST // 2), 2).tolist()
    )
    assert enough.low < enough.mean < enough.high
    assert isnan(too_few.low)
    assert isnan(pairs.low)
    assert isnan(estimate(values[1:], ANY).p)


@pytest.mark.parametrize("differ", [1, 2, 5, 6, 20, FEWEST - 1])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_few_differences_in_one_direction_are_as_sure_as_by_a_sign_test(
    sign: float, differ: int
) -> None:
    values = np.zeros(4 * FEWEST)
    values[:differ] = sign * 7.0
    (found,) = estimates(values[:, None], [ANY])
    assert found.p == pytest.approx(2 * 0.5**differ, rel=0.1)
    interval = found.interval()
    assert (interval.low > 0 or interval.high < 0) == (found.p < 0.05)
    # A metric that cannot be negative has no such other side.
    (mean,) = estimates(np.abs(values)[:, None], [POSITIVE])
    assert mean.interval().low >= 0


def test_the_width_is_that_of_the_textbook() -> None:
    values = np.random.default_rng(2).normal(5.0, 2.0, (4_000, 1))
    (found,) = mean_intervals(values, [POSITIVE])
    assert found.half == pytest.approx(1.96 * values.std() / 4_000**0.5, rel=0.15)


def drawn_share(values: Floats, extreme: float, limit: float) -> float:
    """The share of weights whose mean is at most a limit, by drawing weights."""
    rng = np.random.default_rng(5)
    weights = rng.standard_exponential((100_000, len(values) + 1))
    return float((weights @ (np.append(values, extreme) - limit) <= 0).mean())


@pytest.mark.parametrize("n", [2, 5, 20, 95, 120])
def test_a_limit_is_a_quantile_of_the_weighted_means(n: int) -> None:
    values = np.random.default_rng(n).random(n)
    found = rate_interval(values)
    assert drawn_share(values, 0.0, found.low) == pytest.approx(0.025, abs=0.002)
    assert drawn_share(values, 1.0, found.high) == pytest.approx(0.975, abs=0.002)


def test_many_clusters_have_the_interval_of_their_rate() -> None:
    many = 20_000
    values = (np.random.default_rng(5).random(many) < 0.01).astype(float)
    exact = binomtest(int(values.sum()), many).proportion_ci()
    clusters = list(range(many))
    clusters[-1] = 0  # one pair of episodes that share a cluster
    found = rate_interval(values, clusters)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), rel=0.01)
    none = rate_interval(np.zeros(many), clusters)
    assert 1e-4 < none.high < 3e-4


def test_the_mean_is_over_episodes_with_a_value() -> None:
    values = np.array([[1.0], [0.0], [nan], [0.0], [0.0]])
    (found,) = mean_intervals(values, [RATE], ["a", "b", "b", "b", "b"])
    assert found.mean == 0.25


@pytest.mark.parametrize(
    "values", [[], [0.5], [nan, 0.5], [nan, nan], [0.5, inf]], ids=str
)
def test_nothing_is_claimed_of_too_little(values: list[float]) -> None:
    column = np.array(values, dtype=float).reshape(-1, 1)
    (found,) = mean_intervals(column, [POSITIVE])
    assert isnan(found.low)
    assert isnan(found.high)
    assert isnan(estimates(column, [DIFFERENCE])[0].p)


def test_one_cluster_gives_no_interval() -> None:
    assert isnan(rate_interval(outcomes(2, 2), ["x"] * 4).low)


def test_clusters_must_be_as_many_as_episodes() -> None:
    with pytest.raises(ValueError, match="2 clusters for 3 episodes"):
        rate_interval(outcomes(1, 2), ["a", "b"])


def test_an_interval_excludes_zero_exactly_where_p_is_below_its_level() -> None:
    rng = np.random.default_rng(11)
    for number in range(60):
        shift = rng.normal(0, 0.3)
        found = estimate(np.clip(rng.normal(shift, 0.5, 12), -1, 1), DIFFERENCE)
        for alpha in (0.05, 0.05 / 7, 0.05 / 12):
            interval = found.interval(alpha)
            excluded = interval.low > 0 or interval.high < 0
            assert excluded == (found.p < alpha), number


def test_holm_corrects_p_values_and_names_the_level_of_their_intervals() -> None:
    corrected = holm([0.01, 0.04, nan, 0.03])
    assert [p for p, _ in corrected] == pytest.approx(
        [0.03, 0.06, nan, 0.06], nan_ok=True
    )
    assert [p for p, _ in holm([0.6, 0.7])] == [1.0, 1.0]
    # Bonferroni's level, but where Holm rejects and Bonferroni does not, that of Holm's step
    levels = [alpha for _, alpha in holm([0.001, 0.02, 0.03])]
    assert levels == pytest.approx([0.05 / 3, 0.05 / 2, 0.05])


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.002])
def test_the_detectable_difference_is_found_in_four_of_five_samples(
    alpha: float,
) -> None:
    """At the corrected level of several tests, too: the spread of samples stays the same."""
    rng = np.random.default_rng(4)
    pilot = estimate(rng.normal(0, 1, 200), ANY)
    gap = pilot.detectable(alpha)
    assert gap - pilot.interval(alpha).half == pytest.approx(0.84 / 200**0.5, rel=0.2)
    shown = [estimate(rng.normal(gap, 1, 200), ANY).p < alpha for _ in range(100)]
    assert 0.65 <= np.mean(shown) <= 0.95


def test_symmetric_means_that_both_ends_are_as_far() -> None:
    assert Interval(0.5, 0.4, 0.6).is_symmetric
    assert not Interval(0.5, 0.4, 0.7).is_symmetric
    assert Interval(1.0, 0.5, 1.5).times(100) == Interval(100, 50, 150)

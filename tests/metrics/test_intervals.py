"""Intervals cover what they say they cover, and p-values are small as often as they should be."""

from __future__ import annotations

from itertools import product
from math import comb, inf, isnan, nan

import numpy as np
import pytest

from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference, Reference
from wayword.metrics.intervals import (
    MAX_RESAMPLED,
    Interval,
    bootstrap,
    by_path,
    holm,
    permutation_test,
    rate_interval,
)


def test_about_95_of_100_intervals_hold_the_truth() -> None:
    # Each column is an experiment of its own: 80 episodes, a success rate of 0.3.
    values = (np.random.default_rng(1).random((80, 600)) < 0.3).astype(float)
    held = [found.low <= 0.3 <= found.high for found in bootstrap(values)]
    assert 0.92 <= np.mean(held) <= 0.975


def test_the_width_is_that_of_the_textbook() -> None:
    values = np.random.default_rng(2).normal(5.0, 2.0, (400, 1))
    (found,) = bootstrap(values)
    assert found.mean == pytest.approx(values.mean())
    assert found.half == pytest.approx(1.96 * values.std() / 20, rel=0.08)


def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    values = np.random.default_rng(3).random((50, 2))
    assert bootstrap(values, seed=7) == bootstrap(values, seed=7)
    assert bootstrap(values, seed=7) != bootstrap(values, seed=8)


def test_copies_of_an_episode_make_no_interval_narrower_when_clustered() -> None:
    # 60 paths with three identical instructions each: the interval of 60, not of 180.
    paths = np.random.default_rng(4).random((60, 1))
    episodes = np.repeat(paths, 3, axis=0)
    clusters = np.repeat(np.arange(60), 3).tolist()
    (honest,) = bootstrap(episodes, clusters)
    (naive,) = bootstrap(episodes)
    (single,) = bootstrap(paths)
    assert honest.half == pytest.approx(single.half, rel=0.1)
    assert honest.half / naive.half == pytest.approx(3**0.5, rel=0.1)
    assert honest.mean == pytest.approx(naive.mean)


def test_clusters_of_different_sizes_leave_the_mean_over_episodes() -> None:
    values = np.array([[1.0], [0.0], [0.0], [0.0]])
    (found,) = bootstrap(values, ["a", "b", "b", "b"])
    assert found.mean == 0.25
    assert (found.low, found.high) == (0.0, 1.0)


def test_missing_and_endless_values_spoil_no_other_metric() -> None:
    values = np.array(
        [[1.0, nan, inf, nan], [0.0, 4.0, 1.0, nan], [1.0, 6.0, 2.0, nan]]
    )
    rate, partial, endless, absent = bootstrap(values)
    assert rate == bootstrap(values[:, :1])[0]
    assert partial.mean == 5.0
    assert 4.0 <= partial.low <= partial.high <= 6.0
    assert endless.mean == inf
    assert isnan(endless.low)
    assert isnan(absent.mean)


def test_one_episode_or_none_has_no_interval() -> None:
    (one,) = bootstrap(np.array([[0.5]]))
    assert one.mean == 0.5
    assert isnan(one.low)
    assert isnan(bootstrap(np.zeros((0, 1)))[0].mean)
    (same_cluster,) = bootstrap(np.array([[0.0], [1.0]]), ["x", "x"])
    assert isnan(same_cluster.high)


def test_clusters_whose_hashes_are_equal_are_two() -> None:
    assert hash(-1) == hash(-2)
    for one, other in ((-1, -2), (("scene", -1), ("scene", -2)), (0, 2**61 - 1)):
        (two,) = bootstrap(np.array([[0.0], [1.0], [1.0]]), [one, other, other])
        assert (two.low, two.high) == (0.0, 1.0)


def test_clusters_must_match_the_episodes() -> None:
    with pytest.raises(ValueError, match="2 clusters for 3 episodes"):
        bootstrap(np.zeros((3, 1)), ["a", "b"])


def test_chance_alone_is_significant_one_time_in_twenty() -> None:
    differences = np.random.default_rng(5).normal(0.0, 1.0, (40, 800))
    chances = np.array(
        [p for _, p in permutation_test(differences, permutations=2_000)]
    )
    assert 0.03 <= (chances < 0.05).mean() <= 0.075


def test_a_true_difference_is_found() -> None:
    differences = np.random.default_rng(6).normal(0.7, 1.0, (60, 1))
    assert permutation_test(differences)[0][1] < 0.001


def test_p_values_of_tiny_samples_are_those_of_counting() -> None:
    # Three pairs, all won by 1: of the 8 ways to swap them, 2 are as extreme (+++ and ---).
    assert permutation_test(np.ones((3, 1)))[0][1] == pytest.approx(2 / 8, abs=0.02)
    # As one cluster they swap together, and both ways are as extreme.
    assert permutation_test(np.ones((3, 1)), ["a", "a", "a"])[0][1] == 1.0
    assert permutation_test(np.zeros((3, 1)))[0][1] == 1.0
    assert isnan(permutation_test(np.full((3, 1), nan))[0][1])


def test_episodes_cluster_by_path() -> None:
    def task(name: str, scene: str, path: str) -> Task:
        return Task(Episode(name, "", scene, {}), PathReference(name, tuple(path)))

    tasks = [task("1_0", "s", "AB"), task("1_1", "s", "AB"), task("2_0", "s", "BC")]
    tasks += [
        task("3_0", "t", "AB"),
        Task(Episode("4_0", "", "t", {}), Reference("4_0")),
    ]
    assert len(set(by_path(tasks))) == 4
    assert by_path(tasks)[0] == by_path(tasks)[1]


def test_a_permutation_test_is_seeded_and_turns_whole_clusters() -> None:
    differences = np.array([[1.0], [0.4], [2.0], [-0.7], [0.5], [0.1]])
    clusters = ["a", "b", "a", "b", "c", "c"]
    ((interval, one),) = permutation_test(differences, clusters)
    assert [(interval, one)] == permutation_test(differences, clusters)
    assert [one] != [p for _, p in permutation_test(differences, clusters, seed=1)]
    sums = [3.0, -0.3, 0.6]
    every = [abs(sum(s * t for s, t in zip(sums, signs, strict=True)))
             for signs in product((-1, 1), repeat=3)]  # fmt: skip
    assert one == pytest.approx(
        np.mean([total >= 3.3 - 1e-9 for total in every]), abs=0.02
    )
    assert permutation_test(differences)[0][1] < one, (
        "episodes alone have more ways to differ"
    )


def test_so_many_resamples_are_drawn_as_are_asked_for() -> None:
    values = np.arange(40.0)[:, None]
    (few,), (many,) = bootstrap(values, resamples=2), bootstrap(values)
    assert few.half < many.half
    assert bootstrap(values, seed=0, resamples=2) == [few]


RATES = np.linspace(0.02, 0.98, 97)


@pytest.mark.parametrize("n", [10, 13, 18, 30, 75, 200])
def test_a_rate_of_single_episodes_is_covered_at_any_rate(n: int) -> None:
    # Exact: the binomial probabilities of the counts whose intervals hold the rate.
    found = [rate_interval(np.repeat([1.0, 0.0], [k, n - k])) for k in range(n + 1)]
    chances = np.array(
        [[comb(n, k) * p**k * (1 - p) ** (n - k) for p in RATES] for k in range(n + 1)]
    )
    held = [[each.low <= p <= each.high for p in RATES] for each in found]
    assert (chances * held).sum(axis=0).min() >= 0.95
    assert found[0] == Interval(0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / n)))
    assert found[n].high == 1.0
    assert not found[1].is_symmetric
    assert found[n // 2].is_symmetric


@pytest.mark.parametrize("alike", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize(("count", "size"), [(10, 3), (40, 10)])
def test_a_rate_of_clusters_is_covered_however_alike_their_episodes_are(
    count: int, size: int, alike: float
) -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(count), size).tolist()
    for p in (0.02, 0.05, 0.12, 0.5, 0.9, 0.98):
        held = 0
        for _ in range(300):
            shared = rng.random(count) < p
            own = rng.random((count, size)) < p
            copies = (
                rng.random((count, size)) < alike**0.5
            )  # pairs of a cluster correlate so
            values = np.where(copies, shared[:, None], own).ravel().astype(float)
            found = rate_interval(values, clusters)
            held += found.low <= p <= found.high
        assert held >= 0.93 * 300, p


def test_a_rate_of_clusters_counts_as_one_of_independent_episodes() -> None:
    values = np.repeat([1.0, 0.0], [12, 18])
    single = rate_interval(values[::3], range(10))
    assert rate_interval(values, np.repeat(np.arange(10), 3).tolist()) == single
    whole, mixed = rate_interval(values), rate_interval(values, [*range(10)] * 3)
    assert (mixed.low, mixed.high) == pytest.approx((whole.low, whole.high), abs=0.01)
    assert rate_interval(np.append(values, nan)) == whole
    assert isnan(rate_interval(values, ["a"] * 30).low)


def test_an_interval_of_a_difference_and_its_p_value_never_disagree() -> None:
    rng, significant = np.random.default_rng(9), set()
    for n in (7, 12, 30):
        differences = rng.choice([-1.0, 0.0, 1.0], (n, 40), p=[0.1, 0.5, 0.4])
        for found, p in permutation_test(differences, permutations=999):
            assert (found.low <= 0.0 <= found.high) == (p >= 0.05), (n, found, p)
            significant.add(p < 0.05)
    assert significant == {True, False}
    normal = rng.normal(0.0, 1.0, (25, 600))
    held = [found.low <= 0.0 <= found.high for found, _ in permutation_test(normal)]
    assert np.mean(held) >= 0.93
    ((few, _),) = permutation_test(np.ones((5, 1)) + rng.random((5, 1)))
    assert (few.low, few.high) == (-inf, inf), "five pairs can reject nothing"


def test_p_values_of_several_tests_are_corrected() -> None:
    assert holm([0.01, 0.04, nan, 0.03]) == pytest.approx(
        [0.03, 0.06, nan, 0.06], nan_ok=True
    )
    assert holm([0.6, 0.7]) == [1.0, 1.0]


def test_of_many_episodes_the_interval_is_the_normal_one() -> None:
    values = np.random.default_rng(8).exponential(2.0, (MAX_RESAMPLED + 2, 2))
    values[:7, 1] = nan
    resampled = bootstrap(values[:-2])
    clustered = bootstrap(
        np.repeat(values, 2, axis=0), np.repeat(np.arange(len(values)), 2)
    )
    for normal, drawn, twice in zip(
        bootstrap(values), resampled, clustered, strict=True
    ):
        assert normal.low == pytest.approx(drawn.low, rel=0.005)
        assert normal.high == pytest.approx(drawn.high, rel=0.005)
        assert twice.half == pytest.approx(normal.half)

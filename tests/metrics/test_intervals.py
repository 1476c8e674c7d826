"""Intervals cover what they say they cover, and p-values are small as often as they should be."""

from __future__ import annotations

from itertools import product
from math import inf, isnan, nan

import numpy as np
import pytest

from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference, Reference
from wayword.metrics import intervals
from wayword.metrics.intervals import bootstrap, by_path, permutation_test


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
    values = np.array([[1.0, nan, inf, nan], [0.0, 4.0, 1.0, nan], [1.0, 6.0, 2.0, nan]])
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
    chances = np.array(permutation_test(differences, permutations=2_000))
    assert 0.03 <= (chances < 0.05).mean() <= 0.075


def test_a_true_difference_is_found() -> None:
    differences = np.random.default_rng(6).normal(0.7, 1.0, (60, 1))
    assert permutation_test(differences)[0] < 0.001


def test_p_values_of_tiny_samples_are_those_of_counting() -> None:
    # Three pairs, all won by 1: of the 8 ways to swap them, 2 are as extreme (+++ and ---).
    assert permutation_test(np.ones((3, 1)))[0] == pytest.approx(2 / 8, abs=0.02)
    # As one cluster they swap together, and both ways are as extreme.
    assert permutation_test(np.ones((3, 1)), ["a", "a", "a"])[0] == 1.0
    assert permutation_test(np.zeros((3, 1)))[0] == 1.0
    assert isnan(permutation_test(np.full((3, 1), nan))[0])


def test_episodes_cluster_by_path() -> None:
    def task(name: str, scene: str, path: str) -> Task:
        return Task(Episode(name, "", scene, {}), PathReference(name, tuple(path)))

    tasks = [task("1_0", "s", "AB"), task("1_1", "s", "AB"), task("2_0", "s", "BC")]
    tasks += [task("3_0", "t", "AB"), Task(Episode("4_0", "", "t", {}), Reference("4_0"))]
    assert len(set(by_path(tasks))) == 4
    assert by_path(tasks)[0] == by_path(tasks)[1]


@pytest.mark.parametrize("clustered", [False, True])
def test_parts_drawn_one_after_the_other_give_the_interval_of_all_at_once(
    clustered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(2.0, 1.0, (900, 3)) + np.arange(900)[:, None] / 300
    values[::7, 1], values[5, 2] = np.nan, np.inf
    clusters = [f"{n % 300}" for n in range(900)] if clustered else None
    (whole, some, endless) = bootstrap(values, clusters)
    monkeypatch.setattr(intervals, "TOGETHER", 64)
    (parted, parted_some, parted_endless) = bootstrap(values, clusters)
    assert parted.mean == pytest.approx(whole.mean, rel=1e-12)
    assert parted_some.mean == pytest.approx(some.mean, rel=1e-12)
    assert (parted.low, parted.high) == pytest.approx((whole.low, whole.high), abs=0.02)
    assert parted.half == pytest.approx(whole.half, rel=0.1)
    assert endless.mean == parted_endless.mean == np.inf
    assert np.isnan(parted_endless.low)


def test_a_permutation_test_is_seeded_and_turns_whole_clusters() -> None:
    differences = np.array([[1.0], [0.4], [2.0], [-0.7], [0.5], [0.1]])
    clusters = ["a", "b", "a", "b", "c", "c"]
    (one,) = permutation_test(differences, clusters)
    assert [one] == permutation_test(differences, clusters)
    assert [one] != permutation_test(differences, clusters, seed=1)
    sums = [3.0, -0.3, 0.6]
    every = [abs(sum(s * t for s, t in zip(sums, signs, strict=True)))
             for signs in product((-1, 1), repeat=3)]  # fmt: skip
    assert one == pytest.approx(np.mean([total >= 3.3 - 1e-9 for total in every]), abs=0.02)
    assert permutation_test(differences)[0] < one, "episodes alone have more ways to differ"


def test_what_a_part_is_drawn_is_what_its_share_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "_CELLS", 12)  # two resamples a chunk
    shares = np.array([3, 0, 5, 7, 2])
    drawn = list(intervals._draws(6, 5, np.random.default_rng(0), shares))
    assert [len(chunk) for chunk in drawn] == [2, 2, 1]
    weights = np.concatenate(drawn)
    assert weights.dtype == np.float64
    assert weights.sum(axis=1).tolist() == shares.tolist()
    assert weights[:, 0].sum() > 0, "the first one is drawn too"


def test_so_many_resamples_are_drawn_as_are_asked_for() -> None:
    values = np.arange(40.0)[:, None]
    (few,), (many,) = bootstrap(values, resamples=2), bootstrap(values)
    assert few.half < many.half
    assert bootstrap(values, seed=0, resamples=2) == [few]

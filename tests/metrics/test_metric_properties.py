"""What must hold of the path metrics on any graph and any walk."""

from __future__ import annotations

from itertools import chain
from math import exp, isclose

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.metrics import definitions, paths
from wayword.metrics.definitions import Metric
from wayword.metrics.indoor import measure
from wayword.metrics.paths import Floats

PLACES = 9


@st.composite
def graphs(draw: st.DrawFn) -> Floats:
    """Distances of a graph of points in the plane; some pairs of places have no way."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 12, (PLACES, 2))
    lengths = np.linalg.norm(points[:, None] - points[None], axis=2)
    joined = rng.random((PLACES, PLACES)) < draw(st.sampled_from((0.15, 0.4, 1.0)))
    distances = np.where(
        joined | joined.T | np.eye(PLACES, dtype=bool), lengths, np.inf
    )
    for via in range(PLACES):
        distances = np.minimum(distances, distances[:, via : via + 1] + distances[via])
    return distances


walks = st.lists(st.integers(0, PLACES - 1), min_size=1, max_size=12)
pairs = st.lists(st.tuples(walks, walks), min_size=1, max_size=7)


def scores(
    distances: Floats, batch: list[tuple[list[int], list[int]]]
) -> dict[str, Floats]:
    """The metrics of (walk, reference) pairs."""
    taken, gold = zip(*batch, strict=True)
    return measure(
        paths.align([distances], [0] * len(batch), paths.join(taken), paths.join(gold))
    )


@given(graphs(), pairs)
def test_spl_sr_and_osr_are_ordered_and_shares_are_shares(
    distances: Floats, batch: list[tuple[list[int], list[int]]]
) -> None:
    found = scores(distances, batch)
    assert (found["spl"] <= found["sr"]).all()
    assert (found["sr"] <= found["osr"]).all()
    assert (found["sdtw"] <= found["ndtw"]).all()
    for key in ("sr", "spl", "osr", "ndtw", "sdtw", "cls"):
        assert ((found[key] >= 0) & (found[key] <= 1 + 1e-12)).all(), key


@given(graphs().filter(lambda d: np.isfinite(d).all()), walks)
def test_the_reference_against_itself_is_perfect(
    distances: Floats, walk: list[int]
) -> None:
    found = scores(distances, [(walk, walk)])
    for key in ("sr", "osr", "ndtw", "sdtw", "cls"):
        assert isclose(found[key][0], 1.0), key
    assert found["ne"][0] == 0.0


@settings(max_examples=60)
@given(
    st.lists(graphs(), min_size=2, max_size=3), pairs, st.randoms(use_true_random=False)
)
def test_company_changes_no_score(
    several: list[Floats], batch: list[tuple[list[int], list[int]]], rng: object
) -> None:
    which = [number % len(several) for number in range(len(batch))]
    taken, gold = zip(*batch, strict=True)
    together = measure(paths.align(several, which, paths.join(taken), paths.join(gold)))
    for number, pair in enumerate(batch):
        alone = scores(several[which[number]], [pair])
        for key, values in alone.items():
            assert together[key][number] == values[0] or isclose(
                together[key][number], values[0]
            )


@settings(max_examples=60)
@given(graphs(), st.integers(0, 2**32 - 1))
def test_many_walks_at_once_are_each_alone_to_the_last_bit(
    distances: Floats, seed: int
) -> None:
    # Enough for arrays, with a few long ones that end in plain lists, whose references are longer
    # and shorter than most.
    rng = np.random.default_rng(seed)
    sizes = [*rng.integers(1, 12, 60), *rng.integers(12, 60, 5)]
    taken = [rng.integers(0, PLACES, size).tolist() for size in sizes]
    gold = [rng.integers(0, PLACES, rng.integers(1, 9)).tolist() for _ in sizes]
    together = measure(
        paths.align([distances], [0] * len(sizes), paths.join(taken), paths.join(gold))
    )
    for number, pair in enumerate(zip(taken, gold, strict=True)):
        alone = measure(paths.align_one(distances, *pair))
        for key, (value,) in alone.items():
            if key != "cls":
                assert together[key][number] == value, (key, number)
            assert isclose(together[key][number], value), (key, number)


@given(graphs(), walks, walks)
def test_dtw_is_the_textbook_recursion(
    distances: Floats, walk: list[int], gold: list[int]
) -> None:
    table = np.full((len(walk) + 1, len(gold) + 1), np.inf)
    table[0, 0] = 0
    for i, here in enumerate(walk, 1):
        for j, there in enumerate(gold, 1):
            before = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
            table[i, j] = distances[here, there] + before
    expected = exp(-table[-1, -1] / (3 * len(gold)))
    assert isclose(
        scores(distances, [(walk, gold)])["ndtw"][0], expected, abs_tol=1e-12
    )


@given(graphs(), walks, walks, st.integers(0, 11))
def test_staying_at_a_place_changes_nothing(
    distances: Floats, walk: list[int], gold: list[int], at: int
) -> None:
    at %= len(walk)
    stayed = [*walk[: at + 1], *walk[at:]]
    lengths = np.array([len(stayed), len(walk)])
    both = paths.Paths(np.array([*stayed, *walk]), lengths).without_repeats()
    first, second = both.padded(np.arange(2)).T.tolist()
    assert first == second


def test_a_path_without_any_place_is_refused_in_company_too() -> None:
    with pytest.raises(ValueError, match="needs at least one place"):
        paths.join([[3, 4], []])
    with pytest.raises(ValueError, match="needs at least one place"):
        paths.Paths(np.array([3, 4]), np.array([2, 0]))


def test_paths_of_less_than_a_metre_are_paths() -> None:
    # Half a metre there; or there, back and there again: 1.5 m where 0.5 would do.
    distances = np.array([[0.0, 0.5], [0.5, 0.0]])
    straight, roaming = measure(
        paths.align(
            [distances],
            [0, 0],
            paths.join([[0, 1], [0, 1, 0, 1]]),
            paths.join([[0, 1]] * 2),
        )
    )["spl"].tolist()
    assert (straight, roaming) == (1.0, 0.5 / 1.5)


def test_rates_are_better_higher_and_what_is_spent_lower() -> None:
    tables = [table for table in vars(definitions).values() if isinstance(table, tuple)]
    metrics = {each for each in chain(*tables) if isinstance(each, Metric)}
    assert len(metrics) > 80
    directed: dict[tuple[bool, str | None], set[str]] = {}
    for metric in metrics:
        place = metric.kind == "rate", metric.better
        directed.setdefault(place, set()).add(metric.key)
    assert directed.pop((True, "lower")) == {"cut_off", "rejection_rate"}
    # what an episode allows, and what was done, are neither good nor bad
    assert directed.pop((True, None)) == {"chance", "escalated", "found"}
    lengths = {"low_level", "steps", "turns", "verdicts", "tl", "metres", "found_from"}
    tokens = {"cache_written_tokens", "reasoning_tokens", "reused_tokens"}
    assert directed.pop((False, None)) == lengths | tokens
    assert directed.keys() == {(True, "higher"), (False, "lower")}

"""Tables, comparisons and intervals at their limits: just below, at and just above."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.core.errors import UsageError
from wayword.core.metric import Metric
from wayword.metrics.compare import compare, render
from wayword.metrics.intervals import ALPHA, FEWEST, Interval, estimates, holm
from wayword.metrics.objectnav import stopped_at
from wayword.metrics.papers import PRESETS, paper_table
from wayword.metrics.summary import Row, footnote, summarize
from wayword.metrics.table import LONG_HEAD, fit, number, terminal

OWN = (
    Metric("lamps", "Lamps", "rate", "higher", "lamps lit"),
    Metric("dark", "Dark", "metres", "lower", "metres in the dark"),
)


def summarized(*scores: dict[str, float], **fields: object) -> Row:
    return summarize("r", scores, family="lamp", metrics=OWN, of=200, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("having", [0, 1, 4, 5])
def test_a_metric_is_counted_apart_unless_all_episodes_have_it(having: int) -> None:
    scores = [{"lamps": 1.0} | ({"dark": 2.0} if n < having else {}) for n in range(5)]
    row = summarized(*scores)
    assert dict(row.counts) == ({"dark": having} if 0 < having < 5 else {})
    noted = f"Episodes with the metric: Dark {having}." in footnote([row])
    assert noted == (0 < having < 5)


@pytest.mark.parametrize("units", [FEWEST - 1, FEWEST, FEWEST + 1])
@pytest.mark.parametrize("kind", ["episodes", "clusters", "having"])
def test_a_metric_without_bounds_needs_some_units_for_an_interval(
    kind: str, units: int
) -> None:
    """Episodes, clusters of them, or the episodes that have the metric."""
    number = units if kind == "episodes" else 2 * FEWEST
    scores = []
    for n in range(number):
        has_it = kind != "having" or n < units
        scores.append({"lamps": 1.0} | ({"dark": 1.0 + n % 7} if has_it else {}))
    clusters = [n % units for n in range(number)] if kind == "clusters" else None
    row = summarized(*scores, clusters=clusters)
    has_interval = math.isfinite(row.values["dark"].half)
    assert has_interval == (units >= FEWEST)
    note = f"such as Dark: fewer than {FEWEST} episodes ({units})"
    assert (note in footnote([row])) == (not has_interval)


@pytest.mark.parametrize("length", [LONG_HEAD - 1, LONG_HEAD, LONG_HEAD + 1])
def test_a_head_takes_two_lines_from_thirteen_characters_on(length: int) -> None:
    label = f"Ab {'c' * (length - 3)}"
    metric = Metric("own", label, "count", None, "a count")
    row = Row("r", "lamp", (metric,), 2, 2, {"own": Interval(3.0)})
    head = terminal([row], 100).partition("─")[0]
    assert (label in head) == (length <= LONG_HEAD)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(0, 60))
def test_columns_fill_the_room_in_the_order_of_their_rank(
    widths: list[int], room: int
) -> None:
    metrics = [Metric(f"m{n}", f"M{n}", "count", None, "") for n in range(len(widths))]
    shown = fit(metrics, widths, room)
    used = sum(widths[: len(shown)])
    assert shown == metrics[: len(shown)]
    assert used <= room
    if len(shown) < len(metrics):
        assert used + widths[len(shown)] > room


@pytest.mark.parametrize("p", [0.0499, ALPHA, 0.06])
def test_a_difference_is_significant_below_five_percent_and_not_at_it(p: float) -> None:
    first = {str(n): {"sr": float(n < 3)} for n in range(9)}
    second = {str(n): {"sr": float(n < 6)} for n in range(9)}
    found = compare("a", first, "b", second, family="indoor")
    text = render(replace(found, lines=(replace(found.lines[0], p=p),)), "markdown")
    assert ("not significant" in text) == (p >= ALPHA)


chances = st.sampled_from([0.001, 0.01, 0.0125, 0.05 / 3, 0.02, 0.025, 0.03, 0.05, 0.2])


@given(st.lists(chances, min_size=1, max_size=5))
def test_a_corrected_test_agrees_with_its_interval(ps: list[float]) -> None:
    """An interval of level 1 - alpha excludes 0 if p < alpha; so must the corrected test."""
    corrected = holm(ps)
    for p, (value, alpha) in zip(ps, corrected, strict=True):
        assert (p <= alpha + 1e-12) or value >= ALPHA
        assert value >= p
        assert ALPHA / len(ps) <= alpha + 1e-12 <= ALPHA + 1e-9
        if value < ALPHA <= p * len(ps):
            assert alpha > ALPHA / len(ps), "the interval of its step"
    ordered = sorted(zip(ps, corrected, strict=True))
    assert all(a[1][0] <= b[1][0] for a, b in pairwise(ordered))


def test_the_interval_of_a_skewed_sample_is_mirrored_with_it() -> None:
    """Only the side of the long tail reaches farther."""
    values = np.array([1.0] * FEWEST + [9.0, 20.0])[:, None]
    (one,) = estimates(values, [(-math.inf, math.inf)])
    (other,) = estimates(-values, [(-math.inf, math.inf)])
    interval = one.interval()
    mirrored = other.interval()
    assert mirrored.low == pytest.approx(-interval.high)
    assert mirrored.high == pytest.approx(-interval.low)
    assert one.extremes is not None
    assert one.extremes[0] == 1.0, "the sample has seen the extreme of the short tail"
    assert one.extremes[1] > 20.0


@pytest.mark.parametrize("lacking", range(5))
def test_a_paper_table_is_of_runs_that_have_at_least_half_of_its_metrics(
    lacking: int,
) -> None:
    keys = PRESETS["r2r"]
    scores = dict.fromkeys(keys[: len(keys) - lacking], 0.5) | {"steps": 2.0}
    row = summarize("r", [scores] * 4, family="indoor", of=4, dataset="r2r:x")
    if 2 * lacking > len(keys):
        with pytest.raises(UsageError, match="give runs that have at least half"):
            paper_table([row], "r2r")
    else:
        assert "tabular" in paper_table([row], "r2r")


@pytest.mark.parametrize(("n", "distinct"), [(9, 0), (10, 0), (20, 10), (20, 9)])
def test_a_caption_counts_distinct_episodes_and_states_what_is_a_part(
    n: int, distinct: int
) -> None:
    """Two seeds of ten episodes are ten episodes."""
    scores = [dict.fromkeys(PRESETS["r2r"], 0.5)] * n
    row = summarize("r", scores, family="indoor", of=10, dataset="d", distinct=distinct)
    number = distinct or n
    part = " of 10" if number < 10 else ""
    assert f"({number}{part} episodes)" in paper_table([row], "r2r")


@pytest.mark.parametrize("away", [0.9, 1.0, 1.0 + 1e-7, 1.01])
@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize("name", ["mug_1", "cup_1"])
def test_a_search_succeeds_with_a_target_in_view_within_the_distance(
    name: str, stopped: bool, away: float
) -> None:
    state = {"stopped": stopped, "in_view": [{"id": name, "distance": away}]}
    expected = stopped and name == "mug_1" and away < 1.005
    assert stopped_at(state, frozenset({"mug_1"}), 1.0) == expected


def test_what_rounds_to_zero_has_no_sign() -> None:
    seconds = Metric("seconds", "Seconds", "seconds", "lower", "duration")
    assert number(seconds, -0.01) == "0.0"
    assert number(seconds, -0.06) == "-0.1"

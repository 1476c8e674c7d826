"""A run's scores and what its row and the lines below a table say of them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.helpers.metric_keys import columns

from wayword.core.metric import Metric
from wayword.metrics.intervals import Interval
from wayword.metrics.summary import Row, Scores, footnote, marks, summarize

OWN = (Metric("lamps", "Lamps", "rate", "higher", "lamps lit"),)


def test_scores_come_out_as_they_went_in() -> None:
    given: list[dict[str, float]] = [
        {"sr": 1.0, "calls": 3, "cost": 0.25},
        {"sr": 0.0, "calls": 4},
        {"sr": 1.0, "calls": 0, "cost": 0.5},
    ]
    score_table = Scores.of(given)
    assert score_table.pairs() == [("", one) for one in given]
    assert len(score_table) == 3
    assert score_table.column("cost").tolist() == [0.25, 0.5]


def test_a_total_is_known_where_every_episode_has_it() -> None:
    score_table = Scores.of(
        [{"calls": 3, "cost": 0.25, "steps": 2}, {"calls": 4, "steps": 2.5}]
    )
    assert (score_table.total("calls"), type(score_table.total("calls"))) == (7, int)
    assert (score_table.total("cost"), score_table.total("steps")) == (None, 4.5)
    assert score_table.total("cost") is score_table.total("seconds") is None


def test_a_row_totals_what_its_episodes_have() -> None:
    rows = [{"sr": 1.0, "calls": 3, "prompt_tokens": 70}, {"sr": 0.0, "calls": 1}]
    row = summarize("r", rows, family="lamp", metrics=OWN, of=5)
    assert row.totals == {"calls": 4, "prompt_tokens": None, "cost": None}
    assert (row.n, row.of, row.metrics) == (2, 5, OWN)
    # An oracle calls no model: of its cost nothing is to be known, and no wall time was told.
    assert summarize("o", [{"sr": 1.0}], family="indoor", of=1).totals == {}
    timed = summarize("o", [{"sr": 1.0}], family="indoor", of=1, wall_seconds=0.0)
    assert timed.totals == {"wall_seconds": 0.0}


def test_counts_of_pooled_seeds_are_episodes() -> None:
    plays = [{"sr": 1.0, "ne": 2.0}, {"sr": 1.0}, {"sr": 1.0, "ne": 3.0}, {"sr": 0.0}]
    ids = ["a", "b", "a", "b"]
    pooled = summarize("r", plays, family="indoor", of=2, clusters=ids, episodes=ids)
    assert pooled.counts == {"ne": 1}, "two plays of one episode"
    assert summarize("r", plays, family="indoor", of=4).counts == {"ne": 2}


def test_cut_prompts_and_lost_advice_are_marked() -> None:
    plain: list[dict[str, float]] = [{"calls": 5}, {"calls": 5}]
    assert marks(plain) == marks([]) == ()
    assert marks([{"calls": 5, "steps_forgotten": 2}, {"calls": 5}]) == (
        "in 1 of 2 episodes, prompts omit their oldest steps to fit the context",
    )
    assert marks([{"calls": 5, "examples_forgotten": 2}, {"calls": 5}]) == (
        "in 1 of 2 episodes, prompts omit solved examples to fit the context",
    )
    # From more than a tenth of the questions on: 1 of 10 is not, 2 of 10 are.
    assert marks([{"calls": 5, "advice_lost": 1}, {"calls": 5}]) == ()
    assert marks([{"calls": 5, "advice_lost": 2}, {"calls": 5}]) == (
        "2 of 10 calls to experts gave no usable advice",
    )
    assert marks([{"calls": 0, "advice_lost": 0}]) == ()


def row(name: str, **told: float) -> Row:
    values = {key: Interval(value, value, value) for key, value in told.items()}
    return Row(name, "indoor", columns("indoor"), 40, 40, values)


@pytest.mark.parametrize(
    ("wall", "rate"),
    [
        (20.0, "20.0 s (2.0 episodes per second)"),
        (40.0, "40.0 s (1.0 episodes per second)"),
        (100.0, "100.0 s (2.5 s per episode)"),
        (0.5, "0.5 s (80.0 episodes per second)"),
        (0.0, "0.0 s"),
    ],
)
def test_throughput_is_reported_in_the_unit_that_has_digits(
    wall: float, rate: str
) -> None:
    timed = replace(row("r", sr=0.5), totals={"wall_seconds": wall})
    assert footnote([timed]).splitlines()[-1] == f"Total: {rate}."
    no_one = replace(timed, n=0)
    assert footnote([no_one]).splitlines()[-1] == f"Total: {wall:.1f} s."


@pytest.mark.parametrize(
    ("wall", "note"),
    [(110.0, ", 92.5 s of it outside finished episodes."), (60.0, " per episode).")],
)
def test_a_total_far_above_the_episodes_says_so(wall: float, note: str) -> None:
    """As of a run that was interrupted: its table shows 17.5 seconds."""
    totals = {"wall_seconds": wall, "seconds": 17.5}
    timed = replace(row("r", sr=0.5), n=1, totals=totals)
    assert footnote([timed]).splitlines()[-1].endswith(note)


def test_what_was_spent_names_its_row_where_there_are_several() -> None:
    first = replace(
        row("a", sr=0.5), totals={"calls": 1200, "prompt_tokens": 7, "cost": 2.5}
    )
    second = replace(row("b", sr=0.5), totals={"calls": 0, "cost": 0.0})
    assert footnote([first, second]).splitlines()[2:] == [
        "a: 1,200 calls, 7 prompt tokens, 0 generated, $2.50."
    ], "a run that called no model spent nothing to speak of"


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_a_rate_that_never_varies_has_an_interval_with_a_width(mean: float) -> None:
    scores = [{"tc": mean, "spl": mean, "steps": 3.0}] * 20
    values = summarize("r", scores, family="street", of=20).values
    assert abs(values["tc"].high - values["tc"].low) == pytest.approx(
        1 - 0.025 ** (1 / 20)
    )
    assert math.isnan(values["steps"].half), "no rate: nothing bounds it"
    half_done = [{"tc": 0.5}] * 20
    assert summarize("r", half_done, family="street", of=20).values["tc"].half > 0.05


def test_success_is_what_the_family_says() -> None:
    scores = [{"sr": 0.5, "tc": 1.0, "lamps": 0.0}] * 2
    assert summarize("r", scores, family="street", of=2).success == "tc"
    assert summarize("r", scores, family="lamp", metrics=OWN, of=2).success == "sr"
    own = summarize("r", scores, family="lamp", metrics=OWN, of=2, success="lamps")
    assert own.success == "lamps"


def test_failed_episodes_are_also_given_as_zeros() -> None:
    scores = [{"tc": 1.0, "spd": 0.0}] * 3 + [{"tc": 0.0, "spd": 4.0}]
    row = summarize("r", scores, family="street", of=20, failed=4)
    assert row.values["tc"].mean == 0.75
    assert (
        row.values["tc_failed_0"]
        == summarize("r", [*scores, *[{"tc": 0.0}] * 4], family="street", of=20).values[
            "tc"
        ]
    )
    assert [m.label for m in row.metrics][:3] == ["TC", "TC (failed = 0)", "SPD"]
    clustered = summarize(
        "r", scores, family="street", of=20, failed=4, clusters="aabbccdd"
    )
    assert clustered.values["tc_failed_0"].half > clustered.values["tc"].half * 0.5
    assert "tc_failed_0" not in summarize("r", scores, family="street", of=20).values


def test_a_caveat_names_the_rows_that_not_all_share() -> None:
    shared = "floors inferred"
    own = "stairs left out"
    rows = [
        replace(row("a", sr=0.5), caveats=(shared, own)),
        replace(row("b", sr=0.5), caveats=(shared, own)),
        replace(row("c", sr=0.5), caveats=(shared,), sees_answer=True),
    ]
    lines = footnote(rows).splitlines()
    assert f"Note: {shared}." in lines
    assert f"Note: a, b: {own}." in lines
    assert "Upper bound (uses ground truth): c." in lines


def test_trials_say_how_many_verdicts_were_reported() -> None:
    text = footnote([row("r", sr=0.5, trials=2.25, verdicts=1.5)])
    none = footnote([row("r", sr=0.5, trials=2.0, verdicts=0.0), row("q", sr=0.5)])
    assert "of which the last is scored; a judge revealed 1.5 outcomes." in text
    assert "2.2 trials per episode" in text
    assert "r: 2.0 trials per episode, of which the last is scored; no judge." in none


def test_metrics_without_room_are_listed() -> None:
    text = footnote([row("r", sr=0.5)], ["SPL"])
    assert (
        text.splitlines()[-1]
        == "Hidden columns (terminal too narrow): SPL. See table --wide."
    )
    assert math.isnan(Interval(0.5).low)


@pytest.mark.parametrize(
    ("scored", "failed", "clusters"),
    [
        ("aab", "", 2),
        ("aab", "c", 2),
        ("aab", "bcd", 2),
        ("abc", "aa", 3),
        ("a", "b", 1),
    ],
)
def test_the_units_of_a_row_are_those_of_its_scored_episodes(
    scored: str, failed: str, clusters: int
) -> None:
    """Its means and intervals are over these alone."""
    row = summarize(
        "r",
        [{"tc": 1.0}] * len(scored),
        family="street",
        of=20,
        failed=len(failed),
        clusters=scored + failed,
    )
    assert (row.n, row.failed, row.clusters) == (len(scored), len(failed), clusters)

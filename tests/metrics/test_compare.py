"""Two runs compared on the episodes they share, and on no others."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path

import numpy as np
import pytest

from wayword.core.errors import UsageError
from wayword.core.metric import Metric
from wayword.metrics.compare import Comparison, compare, corrected, heading, render

FIRST = {
    "1": {"sr": 0.0, "ne": 4.0, "tl": 5.0},
    "2": {"sr": 0.0, "ne": 6.0, "tl": 5.0},
    "3": {"sr": 1.0, "ne": 1.0, "tl": 5.0},
    "4": {"sr": 1.0, "ne": 2.0, "tl": 5.0},
    "only here": {"sr": 1.0, "ne": 0.0, "tl": 5.0},
}
SECOND = {
    "4": {"sr": 1.0, "ne": 2.0, "tl": 8.0},
    "3": {"sr": 0.0, "ne": 7.0, "tl": 8.0},
    "2": {"sr": 1.0, "ne": 2.0, "tl": 4.0},
    "1": {"sr": 1.0, "ne": 1.0, "tl": 5.0},
}


@pytest.fixture
def found() -> Comparison:
    return compare("first", FIRST, "second", SECOND, family="indoor")


def test_wins_and_losses_follow_what_is_better(found: Comparison) -> None:
    lines = {line.metric.key: line for line in found.lines}
    assert list(lines) == ["sr", "ne", "tl"]
    # SR: 1 and 2 won, 3 lost, 4 the same. Means over the shared four: 0.5 and 0.75.
    sr = lines["sr"]
    assert (sr.wins, sr.losses, sr.ties, sr.n) == (2, 1, 1, 4)
    assert (sr.first, sr.second, sr.difference.mean) == (0.5, 0.75, 0.25)
    # NE, lower is better: 1 (-3 m) and 2 (-4 m) won, 3 (+6 m) lost: mean -0.25 m.
    ne = lines["ne"]
    assert (ne.wins, ne.losses, ne.ties) == (2, 1, 1)
    assert ne.difference.mean == pytest.approx(-0.25)
    assert isnan(ne.difference.low), "too few pairs for a metric without bounds"
    # TL is neither: two higher, one lower.
    assert (lines["tl"].wins, lines["tl"].losses, lines["tl"].ties) == (2, 1, 1)


def test_episodes_of_one_run_alone_are_counted_and_left_out(found: Comparison) -> None:
    assert (found.shared, found.only_first, found.only_second) == (4, 1, 0)
    assert heading(found) == (
        "4 shared episodes; not compared: 1 only in first, 0 only in second."
    )


def test_a_run_against_itself_differs_in_nothing() -> None:
    itself = compare("a", FIRST, "b", FIRST, family="indoor")
    for line in itself.lines:
        assert (line.wins, line.losses, line.ties) == (0, 0, 5)
    success = itself.lines[0]
    assert success.p == 1.0
    assert success.difference.low < -0.3 < 0.3 < success.difference.high


def test_a_clear_difference_is_significant_and_pairing_is_what_shows_it() -> None:
    rng = np.random.default_rng(0)
    hard = rng.uniform(0, 20, 60)  # episodes differ far more than the runs do
    first = {str(k): {"ne": float(ne)} for k, ne in enumerate(hard)}
    second = {
        str(k): {"ne": float(ne - rng.uniform(0, 1))} for k, ne in enumerate(hard)
    }
    (line,) = compare("a", first, "b", second, family="indoor").lines
    assert line.p < 0.001
    assert line.difference.high < 0
    assert line.wins == 60


def test_clusters_widen_the_interval_and_raise_the_p_value() -> None:
    rng = np.random.default_rng(1)
    gains = np.repeat(rng.normal(0.5, 1.0, 62), 3)
    first = {str(k): {"ne": 5.0} for k in range(186)}
    second = {str(k): {"ne": 5.0 + float(gain)} for k, gain in enumerate(gains)}
    clusters = {str(k): k // 3 for k in range(186)}
    (naive,) = compare("a", first, "b", second, family="indoor").lines
    (honest,) = compare(
        "a", first, "b", second, family="indoor", clusters=clusters
    ).lines
    assert honest.difference.half > 1.3 * naive.difference.half
    assert honest.p > naive.p


@pytest.mark.parametrize("lacks", ["first", "second", "both"])
def test_a_metric_that_an_episode_lacks_is_compared_on_the_others(lacks: str) -> None:
    first = {"1": {"sr": 0.0, "cost": 1.0}, "2": {"sr": 0.0, "cost": 7.0}}
    second = {"1": {"sr": 1.0, "cost": 2.0}, "2": {"sr": 1.0, "cost": 9.0}}
    for name, run in (("first", first), ("second", second)):
        if lacks in (name, "both"):
            del run["2"]["cost"]
    lines = {
        line.metric.key: line
        for line in compare("a", first, "b", second, family="indoor").lines
    }
    assert (lines["sr"].n, lines["cost"].n) == (2, 1)
    assert (lines["cost"].first, lines["cost"].second) == (1.0, 2.0)
    assert lines["cost"].difference.mean == 1.0


def test_two_endless_errors_are_a_tie() -> None:
    lost = {"1": {"ne": inf}, "2": {"ne": 3.0}}
    (line,) = compare("a", lost, "b", lost, family="indoor").lines
    assert (line.ties, line.difference.mean) == (2, 0.0)
    assert json.loads(render(compare("a", lost, "b", lost, family="indoor"), "json"))


def test_a_way_found_where_there_was_none_is_a_win() -> None:
    # 1 is unreachable in one run and 3 m off in the other; 2 is the same; 3 is a metre worse.
    lost = {"1": {"ne": inf}, "2": {"ne": 3.0}, "3": {"ne": 4.0}}
    found = {"1": {"ne": 3.0}, "2": {"ne": 3.0}, "3": {"ne": 5.0}}
    (better,) = compare("a", lost, "b", found, family="indoor").lines
    assert (better.wins, better.ties, better.losses, better.difference.mean) == (
        1,
        1,
        1,
        -inf,
    )
    (worse,) = compare("a", found, "b", lost, family="indoor").lines
    assert (worse.wins, worse.ties, worse.losses, worse.difference.mean) == (
        1,
        1,
        1,
        inf,
    )


def test_a_family_from_elsewhere_brings_its_metrics() -> None:
    own = Metric("dark", "Dark", "seconds", "lower", "seconds in the dark")
    first = {"1": {"dark": 4.0, "sr": 0.0}}
    second = {"1": {"dark": 1.0, "sr": 1.0}}
    (line,) = compare("a", first, "b", second, family="lamp", metrics=(own,)).lines
    assert (line.metric, line.wins, line.losses) == (own, 1, 0)


@pytest.mark.parametrize(
    ("p", "wording"),
    [(0.0009, "<0.001"), (0.001, "0.001"), (0.05, "0.050"), (nan, "–")],
)
def test_a_p_value_has_three_digits_and_is_never_zero(
    found: Comparison, p: float, wording: str
) -> None:
    line = found.lines[0]
    line = replace(line, p=p, estimate=replace(line.estimate, extremes=None))
    text = render(replace(found, lines=(line,)), "markdown").splitlines()
    head = text[2]
    row = next(line for line in text if line.startswith("| SR"))
    assert row == f"| SR % | 50.0 | 75.0 | 25.0 | 2 | 1 | 1 | {wording} |", (
        "no interval, none shown"
    )
    assert text[3].count("---:") == head.count("|") - 2


def test_where_all_episodes_are_shared_none_is_left_out_and_nothing_may_be_compared() -> (
    None
):
    first = {"1": {"odd": 1.0}}
    second = {"1": {"odd": 2.0}, "2": {"odd": 1.0}}
    assert (
        heading(compare("a", first, "b", first, family="indoor", metrics=[]))
        == "1 shared episodes."
    )
    comparison = compare("a", first, "b", second, family="indoor", metrics=[])
    assert (
        heading(comparison)
        == "1 shared episodes; not compared: 0 only in a, 1 only in b."
    )
    assert render(comparison, "csv") == "metric\n", (
        "a metric that nobody knows is not compared"
    )


def test_narrow_terminals_get_two_lines_a_metric(found: Comparison) -> None:
    lines = render(found, "rich", width=60).splitlines()
    assert max(map(len, lines)) <= 60
    at = lines.index("SR %  50.0 -> 75.0  25.0 [-69.1, 90.4]")
    assert lines[at + 1].startswith("  better 2, worse 1, same 1, p ")


def test_runs_without_a_common_episode_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="a and b have no finished episode in common"):
        compare("a", {"1": {}}, "b", {"2": {}}, family="indoor")


def test_terminal(found: Comparison) -> None:
    golden = Path(__file__).parent / "golden" / "compare.txt"
    assert render(found, "rich") == golden.read_text(encoding="utf-8")


def test_markdown(found: Comparison) -> None:
    text = render(found, "markdown")
    assert text.startswith("second against first: 4 shared episodes; not compared:")
    assert "| SR % | 50.0 | 75.0 | 25.0 [-69.1, 90.4] | 2 | 1 | 1 |" in text


def test_latex_sets_every_number_in_math_mode() -> None:
    first = {
        "1": {"sr": 0.0, "prompt_tokens": 1000.0},
        "2": {"sr": 1.0, "prompt_tokens": 3000.0},
    }
    second = {
        "1": {"sr": 0.0, "prompt_tokens": 100.0},
        "2": {"sr": 1.0, "prompt_tokens": 300.0},
    }
    text = render(
        compare("runs/my_a", first, "runs/b", second, family="indoor"), "latex"
    )
    lines = text.splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrrrrr}"
    assert lines[2].startswith(r"Metric & runs/my\_a & runs/b & Difference [95\%] &")
    assert any(line.startswith(r"SR \% & $50.0$ & $50.0$ & $0.0\ [") for line in lines)
    assert any(r"Prompt & $2{,}000$ & $200$ & $-1{,}800$ &" in line for line in lines)
    notes = [line for line in lines if line.startswith("%")]
    assert notes[:3] == [
        "% First: runs/my_a",
        "% Second: runs/b",
        "% 2 shared episodes.",
    ]


def test_no_episode_is_better_by_a_metric_of_which_neither_way_is(
    found: Comparison,
) -> None:
    lines = [
        line
        for line in render(found, "markdown").splitlines()
        if line.startswith("| TL")
    ]
    assert [part.strip() for part in lines[0].split("|")[5:8]] == ["–", "–", "1"]


def test_clusters_are_counted_where_episodes_share_them() -> None:
    paths = {"1": "a", "2": "a", "3": "b", "4": "b"}
    both = compare(
        "x", FIRST, "y", SECOND, family="indoor", clusters=paths, unit="path"
    )
    assert heading(both).startswith(
        "4 shared episodes in 2 paths, which count as units"
    )
    alone = compare(
        "x",
        FIRST,
        "y",
        SECOND,
        family="indoor",
        clusters={each: each for each in FIRST},
        unit="path",
    )
    assert heading(alone).startswith("4 shared episodes; not compared")


def test_the_test_that_was_used_is_named() -> None:
    paths = {"1": "a", "2": "a", "3": "b", "4": "b"}
    shared = compare(
        "x", FIRST, "y", SECOND, family="indoor", clusters=paths, unit="path"
    )
    alone = compare("x", FIRST, "y", SECOND, family="indoor")
    by_path = "Bayesian bootstrap with Gaffke's bound, over paths"
    exact = "Bayesian bootstrap with Gaffke's bound; McNemar's exact test for success"
    for result, method in ((shared, by_path), (alone, exact)):
        assert json.loads(render(result, "json"))["method"] == method
        for form in ("csv", "markdown", "latex", "rich"):
            assert method in re.sub(r"\s+", " ", render(result, form)), form


def test_json_and_csv_say_the_same(found: Comparison) -> None:
    record = json.loads(render(found, "json"))
    assert (record["first"], record["second"], record["shared"]) == (
        "first",
        "second",
        4,
    )
    table = list(csv.DictReader(render(found, "csv").splitlines()))
    assert [row["metric"] for row in table] == [
        line["metric"] for line in record["metrics"]
    ]
    assert [float(row["p"]) if row["p"] else None for row in table] == [
        line["p"] for line in record["metrics"]
    ]


def test_another_format_is_a_usage_error(found: Comparison) -> None:
    with pytest.raises(UsageError, match="unknown table format 'html'"):
        render(found, "html")


def test_success_is_a_family_of_its_own_and_the_other_metrics_are_another() -> None:
    rng = np.random.default_rng(2)
    runs = []
    for gain in (0.0, 0.35, 0.35):
        scores = rng.random((60, 3)) < 0.4 + gain
        runs.append(
            {
                str(n): {"sr": float(sr), "osr": float(osr), "spl": float(spl)}
                for n, (sr, osr, spl) in enumerate(scores)
            }
        )
    alone = compare("a", runs[0], "b", runs[1], family="indoor")
    both = corrected([alone, compare("a", runs[0], "c", runs[2], family="indoor")])
    lines = {line.metric.key: line for line in alone.lines}
    assert (lines["sr"].family, lines["sr"].tests) == ("primary", 1)
    assert lines["sr"].p == lines["sr"].estimate.p
    assert (lines["spl"].family, lines["spl"].tests) == ("secondary", 2)
    assert [line.tests for each in both for line in each.lines] == [2, 4, 4, 2, 4, 4]
    for line in (line for each in both for line in each.lines):
        gap = line.difference
        assert (gap.low > 0 or gap.high < 0) == (line.p < 0.05)


def test_what_is_not_significant_says_what_it_could_have_shown(
    found: Comparison,
) -> None:
    text = render(found, "markdown")
    assert "> SR: not significant; too few episodes to show any difference." in text
    drawn = np.random.default_rng(3).random((2, 100)) < 0.5
    first, second = (
        {str(n): {"sr": float(won)} for n, won in enumerate(run)} for run in drawn
    )
    larger = render(compare("a", first, "b", second, family="indoor"), "markdown")
    assert re.search("a true difference of (1[5-9]|2[0-9])", larger), larger
    record = json.loads(render(found, "json"))
    line = record["metrics"][0]
    assert (line["family"], line["correction"], line["tests"]) == ("primary", "none", 1)
    assert line["detectable"] > 0.5
    assert (record["clusters"], record["unit"]) == (4, "")
    assert "McNemar" in record["method"]


@pytest.mark.parametrize(
    ("pairs", "gap", "reason"),
    [
        (1, 2.0, "fewer than two pairs"),
        (59, 2.0, "a metric without bounds, fewer than 60 pairs"),
        (60, 2.0, "a metric without bounds, the same difference in all pairs"),
        (60, inf, "infinite values"),
    ],
)
def test_a_difference_without_interval_says_why(
    pairs: int, gap: float, reason: str
) -> None:
    first = {str(n): {"ne": 1.0} for n in range(pairs)}
    second = {str(n): {"ne": 1.0 + gap} for n in range(pairs)}
    text = render(compare("first", first, "second", second, family="indoor"), width=200)
    assert f"No interval: {reason}." in text


def test_each_metric_has_the_clusters_of_its_own_pairs() -> None:
    first = {str(n): {"sr": 0.0} for n in range(8)}
    second = {str(n): {"sr": 1.0} for n in range(8)}
    for number in ("0", "1", "2"):
        first[number]["spl"] = second[number]["spl"] = 0.5
    clusters = {str(n): n // 2 for n in range(8)}
    found = compare(
        "a", first, "b", second, family="indoor", clusters=clusters, unit="path"
    )
    rows = list(csv.DictReader(render(found, "csv").splitlines()))
    records = json.loads(render(found, "json"))["metrics"]
    for each in (rows, records):
        counts = {row["metric"]: (int(row["n"]), int(row["clusters"])) for row in each}
        assert counts == {"sr": (8, 4), "spl": (3, 2)}


def test_too_few_units_are_counted_as_what_they_are() -> None:
    first = {str(n): {"ne": 1.0 + n % 5} for n in range(80)}
    second = {str(n): {"ne": 2.0 + n % 7} for n in range(80)}
    paths = {str(n): n // 4 for n in range(80)}
    found = compare(
        "a", first, "b", second, family="indoor", clusters=paths, unit="path"
    )
    assert "fewer than 60 paths." in render(found, width=200)


def test_a_key_that_is_no_metric_of_the_family_is_an_error() -> None:
    scores = {str(n): {"sr": 1.0, "sucess": 1.0, "steps": 3.0} for n in range(3)}
    with pytest.raises(UsageError, match="no metric 'sucess' in family indoor"):
        compare("a", scores, "b", scores, family="indoor")
    mine = Metric("sucess", "Success", "rate", "higher", "mine")
    result = compare("a", scores, "b", scores, family="indoor", metrics=[mine])
    assert [line.metric.key for line in result.lines] == ["sucess", "steps"]


def test_metrics_that_are_equal_in_all_episodes_count_in_no_correction() -> None:
    rng = np.random.default_rng(0)
    first = {str(n): {"sr": 0.0, "spl": rng.random() / 2} for n in range(20)}
    second = {
        name: {"sr": 0.0, "spl": each["spl"] + 0.1} for name, each in first.items()
    }
    alone = compare("a", first, "b", second, family="indoor")
    [spl] = [line for line in corrected([alone])[0].lines if line.metric.key == "spl"]

    # Two more columns, without a difference
    for scores in (*first.values(), *second.values()):
        scores |= {"osr": 0.0, "ndtw": 0.5}
    more = corrected([compare("a", first, "b", second, family="indoor")])[0]
    by_key = {line.metric.key: line for line in more.lines}
    assert (by_key["spl"].p, by_key["spl"].tests) == (spl.p, 1)
    assert by_key["spl"].difference == spl.difference
    assert by_key["ndtw"].p == 1.0
    # Success is corrected for each rival, also for one of equal success.
    once, _ = corrected([alone, alone])
    assert once.lines[0].tests == 2

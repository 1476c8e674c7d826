"""Runs side by side: walks on one map, distributions over each other, a table to copy."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers.parsed_page import Page
from wayword.core.errors import RecordingError
from wayword.core.metric import Metric
from wayword.metrics.compare import Comparison, MetricDifference
from wayword.metrics.indoor import METRICS
from wayword.metrics.intervals import ALPHA, Interval, MeanEstimate
from wayword.runs.differences import comparisons
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.viewer import figures, maps
from wayword.viewer.compare import (
    RunPair,
    _outcomes,
    compare_page,
    find_divergence,
)
from wayword.viewer.content import Content
from wayword.viewer.data import Sources, open_sources
from wayword.viewer.library import Library
from wayword.viewer.maps.content import Map

NE, SR = (next(each for each in METRICS if each.key == key) for key in ("ne", "sr"))


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs in generated houses, and two two-phase tests, which have no places."""
    top = tmp_path_factory.mktemp("compared")
    for on in ("houses", "two_phase"):
        for agent in ("oracle", "random"):
            run(Plan(agent, on, limit=6, max_steps=6, out=top / f"{on}-{agent}"))
    return top


def first_id(path: Path) -> str:
    return next(iter(RunFolder.read(path).scores()))[0]


def test_runs_are_compared_by_their_names_with_both_distributions(top: Path) -> None:
    page = Page.parse(
        Content(Library([top])).compare(["houses-oracle", "houses-random"])
    )
    assert "houses-random is not clearly different from houses-oracle" in page.text
    heads = [each.text for each in page.all("th", scope="col")]
    assert heads[:2] == ["houses-random solved", "houses-random failed"]
    assert heads[2:6] == ["Metric", "houses-oracle", "houses-random", "Difference"]
    spreads = page.all("path", class_="spread")
    assert len(spreads) % 2 == 0
    assert len(spreads) > 2
    kinds = [each.attributes["class"] for each in spreads[:2]]
    assert kinds == ["spread walk0", "spread walk1"]


def test_several_runs_are_corrected_together_as_by_the_command(
    top: Path, tmp_path: Path
) -> None:
    third = tmp_path / "houses-forward"
    run(Plan("forward", "houses", limit=6, max_steps=6, out=third))
    content = Content(Library([top, tmp_path]))
    page = Page.parse(
        content.compare(["houses-oracle", "houses-random", "houses-forward"])
    )
    paths = [top / "houses-oracle", top / "houses-random", third]
    expected, _ = comparisons(paths)
    shown = {row.text for row in page.all("tr")}
    lines = [line for result in expected for line in result.lines]
    for line in (line for line in lines if line.metric in METRICS):
        chance = f"{line.p:.3f}".replace("nan", "–")
        if line.p < 0.001:
            chance = "<0.001"
        rows = [row for row in shown if row.startswith(line.metric.label)]
        assert any(chance in row for row in rows), (line.metric.label, chance, rows)
    # The value differs from that of the pair alone, so the correction stands with it.
    heads = [head.text for head in page.all("th")]
    assert "p (Holm, 2 runs)" in heads
    assert "95% (Holm, 2 runs)" in heads, "the interval is another one, too"
    assert "Success is corrected for 2 runs (Holm)" in " ".join(page.text.split())
    alone = Page.parse(content.compare(["houses-oracle", "houses-random"])).text
    assert "Success is not corrected" in alone
    assert "Holm, 2" not in alone


def test_walks_of_several_runs_and_actors_are_named_by_both() -> None:
    names = ["solo", "pair", "pair"]
    solo = Map({"agent": []})
    pair = Map({"ann": [], "bob": []})
    walks = maps._walks_by_title(names, [solo, pair, pair])
    assert [*walks] == [
        "solo (1)",
        *("pair (2), ann", "pair (2), bob"),
        *("pair (3), ann", "pair (3), bob"),
    ]


def test_of_too_many_runs_tables_and_comparisons_have_the_same_first_ones(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wayword.viewer.compare._MOST", 1)
    third = tmp_path / "houses-forward"
    run(Plan("forward", "houses", limit=2, max_steps=2, out=third))
    names = ["houses-oracle", "houses-random", "houses-forward"]
    page = Page.parse(Content(Library([top, tmp_path])).compare(names))
    markdown, latex = (each.text for each in page.all("pre", class_="copied"))
    for table in (markdown, latex):
        assert [name in table for name in names] == [True, True, False]
    assert "houses-random is not clearly different from houses-oracle" in page.text


def test_so_few_pairs_that_no_difference_could_be_clear_are_called_too_few(
    top: Path, tmp_path: Path
) -> None:
    few = tmp_path / "houses-few"
    run(Plan("forward", "houses", limit=4, max_steps=6, out=few))
    content = Content(Library([top, tmp_path]))
    page = Page.parse(content.compare(["houses-oracle", "houses-few"]))
    (title,) = page.all("h1")
    assert title.text.endswith("from houses-oracle: too few episodes")


def test_a_row_of_the_overview_is_of_one_set_of_episodes(
    top: Path, tmp_path: Path
) -> None:
    """Its means add up to its difference, whatever episodes the other pairs share."""
    short = tmp_path / "houses-forward"
    run(Plan("forward", "houses", limit=3, max_steps=6, out=short))
    content = Content(Library([top, tmp_path]))
    names = ["houses-random", "houses-forward", "houses-oracle"]
    page = Page.parse(content.compare(names))
    heads = [each.text for each in page.all("th", scope="col")]
    assert heads[1:5] == ["Episodes", "Baseline", "SR", "Difference"]
    expected, _ = comparisons([top / names[0], short, top / names[2]])
    values = [each.text for each in page.all("td")]
    shown = (values[:4], values[9:13])  # of the first table, with nine columns
    for cells, result, n in zip(shown, expected, (3, 6), strict=True):
        line = next(line for line in result.lines if line.metric == SR)
        assert cells[0] == str(n) == str(result.shared)
        assert cells[1:3] == [
            figures.value(SR, each) for each in (line.first, line.second)
        ]
        before, after, change = (
            float(each.split("%")[0].split()[0]) for each in cells[1:]
        )
        assert after - before == pytest.approx(change, abs=0.11)


def test_one_table_of_all_runs_is_there_to_copy(top: Path) -> None:
    page = Page.parse(
        Content(Library([top])).compare(["houses-oracle", "houses-random"])
    )
    markdown, latex = (each.text for each in page.all("pre", class_="copied"))
    assert markdown.count("houses-oracle") == latex.count("houses-oracle") == 1
    assert "| " in markdown
    assert "\\begin{tabular}" in latex


def test_runs_that_have_no_table_are_compared_all_the_same(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> str:
        raise RecordingError("holds more episodes than its split")

    monkeypatch.setattr("wayword.runs.reports.tables_of", fails)
    page = Page.parse(
        Content(Library([top])).compare(["houses-oracle", "houses-random"])
    )
    assert "Difference" in page.text
    assert not page.all("pre", class_="copied")


def test_two_walks_are_on_one_map_with_the_place_where_they_part(top: Path) -> None:
    names = ["houses-oracle", "houses-random"]
    episode = first_id(top / names[0])
    page = Page.parse(Content(Library([top])).compare(names, episode))
    assert len(page.all("svg", class_="map")) == 1
    assert len(page.all("g", class_="walk")) == 2
    text = page.all("main")[0].text
    assert "Solved: stopped at" in text
    assert "the gold path takes" in text, "what the solved side did"
    assert (
        len(page.all("circle", class_="parted"))
        == ("They diverge at step" in page.text)
        == 1
    )
    assert "walked by houses-oracle" in page.text
    same = Page.parse(Content(Library([top])).compare([names[0], names[0]], episode))
    assert not same.all("circle", class_="parted")
    assert len(same.all("g", class_="walk")) == 2, "one run beside itself"


def test_places_of_both_walks_are_on_the_map(top: Path) -> None:
    names = ["houses-oracle", "houses-random"]
    episode = first_id(top / names[0])
    runs = [RunFolder.read(top / name) for name in names]
    walks = [
        next(r for r in each.records() if r.episode_id == episode).trajectory
        for each in runs
    ]
    sources = open_sources(runs[0], [episode], None)
    one, two = (maps.map_of(walk, sources) for walk in walks)
    assert isinstance(one, Map)
    assert isinstance(two, Map)
    drawn = maps.together(list(zip(names, walks, strict=True)), sources, divergence=1)
    page = Page.parse(f"<body>{drawn}</body>")
    assert (
        len(page.all("circle", class_="place")) >= len({*one.places, *two.places}) - 2
    )
    (ring,) = page.all("circle", class_="parted")
    start = page.all("circle", class_="start")
    assert all(
        float(s.attributes["cx"] or 0) == float(ring.attributes["cx"] or 1)
        for s in start
    )


def test_without_places_each_walk_has_a_map_of_its_own(top: Path) -> None:
    names = ["two_phase-oracle", "two_phase-random"]
    page = Page.parse(Content(Library([top])).compare(names, first_id(top / names[0])))
    assert len(page.all("svg", class_="map")) == 2


def test_distributions_lie_over_each_other_as_shares() -> None:
    drawn = str(figures.overlay(NE, np.arange(12.0), np.array([3.0, 3.0, np.nan])))
    assert drawn.count("0.00 to 11.00 m") == 2
    assert drawn.count('class="spread') == 2
    assert figures.overlay(NE, [1.0, 1.0], [1.0]) is None
    assert figures.overlay(NE, [], [1.0, 2.0]) is None


def test_a_difference_of_seconds_is_reported_in_seconds() -> None:
    from wayword.metrics.accounting import METRICS as ACCOUNT

    seconds = next(metric for metric in ACCOUNT if metric.key == "seconds")
    assert figures.value(seconds, -15.011) == "-15.0 s"
    assert figures.value(seconds, -0.011) == "-11 ms"


def test_the_verdict_and_the_table_come_first_and_flips_are_requested(
    top: Path,
) -> None:
    names = ["houses-oracle", "houses-random"]
    content = Content(Library([top]))
    first = Page.parse(content.compare(names))
    lost = {
        each.attributes["data-of"]
        for each in first.all("p")
        if "data-of" in each.attributes
    }
    assert lost, "no record is read for the page"
    tags = [each.attributes.get("id") or each.tag for each in first.elements]
    assert tags.index("table") < tags.index("flips-0")
    (verdict,) = first.all("p", class_="verdict")
    solved = figures.value(SR, (6 - len(lost)) / 6)
    assert verdict.text.startswith(f"SR {solved} against 100%: -")
    counts = [each.text for each in first.all("td")[:5]]
    assert counts == ["", str(6 - len(lost)), str(len(lost)), "0", "0"]
    part = Page.parse(f"<body>{content.flips(names)}</body>")
    assert part.all("div", id="flips-0")
    assert [each.text for each in part.all("h2")] == [
        "Only houses-random solved: 0", f"Only houses-oracle solved: {len(lost)}",
    ]  # fmt: skip
    sketches = part.all("svg", class_="sketch")
    assert len(sketches) == len(lost)
    assert len(part.all("polyline", class_="gold")) == len(lost)
    darts = part.all("path", class_="facing")
    assert len(darts) == 2 * len(lost), "the end of each walk"
    first = RunFolder.read(top / names[0])
    golds = [each.attributes["points"] for each in part.all("polyline", class_="gold")]
    for gold, episode in zip(
        golds, [each.text for each in part.all("bdi")], strict=True
    ):
        walks = [next(r for r in RunFolder.read(top / name).records() if r.episode_id == episode)
                 .trajectory for name in names]  # fmt: skip
        apart = find_divergence(*walks)
        assert f"part at step {apart}" in part.text
        sources = open_sources(first, [episode], None)
        assert sources.instruction(episode) in part.text
        drawn = maps.together(
            [*zip(names, walks, strict=True)], sources, apart, small=True
        )
        small = Page.parse(str(drawn))
        assert len(small.all("circle", class_="parted")) == 1
        assert [
            e.attributes["points"] for e in small.all("polyline", class_="gold")
        ] == [gold]
    assert part.all("small", class_="cause")
    assert content.flips(names[:1]) == ""


def difference(metric: Metric, interval: Interval) -> MetricDifference:
    """Return a line of nine episodes with this interval."""
    known = {ALPHA: interval}
    estimate = MeanEstimate(interval.mean, np.zeros(9), np.ones(9), (-9.0, 9.0), known)
    means = (5.0, 5.0 + interval.mean)
    return MetricDifference(metric, 9, *means, 4, 3, 2, estimate, 0.04)


def test_a_pair_is_judged_by_the_first_metric_that_has_a_better_direction() -> None:
    gaps = (Interval(1.0, 0.5, 1.5), Interval(-1.0, -1.5, -0.5))
    lines = tuple(map(difference, (NEITHER, LOWER), gaps))
    columns = ({"ne": [1.0, 2.0, 9.0]}, {"ne": [8.0, 8.0, 3.0]})
    comparison = Comparison("a", "b", 9, 0, 0, lines)
    pair = RunPair(("a", "b"), ("a", "b"), (), comparison, columns)
    assert pair.primary is lines[1]
    assert pair.outcome == "better"
    # The first run is drawn in the first color.
    assert pair.spreads[0][1] == figures.overlay(NEITHER, *(c["ne"] for c in columns))
    assert pair.spreads[0][1] != figures.overlay(NE, columns[1]["ne"], columns[0]["ne"])


def test_a_difference_is_coloured_where_its_interval_excludes_zero() -> None:
    lines = tuple(
        difference(HIGHER, Interval(1.0, low, 2.0 - low)) for low in (-0.1, 0.9, -0.1)
    )
    pair = RunPair(
        ("a", "b"), ("a", "b"), (), Comparison("a", "b", 9, 0, 0, lines), ({}, {})
    )
    page = Page.parse(compare_page([pair], Sources(None, {}), {}))
    cells = page.all("td", data_label="difference")
    kinds = [(each.attributes["class"] or "").split()[1:] for each in cells]
    assert kinds == [[], ["good"], []], "0 is inside -0.1 to 2.1"


@pytest.mark.parametrize(("clusters", "outcome"), [(3, "too few"), (9, "unclear")])
def test_clusters_and_not_episodes_decide_whether_pairs_are_too_few(
    clusters: int, outcome: str
) -> None:
    """Nine episodes of three paths: won all three, the smallest p-value is 0.25."""
    gap = Interval(0.5, -0.1, 1.1)
    estimate = MeanEstimate(
        gap.mean, np.zeros(clusters), np.ones(clusters), (-1.0, 1.0), {ALPHA: gap}
    )
    line = replace(difference(HIGHER, gap), estimate=estimate)
    comparison = Comparison("a", "b", 9, 0, 0, (line,))
    pair = RunPair(("a", "b"), ("a", "b"), (), comparison, ({}, {}))
    assert pair.outcome == outcome


LOWER, HIGHER, NEITHER = (
    replace(NE, better=better) for better in ("lower", "higher", None)
)


@pytest.mark.parametrize(
    ("metric", "low", "high", "kind"),
    [
        (LOWER, -3.0, -1.0, "good"),
        (LOWER, 1.0, 3.0, "bad"),
        (HIGHER, -3.0, -1.0, "bad"),
        (HIGHER, 1.0, 3.0, "good"),
        (LOWER, -3.0, 1.0, ""),
        (HIGHER, -1.0, 3.0, ""),
        (HIGHER, math.nan, math.nan, ""),
        (NEITHER, 1.0, 3.0, ""),
    ],
)
def test_a_difference_is_coloured_by_what_is_better_where_it_is_sure(
    metric: Metric, low: float, high: float, kind: str
) -> None:
    mean = 0.5 if math.isnan(low) else (low + high) / 2
    line = difference(metric, Interval(mean, low, high))
    pair = RunPair(
        ("a", "b"), ("a", "b"), (), Comparison("a", "b", 9, 0, 0, (line,)), ({}, {})
    )
    page = Page.parse(compare_page([pair], Sources(None, {}), {}))
    (cell,) = page.all("td", data_label="difference")
    assert (cell.attributes["class"] or "").split() == ["n", *kind.split()]
    counted = [
        page.all("td", data_label=words)[0].text
        for words in ("better", "worse", "same")
    ]
    assert counted == (["4", "3", "2"] if metric.better else ["–", "–", "2"])


def test_changed_episodes_are_sorted_by_the_size_of_their_difference() -> None:
    """In either direction: an episode may be solved and end farther from the goal."""
    distances = {"a": (9.0, 1.0), "b": (1.0, 2.0), "c": (1.0, 4.0), "d": (5.0, 5.0)}
    success = dict.fromkeys(distances, (0.0, 1.0))

    def side(number: int) -> Any:
        own = {name: pair[number] for name, pair in distances.items()}
        solved = {name: pair[number] for name, pair in success.items()}
        return SimpleNamespace(outcomes=lambda: solved, values=lambda key: own)

    lines = tuple(difference(metric, Interval(1.0, 0.0, 2.0)) for metric in (SR, NE))
    comparison = Comparison("a", "b", 4, 0, 0, lines)
    gained = _outcomes(side(0), side(1), comparison)
    assert (gained["gained"], gained["lost"]) == (["a", "c", "b", "d"], [])
    lost = _outcomes(side(1), side(0), comparison)
    assert (lost["gained"], lost["lost"]) == ([], ["a", "c", "b", "d"])
    assert lost["order"] == NE


def test_episodes_that_runs_recorded_in_another_order_are_paired_by_their_ids() -> None:
    """As of two processes, and of a run that has an episode more."""

    def side(**solved: float) -> Any:
        return SimpleNamespace(outcomes=lambda: solved, values=lambda key: {})

    comparison = Comparison("a", "b", 4, 0, 1, ())
    first = side(a=1.0, b=0.0, c=1.0, d=0.0)
    second = side(x=0.0, d=1.0, c=0.0, b=0.0, a=1.0)
    found = _outcomes(first, second, comparison)
    kinds = ("gained", "lost", "both", "neither")
    assert [found[kind] for kind in kinds] == [["d"], ["c"], ["a"], ["b"]]


def test_success_by_length_of_several_runs_is_one_chart(top: Path) -> None:
    names = ["houses-oracle", "houses-random"]
    means = []
    found = Content(Library([top]))
    page = Page.parse(f"<body>{found.lengths(names)}</body>")
    for name in names:
        rows = found.library.rows(name)
        by_length: dict[int, list[float]] = {}
        for episode, success in rows.outcomes().items():
            gold = found.tasks(rows, [episode]).gold(episode)
            by_length.setdefault(len(gold) - 1, []).append(success)
        means += [(name, *item) for item in sorted(by_length.items())]
    points = [each.attributes for each in page.all("circle")]
    assert len(points) == len(means) > 4
    for point, (name, length, successes) in zip(points, means, strict=True):
        mean = sum(successes) / len(successes)
        words = str(point["aria-label"])
        assert words.startswith(
            f"{name}, length {length}: {figures.value(SR, mean)} of "
        )
        assert f" of {len(successes)} episode" in words
        assert float(str(point["cy"])) == pytest.approx(210 - 190 * mean, abs=0.2)
    assert [each.text for each in page.all("li")] == names
    assert page.all("line", class_="interval"), "where there are enough episodes"
    counts = [each.text for each in page.all("text") if each.text.startswith("n = ")]
    assert len(counts) == len({length for _, length, _ in means})
    assert found.lengths(["two_phase-oracle", "two_phase-random"]) == ""


def test_runs_of_other_episodes_have_their_own_numbers_by_length(
    tmp_path: Path,
) -> None:
    """The number of the largest run next to the mean of a small one would mislead."""
    for name, limit in (("whole", 6), ("part", 3)):
        out = tmp_path / name
        run(Plan("random", "houses", limit=limit, max_steps=6, out=out))
    found = Content(Library([tmp_path]))
    page = Page.parse(f"<body>{found.lengths(['whole', 'part'])}</body>")
    texts = [each.text for each in page.all("text") if each.text.startswith("n = ")]
    numbers = [int(text.removeprefix("n = ")) for text in texts]
    # Each range has the numbers of both runs, in the legend's order.
    assert (sum(numbers[0::2]), sum(numbers[1::2])) == (6, 3)
    (note,) = [each.text for each in page.all("p") if "95% intervals" in each.text]
    assert "of each run in this order" in " ".join(note.split())
    assert "joined with the next" in note
    counts = [each for each in page.all("text") if each.text in texts]
    rows = {float(str(each.attributes["y"])) for each in counts}
    gaps = [low - high for high, low in pairwise(sorted(rows))]
    assert min(gaps) >= 18, "on a phone, letters are 17 units high"


def test_the_chart_and_the_flips_are_made_at_once(top: Path) -> None:
    """Both read tasks, from two threads of the server."""
    names = ["houses-oracle", "houses-random"]
    found = Content(Library([top]))
    with ThreadPoolExecutor(2) as pool:
        chart, flips = pool.map(lambda make: make(names), (found.lengths, found.flips))
    assert "<polyline" in chart
    assert 'class="sketch"' in flips


def test_a_row_has_the_first_sentence_of_its_episode(top: Path) -> None:
    content = Content(Library([top]))
    for name in ("houses-oracle", "houses-random"):
        episode = first_id(top / name)
        headline = Page.parse(content.episode(name, episode)).all("h1")[0].text
        row = Page.parse(content.sentence(name, episode)).all("span")[0].text
        assert row == headline

"""Tables, as text that is compared whole: what a reader sees is what is tested."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from tests.helpers.metric_keys import OF_OBJECTS, RARE, columns

from wayword.core.errors import UsageError
from wayword.core.metric import Metric, find
from wayword.metrics.compare import compare, corrected, mark_best
from wayword.metrics.papers import paper_table
from wayword.metrics.summary import Row, summarize
from wayword.metrics.table import extra_labels, fit, labels, render, terminal

Scores = list[dict[str, float]]


def golden(name: str) -> str:
    """What the table looked like when somebody last looked at it and found it good."""
    return (Path(__file__).parent / "golden" / name).read_text(encoding="utf-8")


def episode(sr: float, ne: float, cost: float | None = 0.01) -> dict[str, float]:
    """The scores of an episode with ten calls."""
    share = {
        "sr": sr,
        "spl": sr / 2,
        "osr": 1.0,
        "ndtw": 0.5,
        "sdtw": sr * 0.5,
        "cls": 0.4,
    }
    share |= {"spl_gold": sr / 2}
    steps = {"steps": 8.0, "rejections": 2.0, "rejection_rate": 0.25, "seconds": 1.5}
    tokens = {
        "prompt_tokens": 12_000.0,
        "reused_tokens": 9_000.0,
        "completion_tokens": 300.0,
    }
    priced = {} if cost is None else {"cost": cost}
    return {**share, "ne": ne, "tl": 9.0, **steps, "calls": 10.0, **tokens, **priced}


@pytest.fixture
def rows() -> Sequence[Row]:
    """A run on a part of its split with failures, and one on all of it."""
    part = [episode(1, 0.5), episode(0, 6.5), episode(1, 2.0), episode(0, 5.0)]
    full = [episode(1, 0.0, cost=None)] * 1021
    split = {"dataset": "r2r:val_seen", "checksum": "3f2a9b7c11d0"}
    return [
        summarize(
            "navgpt-a1b2", part, family="indoor", of=1021, failed=2, wall_seconds=3.2,
            agent="navgpt", model="local:smollm2", **split,
        ),
        summarize("oracle", full, family="indoor", of=1021, agent="oracle", **split),
    ]  # fmt: skip


def test_a_hundred_columns_show_the_most_telling_metrics(rows: Sequence[Row]) -> None:
    assert terminal(rows, 100) == golden("table_100.txt")


def test_eighty_columns_show_fewer_and_say_which_are_missing(
    rows: Sequence[Row],
) -> None:
    assert terminal(rows, 80) == golden("table_80.txt")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 240])
def test_no_line_is_wider_than_requested_and_no_metric_is_lost(
    rows: Sequence[Row], width: int
) -> None:
    text = terminal(rows, width)
    assert max(map(len, text.splitlines())) <= width
    body, _, missing = " ".join(text.split()).partition(
        "Hidden columns (terminal too narrow):"
    )
    hidden = missing.partition(". See")[0].strip().split(", ")
    for metric in columns("indoor"):
        if metric.key in RARE | OF_OBJECTS:
            continue
        shown = re.search(rf"(?<!\S){re.escape(metric.label)}(?!\S)", body)
        assert shown or metric.label in hidden, metric.label


def test_markdown(rows: Sequence[Row]) -> None:
    assert render(rows, "markdown") == golden("table.md")


def test_json_has_fractions_intervals_and_null_for_the_unknown(
    rows: Sequence[Row],
) -> None:
    first, second = json.loads(render(rows, "json"))["rows"]
    assert {k: v for k, v in first.items() if k not in ("metrics", "totals")} == {
        "run": "navgpt-a1b2",
        "agent": "navgpt",
        "model": "local:smollm2",
        "dataset": "r2r:val_seen",
        "checksum": "3f2a9b7c11d0",
        "n": 4,
        "of": 1021,
        "failed": 2,
        "sees_answer": False,
    }
    clopper_pearson = {"mean": 0.5, "low": pytest.approx(0.0676, abs=1e-4)}
    assert first["metrics"]["sr"] == {
        **clopper_pearson,
        "high": pytest.approx(0.9324, abs=1e-4),
    }
    assert first["metrics"]["tl"] == {"mean": 9.0, "low": None, "high": None}
    rare = RARE | OF_OBJECTS
    keys = [metric.key for metric in columns("indoor") if metric.key not in rare]
    assert list(first["metrics"]) == ["sr", "sr_failed_0", *keys[1:]]
    assert first["metrics"]["sr_failed_0"]["mean"] == pytest.approx(2 / 6)
    assert first["totals"]["cost"] == pytest.approx(0.04)
    assert first["totals"]["wall_seconds"] == 3.2
    assert first["totals"]["prompt_tokens"] == 48_000
    assert second["totals"]["cost"] is None
    assert "cost" not in second["metrics"]


def test_csv_has_a_column_for_each_bound(rows: Sequence[Row]) -> None:
    first, second = csv.DictReader(render(rows, "csv").splitlines())
    assert (first["run"], first["n"], first["of"], first["failed"]) == (
        "navgpt-a1b2", "4", "1021", "2",
    )  # fmt: skip
    bounds = [float(first[key]) for key in ("sr_low", "sr", "sr_high")]
    assert bounds == pytest.approx([0.0676, 0.5, 0.9324], abs=1e-4)
    assert float(first["total_cost"]) == pytest.approx(0.04)
    assert (second["cost"], second["cost_low"], second["total_cost"]) == ("", "", "")


def test_one_unknown_price_makes_the_runs_cost_unknown() -> None:
    row = summarize(
        "r", [episode(1, 0), episode(1, 0, cost=None)], family="indoor", of=2
    )
    assert row.totals["cost"] is None
    assert "cost" not in row.values
    assert "cost unknown" in terminal([row])


def test_an_endless_mean_is_null_in_json_and_shown_as_it_is() -> None:
    row = summarize("r", [episode(0, inf), episode(1, 0)], family="indoor", of=2)
    found = json.loads(render([row], "json"))["rows"][0]["metrics"]["ne"]
    assert found == {"mean": None, "low": None, "high": None}
    assert " inf" in terminal([row])


def test_a_run_without_any_finished_episode_is_still_a_row() -> None:
    row = summarize("r", [], family="indoor", of=30, failed=3)
    assert "0 of 30, 3 failed" in render([row], "markdown")
    assert json.loads(render([row], "json"))["rows"][0]["metrics"] == {}
    assert "3 failed" in terminal([row])


def test_a_single_episode_has_no_interval() -> None:
    text = render(
        [summarize("r", [episode(1, 0.25)], family="indoor", of=1)], "markdown"
    )
    assert "| 100.0 |" in text
    assert "0.25 |" in text


def test_clustered_episodes_get_wider_intervals() -> None:
    scores: Scores = [episode(n % 2, 1.0) for n in range(40) for _ in range(3)]
    clusters = [n for n in range(40) for _ in range(3)]
    naive = summarize("r", scores, family="indoor", of=120)
    honest = summarize("r", scores, family="indoor", of=120, clusters=clusters)
    assert honest.values["sr"].half > 1.4 * naive.values["sr"].half


def test_names_cannot_break_a_table() -> None:
    row = summarize("a|b [red]x[/]", [episode(1, 0)], family="indoor", of=1)
    assert "a/b [red]x[/]" in render([row], "markdown")
    assert "a|b [red]x[/]" in terminal([row])
    assert "\x1b[" not in terminal([row])
    row = summarize("seed:cat: \\[x]", [episode(1, 0)], family="indoor", of=1)
    assert "seed:cat: \\[x]" in terminal([row]), "no picture, no escape"


def test_a_long_name_is_broken_at_its_signs(rows: Sequence[Row]) -> None:
    name = "imitation-r2r-val_seen-with-long-names-71e9019a"
    text = terminal([replace(rows[0], name=name)], width=100)
    lines = [line.split("  ")[0] for line in text.splitlines()]
    start = lines.index("imitation-r2r-val_seen-with-long-names-")
    assert lines[start + 1].strip() == "71e9019a"


def test_another_format_is_a_usage_error(rows: Sequence[Row]) -> None:
    with pytest.raises(
        UsageError, match="unknown table format 'jsno'; did you mean 'json'"
    ):
        render(rows, "jsno")


def test_columns_are_chosen_by_rank_and_shown_in_order() -> None:
    keys = ("a", "b", "c", "d", "e", "steps", "rejection_rate")
    metrics = [Metric(key, key, "count", None, "") for key in keys]
    shown = [metric.key for metric in fit(metrics, [10] * 7, 55)]
    assert shown == ["a", "b", "c", "d", "rejection_rate"]


@pytest.mark.parametrize(("calls", "shows"), [(0, False), (10, True)])
def test_zeros_of_agents_without_a_model_give_way_to_metrics(
    calls: int, shows: bool
) -> None:
    scores = {"sr": 1.0, "tl": 9.0, "steps": 3.0, "rejections": 0.0, "seconds": 1.0}
    scores |= {"rejection_rate": 0.0, "calls": float(calls), "cost": 0.0}
    scores |= {"prompt_tokens": 0.0}
    row = summarize("mine", [scores], family="indoor", of=1)
    text = terminal([row], 60).splitlines()[0]
    assert "TL m" in text
    assert "Steps" in text
    assert ("Cost $" in text) == shows
    assert ("Seconds" in text) != shows


def test_the_last_of_chosen_columns_is_hidden_first(rows: Sequence[Row]) -> None:
    keys = ("tl", "ne", "osr", "sr", "spl", "ndtw")
    metrics = tuple(find(columns("indoor"), key) for key in keys)
    chosen = [
        replace(row, values={key: row.values[key] for key in keys}, metrics=metrics)
        for row in rows
    ]
    assert "Hidden columns (terminal too narrow): nDTW." in terminal(chosen, 84)


def test_a_metric_is_found_by_key() -> None:
    assert find(columns("indoor"), "spl").label == "SPL"
    with pytest.raises(
        UsageError, match="no metric is called 'splt'; did you mean 'spl'"
    ):
        find(columns("indoor"), "splt")


def test_pooled_seeds_clusters_and_caveats_are_reported_wherever_a_row_is_written() -> (
    None
):
    row = summarize(
        "r", [episode(1, 0), episode(0, 5)], family="objectnav", of=9, dataset="d:val"
    )
    row = replace(
        row, runs=2, clustered="scene", caveats=("floors inferred from elsewhere",)
    )
    other = summarize("plain", [episode(1, 0)], family="objectnav", of=9)
    text = " ".join(terminal([row, other]).split())
    assert "2 runs" in text
    assert "with scenes as units" in text
    assert "Note: r: floors inferred from elsewhere." in text
    assert "> floors inferred from elsewhere." in render([row], "markdown")
    found = json.loads(render([row], "json"))["rows"][0]
    assert (found["clustered"], found["runs"]) == ("scene", 2)
    assert found["caveats"] == ["floors inferred from elsewhere"]


def test_latex_escapes_and_marks_the_best(rows: Sequence[Row]) -> None:
    others = replace(rows[1], sees_answer=True), replace(rows[0], name="my_run")
    lines = render([rows[0], *others], "latex").splitlines()
    assert lines[0].startswith(r"\begin{tabular}{llll")
    assert any(line.startswith(r"my\_run & navgpt & local:smollm2") for line in lines)
    assert not any(r"\mathbf{" in line for line in lines), (
        "a higher mean alone is not better"
    )


def test_latex_of_runs_without_a_model_in_a_user_s_world() -> None:
    file = "./a b/warehouse.py:test"
    row = summarize("mine", [{"sr": 1.0}], family="babyai", dataset=file, of=1)
    text = render([row], "latex")
    assert "Run & Dataset & Episodes &" in text
    assert "mine & warehouse:test & 1 &" in text
    assert "Results on warehouse:test (1 episode)" in paper_table([row], "babyai")
    # Commands take the path that a terminal shows.
    assert file in render([row], "csv")


def test_latex_keeps_every_number_in_math_mode() -> None:
    one = summarize(
        "one", [{"sr": 1.0, "prompt_tokens": 12345.0}], family="indoor", of=1
    )
    lines = render([replace(one, best=frozenset({"sr"}))], "latex").splitlines()
    line = next(line for line in lines if line.startswith("one &"))
    assert r"& $\mathbf{100.0}$ &" in line
    assert r"$12{,}345$" in line


def test_bold_is_what_is_significantly_better_than_all_others() -> None:
    def scored(rate: float, seed: int) -> dict[str, dict[str, float]]:
        draws = random.Random(seed)
        return {
            f"{n}": {"sr": float(draws.random() < rate), "ne": 2.0} for n in range(60)
        }

    runs = [
        scored(0.2, 0),
        scored(0.85, 1),
        scored(0.9, 2),
        scored(0.3, 3),
        scored(1.1, 4),
    ]
    rows = [
        summarize(f"r{n}", [*run.values()], family="indoor", of=60)
        for n, run in enumerate(runs)
    ]
    shown = [*rows[:4], replace(rows[4], sees_answer=True)]
    assert [row.best for row in mark_best(shown, runs, ["sr", "ne"])] == [
        frozenset()
    ] * 5, "two are as good"
    clear = [*shown[:2], *shown[3:]]
    marked = mark_best(clear, [*runs[:2], *runs[3:]], ["sr", "ne"])
    assert [sorted(row.best) for row in marked] == [[], ["sr"], [], []]
    alone = mark_best(rows[:1], runs[:1], ["sr"])
    assert [sorted(row.best) for row in alone] == [[]], "no rival"


def test_bold_is_corrected_over_the_shown_metrics_as_a_comparison_of_them() -> None:
    draws = random.Random(5)
    pairs = [(draws.gauss(5, 1), draws.gauss(0, 1)) for _ in range(60)]
    first = {f"{n}": {"sr": 0.0, "ne": a, "tl": a} for n, (a, _) in enumerate(pairs)}
    second = {
        f"{n}": {"sr": 0.0, "ne": a + noise - 0.32, "tl": a + noise}
        for n, (a, noise) in enumerate(pairs)
    }
    runs = [first, second]
    rows = [
        summarize(name, [*run.values()], family="indoor", of=60)
        for name, run in zip("ab", runs, strict=True)
    ]
    bold = {}
    for keys in (["ne"], ["sr", "ne"], ["ne", "tl"]):
        shown = [each for each in rows[0].metrics if each.key in keys]
        lines = compare("a", first, "b", second, family="indoor", metrics=shown).lines
        (p,) = (line.p for line in lines if line.metric.key == "ne")
        bold[" ".join(keys)] = p < 0.05
        marked = [row.best for row in mark_best(rows, runs, keys)]
        assert ("ne" in marked[1]) == (p < 0.05), (keys, p)
        assert not marked[0]
    assert bold == {"ne": True, "sr ne": True, "ne tl": False}


def test_long_settings_are_short_in_print_and_complete_in_data(
    rows: Sequence[Row],
) -> None:
    settings = {
        "dataset.target": "cat-shaped mug|watering can|red fire extinguisher",
        "grounding": "owlv2:google/owlv2-base-patch16-ensemble",
        "dataset.url": "ws://127.0.0.1:9090",
        "max_steps": "200",
    }
    first = replace(rows[0], settings=settings)
    other = {key: value.upper() for key, value in settings.items()}
    second = replace(rows[0], settings={**other, "max_steps": "100"})
    short, _ = extra_labels([first, second])
    assert short == "target=cat-shaped mug|wate…, grounding=owlv2-base-patch16-…, …"
    (whole, _) = labels([first, second])
    assert json.loads(render([first, second], "json"))["rows"][0]["settings"] == whole
    # Rows that would look alike keep all of it.
    third = replace(first, settings={**settings, "max_steps": "100"})
    (alike, _, _) = extra_labels([first, third, second])
    assert alike == whole


def test_rows_are_labelled_by_the_settings_in_which_they_differ(
    rows: Sequence[Row],
) -> None:
    free = replace(rows[0], settings={"decoding": "free", "shots": "2", "seed": "0"})
    few = replace(free, settings={**free.settings, "shots": "0"})
    other = replace(rows[1], settings={"decoding": "constrained", "seed": "0"})
    assert labels([free, few]) == ["shots=2", "shots=0"]
    assert labels([free, few, other]) == [
        "decoding=free, shots=2", "decoding=free, shots=0", "decoding=constrained",
    ]  # fmt: skip
    assert labels([rows[0], rows[1]]) == ["", ""]
    for form in ("rich", "json", "csv", "markdown", "latex"):
        text = render([free, few, other], form)
        for words in ("decoding=free", "shots=0", "decoding=constrained"):
            assert words in text.replace("\n", "").replace(" ", ""), (form, words)
    assert "With decoding=free, answers may" in render([free, few, other])
    assert "With decoding=free" not in render([free, few])
    # Neither of these can choose an illegal action.
    complete = replace(rows[0], settings={"decoding": "complete"})
    assert "With decoding=free" not in render([complete, other])


def test_caveats_stand_in_every_form(rows: Sequence[Row]) -> None:
    marked = [replace(rows[0], caveats=("walls are inferred", "shuffled")), *rows[1:]]
    for form in ("rich", "json", "csv", "markdown", "latex"):
        assert "walls are inferred" in render(marked, form), form
        assert "walls are inferred" not in render(rows, form), form
    assert (
        render(marked, "csv").splitlines()[1].endswith(",walls are inferred; shuffled")
    )


def test_what_a_run_cost_in_all_stands_next_to_the_cost_of_an_episode(
    rows: Sequence[Row],
) -> None:
    text = render(rows, "markdown")
    assert "| Cost per episode $ | Total cost $ |" in text
    assert "| 0.0100 | 0.0400 |" in text
    assert "Cost" not in render(
        [summarize("r", [{"sr": 1.0}], family="indoor", of=1)], "markdown"
    )


def test_the_agent_is_named_where_the_name_of_the_run_does_not_say_it(
    rows: Sequence[Row],
) -> None:
    renamed = [replace(rows[0], name="final"), rows[1]]
    assert any(line.startswith("navgpt ") for line in terminal(renamed).splitlines())
    assert not any(line.startswith("navgpt ") for line in terminal(rows).splitlines())
    assert render(renamed, "latex").splitlines()[2].startswith("Run & Agent & Model &")
    assert render(renamed, "markdown").startswith("| Run | Agent | Model | Dataset |")
    assert "| final | navgpt | local:smollm2 |" in render(renamed, "markdown")
    assert "Agent" not in render(rows, "latex")
    within = replace(rows[0], name="react-first", agent="act")
    assert "Agent" in render([within], "latex"), (
        "a part of another agent's name says nothing"
    )


def test_where_nothing_has_an_interval_the_table_says_why() -> None:
    scores = [{"sr": 0.0, "ne": 3.0}]
    one = summarize("one", scores, family="indoor", of=9)
    assert "No intervals: they need at least two episodes." in terminal([one])
    assert "±" not in terminal([one])
    paths = replace(
        summarize("p", scores * 3, family="indoor", of=9, clusters="aaa"),
        clustered="path",
    )
    assert "No intervals: they need at least two paths." in terminal([paths])
    none = summarize("none", [], family="indoor", of=9)
    assert "nterval" not in terminal([none])


def test_intervals_of_paths_are_stated_to_hold_for_these_scenes() -> None:
    scores = [{"sr": float(n % 2)} for n in range(4)]
    row = summarize("r", scores, family="indoor", of=4)
    note = "Intervals hold for these scenes; --cluster scene: for new ones."
    for unit in ("path", "trajectory"):
        assert note in terminal([replace(row, clustered=unit)])
    for unit in ("scene", ""):
        assert note not in terminal([replace(row, clustered=unit)])


def test_csv_names_units_and_the_episodes_of_each_metric() -> None:
    scores = [{"sr": 1.0, "spl": 0.5}, {"sr": 0.0}, {"sr": 1.0}]
    row = summarize(
        "run", scores, family="indoor", of=3, clusters=["a", "a", "b"], clustered="path"
    )
    (found,) = csv.DictReader(render([row], "csv").splitlines())
    assert (found["clustered"], found["clusters"]) == ("path", "2")
    assert found["spl_n"] == "1"
    assert "sr_n" not in found


def test_a_table_that_is_copied_says_what_its_intervals_are() -> None:
    row = summarize(
        "run", [{"sr": 1.0}, {"sr": 0.0}], family="indoor", of=2, clusters=["a", "b"],
        clustered="path",
    )  # fmt: skip
    for form in ("rich", "markdown", "latex"):
        text = render([row], form)
        assert "half of the 95% interval, with paths as units" in text, form
        assert "Intervals hold for these scenes" in text, form


def test_ndtw_has_priority_over_rejections_and_steps() -> None:
    scores = [
        {"sr": 0.0, "spl": 0.0, "osr": 0.0, "ne": 9.0, "tl": 4.0, "ndtw": 0.2,
         "rejection_rate": 0.1, "steps": 3.0} for _ in range(80)
    ]  # fmt: skip
    row = summarize("a", scores, family="indoor", of=80)
    head = terminal([row], width=80).splitlines()[0]
    assert "nDTW" in head
    assert "Steps" not in head


@pytest.mark.parametrize("gap", [0.28, 0.32, 0.36, 0.42, 0.5, 0.8])
def test_bold_of_several_runs_is_what_compare_finds(gap: float) -> None:
    draws = random.Random(7)
    runs = []
    for shift in (0.0, 0.02, gap):
        run = {}
        for n in range(60):
            rate = float(draws.random() < 0.3 + shift)
            run[f"{n}"] = {
                "sr": rate,
                "spl": 0.9 * rate,
                "ne": draws.gauss(6 - 3 * shift, 1),
            }
        runs.append(run)
    rows = [
        summarize(name, [*run.values()], family="indoor", of=60)
        for name, run in zip("abc", runs, strict=True)
    ]
    keys = ["sr", "spl", "ne"]
    shown = [each for each in rows[0].metrics if each.key in keys]
    results = [
        compare("c", runs[2], name, run, family="indoor", metrics=shown)
        for name, run in zip("ab", runs[:2], strict=True)
    ]
    worst: dict[str, float] = {}
    for result in corrected(results):
        for line in result.lines:
            worst[line.metric.key] = max(worst.get(line.metric.key, 0.0), line.p)
    found = mark_best(rows, runs, keys)
    assert found[2].best == {key for key, p in worst.items() if p < 0.05}
    assert not found[0].best | found[1].best

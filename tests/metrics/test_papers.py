"""LaTeX tables of papers: columns of a preset, subscripts, and a footnote that explains them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from wayword.core.errors import UsageError
from wayword.metrics.intervals import Interval
from wayword.metrics.papers import PRESETS, missing_columns, paper_table
from wayword.metrics.scoring import by_key, scorer
from wayword.metrics.summary import Row, split_label, summarize
from wayword.metrics.table import render
from wayword.runs.reproduce import published_rows

FAMILIES = {
    "r2r": "indoor", "rxr": "indoor", "reverie": "indoor", "touchdown": "street",
    "objectnav": "objectnav", "alfred": "household", "babyai": "babyai", "robot": "objectnav",
}  # fmt: skip


def row(name: str, won: int = 20, **fields: object) -> Row:
    """A row of forty episodes of ten paths."""
    scores = [
        {"sr": float(n < won), "spl": float(n < won), "ne": 1.0 + n % 7, "tl": 9.0 + n % 5,
         "osr": float(n < won + 4), "ndtw": 0.5 + n / 100,
         "steps": 3.0, "calls": 0.0, "cost": 0.0}
        for n in range(40)
    ]  # fmt: skip
    return summarize(
        name, scores, family="indoor", of=40, dataset="r2r:val_seen", clustered="path",
        clusters=[n // 4 for n in range(40)], **fields,
    )  # fmt: skip


def test_columns_are_those_of_the_preset_in_its_order() -> None:
    lines = paper_table([row("a"), row("b")], "r2r").splitlines()
    head = next(line for line in lines if line.startswith("Method"))
    assert head == (
        r"Method & TL (m) & NE (m) $\downarrow$ & OSR (\%) $\uparrow$ & "
        r"SR (\%) $\uparrow$ & SPL (\%) $\uparrow$ & nDTW (\%) $\uparrow$ \\"
    )
    assert r"\begin{tabular}{@{}lllllll@{}}" in lines


def test_intervals_are_subscripts_and_the_footnote_counts_the_units() -> None:
    text = paper_table([row("a")], "r2r")
    assert r"$50.0_{\pm " in text or "$50.0_{[" in text
    assert "with 10 paths as independent units" in text
    assert r"95\% confidence interval" in text


def test_numbers_of_a_column_have_the_same_decimals() -> None:
    rows = [row("a")]
    for name, solved in (("one", 1), ("few", 3), ("most", 37)):
        scores = [{"sr": float(n < solved)} for n in range(40)]
        rows.append(summarize(name, scores, family="indoor", of=40))
    (sr,) = [each for each in rows[0].metrics if each.key == "sr"]
    text = paper_table(rows, "r2r", metrics=[sr]).replace(r"\phantom{0}", "")
    numbers = re.findall(r"[\d.]+", "".join(re.findall(r"\$.*_{.*\$", text)))
    assert len(numbers) >= 11
    assert all(re.fullmatch(r"\d+\.\d", number) for number in numbers), numbers
    assert {"[", "pm"} <= set(re.findall(r"\[|pm", text))


@pytest.mark.parametrize(
    ("others", "caption"),
    [
        ([], "R2R val-seen (40 episodes)"),
        ([{"of": 1021}], "R2R val-seen (40 of 40 to 1,021 episodes)"),
        (
            [{"dataset": "reverie:val_seen", "of": 1384}],
            "R2R val-seen (40 episodes) and REVERIE val-seen (40 of 1,384 episodes)",
        ),
    ],
)
def test_the_caption_counts_the_episodes_of_each_split(
    others: list[dict[str, object]], caption: str
) -> None:
    rows = [row("a"), *(replace(row("b"), **each) for each in others)]  # type: ignore[arg-type]
    assert f"\\caption{{Results on {caption}.}}" in paper_table(rows, "r2r")


def test_bold_and_upper_bounds_are_explained_only_where_they_occur() -> None:
    plain = paper_table([row("a"), row("b")], "r2r")
    assert "Bold" not in plain
    assert "dagger" not in plain
    best = replace(row("a"), best=frozenset({"sr"}))
    text = paper_table([best, row("oracle", 40, sees_answer=True)], "r2r")
    assert r"$\phantom{0}\mathbf{50.0}_" in text
    assert "Bold: better than every other method" in text
    assert "Holm's correction over methods and shown metrics" in text
    assert r"oracle$^\dagger$" in text
    # A metric that the preset does not print is not bold anywhere.
    hidden = replace(row("a"), best=frozenset({"sdtw", "cost"}))
    assert "Bold" not in paper_table([hidden, row("b")], "r2r")


def test_means_of_a_column_stand_above_each_other_by_their_points() -> None:
    text = paper_table([row("few", 2), row("half"), row("all", 40)], "r2r")
    cells = [line.split(" & ")[4] for line in text.splitlines() if " & " in line][1:]
    phantoms = [r"$\phantom{00}5.0_", r"$\phantom{0}50.0_", "$100.0_"]
    for cell, start in zip(cells, phantoms, strict=True):
        assert cell.startswith(start)


@pytest.mark.parametrize(
    ("preset", "environment"), [("r2r", "table*"), ("babyai", "table")]
)
def test_a_table_that_is_wider_than_a_column_is_of_a_page(
    preset: str, environment: str
) -> None:
    values = {**row("a").values, "plw_sr": row("a").values["sr"]}
    metrics = (*row("a").metrics, *scorer("babyai").metrics)
    wide = replace(row("a"), values=values, metrics=metrics, model="m" * 20)
    lines = paper_table([wide], preset).splitlines()
    assert lines[0] == f"\\begin{{{environment}}}[t]"
    assert lines[-1] == f"\\end{{{environment}}}"


def test_the_footnote_names_a_metric_without_interval_only_if_it_is_shown() -> None:
    shown = paper_table([row("a")], "r2r")
    assert "such as TL: fewer than 60 paths (10)." in shown
    hidden = paper_table([row("a")], "r2r", metrics=[by_key(row("a").metrics)["sr"]])
    assert "fewer than" not in hidden


def test_a_caveat_begins_with_a_capital_and_an_identifier_does_not() -> None:
    caveats = ("floors are inferred", "simulated:glip is a simulation")
    last = paper_table([row("a", caveats=caveats)], "r2r").splitlines()[-2]
    assert "Floors are inferred. simulated:glip is a simulation." in last


@pytest.mark.parametrize(
    ("theirs", "is_bold"), [(49.9, True), (50.0, False), (66.0, False)]
)
def test_a_mean_is_not_bold_where_a_published_one_is_as_good(
    theirs: float, is_bold: bool
) -> None:
    best = replace(row("a"), best=frozenset({"sr"}))
    mean = replace(best.values["sr"], mean=theirs / 100)
    paper = replace(row("paper"), values={**best.values, "sr": mean})
    text = paper_table([best, row("b")], "r2r", [paper])
    assert (r"\mathbf{50.0}" in text) == is_bold
    footnote = "better than every other method above the line ("
    assert (footnote in text) == is_bold
    assert ("over methods), unless a published mean is as good." in text) == is_bold


def test_columns_that_no_run_has_are_named() -> None:
    assert missing_columns([row("a"), row("b")], "reverie") == ["rgs", "rgspl"]
    assert not missing_columns([row("a")], "r2r")


def test_the_cost_of_an_agent_without_a_model_is_never_bold() -> None:
    free = replace(row("free"), best=frozenset({"cost", "calls", "sr"}))
    cells = render([free, row("b")], "latex").splitlines()[4]
    assert cells.count("mathbf") == 1
    assert r"\mathbf{50.0}" in cells


def test_text_of_runs_is_escaped() -> None:
    assert r"my\_run \& co" in paper_table([row("my_run & co")], "r2r")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_names_metrics_of_its_family(preset: str) -> None:
    known = by_key(scorer(FAMILIES[preset]).metrics)
    assert set(PRESETS[preset]) <= set(known)


def test_rows_without_the_metrics_and_unknown_presets_are_one_line() -> None:
    with pytest.raises(
        UsageError, match="--preset touchdown: a has no spd, kpa, tc; give"
    ):
        paper_table([row("a")], "touchdown")
    with pytest.raises(UsageError, match="--preset r2: did you mean 'r2r'"):
        paper_table([row("a")], "r2")


def test_published_rows_stand_below_a_rule_with_their_source_and_no_interval() -> None:
    ours = replace(
        row("mine"), values={**row("mine").values, "spl_gold": Interval(0.4)}
    )
    theirs = published_rows("navgpt/table-1", [ours])
    lines = paper_table([ours], "r2r", theirs).splitlines()
    below = lines[lines.index(r"\midrule", lines.index(r"\midrule") + 1) + 1]
    assert (
        below == r"NavGPT & gpt-4 & $11.45$ & $6.46$ & $42$ & $34$ & -- & $29$ & -- \\"
    )
    assert "(40 episodes)" in lines[2]
    assert "as published in NavGPT (Zhou et al. 2024), Table 1." in lines[-2]
    shown = render([ours, theirs[0]]).splitlines()
    terminal = next(line for line in shown if line.startswith("NavGPT "))
    assert "–" in terminal


def test_an_spl_is_in_the_column_of_its_papers_scorer() -> None:
    """EnvDrop's divides by the shortest path, DuET's and NavGPT's by the reference."""
    ours = replace(
        row("mine"), values={**row("mine").values, "spl_gold": Interval(0.4)}
    )
    theirs = published_rows("navgpt/table-1", [ours])
    lines = paper_table([ours], "r2r", theirs).splitlines()
    cells = {}
    for line in lines:
        cells[line.split(" & ")[0]] = line.removesuffix(r" \\").split(" & ")[6:8]
    spl = r"(\%) $\uparrow$"
    assert cells["Method"] == [f"SPL {spl}", f"SPL gold {spl}"]
    assert cells["mine"][0].startswith("$50.0_")
    assert cells["mine"][1] == "$40.0$"
    assert cells["EnvDrop"] == ["$48$", "--"]
    assert cells["DuET"] == ["--", "$60$"]
    assert cells["NavGPT"] == ["--", "$29$"]


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_published_rows_have_the_digits_of_the_paper(form: str) -> None:
    ours = replace(
        row("mine"), values={**row("mine").values, "spl_gold": Interval(0.4)}
    )
    text = render([ours, *published_rows("navgpt/table-3", [ours])], form)
    for printed in ("11.11", "15.97", "9.83", "13.00"):
        assert printed in text


def test_a_published_table_of_another_benchmark_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"--published velma/table-2: it has .* none"):
        published_rows("velma/table-2", [row("a")])


FORMS = ("rich", "markdown", "latex", "paper")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("split", "of", "warned"),
    [
        ("houses:test", 40, "mine (houses:test)"),
        ("r2r:val_seen", 40, "mine (R2R val-seen)"),
        ("r2r:val_unseen", 2349, "mine (R2R val-unseen, 40 of 2,349 episodes)"),
        ("r2r:val_unseen", 40, ""),
    ],
)
def test_the_split_of_published_rows_is_named_and_other_episodes_are(
    form: str, split: str, of: int, warned: str
) -> None:
    ours = replace(row("mine"), dataset=split, of=of)
    theirs = published_rows("navgpt/table-1", [ours])
    if form == "paper":
        text = paper_table([ours], "r2r", theirs)
    else:
        text = render([ours, *theirs], form, 200)
    text = text.replace("\\", "")
    assert "Published results are on R2R val-unseen." in text
    assert text.count("NavGPT (Zhou et al. 2024), Table 1") == 1
    expected = [f"Not comparable with the published results: {warned}."]
    found = re.findall(r"Not comparable [^.]*\.", text)
    assert found == (expected if warned else [])


def test_published_rows_of_several_splits_have_a_column() -> None:
    ours = summarize(
        "mine", [{"tc": 0.1, "spd": 9.0}], family="street", of=1,
        dataset="touchdown:unseen_dev",
    )  # fmt: skip
    theirs = published_rows("velma/table-2", [ours])
    text = paper_table([ours], "touchdown", theirs).replace("\\", "")
    assert "VELMA-GPT-4, Map2seq dev & gpt-4 & Map2seq unseen-dev" in text
    assert "ORAR, Touchdown test & -- & Touchdown unseen-test" in text
    assert "Not comparable" not in text


def test_alfred_has_its_name_and_says_how_its_columns_are_averaged() -> None:
    scores = [{"sr": 1.0, "goal_sr": 1.0, "plw_sr": 0.5, "plw_goal_sr": 0.5}]
    on = "household:valid_seen"
    ours = summarize("mine", scores, family="household", of=1, dataset=on)
    text = paper_table([ours], "alfred")
    assert "Results on ALFRED valid-seen (1 episode)" in text
    assert "means per episode; ALFRED's code pools" in text
    assert "ALFRED" not in paper_table([row("a")], "r2r")
    assert split_label("household:generated_test") == "household:generated_test"


def test_a_published_row_on_data_of_its_own_is_on_no_split_of_ours() -> None:
    ours = summarize("mine", [{"sr": 1.0}], family="household", of=1, dataset="a:b")
    theirs = published_rows("lats/webshop", [ours])
    assert "Published results are on data of its own." in render([ours, *theirs])


@pytest.mark.parametrize("form", FORMS)
def test_runs_of_other_episodes_than_the_first_are_named(form: str) -> None:
    """A reader must not compare means over 2 episodes with means over 3 others."""
    first = replace(row("nav"), played=frozenset("ab"))
    rows = [
        first,
        replace(row("same"), played=frozenset("ba")),
        replace(row("random"), played=frozenset("bcd")),
        replace(row("elsewhere"), dataset="r2r:val_unseen", played=frozenset("xyz")),
        row("unknown"),
    ]
    note = (
        "Not comparable with nav (2 episodes), because of other episodes: "
        "random (3, 1 shared)."
    )
    assert text_of(rows, form).count(note) == 1
    assert "Not comparable" not in text_of([*rows[:2], *rows[3:]], form)


def text_of(rows: list[Row], form: str) -> str:
    """A table in a format, without the signs of LaTeX."""
    text = paper_table(rows, "r2r") if form == "paper" else render(rows, form, 200)
    return text.replace("\\", "")


@pytest.mark.parametrize("form", FORMS)
def test_a_published_spl_of_another_definition_is_defined(form: str) -> None:
    ours = replace(
        row("mine"), values={**row("mine").values, "spl_gold": Interval(0.4)}
    )
    theirs = published_rows("navgpt/table-1", [ours])
    if form == "paper":
        text = paper_table([ours], "r2r", theirs)
    else:
        text = render([ours, *theirs], form, 300)
    defined = (
        "SPL gold: success x G / max(TL, G), with the length G of the reference path."
    )
    assert text.count(defined) == 1
    assert "SPL gold:" not in text_of([ours], form)

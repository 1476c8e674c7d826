"""Sweeps: one run a value, one table, one picture; the same command resumes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.datasets.houses import Houses
from wayword.metrics.intervals import Interval
from wayword.runs import sweep as sweeps
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.reports import rows_of, table
from wayword.runs.running import run
from wayword.runs.selection import choose
from wayword.runs.sweep import draw, picture, seeds, variants

SVG = "{http://www.w3.org/2000/svg}"


def sweep(out: Path, *more: str) -> str:
    given = [
        "run",
        "random",
        "--on",
        "houses",
        "--limit",
        "3",
        "--out",
        str(out),
        *more,
    ]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_value_is_a_run_and_the_picture_shows_them_all(tmp_path: Path) -> None:
    text = sweep(tmp_path / "s", "--sweep", "steps=1,4,9")
    folders = sorted(path.parent.name for path in tmp_path.glob("s/*/run.json"))
    assert folders == ["steps=1", "steps=4", "steps=9"]
    longest = {
        name: max(s["steps"] for _, s in RunFolder.read(tmp_path / "s" / name).scores())
        for name in folders
    }
    assert longest == {"steps=1": 2, "steps=4": 5, "steps=9": 10}  # and the stop
    assert "steps=4" in text
    assert str(tmp_path / "s" / "sweep.svg") in text.replace("\n", "")
    drawn = ElementTree.fromstring((tmp_path / "s" / "sweep.svg").read_text())
    texts = [element.text for element in drawn.iter(f"{SVG}text")]
    assert {"1", "4", "9", "steps", "SR"} <= set(texts)


def test_the_picture_of_a_cascade_has_its_success_and_its_cost(tmp_path: Path) -> None:
    settings = {"dataset": {"houses": 1, "episodes": 2}}
    plan = Plan("act", "houses", "cascade:scripted:noise,scripted:first", settings, limit=2,
                max_steps=2, out=tmp_path)  # fmt: skip
    made = variants(plan, ["model.samples=1,3"])
    for each in made:
        run(each.plan)
    assert picture(made) == tmp_path / "sweep.svg"
    texts = [
        each.text
        for each in ElementTree.parse(tmp_path / "sweep.svg").iter(f"{SVG}text")
    ]
    assert texts[-3:] == ["SR", "Large %", "SPL"]


def test_several_settings_are_combined(tmp_path: Path) -> None:
    plan = Plan("random", "houses", settings={"dataset": {"seed": 7}}, out=tmp_path)
    made = variants(plan, ["steps=1,2", "dataset.views=12,24"])
    assert [v.choices for v in made] == [
        (("steps", "1"), ("dataset.views", "12")),
        (("steps", "1"), ("dataset.views", "24")),
        (("steps", "2"), ("dataset.views", "12")),
        (("steps", "2"), ("dataset.views", "24")),
    ]
    assert made[1].plan.settings == {"dataset": {"seed": 7, "views": 24}, "steps": 1}
    assert made[1].plan.out == tmp_path / "steps=1,dataset.views=24"


def test_a_value_of_a_sweep_replaces_the_setting_of_the_plan() -> None:
    plan = Plan("random", "houses", settings={"steps": 9, "dataset": {"views": 36}})
    made = variants(plan, ["steps=1,2", "dataset.views=12,24"])
    settings = [each.plan.settings for each in made]
    assert [each["steps"] for each in settings] == [1, 1, 2, 2]
    assert [each["dataset"]["views"] for each in settings] == [12, 24, 12, 24]


@pytest.mark.parametrize(
    "changes",
    [
        {"agent": "oracle"},
        {"on": "towns"},
        {"model": "scripted:noise"},
        {"settings": {"dataset": {"seed": 8}}},
        {"seed": 1},
        {"max_steps": 3},
        {"first": True},
        {"shuffle": 1},
        {"shard": "1/2"},
        {"actors": {"helper": "random"}},
        {"ask": "terminal"},
        {"remember": "scene"},
    ],
)
def test_sweeps_of_other_runs_have_other_folders(changes: dict[str, Any]) -> None:
    plan = Plan("random", "houses", "scripted:first", {"dataset": {"seed": 7}})

    def folder(plan: Plan, sweep: str = "steps=1,2") -> Path:
        (common,) = {each.plan.out.parent for each in variants(plan, [sweep])}  # type: ignore[union-attr]
        return common

    assert folder(plan) == folder(replace(plan))
    assert folder(plan) == folder(replace(plan, concurrency=1, limit=3)), "resumes"
    assert folder(plan) != folder(plan, "steps=1,2,3")
    assert folder(plan) != folder(replace(plan, **changes))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["steps"], "KEY=VALUE,VALUE"),
        (["steps=1"], "at least two values"),
        (["steps=1,1"], "a value is repeated"),
        (["steps=1,2", "steps=3,4"], "steps has a sweep already"),
        (["=1,2"], "KEY=VALUE,VALUE"),
        (["seed=1,-1"], "--sweep seed=-1: a seed must be an integer of at least 0"),
        (["seed=1,a"], "--sweep seed=a: a seed must be an integer of at least 0"),
    ],
)
def test_a_sweep_that_is_none_is_named(given: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        variants(Plan("random", "houses"), given)


def test_a_sweep_has_a_limited_number_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "MAX_RUNS", 4)
    plan = Plan("random", "houses")
    assert len(variants(plan, ["steps=1,2", "seed=0,1"])) == 4
    with pytest.raises(UsageError, match="--sweep: a sweep must have at most 4 runs"):
        variants(plan, ["steps=1,2,3", "seed=0,1"])
    assert [v.plan.seed for v in variants(plan, [seeds(3)])] == [0, 1, 2]
    with pytest.raises(UsageError, match="--seeds must be at least 1, got 0"):
        seeds(0)
    with pytest.raises(UsageError, match="--seeds: a sweep must have at most 4"):
        seeds(5)


def test_values_lie_to_scale_and_words_in_order() -> None:
    def heights(*names: str) -> list[float]:
        curves = {"SR": {name: Interval(0.5, 0.4, 0.6) for name in names}}
        drawn = ElementTree.fromstring(draw("x", curves))
        return [float(c.attrib["cx"]) for c in drawn.iter(f"{SVG}circle")]

    left, middle, right = heights("0", "1", "4")
    assert (middle - left) / (right - left) == pytest.approx(0.25)
    left, middle, right = heights("low", "some", "high")
    assert (middle - left) / (right - left) == pytest.approx(0.5)


@pytest.mark.parametrize("names", [("4", "0", "1"), ("high", "low", "some")])
def test_a_curve_runs_from_left_to_right(names: tuple[str, ...]) -> None:
    """Numbers by their size, words in the order of the command; whatever each curve's order."""
    curves = {
        "SR": {name: Interval(0.5) for name in names},
        "SPL": {name: Interval(0.4) for name in reversed(names)},
    }
    drawn = ElementTree.fromstring(draw("x", curves))
    points = [float(each.attrib["cx"]) for each in drawn.iter(f"{SVG}circle")]
    assert points == sorted(points[:3]) * 2
    lines = [
        each.attrib["d"]
        for each in drawn.iter(f"{SVG}path")
        if each.get("fill") == "none"
    ]
    for line in lines:
        along = [float(point.split()[0]) for point in line[1:].split("L")]
        assert along == sorted(along), line


def test_a_single_episode_has_a_point_and_no_interval() -> None:
    drawn = draw("<b>", {"SR & more": {"1": Interval(1.0), "2": Interval(0.0)}})
    assert "nan" not in drawn
    assert "<b>" not in drawn
    assert drawn.count('h18" stroke="#1f5fa8" stroke-width="2"') == 1, (
        "the legend's line"
    )
    ElementTree.fromstring(drawn)


def test_several_seeds_end_in_one_pooled_row(tmp_path: Path) -> None:
    text = sweep(tmp_path / "s", "--seeds", "3")
    folders = sorted(path.parent for path in tmp_path.glob("s/*/run.json"))
    assert [folder.name for folder in folders] == ["seed=0", "seed=1", "seed=2"]
    walks = [
        [r.trajectory.visited("agent") for r in RunFolder.read(f).records()]
        for f in folders
    ]
    assert walks[0] != walks[1]
    assert "random (3 seeds)" in text
    (row,) = json.loads(table(folders, "json", pool=True))["rows"]
    assert (row["n"], row["runs"]) == (9, 3)
    rates = [
        one["metrics"]["sr"]["mean"]
        for one in json.loads(table(folders, "json"))["rows"]
    ]
    assert row["metrics"]["sr"]["mean"] == pytest.approx(sum(rates) / 3)


def test_runs_that_differ_in_more_than_seeds_are_not_pooled(tmp_path: Path) -> None:
    sweep(tmp_path / "s", "--seeds", "2", "--sweep", "steps=1,4")
    rows = json.loads(table([tmp_path / "s"], "json", pool=True))["rows"]
    assert [row["runs"] for row in rows] == [2, 2]


def test_chosen_episodes_are_played_in_their_order(tmp_path: Path) -> None:
    given = [
        "run",
        "random",
        "--on",
        "houses",
        "--out",
        str(tmp_path / "r"),
        "--episodes",
    ]
    ids = [task.episode.id for task in Houses().tasks[:9]]
    result = CliRunner().invoke(app, [*given, f"{ids[7]}, {ids[2]}"])
    assert result.exit_code == 0, result.output
    assert {name for name, _ in RunFolder.read(tmp_path / "r").scores()} == {
        ids[7],
        ids[2],
    }
    plan = Plan("random", "houses", episodes=(ids[7], ids[2]))
    assert list(choose(plan, Houses().tasks)) == [7, 2]
    with pytest.raises(UsageError, match="houses has no episode 'nobody'"):
        choose(Plan("random", "houses", episodes=("nobody",)), Houses().tasks)
    with pytest.raises(UsageError, match=r"remove .*--limit"):
        Plan("random", "houses", episodes=(ids[0],), limit=3)


def test_several_datasets_and_models_are_a_run_each(tmp_path: Path) -> None:
    given = ["run", "act", "--on", "houses,towns", "--limit", "1", "--max-steps", "2"]
    given += [
        "--model",
        "scripted:first",
        "--model",
        "scripted:noise",
        "--out",
        str(tmp_path / "s"),
    ]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    runs = {
        path.parent.name: RunFolder.read(path.parent)
        for path in tmp_path.glob("s/*/run.json")
    }
    identities = {name: run.config["identity"] for name, run in runs.items()}
    assert {
        n: (each["dataset"], each["models"]["main"]) for n, each in identities.items()
    } == {
        f"on={on},model=scripted_{name}": (f"{on}:test", f"scripted:{name}")
        for on in ("houses", "towns")
        for name in ("first", "noise")
    }
    result = CliRunner().invoke(app, [*given, "--dry-run"])
    assert result.output.count("1 episodes, ") == 4
    assert "total: " in result.output


def test_runs_without_a_common_rate_have_no_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = variants(
        Plan("random", "houses", limit=1, out=tmp_path), ["on=houses,towns"]
    )
    run(one.plan)
    run(replace(other.plan, on="houses", settings={}, limit=2))
    assert picture([one, other]) == tmp_path / "sweep.svg"
    rows = rows_of([one.plan.out, other.plan.out])
    without_metrics = [replace(row, metrics=()) for row in rows]
    monkeypatch.setattr("wayword.runs.sweep.rows_of", lambda folders: without_metrics)
    assert picture([one, other]) is None


def test_the_recipe_of_a_sweep_may_name_datasets() -> None:
    first, second = variants(Plan("random", "tour"), ["on=houses,r2r:val_seen"])
    assert (first.plan.on, second.plan.on) == ("houses", "r2r:val_seen")
    assert second.name == "on=r2r_val_seen"


@pytest.mark.parametrize(
    "given", [["--limit", "1", "--limit", "2"], ["--out", "a", "--out", "b"]]
)
def test_an_option_given_twice_is_refused(given: list[str]) -> None:
    result = CliRunner().invoke(app, ["run", "random", *given])
    assert str(result.exception) == f"{given[0]} is given 2 times; give it once"

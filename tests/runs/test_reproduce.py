"""Recipes of published tables: every one runs, resumes, and stands beside what was published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import yaml
from typer.testing import CliRunner, Result

from wayword.agents.search.lgx import PromptName
from wayword.cli.app import app
from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.metrics.intervals import Interval
from wayword.runs import reproduce
from wayword.runs.catalog import other_splits
from wayword.runs.opening import shared_datasets
from wayword.runs.reproduce import (
    Prepared,
    Recipe,
    RecipeOptions,
    RecipeRow,
    ReproducedRow,
)
from wayword.runs.running import run
from wayword.settings import make

NAMED = (
    *("navgpt/table-1", "navgpt/table-2", "navgpt/table-3"),
    "mapgpt/r2r",
    *("discussnav/table-1", "discussnav/table-2", "discussnav/table-3"),
    *("velma/table-2", "velma/table-3", "velma/figure-5"),
    *("lgx/table-1", "lgx/table-3", "lgx/table-4", "lgx/table-5"),
    *("lgx/figure-5", "lgx/two-phase"),
    *(f"langsuite/table-{number}" for number in range(3, 8)),
    *("llm_planner/alfred", "lats/webshop", "navcot/r2r", "esc/objectnav"),
    "ivln/ir2r",
)


@pytest.fixture(scope="module", autouse=True)
def _no_data() -> Iterator[None]:
    """Without published data every row is played on its stand-in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WAYWORD_DATA", raising=False)
        yield


def wayword(*words: object) -> Result:
    """The command in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[ReproducedRow]]:
    """Every recipe at ``--limit 2``, all of its rows, with a scripted model."""
    wishes = RecipeOptions(
        model="scripted:first",
        limit=2,
        max_steps=2,
        seeds=1,
        out=tmp_path_factory.mktemp("all"),
    )
    texts_by_key = {}
    with shared_datasets():
        for name in NAMED:
            recipe = reproduce.open_recipe(name)
            texts_by_key[name] = [
                _row(recipe, row) for row in reproduce.prepare(recipe, wishes)
            ]
    return texts_by_key


def _row(recipe: Recipe, row: Prepared) -> ReproducedRow:
    for plan in row.plans:
        assert run(plan).outcome.complete
    return reproduce.compare_row(row, list(recipe.metrics))


def test_every_table_is_listed_with_its_published_rows() -> None:
    assert set(NAMED) == set(reproduce.names())
    output = wayword("reproduce").stdout
    for name in (*NAMED, *reproduce.without_runs()):
        assert name in output
    for name in NAMED:
        recipe = reproduce.open_recipe(name)
        assert recipe.differs
        assert "\n" not in recipe.differs.strip()
        assert output.splitlines().count(f"{'':<24} differs: {recipe.differs}") >= 1, (
            name
        )
        figures = [row for row in recipe.rows if row.published]
        assert figures or name == "lgx/figure-5"  # that figure prints no numbers
        for row in recipe.rows:
            assert set(row.published) <= set(recipe.metrics), row.name
            assert row.absent or (row.sources and row.agent and row.differs), row.name


@pytest.mark.parametrize("name", NAMED)
def test_each_runs_with_a_scripted_model(
    name: str, played: dict[str, list[ReproducedRow]]
) -> None:
    rows = played[name]
    recipe = reproduce.open_recipe(name)
    assert len(rows) == len(recipe.rows)
    for row, source in zip(rows, recipe.rows, strict=True):
        if source.absent:
            assert not row.ours
            assert row.missing == source.absent
            continue
        assert row.n == 2
        assert row.cost == 0.0
        stand_in = len(source.sources) > 1 and not source.sources[0].split.startswith(
            "grounding:"
        )
        assert any(line.startswith("played on") for line in row.differs) == stand_in, (
            row.name
        )
        if name != "lgx/figure-5":  # two episodes hold no more than two of its classes
            assert row.ours, row.name
    shown = reproduce.render(recipe, rows, "rich")
    assert recipe.source in shown
    assert all(
        f"({value:g})" in shown
        for row in recipe.rows
        for value in row.published.values()
    )


def test_rows_carry_what_the_released_code_ran() -> None:
    def rows(name: str) -> list[RecipeRow]:
        return [row for row in reproduce.open_recipe(name).rows if not row.absent]

    for row in [
        row for number in (3, 4, 5, 7) for row in rows(f"langsuite/table-{number}")
    ]:
        assert row.settings["shots"] == 1
        for source in row.sources:
            name = source.split.partition(":")[0]
            state = {**row.settings, **source.settings}.get("own_state", "always")
            assert state == ("always" if name == "ma_wah" else "start"), row.name
            if name.startswith("grounding"):
                continue
            settings = make(
                registry.load("dataset", name).Settings, source.dataset, name
            )
            body = settings.make_body()
            seen = body.view_distance, body.manipulation_distance, body.pan_degrees
            with_skills = source.dataset["actions"] == "high"
            metres = 5.0 if name == "iqa" and with_skills else 2.0
            assert seen == (metres, metres, 0.0), row.name
            alone = not name.startswith("ma_")
            assert body.looks_around == (with_skills and alone), row.name
            assert body.view_angle == pytest.approx(
                60 if name == "iqa" else 121.9, abs=0.1
            )
            assert body.inventory_capacity == {"household": 5, "ma_wah": 2}.get(name, 1)
            assert body.step_limit == (50 if name.startswith("ma_") else 0)
            assert name != "ma_household" or settings.commander == {
                "view_distance": 10.0
            }
            assert row.steps == (100 if name.startswith("ma_") else 50)
    navgpt = [row for n in (1, 2, 3) for row in rows(f"navgpt/table-{n}")]
    assert {row.steps for row in [*navgpt, rows("discussnav/table-1")[1]]} == {10}
    assert not any(row.settings["slopes"] for row in navgpt)
    assert rows("navgpt/table-3")[0].published["sr"] == pytest.approx(15.97 - 4.86)
    requests = [
        row for n in (1, 3, 4) for row in rows(f"lgx/table-{n}") if row.agent == "lgx"
    ]
    assert {
        (row.settings["temperature"], row.settings["max_tokens"]) for row in requests
    } == {(0.7, 50)}
    prompts = [row.settings["prompt"] for row in rows("lgx/table-4")]
    assert sorted(prompts) == sorted(get_args(PromptName))
    remarks = {row.name: row.differs for row in rows("lgx/table-3")}
    assert len(remarks["LGX, captions"]) == 2
    for name in ("lgx/table-1", "lgx/table-3"):
        for row in rows(name):  # rate and path length by one definition of success
            assert set(row.published) == {"success_grounded", "spl_grounded"}
            assert row.published["spl_grounded"] <= row.published["success_grounded"]
    velma = [
        row
        for name in ("table-2", "table-3", "figure-5")
        for row in rows(f"velma/{name}")
    ]
    velma = [row for row in velma if row.agent == "velma"]
    assert {row.settings["observations"] for row in velma} == {"joined"}
    # the released loop ends when 56 actions have been taken
    assert {row.steps for row in velma} == {56}
    # the adapters were trained on bare names of actions
    for row in velma:
        assert row.settings["glosses"] == ("LoRA" not in row.models["main"]), row.name
    tuned = [row for row in rows("velma/table-2") if "LoRA" in row.models["main"]]
    assert all("raphael-sch/VELMA" in row.differs[0] for row in tuned)


def test_rows_above_what_an_expert_reaches_are_marked() -> None:
    """Every row of LangSuitE states the expert's scores; none above them is unmarked."""
    for number in (3, 4, 5, 7):
        recipe = reproduce.open_recipe(f"langsuite/table-{number}")
        for row in recipe.rows:
            expert = row.sources[0].expert
            assert expert, row.name
            above = [key for key in expert if row.published.get(key, 0) > expert[key]]
            marked = any(line.startswith("not comparable") for line in row.differs)
            assert marked == bool(above), row.name
    (row,) = [
        row
        for row in reproduce.open_recipe("langsuite/table-3").rows
        if row.name == "Reflexion, high-level, IQA contains"
    ]
    assert not any("not comparable" in line for line in row.differs)


def test_notes_name_only_what_a_row_uses(
    played: dict[str, list[ReproducedRow]],
) -> None:
    """No detector looks in two_phase; the paper's model is named only next to its figures."""
    lgx = played["lgx/two-phase"][0]
    assert not any("simulated:" in line for line in lgx.differs)
    assert any("in the paper main: text-davinci-003" in line for line in lgx.differs)
    assert any("simulated:glip" in line for line in played["lgx/table-3"][3].differs)
    ours = [row for row in played["lats/webshop"] if not row.missing]
    for row in ours:
        assert any(
            "the recipe's is main: gpt-3.5-turbo" in line for line in row.differs
        )
        assert not any("in the paper" in line.split(";")[-1] for line in row.differs)


def test_reflexion_rows_state_their_trials_and_their_judge() -> None:
    for number in (3, 4, 5, 7):
        for row in reproduce.open_recipe(f"langsuite/table-{number}").rows:
            stated = row.settings.get("trials"), row.settings.get("verdict")
            expected = (3, "judge") if "reflexion" in row.agent else (None, None)
            assert stated == expected, row.name


def test_rates_are_compared_in_percent(played: dict[str, list[ReproducedRow]]) -> None:
    record = json.loads(
        reproduce.render(
            reproduce.open_recipe("lgx/two-phase"), played["lgx/two-phase"], "json"
        )
    )
    (lgx, *_) = record["rows"]
    assert lgx["published"] == {"sr": 54.2}
    assert 0.0 <= lgx["ours"]["sr"]["mean"] <= 100.0
    assert lgx["ours"]["sr"]["mean"] in (0.0, 50.0, 100.0)
    assert lgx["runs"]
    ours = ReproducedRow(
        "x", {"sr": 34.0}, {"sr": Interval(40.0, 30.0, 50.0)}, 10, 100, cost=1.5
    )
    shown = reproduce.render(_small(), [ours], "markdown")
    assert "| x | 10 of 100 | 40.00 ±10.00<br>(34) | $1.50 |" in shown
    shown = reproduce.render(_small(), [ours], "latex")
    assert r"x & $10\ \mathrm{of}\ 100$ & $40.00 \pm10.00\ (34)$ & $\$1.50$ \\" in shown


def _small() -> Recipe:
    return Recipe("a/b", "title", "source", "nothing", {"sr": "SR"}, ())


def test_the_same_command_goes_on_and_tables_share_runs(tmp_path: Path) -> None:
    words = ["--model", "scripted:first", "--out", tmp_path, "--max-steps", 2, "--row"]
    first = wayword(
        "reproduce", "navgpt/table-2", *words, "3:", "--limit", 1, "--format", "json"
    )
    again = wayword(
        "reproduce", "navgpt/table-3", *words, "3:", "--limit", 2, "--format", "json"
    )
    assert first.exit_code == again.exit_code == 0
    one, two = (json.loads(done.stdout)["rows"][0] for done in (first, again))
    assert one["runs"] == two["runs"]
    assert (one["n"], two["n"]) == (1, 2)
    assert "1 of 2 episodes was already finished" in again.stderr
    assert "played on houses:test instead of r2r:sample72" in first.stderr
    assert any(
        "only 1 episodes, a random sample (--shuffle 0)" in line
        for line in one["differs"]
    )


def test_episodes_can_be_shuffled(tmp_path: Path) -> None:
    recipe = reproduce.open_recipe("lgx/table-3")
    for shuffle in (None, 0, 3):
        wishes = RecipeOptions(
            model="scripted:first", limit=1, out=tmp_path, shuffle=shuffle
        )
        rows = [row for row in reproduce.prepare(recipe, wishes) if row.plans]
        for row in rows:
            assert row.plans[0].shuffle == (
                row.row.shuffle if shuffle is None else shuffle
            )
            sample = f"a random sample (--shuffle {shuffle or 0})"
            assert f"only 1 episodes, {sample}" in row.differs
    first = RecipeOptions(model="scripted:first", limit=1, out=tmp_path, first=True)
    rows = [row for row in reproduce.prepare(recipe, first) if row.plans]
    assert all("only the first 1 episodes" in row.differs for row in rows)


def test_a_paper_lists_its_tables() -> None:
    output = wayword("reproduce", "navgpt").stdout
    assert output == f"{reproduce.listing('navgpt')}\n"
    assert "navgpt/table-1" in output
    assert "velma" not in output


def test_no_money_is_spent_on_stand_in_data_unasked(tmp_path: Path) -> None:
    wishes = RecipeOptions(model="openai:gpt-4.1", limit=1, out=tmp_path)
    recipe = reproduce.open_recipe("navgpt/table-1")
    row = reproduce.prepare(recipe, wishes)[0]
    assert not row.plans
    assert "add --stand-in to play houses:test instead" in row.missing
    assert reproduce.prepare(recipe, replace(wishes, stand_in=True))[0].plans


def test_a_missing_split_names_the_splits_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ["r2r:val_seen"]
    monkeypatch.setattr(reproduce, "other_splits", lambda on, folder: here)
    wishes = RecipeOptions(model="openai:gpt-4.1", limit=1, out=tmp_path)
    recipe = reproduce.open_recipe("navgpt/table-1")
    row = reproduce.prepare(recipe, wishes)[0]
    problem = "you have r2r:val_seen, whose results do not compare with the paper's"
    assert f"{problem}: wayword run navgpt --on r2r:val_seen; add --stand-in" in (
        row.missing
    )


def test_other_splits_are_those_on_this_machine() -> None:
    assert "houses:test" not in other_splits("houses:test", None)
    assert "houses:train" in other_splits("houses:test", None)


def test_what_the_user_says_wins_and_is_reported(tmp_path: Path) -> None:
    recipe = reproduce.open_recipe("lgx/table-3")
    wishes = RecipeOptions(
        model="scripted:first",
        limit=1,
        settings={"decoding": "constrained"},
        out=tmp_path,
    )
    rows = {row.row.name: row for row in reproduce.prepare(recipe, wishes)}
    (plan,) = rows["LGX, object lists"].plans
    assert plan.settings["decoding"] == "constrained"
    assert "decoding" not in rows["CoW"].plans[0].settings  # a baseline asks nothing
    assert any("your settings" in line for line in rows["LGX, object lists"].differs)
    with pytest.raises(
        UsageError, match="--set decodng: no agent of lgx/table-3 has this"
    ):
        reproduce.prepare(recipe, replace(wishes, settings={"decodng": "free"}))
    with pytest.raises(UsageError, match="has no row"):
        reproduce.prepare(recipe, replace(wishes, rows=("nothing",)))
    with pytest.raises(UsageError, match="in the paper main: text-davinci-003"):
        reproduce.prepare(recipe, replace(wishes, model=""))


def test_a_row_says_whose_prompts_it_was_played_with(tmp_path: Path) -> None:
    """A folder of the agent's name goes first; agents without a model have no prompts."""
    (tmp_path / "lgx").mkdir()
    record = {"system": "lgx", "variant": ""}
    (tmp_path / "lgx" / "source.json").write_text(json.dumps(record))
    wishes = RecipeOptions(
        model="scripted:first", limit=1, out=tmp_path / "runs", prompts=tmp_path
    )
    rows = reproduce.prepare(reproduce.open_recipe("lgx/table-3"), wishes)
    played = {row.row.agent: row for row in rows if row.plans}
    named = "differs from it in: names, found, failures"
    assert played["lgx"].differs[0] == f"prompts of lgx's released code; {named}"
    assert not [line for line in played["lgx"].differs if reproduce.OUR_WORDS in line]
    assert played["lgx"].plans[0].settings["prompts"] == str(tmp_path / "lgx")
    assert "prompts" not in played["frontier"].plans[0].settings
    own = replace(wishes, prompts=tmp_path / "lgx")
    (row,) = reproduce.prepare(
        reproduce.open_recipe("navgpt/table-1"), replace(own, rows=("NavGPT",))
    )
    assert row.differs[0] == f"prompts of lgx's released code; {named}"


def test_models_by_role_are_those_of_the_paper_where_requested(tmp_path: Path) -> None:
    recipe = reproduce.open_recipe("discussnav/table-1")
    wishes = RecipeOptions(model="published", out=tmp_path, stand_in=True)
    (plan,) = reproduce.prepare(recipe, wishes)[0].plans
    assert plan.model == "openai:gpt-4"
    assert plan.settings["models"] == {
        "summary": "openai:gpt-3.5-turbo",
        "fusion": "openai:gpt-3.5-turbo",
    }


def test_a_name_that_is_no_recipe_is_answered_in_one_line() -> None:
    with pytest.raises(UsageError, match="navgpt/table-1"):
        reproduce.open_recipe("navgpt/table1")
    with pytest.raises(
        UsageError, match=r"has no results to reproduce: .*not scored in the paper"
    ):
        reproduce.open_recipe("navgpt/figure-4")


def test_the_files_are_plain_data() -> None:
    for name in NAMED:
        tree = yaml.safe_load((reproduce.FOLDER / f"{name}.yaml").read_text("utf-8"))
        parts = {"title", "source", "differs", "metrics", "data", "defaults", "rows"}
        assert set(tree) == parts
        for row in tree["rows"]:
            texts_by_key = {**tree["defaults"], **row}
            assert "absent" in row or {"agent", "steps", "seeds", "data"} <= set(
                texts_by_key
            ), row


@pytest.mark.parametrize("name", ["navgpt/table-3", "lgx/two-phase", "velma/figure-5"])
def test_the_forecast_of_a_script_is_what_is_then_measured(
    name: str, played: dict[str, list[ReproducedRow]]
) -> None:
    done = wayword(
        *(
            "reproduce",
            name,
            "--model",
            "scripted:first",
            "--limit",
            2,
            "--max-steps",
            2,
        ),
        *("--seeds", 1, "--dry-run"),
    )
    total = done.stdout.splitlines()[-1]
    lines = [
        int(word.replace(",", "")) for word in total.split() if word[0].isdecimal()
    ]
    assert sum(lines) == pytest.approx(
        sum(row.tokens for row in played[name]), rel=0.01
    )
    assert total.endswith("$0.00")


def test_a_named_model_has_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = (
        "reproduce",
        "navgpt/table-3",
        "--row",
        "1:",
        "--limit",
        2,
        "--dry-run",
        "--model",
    )
    dear, cheap = (
        float(
            wayword(*words, f"openai:{name}")
            .stdout.rpartition("cost: $")[2]
            .split()[0]
            .rstrip(";")
        )
        for name in ("gpt-4", "gpt-4o")
    )
    assert dear > 5 * cheap > 0

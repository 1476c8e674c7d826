"""A whole run in one file, and what a command line shows while it waits or where it ends badly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wayword.cli import reporting
from wayword.cli.show import notice_later, progress
from wayword.core import registry
from wayword.core.errors import RecordingError, UsageError
from wayword.metrics.compare import compare, render
from wayword.runs.plan import Plan, RunRecipe, agents_of, read_config, read_recipe
from wayword.runs.record import RunFolder
from wayword.runs.running import run

FULL_RECIPE = """
agent: navgpt
on: houses
model: scripted:first
settings: {decoding: free, model.repeat: true, dataset: {houses: 2}}
limit: 3
max_steps: 4
max_dollars: 5
continue: ""
sweep: ["max_tokens=20,40"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(text)
    return path


def test_a_recipe_is_a_plan(tmp_path: Path) -> None:
    recipe = read_recipe(written(tmp_path, FULL_RECIPE))
    plan: Plan = recipe
    assert (plan.agent, plan.on, plan.limit, plan.max_dollars) == (
        "navgpt",
        "houses",
        3,
        5.0,
    )
    assert plan.group("model") == {"repeat": True}
    assert plan.group("dataset") == {"houses": 2}
    assert recipe.sweep == ("max_tokens=20,40",)
    own = RunRecipe("my.yaml", limit=1, settings={"captions": False})
    mixed = own.over(recipe, {"limit", "settings"})
    assert (mixed.agent, mixed.limit, mixed.max_steps) == ("navgpt", 1, 4)
    assert mixed.settings["decoding"] == "free", "settings win one by one"
    assert mixed.settings["captions"] is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("on: houses", "has no agent"),
        ("agent: [", "invalid YAML"),
        ("agent: navgpt\nmodell: x", "unknown option 'modell'; did you mean 'model'"),
        ("agent: navgpt\nlimit: ten", "limit must be a whole number, got 'ten'"),
        ("agent: navgpt\nlimit: 0", "limit must be at least 1, got 0"),
        ("agent: navgpt\nsettings: free", "settings must be a mapping"),
        (
            "agent: navgpt\nsettings: {a: 1, a.b: 2}",
            "setting a has two values; a.b is one of",
        ),
        (
            "agent: navgpt\nsettings: {a: {b: 1}, a.b: 2}",
            "setting a.b has two values; a.b is",
        ),
    ],
)
def test_what_is_wrong_with_a_recipe_is_one_line_with_its_file(
    tmp_path: Path, text: str, message: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as error:
        read_recipe(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def wayword(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wayword", *map(str, words)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"limit": "five"}, "limit must be a whole number, got 'five'"),
        (
            {"settings": "decoding=free"},
            "settings must be a dictionary, got 'decoding=free'",
        ),
        ({"max_dollars": float("nan")}, "max_dollars must be less than inf, got nan"),
        ({"episodes": [1, 2]}, "episodes.0 must be a string, got 1"),
        ({"engine": "spark"}, "engine must be '' or 'ray', got 'spark'"),
        (
            {"engine": "ray", "continues": "run:e:1"},
            "--continue plays a single episode in this process; remove --engine",
        ),
        *(
            ({"remember": "scene", **other}, "--remember plays the tours of scenes in")
            for other in ({"engine": "ray"}, {"shard": "1/2"}, {"continues": "r:e:1"})
        ),
        (
            {"engine": "ray", "settings": {"model": {"tier": "batch"}}},
            "--batch gathers the calls of one process; remove --engine",
        ),
    ],
)
def test_a_plan_of_wrong_types_is_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError) as error:
        Plan("random", "houses", **given)
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_only_the_given_options_are_to_be_removed() -> None:
    for given, names in (({"limit": 3}, "--limit"), ({"shuffle": 0}, "--shuffle")):
        with pytest.raises(UsageError) as error:
            Plan("random", "houses", episodes=("a",), **given)  # type: ignore[arg-type]
        assert str(error.value) == f"--episodes selects the episodes; remove {names}"


def test_agents_of_actors_are_given_once_each() -> None:
    pairs = ["leader=oracle", "follower=mine.py:x=1"]
    assert agents_of(pairs) == {"leader": "oracle", "follower": "mine.py:x=1"}
    for pair in ("leader", "leader=", "=oracle"):
        with pytest.raises(UsageError, match=f"--actor {pair}: write ACTOR=AGENT"):
            agents_of([pair])
    with pytest.raises(UsageError, match="leader=random: leader already has an agent"):
        agents_of(["leader=oracle", "leader=random"])


def test_a_file_of_settings_is_a_mapping_or_empty(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("")
    assert read_config(file) == {}
    file.write_text("- decoding")
    with pytest.raises(UsageError, match="must be a mapping, such as decoding: free"):
        read_config(file)
    with pytest.raises(UsageError, match=r"--set model=x: write model\.KEY=VALUE"):
        Plan("random", "houses", settings={"model": "x"}).group("model")


def test_a_plan_reads_texts_as_the_types_of_its_fields() -> None:
    given: dict[str, Any] = {"limit": "5", "out": "runs/x", "episode": ""}
    plan = Plan("random", "houses", **given)
    assert (plan.limit, plan.out) == (5, Path("runs/x"))


def test_a_run_of_something_else_than_a_plan_is_one_line() -> None:
    given: Any = "random"
    with pytest.raises(
        UsageError, match=r"takes a Plan, as in run\(Plan\(.*got 'random'"
    ):
        run(given)


def test_a_recipe_runs_watched_and_the_command_line_wins(tmp_path: Path) -> None:
    path = written(
        tmp_path, "agent: random\non: houses\nlimit: 9\nmax_steps: 3\nout: runs/mine\n"
    )
    done = wayword("run", path, "--limit", 1, "--watch", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "live: http://127.0.0.1:" in done.stderr
    assert len(list(RunFolder.read(tmp_path / "runs" / "mine").records())) == 1


def test_a_syntax_error_in_ones_own_file_is_one_line(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("x = 1\ndef broken(:\n")
    with pytest.raises(UsageError, match=r"mine\.py:2: .*'def broken\(:'") as error:
        registry.load("agent", str(mine))
    assert "\n" not in str(error.value)


def test_an_export_without_a_line_is_an_error_and_leaves_no_file(
    tmp_path: Path,
) -> None:
    run(Plan("forward", "houses", limit=1, max_steps=1, out=tmp_path / "lost"))
    out = tmp_path / "train.jsonl"
    with pytest.raises(
        RecordingError, match=r"nothing to export; left out: 1 without success"
    ):
        reporting.export([tmp_path / "lost"], "chat", out)
    assert not out.exists()


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_comparison_can_be_read_on_a_narrow_screen(width: int) -> None:
    first = {f"{n}": {"sr": float(n % 2), "spl": n / 20} for n in range(20)}
    second = {name: {"sr": 1.0, "spl": 0.5} for name in first}
    text = render(compare("a", first, "b", second, family="indoor"), "rich", width)
    assert "…" not in text
    assert "better 10, worse 0, same 10" in text
    assert max(map(len, text.splitlines())) <= max(width, 50)


def test_a_wait_is_explained_unless_it_is_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    over = notice_later("never shown")
    long = notice_later("reading")
    over.cancel()
    long.function(*long.args)
    long.cancel()
    assert capsys.readouterr().err == "reading\n"


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_a_narrow_line_of_progress_cuts_no_number(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with progress("navgpt on r2r:val_seen") as tell:
        tell(20, 1021, {"sr": 0.5, "rejection_rate": 0.08})
        tell(20, 1021, {"steps_so_far": 1106, "retries_so_far": 2})
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("navgpt on r2r:val_seen ")
    assert " 20/1021 0:00:00 left " in line
    assert "SR 50%  rejected 8%" in line
    assert len(line) <= width


def test_an_error_repeats_the_beginning_of_a_long_value(tmp_path: Path) -> None:
    text = FULL_RECIPE.replace(
        '["max_tokens=20,40"]', f"{{steps: {list(range(20_000))}}}"
    )
    with pytest.raises(
        UsageError, match=r"sweep must be .*, got \{'steps'.*…"
    ) as raised:
        read_recipe(written(tmp_path, text))
    assert len(str(raised.value)) < 200 + len(str(tmp_path))

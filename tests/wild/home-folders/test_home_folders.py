"""Paths in the home folder that no shell has expanded."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.core.files import cache_folder
from wayword.datasets.r2r import R2RSettings
from wayword.models.parts.weights import weights_folder
from wayword.runs import Plan
from wayword.runs.machine import data_folder
from wayword.settings import make


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder and another current one."""
    for name in ("home", "current"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "current")
    return tmp_path / "home"


@pytest.mark.parametrize("option", [["--out=~/run"], ["--out", "~/run"]])
def test_a_run_of_the_command_line(option: list[str], home: Path) -> None:
    arguments = ["run", "oracle", "--on", "houses", "--limit", "1", *option]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert (home / "run" / "run.json").is_file()
    assert not Path("~").exists()


def test_a_recipe(home: Path) -> None:
    Path("recipe.yaml").write_text(
        "agent: oracle\non: houses\nlimit: 1\nout: ~/run\n", encoding="utf-8"
    )
    result = CliRunner().invoke(app, ["run", "recipe.yaml"])
    assert result.exit_code == 0, result.output
    assert (home / "run" / "run.json").is_file()
    assert not Path("~").exists()


def test_plans_and_settings(home: Path) -> None:
    plan = Plan("oracle", "houses", out=Path("~/run"), data=Path("~"))
    assert (plan.out, plan.data) == (home / "run", home)
    settings = make(R2RSettings, {"annotations": "~/mine.json"}, "r2r")
    assert settings.annotations == str(home / "mine.json")


@pytest.mark.parametrize("out", ["$HOME/run", "${HOME}/run"])
def test_a_variable_in_a_path_is_refused(out: str) -> None:
    with pytest.raises(UsageError, match="out: variables are not read") as error:
        Plan("oracle", "houses", out=Path(out))
    assert "write the path itself" in str(error.value)
    with pytest.raises(UsageError, match="setting annotations: variables are not"):
        make(R2RSettings, {"annotations": out}, "r2r")


def test_variables(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "data").mkdir()
    for name in ("DATA", "CACHE", "MODELS"):
        monkeypatch.setenv(f"WAYWORD_{name}", "~/data")
    assert data_folder(None) == cache_folder() == weights_folder() == home / "data"


def test_other_tildes_stay(home: Path) -> None:
    plan = Plan("~odd", "houses", out=Path("a~/~b"))
    assert (plan.agent, plan.out) == ("~odd", Path("a~/~b"))
    assert Plan("oracle", "houses", out=Path("~nobody_of_this_name/x")).out == Path(
        "~nobody_of_this_name/x"
    )

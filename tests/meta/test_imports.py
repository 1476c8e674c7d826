"""Nothing heavy is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HEAVY = ("numpy", "scipy", "openai", "pydantic", "rich", "xllamacpp", "yaml")


def loaded_by(statement: str, heavy: Sequence[str] = HEAVY) -> set[str]:
    """Which heavy packages a fresh interpreter holds after the statement."""
    code = (
        f"{statement}\nimport sys\nprint(*[m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return set(done.stdout.splitlines()[-1].split())  # the statement may print, too


@pytest.mark.parametrize(
    "module",
    ["wayword", "wayword.cli.app", "wayword.core.registry", "wayword.cli.bench"],
)
def test_help_and_discovery_load_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}") == set()


@pytest.mark.parametrize(
    "words",
    ["list agents", "doctor", "models list", "task example", "bench --help", "data"],
)
def test_commands_that_need_no_data_load_nothing_heavy(words: str) -> None:
    """The time that they take is that of their imports. Typer itself needs pydantic."""
    called = f"import sys; sys.argv = {['wayword', *words.split()]}\n"
    called += "from wayword.cli import main\n"
    called += "try: main()\nexcept SystemExit: pass"
    heavy = {*HEAVY, "asyncio", "wayword.runs.plan"} - {"pydantic"}
    assert loaded_by(called, sorted(heavy)) == set()


def test_default_settings_are_made_without_a_validator() -> None:
    """Its import takes longer than scoring a split."""
    made = (
        "from wayword.core import registry; registry.load('dataset', 'r2r').Settings()"
    )
    assert loaded_by(made, ["pydantic", "pydantic.main"]) == set()


def test_the_list_of_commands_is_shown_without_settings() -> None:
    called = "import sys; sys.argv = ['wayword', '--help']\n"
    called += "from wayword.cli import main\n"
    called += "try: main()\nexcept SystemExit: pass"
    assert loaded_by(called, ["wayword.settings"]) == set()


def test_an_agent_is_found_without_importing_the_others() -> None:
    code = (
        "from wayword.core.registry import load; load('agent', 'random'); import sys; "
        "sys.exit('wayword.agents.navgpt.agent' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_opening_models_by_name_loads_no_other_backend() -> None:
    assert "xllamacpp" not in loaded_by(
        "from wayword.models.parts.opening import open_model; open_model('scripted:first')"
    )


STARTED = """
from pathlib import Path
from wayword.runs import Plan, run
from wayword.runs.reports import table
for name in ("houses", "towns", "two_phase"):
    run(Plan("random", name, limit=1, max_steps=2, out=Path("runs", name)))
    table([Path("runs", name)])
"""


def test_a_run_begins_without_what_it_does_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These cost more than the rest of a short run; pydantic and rich check and print every run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    unused = {"scipy", "openai", "xllamacpp", "yaml", "httpx", "minigrid", "PIL"}
    unused.add("wayword.worlds.household.house")  # no robot, and no home
    assert loaded_by(STARTED, sorted(unused)) == set()

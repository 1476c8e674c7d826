"""Extras: each is listed by ``wayword doctor``, and each hint is a command that works."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from wayword.core import errors
from wayword.runs.machine import EXTRAS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return set(project["project"]["optional-dependencies"])


def test_doctor_lists_every_extra() -> None:
    assert set(EXTRAS) == declared()


def test_hints_in_the_docs_name_extras_that_exist() -> None:
    named = {
        (page.name, extra)
        for page in PAGES
        for extra in re.findall(
            r"make extra-([a-z]\w*)", page.read_text(encoding="utf-8")
        )
    }
    assert len(named) >= 15
    unknown = {pair for pair in named if pair[1] not in declared()}
    assert unknown == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_installs_from_a_registry_that_lacks_the_package(page: Path) -> None:
    if page.name == "LOG.md":
        pytest.skip("the log is history")
    assert "pip install 'wayword[" not in page.read_text(encoding="utf-8")


def test_a_hint_in_an_environment_without_pip_is_a_target_of_the_makefile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    command = errors.install_command("pandas")
    assert command == f"make -C {ROOT} extra-pandas"
    planned = subprocess.run(
        [*command.split(), "--dry-run"], capture_output=True, text=True, check=True
    )
    assert "pip install" in planned.stdout
    assert "'.[pandas]'" in planned.stdout


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (" + matplotlib==3.9.0", " + matplotlib==3.9.0\n"),
        (" ~ wayword==0.1.0", "extra plot is already installed in .venv\n"),
        ("warning: no such extra", "warning: no such extra\n"),
    ],
)
def test_installing_an_extra_says_what_it_did(
    log: str, shown: str, tmp_path: Path
) -> None:
    installer = tmp_path / "uv"
    installer.write_text(f"#!/bin/sh\necho 'Resolved 2 packages'\necho '{log}'\n")
    installer.chmod(0o755)
    # -o: without a look at the environment itself.
    command = ["make", "-s", "-C", ROOT, "-o", "install", "extra-plot"]
    ran = subprocess.run(
        [*command, f"UV={installer}"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == shown


def test_a_hint_in_an_environment_with_pip_uses_this_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    command = errors.install_command("pandas")
    assert command == f"{sys.executable} -m pip install -e '{ROOT}[pandas]'"


def test_a_hint_of_an_installed_copy_names_the_clone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / "site-packages" / "wayword" / "core" / "errors.py"
    monkeypatch.setattr(errors, "__file__", str(copy))
    command = errors.install_command("pandas")
    assert command == "pip install '.[pandas]' in a clone of Wayword"

"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_source_file_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400, f"{name(path)} has grown over 400 lines: split it"
    assert ast.get_docstring(ast.parse(text)), f"{name(path)} has no module docstring"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_public_classes_and_functions_are_documented(path: Path) -> None:
    bare = [
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert not bare, f"{name(path)}: {', '.join(bare)} without a docstring"


def test_every_prompt_is_read_by_some_agent() -> None:
    agents = ROOT / "src" / "wayword" / "agents"
    code = "\n".join(path.read_text(encoding="utf-8") for path in agents.parent.rglob("*.py"))
    for prompt in sorted((agents / "prompts").rglob("*.txt")):
        stem = re.sub(r"_(free|constrained|[a-z0-9]+)$", "", prompt.stem)
        assert stem in code or prompt.stem in code, f"{name(prompt)} is read by no agent"


def test_the_readme_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_no_file_names_a_package_registry_or_holds_a_key() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    hosts = re.compile("|".join(["pypi" + r"\.org", "python" + "hosted", "npmjs" + r"\.org"]))
    keys = re.compile(r"\bsk-[A-Za-z0-9]{20,}")
    for line in listed:
        path = ROOT / line
        if path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ""}:
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
            assert not hosts.search(text), f"{line} names a package registry's host"
            assert not keys.search(text), f"{line} holds what looks like a key"


def test_the_base_install_is_small_and_without_torch() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(project["dependencies"]) < 10
    assert not any("torch" in line for line in project["dependencies"])

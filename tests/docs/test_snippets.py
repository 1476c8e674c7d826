"""Every snippet of the documentation runs.

``python`` blocks run in page order, in one namespace and one empty folder a page; one with a
``title="mine.py"`` is saved under that name instead, as a ``yaml`` block with a title is.
``console`` blocks run in between: each ``$ wayword …`` line must succeed. ``sh`` blocks need data,
keys or a model, so that only their commands, options and names are checked.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from helpers.docs_pages import (
    PAGES,
    Block,
    anchors,
    blocks,
    commands,
    links,
    name,
    spoken,
)
from helpers.looping import for_each
from wayword.cli.app import app
from wayword.core import registry
from wayword.core.dataset import Dataset
from wayword.testing import check_world

ROOT = Path(__file__).parents[2]
COMMAND: Any = typer.main.get_command(app)
RUNS = [p for p in PAGES if any(b.language in ("python", "console") for b in blocks(p))]


@pytest.mark.parametrize("path", RUNS, ids=name)
def test_snippets_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as in a Python session started there
    monkeypatch.delenv("WAYWORD_DATA", raising=False)
    namespace: dict[str, Any] = {"__name__": path.stem}
    for block in blocks(path):
        if block.language == "python":
            _python(path, block, namespace)
        elif block.language == "yaml" and block.title:
            Path(block.title).write_text(block.text + "\n", encoding="utf-8")
        elif block.language == "console":
            for arguments in commands(block):
                _command(path, block, arguments)
    # The datasets that the page defines as it goes; those in files have tests of their own.
    for part in namespace.values():
        is_dataset = isinstance(part, type) and issubclass(part, Dataset)
        if is_dataset and part.__module__ == path.stem:
            check_world(part())


def _python(path: Path, block: Block, namespace: dict[str, Any]) -> None:
    if block.title:
        Path(block.title).write_text(block.text + "\n", encoding="utf-8")
        return
    # So that a traceback names the page's line
    padded = "\n" * (block.line - 1) + block.text
    exec(compile(padded, str(path), "exec"), namespace)


def _command(path: Path, block: Block, arguments: list[str]) -> None:
    done = CliRunner().invoke(app, arguments)
    shown = f"{name(path)}:{block.line}: wayword {shlex.join(arguments)}"
    if done.exit_code != 0:
        raise AssertionError(
            f"{shown} ended with {done.exit_code}:\n{done.output}"
        ) from (done.exception)


@for_each("path", PAGES, ids=name)
def test_commands_options_and_names_exist(path: Path) -> None:
    for block in blocks(path):
        if block.language in ("sh", "console"):
            for arguments in commands(block):
                _check(f"{name(path)}:{block.line}", arguments)


@for_each("path", PAGES, ids=name)
def test_commands_named_in_the_text_exist(path: Path) -> None:
    for text in spoken(path):
        first = text.split()[0]
        assert first.startswith("--") or first in COMMAND.list_commands(None), (
            f"{name(path)}: wayword {text}"
        )


def _check(where: str, arguments: list[str]) -> None:
    command = COMMAND
    rest = list(arguments)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.list_commands(None), (
            f"{where}: no command wayword {rest[0]}"
        )
        command = command.get_command(None, rest.pop(0))
    known = {option for parameter in command.params for option in parameter.opts} | {
        "--help"
    }
    for word in rest:
        if word.startswith("--"):
            option = word.partition("=")[0]
            assert option in known, f"{where}: {command.name} has no option {option}"
    if command.name == "run" and rest and not rest[0].endswith(".py"):
        assert rest[0] in registry.names("agent"), f"{where}: no agent {rest[0]}"
    if "--on" in rest:
        _check_dataset(where, rest[rest.index("--on") + 1])
    if "--model" in rest:
        kind = rest[rest.index("--model") + 1].partition(":")[0]
        known_kind = kind.endswith(".py") or kind in registry.names("model")
        assert known_kind, f"{where}: no model backend {kind}"


def _check_dataset(where: str, on: str) -> None:
    dataset, _, split = on.partition(":")
    if dataset.endswith((".py", ".yaml")):
        return
    assert dataset in registry.names("dataset"), f"{where}: no dataset {dataset}"
    splits = registry.load("dataset", dataset).splits
    assert not split or split in splits, f"{where}: {dataset} has no split {split}"


@for_each("path", PAGES, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    dead = []
    for link in links(path):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert not dead, f"{name(path)}: dead links {dead}"


INVENTED = {"adding.md", "0002-part-registry.md", "LOG.md"}
"""Pages that name files which a reader makes, or which were there once."""


@for_each("path", [p for p in PAGES if p.name not in INVENTED], ids=name)
def test_files_named_in_the_text_exist(path: Path) -> None:
    named = re.findall(
        r"`(\w+/[\w/]+\.(?:py|yaml|toml|txt))`", path.read_text(encoding="utf-8")
    )
    source = ROOT / "src" / "wayword"
    # Docstrings name files beside them
    roots = (
        ROOT,
        ROOT / "src",
        source,
        source / path.stem,
    )
    gone = [f for f in named if not any((root / f).exists() for root in roots)]
    assert not gone, f"{name(path)}: no such files {gone}"


@for_each("path", PAGES, ids=name)
def test_blocks_say_their_language(path: Path) -> None:
    known = {
        "python",
        "pycon",
        "console",
        "sh",
        "text",
        "json",
        "yaml",
        "bibtex",
        "toml",
    }
    for block in blocks(path):
        assert block.language in known, (
            f"{name(path)}:{block.line}: a block in {block.language!r}"
        )

"""A folder or file from anyone, opened by every command and page that reads one: nothing that it
names is run, and what is wrong is one line without control characters.

The commands come from the command tree and the pages from the routes, so a new one fails here until
it says how it is called.
"""

from __future__ import annotations

import inspect
import io
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer

from helpers import hostile
from helpers.sampling import some
from wayword import cli
from wayword.cli.app import app
from wayword.core.visible import visible

SECONDS = 2.0
CALLS = {
    "run": [
        "random --continue {run}:test-s0-r9-0000_0_0:1 --out {out}",
        "random --on houses --limit 2 --out {run}",
        "act --on houses --limit 1 --model replay:{run} --out {out}",
        "{recipe} --out {out} --limit 1",
        "random --on {task} --limit 1 --out {out}",
        "{recipe} --dry-run",
        "navgpt --on houses --limit 1 --model scripted:first --set prompts={prompts} --out {out}",
        "imitation --on houses --limit 1 --set weights={weights} --out {out}",
        "velma --on towns --limit 1 --model scripted:first --set scores=recorded "
        "--set scores_file={weights} --out {out}",
        "random --on houses --limit 1 --set perceiver.name=recorded "
        "--set perceiver.folder={weights} --out {out}",
        "act --on houses --limit 1 --model local:{weights} --out {out}",
        "act --on houses --limit 1 --model hf:{weights} --out {out}",
        "random --on houses --config {task} --limit 1 --out {out}",
    ],
    "reproduce": [
        "navgpt/table-1 --model scripted:first --limit 1 --row NavGPT --prompts {prompts} "
        "--max-steps 1 --seeds 1 --out {out}",
    ],
    "play": ["--continue {run}:test-s0-r9-0000_0_0:1 --out {out}"],
    "table": ["{run}", "{runs}", "{run} --by scene", "{run} --format json", "{run} --format latex"],
    "merge": ["{run} --out {out}", "{run} {good} --out {out}"],
    "verify": ["{run}"],
    "compare": ["{run} {good}", "{good} {run}"],
    "tours": ["{run}", "{good} {run}"],
    "score": ["{task} --on houses"],
    "export": [
        "{run} --out {out}",
        "{run} --as calls --out {out}",
        "{run} --as mcap --out {out}",
        "{run} --format hub --out {out}",
    ],
    "view": ["{run} --write --out {out}"],
    "runs": ["{runs}", "{run}"],
    "task new": ["{task}"],
    "data check": ["{task}"],
    "models check": ["{weights}"],
    "prompts import": ["navgpt {prompts} --out {out}", "velma {weights} --out {out}"],
    "bench card": ["{card}", "{card} --format latex"],
    "bench board": ["{card} --out {out}"],
    "bench compare": ["{card} {card}"],
}  # fmt: skip
"""Command -> its calls. ``{run}`` is a hostile run, ``{runs}`` a folder with it and a good one."""
OPEN_NOTHING = {
    "demo": "writes runs of its own",
    "serve-env": "the user names the dataset",
    "mcp": "the user names the dataset",
    "perceive": "reads pictures alone",
    "task example": "writes a file",
    "data list": "the user's data folder",
    "doctor": "reads no folder",
    "list": "reads no folder",
    "models list": "reads no folder",
    "models fetch": "a name, not a path",
    "models serve": "as models check, until Ctrl-C",
    "bench": "plays, and reads what it played as bench card does",
}
OWN_PATHS = {
    "data",
    "out",
    "cache",
    "prices",
    "config",
    "prompts",
    "norths",
    "vocabulary",
}
"""Options that name the user's own files."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command of the tree, with the words that call it."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        if not hasattr(command, "commands"):
            yield " ".join(words), command
            return
        for name in command.list_commands(None):
            yield from walk(command.get_command(None, name), (*words, name))
        if command.invoke_without_command:
            yield " ".join(words), command

    yield from walk(typer.main.get_command(app), ())


def test_every_command_that_reads_a_path_is_tried() -> None:
    known = {*CALLS, *OPEN_NOTHING}
    for name, command in commands():
        assert name in known, f"add `{name}` to CALLS: how is it called with a path?"
        calls = " ".join(CALLS.get(name, ()))
        hints = get_type_hints(inspect.unwrap(command.callback))
        for field, hint in hints.items() if name in CALLS else ():
            reads = "Path" in str(hint) and field not in {*OWN_PATHS, "trusted"}
            assert not reads or "{" in calls, f"`{name}` reads {field}"
            if "Path" in str(hint) and field == "trusted":
                assert "{run" in calls, name


class Site:
    """A good run, and a place for hostile ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sentinel = folder / "sentinel"
        self.evil = hostile.evil_code(folder / "code", self.sentinel)
        self.good = hostile.harmless(folder / "good")
        self.runs = hostile.hostile_runs(self.good, self.evil)
        self.number = 0

    def fresh(self, name: str) -> Path:
        self.number += 1
        path = self.folder / "made" / f"{self.number}" / name
        path.parent.mkdir(parents=True)
        return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("hostile"))


def call(words: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit code and output of a command. Raises whatever the command lets escape."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    monkeypatch.setattr(sys, "argv", ["wayword", *shlex.split(words)])
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    monkeypatch.setattr(cli, "_stop_as_ctrl_c", list)
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return code, "".join(texts)


def check(site: Site, words: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    began = time.process_time()
    try:
        code, output = call(words, monkeypatch)
    except Exception as error:
        raise AssertionError(
            f"{type(error).__name__}: {str(error)[:200]}: {words}"
        ) from error
    took = time.process_time() - began
    assert not site.sentinel.exists(), f"ran code: {words}"
    assert took < SECONDS, f"took {took:.1f} s: {words}"
    assert output == visible(output), f"control characters: {words}"
    assert "Traceback" not in output, words
    return code, output


def _templates(kind: str) -> list[tuple[str, str]]:
    return [
        (name, template)
        for name, templates in CALLS.items()
        for template in templates
        if f"{{{kind}" in template
    ]


def _case(case: tuple[str, str]) -> str:
    return case[0]


def run_cases(site: Site) -> list[tuple[str, str]]:
    cases = [(name, f"{c} {t}") for name in site.runs for c, t in _templates("run")]
    return list(some(cases, 23))


def test_no_command_runs_or_trips_over_a_hostile_run(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    failures = []
    for name, template in run_cases(site):
        top = site.fresh("runs")
        site.runs[name](top / "run")
        words = template.format(
            run=top / "run", runs=top, good=site.good, out=site.fresh("out")
        )
        try:
            check(site, words, monkeypatch)
        except AssertionError as error:
            failures.append(f"{name}: {error}")
            site.sentinel.unlink(missing_ok=True)
    assert not failures, "\n".join([f"{len(failures)} failed", *failures])

"""A folder or file from anyone, opened by every command and page that reads one: nothing that it
names is run, and what is wrong is one line without control characters.

The commands come from the command tree and the pages from the routes, so a new one fails here until
it says how it is called.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints
from urllib.parse import quote

import pytest
import typer

from helpers import hostile
from helpers.sampling import LONG, some
from wayword import cli
from wayword.cli.app import app
from wayword.core.errors import RecordingError, WaywordError
from wayword.core.visible import visible
from wayword.runs.config import read_config
from wayword.runs.record import RecordedRun
from wayword.viewer.app import application
from wayword.viewer.content import Content
from wayword.viewer.library import Library

SECONDS = 2.0
HANGS = 30
"""Seconds after which a call waits for something that never comes."""
CARDS = Path(cli.__file__).parents[1] / "bench" / "cards"
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
    "drop": ["{run} --episodes test-s0-r9-0000_0_0"],
    "plot": [
        "{run} {good} --out {out}.png",
        "{run} {good} --kind causes --out {out}.png",
        "{run} {good} --kind cost --out {out}.png",
        "{run} --kind curve --out {out}.png",
        "{run} --kind map --episode test-s0-r9-0000_0_0 --out {out}.png",
        "{run} {good} --kind pairs --out {out}.png",
    ],
    "power": ["{run} {good} --on houses"],
    "compare": ["{run} {good}", "{good} {run}"],
    "tours": ["{run}", "{good} {run}"],
    "retell": ["{run} --model scripted:first"],
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
    "robot": "shows what a robot sends",
    "data fetch": "a name, not a path; it writes into the data folder",
    "list": "reads no folder",
    "models list": "reads no folder",
    "models fetch": "a name, not a path",
    "models serve": "as models check, until Ctrl-C",
    "bench": "plays, and reads what it played as bench card does",
    "probe": "a model and a dataset by name; it writes answers",
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
                assert "{run" in calls or "{card" in calls, name


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
    # Imported before any call is timed: on a fresh environment it is compiled first.
    import_module("matplotlib.pyplot")
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


class HangsError(BaseException):
    """Not an ``Exception``: the command would report it as its own."""


def _hangs(*signalled: Any) -> None:
    raise HangsError(f"waits for more than {HANGS} s")


def check(site: Site, words: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    began = time.process_time()
    signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(HANGS)
    try:
        code, output = call(words, monkeypatch)
    except (Exception, HangsError) as error:
        raise AssertionError(
            f"{type(error).__name__}: {str(error)[:200]}: {words}"
        ) from error
    finally:
        signal.alarm(0)
    took = time.process_time() - began
    assert not site.sentinel.exists(), f"ran code: {words}"
    assert took < SECONDS, f"took {took:.1f} s: {words}"
    assert output == visible(output), f"control characters: {words}"
    assert "Traceback" not in output, words
    return code, output


def templates(kind: str) -> list[str]:
    """The calls that open a hostile ``kind``."""
    return [
        f"{name} {template}"
        for name, listed in CALLS.items()
        for template in listed
        if f"{{{kind}" in template
    ]


def pairs(names: Iterable[str], kind: str, every: int) -> Iterator[tuple[str, str]]:
    """Hostile items with calls: each item with each call in the long form, else some items with
    some calls, so that every call and every kind of item has its turn."""
    calls = templates(kind)
    for number, name in enumerate(some(list(names), every)):
        chosen = calls if LONG else [calls[number % len(calls)]]
        yield from ((name, each) for each in chosen)


def try_all(
    site: Site, cases: Iterable[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run the calls, and report every one that fails."""
    failures = []
    for name, words in cases:
        try:
            check(site, words, monkeypatch)
        except AssertionError as error:
            failures.append(f"{name}: {error}")
            site.sentinel.unlink(missing_ok=True)
    assert not failures, "\n".join([f"{len(failures)} failed", *failures])


def test_no_command_runs_or_trips_over_a_hostile_run(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    def cases() -> Iterator[tuple[str, str]]:
        for name, template in pairs(site.runs, "run", 8):
            top = site.fresh("runs")
            site.runs[name](top / "run")
            out = site.fresh("out")
            words = template.format(run=top / "run", runs=top, good=site.good, out=out)
            yield name, words

    try_all(site, cases(), monkeypatch)


def test_no_command_runs_or_trips_over_a_hostile_file(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    evil_task = site.evil.with_suffix(".yaml")
    evil_task.write_text("instruction: x\n", encoding="utf-8")
    card = json.loads((CARDS / "random" / "card.json").read_text(encoding="utf-8"))
    texts = {
        "recipe": ("recipe.yaml", hostile.recipes(site.evil)),
        "task": ("task.yaml", hostile.TASKS),
        "card": ("card.json", hostile.hostile_cards(card, site.evil)),
    }

    def cases() -> Iterator[tuple[str, str]]:
        for kind, (file, contents) in texts.items():
            for name, template in pairs(contents, kind, 4 if kind == "card" else 1):
                path = site.fresh(file)
                path.write_text(contents[name], encoding="utf-8")
                shown = path.parent if kind == "card" else path
                words = template.format(**{kind: shown}, out=site.fresh("out"))
                yield f"{kind} {name}", words
        folders = hostile.prompt_folders(site.fresh("prompts"))
        for name, template in pairs(folders, "prompts", 1):
            words = template.format(prompts=folders[name], out=site.fresh("out"))
            yield f"prompts {name}", words
        weights = hostile.weights_folder(site.fresh("weights"), site.sentinel)
        paths = [weights, weights / "model.onnx", weights / "model.gguf"]
        for number, template in enumerate(templates("weights")):
            chosen = paths if LONG else [paths[number % len(paths)]]
            for path in chosen:
                yield "weights", template.format(weights=path, out=site.fresh("out"))

    try_all(site, cases(), monkeypatch)


def get(site: Any, path: str, query: str = "") -> tuple[int, dict[str, str], str]:
    """Status, headers and body of a page, asked of the application without a socket."""
    parts: list[Any] = []
    events = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        return next(events, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        parts.append(message)

    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": [(b"host", b"127.0.0.1:1")], "scheme": "http",
        "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "root_path": "",
        "http_version": "1.1",
    }  # fmt: skip
    asyncio.run(site(scope, receive, send))
    headers = {key.decode(): value.decode() for key, value in parts[0]["headers"]}
    body = b"".join(part.get("body", b"") for part in parts[1:])
    return parts[0]["status"], headers, body.decode()


def test_no_page_runs_or_trips_over_a_hostile_run(site: Site) -> None:
    top = site.fresh("runs")
    names = list(some(list(site.runs), 30))
    for number, name in enumerate(names):
        site.runs[name](top / f"run{number}")
    shutil.copytree(site.good, top / "good")
    pages = application(Content(Library([top])))
    routes = [
        route.path
        for route in pages._app.routes  # type: ignore[attr-defined]
        if "GET" in route.methods and "{game}" not in route.path
    ]
    assert any("{run}" in route for route in routes)
    failures = []
    for route in routes:
        is_of_runs = "{run}" in route or "compare" in route
        for number, name in enumerate(names if is_of_runs else [""]):
            run = f"run{number}"
            for episode in ("test-s0-r9-0000_0_0", f"e{hostile.CONTROL}"):
                query = f"id={quote(episode)}&step=1&run={run}&run=good&q=x"
                began = time.process_time()
                status, _, body = get(pages, route.replace("{run}", run), query)
                took = time.process_time() - began
                is_bad = status >= 500 or took > SECONDS or "Traceback" in body
                if is_bad or body != visible(body):
                    line = f"{route}, {name}: {status}, {took:.1f} s: {body[:80]!r}"
                    failures.append(line)
            if site.sentinel.exists():
                failures.append(f"{route} ran {name}")
                site.sentinel.unlink()
    assert not failures, "\n".join([f"{len(failures)} failed", *failures[:40]])
    status, _, home = get(pages, "/", "all=1")
    assert status == 200
    assert all(f"run{number}" in home for number in range(len(names))), "a row each"


def test_a_search_reads_a_hostile_record_or_refuses_it(site: Site) -> None:
    """A server searches in the background, where no other code catches its errors."""
    records = [name for name in site.runs if name.startswith("episodes")]
    assert records
    read = 0
    for name in records:
        folder = site.fresh("run")
        site.runs[name](folder)
        with suppress(WaywordError):
            RecordedRun(folder).index.search("x")
            read += 1
    assert 0 < read < len(records)


def test_an_address_with_two_slashes_leads_nowhere_else(site: Site) -> None:
    content = Content(Library([site.good]))
    for pages, query in (
        (application(content), ""),
        (application(content, token="secret"), "token=secret"),
    ):
        for path in (
            "//evil.example/",
            "//evil.example/run",
            "/\\evil.example",
            "///x//",
        ):
            status, headers, _ = get(pages, path, query)
            target = headers.get("location", "")
            assert not target.startswith(("//", "/\\")), path
            assert "evil" not in target, path
            assert status == 404, path


MINE = """from wayword.core.registry import load


class Mine(load("dataset", "houses")):
    '''My houses.'''


dataset = Mine
"""
TRUSTING = (
    "verify run",
    "tours run",
    "export run --out x.jsonl",
    "table run --by scene",
    "view run --write --out pages",
    "run random --continue run:test-s0-r9-0000_0_0:1 --out on",
)
"""Commands that need the dataset of a run."""


def test_the_users_own_file_is_opened_with_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.py"
    mine.write_text(MINE, encoding="utf-8")
    settings = "--set dataset.houses=1 --set dataset.episodes=9 --limit 4 --first"
    code, _ = call(f"run oracle --on ./mine.py {settings} --out run", monkeypatch)
    assert code == 0
    for words in TRUSTING:
        code, output = call(words, monkeypatch)
        assert (code == 0) == words.startswith("view"), words  # pages without maps
        assert "--with FILE" in output, words
        code, output = call(f"{words} --with {mine}", monkeypatch)
        assert code == 0, output
        assert "--with FILE" not in output, words
    mine.write_text(f"{MINE}# changed\n", encoding="utf-8")
    code, output = call(f"verify run --with {mine}", monkeypatch)
    assert code == 2
    assert "has changed since" in output


@pytest.mark.parametrize(("count", "is_cut"), [(1, False), (6, False), (7, True)])
def test_a_folder_of_runs_names_six_and_says_that_there_are_more(
    count: int, is_cut: bool, tmp_path: Path
) -> None:
    names = [f"run-{number}" for number in range(count)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    with pytest.raises(RecordingError) as caught:
        read_config(tmp_path)
    listed = str(caught.value).partition("name one of the runs in it: ")[2]
    assert listed == ", ".join(names[:6]) + (", …" if is_cut else "")

"""A command that gets a file or folder of another kind says what it is and what takes it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wayword.cli import main
from wayword.core.other_files import describe_file


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file or folder of each kind."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "predictions.json": '[{"instr_id": "1_0", "trajectory": []}]',
        "log.csv": "step,reward\n1,2\n",
        "mine.py": "class Mine: pass\n",
        "recipe.yaml": "agent: random\n",
        "card.json": '{"tracks": {}}',
        "renamed.json": '{"tracks": {}}',
        "notes.txt": "",
        "runs/one/run.json": "{}",
        "empty/.keep": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def complaint(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """The last line of a command that must refuse its arguments."""
    monkeypatch.setattr(sys, "argv", ["wayword", *words.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


USES = {
    "predictions.json": "`wayword score predictions.json --on DATASET`",
    "log.csv": "`wayword plot --kind curve`",
    "mine.py": "`wayword run mine.py`",
    "recipe.yaml": "`wayword run recipe.yaml`",
    "card.json": "`wayword bench card card.json`",
    "renamed.json": "`wayword bench card renamed.json`",
    "runs/one/run.json": "a file of the run runs/one",
}


@pytest.mark.parametrize(("name", "use"), USES.items())
@pytest.mark.parametrize(
    "command",
    ["table", "verify", "tours", "power", "runs", "view --write", "reproduce"],
)
def test_a_command_that_takes_runs_says_what_another_file_is(
    name: str,
    use: str,
    command: str,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    message = complaint(f"{command} {name}", monkeypatch, capsys)
    assert name in message
    assert use in message


@pytest.mark.parametrize(
    ("command", "use"),
    [
        ("run random --on log.csv", "no dataset is called 'log.csv'; it is a table"),
        ("run predictions.json", "it is JSON; of predictions, `wayword score"),
        ("run random --on runs", "a folder of runs; `wayword runs` lists them"),
        ("run random --on runs/one", "a run folder; `wayword table` shows its scores"),
        ("score runs/one --on houses", "a run folder; `wayword table`"),
        ("score runs/one/run.json --on houses", "a file of the run runs/one"),
        ("score card.json --on houses", "`wayword bench card card.json`"),
        ("score missing --on houses", "missing: no such file"),
        ("bench card log.csv", "not a card of the bench; it is a table"),
        ("bench card predictions.json", "not a card of the bench; it is JSON"),
        ("task new empty", "has no YAML file; `wayword task example` prints one"),
        ("task new runs", "has no YAML file; it is a folder of runs"),
        ("power missing", "missing: no such folder"),
    ],
)
def test_other_commands_say_it_too(
    command: str,
    use: str,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert use in complaint(command, monkeypatch, capsys)


def test_nothing_is_said_of_what_is_not_known(files: Path) -> None:
    for name in ("notes.txt", "empty", "missing.json"):
        assert describe_file(Path(name)) == ""

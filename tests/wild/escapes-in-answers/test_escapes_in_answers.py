"""No output contains the escape sequences that a model wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.visible import visible
from wayword.runs import RunFolder

ESCAPES = (
    "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\",  # a link
    "\x1b]52;c;ZXZpbA==\x07",  # the clipboard
    "\x1b[2J\x1b[H\x1b[31m",  # a cleared screen
    "\x9b31m\x9d0;title\x9c",  # the same with one character
)
MODEL = """
from wayword.models.scripted import ScriptedModel

ESCAPES = {escapes!r}

async def answer(prompt, sampling):
    return f"Thought: {{ESCAPES}}\\nFinal Answer: Finished! {{ESCAPES}}"

class Escapes(ScriptedModel):
    def __init__(self, name, settings):
        super().__init__(name, settings, answers=answer)

model = Escapes
"""
COMMANDS = (
    "run navgpt --on houses --model ./model.py:x --limit 1 --max-steps 2 --out run",
    "table run",
    "table run --format latex",
    "verify run",
    "runs run",
    "view run --write --out pages",
    "export run --all --out run.jsonl",
    "export run --all --as calls --out calls",
)


def test_no_output_contains_escape_sequences_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = MODEL.format(escapes="".join(ESCAPES))
    Path("model.py").write_text(code, encoding="utf-8")
    for command in COMMANDS:
        result = CliRunner().invoke(app, command.split())
        assert result.exit_code in (0, 1), (command, result.output)
        assert result.output == visible(result.output), command
    (record,) = RunFolder.read(Path("run")).records()
    calls = list(record.trajectory.calls())
    assert calls[0].answer is not None
    assert "\x1b]52" in calls[0].answer.texts[0], "it is stored as written"
    written = list(Path("pages").rglob("*.html"))
    assert written
    written += [path for path in Path("calls").rglob("*") if path.is_file()]
    for path in [*written, Path("run.jsonl")]:
        text = path.read_text(encoding="utf-8")
        assert text == visible(text), path

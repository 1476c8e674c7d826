"""The first sections of docs/adding.md: new agents and a new world work at their first run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers.docs_pages import PAGES, blocks
from wayword import run
from wayword.cli.app import app
from wayword.core.model import Sampling
from wayword.models.scripted import ScriptedModel
from wayword.runs.record import RunFolder

(PAGE,) = (path for path in PAGES if path.name == "adding.md")
TITLED = {block.title: block.text for block in blocks(PAGE) if block.title}


def code(text: str) -> int:
    """Lines that are neither blank nor a docstring."""
    return sum(bool(re.match(r'\s*[^\s"]', line)) for line in text.splitlines())


def wayword(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("small.py", "mapper.py", "line.py", "asker.py"):
        Path(name).write_text(TITLED[name] + "\n", encoding="utf-8")
    return tmp_path


def test_the_page_begins_with_the_smallest_agent_and_each_part_is_short() -> None:
    assert list(TITLED)[:3] == ["small.py", "mapper.py", "line.py"]
    assert code(TITLED["small.py"]) <= 16
    assert code(TITLED["mapper.py"]) <= 55
    assert code(TITLED["line.py"]) <= 40


def test_the_smallest_agent_takes_the_numbered_action(here: Path) -> None:
    model = ScriptedModel(answers=lambda prompt, sampling: "1")
    for on in ("./line.py", "houses"):
        out = here / "runs" / Path(on).stem
        result = run("./small.py", on, model, limit=1, max_steps=2, out=out)
        (record,) = result.episodes
        for step in record.trajectory.steps:
            (call,) = step.calls
            assert f"'1': '{step.decision.action}'" in call.prompt


def test_an_agent_with_a_map_remembers_places_and_its_plan(here: Path) -> None:
    def go_on(prompt: Any, sampling: Sampling) -> str:
        actions = sampling.json_schema["properties"]["action"]["enum"]
        return json.dumps(
            {"thought": "on", "plan": "to the end", "action": actions[-1]}
        )

    model = ScriptedModel(answers=go_on)
    result = run("./mapper.py", "houses", model, limit=1, max_steps=3, out=here / "run")
    (record,) = result.episodes
    assert [str(step.decision.action)[:4] for step in record.trajectory.steps] == [
        "goto"
    ] * 3
    first, *_, last = (call.prompt[-1].content for call in record.trajectory.calls())
    assert "Previous plan: none yet" in first
    assert "Previous plan: to the end" in last
    assert len(re.findall(r"^place \d+ leads to", last, re.M)) == 3
    walked = re.search(r"Walked: \[0, (\d+), (\d+)\]", last)
    assert walked, last
    assert f"place {walked[1]}: behind" in last


def test_a_small_world_runs_scores_and_has_a_table_and_pages(here: Path) -> None:
    wayword("run", "random", "--on", "./line.py", "--seed", "3", "--out", "runs/line")
    records = list(RunFolder.read(here / "runs/line").records())
    assert {record.episode_id for record in records} == {"to_1", "to_2", "to_3"}
    for record in records:
        place = record.trajectory.state["place"]
        assert record.scores["sr"] == float(record.episode_id == f"to_{place}")
    (row,) = json.loads(wayword("table", "runs/line", "--format", "json"))["rows"]
    mean = sum(record.scores["sr"] for record in records) / 3
    assert row["metrics"]["sr"]["mean"] == pytest.approx(mean)
    wayword("view", "runs/line", "--write", "--with", "./line.py")
    pages = "".join(path.read_text(encoding="utf-8") for path in here.rglob("*.html"))
    for record in records:
        assert record.episode_id in pages
    assert "Walk to place 2, then stop." in pages


def test_a_small_agent_asks_a_model_there_and_in_a_shipped_world(here: Path) -> None:
    for on in ("./line.py", "houses"):
        out = f"runs/{Path(on).stem}"
        wayword("run", "./asker.py", "--on", on, "--model", "scripted:first", "--limit", "1",
                "--max-steps", "3", "--out", out)  # fmt: skip
        (record,) = RunFolder.read(here / out).records()
        assert record.trajectory.ended != "failed"
        assert all(step.calls for step in record.trajectory.steps)
        assert "sr" in record.scores

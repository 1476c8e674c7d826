"""Mistakes in a user's parts that nothing refuses: the run names the line and what to write."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

import wayword
from helpers.small_scan import SCAN, write_scan
from wayword.cli.app import app
from wayword.core import registry
from wayword.core.errors import DataError, UsageError
from wayword.perception.detectors import detector_called

AGENT = """
from wayword.core.action import Action, Decision, STOP
from wayword.core.agent import Agent

class Mine(Agent):
    {extra} = 1

    async def {method}(self, episode):
        self.count = 0

    async def act(self, observation, space):
        return {decision}

agent = Mine
"""


def agent_file(folder: Path, **parts: str) -> Path:
    file = folder / "mine.py"
    given = {"extra": "steps", "method": "begin", "decision": "Decision(STOP)", **parts}
    file.write_text(AGENT.format(**given), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("parts", "line", "name", "meant"),
    [
        ({"method": "beginn"}, 8, "beginn", "begin"),
        ({"method": "on_begin", "extra": "famlies"}, 6, "famlies", "families"),
        ({"extra": "need_model"}, 6, "need_model", "needs_model"),
    ],
)
def test_a_misspelled_optional_name_is_a_warning_with_its_line(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    parts: dict[str, str],
    line: int,
    name: str,
    meant: str,
) -> None:
    file = agent_file(tmp_path, **parts)
    with caplog.at_level(logging.WARNING, "wayword"):
        registry.load("agent", str(file))
    problem = f"nothing reads Mine.{name}; did you mean {meant!r}?"
    assert caplog.messages == [f"wayword: {file}:{line}: {problem}"]


@pytest.mark.parametrize("extra", ["stops", "plans", "notes", "begins", "acts"])
def test_names_of_helpers_are_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, extra: str
) -> None:
    with caplog.at_level(logging.WARNING, "wayword"):
        registry.load("agent", str(agent_file(tmp_path, extra=extra)))
    assert caplog.messages == []


def test_an_illegal_action_suggests_legal_ones_and_names_the_line(
    tmp_path: Path,
) -> None:
    near = 'Decision(Action("goto", (observation.neighbors[0].viewpoint[:-1],)))'
    file = agent_file(tmp_path, decision=near)
    result = wayword.run(
        str(file), "houses", limit=1, max_steps=2, out=tmp_path / "run"
    )
    [notice] = [each for each in result.notices if "rejected" in each]
    assert "is not a legal action here; did you mean goto[" in notice
    assert notice.endswith(f"({file}:11)")


def test_a_mistake_in_code_is_to_be_mended_not_retried(tmp_path: Path) -> None:
    file = agent_file(tmp_path, decision="Decision(space.listed[9999])")
    command = ["run", str(file), "--on", "houses", "--limit", "2"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")])
    assert (
        f"2 episodes failed; mend {file}:12, then run the same command" in result.stderr
    )
    assert "Episodes" not in result.stdout


def test_records_that_cannot_be_scored_are_to_be_checked_not_retried(
    tmp_path: Path,
) -> None:
    write_scan(tmp_path)
    annotations = tmp_path / "r2r" / "annotations"
    annotations.mkdir(parents=True, exist_ok=True)
    record = {"path_id": 7, "instructions": ["Go."], "scan": SCAN, "heading": 0.0}
    text = json.dumps([{**record, "path": ["s", "x"]}])
    (annotations / "R2R_val_seen.json").write_text(text)
    command = ["run", "random", "--on", "r2r:val_seen", "--data", str(tmp_path)]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")])
    remedy = "1 episode failed; `wayword data check r2r:val_seen` names the bad records"
    assert remedy in result.stderr


def test_a_missing_model_or_data_names_what_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYWORD_DATA", raising=False)
    with pytest.raises(
        UsageError, match="'local:smollm2', or model regression:walker, which"
    ):
        wayword.run("walker", "houses", out=tmp_path / "run")
    with pytest.raises(DataError, match="get it with `wayword data fetch r2r`, or set"):
        wayword.run("random", "r2r:val_seen", data=tmp_path, out=tmp_path / "run")


def test_a_detector_in_a_file_names_the_door_of_detectors() -> None:
    with pytest.raises(
        UsageError, match=r"part of a robot's base, which fills View\.shown"
    ):
        detector_called("./mine.py")

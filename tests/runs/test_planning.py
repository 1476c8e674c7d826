"""What a run would take, by a pilot."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.runs import Plan, run
from wayword.runs.forecast import Pilot, Resources, outlook, plan_lines

DATASET = {"dataset": {"houses": 2, "episodes": 40}}


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pilot") / "run"
    run(Plan("navgpt", "houses", "scripted:first", DATASET, limit=3, max_steps=3, out=out))
    return out


def test_a_pilot_of_the_same_agent_tells_hours_and_machines(pilot: Path) -> None:
    known = Pilot.of(pilot)
    found = outlook(Plan("navgpt", "houses", "scripted:first", DATASET, max_steps=3), known)
    assert found.forecast.measured == 3
    assert found.seconds == known.episode
    each = 36.0  # seconds an episode: 40 of them, 8 at once, take 0.05 hours
    slow = [type(found)(found.name, found.forecast, each)]
    said = "\n".join(plan_lines(slow, Resources(concurrency=8, cores=2, hours=0.01), known))
    assert "one process, 8 episodes at once: 3 minutes" in said
    assert "5 processes, one per core: 3 machines of 2 cores" in said


def test_a_pilot_of_another_agent_tells_the_seconds_of_a_call(pilot: Path) -> None:
    known = Pilot.of(pilot)
    found = outlook(Plan("react", "houses", "scripted:first", DATASET, max_steps=3), known)
    assert known.call is not None
    assert found.seconds == pytest.approx(found.forecast.calls * known.call)


def test_a_rate_limit_can_be_what_decides(pilot: Path) -> None:
    known = Pilot.of(pilot)
    found = outlook(Plan("navgpt", "houses", "scripted:first", DATASET, max_steps=3), known)
    said = "\n".join(plan_lines([found], Resources(rpm=1), known))
    assert "at 1 requests per minute it takes 2." in said


def test_without_a_pilot_the_way_to_one(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["plan", "random", "--on", "houses", "--limit", "2"])
    assert done.exit_code == 0
    assert "2 episodes, 0.0 calls each" in done.output
    assert "--from runs/pilot" in done.output


def test_an_empty_pilot_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": 2, "identity": {}}')
    with pytest.raises(UsageError, match="has no finished episodes to measure"):
        Pilot.of(tmp_path)

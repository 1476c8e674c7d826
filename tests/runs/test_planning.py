"""Hours and server load of a run, by its finished episodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wayword.runs import Plan, run
from wayword.runs.forecast import forecast, lines, row_lines
from wayword.runs.record import RunFolder

DATASET = {"dataset": {"houses": 2, "episodes": 40}}


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    out = tmp_path_factory.mktemp("pilot") / "run"
    plan = Plan(
        "navgpt", "houses", "scripted:first", DATASET, limit=3, max_steps=3, out=out
    )
    run(plan)
    return replace(plan, limit=None)


def test_finished_episodes_tell_the_hours_of_all(pilot: Plan) -> None:
    assert pilot.out is not None
    each = [scores["seconds"] for _, scores in RunFolder.read(pilot.out).scores()]
    found = forecast(replace(pilot, concurrency=2))
    assert found.measured == 3
    assert found.hours == pytest.approx(sum(each) / 3 * 40 / 2 / 3600)
    shared = forecast(replace(pilot, concurrency=2, engine="ray", workers=5)).hours
    assert shared == pytest.approx(found.hours / 5)


def test_hours_and_load_are_shown(pilot: Plan) -> None:
    found = replace(
        forecast(pilot), hours=0.05, calls=3.0, prompt_tokens=900, completion_tokens=300
    )
    assert (
        "time: 3 minutes with 8 concurrent episodes; 40 requests and 400 tokens per minute"
        in (lines(found))
    )
    assert ", 3 minutes, " in row_lines([("small", found)])[0]


def test_a_rate_limit_can_be_what_decides(pilot: Plan) -> None:
    found = forecast(replace(pilot, rpm=1))
    assert found.hours == pytest.approx(found.calls * 40 / 60)
    # A limit that the episodes do not reach decides nothing.
    wide = forecast(replace(pilot, rpm=1_000_000))
    assert wide.hours == forecast(pilot).hours


def test_a_rehearsal_tells_no_hours(tmp_path: Path) -> None:
    found = forecast(
        Plan("navgpt", "houses", "scripted:first", DATASET, out=tmp_path / "none")
    )
    assert found.hours is None
    assert not any(line.startswith("time") for line in lines(found))

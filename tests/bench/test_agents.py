"""``wayword bench`` takes each of the agents of published systems, on the tracks that it plays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.bench import ladders
from wayword.cli.app import app
from wayword.runs.record import RunFolder

HOMES = {"act", "together", "ask"}
ALL = {track.name for track in ladders.open_bench().tracks}
FIRST = "scripted:first"
CASCADE = "cascade:scripted:noise,scripted:first"
PLAYERS = [
    ("navcot", FIRST, {"follow"}),
    ("mapgpt", FIRST, {"follow"}),
    ("frontier_llm", FIRST, {"find"}),
    ("planner", FIRST, HOMES),
    ("plan_search", FIRST, HOMES),
    ("react", CASCADE, ALL),
]


@pytest.mark.parametrize(("agent", "model", "tracks"), PLAYERS)
def test_an_agent_plays_every_track_that_fits(
    agent: str,
    model: str,
    tracks: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One episode of each track's shortest level; the other tracks are left out by name."""
    monkeypatch.setattr(ladders, "QUICK_LEVELS", 1)
    monkeypatch.setattr(ladders, "QUICK_EPISODES", 1)
    call = [
        "bench",
        "--agent",
        agent,
        "--model",
        model,
        "--quick",
        "--out",
        str(tmp_path),
    ]
    result = CliRunner().invoke(app, call, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert {
        name for name in ALL if f"{name} is left out: " in result.output
    } == ALL - tracks
    card = json.loads((tmp_path / ladders.CARD).read_text())
    assert set(card["tracks"]) == tracks
    for name, track in card["tracks"].items():
        (level,) = track["levels"]
        run = RunFolder.read(tmp_path / name / f"{level['length']:03d}")
        assert list(run.failures()) == []
        (record,) = run.records()
        assert any(step.calls for step in record.trajectory.steps), name
        assert level["tokens"] > 0


def test_players_that_only_read_solve_the_shortest_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mapper of ``tools/honest.py``: two episodes of each track that it plays."""
    monkeypatch.setattr(ladders, "QUICK_LEVELS", 1)
    monkeypatch.setattr(ladders, "QUICK_EPISODES", 2)
    call = ["bench", "--agent", "tools/honest.py", "--quick", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, call, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    card = json.loads((tmp_path / ladders.CARD).read_text())
    solved = {
        name: track["levels"][0]["solved"] for name, track in card["tracks"].items()
    }
    assert solved == {"grid": 2, "act": 2, "together": 2, "ask": 2}

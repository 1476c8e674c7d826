"""The bench's conditions of sight: a row a condition, and whether a model looks at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers.loopback import chat, serving
from wayword.bench import ladders, scorecard, sight
from wayword.bench.verify import check_card
from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.runs.record import RunFolder


def wayword(*arguments: str) -> str:
    """The output of a command."""
    result = CliRunner().invoke(app, ["bench", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


VERSION = ladders.open_bench()
(STREET,) = (track for track in VERSION.tracks if track.name == "street")


def rows_of(
    monkeypatch: pytest.MonkeyPatch, wins: dict[str, int]
) -> tuple[list[dict[str, Any]], str]:
    """The rows and the verdict where that many of 16 towns are solved in each condition."""
    monkeypatch.setattr(sight, "is_run", lambda path: True)

    def results(path: Path, track: ladders.Track) -> Any:
        condition = path.parts[1] if sight.SIGHT in path.parts else "words"
        for town in range(16):
            yield f"town{town}_0", town < wins[condition], {}

    monkeypatch.setattr(sight, "results", results)
    rows = sight.sight_rows(Path(), [STREET])
    return rows, sight.verdict(sight.looks(Path(), [STREET]))


def test_a_model_that_looks_loses_with_the_pictures_of_another_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wins = {"words": 14, "pictures": 12, "both": 14, "blank": 1, "elsewhere": 2}
    rows, said = rows_of(monkeypatch, wins)
    assert [row["condition"] for row in rows] == list(sight.CONDITIONS)
    assert {row["episodes"] for row in rows} == {16}
    changes = {row["condition"]: row["change"] for row in rows}
    assert changes["pictures"][0] == pytest.approx(-2 / 16)
    assert changes["blank"][2] < 0.0
    assert said.endswith(": the model looks")


def test_a_model_that_scores_alike_elsewhere_is_not_shown_to_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wins = {"words": 14, "pictures": 9, "both": 14, "blank": 8, "elsewhere": 8}
    _, said = rows_of(monkeypatch, wins)
    assert "do not show that the model looks" in said


def test_tracks_without_pictures_have_no_conditions() -> None:
    entry = ladders.Contender(VERSION, "react", "scripted:x")
    for track in VERSION.tracks:
        conditions = [name for name, _ in entry.sight_plans(track)]
        drawn = track.name in {"follow", "street", "find", "grid", "act"}
        assert conditions == (list(sight.CONDITIONS) if drawn else []), track.name


def test_all_conditions_play_the_same_episodes_in_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladders, "QUICK_EPISODES", 2)
    monkeypatch.setattr(ladders, "QUICK_LEVELS", 1)

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        return 200, chat(json.dumps({"thought": "on", "action": "stop"}))

    with serving(answer) as server:
        options = (
            *("--model", "openai:looker", "--set", f"model.base_url={server.address}"),
            *("--tracks", "grid", "--quick", "--eyes", "--out", str(tmp_path)),
        )
        output = wayword(*options)
    card = json.loads((tmp_path / ladders.CARD).read_text())
    assert [row["condition"] for row in card["sight"]] == list(sight.CONDITIONS)
    assert {row["episodes"] for row in card["sight"]} == {2}
    assert "do not show that the model looks" in output
    assert "do not show that the model looks" in (tmp_path / "card.html").read_text()
    assert scorecard.read_card(tmp_path) == card
    assert check_card(tmp_path, card).reason == ""
    ids = set()
    for condition in sight.CONDITIONS:
        (track,) = (each for each in VERSION.tracks if each.name == "grid")
        folder = sight.run_folder(tmp_path, track.quick(), condition)
        records = RunFolder.read(folder).records()
        ids.add(tuple(sorted(record.episode_id for record in records)))
    assert len(ids) == 1


def test_eyes_of_a_setting_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="remove --set eyes"):
        wayword("--agent", "react", "--eyes", "--set", "eyes=both")


def test_an_agent_without_eyes_is_refused() -> None:
    with pytest.raises(UsageError, match="none of the tracks in pictures"):
        wayword(
            *("--agent", "plan_search", "--model", "scripted:first"),
            *("--tracks", "act", "--quick", "--eyes"),
        )

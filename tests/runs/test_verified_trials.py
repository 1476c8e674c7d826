"""How many trials of an episode are verified, and when another one may follow."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers.records import records, rewrite
from wayword.cli.app import app
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import coverage, verify

SMALL = {"houses": 1, "episodes": 4}


def differences(path: Path) -> list[str]:
    return [each for _, each in verify(RunFolder.read(path)) if each]


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All episodes of a small split, by their gold paths; an actor's settings allow trials."""
    out = tmp_path_factory.mktemp("solved") / "run"
    run(Plan("gold", "houses", settings={"dataset": SMALL}, out=out))
    assert all(scores["sr"] for _, scores in RunFolder.read(out).scores())
    return out


def tried_again(folder: Path, verdict: dict[str, Any] | None) -> None:
    """Record the first episode as the second trial of itself."""
    first, *others = records(folder)
    earlier = deepcopy(first["trajectory"])
    if verdict is not None:
        earlier["verdict"] = verdict
    first["trajectory"]["earlier"] = [earlier]
    rewrite(folder, [first, *others])


def allowing(folder: Path, **identity: Any) -> None:
    """Change the identity of a run."""

    config = json.loads((folder / "run.json").read_text())
    config["identity"] |= identity
    (folder / "run.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ({"succeeded": True}, "trial 1: was played again after a success"),
        ({"succeeded": None}, ""),
        ({"succeeded": False}, "trial 1: its verdict is True, recorded as False"),
        (None, "trial 1: was played again without a verdict"),
    ],
)
def test_no_trial_follows_a_success_or_a_trial_without_a_verdict(
    solved: Path, tmp_path: Path, verdict: dict[str, Any] | None, reason: str
) -> None:

    copy = Path(shutil.copytree(solved, tmp_path / "run"))
    allowing(copy, settings={"trials": 2})
    if verdict is not None:
        verdict = {"trial": 0, "trials": 2, "ended": "stopped", "steps": 3} | verdict
    tried_again(copy, verdict)
    found = differences(copy)
    assert (
        any(line.startswith(reason) for line in found)
        if reason
        else not any(line.startswith("trial 1") for line in found)
    ), found


@pytest.mark.parametrize(
    ("identity", "allowed"),
    [
        ({}, 1),
        ({"settings": {"trials": 2}}, 2),
        ({"actors": {"partner": {"agent": "gold", "settings": {"trials": 2}}}}, 2),
        ({"settings": {"trials": True}}, 1),
        ({"settings": {"trials": "9"}}, 1),
        ({"settings": {"trials": 1}}, 1),
    ],
)
def test_as_many_trials_are_allowed_as_the_settings_of_any_agent_say(
    solved: Path, tmp_path: Path, identity: dict[str, Any], allowed: int
) -> None:

    copy = Path(shutil.copytree(solved, tmp_path / "run"))
    allowing(copy, **identity)
    tried_again(copy, None)
    too_many = any(
        "has 2 trials, but its settings allow 1" in d for d in differences(copy)
    )
    assert too_many == (allowed < 2)


def test_a_run_of_the_full_split_is_said_to_be_one(
    solved: Path, tmp_path: Path
) -> None:
    recorded = RunFolder.read(solved)
    assert coverage(recorded) == "all 4 episodes of the split"
    assert coverage(recorded, 5) == "the first 4 of 5 episodes"
    plan = Plan(
        "gold", "houses", settings={"dataset": SMALL}, limit=2, out=tmp_path / "r"
    )
    assert coverage(RunFolder.read(run(plan).path)) == (
        "2 of 4 episodes, a random sample (--shuffle 0)"
    )


def test_the_coverage_of_a_split_of_unknown_size_is_a_number(
    solved: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(solved, tmp_path / "run"))
    config = json.loads((copy / "run.json").read_text())
    del config["episodes_in_split"]
    (copy / "run.json").write_text(json.dumps(config))
    expected = "4 episodes of a split of unknown size"
    assert coverage(RunFolder.read(copy)) == expected


def test_only_replayed_episodes_count_as_replayed(solved: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(solved, tmp_path / "run"))
    first, *others = records(copy)
    first["trajectory"]["episode_id"] = "of-no-dataset"
    rewrite(copy, [first, *others])
    shown = CliRunner().invoke(app, ["verify", str(copy)]).output
    assert "has the trajectory of episode 'of-no-dataset'" in shown
    assert ": 3 episodes replayed and scored, 1 difference\n" in shown


@pytest.mark.parametrize("field", ["scores", "state", "start"])
def test_a_record_with_more_fields_than_its_replay_is_refused(
    solved: Path, tmp_path: Path, field: str
) -> None:

    copy = Path(shutil.copytree(solved, tmp_path / "run"))
    first, *others = records(copy)
    if field == "scores":
        first["scores"]["won"] = 1.0
    else:
        first["trajectory"].setdefault(field, {})["won"] = {"x": 1.0}
    rewrite(copy, [first, *others])
    assert any("'won' is None" in line for line in differences(copy))

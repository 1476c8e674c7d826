"""Runs of several trials an episode: played, put on disk, gone on with, read, replayed, shown."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers.records import records as read
from helpers.records import rewrite, torn
from wayword import viewer
from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.runs.active import setup_of
from wayword.runs.differences import compare
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.reports import table
from wayword.runs.results import RunResult
from wayword.runs.running import run

SLOW_LEARNER = '''
"""Reflexion on an answer that takes its time, so that it can be killed on the way."""
import asyncio
from wayword.agents.strategies.agents import Reflexion

class Slow(Reflexion):
    async def act(self, observation, space):
        await asyncio.sleep(0.004)
        return await super().act(observation, space)

agent = Slow
'''
ANSWERS = "scripted:first"


def played(
    out: Path, agent: str = "reflexion", on: str = "houses", **more: Any
) -> RunResult:
    settings = {"trials": 2, **more.pop("settings", {})}
    model = more.pop("model", ANSWERS)
    given: dict[str, Any] = {"limit": 4, "first": True, "max_steps": 3, "out": out}
    given |= more
    return run(Plan(agent, on, model, settings, **given))


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four episodes in houses, up to two trials each, some of them solved at once."""
    return played(tmp_path_factory.mktemp("trials") / "tried", first=True).path


def test_the_settings_of_the_agent_are_the_runs(tried: Path) -> None:
    (record,) = json.loads(table([tried], "json"))["rows"]
    metrics = {key: value["mean"] for key, value in record["metrics"].items()}
    assert 1 < metrics["trials"] < 2
    assert metrics["verdicts"] == 1.0
    assert metrics["sr_first"] <= metrics["sr"]
    identity = RunFolder.read(tried).config["identity"]
    assert (identity["settings"]["trials"], identity["settings"]["verdict"]) == (
        2,
        "judge",
    )
    assert "trials per episode, of which the last is scored; a judge revealed" in table(
        [tried], "rich"
    )


@pytest.mark.parametrize(
    ("learners", "trials", "is_judged"),
    [
        ([], 1, False),
        ([(2, "none")], 2, False),
        ([(1, "self"), (3, "judge"), (2, "none")], 3, True),
    ],
)
def test_a_team_has_as_many_trials_as_one_of_its_learners_asks_for(
    learners: list[tuple[int, str]], trials: int, is_judged: bool
) -> None:
    parts = [SimpleNamespace(cls=SimpleNamespace(learns=False))]
    for number, verdict in learners:
        settings = SimpleNamespace(trials=number, verdict=verdict)
        parts.append(
            SimpleNamespace(cls=SimpleNamespace(learns=True), settings=settings)
        )
    agent: Any = SimpleNamespace(playing=lambda: parts, make=None)
    plan = Plan("random", "houses")
    setup = setup_of(plan, open_dataset(plan), agent, {}, lambda *_: None)
    assert (setup.trials, setup.judge is not None) == (trials, is_judged)


def test_runs_without_trials_have_no_such_columns(tmp_path: Path) -> None:
    path = run(
        Plan("react", "houses", ANSWERS, limit=1, max_steps=2, out=tmp_path / "r")
    ).path
    (record,) = json.loads(table([path], "json"))["rows"]
    assert not {"trials", "verdicts", "sr_first"} & set(record["metrics"])
    assert "trials" not in table([path], "rich")


def test_what_is_read_back_tells_every_trial_and_its_scores(tried: Path) -> None:
    for record in RunFolder.read(tried).records():
        trials = record.trajectory.trials()
        assert len(trials) == record.scores["trials"]
        calls = list(record.trajectory.calls())
        assert len(calls) == record.scores["calls"]
        prompts = [
            c
            for c in calls
            if c.role == "reflection" or "look back" in str(c.prompt[-1])
        ]
        assert len(prompts) == len(trials) - 1
        for trial in trials[:-1]:
            assert trial.state
            assert trial.verdict is not None
            assert trial.verdict.succeeded is False


def test_a_record_of_one_trial_has_no_fields_of_several(
    tried: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(tried, old)
    lines = read(old)
    for line in lines:
        for key in ("earlier", "verdict", "closing_calls", "closing_notes"):
            line["trajectory"].pop(key, None)
        line["trajectory"].pop("opening_calls", None)
        for step in line["trajectory"]["steps"]:
            step.pop("calls", None)
            step.pop("percept", None)
    rewrite(old, lines)
    for record in RunFolder.read(old).records():
        assert (record.trajectory.earlier, record.trajectory.verdict) == ([], None)


def test_a_replayed_run_is_the_same_run(tried: Path, tmp_path: Path) -> None:
    again = played(tmp_path / "again", model=f"replay:{tried}")
    assert again.outcome.failed == 0
    for one, two in zip(records(tried), records(again.path), strict=True):
        for first, second in zip(one.trials(), two.trials(), strict=True):
            assert [s.decision for s in first.steps] == [
                s.decision for s in second.steps
            ]
            assert (first.state, first.verdict) == (second.state, second.verdict)


def test_two_runs_are_compared_on_trials_too(tried: Path, tmp_path: Path) -> None:
    once = run(
        Plan(
            "react",
            "houses",
            ANSWERS,
            limit=4,
            first=True,
            max_steps=3,
            out=tmp_path / "once",
        )
    )
    assert "4 shared episodes" in compare([once.path, tried]).text
    more = played(tmp_path / "more", settings={"trials": 3})
    assert "Trials" in compare([tried, more.path], keys=["trials", "sr"]).text


def test_the_pages_show_every_trial(tried: Path) -> None:
    index = viewer.write(tried)
    for record in records(tried):
        page = (index.parent / "episodes" / f"{record.episode_id}.html").read_text()
        for number, trial in enumerate(record.earlier, 1):
            assert page.count(f'id="trial-{number}"') == 1
            for step in range(1, len(trial.steps) + 1):
                assert page.count(f'id="trial-{number}-step-{step}"') == 1
            assert page.count(f'id="trial-{number}-verdict"') == 1
        assert ("reported: failure" in page) is bool(record.earlier)
        assert page.count('id="step-1"') == 1


def test_a_run_killed_between_trials_ends_like_an_uninterrupted_one(
    tmp_path: Path,
) -> None:
    agent = tmp_path / "slow.py"
    agent.write_text(SLOW_LEARNER, encoding="utf-8")
    folder = tmp_path / "whole"
    broken = tmp_path / "broken"

    def words(out: Path) -> list[str]:
        play = ["run", str(agent), "--on", "houses", "--model", ANSWERS]
        play += ["--limit", "12", "--max-steps", "6", "--set", "trials=3"]
        return [*play, "--out", str(out), "--concurrency", "2"]

    def finish(out: Path) -> None:
        done = CliRunner().invoke(app, words(out), catch_exceptions=False)
        assert done.exit_code == 0, done.output

    finish(folder)
    running = subprocess.Popen(
        [sys.executable, "-m", "wayword", *words(broken)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not (lines := _lines(broken)) and running.poll() is None:
        assert time.monotonic() < deadline, "the run never finished an episode"
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert 0 < lines < 12, "the kill came at a telling moment"
    finish(broken)
    found = {record.episode_id: trials_of(record) for record in records(broken)}
    assert found == {record.episode_id: trials_of(record) for record in records(folder)}


def test_a_question_is_tried_again_too(tmp_path: Path) -> None:
    result = played(tmp_path / "iqa", on="iqa", limit=2, settings={"trials": 3})
    assert result.outcome.failed == 0
    (record,) = json.loads(table([result.path], "json"))["rows"]
    assert record["metrics"]["trials"]["mean"] > 1


def test_a_setting_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    for wrong in ({"trials": 0}, {"verdict": "maybe"}):
        with pytest.raises(UsageError):
            played(tmp_path / "wrong", settings=wrong)
    assert not (tmp_path / "wrong").exists()


def records(path: Path) -> list[Any]:
    found = [record.trajectory for record in RunFolder.read(path).records()]
    return sorted(found, key=lambda trajectory: trajectory.episode_id)


def trials_of(trajectory: Any) -> list[Any]:
    return [
        (trial.ended, trial.verdict, [step.decision for step in trial.steps])
        for trial in trajectory.trials()
    ]


def _lines(run: Path) -> int:
    return len(torn(run))


def test_metrics_are_named_by_their_key_or_as_tables_head_their_column(
    tmp_path: Path,
) -> None:
    for name in ("one", "two"):
        run(Plan("random", "houses", limit=2, out=tmp_path / name))
    paths = [tmp_path / "one", tmp_path / "two"]
    own = table(paths, "csv", ["sr", "ndtw", "prompt_tokens"])
    assert table(paths, "csv", ["SR", "nDTW", "Prompt"]) == own
    assert "| Prompt |" in compare(paths, "markdown", ["prompt"]).text
    with pytest.raises(
        UsageError, match="no metric 'Promt' in these runs; there are: calls"
    ):
        table(paths, "csv", ["Promt"])

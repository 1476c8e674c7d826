"""Episodes as Harbor tasks: their files, their reference solutions, and their rewards."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import wayword
from helpers.serving import command_served
from wayword.core.errors import RecordingError, UsageError
from wayword.runs import RunFolder, harbor, harbor_player
from wayword.runs.harbor import (
    WORLD_RUN,
    _quoted,
    _why_not,
    export_harbor,
    rewards,
)
from wayword.runs.opening import dataset_of

TOKEN = "secret-word"


def exported(tmp_path: Path, agent: str, on: str, **options: Any) -> Path:
    """The folder of tasks of a run."""
    wayword.run(agent, on=on, out=tmp_path / "run", **options)
    export_harbor([tmp_path / "run"], tmp_path / "tasks")
    return tmp_path / "tasks"


def solved(task: Path, run: Path) -> None:
    """Serve a task's world by the command of its container, and run the solution against it."""
    compose = yaml.safe_load((task / "environment/docker-compose.yaml").read_text())
    words = compose["services"]["world"]["command"][1:]
    # What differs from a container: its address, its port, and the place of the run folder.
    words[words.index("--host") + 1] = "127.0.0.1"
    words[words.index("--http") + 1] = "0"
    words[words.index(WORLD_RUN)] = str(run)
    solution = task / "solution"
    with command_served(words, TOKEN) as url:
        command = [sys.executable, "-I", solution / "solve.py", url]
        subprocess.run(
            [*command, solution / "actions.json"],
            env={"PATH": os.environ["PATH"], "WAYWORD_ENV_TOKEN": TOKEN},
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )


def test_the_reference_solution_solves_its_task(tmp_path: Path) -> None:
    tasks = exported(tmp_path, "oracle", "two_phase", limit=1)
    (task,) = tasks.glob("two-phase*")
    solved(task, tmp_path / "world")
    values, reasons = rewards(tmp_path / "world")
    assert values["reward"] == 1.0
    assert values["phase_1"] == 1.0
    assert not reasons


def test_the_solution_prints_all_that_the_world_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class World:
        def __init__(self, url: str) -> None:
            self.url = url

        def call(self, tool: str, **arguments: str) -> str:
            return f"{self.url} {tool} {arguments.get('action', '')}".strip()

    monkeypatch.setattr(harbor_player, "WorldClient", World)
    actions = tmp_path / "actions.json"
    actions.write_text('["goto[é]", "stop"]', encoding="utf-8")
    harbor_player.main("w:", str(actions))
    assert capsys.readouterr().out.splitlines() == [
        "w: begin",
        *("> goto[é]", "w: act goto[é]"),
        *("> stop", "w: act stop"),
    ]


def test_a_task_is_described_by_its_episode(tmp_path: Path) -> None:
    tasks = exported(tmp_path, "oracle", "houses", limit=1, max_steps=9)
    (task,) = tasks.glob("houses*")
    (record,) = wayword.RunResult.read(tmp_path / "run").episodes
    config = tomllib.loads((task / "task.toml").read_text())
    assert config["metadata"]["episode"] == record.episode_id
    assert config["metadata"]["dataset"] == "houses:test"
    assert config["verifier"]["environment_mode"] == "separate"
    prompt = (task / "instruction.md").read_text()
    assert record.instruction in prompt
    assert "at most 9 actions" in prompt
    # The agent's container has neither the goal nor the world.
    assert sorted(path.name for path in (task / "environment").iterdir()) == [
        "Dockerfile",
        "docker-compose.yaml",
    ]


def test_only_solved_episodes_of_one_actor_become_tasks(tmp_path: Path) -> None:
    wayword.run("random", on="houses", limit=2, out=tmp_path / "stop")
    wayword.run("team", on="ma_household", limit=1, out=tmp_path / "team")
    runs = [tmp_path / "stop", tmp_path / "team"]
    summary = export_harbor(runs, tmp_path / "tasks")
    assert not summary.rows
    assert summary.omitted == {"without success": 2, "with several actors": 1}
    assert not (tmp_path / "tasks").exists()


@pytest.mark.parametrize("name", ["a,b", " a"])
def test_an_id_that_a_list_cannot_hold_is_no_task(tmp_path: Path, name: str) -> None:
    wayword.run("oracle", on="two_phase", limit=1, out=tmp_path / "run")
    run = RunFolder.read(tmp_path / "run")
    (record,) = run.records()
    (task, *_) = dataset_of(run).tasks
    assert not _why_not(run, task, record)
    assert "id" in _why_not(run, task, replace(record, episode_id=name))


def test_every_text_survives_the_quotes_of_toml_and_yaml() -> None:
    text = 'a "b" \\ ${C} \n\t\x7f\x85 \u2028 \u2029 \u00e9 \U0001f3e0 # : {d}'
    assert tomllib.loads(f"text = {_quoted(text)}")["text"] == text
    assert yaml.safe_load(f"texts: {_quoted([text, '-'])}")["texts"] == [text, "-"]


def test_settings_of_the_run_reach_the_world(tmp_path: Path) -> None:
    settings = {"dataset": {"rooms": 6}}
    tasks = exported(tmp_path, "oracle", "houses", limit=1, settings=settings)
    (task,) = tasks.glob("houses*")
    compose = yaml.safe_load((task / "environment/docker-compose.yaml").read_text())
    command = compose["services"]["world"]["command"]
    assert command[command.index("--set") + 1] == "dataset.rooms=6"


def test_an_episode_that_was_left_earns_nothing(tmp_path: Path) -> None:
    wayword.run("oracle", on="two_phase", limit=1, out=tmp_path / "run")
    (tmp_path / "run/episodes.jsonl.gz").write_bytes(b"")
    values, reasons = rewards(tmp_path / "run")
    assert values == {"reward": 0.0}
    assert reasons


def test_a_metric_named_reward_is_kept_next_to_the_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BabyAI has one, which falls with the steps taken. What is infinite has no JSON form."""
    wayword.run("oracle", on="two_phase", limit=1, out=tmp_path / "run")
    run = RunFolder.read(tmp_path / "run")
    (record,) = run.records()
    scored = replace(record, scores={**record.scores, "reward": 0.9, "ne": math.inf})
    monkeypatch.setattr(harbor, "verify", lambda run: [])
    monkeypatch.setattr(type(run), "records", lambda run: iter([scored]))
    values, reasons = rewards(tmp_path / "run")
    assert not reasons
    assert values == {**record.scores, "metric_reward": 0.9, "reward": 1.0}


def test_a_record_that_differs_from_its_replay_earns_nothing(tmp_path: Path) -> None:
    wayword.run("random", on="two_phase", limit=1, max_steps=1, out=tmp_path / "run")
    config = tmp_path / "run/run.json"
    written = json.loads(config.read_text())
    written["success"] = "phase_1"
    config.write_text(json.dumps(written))
    values, reasons = rewards(tmp_path / "run")
    assert values["reward"] == 0.0
    assert reasons


def test_a_perturbed_run_is_no_task(tmp_path: Path) -> None:
    wayword.run(
        "oracle",
        on="houses",
        limit=1,
        out=tmp_path / "run",
        settings={"perturb": {"captions_missing": 0.5}},
    )
    with pytest.raises(UsageError, match="cannot be perturbed"):
        export_harbor([tmp_path / "run"], tmp_path / "tasks")


def test_a_folder_with_files_is_not_written_to(tmp_path: Path) -> None:
    wayword.run("oracle", on="two_phase", limit=1, out=tmp_path / "run")
    with pytest.raises(RecordingError, match="not empty"):
        export_harbor([tmp_path / "run"], tmp_path / "run")


def test_the_image_of_the_worlds_has_what_their_families_need(tmp_path: Path) -> None:
    tasks = exported(tmp_path, "expert", "grounding", limit=1)
    recipe = (tasks / "world/Dockerfile").read_text()
    assert "'/src[mcp,serve,babyai]'" in recipe
    assert "FROM ${BASE_IMAGE}" in recipe

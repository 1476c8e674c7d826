"""ALFWorld's engine: generated games are won, killed, resumed and verified."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wayword
from wayword.datasets.alfworld import Alfworld
from wayword.models.scripted import ScriptedModel
from wayword.runs import RunFolder

GAMES = int(os.environ.get("WAYWORD_ALFWORLD_GAMES", "6"))
"""20 is the long form."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the expert in a process that is killed once, and resumed."""
    out = tmp_path_factory.mktemp("alfworld") / "run"
    words = ["run", "expert", "--on", "alfworld", "--set", f"dataset.episodes={GAMES}"]
    command = [sys.executable, "-m", "wayword", *words, "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            stored = out / "episodes.jsonl.gz"
            if stored.exists() and stored.stat().st_size:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.05)
    assert len(RunFolder.read(out).index) < GAMES
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return out


def test_the_walkthrough_wins_every_generated_game(run: Path) -> None:
    scores = [record.scores["sr"] for record in RunFolder.read(run).records()]
    assert scores == [1.0] * GAMES


def test_a_resumed_run_is_equal_to_its_replay(run: Path) -> None:
    command = [sys.executable, "-m", "wayword", "verify", str(run)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def test_a_random_player_seldom_wins(tmp_path: Path) -> None:
    settings = {"dataset": {"episodes": 2}}
    result = wayword.run(
        "random", on="alfworld", max_steps=10, settings=settings, out=tmp_path / "run"
    )
    assert all(record.scores["sr"] == 0 for record in result.episodes)


def test_a_model_that_writes_alfworlds_commands_wins(tmp_path: Path) -> None:
    settings = Alfworld.Settings(episodes=1)
    dataset = Alfworld(settings=settings)
    (task,) = dataset.tasks
    commands = [str(each) for each in dataset.walkthrough(task)]
    # As models of the literature answer: the engine's own wording, not the menu's.
    answers = [f"Thought: this is next.\nAction: {each}" for each in commands]
    result = wayword.run(
        "react",
        on="alfworld",
        model=ScriptedModel(answers=answers),
        settings={"dataset": {"episodes": 1}},
        out=tmp_path / "run",
    )
    (record,) = result.episodes
    assert record.scores["sr"] == 1
    assert record.scores["rejections"] == 0

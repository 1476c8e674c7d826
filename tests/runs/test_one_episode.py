"""One recorded episode, played by everything that plays episodes: the same steps, rejections and
scores, whoever plays it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from helpers.records import records, rewrite
from wayword.core.action import Decision, Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.trajectory import Step, Trajectory
from wayword.envs import make
from wayword.envs.game import TaskGame
from wayword.metrics.scoring import score
from wayword.runs.codec import plain
from wayword.runs.export import Export, export
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import run
from wayword.runs.verify import verify
from wayword.viewer.games import Games

AGENT = """
from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.registry import load


class Scripted(load("agent", "random")):
    '''An unreadable answer and an illegal action between steps to the second place seen.'''

    async def begin(self, episode):
        self.turn = 0

    async def act(self, observation, space):
        self.turn += 1
        if self.turn == 2:
            return Rejection("empty", "the answer is empty")
        if self.turn == 4:
            return Decision(Action("goto", ("nowhere",)))
        if self.turn == 6:
            return Decision(STOP)
        places = [action for action in space.listed if action.name == "goto"]
        return Decision(places[self.turn % len(places)], f"turn {self.turn}")


agent = Scripted
"""
TREE = {"dataset": {"houses": 1, "episodes": 2, "rooms": 6}}
STATUSES = ["ok", "rejected", "ok", "rejected", "ok", "ok"]


class Recorded:
    """The episode as a run recorded it."""

    def __init__(self, folder: Path) -> None:
        (folder / "mine.py").write_text(AGENT)
        self.plan = Plan(
            str(folder / "mine.py"), "houses", "", TREE, 1, out=folder / "run"
        )
        self.path = run(self.plan).path
        self.dataset: Dataset = open_dataset(self.plan)
        self.task: Task = self.dataset.tasks[0]

    @property
    def record(self) -> EpisodeRecord:
        (record,) = RunFolder.read(self.path).records()
        return record

    def said(self) -> list[str]:
        """What a policy or a person would have answered at each step."""
        return ["" if isinstance(s.decision, Rejection) else str(s.decision.action)
                for s in self.record.trajectory.steps]  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("one"))


def parts(steps: Sequence[Step]) -> list[Any]:
    """What the world and its rules make of each turn; not what was thought, or why rejected."""
    return [
        (
            step.actor,
            plain(step.observation),
            step.decision.action if isinstance(step.decision, Decision) else "rejected",
            step.feedback.status,
            step.pose,
        )
        for step in steps
    ]


def outcome(recorded: Recorded, trajectory: Trajectory) -> dict[str, float]:
    """The scores that depend on nothing but what was done."""
    (scores,) = score(recorded.dataset, [(recorded.task, trajectory)])
    return {
        key: scores[key] for key in ("sr", "spl", "ne", "tl", "steps", "rejections")
    }


def test_the_recorded_episode_has_two_rejections_and_scores(recorded: Recorded) -> None:
    record = recorded.record
    assert [step.feedback.status for step in record.trajectory.steps] == STATUSES
    assert len({step.pose["viewpoint"] for step in record.trajectory.steps}) >= 2
    for before, after in pairwise(record.trajectory.steps):
        assert plain(after.observation)["viewpoint"] == before.pose["viewpoint"]
    assert record.scores["rejections"] == 2
    assert outcome(recorded, record.trajectory).items() <= record.scores.items()


def test_it_is_verified(recorded: Recorded) -> None:
    assert list(verify(RunFolder.read(recorded.path))) == [
        (recorded.task.episode.id, "")
    ]


def test_a_forged_score_is_found(recorded: Recorded, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(recorded.path, tmp_path / "forged"))
    (record,) = records(copy)
    rewrite(copy, [{**record, "scores": {**record["scores"], "ne": 0.25}}])
    ((_, found),) = verify(RunFolder.read(copy))
    assert "score 'ne' is" in found
    assert "recorded 0.25" in found


def test_a_task_game_plays_it(recorded: Recorded) -> None:
    trajectory = recorded.record.trajectory
    game = TaskGame(recorded.dataset, recorded.task, 30)
    for step in trajectory.steps:
        game.act(step.actor, step.decision)
    assert parts(game.trajectory.steps) == parts(trajectory.steps)
    assert outcome(recorded, game.finished()) == outcome(recorded, trajectory)
    standing = game.standing()
    assert standing is not None
    assert float(standing.success) == recorded.record.scores["sr"]


@pytest.mark.parametrize("actions", ["text", "menu"])
def test_an_environment_plays_it(recorded: Recorded, actions: str) -> None:
    trajectory = recorded.record.trajectory
    terms = {"success": 1.0, "rejected": 0.5}
    with make("houses", dataset=recorded.dataset, actions=actions, reward=terms) as env:
        env.reset(episode=0)
        paid = []
        for step, words in zip(trajectory.steps, recorded.said(), strict=True):
            _, reward, ended, cut, info = env.step(words)
            assert info["status"] == step.feedback.status
            assert info["rejected"] == isinstance(step.decision, Rejection)
            paid.append(reward)
        assert (ended, cut) == (True, False)
        assert sum(paid) == recorded.record.scores["sr"] - 0.5 * 2
        assert info["success"] == bool(recorded.record.scores["sr"])
        mine = env.trajectory()
    assert parts(mine.steps) == parts(trajectory.steps)
    assert outcome(recorded, mine) == outcome(recorded, trajectory)


def test_an_export_tells_each_step_as_it_was(
    recorded: Recorded, tmp_path: Path
) -> None:
    trajectory = recorded.record.trajectory
    out = tmp_path / "steps.jsonl"
    export([recorded.path], out, Export("act", "steps", everything=True))
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    done = [s for s in trajectory.steps if isinstance(s.decision, Decision)]
    assert len(lines) == len(done)
    for line, step in zip(lines, done, strict=True):
        assert isinstance(step.decision, Decision)
        assert str(step.decision.action) in line["completion"][-1]["content"]
        shown = line["prompt"][-1]["content"]
        assert all(
            way["viewpoint"] in shown for way in plain(step.observation)["neighbors"]
        )


def test_a_person_in_the_browser_plays_it(recorded: Recorded, tmp_path: Path) -> None:
    """A wrong input is asked for again there, and costs no turn."""
    trajectory = recorded.record.trajectory
    folders: list[Path] = []
    games = Games(folders.append)
    plan = Plan("human", "houses", "", TREE, episode="1", out=tmp_path / "played")
    table = games.begin(plan)
    for number, words in enumerate(recorded.said(), 1):
        seat = table.seat("agent")
        seat.settled(30)
        assert seat.put(seat.waiting, words or "nowhere[at all]") == "", (
            number,
            table.problem,
        )
    end = time.monotonic() + 30
    while not table.ended:
        assert time.monotonic() < end
        time.sleep(0.01)
    (record,) = RunFolder.read(tmp_path / "played").records()
    legal = [step for step in trajectory.steps if isinstance(step.decision, Decision)]
    assert parts(record.trajectory.steps) == parts(legal)
    found = record.scores
    known = recorded.record.scores
    assert [found[key] for key in ("sr", "ne", "tl")] == [
        known[key] for key in ("sr", "ne", "tl")
    ]

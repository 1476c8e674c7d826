"""Episodes that fail, and finish later: what a resumed run plays, and what tables count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.run_folders import episodes, failures, records, rows
from wayword.core.trajectory import STATE
from wayword.runs import Plan, RunResult, run
from wayword.runs.active import ActiveRun
from wayword.runs.record import Line
from wayword.worlds import household

pytestmark = pytest.mark.usefixtures("shared_data")

AGENT = """
import os

from wayword.core.registry import load


class Stumbling(load("agent", "random")):
    async def begin(self, episode):
        await super().begin(episode)
        self.episode, self.moves = episode.id, 0

    async def act(self, observation, space):
        self.moves += 1
        if self.moves == 3 and self.episode in os.environ["STUMBLES"].split():
            raise ValueError("stumbled")
        return await super().act(observation, space)


agent = Stumbling
"""

Start = Callable[..., RunResult]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start the run of a walker that raises at its third move of the named episodes."""
    (tmp_path / "mine.py").write_text(AGENT)

    def run_it(
        out: str, stumbles: Sequence[str] = (), limit: int = 4, seed: int = 0
    ) -> RunResult:
        monkeypatch.setenv("STUMBLES", " ".join(stumbles))
        tree = {"dataset": {"houses": 2, "episodes": 6, "rooms": 6}}
        mine = str(tmp_path / "mine.py")
        folder = tmp_path / out
        return run(Plan(mine, "houses", "", tree, limit, seed=seed, out=folder))

    return run_it


def counts(result: RunResult) -> tuple[int, int, int]:
    return result.resumed, result.outcome.finished, result.outcome.failed


def test_a_resumed_run_plays_what_failed_and_ends_as_if_nothing_had(
    start: Start, tmp_path: Path
) -> None:
    start("straight")
    first = episodes(tmp_path / "straight")
    for stumbles, expected in (
        (first[1:3], (0, 2, 2)),
        (first[2:3], (2, 1, 1)),
        ([], (3, 1, 0)),
    ):
        result = start("resumed", stumbles)
        assert counts(result) == expected
        assert result.outcome.complete == (expected[2] == 0)
        texts = [line for line in result.notices if "stumbled" in line]
        assert len(texts) == (expected[2] > 0), "one line a reason"
    assert counts(start("resumed")) == (4, 0, 0), "nothing is left to play"
    played = {each.episode_id: each for each in records(tmp_path / "resumed")}
    assert len(played) == len(records(tmp_path / "resumed")) == 4, "each of them once"
    for straight in records(tmp_path / "straight"):
        again = played[straight.episode_id]
        assert again.trajectory.actions("agent") == straight.trajectory.actions("agent")
        for key in ("sr", "ne", "tl", "steps"):
            assert again.scores[key] == straight.scores[key]
    failed = [
        name for name, reason in failures(tmp_path / "resumed") if "stumbled" in reason
    ]
    assert sorted(failed) == sorted([first[1], first[2], first[2]]), (
        "failures stay on record"
    )


def test_a_table_counts_as_failed_what_has_not_finished_since(
    start: Start, tmp_path: Path
) -> None:
    start("all")
    first = episodes(tmp_path / "all")
    seen = []
    for stumbles in (first[1:3], first[2:3], ()):
        start("run", stumbles)
        (row,) = rows(tmp_path / "run")
        seen.append((row["n"], row["failed"], row["of"]))
    assert seen == [(2, 2, 6), (3, 1, 6), (4, 0, 6)]
    start("run", first[2:3])
    (row,), (straight,) = rows(tmp_path / "run"), rows(tmp_path / "all")
    for key in ("sr", "spl", "ne", "tl", "steps"):
        assert row["metrics"][key] == straight["metrics"][key]
    start("run", limit=6)
    assert [(row["n"], row["failed"]) for row in rows(tmp_path / "run")] == [(6, 0)]


def test_an_episode_that_fails_twice_is_counted_once(
    start: Start, tmp_path: Path
) -> None:
    start("all")
    one = episodes(tmp_path / "all")[:1]
    for _ in range(2):
        start("run", one)
    (row,) = rows(tmp_path / "run")
    assert (row["n"], row["failed"], len(failures(tmp_path / "run"))) == (3, 1, 2)


def test_pooled_seeds_count_the_failed_of_all(start: Start, tmp_path: Path) -> None:
    start("all")
    first = episodes(tmp_path / "all")
    start("s0", first[:1], seed=0)
    start("s1", first[:3], seed=1)
    start("s2", first[:2], seed=2)
    start("s2", seed=2)
    (row,) = rows(*(tmp_path / name for name in ("s0", "s1", "s2")), pool=True)
    assert (row["runs"], row["n"], row["failed"]) == (3, 3 + 1 + 4, 1 + 3 + 0)


def test_runs_that_differ_in_the_errors_of_their_detectors_are_pooled(
    tmp_path: Path,
) -> None:
    def search(name: str, seed: int = 0, **settings: object) -> Path:
        tree = {
            "dataset": {"homes": 1, "episodes": 2, "rooms": 2},
            "grounding": "owl",
            **settings,
        }
        out = tmp_path / name
        return run(
            Plan("frontier", "apartments", "", tree, max_steps=5, seed=seed, out=out)
        ).path

    same = [
        search("a"),
        search("b", detector_seed=1),
        search("c", seed=1, detector_seed=2),
    ]
    other = search("d", detector_seed=1, reach=1.5)
    pooled = rows(*same, other, pool=True)
    assert [row.get("runs", 1) for row in pooled] == [3, 1]
    assert [row["n"] for row in pooled] == [6, 2]
    single = rows(*same)
    for key in pooled[0]["metrics"]:
        mean = sum(row["metrics"][key]["mean"] for row in single) / 3
        assert pooled[0]["metrics"][key]["mean"] == pytest.approx(mean)


def test_notices_count_the_episodes_of_the_session_whatever_failed() -> None:
    """Not those of earlier sessions, and each failed one, though its reason is given once."""
    parts: Any = SimpleNamespace(
        notices=["repaired"], config={"identity": {"models": {}}},
        index=range(8), write=lambda line: None, playing=list, eyes=None,
        omissions={"no_path": 2, "unread": 0}, caveats=(), perceiver=lambda: None,
        succeeded=lambda task, trajectory: True, family=household.family, live=False,
    )  # fmt: skip
    reported: list[tuple[int, int, Mapping[str, float]]] = []

    def on_progress(done: int, total: int, scores: Mapping[str, float]) -> None:
        reported.append((done, total, scores))

    active = ActiveRun(Plan("a", "b"), parts, parts, parts, 9, on_progress)
    active.done = 5
    for name in ("one", "two"):
        active.record(
            Line(name, None, "no answer", "failed", b"", frozenset({"cut_off"}))
        )
    active.record(Line("three", {"sr": 1}, "", "stopped", b"", frozenset({STATE})))
    assert reported == [(6, 9, {"sr": 1})]
    assert active.all_notices() == [
        "repaired",
        "left out of the split: 2 no path",
        "episode two failed: no answer",
        "noted in 2 of 3 episodes: cut off; `wayword view` shows the steps and reasons",
    ]

"""Tasks of a set length: the expert solves every one, in as many actions as were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.sampling import LONG
from wayword.core.action import Decision
from wayword.core.errors import UsageError
from wayword.core.game import Game
from wayword.datasets import (
    apartments,
    grounding,
    household,
    houses,
    iqa,
    ma_household,
    ma_wah,
    towns,
)
from wayword.datasets.procedural.homes import episodes as homes
from wayword.metrics import scoring
from wayword.runs import Plan, RunFolder, run

EACH = 4 if LONG else 2
"""Episodes of each length, one a place."""
CASES: list[tuple[Any, dict[str, Any], int]] = [
    *((houses.dataset, {"houses": 2}, length) for length in (2, 4, 8, 16, 32, 64)),
    *(
        (towns.dataset, {"towns": 2, "size": 9}, length)
        for length in (4, 8, 16, 32, 64, 128)
    ),
    *((apartments.dataset, {"homes": 2}, length) for length in (8, 16, 32)),
    *((grounding.dataset, {"levels": "OneRoomS20"}, length) for length in (8, 32)),
]


@pytest.mark.parametrize(("kind", "settings", "length"), CASES)
def test_the_expert_takes_the_length_and_succeeds(
    kind: Any, settings: dict[str, Any], length: int
) -> None:
    dataset = kind(settings=kind.Settings(**settings, episodes=EACH, length=length))
    for task in dataset.tasks:
        game = Game(dataset.world(task.episode), task.episode, dataset.max_steps)
        solution = dataset.solve(task)
        for action in solution:
            game.act("agent", Decision(action))
        (scores,) = scoring.score(dataset, [(task, game.finished())])
        assert scores[dataset.family.success] == scores.get("ndtw", 1.0) == 1.0
        state = game.world.state()
        motions = state.get("moves", 0) + state.get("turns", 0) + 1  # and the stop
        measured = motions if kind is apartments.dataset else len(solution)
        window = length / 8 if kind in (apartments.dataset, grounding.dataset) else 0
        assert abs(measured - length) <= window
        assert task.episode.extra["budget"] == dataset.max_steps == 3 * length


HOMES: list[tuple[Any, dict[str, Any], int]] = [
    *(
        (household.dataset, {"kind": "pick_and_place_simple"}, length)
        for length in (32, 64)
    ),
    *((iqa.dataset, {"kind": "counts"}, length) for length in (4, 16, 64)),
    *(
        (ma_wah.dataset, {"kind": "setup_table", "actions": "high"}, length)
        for length in (8, 16)
    ),
]


@pytest.mark.parametrize(("kind", "settings", "length"), HOMES)
def test_tasks_in_homes_take_the_length_to_an_eighth(
    kind: Any, settings: dict[str, Any], length: int
) -> None:
    dataset = kind(
        settings=kind.Settings(**settings, homes=2, episodes=2, length=length)
    )
    how = "skills" if settings.get("actions") == "high" else "expert"
    for task in dataset.tasks:
        assert abs(len(dataset.solve(task, how)) - length) <= length / 8
        assert task.episode.id.endswith(f"_l{length}")
        assert task.episode.extra["budget"] == dataset.max_steps == 3 * length
        rooms = task.episode.instruction.count(" and the ") + 1
        assert rooms == (2 if kind is iqa.dataset and length == 64 else 1)
    again = kind(settings=dataset.settings).tasks[1]
    assert again.episode == dataset.tasks[1].episode


def test_agents_are_shown_after_how_many_actions_an_episode_ends(
    tmp_path: Path,
) -> None:
    settings = {"dataset": {"houses": 1, "episodes": 1, "length": 4}}
    result = run(
        Plan("react", "houses", "scripted:first", settings, out=tmp_path / "run")
    )
    (record,) = RunFolder.read(result.path).records()
    assert len(record.trajectory.steps) <= 12
    assert "You have 12 actions, including the stop" in str(
        record.trajectory.steps[0].calls[0].prompt
    )


def test_a_length_that_no_task_can_have_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grounding, "TRIES", 5)
    for kind, length in (
        (houses.dataset, 1),
        (towns.dataset, 3),
        (apartments.dataset, 2),
    ):
        with pytest.raises(UsageError, match=f"length must be 0 or at .* got {length}"):
            kind.Settings(length=length)
    with pytest.raises(UsageError, match="tasks of fixed length; set length=0"):
        ma_household.dataset(settings=ma_household.dataset.Settings(length=32))
    questions = iqa.dataset(
        settings=iqa.dataset.Settings(kind="counts", rooms=1, length=512)
    )
    monkeypatch.setattr(homes, "LENGTH_TRIES", 2)
    with pytest.raises(UsageError, match="no 'counts' task of length=512"):
        questions.tasks[0]
    settings = grounding.GroundingSettings(levels="GoToObjS4", length=128)
    tasks = grounding.dataset(settings=settings).tasks
    with pytest.raises(UsageError, match="choose another level"):
        tasks[0]

"""The history of goal conditions has an entry after exactly the steps that changed one."""

from __future__ import annotations

from pathlib import Path

from wayword.core.game import Game
from wayword.metrics.conditions import conditions
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.viewer.data import open_sources
from wayword.viewer.document import replay


def test_each_entry_has_the_conditions_after_its_step(tmp_path: Path) -> None:
    run(Plan("expert", "household", limit=4, out=tmp_path / "run"))
    recorded = RunFolder.read(tmp_path / "run")
    changes = 0
    for record in recorded.records():
        sources = open_sources(recorded, [record.episode_id], None)
        course, _ = replay(record.trajectory, sources)
        progress, history = course.progress, course.history
        task = sources.tasks[record.episode_id]
        game = Game(sources.world(record.episode_id), task.episode)
        states = [conditions(task.reference, game.world.now())]
        for step in record.trajectory.steps:
            game.act(step.actor, step.decision)
            states.append(conditions(task.reference, game.world.now()))
        met = [sum(now for _, now, _ in state) for state in states]
        changed = {0} | {n for n in range(1, len(met)) if met[n] != met[n - 1]}
        assert set(history) == changed
        assert all(history[n] == states[n] for n in changed)
        assert list(progress.values) == met
        changes += len(changed) - 1
    assert changes > 3


def test_each_entry_of_a_grid_has_the_conditions_after_its_step(tmp_path: Path) -> None:
    tasks = open_dataset(Plan("expert", "grounding")).tasks
    name = next(task.episode.id for task in tasks if "Boss" in task.episode.scene)
    run(Plan("expert", "grounding", episodes=(name,), out=tmp_path / "run"))
    recorded = RunFolder.read(tmp_path / "run")
    (record,) = recorded.records()
    sources = open_sources(recorded, [name], None)
    course, _ = replay(record.trajectory, sources)
    game = Game(sources.world(name), sources.tasks[name].episode)
    states = [game.world.level.conditions()]
    for step in record.trajectory.steps:
        game.act(step.actor, step.decision)
        states.append(game.world.level.conditions())
    assert len(states[0]) > 1, "an instruction of one part has no history"
    met = [sum(now for _, now, _ in state) for state in states]
    changed = {0} | {n for n in range(1, len(met)) if met[n] != met[n - 1]}
    assert len(changed) > 1
    assert set(course.history) == changed
    assert all(course.history[n] == states[n] for n in changed)

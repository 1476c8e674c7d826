"""Perturbations: every episode stays solvable by its expert, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from wayword.bench import ladders
from wayword.cli.app import app
from wayword.core.action import Decision
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError
from wayword.core.game import Game
from wayword.datasets.perturbed import Perturbations, perturbed
from wayword.metrics import scoring
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder

VERSION = ladders.open_bench()
TRACKS = {track.name: track for track in VERSION.tracks}
TEXTS = ("typos", "paraphrase", "landmarks")
SEEN = ("captions_missing", "captions_wrong", "orders")
CASES = [(name, kind) for name in TRACKS for kind in (*TEXTS, "failing")]
CASES += [(name, kind) for name in ("follow", "street") for kind in SEEN] + [
    ("follow", "doors")
]
TASKS = 4


def opened(track: str, **rates: float) -> Dataset:
    """The shortest level of a track: longer ones take long to draw."""
    length = TRACKS[track].lengths[0]
    plan = dict(ladders.Contender(VERSION, "gold").plans(TRACKS[track]))[length]
    return open_dataset(replace(plan, settings={**plan.settings, "perturb": rates}))


def parts(dataset: Dataset, task: Task) -> dict[str, Any]:
    """All that a player and the metrics get of an episode, by what a perturbation may change."""
    episode = task.episode
    world = dataset.world(task.episode)
    seer = dataset.perceiver()
    world.reset(episode)
    actor = world.actors[0]
    places = getattr(task.reference, "path", ())
    percepts = seer is not None and "perceive" in seer.capabilities
    graph = getattr(world, "graph", None)
    return {
        "texts": (episode.instruction, episode.extra.get("instructions")),
        "rest": (replace(episode, instruction="", extra={}), task.reference),
        "extra": {k: v for k, v in episode.extra.items() if k != "instructions"},
        "start": (repr(world.observe(actor)), repr(world.state()))
        if not percepts
        else "",
        "exits": graph.edges.tolist() if hasattr(graph, "edges") else "",
        "percepts": [seer.perceive(episode.scene, at) for at in places]
        if percepts
        else "",  # type: ignore[union-attr]
    }


def solves(dataset: Dataset, task: Task, track: str) -> bool:
    """True if the expert of a task, or of each of its actors, plays it to success."""
    world = dataset.world(task.episode)
    game = Game(world, task.episode, max_steps=2 * dataset.max_steps)
    how = TRACKS[track].solution or dataset.solutions[0]
    actions = dataset.solve(task, how)
    for actor in game.turns():
        first = actor == world.actors[0]
        if first:
            action = actions[min(game.taken[actor], len(actions) - 1)]
        else:
            action = actions[-1]
        game.act(actor, Decision(action))
    (scores,) = scoring.score(dataset, [(task, game.finished())])
    return scores[TRACKS[track].success] >= TRACKS[track].at_least


@pytest.mark.parametrize(("track", "kind"), CASES)
def test_the_expert_solves_what_is_perturbed_and_nothing_else_changes(
    track: str, kind: str
) -> None:
    clean = opened(track)
    other = opened(track, **{kind: 0.3 if kind == "failing" else 0.8})
    changed: set[str] = set()
    for before, after in zip(clean.tasks[:TASKS], other.tasks[:TASKS], strict=True):
        one = parts(clean, before)
        two = parts(other, after)
        changed |= {name for name in one if one[name] != two[name]}
        assert solves(other, after, track)
    allowed = {"texts"} if kind in TEXTS else {"percepts"} if kind in SEEN else set()
    allowed = {"exits"} if kind == "doors" else allowed
    assert changed == allowed


class TwoInTheHall:
    """A dataset whose episodes are made once, and shared by all that open it."""

    texts: ClassVar = {"a": "Fetch the yellow cushion.", "b": "Wait for the cushion."}
    tasks: ClassVar = [
        Task(
            Episode("1", "Bring a cushion.", "", {}, extra={"instructions": texts}),
            Reference("1"),
        )
    ]


def test_episodes_that_a_perturbation_changes_stay_as_they_were_for_others() -> None:
    (before,) = TwoInTheHall.tasks
    (after,) = perturbed(TwoInTheHall, Perturbations(typos=1.0))().tasks
    changed = after.episode.extra["instructions"]
    texts = TwoInTheHall.texts
    assert changed.keys() == texts.keys()
    assert all(changed[actor] != texts[actor] for actor in texts)
    assert before.episode.extra == {"instructions": texts}


def test_a_failed_action_changes_nothing_and_its_rate_is_the_stated_one() -> None:
    dataset = opened("follow", failing=0.3)
    failed = 0
    tried = 0
    for task in dataset.tasks[:TASKS]:
        game = Game(dataset.world(task.episode), task.episode)
        for number in range(60):
            before = game.world.state()
            actions = game.space("agent").listed
            step = game.act("agent", Decision(actions[number % (len(actions) - 1)]))
            tried = tried + 1
            failed = failed + (step.feedback.status == "slipped")
            assert (game.world.state() == before) == (step.feedback.status == "slipped")
    assert 0.2 < failed / tried < 0.4


def test_rates_are_those_requested_and_a_seed_draws_others() -> None:
    def words(**rates: float) -> list[str]:
        return [
            w
            for task in opened("follow", **rates).tasks
            for w in task.episode.instruction.split()
        ]

    clean = words()
    some = words(typos=0.2)
    other = words(typos=0.2, seed=1)
    long = [n for n, word in enumerate(clean) if len(word.strip(".,")) > 3]
    share = sum(clean[n] != some[n] for n in long) / len(long)
    assert 0.15 < share < 0.25
    assert some != other
    assert words(typos=0.2) == some


def test_a_perturbed_run_is_another_run_whose_row_says_so(tmp_path: Path) -> None:
    runs = {}
    for name, option in {"clean": (), "typos": ("--perturb", "typos=0.1")}.items():
        runs[name] = tmp_path / name
        line = [
            "run",
            "oracle",
            "--on",
            "houses",
            "--limit",
            "2",
            "--out",
            str(runs[name]),
            *option,
        ]
        done = CliRunner().invoke(app, line, catch_exceptions=False)
        assert ("houses:test, typos=0.1" in done.output) == bool(option)
    clean, typos = (RunFolder.read(run).config["identity"] for run in runs.values())
    assert {**clean, "perturb": {"typos": 0.1}} == typos
    verified = CliRunner().invoke(
        app, ["verify", str(runs["typos"])], catch_exceptions=False
    )
    assert "2 episodes replayed and scored, 0 differ" in verified.output


def test_what_a_dataset_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match="describe places in words"):
        opened("act", orders=0.1).perceiver()
    dataset = opened("street", doors=0.1)
    with pytest.raises(UsageError, match="needs a dataset of indoor routes"):
        dataset.world(dataset.tasks[0].episode)
    with pytest.raises(UsageError, match="typo"):
        open_dataset(Plan("random", "houses", settings={"perturb": {"typo": 0.1}}))
    with pytest.raises(UsageError, match="typos"):
        open_dataset(Plan("random", "houses", settings={"perturb": {"typos": 1.1}}))

"""Prompts suffice: players that read nothing else solve an episode of every task.

Household requests of each type, rearrangement, questions of each kind, grounded instructions of
each family, a follower beside the scripted commander, object searches, and walks by the clauses of
their instructions, R2R's among them: ``pytest tests/agents/test_honest_players.py``.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import honest_player as honest
from helpers.loopback import chat, refusal, serving
from helpers.sampling import LONG
from wayword.core import registry
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.apartments import Apartments
from wayword.datasets.grounding import Grounding
from wayword.datasets.household import Household
from wayword.datasets.houses import Houses
from wayword.datasets.iqa import KINDS as QUESTIONS
from wayword.datasets.iqa import InteractiveQuestions
from wayword.datasets.ma_household import MaHousehold
from wayword.datasets.ma_wah import MaWah
from wayword.datasets.procedural.homes.chores import KINDS
from wayword.datasets.r2r import R2R
from wayword.datasets.rearrangement import Rearrangement
from wayword.metrics.household import score_state
from wayword.metrics.scoring import score
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder

STEPS = 150
MANY = 30 if LONG else 0
"""Episodes of a kind in the long form; a few otherwise."""


def play(dataset: Dataset, task: Task, model: honest.Honest) -> Trajectory:
    """An episode, played by ``act`` with free answers."""
    act: Any = registry.load("agent", "act")

    def build(toolkit: Toolkit, actor: str) -> Agent:
        made: Agent = act(act.Settings(decoding="free", context=100_000), toolkit)
        return made

    return asyncio.run(
        rollout(task, Setup(dataset, build, {"main": model}, max_steps=STEPS))
    )


def solved(dataset: Dataset, script: Any, number: int = 0) -> dict[str, float]:
    """What an honest player's episode is worth; none of its answers may be refused."""
    task = dataset.tasks[number]
    model = honest.Honest(script)
    played = play(dataset, task, model)
    assert played.ended == "stopped", (played.ended, played.error, model.said[-5:])
    reference: Any = task.reference
    found = score_state(reference, played.state)
    assert found["sr"] == 1.0, (task.episode.instruction, model.said)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_household_request_of_each_type(kind: str) -> None:
    dataset = Household(settings=Household.Settings(homes=1, episodes=1, kind=kind))
    assert solved(dataset, honest.household)[f"sr_{kind}"] == 1.0


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_question_of_each_kind(kind: str) -> None:
    count = MANY or 2
    settings = InteractiveQuestions.Settings(homes=count, episodes=count, kind=kind)
    dataset = InteractiveQuestions(settings=settings)
    for number in range(count):
        solved(dataset, honest.question, number)


def test_a_home_as_it_was_is_restored_and_nothing_else_disturbed() -> None:
    dataset = Rearrangement(settings=Rearrangement.Settings(homes=1, episodes=1))
    assert solved(dataset, honest.restore)["sr_strict"] == 1.0


@pytest.mark.real
def test_objects_are_put_back_at_their_spots(data: Path) -> None:
    """Published rooms in which something moved along one piece of furniture."""
    dataset = Rearrangement("2021_val", data, Rearrangement.Settings())
    numbers = iter(range(len(dataset.tasks)))
    for _ in range(MANY or 2):
        number = next(n for n in numbers if _needs_a_spot(dataset.tasks[n]))
        assert solved(dataset, honest.restore, number)["sr_strict"] == 1.0


def _needs_a_spot(task: Task) -> bool:
    reference: Any = task.reference
    return any(goal.at for goal in reference.goals)


@pytest.mark.parametrize(
    "level", ["GoToObj", "PickupDist", "OpenRedDoor", "PutNextLocalS6N4"]
)
def test_a_grounded_instruction_of_each_kind(level: str) -> None:
    pytest.importorskip("minigrid")
    settings = Grounding.Settings(levels=level, episodes=1, actions="high")
    dataset = Grounding(settings=settings)
    model = honest.Honest(honest.grounding)
    played = play(dataset, dataset.tasks[0], model)
    assert played.state["success"], (dataset.tasks[0].episode.instruction, model.said)


@pytest.mark.parametrize("number", range(MANY or 1))
def test_a_follower_who_reads_alone_does_what_the_scripted_commander_says(
    number: int,
) -> None:
    dataset = MaHousehold(settings=MaHousehold.Settings(homes=10, episodes=MANY or 1))
    task = dataset.tasks[number]
    model = honest.Honest(honest.follower)
    act = registry.load("agent", "act")
    team = registry.load("agent", "team")

    def build(toolkit: Toolkit, actor: str) -> Agent:
        if actor == "commander":
            partner: Agent = team(team.Settings(), toolkit)
            return partner
        reader: Agent = act(act.Settings(decoding="free", context=100_000), toolkit)
        return reader

    setup = Setup(dataset, build, {"main": model}, max_steps=4 * STEPS)
    played = asyncio.run(rollout(task, setup))
    reference: Any = task.reference
    said = (played.ended, played.error, model.said)
    assert score_state(reference, played.state)["sr"] == 1.0, said


@pytest.mark.parametrize("number", range(MANY or 2))
def test_a_pair_shares_a_job(number: int) -> None:
    dataset = MaWah(settings=MaWah.Settings(homes=10, episodes=MANY or 2))
    task = dataset.tasks[number]
    act = registry.load("agent", "act")
    models = {actor: honest.Honest(honest.together) for actor in task.episode.actors}

    def build(toolkit: Toolkit, actor: str) -> Agent:
        toolkit = replace(toolkit, models={"main": models[actor]})
        reader: Agent = act(act.Settings(decoding="free", context=100_000), toolkit)
        return reader

    first = next(iter(models.values()))
    setup = Setup(dataset, build, {"main": first}, max_steps=4 * STEPS)
    played = asyncio.run(rollout(task, setup))
    reference: Any = task.reference
    said = (
        played.ended,
        played.error,
        {actor: model.said for actor, model in models.items()},
    )
    assert score_state(reference, played.state)["sr"] == 1.0, said


@pytest.mark.parametrize("number", [5, 12, 15])
def test_a_walk_by_its_instructions_clauses(number: int) -> None:
    dataset = Houses(settings=Houses.Settings())
    task = dataset.tasks[number]
    model = honest.Honest(honest.route)
    played = play(dataset, task, model)
    reference: Any = task.reference
    assert played.ended == "stopped"
    arrived = played.visited("agent")[-1]["viewpoint"]
    assert arrived == reference.goal, (task.episode.instruction, model.said)


@pytest.mark.parametrize("number", range(3))
def test_an_object_is_found_in_a_generated_apartment(number: int) -> None:
    dataset = Apartments(settings=Apartments.Settings(homes=3, episodes=3, rooms=3))
    task = dataset.tasks[number]
    model = honest.Honest(honest.search)
    played = play(dataset, task, model)
    assert played.ended == "stopped", (played.ended, model.said)
    (scores,) = score(dataset, [(task, played)])
    assert scores["success_challenge"] == 1.0, (task.episode.instruction, model.said)


@pytest.mark.parametrize(
    ("decoding", "choose"),
    [("choose", "auto"), ("choose", "constrained"), ("complete", "auto")],
)
def test_routes_of_towns_behind_a_server_that_only_chats(
    tmp_path: Path, decoding: str, choose: str
) -> None:
    """VELMA on a server without schemas or probabilities: every route of the first towns."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        for name in ("response_format", "tools", "logprobs", "top_logprobs"):
            if name in body:
                return 400, refusal(
                    f"Unknown parameter: '{name}'.", name, "unknown_parameter"
                )
        if not route.endswith("/chat/completions"):
            return 404, refusal("no such route")
        prompt = str(body["messages"][0]["content"])
        walk = re.split(r"\n\n(?:\(The text breaks off|Answer with exactly)", prompt)[0]
        return 200, chat(f"{walk.rpartition(chr(10))[2]} {honest.street(walk)}")

    with serving(answer) as server:
        model = {"base_url": server.address, "choose": choose}
        settings = {"model": model, "decoding": decoding, "shots": 0}
        plan = Plan(
            "velma", "towns", "openai:m", settings, limit=MANY or 4, max_steps=60
        )
        done = run(replace(plan, out=tmp_path / "r"))
    assert done.outcome.complete
    scores = dict(RunFolder.read(tmp_path / "r").scores())
    assert {
        name for name, each in scores.items() if each["tc"] != 1.0 or each["rejections"]
    } == set()


@pytest.mark.real
@pytest.mark.parametrize("name", ["5241_1", "3345_0", "4554_0"])
def test_a_walk_of_r2r_by_its_instructions_clauses(name: str, data: Path) -> None:
    dataset = R2R("val_seen", data, R2R.Settings())
    task = next(task for task in dataset.tasks if task.episode.id == name)
    model = honest.Honest(honest.route)
    played = play(dataset, task, model)
    assert played.ended == "stopped"
    (scores,) = score(dataset, [(task, played)])
    assert scores["sr"] == 1.0, (task.episode.instruction, model.said)

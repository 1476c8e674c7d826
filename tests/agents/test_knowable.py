"""What is asked can be known: the states that EmMem states, and the answers to questions."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from wayword.agents.strategies.agents import ReActEmMem
from wayword.agents.strategies.examples import (
    FACING,
    HOLDING,
    PLACE,
    parse_heading,
    parse_names,
    true_parts,
)
from wayword.agents.strategies.strategy import StrategySettings
from wayword.core.action import Decision
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Task
from wayword.core.game import Game
from wayword.core.rollout import Setup, rollout
from wayword.datasets.iqa import KINDS, InteractiveQuestions
from wayword.models.scripted import ScriptedModel
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.worlds.household.goals import AnswerReference
from wayword.worlds.household.world import HouseholdWorld

WORLDS: dict[str, dict[str, Any]] = {
    "houses": {},
    "towns": {},
    "household": {"homes": 1, "episodes": 1, "rooms": 2},
    "ma_wah": {"homes": 1, "episodes": 1, "rooms": 2},
    "apartments": {"homes": 1, "episodes": 1, "rooms": 1},
    "grounding": {"levels": "GoToObjS4", "episodes": 1},
    "two_phase": {},
}


@pytest.mark.parametrize("on", WORLDS)
def test_every_state_that_is_requested_was_reported(on: str) -> None:
    """EmMem asks for a place, a heading and holdings only where the actor's messages hold them."""
    dataset = open_dataset(Plan("react_emmem", on, settings={"dataset": WORLDS[on]}))

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return ReActEmMem(StrategySettings(), toolkit)

    setup = Setup(dataset, build, {"main": ScriptedModel("first")}, max_steps=4)
    played = asyncio.run(rollout(dataset.tasks[0], setup))
    assert not played.error
    count = 0
    for step in played.steps:
        for call in step.calls:
            assert not isinstance(call.prompt, str)
            form = call.prompt[0].content
            now = call.prompt[-1].content
            truth = true_parts(step.observation)
            for part in (PLACE, FACING, HOLDING):
                expected = f'"{part}"' in form or f"  {part}:" in form
                assert expected <= (part in truth), (
                    f"{on} asks for {part}, which nobody can know"
                )
                count += expected
                if expected:
                    assert _mentions(part, truth[part], now), (part, truth[part], now)
    assert count or on == "two_phase"


def _mentions(part: str, truth: str, message: str) -> bool:
    """Whether a message holds a state: a heading in degrees or words, each thing held, a place."""
    words = message.lower()
    if part == FACING:
        compass = truth.partition("(")[2].rstrip(")")  # "270° (west)"
        return f"{parse_heading(truth):.0f}°" in words or bool(
            compass and compass in words
        )
    if part == HOLDING:
        if parse_names(truth):
            return all(name in words for name in parse_names(truth))
        return "nothing" in words
    return truth.lower() in words


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["expert", "skills"])
def test_every_answer_can_be_seen_with_the_actions_there_are(
    kind: str, how: str
) -> None:
    """Whoever looks where the answer lies has seen all that decides it, by single steps or errands:
    the things of the kind, and for a no or a number the inside of everything that shuts."""
    actions = "high" if how == "skills" else "low"
    settings = InteractiveQuestions.Settings(
        homes=3, episodes=6, kind=kind, actions=actions
    )
    dataset = InteractiveQuestions(settings=settings)
    for task in dataset.tasks:
        reference = task.reference
        assert isinstance(reference, AnswerReference)
        seen, unopened = _looked_at(dataset, task, how)
        expected = set(reference.look)
        assert len(expected & seen) >= (reference.enough or len(expected)), (
            task.episode.instruction
        )
        if kind == "counts" or reference.answer == "no":
            assert not (unopened & expected if kind == "contains" else unopened)


def _looked_at(
    dataset: InteractiveQuestions, task: Task, how: str
) -> tuple[set[str], set[str]]:
    """The ids that the actor has seen after the expert's walk; and what opens in the room that is
    asked about and has not stood open."""
    reference = task.reference
    world = dataset.world(task.episode)
    assert isinstance(world, HouseholdWorld)
    assert isinstance(reference, AnswerReference)
    game = Game(world, task.episode)
    items = world.house.entities
    layout = world.layout

    def room(i: int) -> str:
        return layout.room_at(float(items.x[i]), float(items.y[i]))

    room_name = room(layout.index[reference.look[0]])
    closed = {
        i
        for i in range(items.object_count)
        if items.encloses[i] and room(i) == room_name
    }
    for action in dataset.solve(task, how):
        step = game.act(world.actors[0], Decision(action))
        assert isinstance(step.decision, Decision), (
            "the body has every action of the walk"
        )
        closed -= {i for i in closed if items.open[i]}
    known = np.flatnonzero(
        world.house.actors[world.actors[0]].discovered[: items.object_count]
    )
    return {layout.ids[i] for i in known.tolist()}, {layout.ids[i] for i in closed}


def test_only_states_of_the_world_are_compared_and_the_rest_is_the_agents_own() -> None:
    form = ReActEmMem(StrategySettings(), Toolkit()).unknown
    assert form == ["state.seen", "state.done", "state.left", "plan"]

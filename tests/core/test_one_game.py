"""The same recorded episode, played by everything that plays episodes, comes out the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from helpers.playing import Scripted
from helpers.small_flat import SmallFlat
from helpers.small_house import SmallPerceiver
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.game import Game
from wayword.core.model import Sampling, user
from wayword.core.recording import Continued
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback, Observation
from wayword.envs.game import TaskGame
from wayword.viewer.data import Sources

LIMIT = 6
LEFT = Action("turn_left")
MUG = Action("pick_up", ("mug",))
NOTHING = Rejection("empty", "the answer is empty", "", "hm")
TURNS: dict[str, list[Decision | Rejection]] = {
    "ann": [
        Decision(LEFT, "look"),
        NOTHING,
        Decision(MUG),
        Decision(Action("fly")),
        Decision(STOP),
    ],
    "bob": [Decision(Action("move_ahead")), Decision(Action("move_ahead"))]
    + [Decision(LEFT)] * 4,
}
"""A rejected answer, an illegal action, actions that fail, a stop before the other's last turns."""


class WatchedFlat(SmallFlat):
    """Two actors in a flat, with something to read of it."""

    def __init__(self) -> None:
        super().__init__(poses={"ann": (1.0, 1.5, 0.0), "bob": (3.6, 2.6, 0.0)})

    def perceiver(self) -> Any:
        return SmallPerceiver()


class Listed(Agent):
    """Takes the turns of ``TURNS``; reads its surroundings and asks its model at every other."""

    Settings: ClassVar[type[Any]] = object
    families: ClassVar[frozenset[str]] = frozenset()
    needs_model: ClassVar[bool] = True

    def __init__(self, toolkit: Toolkit, actor: str) -> None:
        self._toolkit = toolkit
        self._left = list(TURNS[actor])
        self.heard: list[Feedback] = []

    async def begin(self, episode: Episode) -> None:
        return None

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        if len(self._left) % 2:
            assert self._toolkit.perceiver is not None
            self._toolkit.perceiver.perceive("flat", f"turn {len(self._left)}")
            await self._toolkit.model().complete([user("next?")], Sampling())
        return self._left.pop(0)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self.heard.append(feedback)


def setup(flat: SmallFlat, *before: Step) -> Setup:
    continued = {"mug": Continued(before, ("ann", "bob"))} if before else {}
    model = {"main": Scripted(["go on"])}
    return Setup(flat, Listed, model, max_steps=LIMIT, continued=continued)


def played() -> Trajectory:
    flat = WatchedFlat()
    return asyncio.run(rollout(flat.tasks[0], setup(flat)))


def replayed(recorded: Trajectory) -> tuple[Sequence[Step], Any]:
    flat = WatchedFlat()
    game = Game(flat.world(flat.tasks[0].episode), flat.tasks[0].episode)
    for step in recorded.steps:
        game.act(step.actor, step.decision)
    return game.trajectory.steps, game.world.state()


def continued(recorded: Trajectory) -> tuple[Sequence[Step], Any]:
    flat = WatchedFlat()
    again = asyncio.run(rollout(flat.tasks[0], setup(flat, *recorded.steps[:7])))
    assert [step.percept for step in again.steps] == [
        step.percept for step in recorded.steps
    ]
    assert again.ended == recorded.ended
    return again.steps, again.state


def stepped_from_outside(recorded: Trajectory) -> tuple[Sequence[Step], Any]:
    flat = WatchedFlat()
    game = TaskGame(flat, flat.tasks[0], LIMIT)
    for step in recorded.steps:
        assert game.active(step.actor)
        game.act(step.actor, step.decision)
    assert game.ended == recorded.ended
    return game.trajectory.steps, game.finished().state


def played_again_for_a_page(recorded: Trajectory) -> tuple[Sequence[Step], Any]:
    flat = WatchedFlat()
    seen: list[tuple[int, str]] = []
    sources = Sources(flat, {"mug": flat.tasks[0]})
    world = sources.played(
        recorded, lambda world, number, actor: seen.append((number, actor))
    )
    assert seen == [*enumerate((step.actor for step in recorded.steps), 1), (12, "")]
    return recorded.steps, world.state()


def parts(steps: Sequence[Step]) -> list[Any]:
    return [(s.actor, s.observation, s.decision, s.feedback, s.pose) for s in steps]


def test_the_recorded_episode_has_all_that_may_happen() -> None:
    recorded = played()
    assert [step.actor for step in recorded.steps] == ["ann", "bob"] * 5 + ["bob"]
    statuses = [step.feedback.status for step in recorded.steps]
    assert statuses.count("rejected") == 2
    assert any(status not in ("ok", "rejected") for status in statuses)
    assert sum(step.percept is not None for step in recorded.steps) == 6
    assert recorded.ended == "step_limit"


@pytest.mark.parametrize(
    "play", [replayed, continued, stepped_from_outside, played_again_for_a_page]
)
def test_whatever_plays_it_gives_the_same_steps_and_the_same_end(play: Any) -> None:
    recorded = played()
    steps, state = play(recorded)
    assert parts(steps) == parts(recorded.steps)
    assert state == recorded.state

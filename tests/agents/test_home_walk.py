"""Home tasks as one growing text: which actions are weighed, with which signs, in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from helpers.small_flat import SmallFlat
from helpers.small_house import SmallHouse
from wayword.agents.household.walk import BEGUN_ANEW
from wayword.agents.strategies.agents import Act, ActSettings
from wayword.core.action import ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import Observation
from wayword.datasets.household import Household


class Next:
    """Says yes to the line that the rules call next; keeps the prompts."""

    name = "next"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        assert isinstance(prompt, str)
        assert list(options) == ["no", "yes"]
        self.prompts.append(prompt)
        yes = prompt.endswith("next?") + 2 * prompt.endswith("with the other, next?")
        return Choice(tuple(options), (0.0, float(yes)))

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise AssertionError("only choices are asked for")

    async def aclose(self) -> None:
        return None


def play(dataset: Household | SmallFlat, task: Task) -> tuple[Trajectory, Next]:
    player = Next()

    def build(toolkit: Toolkit, actor: str) -> Act:
        return Act(ActSettings(layout="walk"), toolkit)

    setup = Setup(dataset, build, {"main": player}, max_steps=40)
    return asyncio.run(rollout(task, setup)), player


@pytest.fixture(scope="module")
def household() -> Household:
    return Household("generated_train", None, Household.Settings(homes=1, episodes=7))


def done(player: Next) -> list[str]:
    lines = player.prompts[-1].splitlines()
    return [line.removeprefix("Did ") for line in lines if line.startswith("Did ")]


def test_a_task_is_done_by_what_the_rules_call_next(household: Household) -> None:
    task = next(t for t in household.tasks if "heat" in t.reference.kind)  # type: ignore[attr-defined]
    trajectory, player = play(household, task)
    assert trajectory.ended == "stopped"
    assert task.reference.met(trajectory.state) == task.reference.parts()  # type: ignore[attr-defined]
    verbs = [line.split()[0] for line in done(player)]
    assert verbs[0] == "go_explore"
    assert [verb for verb in verbs if verb != "go_explore"][-3:] == ["go_grab", "heat", "go_put"]
    assert player.prompts[-1].endswith("stop: all done, next?")


def test_prompts_only_grow_and_name_the_request(household: Household) -> None:
    _, player = play(household, household.tasks[0])
    for before, after in zip(player.prompts, player.prompts[1:], strict=False):
        assert after.startswith(before)
    assert household.tasks[0].episode.instruction in player.prompts[0]


def test_nothing_is_weighed_that_is_not_listed(household: Household) -> None:
    """The options are among the actions that the world lists."""
    trajectory, _ = play(household, household.tasks[0])
    for step in trajectory.steps:
        assert step.feedback.status != "no_such_object"


def test_a_text_that_has_grown_too_long_is_begun_anew(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was seen and done is still known, so that the task ends as it does in one text."""
    task = next(t for t in household.tasks if "heat" in t.reference.kind)  # type: ignore[attr-defined]
    whole, _ = play(household, task)
    monkeypatch.setattr("wayword.agents.household.walk.LONGEST", 700)
    trajectory, player = play(household, task)
    begun = [note for step in trajectory.steps for note in step.notes if note.kind == BEGUN_ANEW]
    assert begun
    assert [s.decision for s in trajectory.steps] == [s.decision for s in whole.steps]
    assert task.episode.instruction in player.prompts[-1]
    assert len(player.prompts[-1]) < 4_000


FLAT = "Put a dirty mug in the box."


def test_no_walk_goes_round_in_circles() -> None:
    """The kitchen's way out is shut: it looks for the box, gives up, and stops."""
    flat = SmallFlat(instruction=FLAT)
    trajectory, player = play(flat, flat.tasks[0])
    assert trajectory.ended == "stopped"
    counts = [done(player).count(line) for line in done(player)]
    assert max(counts) <= 3


def test_in_other_worlds_the_layout_is_refused() -> None:
    house = SmallHouse()
    setup = Setup(
        house, lambda toolkit, actor: Act(ActSettings(layout="walk"), toolkit), {"main": Next()}
    )
    with pytest.raises(UsageError, match="layout=walk is for homes"):
        asyncio.run(rollout(house.tasks[0], setup))


def test_the_chat_layout_answers_no_questions() -> None:
    assert Act(ActSettings(), Toolkit()).answers == {}


def test_a_walk_that_another_began_goes_on(household: Household) -> None:
    """Steps that were recalled stand in the text and in what is known, without questions."""
    played = ((task, play(household, task)[0]) for task in household.tasks)
    task, whole = next(each for each in played if len(each[1].steps) > 3)
    taken = [step.decision for step in whole.steps[:2]]
    player = Next()

    class Joins(Act):
        async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
            if taken:
                decision = taken.pop(0)
                await self.recall(observation, space, decision)
                return decision
            return await super().act(observation, space)

    def build(toolkit: Toolkit, actor: str) -> Act:
        return Joins(ActSettings(layout="walk"), toolkit)

    setup = Setup(household, build, {"main": player}, max_steps=40)
    joined = asyncio.run(rollout(task, setup))
    assert not joined.error
    assert [step.decision.action for step in joined.steps] == [
        step.decision.action for step in whole.steps
    ]
    for step in whole.steps[:2]:
        assert (
            " ".join([step.decision.action.name, *step.decision.action.arguments])
            in (player.prompts[0])
        )

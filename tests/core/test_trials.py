"""Several trials of an episode: who asks for them, what begins anew, and what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from helpers.small_house import SmallHouse
from wayword.agents.baselines.simple import ForwardAgent
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import BudgetExhausted, UsageError
from wayword.core.model import Completion, Model, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory, Verdict
from wayword.core.world import Family, Feedback, Observation
from wayword.metrics import scoring
from wayword.metrics.scoring import judge, score


@dataclass(frozen=True)
class NoSettings:
    """Nothing to set."""


@dataclass
class Trier(Agent):
    """Draws a number at each step, goes to ``way``, then stops; asks for ``wishes`` more trials."""

    toolkit: Toolkit
    wishes: int = 9
    breaks_in: int = -1
    told_of: list[Verdict] = field(default_factory=list)
    drawn: list[list[float]] = field(default_factory=list)

    Settings: ClassVar[type[Any]] = NoSettings
    families: ClassVar[frozenset[str]] = frozenset()
    learns: ClassVar[bool] = True

    async def begin(self, episode: Episode) -> None:
        self.drawn.append([])
        self.toolkit.note("began")

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        if len(self.told_of) == self.breaks_in:
            raise RuntimeError("broken")
        self.drawn[-1].append(self.toolkit.rng.random())
        gone = len(self.drawn[-1]) > 1
        return Decision(STOP if gone else Action("goto", ("b",)))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        pass

    async def reflect(self, verdict: Verdict) -> bool:
        self.told_of.append(verdict)
        self.toolkit.note("reflected", trial=verdict.trial)
        return len(self.told_of) <= self.wishes


def played(**setup: Any) -> tuple[Trajectory, list[Trier]]:
    """An episode of the small house by a ``Trier``, and who played it."""
    house = SmallHouse()
    made = []
    own = {key: setup.pop(key) for key in ("wishes", "breaks_in") if key in setup}

    def build(toolkit: Toolkit, actor: str) -> Trier:
        made.append(Trier(toolkit, **own))
        return made[-1]

    return asyncio.run(rollout(house.tasks[0], Setup(house, build, **setup))), made


def verdicts(trajectory: Trajectory) -> list[tuple[bool | None, str, int] | None]:
    found = [trial.verdict for trial in trajectory.trials()]
    return [
        verdict and (verdict.succeeded, verdict.ended, verdict.steps)
        for verdict in found
    ]


def after(failures: int) -> Any:
    """A judge who is pleased by the trial after so many."""
    messages: list[str] = []

    def judged(task: Task, trial: Trajectory) -> bool:
        messages.append(task.episode.id)
        return len(messages) > failures

    return judged


def test_it_is_one_trial_unless_the_run_allows_more() -> None:
    trajectory, (agent,) = played()
    assert (trajectory.earlier, trajectory.verdict, agent.told_of) == ([], None, [])
    assert [note.kind for note in trajectory.notes()] == ["began"]


def test_the_same_agent_plays_until_a_trial_succeeds() -> None:
    trajectory, (agent,) = played(trials=5, judge=after(2))
    assert verdicts(trajectory) == [(False, "stopped", 2)] * 2 + [(True, "stopped", 2)]
    assert [verdict.trial for verdict in agent.told_of] == [0, 1]
    assert [trial.earlier for trial in trajectory.earlier] == [[], []]
    kinds = [note.kind for note in trajectory.notes()]
    assert kinds == ["began", "reflected", "began", "reflected", "began"]
    assert trajectory.seconds >= sum(trial.seconds for trial in trajectory.earlier)


def test_the_last_trial_is_not_judged_and_not_reflected_on() -> None:
    trajectory, (agent,) = played(trials=3, judge=after(9))
    assert verdicts(trajectory) == [(False, "stopped", 2)] * 2 + [None]
    assert len(agent.told_of) == 2


def test_without_a_judge_the_agent_decides() -> None:
    trajectory, (agent,) = played(trials=9, wishes=1)
    assert verdicts(trajectory) == [(None, "stopped", 2)] * 2
    assert len(agent.told_of) == 2
    assert trajectory.closing_notes[0].details == {"trial": 1}


def test_every_trial_begins_where_the_first_did_and_draws_numbers_of_its_own() -> None:
    trajectory, (agent,) = played(trials=3)
    assert [trial.start for trial in trajectory.trials()] == [trajectory.start] * 3
    assert [len(trial.steps) for trial in trajectory.trials()] == [2, 2, 2]
    assert len({tuple(numbers) for numbers in agent.drawn}) == 3
    _, (twin,) = played(trials=3)
    assert twin.drawn == agent.drawn
    _, (alone,) = played()
    assert alone.drawn[0] == agent.drawn[0], (
        "a first trial is what an only one would be"
    )


def test_a_trial_that_breaks_fails_the_episode_and_keeps_those_before() -> None:
    trajectory, _ = played(trials=3, breaks_in=1)
    assert trajectory.ended == "failed"
    assert "broken" in trajectory.error
    assert [trial.ended for trial in trajectory.earlier] == ["stopped"]


def test_agents_that_do_not_learn_play_once() -> None:
    house = SmallHouse()

    def build(toolkit: Toolkit, actor: str) -> ForwardAgent:
        return ForwardAgent(ForwardAgent.Settings(), toolkit)

    setup = Setup(house, build, trials=5, judge=after(9))
    trajectory = asyncio.run(rollout(house.tasks[0], setup))
    assert (trajectory.earlier, trajectory.verdict) == ([], None)
    assert not build(Toolkit(), "agent").learns


class Spent(Model):
    """A model whose budget is spent after so many calls."""

    name = "spent"

    def __init__(self, calls: int) -> None:
        self.left = calls

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.left -= 1
        if self.left < 0:
            raise BudgetExhausted("spent")
        return Completion(("Action: stop",), ("stop",))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Any:
        raise AssertionError("no choice is asked for here")

    async def aclose(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize("calls", range(5))
def test_a_budget_spent_in_any_trial_drops_the_episode(calls: int) -> None:
    from wayword.agents.strategies.agents import Reflexion

    house = SmallHouse()
    settings = Reflexion.Settings(decoding="free")
    setup = Setup(
        house, lambda toolkit, actor: Reflexion(settings, toolkit),
        {"main": Spent(calls)}, trials=3, judge=after(9),
    )  # fmt: skip
    with pytest.raises(BudgetExhausted):
        asyncio.run(rollout(house.tasks[0], setup))


def test_the_judge_is_the_familys_own_metric() -> None:
    house = SmallHouse()
    right, _ = played()  # b is 2 m from the goal
    assert judge(house)(house.tasks[0], right) is True
    away = Trajectory("to_c", right.start, [], {}, "step_limit")
    assert judge(house)(house.tasks[0], away) is False


def test_where_nothing_tells_success_the_judge_says_so() -> None:
    class Silent:
        metrics = ()

        def score(self, dataset: Any, pairs: Sequence[Any]) -> list[dict[str, float]]:
            return [{} for _ in pairs]

    class SilentHouse(SmallHouse):
        family = Family("silent", scorer=Silent())

    house = SilentHouse()
    trajectory, _ = played()
    with pytest.raises(
        UsageError, match=r"to_c: its answer is not public.*verdict=self"
    ):
        judge(house)(house.tasks[0], trajectory)
    tried, _ = played(trials=2)
    assert scoring.measure_trials(Silent(), house, [(house.tasks[0], tried)]) == [
        {"trials": 2, "verdicts": 0}
    ]


def test_scores_are_the_last_trials_and_costs_are_all_trials() -> None:
    house = SmallHouse()
    tried, _ = played(trials=2, judge=after(9))
    once, _ = played()
    both = score(house, [(house.tasks[0], tried), (house.tasks[0], once)])
    assert (both[0]["tl"], both[1]["tl"]) == (pytest.approx(2.0), pytest.approx(2.0))
    assert (both[0]["steps"], both[1]["steps"]) == (4, 2)
    assert (both[0]["sr_first"], both[0]["trials"], both[0]["verdicts"]) == (1.0, 2, 1)
    assert not {metric.key for metric in scoring.TRIAL_METRICS} & set(both[1])

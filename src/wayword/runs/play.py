"""An episode played by a person, and scored next to an expert's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wayword.agents.person import Person
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.metrics.scoring import score
from wayword.runs.plan import Plan, open_agent, open_dataset
from wayword.runs.record import RunFolder
from wayword.runs.results import RunResult
from wayword.runs.running import Continuation, run

EXPERTS = ("expert", "oracle", "gold")
"""Agents that use the ground truth, the best to compare with first."""


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """An episode that a person played. ``scores`` is None if it was not finished.

    ``expert`` names the agent with the ``best`` scores, for comparison; empty and None if no expert
    plays this episode.
    """

    result: RunResult
    episode: str = ""
    ended: str = ""
    scores: Mapping[str, float] | None = None
    expert: str = ""
    best: Mapping[str, float] | None = None


def game_plan(plan: Plan, actor: str = "", others: str = "") -> Plan:
    """The plan in which a person plays ``actor`` (the first one if none is named).

    ``others`` is the agent for all other actors. Raises ``UsageError`` for an unknown actor, or if
    no agent plays the others.
    """
    if plan.continues:
        plan = Continuation.open(plan.continues).plan(plan)
    actors = open_dataset(plan).tasks[0].episode.actors
    me = actor or actors[0]
    if me not in actors:
        names = ", ".join(actors)
        raise UsageError(f"{plan.dataset_name} has no actor {me!r}; there are: {names}")
    if len(actors) > 1 and not others:
        rest = ", ".join(name for name in actors if name != me)
        raise UsageError(f"{rest} must be played too; add --with AGENT or --with human")
    if others in ("", "human"):
        plan = replace(plan, agent="human", actors={})
    else:
        plan = replace(plan, agent=others, actors={me: "human"})
    episode = "" if plan.episodes else plan.episode or "next"
    return replace(plan, concurrency=1, episode=episode)


def play(plan: Plan, person: Person | None = None) -> PlayedGame:
    """Play one episode. Raises ``UsageError`` for one that is already finished."""
    result = run(plan, person=person)
    if result.resumed:
        remedy = f"watch it with `wayword view {result.path}`, or replay it with --out FOLDER"
        name = plan.episode or ", ".join(plan.episodes)
        raise UsageError(f"episode {name} is already finished; {remedy}")
    if not result.outcome.finished:
        return PlayedGame(result)
    *_, record = RunFolder.read(result.path).records()  # the newest
    episode, played = record.episode_id, record.trajectory
    dataset = open_dataset(plan)
    task = of_ids(dataset.tasks, {episode})[episode]
    expert, best = expert_scores(plan, dataset, task)
    return PlayedGame(result, episode, played.ended, record.scores, expert, best)


def expert_scores(
    plan: Plan, dataset: Dataset, task: Task, names: Sequence[str] = EXPERTS
) -> tuple[str, Mapping[str, float] | None]:
    """The first of these agents that completes the task, with its scores; empty, None if none."""
    for name in names:
        alone = Plan(name, plan.on, seed=plan.seed, settings={"dataset": plan.group("dataset")})
        steps = plan.max_steps or dataset.max_steps
        try:
            setup = Setup(dataset, open_agent(alone, dataset).maker(), {}, plan.seed, steps)
            trajectory = asyncio.run(rollout(task, setup))
        except UsageError:
            continue  # it does not support this world or kind of task
        if trajectory.ended != "failed":
            (scores,) = score(dataset, [(task, trajectory)])
            return name, scores
    return "", None

"""Episodes played by a person, with the scores of an expert for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wayword.agents.person import Person
from wayword.core.blocking import blocking
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import UsageError, suggest
from wayword.core.files import short_path
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.metrics.scoring import score
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.results import RunResult
from wayword.runs.running import Continuation, run
from wayword.runs.selection import LEVEL

EXPERTS = ("expert", "oracle", "gold")
"""Agents that use the ground truth, in order of preference for comparison."""


@dataclass(frozen=True)
class PlayedGame:
    """An episode played by a person. ``scores`` is None if it was not finished. ``best`` are the
    scores of the agent ``expert``, and ``path`` its trajectory; None if no expert can play it."""

    result: RunResult
    episode: str = ""
    ended: str = ""
    scores: Mapping[str, float] | None = None
    expert: str = ""
    best: Mapping[str, float] | None = None
    path: Trajectory | None = None


def game_plan(plan: Plan, actor: str = "", others: str = "") -> Plan:
    """The plan in which a person plays ``actor``, by default the first one, and the agent
    ``others`` all other actors. Raises ``UsageError`` for an unknown actor or a missing agent."""
    if plan.continues:
        plan = Continuation.open(plan.continues).plan(plan)
    actors = open_dataset(plan).tasks[0].episode.actors
    me = actor or actors[0]
    if me not in actors:
        hint = suggest(me, actors)
        raise UsageError(f"{plan.dataset_name} has no actor {me!r}; {hint}")
    if len(actors) > 1 and not others:
        rest = ", ".join(name for name in actors if name != me)
        raise UsageError(f"no agent plays {rest}; add --with AGENT or --with human")
    # The person plays one actor, the agent all others.
    if others in ("", "human"):
        plan = replace(plan, agent="human", actors={})
    else:
        plan = replace(plan, agent=others, actors={me: "human"})
    episode = "" if plan.episodes else plan.episode or LEVEL
    return replace(plan, concurrency=1, episode=episode)


def play(plan: Plan, person: Person | None = None) -> PlayedGame:
    """Play one episode. Raises ``UsageError`` if it is already finished."""
    result = run(plan, person=person)
    if result.resumed:
        folder = short_path(result.path)
        remedy = (
            f"watch it with `wayword view {folder}`, or play again with --out FOLDER"
        )
        name = plan.episode or ", ".join(plan.episodes)
        raise UsageError(f"episode {name} is already finished; {remedy}")
    if not result.outcome.finished:
        return PlayedGame(result)
    *_, record = RunFolder.read(result.path).records()  # the newest
    episode = record.episode_id
    played = record.trajectory
    dataset = open_dataset(plan)
    task = of_ids(dataset.tasks, {episode})[episode]
    solution = expert_solution(plan, dataset, task)
    return PlayedGame(result, episode, played.ended, record.scores, *solution)


def expert_solution(
    plan: Plan,
    dataset: Dataset,
    task: Task,
    names: Sequence[str] = EXPERTS,
) -> tuple[str, Mapping[str, float] | None, Trajectory | None]:
    """Name, scores and trajectory of the first of these agents that can play the task; else an
    empty name and None."""
    # No expert moves a robot that a person drives.
    if dataset.live:
        return "", None, None
    for name in names:
        single = Plan(
            name,
            plan.on,
            seed=plan.seed,
            settings={"dataset": plan.group("dataset")},
        )
        steps = plan.max_steps or dataset.max_steps
        # The first expert that supports the world and has an answer.
        try:
            setup = Setup(
                dataset,
                open_agent(single, dataset).make,
                {},
                plan.seed,
                steps,
            )
            trajectory = blocking(rollout(task, setup))
        except UsageError:
            continue  # it does not support this world or kind of task
        if trajectory.ended != "failed":
            (scores,) = score(dataset, [(task, trajectory)])
            return name, scores, trajectory
    return "", None, None

"""Demonstrations for tasks with several actors: training episodes played by the scripted team.

One actor's actions make no sense without the others', so the team plays the full episode, and a
demonstration shows one actor's turns. Bodies without skills are shown the single motions that make
up the team's skills.
"""

from __future__ import annotations

import re
from typing import Any

from wayword.core import registry
from wayword.core.action import Action, Decision
from wayword.core.agent import Demonstration, Demonstrations
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, finish, rollout
from wayword.core.trajectory import Step, Trajectory

# A motion as written in a skill's feedback: its name, and its arguments in brackets.
_MOTION = re.compile(r"(\w+)(?:\[(.*)\])?", re.DOTALL)

# Actions of a waiting commander. No other member of the team takes them.
_IDLE = (Action("turn_left"), Action("wait"))


def demonstrations(dataset: Dataset) -> Demonstrations:
    """A function that draws solved training episodes, for one actor or several. The team plays each
    episode only once, for all actors."""
    if not dataset.solutions:
        return dataset.demonstrations
    played: dict[str, Demonstration | None] = {}

    def solved(trained: Dataset, task: Task) -> Demonstration | None:
        """Return a task's demonstration; a team's is played once."""
        if len(task.episode.actors) == 1:
            return trained.demonstration(task)
        if task.episode.id not in played:
            played[task.episode.id] = _team_demonstration(trained, task)
        return played[task.episode.id]

    return lambda count, seed: dataset.demonstrations(count, seed, solved)


def _team_demonstration(dataset: Dataset, task: Task) -> Demonstration | None:
    """The team's solution of a task, in actions that its bodies support; None if it fails. Only the
    first of several consecutive idle turns of a commander is shown. Raises ``UsageError``."""
    # imported here because few runs need the household world and its expert
    from wayword.worlds.household.expert import with_able_bodies
    from wayword.worlds.household.goals import HouseholdReference

    # The team needs skills: actors whose bodies have none get some, and their motions are shown.
    try:
        played = _play_as_team(dataset, task)
        single_steps = False
    except UsageError:
        bodies = task.episode.start.get("bodies", {})
        free = [actor for actor in task.episode.actors if actor not in bodies]
        able = Task(with_able_bodies(task.episode, free), task.reference)
        played = _play_as_team(dataset, able)
        single_steps = True
    reference = task.reference
    if not isinstance(reference, HouseholdReference) or played.ended != "stopped":
        return None
    if reference.met(played.state) < reference.parts():
        return None

    turns = list[tuple[str, Action]]()
    was_idle = dict[str, bool]()
    for step in played.steps:
        if not isinstance(step.decision, Decision):
            continue
        action = step.decision.action
        idle = action in _IDLE
        if not (idle and was_idle.get(step.actor)):
            shown = [action]
            if single_steps:
                shown = _motions(step, action)
            turns += [(step.actor, each) for each in shown]
        was_idle[step.actor] = idle
    first = tuple(action for actor, action in turns if actor == task.episode.actors[0])
    return Demonstration(
        task.episode, first, lambda: dataset.world(task.episode), tuple(turns)
    )


def _motions(step: Step, action: Action) -> list[Action]:
    """The single motions of a skill; an action that is none itself. A failed skill changed nothing,
    so it has no motions."""
    listed = step.feedback.details.get("low_level")
    if action.name in ("chat", "stop") or (listed is None and step.feedback.ok):
        return [action]
    motions = []
    for text in listed or ():
        if match := _MOTION.fullmatch(text):
            arguments: tuple[str, ...] = ()
            if match[2]:
                arguments = tuple(match[2].split(", "))
            motions.append(Action(match[1], arguments))
    return motions


def _play_as_team(dataset: Dataset, task: Task) -> Trajectory:
    """An episode played by the scripted team, which never awaits a model."""
    team: Any = registry.load("agent", "team")
    setup = Setup(
        dataset,
        lambda toolkit, _: team(team.Settings(), toolkit),
        max_steps=dataset.max_steps,
    )
    played: Trajectory = finish(rollout(task, setup))
    return played

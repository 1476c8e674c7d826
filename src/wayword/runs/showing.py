"""Examples for tasks with several actors: training episodes that the scripted team plays.

No actor's part makes sense without the others', so the whole episode is played, and an example
shows one actor's turns of it. Bodies that walk by single steps are shown the single steps that the
team's errands are made of.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

from wayword.core import registry
from wayword.core.action import Action, Decision
from wayword.core.agent import Agent, Demonstration, Demonstrations, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Step, Trajectory

_ACTION = re.compile(r"(\w+)(?:\[(.*)\])?", re.DOTALL)
_IDLE = (Action("turn_left"), Action("wait"))
"""What a commander does while it waits; nobody else on the team does either."""


def demonstrations(dataset: Dataset) -> Demonstrations:
    """What draws solved training episodes of a dataset, for one actor or several. The team plays
    an episode once, whichever actor asks for it."""
    if not dataset.solutions:
        return dataset.demonstrations
    played: dict[str, Demonstration | None] = {}

    def solved(trained: Dataset, task: Task) -> Demonstration | None:
        if len(task.episode.actors) == 1:
            return trained.demonstration(task)
        if task.episode.id not in played:
            played[task.episode.id] = played_by_team(trained, task)
        return played[task.episode.id]

    return lambda count, seed: dataset.demonstrations(count, seed, solved)


def played_by_team(dataset: Any, task: Task) -> Demonstration | None:
    """A task as the team solves it, by the actions that its own bodies have; None where it fails.

    Raises ``UsageError`` for a task without goals in a house.
    """
    # not above: this package is loaded for every run, the house and its expert for few
    from wayword.worlds.household.expert import able_bodies
    from wayword.worlds.household.goals import HouseholdReference

    try:
        played, single_steps = _played(dataset, task), False
    except UsageError:
        free = [a for a in task.episode.actors if a not in task.episode.start.get("bodies", {})]
        able = Task(able_bodies(task.episode, free), task.reference)
        played, single_steps = _played(dataset, able), True
    reference = task.reference
    if not isinstance(reference, HouseholdReference) or played.ended != "stopped":
        return None
    if reference.met(played.state) < reference.parts():
        return None
    turns = tuple(_taken(played.steps, single_steps))
    first = tuple(action for actor, action in turns if actor == task.episode.actors[0])
    return Demonstration(task.episode, first, lambda: dataset.world(task.episode), turns)


def _played(dataset: Any, task: Task) -> Trajectory:
    team: Any = registry.load("agent", "team")

    def build(toolkit: Toolkit, actor: str) -> Agent:
        made: Agent = team(team.Settings(), toolkit)
        return made

    return _at_once(rollout(task, Setup(dataset, build, max_steps=dataset.max_steps)))


def _at_once(work: Coroutine[Any, Any, Trajectory]) -> Trajectory:
    """Run what never waits: scripts ask nobody. An event loop may be running around it."""
    try:
        work.send(None)
    except StopIteration as end:
        played: Trajectory = end.value
        return played
    raise RuntimeError("the team waited for something")


def _taken(steps: Sequence[Step], single_steps: bool) -> Iterator[tuple[str, Action]]:
    """Everybody's actions in order; of a commander's idle turns in a row the first alone."""
    idle: dict[str, bool] = {}
    for step in steps:
        if not isinstance(step.decision, Decision):
            continue
        action = step.decision.action
        waits = action in _IDLE
        if not (waits and idle.get(step.actor)):
            yield from ((step.actor, each) for each in _made_of(step, action, single_steps))
        idle[step.actor] = waits


def _made_of(step: Step, action: Action, single_steps: bool) -> list[Action]:
    """An errand's single steps; one that failed has none, as it changed nothing."""
    made = step.feedback.details.get("low_level")
    if not single_steps or action.name in ("chat", "stop"):
        return [action]
    if made is None:
        known = step.feedback.ok
        return [action] if known else []
    return [_parsed(text) for text in made]


def _parsed(text: str) -> Action:
    match = _ACTION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no action")
    name, inside = match.groups()
    return Action(name, tuple(inside.split(", ")) if inside else ())

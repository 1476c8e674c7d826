"""Episode and Reference: the question and the answer, kept apart by type.

An agent is handed an ``Episode`` and can reach nothing else. The ``Reference`` (goal, gold path,
target state) goes to metrics, oracles and training only, so that a leak of the answer into an
agent cannot be written by accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

Json = Any
"""A value made of dict, list, str, int, float, bool and None."""


@dataclass(frozen=True)
class NoSettings:
    """No settings: the default of agents, datasets and models."""


class Extra(TypedDict, total=False):
    """Fields of a published file, besides the instruction, that an agent may know; all optional.

    ``instructions``: actor -> what it alone is asked to do. ``roles``: actor -> the part it plays.
    ``rules``: the rules of the task, one text or one for each actor. ``opening``: names of the
    actions that a walk begins with unasked. ``landmarks``: names of landmarks along a route, in
    order. ``sub_instructions``: the instruction in parts, in order. ``target``: the words for the
    object to be found; ``kind``: its class, by which tables are split. ``language``: the language
    of the instruction; ``path_id``: the path it was written for. ``horizon``: the camera's tilt at
    the start, degrees, down positive. ``budget``: the actions after which the episode ends.
    """

    instructions: Mapping[str, str]
    roles: Mapping[str, str]
    rules: str | Mapping[str, str]
    opening: Sequence[str]
    landmarks: Sequence[str]
    sub_instructions: Sequence[str]
    target: str
    kind: str
    language: str
    path_id: Json
    horizon: float
    budget: int


@dataclass(frozen=True, slots=True)
class Episode:
    """All that an agent may know before it starts.

    ``Episode(id="5593_0", instruction="Exit the bedroom.", scene="vyrNrziPKCB",
    start={"viewpoint": "c8a5…", "heading": 3.04})``

    ``start`` is the world's own start state, made of JSON values; headings in it are degrees
    clockwise from north. ``actors`` are in turn order. ``extra`` holds what else an
    agent may know from the published file: see :class:`Extra`. A dataset from outside the tree may
    put keys of its own there, for agents that know them.
    """

    id: str
    instruction: str
    scene: str
    start: Mapping[str, Json]
    actors: tuple[str, ...] = ("agent",)
    extra: Extra = field(default_factory=Extra)

    def for_actor(self, actor: str) -> Episode:
        """Return the part of the episode that one actor may know.

        Where ``extra["instructions"]`` holds a text for each actor, it is given its own
        alone, and nothing of how the world starts, which may name the task.
        """
        instructions = self.extra.get("instructions")
        if not isinstance(instructions, Mapping):
            return self
        addressed = {actor: instructions[actor]} if actor in instructions else {}
        extra: Extra = {**self.extra, "instructions": addressed}
        return replace(self, start={}, extra=extra)


@dataclass(frozen=True, slots=True)
class Reference:
    """The answer of an episode. Never given to an agent that does not declare ``sees_answer``."""

    episode_id: str


@dataclass(frozen=True, slots=True)
class PathReference(Reference):
    """A gold path over the places of a graph; the goal is its last place.

    ``shortest`` is the length that SPL compares with, where the dataset gives one (metres),
    else None and metrics take the graph's own shortest path from start to goal.
    """

    path: tuple[str, ...]
    shortest: float | None = None

    @property
    def goal(self) -> str:
        return self.path[-1]

"""Episode and Reference: the question and the answer, kept apart by type.

An agent gets only the ``Episode``; the ``Reference`` (goal, gold path, target state) goes to
metrics, oracles and training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

Json = Any
"""A value made of dict, list, str, int, float, bool and None."""
JsonObject = Mapping[str, Json]
"""Values by key: a record, a configuration, an observation or a pose as JSON has it."""


@dataclass(frozen=True)
class NoSettings:
    """No settings: the default of agents, datasets and models."""


class Extra(TypedDict, total=False):
    """Fields of a published file, besides the instruction, that an agent may see; all optional.

    ``instructions``: actor -> instruction that only this actor sees. ``roles``: actor -> its role.
    ``rules``: the rules of the task, as one text or one per actor. ``opening``: names of the
    actions taken automatically at the start. ``landmarks``: names of landmarks along a route, in
    order. ``sub_instructions``: the instruction in parts, in order. ``target``: description of
    the object to find; ``kind``: its class, by which tables are split. ``language``: the language
    of the instruction; ``path_id``: the path it describes. ``horizon``: the camera's tilt at the
    start (degrees, down positive). ``budget``: number of actions after which the episode ends.
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

    ``start`` is the world's start state in JSON values; headings in it are degrees clockwise
    from north. ``actors`` are in turn order. ``extra`` holds further fields that an agent may
    see: see :class:`Extra`. A dataset from outside the package may add its own keys, for agents
    that know them.
    """

    id: str
    instruction: str
    scene: str
    start: Mapping[str, Json]
    actors: tuple[str, ...] = ("agent",)
    extra: Extra = field(default_factory=Extra)

    def for_actor(self, actor: str) -> Episode:
        """Return the part of the episode that one actor may know. If ``extra["instructions"]`` has
        a text per actor, each sees only its own, and not ``start``, which may reveal the task."""
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
    """A gold path over the places of a graph; the goal is its last place. ``shortest`` is the
    dataset's reference length for SPL (metres), None for the graph's shortest path."""

    path: tuple[str, ...]
    shortest: float | None = None

    @property
    def goal(self) -> str:
        """Last place of the path."""
        return self.path[-1]

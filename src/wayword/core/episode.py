"""Episode and Reference: the question and the answer, kept apart by type.

An agent gets only the ``Episode``; the ``Reference`` (goal, gold path, target state) goes to
metrics, oracles and training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, TypedDict

from wayword.core.errors import DataError
from wayword.core.visible import join_words

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


_ALIKE = 0.7
"""Least similarity of a misspelled name: ``head`` is ``heading``, ``seed`` is not ``scene``."""


_DEGREES = {"heading", "horizon"}


def check_start(
    episode: Episode, required: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Raise ``DataError`` if an episode's start lacks a required field, or has a misspelled one."""
    where = f"episode {episode.id}"
    check_fields(where, "field 'start'", episode.start, required, optional)


def check_fields(
    source: str,
    where: str,
    fields: Any,
    required: Sequence[str],
    optional: Sequence[str] = (),
) -> None:
    """Raise ``DataError`` if fields of an episode are missing or misspelled.

    A field with another name is an episode's own, unless it resembles one that is missing: the
    default of that one would be used in silence.
    """
    form = f"must have {join_words(required)}"
    if optional:
        form += f", and may have {join_words(optional)}"
    if not isinstance(fields, Mapping):
        raise DataError(source, where, f"{form}, got {fields!r:.60}")
    missing = [name for name in (*required, *optional) if name not in fields]
    for key in fields:
        if key in required or key in optional:
            continue
        if near := get_close_matches(str(key).lower(), missing, 1, _ALIKE):
            raise DataError(source, where, f"has {key!r}; did you mean {near[0]!r}?")
    for name in _DEGREES & {*fields}:
        value = fields[name]
        # Recorded starts may hold numbers as text.
        with suppress(TypeError, ValueError):
            if math.isfinite(float(value)):
                continue
        raise DataError(
            source, where, f"{name!r} must be a number of degrees, got {value!r:.60}"
        )
    if lacking := [name for name in missing if name in required]:
        raise DataError(source, where, f"has no {lacking[0]!r}; it {form}")


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

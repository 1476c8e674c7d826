"""World: state and rules. No prompt text, no model, no image network.

A world is deterministic for an episode. It steps one actor at a time, so one actor and several
are the same loop. Headings are degrees clockwise from north (+y) in [0, 360); relative angles
lie in (-180, 180], right positive; elevations are degrees, up positive; lengths are metres.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from wayword.core.action import Action, ActionSpace
from wayword.core.episode import Episode, Json
from wayword.core.family import Family


@dataclass(frozen=True, slots=True)
class Observation:
    """What an actor perceives now. Each world has its own subclass, with units in its docstring.

    ``family`` is that of the world; None where nothing is known of it.
    """

    family: ClassVar[Family | None] = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """What came of a decision.

    ``status`` is a short code of the world's own (``"ok"``, ``"blocked"``, ``"too_far"`` …) or
    ``"rejected"`` where the answer was no action at all; ``verbalize`` turns it into words.
    ``details`` fill the sentence's slots.
    """

    status: str = "ok"
    details: Mapping[str, Json] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@runtime_checkable
class World(Protocol):
    """The place an episode happens in. One instance serves one episode at a time."""

    @property
    def actors(self) -> tuple[str, ...]:
        """Everybody who acts, in turn order."""
        ...

    def reset(self, episode: Episode) -> None:
        """Start the episode. Raises ``DataError`` when its start does not exist here."""
        ...

    def observe(self, actor: str) -> Observation:
        """What the actor perceives now. Changes nothing."""
        ...

    def action_space(self, actor: str) -> ActionSpace:
        """What the actor may decide now."""
        ...

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out an action in the action space. Raises ``ValueError`` for any other."""
        ...

    def done(self, actor: str) -> bool:
        """Whether the actor has stopped."""
        ...

    def pose(self, actor: str) -> Mapping[str, Json]:
        """The actor's true place and heading, small: recorded after every step."""
        ...

    def state(self) -> Mapping[str, Json]:
        """The whole true state: recorded once, when the episode ends."""
        ...

"""World: state and rules, and the family that it belongs to. No prompt text, no model, no network.

A world is deterministic for an episode. It steps one actor at a time, so one actor and several
are the same loop. Headings are degrees clockwise from north (+y) in [0, 360); relative angles
lie in (-180, 180], right positive; elevations are degrees, up positive; lengths are metres.

A family is declared once, next to its world, and its observations carry it. Its verbalizer, scorer
and map are found by its name in the parallel folders (``verbalize/indoor.py``,
``metrics/indoor.py``, ``viewer/maps/indoor.py``). A family from outside the tree brings its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from wayword.core import registry
from wayword.core.action import Action, ActionSpace
from wayword.core.episode import Episode, Json

FamilyPart = Literal["verbalizer", "scorer", "map"]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of world: its name, and the metric that says that an episode was solved.

    >>> Family("lift", success="sr").name
    'lift'

    ``success`` is the key of that metric; tables, pages, judges of trials and exports
    go by it. ``place`` is the field of a pose that names a place of the scene's graph, where there
    is one. ``goal_radius`` is how near to the goal an episode has to end, metres, as maps draw
    it; 0 where nearness is not judged that way. ``verbalizer``, ``scorer`` and ``map`` are the
    parts of a family that lies outside the tree.
    """

    name: str
    success: str = "sr"
    place: str = ""
    goal_radius: float = 0.0
    verbalizer: Any = None
    scorer: Any = None
    map: Any = None

    def part(self, kind: FamilyPart) -> Any:
        """Return the family's own part, else the one of its name in the tree, else None."""
        part = getattr(self, kind)
        if part is not None:
            return part
        return registry.load(kind, self.name) if self.name in registry.names(kind) else None


@dataclass(frozen=True, slots=True)
class Observation:
    """An actor's current percept. Each world has its own subclass, with units in its docstring.

    ``family`` is that of the world; None if nothing is known of it.
    """

    family: ClassVar[Family | None] = None


SLIPPED = "slipped"
"""Status of an action that failed by chance and changed nothing: a perturbation."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """Outcome of a decision.

    ``status`` is a short code of the world's own (``"ok"``, ``"blocked"``, ``"too_far"`` …) or
    ``"rejected"`` where the answer was no action at all; ``verbalize`` turns it into words.
    ``details`` fill the sentence's slots.
    """

    status: str = "ok"
    details: Mapping[str, Json] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status == "ok"


class World(ABC):
    """The place an episode happens in. One instance serves one episode at a time.

    ``actors`` are all who act, in turn order. ``read_only`` holds what no episode changes, so that
    copies of the world can share it.
    """

    if TYPE_CHECKING:  # at runtime plain attributes, which a subclass may assign or compute

        @property
        def actors(self) -> tuple[str, ...]: ...
        @property
        def read_only(self) -> tuple[object, ...]: ...

    else:
        actors = ("agent",)
        read_only = ()

    @abstractmethod
    def reset(self, episode: Episode) -> None:
        """Start the episode. Raises ``DataError`` when its start does not exist here."""

    @abstractmethod
    def observe(self, actor: str) -> Observation:
        """Return the actor's observation. Changes nothing."""

    @abstractmethod
    def action_space(self, actor: str) -> ActionSpace:
        """Return the actions that are legal for the actor now."""

    @abstractmethod
    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out an action in the action space. Raises ``ValueError`` for any other."""

    @abstractmethod
    def done(self, actor: str) -> bool:
        """True if the actor has stopped."""

    def pose(self, actor: str) -> Mapping[str, Json]:
        """Return the actor's true place and heading, small: recorded after every step."""
        return {}

    def state(self) -> Mapping[str, Json]:
        """Return the complete true state: recorded once, when the episode ends."""
        return {}

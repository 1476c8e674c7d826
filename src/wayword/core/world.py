"""World: state and rules, and the family it belongs to. No prompt text, no model, no network.

A world is deterministic for an episode. It steps one actor at a time: one actor and several use
the same loop. Headings are degrees clockwise from north (+y) in [0, 360); relative angles are
degrees in (-180, 180], right positive; elevations are degrees, up positive; lengths are metres.

A family is declared next to its world, and is an attribute of its observations. Its verbalizer,
scorer and map are found by its name in parallel folders (``metrics/indoor.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from wayword.core import registry
from wayword.core.action import Action, ActionSpace
from wayword.core.blame import check_class
from wayword.core.episode import Episode, Json, JsonObject

FamilyPart = Literal["verbalizer", "scorer", "map"]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of world: its name, and the metric that defines success.

    >>> Family("lift", success="sr").name
    'lift'

    ``success`` is the key of that metric, used by tables, pages, judges of trials and exports.
    ``place`` is the field of a pose that names a place in the scene's graph, empty without a graph.
    ``goal_radius`` is the success radius around the goal (metres) that maps draw; 0 if success is
    not judged by distance. ``verbalizer``, ``scorer`` and ``map`` are set by families from outside
    the package.
    """

    name: str
    success: str = "sr"
    place: str = ""
    goal_radius: float = 0.0
    verbalizer: Any = None
    scorer: Any = None
    map: Any = None

    def part(self, kind: FamilyPart) -> Any:
        """Return the family's own part, else the shipped one with its name, else None."""
        part = getattr(self, kind)
        if part is not None:
            return part
        if self.name in registry.names(kind):
            return registry.load(kind, self.name)
        return None


@dataclass(frozen=True, slots=True)
class Observation:
    """An actor's current view. Each world has its own subclass, with units in its docstring and the
    world's ``family``, None if it has none."""

    family: ClassVar[Family | None] = None


SLIPPED = "slipped"
"""Status of an action that failed by chance and changed nothing: a perturbation."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """Outcome of a decision.

    ``status`` is a short code of the world (``"ok"``, ``"blocked"`` …), or ``"rejected"`` if the
    answer contained no legal action; ``verbalize`` fills ``details`` into its sentence.
    """

    status: str = "ok"
    details: Mapping[str, Json] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True if the action succeeded."""
        return self.status == "ok"


class World(ABC):
    """The environment of one episode at a time. ``actors`` are the names of all actors, in turn
    order; ``read_only`` holds the objects that no episode changes and copies share.

        world = dataset.world(episode)
        world.reset(episode)
        observation = world.observe("agent")
        space = world.action_space("agent")
        feedback = world.step("agent", space.listed[0])  # ValueError unless it is in the space
        world.done("agent"), world.pose("agent"), world.state()
    """

    def __new__(cls, *_arguments: Any, **_named: Any) -> Self:
        """Raise ``UsageError`` for a class that lacks a method, with its file and line."""
        if cls.__abstractmethods__:
            check_class(cls, World)
        return super().__new__(cls)

    # At runtime plain attributes, which a subclass may assign or compute
    if TYPE_CHECKING:

        @property
        def actors(self) -> tuple[str, ...]: ...
        @property
        def read_only(self) -> tuple[object, ...]: ...

    else:
        actors = ("agent",)
        read_only = ()

    @abstractmethod
    def reset(self, episode: Episode) -> None:
        """Start the episode. Raises ``DataError`` if its start does not exist in this world."""

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

    def pose(self, actor: str) -> JsonObject:
        """Return the actor's true place and heading. Recorded after every step: keep it small.

        Maps draw ``x`` to the right, ``y`` up and ``heading`` clockwise from up, in degrees. Rows
        of a grid that count from the top are ``-row``.
        """
        return {}

    def state(self) -> JsonObject:
        """Return the complete true state. Recorded once, when the episode ends."""
        return {}

"""Agent: one strategy.

Learner: one that may try an episode again. Oracle: one that is shown the answer, for upper bounds
and training.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.episode import Episode, Json, Reference
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, Game
from wayword.core.model import Model
from wayword.core.perceiver import Perceiver
from wayword.core.trajectory import Verdict
from wayword.core.world import Feedback, World


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A solved episode of a *training* split, for in-context examples.

    ``actions`` are those of the first actor, and ``thoughts`` why its solver took each of them,
    where it says so. Where several act, ``turns`` are everybody's, each with its actor's name, in
    the order in which they were taken.
    """

    episode: Episode
    actions: tuple[Action, ...]
    world: Callable[[], World]
    turns: tuple[tuple[str, Action], ...] = ()
    thoughts: tuple[str, ...] = ()

    def game(self) -> Game:
        """A new game of the episode, to play its :meth:`decisions` in."""
        return Game(self.world(), self.episode)

    def decisions(self) -> list[tuple[str, Decision]]:
        """Every turn in order: an actor and its decision."""
        first = self.episode.actors[0]
        turns = self.turns or [(first, action) for action in self.actions]
        return [(actor, Decision(action)) for actor, action in turns]


Demonstrations = Callable[[int, int], Sequence[Demonstration]]
"""How many, and a seed -> solved training episodes."""


def _no_demonstrations(count: int, seed: int) -> Sequence[Demonstration]:
    raise UsageError("this dataset has no training split to draw examples from; set shots=0")


def _ignore(kind: str, **details: Json) -> None:
    return None


@runtime_checkable
class ManyRoles(Protocol):
    """A model that can be told which role it is asked in, so that recordings say so."""

    def as_role(self, role: str) -> Model:
        """The same model in a role."""
        ...


Value = TypeVar("Value")


@dataclass(frozen=True)  # no slots: ``SharedKey[...]("...")`` writes an attribute
class SharedKey(Generic[Value]):
    """A name for what agents share over a run: ``SharedKey[list[str]]("lists")``."""

    name: str


class Shared(dict[Hashable, Any]):
    """What the agents of one run keep between episodes, because it does not depend on the episode.

    >>> LISTS = SharedKey[list[str]]("lists")
    >>> shared = Shared()
    >>> shared.once(LISTS, 3, lambda: ["made"]), shared.once(LISTS, 3, lambda: ["again"])
    (['made'], ['made'])
    """

    def once(self, kind: SharedKey[Value], key: Hashable, make: Callable[[], Value]) -> Value:
        """The thing of that kind and key, made at the first call."""
        if (kind, key) not in self:
            self[kind, key] = make()
        kept: Value = self[kind, key]
        return kept


@dataclass(frozen=True, slots=True)
class Toolkit:
    """What an agent may use during one episode.

    ``models`` maps a role to a model; every call through them lands in the trajectory. ``rng`` is
    seeded by run, episode and actor, so that a resumed run repeats an uninterrupted one. ``note``
    puts a visible event into the trajectory: ``toolkit.note("lost", times=3)``.
    ``shared`` is kept over all episodes of a run: for what does not depend on the episode, such as
    the text of the in-context examples, and is worked out once.
    ``demonstrations(count, seed)`` draws solved training episodes.
    """

    models: Mapping[str, Model] = field(default_factory=dict)
    perceiver: Perceiver | None = None
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    note: Callable[..., None] = _ignore
    shared: Shared = field(default_factory=Shared)
    demonstrations: Demonstrations = _no_demonstrations

    def model(self, role: str = "main") -> Model:
        """The model for a role, or the main one where the role has none of its own."""
        own = self.models.get(role)
        if own is not None:
            return own
        main = self.models.get("main")
        if main is None:
            raise UsageError("this agent asks a language model; give one with --model")
        return main.as_role(role) if isinstance(main, ManyRoles) else main


@runtime_checkable
class Agent(Protocol):
    """A strategy for one actor and one episode; a new instance is made for each.

    The class is built as ``cls(settings, toolkit)``, where ``settings`` is an instance of its
    frozen dataclass ``Settings``. ``families`` names the kinds of dataset it understands
    (``"indoor"``, ``"street"``, ``"household"`` …), empty for all; no other is ever played, so
    that ``act`` may declare the observation of its family.
    """

    Settings: ClassVar[type[Any]]
    families: ClassVar[frozenset[str]]
    needs_model: ClassVar[bool]

    async def begin(self, episode: Episode) -> None:
        """Read the episode; ask whatever is asked once."""
        ...

    async def act(self, observation: Any, space: ActionSpace) -> Decision | Rejection:
        """Decide; ``observation`` is of its family.

        A rejection costs a step, changes nothing in the world, and is told back.
        """
        ...

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """What came of the last decision, before the next observation."""
        ...


@runtime_checkable
class Reflecting(Protocol):
    """What makes an agent a learner."""

    async def reflect(self, verdict: Verdict) -> bool:
        """Learn from a trial that is over, and say whether to try again.

        Not called after the last trial, nor after a trial that the judge called a success. Where
        there are several actors, one that wants another trial is enough.
        """
        ...


@runtime_checkable
class Learner(Agent, Reflecting, Protocol):
    """An agent that learns between the trials of one episode, where its run allows several.

    The same instance plays them all: after ``reflect`` the world is as it was at first, and
    ``begin`` is called again. Its settings are :class:`TrialSettings`.
    """


@runtime_checkable
class TrialSettings(Protocol):
    """What an agent that learns is set to.

    ``trials`` is the most there may be. ``verdict``: ``"told"``, a judge ends the trials at a
    success; ``"self"``, the agent judges; ``"none"``, nobody does.
    """

    @property
    def trials(self) -> int: ...
    @property
    def verdict(self) -> Literal["told", "self", "none"]: ...


@runtime_checkable
class Interactive(Protocol):
    """An agent's class that says whether a person at the terminal plays it."""

    needs_person: ClassVar[bool]


@runtime_checkable
class Paced(Protocol):
    """An agent's class that says whether its own program ends an episode.

    A search that plans its own steps and gives up by itself is as long as it is, whatever the
    expert takes; an agent that asks a model for each step is about as long as the expert.
    """

    ends_itself: ClassVar[bool]


@runtime_checkable
class Restarting(Protocol):
    """An agent's class that says whether a prompt that has grown too long is begun anew."""

    begins_anew: ClassVar[bool]


@runtime_checkable
class ManyModels(Protocol):
    """An agent's class that asks models of their own in the ``roles`` it names."""

    roles: ClassVar[tuple[str, ...]]


def needs_person(cls: object) -> bool:
    """Whether a person plays the agents of this class."""
    return isinstance(cls, Interactive) and cls.needs_person


def ends_itself(cls: object) -> bool:
    """Whether the program of agents of this class, not a model, ends their episodes."""
    return isinstance(cls, Paced) and cls.ends_itself


def begins_anew(cls: object) -> bool:
    """Whether an episode's prompts may be several texts, each of them growing."""
    return isinstance(cls, Restarting) and cls.begins_anew


def roles_of(cls: object) -> tuple[str, ...]:
    """The roles in which agents of this class ask models, apart from the main one."""
    return cls.roles if isinstance(cls, ManyModels) else ()


def check_family(cls: type[Agent], family: str, dataset: str, name: str = "") -> None:
    """Raises ``UsageError`` where agents of this class do not act in worlds of that family."""
    if cls.families and family not in cls.families:
        fits = ", ".join(sorted(cls.families))
        raise UsageError(f"{name or cls.__name__} acts in {fits} worlds, and {dataset} is {family}")


MakePlan = Callable[[str], ActionPlan]
"""How (``"shortest"``, ``"gold"``, ``"expert"``) -> a plan for this actor from the present state.

Raises ``UsageError`` where the dataset has no such solution."""


@runtime_checkable
class Oracle(Agent, Protocol):
    """An agent that is shown the reference and the world: gold paths, shortest paths, experts.

    It says so itself, with ``sees_answer = True``; run folders and tables repeat it.
    """

    sees_answer: ClassVar[bool]

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        """Called before ``begin``, with the answer, the world that is played, and what plans."""
        ...


@runtime_checkable
class ShownAnswer(Protocol):
    """An agent, or its class, that says whether it is shown the reference."""

    sees_answer: ClassVar[bool]


def sees_answer(agent: object) -> bool:
    """Whether an agent, or its class, is declared to be shown the reference."""
    return isinstance(agent, ShownAnswer) and agent.sees_answer is True

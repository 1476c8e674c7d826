"""Agent: one strategy, and the toolkit that it may use during an episode."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from wayword.core import registry
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.episode import Episode, Json, NoSettings, Reference
from wayword.core.errors import UsageError, near
from wayword.core.game import ActionPlan, Game
from wayword.core.model import Model
from wayword.core.perceiver import Perceiver
from wayword.core.sight import Eyes
from wayword.core.trajectory import Verdict
from wayword.core.visible import with_article
from wayword.core.world import Feedback, World


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A solved episode of a *training* split, for in-context examples.

    ``actions`` are those of the first actor, ``thoughts`` the solver's reasons for them, or empty.
    With several actors, ``turns`` holds the actions of all, each with its actor's name.
    """

    episode: Episode
    actions: tuple[Action, ...]
    world: Callable[[], World]
    turns: tuple[tuple[str, Action], ...] = ()
    thoughts: tuple[str, ...] = ()

    def game(self) -> Game:
        """Return a new game of the episode, for its :meth:`decisions`."""
        return Game(self.world(), self.episode)

    def decisions(self) -> list[tuple[str, Decision]]:
        """Return every turn in order: an actor and its decision."""
        turns = self.turns or [
            (self.episode.actors[0], action) for action in self.actions
        ]
        return [(actor, Decision(action)) for actor, action in turns]


Demonstrations = Callable[[int, int], Sequence[Demonstration]]
"""(count, seed) -> solved training episodes."""


def _no_demonstrations(count: int, seed: int) -> Sequence[Demonstration]:
    """Refuse examples, which this dataset does not have."""
    raise UsageError(
        "this dataset has no training split to draw examples from; set shots=0"
    )


def _ignore(kind: str, **details: Json) -> None:
    """Drop a note: outside of a run no one reads it."""


Value = TypeVar("Value")


@dataclass(frozen=True)  # no slots: ``SharedKey[...]("...")`` writes an attribute
class SharedKey(Generic[Value]):
    """Typed name of a kind of shared values: ``SharedKey[list[str]]("lists")``."""

    name: str


class Shared(dict[Hashable, Any]):
    """Values that the agents of a run share between episodes, independent of the episode.

    >>> LISTS = SharedKey[list[str]]("lists")
    >>> shared = Shared()
    >>> shared.once(LISTS, 3, lambda: ["made"]), shared.once(LISTS, 3, lambda: ["again"])
    (['made'], ['made'])
    """

    def once(
        self, kind: SharedKey[Value], key: Hashable, make: Callable[[], Value]
    ) -> Value:
        """Return the value for a kind and key; ``make`` computes it at the first call."""
        if (kind, key) not in self:
            self[kind, key] = make()
        cached: Value = self[kind, key]
        return cached


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Everything an agent may use during an episode.

    ``models`` maps a role to a model; every call is recorded in the trajectory. ``rng`` is seeded
    by run, episode and actor: a resumed run draws the same numbers as an uninterrupted one.
    ``note`` records a visible event in the trajectory: ``toolkit.note("lost", times=3)``.
    ``shared`` caches values for all episodes of a run, such as the text of in-context examples.
    ``demonstrations(count, seed)`` draws solved training episodes. ``max_steps`` is the number of
    turns after which the episode ends, 0 if unknown. ``needs_stop``: an episode that ends
    there, without a stop, has failed. ``eyes`` draws what the actor sees, None in runs in words.
    """

    models: Mapping[str, Model] = field(default_factory=dict)
    perceiver: Perceiver | None = None
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    note: Callable[..., None] = _ignore
    shared: Shared = field(default_factory=Shared)
    demonstrations: Demonstrations = _no_demonstrations
    max_steps: int = 0
    needs_stop: bool = False
    eyes: Eyes | None = None

    def model(self, role: str = "main") -> Model:
        """Return the model for a role, by default the main one."""
        if role in self.models:
            return self.models[role]
        if "main" not in self.models:
            raise UsageError(
                "this agent needs a language model; choose one with --model (needs_model = True in "
                "its class says so before the run)"
            )
        return self.models["main"].as_role(role)


MakePlan = Callable[[str], ActionPlan]
"""Kind (``"shortest"``, ``"gold"``, ``"expert"``) -> a plan for this actor from the current state.

Raises ``UsageError`` if the dataset has no solution of that kind."""


class Agent(ABC):
    """A strategy for one actor and one episode; a new instance is made for each.

        class Random(Agent):
            async def act(self, observation, space):
                return Decision(self.toolkit.rng.choice(space.listed))

    The class is built as ``cls(settings, toolkit)``, where ``settings`` is an instance of its
    frozen dataclass ``Settings``. Everything but :meth:`act` has a default.
    """

    Settings: ClassVar[type[Any]] = NoSettings
    families: ClassVar[frozenset[str]] = frozenset()
    """The families of worlds it acts in (``"indoor"``, ``"street"`` …), empty for all."""
    follows: ClassVar[str] = ""
    """The kind of a dataset's solutions that it carries out: it also acts in every world whose
    dataset has them."""
    needs_model: ClassVar[bool] = False
    roles: ClassVar[tuple[str, ...]] = ()
    """The roles in which it asks models, besides ``main``; a user may set a model for each."""
    needs_person: ClassVar[bool] = False
    """A person plays it, at the terminal or in the browser."""
    sees_answer: ClassVar[bool] = False
    """:meth:`reveal` is called: an upper bound. Run folders and tables say so."""
    ends_itself: ClassVar[bool] = False
    """Its own program ends the episode: cost estimates play it to that end, not to the expert's."""
    sightless: ClassVar[frozenset[str]] = frozenset()
    """Families in which it sees nothing, so the caveats of its detectors do not apply."""
    has_eyes: ClassVar[bool] = False
    """It looks at the pictures of ``toolkit.eyes``. Other agents with a model play in words."""
    keeps_looks: ClassVar[bool] = False
    """Its conversation can hold the pictures of earlier steps (``picture_history``)."""
    learns: ClassVar[bool] = False
    """It learns between the trials of an episode, by :meth:`reflect`. Its settings have ``trials``,
    the maximum number of trials, and ``verdict``: ``"judge"`` (a judge ends the trials at a
    success), ``"self"`` (the agent judges) or ``"none"``."""

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self.settings = settings
        self.toolkit = toolkit

    @classmethod
    def caveats(cls, settings: Any, perceiver: Perceiver | None) -> tuple[str, ...]:
        """Return caveats of every score made with these settings and the dataset's perceiver, one
        short clause each: ``"no landmarks are in view"``. Tables and pages show them."""
        return ()

    @classmethod  # noqa: B027
    def load_detectors(cls, settings: Any) -> None:
        """Load the weights of the detectors that these settings name. Called before the first
        episode with a robot, so that missing weights are reported before anything connects."""

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:  # noqa: B027
        """Receive the answer, the live world and a planner. Called before ``begin``."""

    async def begin(self, episode: Episode) -> None:  # noqa: B027
        """Read the episode, and make the model calls that are needed once per episode."""

    @abstractmethod
    async def act(self, observation: Any, space: ActionSpace) -> Decision | Rejection:
        """Choose an action; the type of ``observation`` depends on the family. A rejection costs a
        step, changes nothing in the world, and is fed back."""

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:  # noqa: B027
        """Receive the result of the last decision, before the next observation."""

    async def recall(
        self, observation: Any, space: ActionSpace, decision: Decision | Rejection
    ) -> None:
        """Adopt a turn of another agent; ``on_feedback`` follows. Raises ``UsageError``."""
        if self.needs_model:
            raise UsageError(
                f"{type(self).__name__} cannot continue from steps taken by another agent or with "
                "other settings; continue with the same agent, or one that can: act, react, "
                "react_emmem, navgpt, mapgpt, velma, human, or one without a model"
            )
        await self.act(observation, space)

    def remember(self, earlier: Any) -> None:
        """Take over what the agent of the scene's previous episode, ``earlier``, learned; ``begin``
        follows. Called in runs with ``--remember scene``, for agents that define it. Copy mutable
        state: ``earlier`` is used again if this episode fails."""
        raise NotImplementedError

    async def reflect(self, verdict: Verdict) -> bool:
        """Learn from a trial that is over, and return True to try again; with several actors, one
        True is enough. The same instance plays all trials: for each, the world is reset and
        ``begin`` is called again. Not called after the last trial, nor after a judged success."""
        return False


def check_family(
    cls: type[Agent],
    family: str,
    dataset: str,
    name: str = "",
    solutions: Collection[str] = (),
) -> None:
    """Raise ``UsageError`` if agents of this class do not act in worlds of that family, nor follow
    one of the dataset's ``solutions``."""
    if cls.follows and cls.follows in solutions:
        return
    if cls.families and family not in cls.families:
        fits = (
            f"{name or cls.__name__} acts in {', '.join(sorted(cls.families))} worlds"
        )
        # A dataset may have the name of its family: "household is household" would say nothing.
        kind = with_article(f"{family} dataset")
        # A family of a user's own that is misspelled in its agent.
        unknown = cls.families - {*registry.names("family")}
        hints = filter(None, (near(each, [family]) for each in sorted(unknown)))
        remedy = next(hints, "; choose another agent or dataset")
        raise UsageError(f"{fits}, and {dataset} is {kind}{remedy}")

"""What an actor in a home was told so far: things, where they are, what was done.

Only observations and what came of actions go in; names are those that the actor was told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wayword.agents.parts.chores import TOOLS
from wayword.core.action import Action
from wayword.core.episode import Json
from wayword.core.world import Feedback
from wayword.worlds.household.observation import HouseholdObservation


def kind(name: str) -> str:
    """The type of a thing: ``mug`` for ``mug_1``."""
    return name.rpartition("_")[0]


@dataclass(slots=True)
class Known:
    """A thing that was seen: its states, and what it was in (``within``) or on, as last seen."""

    states: frozenset[str] = frozenset()
    container: str = ""
    within: bool = False


@dataclass(slots=True)
class Belief:
    """What an actor was told so far; names are those that it was told."""

    things: dict[str, Known] = field(default_factory=dict)
    near: dict[str, float] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    explored: set[str] = field(default_factory=set)
    checked: set[str] = field(default_factory=set)
    treated: set[str] = field(default_factory=set)
    failed: dict[Action, int] = field(default_factory=dict)
    tried: dict[Action, int] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)

    def see(self, seen: HouseholdObservation) -> None:
        """Take in an observation."""
        self.near = {thing.name: thing.distance for thing in seen.objects}
        for thing in seen.objects:
            known = self.things.setdefault(thing.name, Known())
            known.states = frozenset(thing.attributes)
            if thing.container:
                known.container, known.within = thing.container, thing.preposition == "in"
        self.held = tuple(thing.name for thing in seen.holding)
        self.inside = tuple(name for thing in seen.holding for name in thing.contents)
        for held in seen.holding:
            self.things[held.name] = Known(frozenset(held.attributes))

    def take(self, action: Action, feedback: Feedback) -> None:
        """Take in what came of an action."""
        self.tried[action] = self.tried.get(action, 0) + 1
        if feedback.ok:
            self._learn(feedback.details, action)
            self._done(action)
            return
        self.failed[action] = self.failed.get(action, 0) + 1
        if feedback.status == "full":
            self.full.add(action.arguments[-1])

    def _learn(self, told: Mapping[str, Json], action: Action) -> None:
        """Things that were named."""
        for name in told.get("seen", ()):
            self.things.setdefault(name, Known())
        for name in told.get("closed", ()):
            self.things[name].states = frozenset({"closed"})
        for name in told.get("contents", ()):
            known = self.things.setdefault(name, Known())
            known.container, known.within = action.arguments[0], told.get("preposition") == "in"

    def _done(self, action: Action) -> None:
        """A success: what failed once may be tried again."""
        self.failed = {act: count for act, count in self.failed.items() if count > 1}
        if action.name == "go_grab":
            self.full.discard(self.things[action.arguments[0]].container)
        elif action.name == "go_explore":
            self.explored.add(action.arguments[0])
        elif action.name == "go_check":
            self.checked.add(action.arguments[0])
        elif action.name == "go_put" and self.held:
            self.things[self.held[-1]].container = action.arguments[0]
        elif action.name in TOOLS:
            self.treated.add(action.arguments[0])

    def of(self, types: Sequence[str]) -> list[str]:
        """The known things of these types, the likeliest type first."""
        return [name for each in types for name in self.things if kind(name) == each]

    def best(self, types: Sequence[str]) -> list[str]:
        """The known things of the likeliest of these types that there is; before a room was
        explored, of the first alone."""
        found = self.of(types if self.explored else types[:1])
        return [name for name in found if kind(name) == kind(found[0])]

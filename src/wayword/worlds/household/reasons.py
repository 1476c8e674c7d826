"""Why an expert does what it does: short sentences from the state of its own plan.

    >>> from wayword.datasets.household import Household
    >>> homes = Household("generated_train", None, Household.Settings(homes=1, episodes=1))
    >>> shown = homes.demonstration(homes.tasks[0])
    >>> len(shown.thoughts) == len(shown.actions)
    True
    >>> shown.thoughts[-1]
    'All that was asked for is done, so I stop.'

An errand keeps its reason while it lasts, and an errand within another has its own: the sentences
of the outermost and the innermost are what the expert would say. They are fixed sentences about
what it is doing, not what a model would think. A thing is called by its name once its actor has
seen it, else by its type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from wayword.core.game import ActionPlan
from wayword.worlds.household.goals import Trait
from wayword.worlds.household.house import Actor
from wayword.worlds.household.scene import TEMPERATURES
from wayword.worlds.household.things import Things
from wayword.worlds.household.world import HouseholdWorld

STOPPING = "All that was asked for is done, so I stop."
ANSWERING = "I have seen enough to answer."
TRAITS: dict[Trait, str] = {
    ("temperature", "hot"): "hot",
    ("temperature", "cold"): "cold",
    ("dirty", False): "clean",
    ("filled", True): "filled",
    ("cooked", True): "cooked",
    ("heated", True): "heated",
    ("cooled", True): "cooled",
    ("cleaned", True): "cleaned",
}
"""Trait -> what a thing is that has it."""


class ActorState:
    """How things stand for one actor, by their ids in the scene, and why it does what it does.

    ``reasons`` are those of the errands under way, the outermost first.
    """

    def __init__(self, world: HouseholdWorld, actor: str) -> None:
        self.world, self.actor = world, actor
        self.reasons: list[str] = []

    @property
    def things(self) -> Things:
        """The true state."""
        return self.world.house.things

    @property
    def me(self) -> Actor:
        """The body."""
        return self.world.house.actors[self.actor]

    def number(self, thing: str) -> int:
        """A thing's number in the arrays."""
        return self.world.layout.index[thing]

    def has(self, thing: str, trait: Trait) -> bool:
        """Whether a thing has a trait now."""
        name, value = trait
        found = getattr(self.things, name)[self.number(thing)]
        return bool(TEMPERATURES[found] == value if name == "temperature" else found == value)

    def holds(self, thing: str) -> bool:
        """Whether the thing itself is in the hands."""
        return self.number(thing) in self.me.hands

    def held(self) -> list[str]:
        """What is in the hands."""
        return [self.world.layout.ids[i] for i in self.me.hands]

    def within(self, thing: str, receptacle: str) -> bool:
        """Whether a thing is in or on a receptacle, however deep."""
        return self.number(receptacle) in self.things.holders(self.number(thing))

    def takes(self, receptacle: str, thing: str) -> bool:
        """Whether a receptacle takes things of that type, full or not."""
        spec = self.things.specs[self.number(receptacle)]
        kind = self.things.type(self.number(thing))
        fits = not spec.accepts or kind in spec.accepts
        return bool(spec.receptacle) and fits and receptacle != thing

    def full(self, receptacle: str) -> bool:
        """Whether nothing more fits into a receptacle."""
        r = self.number(receptacle)
        bound = self.things.specs[r].capacity
        return bool(bound) and len(self.things.contents(r)) >= bound

    def seen(self, thing: str) -> bool:
        """Whether the actor has seen a thing, or holds it."""
        return bool(self.me.known[self.number(thing)]) or self.holds(thing)

    def called(self, thing: str) -> str:
        """A thing's name where the actor has seen it, else its type: ``the mug``."""
        name = self.world.name(self.actor, thing) if self.seen(thing) else None
        return name or f"the {self.things.type(self.number(thing)).replace('_', ' ')}"

    @property
    def thought(self) -> str:
        """The outermost and the innermost of the reasons; without any, that all is done."""
        told = list(dict.fromkeys(reason for reason in self.reasons if reason))
        both = told if len(told) < 3 else (told[0], told[-1])
        return " ".join(map(_begun, both)) or STOPPING


Errand = TypeVar("Errand", bound=Callable[..., ActionPlan])


def because(reason: Callable[..., str]) -> Callable[[Errand], Errand]:
    """An errand with a reason, which is worded when the errand begins; empty for none."""

    def given(errand: Errand) -> Errand:
        @wraps(errand)
        def reasoned(situation: ActorState, *args: Any, **named: Any) -> ActionPlan:
            situation.reasons.append(reason(situation, *args, **named))
            try:
                yield from errand(situation, *args, **named)
            finally:
                situation.reasons.pop()

        return cast(Errand, reasoned)

    return given


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:] if sentence.startswith("the ") else sentence


def going(at: ActorState, thing: str) -> str:
    """Why one walks to a thing."""
    return f"I go to {at.called(thing)}."


def taking(at: ActorState, thing: str) -> str:
    """Why a thing is taken; nothing where it is in the hands."""
    return "" if at.holds(thing) else f"I need {at.called(thing)} in my hands."


def putting(at: ActorState, thing: str, receptacle: str) -> str:
    """Why a thing is brought somewhere."""
    spec = at.things.specs[at.number(receptacle)]
    where = f"{spec.receptacle or 'on'} {at.called(receptacle)}"
    return f"{at.called(thing)} should be {where}."


def treating(at: ActorState, thing: str, trait: Trait, tool: str) -> str:
    """Why a tool is used."""
    lacking = f"{at.called(thing)} is not {TRAITS.get(trait, 'ready')} yet"
    return f"{lacking}, so I use {at.called(tool)}."


def slicing(at: ActorState, thing: str, knife: str) -> str:
    """Why a knife is used."""
    return f"{at.called(thing)} is not sliced yet, so I use {at.called(knife)}."


def opening(at: ActorState, receptacle: str) -> str:
    """Why a receptacle is opened; nothing where it stands open."""
    r = at.number(receptacle)
    if not at.things.encloses[r] or at.things.open[r]:
        return ""
    return f"{at.called(receptacle)} is closed, so I open it."


def switching(at: ActorState, thing: str, on: bool) -> str:
    """Why a thing is switched."""
    return f"{at.called(thing)} should be {'on' if on else 'off'}."


def swinging(at: ActorState, thing: str, opens: bool) -> str:
    """Why a thing is opened or closed."""
    return f"{at.called(thing)} should be {'open' if opens else 'closed'}."


def passing(at: ActorState, door: str) -> str:
    """Why a door is opened."""
    return f"{at.called(door)} is closed and on my way, so I open it."


def closing(at: ActorState, receptacle: str) -> str:
    """Why what was opened is closed."""
    return f"I opened {at.called(receptacle)} on the way, so I close it again."


def unloading(at: ActorState, thing: str, *rest: object, **named: object) -> str:
    """Why a thing is laid down on the way."""
    return f"I put {at.called(thing)} down first, as my hands are needed."


def clearing(at: ActorState, receptacle: str, thing: str) -> str:
    """Why something is taken out of a receptacle."""
    return f"{at.called(receptacle)} is full, so something has to come out of it."


def looking(at: ActorState, thing: str) -> str:
    """Why one looks at a thing that a question is about. What was not seen is not named: whether
    there is one may be the question."""
    if at.seen(thing):
        return f"I look at {at.called(thing)}, as the answer depends on it."
    return "I have not seen enough to answer yet, so I look on."


def finding(at: ActorState, thing: str) -> str:
    """Why one looks around; nothing where the thing was seen."""
    return "" if at.seen(thing) else f"I have not seen {at.called(thing)} yet, so I look for it."

"""Commands: what a commander and a follower say to each other, rendered and parsed.

    >>> text = str(Command("bring", "mug_1", "cabinet_2", "kitchen", "sink_basin_1", "kitchen"))
    >>> text
    'Please bring mug_1 from cabinet_2 in the kitchen to sink_basin_1 in the kitchen.'
    >>> parse(text) == Command("bring", "mug_1", "cabinet_2", "kitchen", "sink_basin_1", "kitchen")
    True

Whatever else is said (by a person, by a model) parses as nothing, and is answered by what could
have been said (:func:`not_understood`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, get_args

from wayword.agents.legal import LONGEST_ACTION
from wayword.agents.team.sentences import Sentence, SentenceForm, read
from wayword.core.action import ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.world import Feedback
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.world import HouseholdWorld

# Brief: what a scripted actor is told before it starts.


@dataclass(frozen=True, slots=True)
class Brief:
    """Who one is, and what is to be done.

    ``world`` is there to read off what a goal's object is called; where things are is no role's
    business, save a commander's, who knows the house. ``talk`` says whether it may speak.
    """

    actor: str
    episode: Episode
    reference: HouseholdReference
    world: HouseholdWorld
    toolkit: Toolkit
    talk: bool = True


class Role(Protocol):
    """One actor's script, built as ``cls(brief)`` at its first turn."""

    def act(self, observation: HouseholdObservation, space: ActionSpace) -> Decision | Rejection:
        """Decide."""
        ...

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """What came of it."""
        ...


Verb = Literal["take", "bring", "slice", "switch on", "switch off", "open", "close"]

DONE = "Done."
END = "That was all, thank you. You may stop."
_TO = re.compile(r"(follower\w*|commander): (.+)", re.DOTALL)


def addressed(name: str, said: Said) -> str:
    """What is said to one of several, the name before it."""
    return f"{name}: {said}"


def heard_by(name: str, text: str) -> str | None:
    """What was said, without the name it is said to; None where that is another's.

    >>> heard_by("follower_2", "follower_2: Done."), heard_by("follower", "follower_2: Done.")
    ('Done.', None)
    """
    match = _TO.fullmatch(text)
    if match is None:
        return text
    return match.group(2) if match.group(1) == name else None


@dataclass(frozen=True, slots=True)
class Command(Sentence):
    """One thing to do. ``place`` is what the thing is in or on, ``room`` where that is; ``to`` and
    ``to_room`` are where it should be brought."""

    verb: Verb
    thing: str
    place: str = ""
    room: str = ""
    to: str = ""
    to_room: str = ""

    form: ClassVar[SentenceForm] = SentenceForm(
        f"Please {{verb:{'|'.join(get_args(Verb))}}} {{thing}}[ from {{place}}]"
        "[ in the {room:[^.]+?}][ to {to}[ in the {to_room:[^.]+?}]]"
    )


@dataclass(frozen=True, slots=True)
class WhereQuestion(Sentence):
    """Where a thing is."""

    thing: str

    form: ClassVar[SentenceForm] = SentenceForm("Where is {thing}")
    end: ClassVar[str] = "?"


@dataclass(frozen=True, slots=True)
class WhereAnswer(Sentence):
    """The answer."""

    thing: str
    place: str = ""
    room: str = ""

    form: ClassVar[SentenceForm] = SentenceForm("{thing} is[ at {place}][ in the {room:[^.]+?}]")


@dataclass(frozen=True, slots=True)
class Trouble(Sentence):
    """Why a command could not be carried out."""

    reason: str

    form: ClassVar[SentenceForm] = SentenceForm("I cannot: {reason:.+}")


@dataclass(frozen=True, slots=True)
class Done:
    """It has been carried out; or, from the commander, all of it (``all``)."""

    all: bool = False

    def __str__(self) -> str:
        return END if self.all else DONE


ASKED_OF: dict[str, str] = {
    "follower": "Please take mug_1 from cabinet_1 in the kitchen. Please bring mug_1 to table_1. "
    "Please open, close, slice, switch on or switch off a thing by its name. "
    "mug_1 is at table_1 in the kitchen. That was all, thank you. You may stop.",
    "commander": "Done. I cannot: (why). Where is mug_1?",
}
"""What each role reads, as sentences."""


def not_understood(role: str, text: str) -> str:
    """The answer to a sentence of no known form: what it was, and what can be said instead."""
    shown = " ".join(text[:LONGEST_ACTION].split())[:80]
    return f'I did not understand "{shown}". I understand: {ASKED_OF[role]}'


def is_reply(text: str) -> bool:
    """Whether a message says that something was not understood; nobody answers that."""
    return text.startswith('I did not understand "')


Said = Command | WhereQuestion | WhereAnswer | Trouble | Done
KINDS: tuple[type[Command | WhereQuestion | WhereAnswer | Trouble], ...] = (
    Command,
    WhereQuestion,
    WhereAnswer,
    Trouble,
)


def parse(text: str) -> Said | None:
    """What a message says, None where it is of no known form."""
    text = text.strip() if len(text) <= LONGEST_ACTION else ""
    if text in (DONE, END):
        return Done(text == END)
    kinds = [kind for kind in KINDS if text.endswith(kind.end)]
    return read(text[:-1], kinds)

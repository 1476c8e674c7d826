"""Messages of scripted actors: one form renders a sentence and parses it.

    >>> command = Command("bring", "mug_1", "cabinet_2", "kitchen", "sink_basin_1", "kitchen")
    >>> str(command)
    'Please bring mug_1 from cabinet_2 in the kitchen to sink_basin_1 in the kitchen.'
    >>> parse(str(command)) == command
    True
    >>> parse_all("Hello! I see plate_1 in the kitchen. I take plate_1.")[1]
    FetchClaim(object='plate_1', place='')

Messages are always text: a person or a model can replace any actor, and a recorded game can be
resumed. Unknown sentences are answered with a list of the known ones (:func:`not_understood`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Literal,
    TypeVar,
    dataclass_transform,
    get_args,
)

from wayword.agents.legal import LONGEST_ACTION
from wayword.core.visible import single_line

if TYPE_CHECKING:
    from wayword.core.agent import Toolkit
    from wayword.core.episode import Episode
    from wayword.worlds.household.goals import HouseholdReference
    from wayword.worlds.household.world import HouseholdWorld


@dataclass(frozen=True)
class RoleBrief:
    """An actor and its task.

    Actors use ``world`` only to look up the names of goal objects; a commander, who knows the
    house, also looks up their places. ``may_talk``: the actor may send messages.
    """

    actor: str
    episode: Episode
    reference: HouseholdReference
    world: HouseholdWorld
    toolkit: Toolkit
    may_talk: bool = True


_FIELD_SLOT = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
_OPTIONAL_PART = re.compile(r"\[([^\[\]]*)\]")  # an innermost optional part


class SentenceForm:
    """A sentence with fields.

    ``{field}`` is the name of an object (``mug_1``), ``{field:pattern}`` text that matches a
    regular expression. ``[…]`` is left out if a field in it is empty; such parts may be nested.

    >>> form = SentenceForm("I see {object}[ {preposition:on|in} {place}]")
    >>> form.render({"object": "mug_1", "preposition": "on", "place": "table_1"})
    'I see mug_1 on table_1'
    >>> form.read("I see mug_1")
    {'object': 'mug_1', 'preposition': '', 'place': ''}
    """

    def __init__(self, template: str) -> None:
        slots = _FIELD_SLOT.findall(template)
        patterns = {name: pattern or r"\w+_\d+" for name, pattern in slots}
        self.fields = tuple(patterns)
        # Without the patterns, whose brackets would read as optional parts.
        self._template = _FIELD_SLOT.sub(r"{\1}", template)
        pattern = re.escape(self._template)
        pattern = pattern.replace(r"\[", "(?:").replace(r"\]", ")?")
        for name, pattern_text in patterns.items():
            pattern = pattern.replace(
                re.escape(f"{{{name}}}"),
                f"(?P<{name}>{pattern_text})",
            )
        self._pattern = re.compile(pattern)

    def render(self, fields: Mapping[str, str]) -> str:
        """Return the sentence with its fields; a part with an empty field is left out."""

        def fill_part(part: re.Match[str]) -> str:
            """Return a part if all of its fields are filled."""
            names = [name for name, _ in _FIELD_SLOT.findall(part[1])]
            if all(fields[name] for name in names):
                return part[1]
            return ""

        text = self._template
        # From the innermost parts outwards, until no bracket is left.
        while _OPTIONAL_PART.search(text):
            text = _OPTIONAL_PART.sub(fill_part, text)
        return text.format_map(fields)

    def read(self, sentence: str) -> dict[str, str] | None:
        """Return the fields of a sentence of this form; None for another sentence."""
        match = self._pattern.fullmatch(sentence)
        if match:
            return {name: words or "" for name, words in match.groupdict().items()}
        return None


@dataclass_transform(frozen_default=True)
class Sentence:
    """Base of sentences: a subclass becomes a dataclass with the fields of its ``form``."""

    form: ClassVar[SentenceForm]
    end: ClassVar[str]

    def __init_subclass__(cls, form: str, end: str = ".") -> None:
        cls.form = SentenceForm(form)
        cls.end = end
        dataclass(frozen=True)(cls)

    def __str__(self) -> str:
        return self.form.render(vars(self)) + self.end


# A commander and a follower, one sentence per message.

Verb = Literal["take", "bring", "slice", "switch on", "switch off", "open", "close"]


class Command(
    Sentence,
    form=f"Please {{verb:{'|'.join(get_args(Verb))}}} {{object}}[ from {{place}}]"
    "[ in the {room:[^.]+?}][ to {to}[ in the {to_room:[^.]+?}]]",
):
    """An order about one object in or on ``place`` in ``room``; ``to`` and ``to_room`` are its
    destination."""

    verb: Verb
    object: str
    place: str = ""
    room: str = ""
    to: str = ""
    to_room: str = ""


class WhereQuestion(Sentence, form="Where is {object}", end="?"):
    """A question where an object is."""

    object: str


class WhereAnswer(Sentence, form="{object} is[ at {place}][ in the {room:[^.]+?}]"):
    """The answer to a :class:`WhereQuestion`."""

    object: str
    place: str = ""
    room: str = ""


class Trouble(Sentence, form="I cannot: {reason:.+}"):
    """Report that a command failed, with the reason."""

    reason: str


class Done(Sentence, form="Done"):
    """Report that a command succeeded."""


class AllDone(Sentence, form="That was all, thank you. You may stop"):
    """The commander's last message."""


Utterance = Command | WhereQuestion | WhereAnswer | Trouble | Done | AllDone


def parse(text: str) -> Utterance | None:
    """Parse the one sentence of a commander or follower; None for any other text."""
    # Patterns may take long on a text that no actor of this project writes.
    if len(text) > LONGEST_ACTION:
        return None
    text = text.strip()
    kinds: tuple[type[Utterance], ...] = get_args(Utterance)
    possible = [kind for kind in kinds if text.endswith(kind.end)]
    return _parse_as(text[:-1], possible)


def message_to(name: str, text: str) -> str | None:
    """Return a message without its addressee (``follower_2: Done.``); None if it is for another."""
    match = re.fullmatch(r"(follower\w*|commander): (.+)", text, re.DOTALL)
    # Without an addressee, it is for everyone.
    if match is None:
        return text
    return match[2] if match[1] == name else None


# Partners, several sentences per message.


class Location(
    Sentence,
    form="I see {object}[ {preposition:on|in} {place}][ in the {room:.+}]",
):
    """The place of an object and the room it was seen from. ``preposition`` and ``place`` are empty
    for furniture and for objects on the floor."""

    object: str
    preposition: str = ""
    place: str = ""
    room: str = ""


class FetchClaim(Sentence, form="I take {object}[ to {place}]"):
    """A claim: the sender fetches an object, to put it in ``place`` or to hold it."""

    object: str
    place: str = ""


class Placed(Sentence, form="I have put {object} {preposition:on|in} {place}"):
    """Report that an object is in its goal place."""

    object: str
    preposition: str
    place: str


class GivingUp(Sentence, form="I cannot get {object}"):
    """Report that the sender cannot get an object that it claimed."""

    object: str


class Searched(Sentence, form="I have looked through the {room:.+}"):
    """Report that a room has been searched, including all its containers."""

    room: str


class MoveAside(Sentence, form="Please make way"):
    """A request to move aside: another actor may block the sender."""


PartnerSentence = Location | FetchClaim | Placed | GivingUp | Searched | MoveAside


def parse_all(text: str) -> tuple[PartnerSentence, ...]:
    """Return the known sentences of a partner's message, in order; empty for a
    :func:`not_understood` reply, which quotes them."""
    if is_reply(text) or len(text) > LONGEST_ACTION:
        return ()
    kinds: tuple[type[PartnerSentence], ...] = get_args(PartnerSentence)
    # Sentences between the known ones are for people, and are passed over.
    sentences = re.split(r"[.!?](?:\s+|$)", text)
    parsed = (_parse_as(sentence.strip(), kinds) for sentence in sentences)
    return tuple(each for each in parsed if each is not None)


# Messages that cannot be parsed.

UNDERSTOOD = {
    "follower": "Please take mug_1 from cabinet_1 in the kitchen. Please bring mug_1 to table_1. "
    "Please open, close, slice, switch on or off an object by its name. "
    "mug_1 is at table_1 in the kitchen. That was all, thank you. You may stop.",
    "commander": "Done. I cannot: (why). Where is mug_1?",
    "partner": "I see mug_1 on table_1 in the kitchen. I take mug_1 to table_1. I have put mug_1 "
    "on table_1. I cannot get mug_1. I have looked through the kitchen. Please make way.",
}
"""The sentences that each role understands."""
NOT_UNDERSTOOD = 'I did not understand "'


def not_understood(role: str, text: str) -> str:
    """Return the reply to a message that cannot be parsed: its text, and the known sentences."""
    # The beginning is enough to recognize the message.
    quote = single_line(text[:LONGEST_ACTION], 80)
    return f'{NOT_UNDERSTOOD}{quote}". I understand: {UNDERSTOOD[role]}'


def is_reply(text: str) -> bool:
    """True if a message is a :func:`not_understood` reply, which is never answered."""
    return text.startswith(NOT_UNDERSTOOD)


def needs_reply(text: str) -> bool:
    """True if a partner can read no sentence of a message and should reply."""
    return bool(text.strip()) and not parse_all(text) and not is_reply(text)


S = TypeVar("S", bound=Sentence)


def _parse_as(sentence: str, kinds: Iterable[type[S]]) -> S | None:
    """Parse a sentence (without its final mark) as the first of these kinds that matches."""
    for kind in kinds:
        fields = kind.form.read(sentence)
        if fields is not None:
            return kind(**fields)
    return None

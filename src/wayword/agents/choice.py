r"""One of some names: alone (LGX), or with a thought and the end of the walk (NavGPT, DiscussNav).

>>> read_choice("I see it.\n**Action Input:** b.", ["b", "c"])
NamedAnswer(thought='I see it.', choice='b')
>>> read_choice('{"thought": "there", "arrived": true}', ["b", "c"])
NamedAnswer(thought='there', choice=None)
>>> read_choice("Action Input: b or c", ["b", "c"]).kind
'several_actions'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wayword.agents.answers import (
    AnswerFields,
    AnswerForm,
    Field,
    Reply,
    fields,
    one_line,
    replies,
)
from wayword.agents.legal import AROUND, negated, pick, plain
from wayword.core.action import Rejection
from wayword.core.episode import Json
from wayword.core.model import Message, Model, Sampling

ENDS = ("stop", "finish", "finished")
"""Words that end the walk where a name is asked for."""
_TOOL = "action maker"
"""What NavGPT's prompts call the action; the name is its input."""
_NAMED = ("action_input", "prediction", "action")
"""Fields that hold the name."""


Decoding = Literal["constrained", "free"]
PICKED = ("answer", "final_answer", "object", "choice", "direction")
"""Labels and JSON fields that models put before the name."""


async def ask(
    model: Model, messages: Sequence[Message], names: Sequence[str], how: Decoding, most: int
) -> Reply:
    """Put one question, the answer one of the names: see ``read_pick``.

    ``constrained`` lets the model write nothing else; ``free`` takes what it writes in at most
    ``most`` tokens. Both are read alike: a model may not hold to a constraint.
    """
    if how == "constrained":
        sampling = Sampling(max_tokens=most, choices=tuple(names))
    else:
        sampling = Sampling(max_tokens=most)
    answer = await model.complete(messages, sampling)
    return replies(answer, sampling)[0]


def read_pick(said: str | Reply, names: Sequence[str]) -> str | Rejection:
    """The name that an answer gives: alone, or as the only one in its first line.

    >>> read_pick("The coffee table.", ["table", "coffee table", "bed"])
    'coffee table'
    >>> read_pick("the table or the bed", ["table", "coffee table", "bed"]).kind
    'several_actions'
    """
    reply = Reply.of(said)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    found = fields(reply.text, PICKED)
    given = [str(value) for name in PICKED for value in found.all(name)]
    picked = pick("\n".join(given) or reply.text, names, anywhere=True)
    if isinstance(picked, str):
        return picked
    reason = "the answer names nothing that was listed"
    return reply.reject(picked.kind, reason if picked.kind == "unknown" else picked.reason)


@dataclass(frozen=True, slots=True)
class NamedAnswer:
    """What was understood: the thought, and the chosen name, or None to stop."""

    thought: str
    choice: str | None


@dataclass(frozen=True, slots=True)
class AskedFields:
    """How reasons call what was asked for: the ``fields`` of an answer, and one ``name`` of it."""

    fields: str = "'Action Input:' and no 'Final Answer:'"
    name: str = "an ID of this place"


def read_choice(
    said: str | Reply,
    legal: Collection[str],
    known: Collection[str] = (),
    asked: AskedFields = AskedFields(),
) -> NamedAnswer | Rejection:
    """Read ``{"thought", "arrived", "action"}`` or such lines, ``Action Input`` and ``Prediction``
    being other words for the action; once it has arrived, an action is not read.

    ``legal`` are the names one can choose now; ``known`` those that exist elsewhere as far as the
    agent has seen, which makes the reason more helpful.
    """
    reply = Reply.of(said)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    found = fields(reply.text, ("thought", "arrived", "final_answer", *_NAMED))
    thought = own = found.line("thought")
    if not (found.is_json and own):
        thought = one_line(f"{found.before if found.given else ''} {own}")
    truths = {"true": True, "false": False}
    arrived = [truths.get(str(value).strip(" .!*").lower()) for value in found.all("arrived")]
    if None in arrived or len(set(arrived)) > 1:
        return reply.reject("no_action", '"arrived" must be true or false, once', thought)
    if True in arrived:
        return NamedAnswer(thought, None)
    words, ended = _named(found, legal), [str(text) for text in found.all("final_answer")]
    if len(words) + len(ended) > 1:
        reason = "the answer held several actions; give exactly one"
        return reply.reject("several_actions", reason, thought)
    if ended:  # unless it takes itself back or goes on to a place
        if isinstance(pick(ended[0], legal), str):
            reason = "'Final Answer:' ends the walk and names no place; give it or an action"
            return reply.reject("several_actions", reason, thought)
        if negated(ended[0].partition("\n")[0], "arrived"):
            return reply.reject("no_action", "the final answer says that it is none", thought)
        return NamedAnswer(thought, None)
    names = [*legal, *(word for word in ENDS if word not in legal)]
    bare = "" if found.given or reply.text.lstrip()[:1] in "[{" else reply.text
    chosen = pick(words[0] if words else bare, names)
    if isinstance(chosen, str):
        return NamedAnswer(thought, None if chosen in ENDS and chosen not in legal else chosen)
    if not words:
        reason = f"the answer held no {asked.fields}"
        if reply.text.lstrip()[:1] in "[{" and not found.is_json:
            reason = "the answer was not one whole JSON object"
        return reply.reject("no_action", reason, thought)
    if chosen.kind == "empty":
        return reply.reject("empty", "the action named no ID", thought)
    if chosen.kind != "unknown":
        return reply.reject(chosen.kind, chosen.reason, thought)
    name = words[0].strip(AROUND)
    why = "cannot be reached from here in one move" if name in known else f"is not {asked.name}"
    reason = f"{name[:80]!r} {why}; choose one of: {', '.join(legal) or 'none'}"
    return reply.reject("illegal" if name in known else "unknown", reason, thought)


def choice_schema(name: str, legal: Collection[str], thought_length: int) -> Mapping[str, Json]:
    """The JSON schema that :func:`read_choice` accepts, the action called ``name``.

    The order is that of the two questions of NavGPT's principle: have I arrived, and if not,
    which viewpoint is next. Asked for an ID or the word "finish" in one field, a small model
    finishes at once, whatever it thought: a plain word is likelier than any ID.
    """
    named = [Field(name, choices=legal)] if legal else []
    return AnswerForm(Field("Thought"), Field("Arrived", flag=True), *named).schema(thought_length)


def _named(found: AnswerFields, legal: Collection[str]) -> list[str]:
    """The words for the name. Beside an input or a prediction an action is a tool's name, unless
    it names what is legal."""
    inputs, predictions, actions = (
        [str(value) for value in found.all(name) if isinstance(value, str | int)] for name in _NAMED
    )
    actions = [words for words in actions if plain(words) != _TOOL]
    if inputs or predictions:
        actions = [words for words in actions if isinstance(pick(words, legal), str)]
    named = [*inputs, *dict.fromkeys(predictions), *actions]
    return [words for words in named if words.strip()] or named  # a field left empty names nothing

"""Reading a model's answer: one legal move, a stop, or a rejection that says why.

Free answers follow the Thought / Action / Action Input form that ends in ``Final Answer``;
constrained ones are a JSON object with ``thought``, ``arrived`` and ``action``. Model output is
data: it is only ever compared with what is legal, never run, opened or shown as markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from wayword.core.action import Rejection
from wayword.core.episode import Json

LONGEST = 8_000
"""Characters of an answer that are looked at; what is kept of a rejected one is far less."""
KEPT = 500

_INPUT = re.compile(r"^[ \t]*Action Input[ \t]*\d*[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_FINAL = re.compile(r"^[ \t]*Final Answer[ \t]*:", re.MULTILINE | re.IGNORECASE)
_LABEL = re.compile(r"^[ \t]*(?:Action|Action Input|Final Answer)[ \t]*\d*[ \t]*:", re.MULTILINE)
_QUOTES = " \t\r.`'\"“”‘’()[]{}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What was understood: the thought, and the chosen ID, or None to stop."""

    thought: str
    choice: str | None


def read_free(text: str, legal: Collection[str], known: Collection[str] = ()) -> Answer | Rejection:
    """Read a Thought / Action / Action Input answer.

    ``legal`` are the IDs one can choose now; ``known`` those that exist elsewhere as far as the
    agent has seen, which makes the reason more helpful.
    """
    if not text.strip():
        return Rejection("empty", "the answer was empty")
    if len(text) > LONGEST:
        reason = f"the answer ran to {len(text):,} characters; give one thought and one action"
        return Rejection("too_long", reason, text[:KEPT])
    thought = _thought(text)
    chosen = [match.strip(_QUOTES) for match in _INPUT.findall(text)]
    finished = _FINAL.search(text) is not None
    if len(chosen) + finished > 1:
        reason = "the answer held several actions; give exactly one"
        return Rejection("several_actions", reason, text[:KEPT], thought)
    if finished:
        return Answer(thought, None)
    if not chosen:
        reason = "the answer held no 'Action Input:' and no 'Final Answer:'"
        return Rejection("no_action", reason, text[:KEPT], thought)
    return _among(chosen[0], thought, text, legal, known)


def read_json(text: str, legal: Collection[str], known: Collection[str] = ()) -> Answer | Rejection:
    """Read ``{"thought": …, "arrived": bool, "action": ID}``; on arrival the action is not read."""
    if not text.strip():
        return Rejection("empty", "the answer was empty")
    try:
        value = json.loads(text[:LONGEST])
    except (ValueError, RecursionError):  # thousands of open brackets are no answer either
        kind = "too_long" if len(text) > LONGEST else "no_action"
        return Rejection(kind, "the answer was not one whole JSON object", text[:KEPT])
    if not isinstance(value, dict):
        return Rejection("no_action", "the answer was not one JSON object", text[:KEPT])
    thought = " ".join(str(value.get("thought", "")).split())
    if value.get("arrived") is True:
        return Answer(thought, None)
    if not isinstance(value.get("action"), str):
        reason = 'the answer held neither "arrived": true nor an "action"'
        return Rejection("no_action", reason, text[:KEPT], thought)
    return _among(value["action"], thought, text, legal, known)


def answer_schema(legal: Collection[str], thought_length: int) -> Mapping[str, Json]:
    """The JSON schema that ``read_json`` accepts.

    The order is that of the two questions of NavGPT's principle: have I arrived, and if not,
    which viewpoint is next. Asked for an ID or the word "finish" in one field, a small model
    finishes at once, whatever it thought: a plain word is likelier than any ID.
    """
    return {
        "type": "object",
        "properties": {
            "thought": {"type": "string", "maxLength": thought_length},
            "arrived": {"type": "boolean"},
            "action": {"type": "string", "enum": [*legal]},
        },
        "required": ["thought", "arrived", "action"],
        "additionalProperties": False,
    }


def _among(
    chosen: str, thought: str, text: str, legal: Collection[str], known: Collection[str]
) -> Answer | Rejection:
    if chosen in legal:
        return Answer(thought, chosen)
    if not chosen:
        return Rejection("empty", "the action named no ID", text[:KEPT], thought)
    kind, why = "unknown", "is not an ID of this place"
    if chosen in known:
        kind, why = "illegal", "cannot be reached from here in one move"
    reason = f"{chosen[:80]!r} {why}; choose one of: {', '.join(legal) or 'none'}"
    return Rejection(kind, reason, text[:KEPT], thought)


def _thought(text: str) -> str:
    """What stands before the first action, its label and line breaks taken off."""
    label = _LABEL.search(text)
    before = text[: label.start()] if label else text
    return " ".join(before.replace("Thought:", " ").split())[:2000]

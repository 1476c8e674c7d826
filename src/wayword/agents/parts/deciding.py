"""The decision: several predictions, and a discussion where they differ.

Source: DiscussNav (Long et al. 2024), sections III-A and III-B, "Decision Testing Experts".
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from wayword.agents.parts.answers import KEPT, LONGEST, Answer
from wayword.agents.parts.asking import everyone
from wayword.agents.parts.discussion import Field, Form, Meeting
from wayword.core.action import Rejection
from wayword.core.episode import Json
from wayword.core.model import Message, Sampling, system, user

STOP = "Stop"
FUSION = Form(Field("thought", "the one thought, in a few sentences", length=400))
_PREDICTION = re.compile(
    r"^[ \t*#]*Prediction[ \t*]*:[ \t*\"'(\[]*(?:Direction[ \t]*)?(Stop|\d{1,2})\b(.*)$",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Opinion:
    """One way to go (a direction's number, or ``Stop``), the thought for it, and its votes."""

    choice: str
    thought: str
    votes: int = 1

    def __str__(self) -> str:
        return f"Thought: {self.thought} Prediction: {self.choice}"


def prediction_schema(legal: Collection[str], length: int) -> Mapping[str, Json]:
    """``{"thought", "arrived", "prediction"}``; on arrival the prediction is not read."""
    properties: dict[str, Json] = {
        "thought": {"type": "string", "maxLength": length},
        "arrived": {"type": "boolean"},
    }
    if legal:
        properties["prediction"] = {"type": "string", "enum": [*legal]}
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def testing_schema(choices: Collection[str], length: int) -> Mapping[str, Json]:
    """``{"thought", "prediction"}``, the prediction one of those in question."""
    return {
        "type": "object",
        "properties": {
            "thought": {"type": "string", "maxLength": length},
            "prediction": {"type": "string", "enum": [*choices]},
        },
        "required": ["thought", "prediction"],
        "additionalProperties": False,
    }


def read(text: str, legal: Collection[str]) -> Opinion | Rejection:
    """A prediction out of an answer: a JSON object, or lines ``Thought:`` and ``Prediction:``."""
    if not text.strip():
        return Rejection("empty", "the answer was empty")
    given = _json(text[:LONGEST]) if text.lstrip().startswith("{") else _lines(text[:LONGEST])
    if isinstance(given, str):
        return Rejection("no_action", given, text[:KEPT])
    if given.choice is None:
        return Opinion(STOP, given.thought)
    if given.choice not in legal:
        reason = f"direction {given.choice[:20]!r} has no way; choose one of: {', '.join(legal)}"
        return Rejection("illegal", reason, text[:KEPT], given.thought)
    return Opinion(given.choice, given.thought)


def _json(text: str) -> Answer | str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "the answer was not one whole JSON object"
    if not isinstance(value, dict):
        return "the answer was not one JSON object"
    thought = " ".join(str(value.get("thought", "")).split())
    chosen = str(value.get("prediction", "")).strip()
    if value.get("arrived") is True or chosen.lower() == "stop":
        return Answer(thought, None)
    return Answer(thought, chosen) if chosen else "the answer held no prediction"


def _lines(text: str) -> Answer | str:
    found = _PREDICTION.findall(text)
    choices = {choice.lower() for choice, _ in found}
    if len(choices) > 1:
        return "the answer held several predictions; give exactly one"
    if not choices:
        return "the answer held no 'Prediction:' with a direction's number or Stop"
    start = _PREDICTION.search(text)
    before = text[: start.start()] if start else ""
    thought = " ".join(before.replace("Thought:", " ").split())[:2000]
    choice = choices.pop()
    return Answer(thought, None if choice == "stop" else str(int(choice)))


def grouped(opinions: Sequence[Opinion]) -> list[list[Opinion]]:
    """Opinions by choice: the choice with most votes first, of equals the one that came first."""
    groups: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        groups.setdefault(opinion.choice, []).append(opinion)
    return sorted(groups.values(), key=len, reverse=True)


async def fuse(meeting: Meeting, groups: Sequence[Sequence[Opinion]]) -> list[Opinion]:
    """One opinion a group, all groups at once; a lone thought needs no fusing."""
    return await everyone([_fused(meeting, group) for group in groups])


async def _fused(meeting: Meeting, group: Sequence[Opinion]) -> Opinion:
    if len(group) == 1:
        return group[0]
    thoughts = "\n".join(f"({n}) {opinion.thought}" for n, opinion in enumerate(group, 1))
    found = await meeting.form("fusion", FUSION, "the first thought alone", thoughts=thoughts)
    thought = str(found["thought"]) if found else group[0].thought
    return Opinion(group[0].choice, thought, len(group))


async def test(
    meeting: Meeting, opinions: Sequence[Opinion], instruction: str, scene: str, length: int
) -> Opinion:
    """The decision tester's choice among opinions that differ, else the one with most votes."""
    choices = [opinion.choice for opinion in opinions]
    pairs = "\n".join(f"({n}) {opinion}" for n, opinion in enumerate(opinions, 1))
    prompts = meeting.prompts
    form = "format_testing" if meeting.constrained else "format_free"
    question = prompts.fill("testing_question", instruction=instruction, scene=scene, pairs=pairs)
    told: list[Message] = [system(f"{prompts['testing']}\n\n{prompts[form]}")]
    schema = testing_schema(choices, length) if meeting.constrained else None

    def offered(text: str) -> Opinion | None:
        found = read(text, choices)
        return found if isinstance(found, Opinion) and found.choice in choices else None

    sampling = Sampling(max_tokens=meeting.max_tokens, json_schema=schema)
    recovery = "the prediction with most votes"
    found = await meeting.ask("testing", [*told, user(question)], sampling, offered, recovery)
    return found or max(opinions, key=lambda opinion: opinion.votes)

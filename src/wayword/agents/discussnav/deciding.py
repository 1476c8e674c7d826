"""The decision: several predictions, and a discussion where they differ.

Source: DiscussNav (Long et al. 2024), sections III-A and III-B, "Decision Testing Experts".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from wayword.agents.answers import Reply
from wayword.agents.choice import AskedFields, read_choice
from wayword.agents.discussnav.discussion import AnswerForm, Field, Meeting
from wayword.agents.prompting import everyone
from wayword.core.action import Rejection
from wayword.core.episode import Json
from wayword.core.model import Message, Sampling, system, user

STOP = "Stop"
FUSION = AnswerForm(Field("thought", "the one thought, in a few sentences"))
ASKED = AskedFields("'Prediction:' with a direction's number or Stop", "a direction with a way")


@dataclass(frozen=True, slots=True)
class Opinion:
    """One way to go (a direction's number, or ``Stop``), the thought for it, and its votes."""

    choice: str
    thought: str
    votes: int = 1

    def __str__(self) -> str:
        return f"Thought: {self.thought} Prediction: {self.choice}"


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


def read(said: str | Reply, legal: Collection[str]) -> Opinion | Rejection:
    """A prediction out of an answer: a JSON object, or lines ``Thought:`` and ``Prediction:``."""
    found = read_choice(said, legal, asked=ASKED)
    if isinstance(found, Rejection):
        return found
    return Opinion(found.choice or STOP, found.thought)


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

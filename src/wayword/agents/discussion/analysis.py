"""Instruction analysis: actions in order, and landmarks with their types, once an episode.

The landmark expert first checks the order of the actions against the sentence (``walk to the lamp
after the door`` passes the door first), and its order is the one that counts.

Source: DiscussNav (Long et al. 2024), section III-B, "Instruction Analysis Experts".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wayword.agents.discussion.experts import Meeting
from wayword.agents.discussion.forms import Field, Form

DECOMPOSITION = Form(Field("actions", "a list of the actions in order", many=True, least=1))
LANDMARKS = Form(
    Field("check", "whether the order of the actions is right, and why"),
    Field("actions", "a list of the actions in the right order", many=True, least=1),
    Field("landmarks", "a list of landmark (type, type)", many=True, length=100, least=1),
)
TYPES = ("room", "infrastructure", "furniture", "decoration", "colour", "object")
"""Types that are suggested to the expert; it may name others."""
USUAL = ("room", "infrastructure", "furniture")
"""What is asked about where no landmark has a type."""
_TYPED = re.compile(r"(.+?)\s*\(([^()]*)\)\s*\.?$")


@dataclass(frozen=True, slots=True)
class Landmark:
    """A landmark as the instruction words it, and what kinds of thing it is."""

    name: str
    types: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.types)})" if self.types else self.name


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known about the instruction. ``actions`` and ``landmarks`` may be empty."""

    instruction: str
    actions: tuple[str, ...] = ()
    landmarks: tuple[Landmark, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The kinds of thing to look for, each once."""
        named = dict.fromkeys(kind for mark in self.landmarks for kind in mark.types)
        return tuple(named) or USUAL


async def analyse(meeting: Meeting, instruction: str) -> Analysis:
    """Two questions in turn. What an expert does not answer is left empty."""
    whole = "the instruction is taken as one action"
    first = await meeting.form("decomposition", DECOMPOSITION, whole, instruction=instruction)
    actions = list(first["actions"]) if first else [instruction]
    second = await meeting.form(
        "landmarks",
        LANDMARKS,
        "no landmarks; the usual types are asked about",
        instruction=instruction,
        actions=numbered(actions),
        types=", ".join(TYPES),
    )
    if second is None:
        return Analysis(instruction, tuple(actions))
    corrected = tuple(second["actions"]) or tuple(actions)
    return Analysis(instruction, corrected, tuple(map(landmark, second["landmarks"])))


def landmark(text: str) -> Landmark:
    """``"eye chart on the wall (decoration)"`` as name and types.

    >>> landmark("doorway to the hall (infrastructure, room)").types
    ('infrastructure', 'room')
    """
    match = _TYPED.fullmatch(text.strip())
    if match is None:
        return Landmark(text.strip(), ())
    kinds = (kind.strip().lower() for kind in match.group(2).split(","))
    return Landmark(match.group(1), tuple(kind for kind in kinds if kind))


def numbered(lines: list[str] | tuple[str, ...]) -> str:
    """Lines with their numbers, or ``None``."""
    return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1)) or "None"

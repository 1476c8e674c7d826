"""Vision perception: what the scene expert sees in each direction, and the tags beside it.

The expert is asked by type of landmark (``What furniture can you see in direction 3?``) and never
for the landmark itself, which would invite it to be seen. Three sources stand behind it: the
``recorded`` sentences as they are (no model is asked), a text model that reads those sentences, and
a vision model that is shown the picture of the direction.

Source: DiscussNav (Long et al. 2024), sections III-B and III-C, "Vision Perception".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from wayword.agents.discussion.directions import Direction, bearing
from wayword.agents.discussion.experts import Meeting
from wayword.agents.together import everyone
from wayword.core.model import Image


@dataclass(frozen=True, slots=True)
class Scene:
    """What was made out in each direction, by its number, and the directions themselves."""

    directions: tuple[Direction, ...]
    sights: dict[int, str]

    def text(self, only: Collection[int] = ()) -> str:
        """A paragraph a direction: all of them, or ``only`` some."""
        told = (d for d in self.directions if not only or d.id in only)
        return "\n".join(line for line in map(self._direction, told) if line)

    def _direction(self, direction: Direction) -> str:
        sight, tags = self.sights.get(direction.id, ""), " | ".join(direction.tags)
        if not (sight or tags or direction.action):
            return ""
        open_to = "" if direction.action else " (no way)"
        parts = [part for part in (sight, f"[{tags}]" if tags else "") if part]
        return f"Direction {direction.id} ({bearing(direction.id)}){open_to}: {' '.join(parts)}"


def questions(types: Sequence[str], direction: Direction) -> str:
    """The questions about one direction, one for each type."""
    return "\n".join(f"What {kind} can you see in direction {direction.id}?" for kind in types)


@dataclass(frozen=True, slots=True)
class Looking:
    """How to look: ``asked`` puts the questions to a model, with pictures where there are any.

    ``words`` says what there is to read, and ``picture`` gives a direction's picture or None.
    """

    meeting: Meeting
    asked: bool
    words: str
    picture: Callable[[Direction], Image | None]

    def source(self, directions: tuple[Direction, ...]) -> str:
        """Who answers."""
        if not self.asked:
            return self.words
        shown = any(self.picture(direction) for direction in directions[:1])
        return "a vision model" if shown else f"a model that reads the {self.words}"

    async def look(self, directions: tuple[Direction, ...], types: Sequence[str]) -> Scene:
        """All directions at once."""
        if not self.asked:
            self.meeting.toolkit.note(
                "expert_read",
                expert="scene",
                question=" ".join(f"What {kind} can you see?" for kind in types),
                answer=self.words,
            )
            return Scene(directions, {d.id: " ".join(d.captions) for d in directions})
        answers = await everyone([self._ask(d, types) for d in directions])
        return Scene(directions, dict(zip((d.id for d in directions), answers, strict=True)))

    async def _ask(self, direction: Direction, types: Sequence[str]) -> str:
        recorded, image = " ".join(direction.captions), self.picture(direction)
        if image is None and not recorded:
            return ""
        answer = await self.meeting.words(
            "scene",
            "the recorded sentence as it is" if recorded else "nothing is said of the direction",
            () if image is None else (image,),
            direction=str(direction.id),
            seen=recorded or "(see the picture)",
            questions=questions(types, direction),
        )
        return recorded if answer is None else answer

"""Vision perception: what the scene expert sees in each direction, and the tags beside it.

The expert is asked by type of landmark (``What furniture can you see in direction 3?``) and never
for the landmark itself, which would invite it to be seen. Three sources stand behind it: the
``recorded`` sentences as they are (no model is asked), a text model that reads those sentences, and
a vision model that is shown the picture of the direction.

Source: DiscussNav (Long et al. 2024), sections III-B and III-C, "Vision Perception".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from wayword.agents.discussion.directions import WIDTH, Direction, bearing
from wayword.agents.discussion.experts import Meeting
from wayword.agents.together import everyone
from wayword.core.model import Image
from wayword.core.perceiver import Camera

Source = Literal[
    "recorded sentences", "a model that reads the recorded sentences", "a vision model"
]


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
        if not (sight or tags or direction.ways):
            return ""
        open_to = "" if direction.ways else " (no way)"
        parts = [part for part in (sight, f"[{tags}]" if tags else "") if part]
        return f"Direction {direction.id} ({bearing(direction.id)}){open_to}: {' '.join(parts)}"


def questions(types: Sequence[str], direction: Direction) -> str:
    """The questions about one direction, one for each type."""
    return "\n".join(f"What {kind} can you see in direction {direction.id}?" for kind in types)


@dataclass(frozen=True, slots=True)
class Looking:
    """How to look: ``asked`` puts the questions to a model, with pictures where there are any."""

    meeting: Meeting
    asked: bool
    camera: Camera | None = None

    @property
    def source(self) -> Source:
        """Who answers."""
        if not self.asked:
            return "recorded sentences"
        return "a vision model" if self.camera else "a model that reads the recorded sentences"

    async def look(
        self, scene: str, place: str, directions: tuple[Direction, ...], types: Sequence[str]
    ) -> Scene:
        """All directions at once."""
        if not self.asked:
            self.meeting.toolkit.note(
                "expert_read",
                expert="scene",
                question=" ".join(f"What {kind} can you see?" for kind in types),
                answer=self.source,
            )
            return Scene(directions, {d.id: " ".join(d.captions) for d in directions})
        answers = await everyone([self._ask(scene, place, d, types) for d in directions])
        return Scene(directions, dict(zip((d.id for d in directions), answers, strict=True)))

    async def _ask(self, scene: str, place: str, direction: Direction, types: Sequence[str]) -> str:
        recorded = " ".join(direction.captions)
        if self.camera is None and not recorded:
            return ""
        images: tuple[Image, ...] = ()
        if self.camera is not None:
            images = (self.camera.picture(scene, place, direction.heading, WIDTH),)
        answer = await self.meeting.words(
            "scene",
            "the recorded sentence as it is" if recorded else "nothing is said of the direction",
            images,
            direction=str(direction.id),
            seen=recorded or "(see the picture)",
            questions=questions(types, direction),
        )
        return recorded if answer is None else answer

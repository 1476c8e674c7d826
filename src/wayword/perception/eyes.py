"""Eyes: what a network makes of pictures, behind one small protocol a kind.

Every method takes a batch and gives one answer a picture, in order. Pictures are (rows, columns,
3) bytes, red-green-blue. ``name`` says which network it is and goes into run folders and caches:
two eyes of one name give the same answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from wayword.perception.panorama import Floats, Picture


@dataclass(frozen=True, slots=True)
class Box:
    """Something found: its edges in pixels from the top left, and how sure the network is (0–1)."""

    name: str
    score: float
    left: float
    top: float
    right: float
    bottom: float

    @property
    def centre(self) -> tuple[float, float]:
        """(row, column)."""
        return (self.top + self.bottom) / 2, (self.left + self.right) / 2


@runtime_checkable
class Captioner(Protocol):
    """Says in a sentence what a picture shows."""

    name: str

    async def captions(self, pictures: Sequence[Picture]) -> list[str]: ...


@runtime_checkable
class Questioner(Protocol):
    """Answers a question about each picture."""

    name: str

    async def answers(self, pictures: Sequence[Picture], questions: Sequence[str]) -> list[str]: ...


@runtime_checkable
class Detector(Protocol):
    """Finds things of the kinds it was trained on."""

    name: str

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]: ...


@runtime_checkable
class Grounder(Protocol):
    """Finds whatever the phrases describe; each box is named after its phrase."""

    name: str

    async def find(
        self, pictures: Sequence[Picture], phrases: Sequence[str]
    ) -> list[list[Box]]: ...


@runtime_checkable
class Tagger(Protocol):
    """Lists what there is, surest first."""

    name: str

    async def tags(self, pictures: Sequence[Picture]) -> list[list[str]]: ...


@runtime_checkable
class Matcher(Protocol):
    """How well texts fit pictures: cosines (pictures, texts)."""

    name: str

    async def similarity(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats: ...


@runtime_checkable
class Depth(Protocol):
    """How far everything is: metres (rows, columns) along the camera's axis, one a picture."""

    name: str

    async def depths(self, pictures: Sequence[Picture]) -> list[Floats]: ...

"""Walks in the small street and the small house, for tests of training."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.dataset import Dataset, Task
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.training.examples import Example, ExampleMaker, Method


class Scripted(Model):
    """A student that chooses these options in turn, and the last one ever after."""

    name = "scripted"

    def __init__(self, words: Sequence[str]) -> None:
        self._words: Iterator[str] = iter(words)
        self._word = ""

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        self._word = next(self._words, self._word)
        assert self._word in options, (self._word, options)
        return Choice(
            tuple(options), tuple(0.0 if o == self._word else -1.0 for o in options)
        )

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise AssertionError("nobody asks for a completion")

    async def aclose(self) -> None:
        return None


def played(
    agent: str,
    settings: dict[str, Any],
    dataset: Dataset,
    task: Task,
    words: Sequence[str] = (),
    method: Method = "ft",
    *,
    near: bool = False,
) -> Example:
    """An example by teacher forcing, or of a student that chooses these words."""
    player = ExampleMaker(agent, settings, "small:train", dataset, near=near)
    student = Scripted(words) if words else None
    return asyncio.run(player.example(task, student, method))


@dataclass(frozen=True)
class Split:
    """What a tokeniser returns."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    pieces: list[str]


class Pieces:
    """A tokeniser of words with the blank before them, signs and single digits."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def encode(self, text: str) -> Split:
        found = list(re.finditer(r" ?[A-Za-z]+| ?\d| ?[^\sA-Za-z\d]|\s", text))
        ids = [self.known.setdefault(piece.group(), len(self.known)) for piece in found]
        return Split(
            ids, [piece.span() for piece in found], [piece.group() for piece in found]
        )

    def text(self, number: int) -> str:
        return next(piece for piece, known in self.known.items() if known == number)

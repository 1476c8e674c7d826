"""What is new in a prompt, and where the rest of it was said before.

A prompt repeats most of the one before. A page that held each of them whole would grow with the
square of the steps; so a long passage that an earlier prompt has too is a reference to it, which
the page's script fills in when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from wayword.core.model import Image, Prompt

FOLD = 6
"""Shared passages of so many lines are folded away."""
_HEAD = 64
_MOST = 1500
"""Longer differences are taken as new all through, rather than compared line by line."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage: ``new``, or ``same`` as in an earlier prompt, or ``folded``.

    A folded one has no text; it is ``count`` lines from line ``start`` (from 0) of the same block
    of call ``call``.
    """

    kind: Literal["new", "same", "folded"]
    text: str = ""
    call: int = 0
    start: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """One message; a raw text prompt is a single block without a role."""

    role: str
    pieces: tuple[Piece, ...]
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class _Earlier:
    number: int
    blocks: tuple[tuple[str, tuple[str, ...]], ...]


class PromptHistory:
    """The prompts of one episode, in the order of its calls, each compared with its forerunner."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str], _Earlier] = {}
        self._count = 0

    def add(self, role: str, prompt: Prompt) -> tuple[Block, ...]:
        """The prompt's blocks; ``role`` is that of the model it went to."""
        said = _blocks(prompt)
        lines = tuple((who, tuple(split_lines(text))) for who, text, _ in said)
        key = (role, said[0][1][:_HEAD] if said else "")
        before = self._latest.get(key)
        self._latest[key] = _Earlier(self._count, lines)
        self._count += 1
        return tuple(
            Block(who, tuple(_pieces(new, _base(before, at, who), before)), images)
            for at, ((who, new), (_, _, images)) in enumerate(zip(lines, said, strict=True))
        )


def split_lines(text: str) -> list[str]:
    """Lines with their newlines; only ``\\n`` ends a line, as in the page's script."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _blocks(prompt: Prompt) -> list[tuple[str, str, tuple[Image, ...]]]:
    if isinstance(prompt, str):
        return [("", prompt, ())]
    return [(message.role, message.content, message.images) for message in prompt]


def _base(before: _Earlier | None, at: int, role: str) -> tuple[str, ...] | None:
    if before is None or at >= len(before.blocks) or before.blocks[at][0] != role:
        return None
    return before.blocks[at][1]


def _pieces(
    new: Sequence[str], base: Sequence[str] | None, before: _Earlier | None
) -> Iterator[Piece]:
    if base is None or before is None:
        yield Piece("new", "".join(new))
        return
    for same, start, end, there in _runs(base, new):
        text = "".join(new[start:end])
        if same and end - start >= FOLD:
            yield Piece("folded", "", before.number, there, end - start)
        else:
            yield Piece("same" if same else "new", text)


def _runs(base: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, int, int, int]]:
    """Whether shared, from and to in ``new``, and from where in ``base``."""
    head = _shared(base, new)
    tail = _shared(base[head:][::-1], new[head:][::-1])
    if head:
        yield True, 0, head, 0
    middle, other = new[head : len(new) - tail], base[head : len(base) - tail]
    if len(middle) + len(other) > _MOST:
        yield False, head, head + len(middle), 0
    else:
        for kind, a0, _, b0, b1 in SequenceMatcher(None, other, middle, False).get_opcodes():
            if b1 > b0:
                yield kind == "equal", head + b0, head + b1, head + a0
    if tail:
        yield True, len(new) - tail, len(new), len(base) - tail


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count

"""The instruction of an episode by its clauses, and which of them the agent follows at each step.

    >>> told = Clauses(("Go ahead", "stop at the lamp"), (0, 10))
    >>> told.cut("Go ahead. Stop at the lamp.")
    [('Go ahead. ', (1,)), ('Stop at the lamp.', (2,))]

Recipes that know it note it: ``walker`` and ``velma`` with ``follow`` mark the instruction's own
words, DiscussNav's decomposition and published sub-instructions are a list below it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wayword.core.trajectory import CLAUSES, FOLLOWED, Note, Trajectory
from wayword.viewer.markup import Html, tag

SHOWN_ELSEWHERE = frozenset({CLAUSES, FOLLOWED})
"""Kinds of notes that the instruction shows, so that cards need not."""
_CHARACTER = re.compile(r"\S|(?<=\S)\s+(?=\S)")
"""A character of a text whose white space counts once, and not at its ends."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The clause that is followed at a step, from 1, and those done; 0 where it is not said."""

    number: int = 0
    done: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Clauses:
    """What a recipe made of its instruction: clauses, where each begins in it (or nothing), and
    what was followed at each step."""

    texts: tuple[str, ...] = ()
    begins: tuple[int, ...] = ()
    steps: tuple[Followed, ...] = ()

    @staticmethod
    def of(told: Trajectory) -> Clauses:
        """As an episode has noted them. A step without a note has what the last one had."""
        noted = _last(told.opening_notes, CLAUSES)
        texts = noted.get("texts")
        if not isinstance(texts, list | tuple) or not texts:
            return Clauses()
        steps, now = [], Followed()
        for step in told.steps:
            now = _followed(_last(step.notes, FOLLOWED), len(texts)) or now
            steps.append(now)
        begins = tuple(_whole(noted.get("begins")))
        if len(texts) == 1 and not begins:
            return Clauses()  # no decomposition
        fit = len(begins) == len(texts) and all(one <= two for one, two in pairwise(begins))
        return Clauses(tuple(map(str, texts)), begins if fit else (), tuple(steps))

    @property
    def known(self) -> bool:
        """Whether any step says which clause it follows."""
        return any(step.number for step in self.steps)

    def at(self, step: int) -> Followed:
        """What was followed at a step, from 1."""
        return self.steps[step - 1] if 0 < step <= len(self.steps) else Followed()

    def cut(self, instruction: str) -> list[tuple[str, tuple[int, ...]]]:
        """The instruction in pieces, each with the numbers of its clauses; in one where the clauses
        are not words of it. Clauses that begin at one place share a piece."""
        places = [found.start() for found in _CHARACTER.finditer(instruction)]
        if not self.begins or self.begins[-1] >= len(places):
            return [(instruction, ())]
        starts = sorted(set(self.begins))
        places.append(len(instruction))
        ends = [0, *(_behind_marks(instruction, places[at]) for at in starts[1:])]
        return [
            (instruction[a:b], tuple(n for n, at in enumerate(self.begins, 1) if at == start))
            for start, (a, b) in zip(starts, pairwise([*ends, len(instruction)]), strict=True)
        ]

    def chip(self, step: int) -> Html | None:
        """Which clause a step follows, where it begins to."""
        number = self.at(step).number
        if not number or number == self.at(step - 1).number:
            return None
        words = f"clause {number} of {len(self.texts)}"
        return tag("span", words, class_="chip", title=self.texts[number - 1])

    def marks(self, step: int) -> dict[str, str]:
        """What the page's script reads from a step's card."""
        if not self.texts:
            return {}
        now = self.at(step)
        return {"data_clause": str(now.number), "data_done": _numbers(now.done)}

    def instruction(self, words: str) -> Html:
        """The instruction that stays in view; its script marks the clauses of each step."""
        cut = self.cut(words)
        pieces = [
            tag("span", text, class_="clause", data_clauses=_numbers(numbers)) if numbers else text
            for text, numbers in cut
        ]
        listed = [
            tag("li", text, class_="clause", data_clauses=number)
            for number, text in enumerate(self.texts, 1)
        ]
        own = any(numbers for _, numbers in cut)
        rest = tag("ol", *listed, class_="clauses") if listed and not own else None
        shown = tag("div", tag("p", *pieces), rest, class_="instruction", tabindex=0)
        return tag("div", shown, self._legend(), class_="pinned")

    def _legend(self) -> Html | None:
        if not self.texts:
            return None
        if not self.known:
            told = "The agent was given these parts, and does not say which one it follows."
            return tag("p", told, class_="dim")
        return tag(
            "p", tag("span", "followed now", class_="clause at"), " ",
            tag("span", "done, says the agent", class_="clause done"), class_="dim",
        )  # fmt: skip


def _behind_marks(text: str, at: int) -> int:
    """The first place from there on that has no white space and none of the marks that end a clause
    before."""
    return len(text) - len(text[at:].lstrip(" \t\r\n.,;!"))


def _last(notes: Sequence[Note], kind: str) -> Mapping[str, Any]:
    """The details of the last note of a kind."""
    details = next((note.details for note in reversed(notes) if note.kind == kind), {})
    return details if isinstance(details, Mapping) else {}  # a folder may hold anything


def _followed(details: Mapping[str, Any], count: int) -> Followed | None:
    number = details.get("number")
    if not isinstance(number, int) or not 0 <= number <= count:
        return None
    return Followed(number, tuple(n for n in _whole(details.get("done")) if 1 <= n <= count))


def _whole(value: Any) -> list[int]:
    """The whole numbers of a list; of anything else none."""
    items = value if isinstance(value, list | tuple) else ()
    return [each for each in items if type(each) is int and each >= 0]


def _numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))

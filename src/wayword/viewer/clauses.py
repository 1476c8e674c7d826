"""The instruction of an episode by its clauses, and which of them the agent follows at each step.

Recipes that know it note it: ``walker`` and ``velma`` with ``follow`` mark the instruction's own
words, DiscussNav's decomposition and published sub-instructions are a list below it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from wayword.core.episode import JsonObject
from wayword.core.trajectory import CLAUSES, FOLLOWED, Note, Trajectory

_CHARACTER = re.compile(r"\S|(?<=\S)\s+(?=\S)")
"""A character of a text whose white space counts once, and not at its ends."""


class Followed(NamedTuple):
    """The clause followed at a step (from 1; 0 if not reported), and the clauses done."""

    number: int = 0
    done: tuple[int, ...] = ()


@dataclass(frozen=True)
class Clauses:
    """Clauses of an instruction from a recipe's notes, and the clause followed at each step.

        >>> clauses = Clauses(("Go ahead", "stop at the lamp"), (0, 10))
        >>> clauses.cut("Go ahead. Stop at the lamp.")
        [('Go ahead. ', (1,)), ('Stop at the lamp.', (2,))]

    ``begins`` has the position of each clause in the instruction, with runs of white
    space counted as one character; it is empty if the clauses are not part of the text.
    """

    texts: tuple[str, ...] = ()
    begins: tuple[int, ...] = ()
    steps: tuple[Followed, ...] = ()

    @staticmethod
    def of(trajectory: Trajectory) -> Clauses:
        """Read the clauses from an episode's notes; empty without a decomposition.

        A step without a note repeats the last one. Values of records that were changed
        by hand are ignored.
        """
        noted = _last(trajectory.opening_notes, CLAUSES)
        texts = noted.get("texts")
        if not isinstance(texts, list | tuple) or not texts:
            return Clauses()
        begins = tuple(_integers(noted.get("begins")))
        if len(texts) == 1 and not begins:
            return Clauses()  # no decomposition
        steps = []
        now = Followed()
        for step in trajectory.steps:
            details = _last(step.notes, FOLLOWED)
            number = details.get("number")
            count = len(texts)
            # Other numbers come from records that were changed by hand.
            if type(number) is int and 0 <= number <= count:
                noted_done = _integers(details.get("done"))
                done = [clause for clause in noted_done if 1 <= clause <= count]
                now = Followed(number, tuple(done))
            steps.append(now)
        # Positions that are missing or out of order cut nothing.
        is_ordered = list(begins) == sorted(begins)
        if len(begins) != len(texts) or not is_ordered:
            begins = ()
        return Clauses(
            texts=tuple(map(str, texts)),
            begins=begins,
            steps=tuple(steps),
        )

    @property
    def followed(self) -> bool:
        """True if any step reports the clause that it follows."""
        return any(step.number for step in self.steps)

    def at(self, step: int) -> Followed:
        """Return the clauses of a step (from 1); none for a step outside the episode."""
        if not 0 < step <= len(self.steps):
            return Followed()
        return self.steps[step - 1]

    def cut(self, instruction: str) -> list[tuple[str, tuple[int, ...]]]:
        """Cut the instruction into pieces, each with the numbers (from 1) of its clauses.

        The pieces join to the instruction. Clauses that start at the same position share a piece. A
        single piece without numbers if the clauses are not part of the text.
        """
        # Positions in notes count a run of white space as one character, and leave out white space
        # at the ends of the text; ``places`` leads from them to indices of the instruction.
        places = [match.start() for match in _CHARACTER.finditer(instruction)]
        if not self.begins or self.begins[-1] >= len(places):
            return [(instruction, ())]
        starts = sorted(set(self.begins))
        ends = [0]
        # White space and marks that end a clause belong to that clause, not to the next one.
        for start in starts[1:]:
            rest = instruction[places[start] :].lstrip(" \t\r\n.,;!")
            ends.append(len(instruction) - len(rest))
        ends.append(len(instruction))
        pieces = []
        for start, (begin, end) in zip(starts, pairwise(ends), strict=True):
            numbers = []
            for number, at in enumerate(self.begins, 1):
                if at == start:
                    numbers.append(number)
            text = instruction[begin:end]
            pieces.append((text, tuple(numbers)))
        return pieces

    def starts(self, step: int) -> int:
        """Return the clause that the agent starts to follow at a step; 0 if it keeps to one."""
        number = self.at(step).number
        if number == self.at(step - 1).number:
            return 0
        return number


def _last(notes: Sequence[Note], kind: str) -> JsonObject:
    """Return the details of the last note of a kind; empty if there is none."""
    for note in reversed(notes):
        if note.kind == kind:
            return note.details
    return {}


def _integers(value: Any) -> list[int]:
    """Return the integers from 0 on of a list; empty for any other value."""
    if not isinstance(value, list | tuple):
        return []
    # ``bool`` is an ``int`` as well.
    return [each for each in value if type(each) is int and each >= 0]

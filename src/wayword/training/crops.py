"""Single decisions of a walk as short texts: what a network of new layers learns to read first.

A walk that asks whether a clause is done writes the clause down before each such question, so the
stretch from there to the next such place holds all that its answers hang on. Whole walks come
after.
"""

from __future__ import annotations

from wayword.agents.parts.clauses import YES
from wayword.training.examples import Choosing, Example

BEGINS = "Now: "
"""What the line with the clause begins with, in the shipped prompts of `walker` and `velma`; with
prompts of one's own that begin otherwise, walks stay whole."""


def cropped(example: Example) -> list[Example]:
    """The pieces of a walk; the walk itself where it asks about no clauses.

    A piece begins with a clause that is asked about, goes on with the next where that one was done,
    and ends before the next such line.
    """
    text = example.text
    begins, done = [], False
    for before, choice in zip([None, *example.choices], example.choices, strict=False):
        line = text.rfind("\n" + BEGINS, before.at if before else 0, choice.at) + 1
        if line and not done:
            begins.append(line)
        done = choice.taken.strip() == YES
    if not begins:
        return [example]
    pieces = []
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        inside = (
            one for one in example.choices if begin < one.at < end or one.at == end == len(text)
        )
        moved = tuple(Choosing(one.at - begin, one.taken, one.label) for one in inside)
        piece = text[begin:end]
        pieces.append(Example(example.episode, example.source, piece, moved, example.success))
    return pieces

"""Single decisions of a walk as short texts: what a network of new layers learns to read first.

A walk that says which clause it follows can be cut behind each decision that was made after one.
A piece is the list of clauses, the line of the clause followed before, and the stretch of the
walk with the next clause and what was decided then. Nothing that bears on the labels is cut off,
and the words that belong together stand near each other; whole walks come after.
"""

from __future__ import annotations

import re

from wayword.agents.parts.clauses import NUMBERS
from wayword.training.examples import Choosing, Example

_LISTED = re.compile(rf"^(?:{'|'.join(NUMBERS)}): .*\n", re.MULTILINE)


def cropped(example: Example) -> list[Example]:
    """The pieces of a walk; the walk itself where it lists no clauses."""
    text, first = example.text, example.choices[0].at if example.choices else 0
    listed = list(_LISTED.finditer(text, 0, first))
    if not listed:
        return [example]
    head, here = text[listed[0].start() : listed[-1].end()], listed[-1].end()
    pieces, followed, choices = [], "", list[Choosing]()
    for number, choice in enumerate(example.choices):
        choices.append(choice)
        follows = choice.taken.strip() in NUMBERS
        last = number + 1 == len(example.choices)
        if (follows or not any(one.taken.strip() in NUMBERS for one in choices)) and not last:
            continue
        end = choice.at + len(choice.taken)
        start = head + followed
        moved = tuple(Choosing(one.at - here + len(start), one.taken, one.label) for one in choices)
        piece = start + text[here:end]
        pieces.append(Example(example.episode, example.source, piece, moved, example.success))
        told = [one for one in choices if one.taken.strip() in NUMBERS]
        if told:
            at = told[-1].at
            line = text.find("\n", at)
            followed = text[text.rindex("\n", 0, at) + 1 : line if line >= 0 else None] + "\n"
        here, choices = end + 1, []
    return pieces

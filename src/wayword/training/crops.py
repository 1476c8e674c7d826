"""Single decisions of a walk as short texts: what a network of new layers learns to read first.

A walk that says which clause it follows can be cut behind each decision that was made after one.
A piece is the list of clauses, the line of the clause followed before, and the stretch of the
walk with the next clause and what was decided then. Nothing that bears on the labels is cut off,
and the words that belong together stand near each other; whole walks come after.
"""

from __future__ import annotations

import re

from wayword.agents.parts.clauses import NEXT, NUMBERS, SAME
from wayword.training.examples import Choosing, Example

_LISTED = re.compile(rf"^(?:{'|'.join(NUMBERS)}): .*\n", re.MULTILINE)


def cropped(example: Example) -> list[Example]:
    """The pieces of a walk; the walk itself where it lists no clauses."""
    if any(not choice.taken for choice in example.choices):
        return _places(example)
    text, first = example.text, example.choices[0].at if example.choices else 0
    listed = list(_LISTED.finditer(text, 0, first))
    if not listed:
        return [example]
    head, here = text[listed[0].start() : listed[-1].end()], listed[-1].end()
    pieces, followed, choices = [], "", list[Choosing]()
    for number, choice in enumerate(example.choices):
        choices.append(choice)
        last = number + 1 == len(example.choices)
        if (_follows(choice) or not any(map(_follows, choices))) and not last:
            continue
        end = choice.at + len(choice.taken)
        start = head + followed
        moved = tuple(Choosing(one.at - here + len(start), one.taken, one.label) for one in choices)
        piece = start + text[here:end]
        pieces.append(Example(example.episode, example.source, piece, moved, example.success))
        told = [one for one in choices if _follows(one)]
        if told:
            at = told[-1].at
            line = text.find("\n", at)
            followed = text[text.rindex("\n", 0, at) + 1 : line if line >= 0 else None] + "\n"
        here, choices = end + 1, []
    return pieces


def _places(example: Example) -> list[Example]:
    """A piece a place, of a walk that weighs its ways one by one and writes no answers down."""
    text, pieces, choices = example.text, [], list[Choosing]()
    begin = text.rindex("\n\n", 0, example.choices[0].at) + 2
    for number, choice in enumerate(example.choices):
        choices.append(choice)
        after = example.choices[number + 1 : number + 2]
        if after and (choice.taken or not after[0].taken):
            continue
        end = choice.at + len(choice.taken)
        moved = tuple(Choosing(one.at - begin, one.taken, one.label) for one in choices)
        piece = text[begin:end] + "\n"
        pieces.append(Example(example.episode, example.source, piece, moved, example.success))
        begin, choices = end + 1, []
    return pieces


def _follows(choice: Choosing) -> bool:
    """Whether a choice said which clause is followed."""
    return choice.taken.strip() in (SAME, NEXT)

"""An example seen in a mirror: left and right exchanged in every word.

A building or a street plan has a mirror image in which the exchanged instruction is right, so each
walk is worth two, and no model can lean on a side. Neighbors that were listed from left to right
are listed from right to left in it.
"""

from __future__ import annotations

import re

from wayword.training.examples import Choosing, Example

_SIDES = {"left": "right", "right": "left", "Left": "Right", "Right": "Left"}
_SIDE = re.compile(r"\b(?:left|right|Left|Right)\b")

MENU = "Action Space:"
"""Begins the line that lists the actions, which has no sides."""


def mirrored(example: Example) -> Example:
    """The mirror image of an example."""
    text, begin, choices = "", 0, []
    for choice in example.choices:
        text += _swapped(example.text[begin : choice.at])
        begin = choice.at + len(choice.taken)
        taken, label = (_SIDE.sub(_other, one) for one in (choice.taken, choice.label))
        choices.append(Choosing(len(text), taken, label))
        text += taken
    text += _swapped(example.text[begin:])
    return Example(example.episode, example.source, text, tuple(choices), example.success)


def _swapped(text: str) -> str:
    """A text with its sides exchanged; the list of actions is the same in the mirror."""
    lines = text.split("\n")
    return "\n".join(one if one.startswith(MENU) else _SIDE.sub(_other, one) for one in lines)


def _other(side: re.Match[str]) -> str:
    return _SIDES[side[0]]

"""An example seen in a mirror: left and right exchanged in every word, its neighbors reordered.

A building or a street plan has a mirror image in which the exchanged instruction is right, so each
walk is worth two, and no model can lean on a side.
"""

from __future__ import annotations

import re

from wayword.training.examples import Choosing, Example

_SIDES = {"left": "right", "right": "left", "Left": "Right", "Right": "Left"}
_SIDE = re.compile(r"\b(?:left|right|Left|Right)\b")
_WAY = re.compile(r"^ ([A-Z]+)(\**) ([^:\n]*): (.*)$")
"""A neighbor in walker's prompt: letter, signs of shared words, direction, view and mark."""

MENU = "Action Space:"


def mirrored(example: Example) -> Example:
    """The mirror image of an example."""
    text, begin, choices = "", 0, []
    for choice in example.choices:
        before, letters = _turned(example.text[begin : choice.at])
        begin = choice.at + len(choice.taken)
        text += before
        taken, label = (_answer(one, letters) for one in (choice.taken, choice.label))
        choices.append(Choosing(len(text), taken, label))
        text += taken
    text += _turned(example.text[begin:])[0]
    return Example(example.episode, example.source, text, tuple(choices), example.success)


def _answer(option: str, letters: dict[str, str]) -> str:
    blank, name = option[: -len(option.lstrip())], option.strip()
    return blank + letters.get(name, _SIDES.get(name, name))


def _swapped(line: str) -> str:
    """A line with its sides exchanged; the list of actions is the same in the mirror."""
    if line.startswith(MENU):
        return line
    return _SIDE.sub(lambda side: _SIDES[side[0]], line)


def _turned(text: str) -> tuple[str, dict[str, str]]:
    """A stretch of text in the mirror, and the new letter of each neighbor it lists."""
    lines = [_swapped(line) for line in text.split("\n")]
    found = [(number, way) for number, line in enumerate(lines) if (way := _WAY.match(line))]
    letters = {}
    for (place, new), (_, old) in zip(found, reversed(found), strict=True):
        letters[old[1]] = new[1]
        lines[place] = f" {new[1]}{old[2]} {old[3]}: {old[4]}"
    return "\n".join(lines), letters

"""What an agent says about itself, as values that can be compared with the truth.

>>> stated({"place": "the kitchen", "facing": "north-east", "holding": "a mug_1"})
{'place': 'the kitchen', 'heading': 45.0, 'holding': ['mug_1']}
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wayword.core.angles import absolute
from wayword.core.episode import Json

PLACE, FACING, HOLDING = "place", "facing", "holding"
"""The parts of a section that are compared with the truth; a recipe may have all or some."""

_POINTS = {"north": 0.0, "east": 90.0, "south": 180.0, "west": 270.0}
_BETWEEN = {"northeast": 45.0, "southeast": 135.0, "southwest": 225.0, "northwest": 315.0}
_LETTERS = {"n": 0.0, "ne": 45.0, "e": 90.0, "se": 135.0, "s": 180.0, "sw": 225.0, "w": 270.0}
_HEADINGS = {**_POINTS, **_BETWEEN, **_LETTERS, "nw": 315.0}
_DEGREES = re.compile(r"(?<![\w.])(-?\d{1,4}(?:\.\d{1,6})?)\s*(?:°|deg|$)", re.IGNORECASE)
_WORDS = re.compile(r"\b(north|south)?[\s\-]?(east|west)?\b", re.IGNORECASE)
_NOTHING = {"", "nothing", "none", "no", "empty", "empty handed", "no object", "no objects"}
_NOTES = re.compile(r"\([^()]*\)")
_ARTICLE = re.compile(r"^(?:a|an|the|i hold|holding)\s+", re.IGNORECASE)


def stated(parts: Mapping[str, str]) -> dict[str, Json]:
    """``place`` (words), ``heading`` (degrees in [0, 360)), ``holding`` (names); None for not said.

    A heading is degrees, or one of the eight main directions; ``holding`` nothing is an empty list.
    """
    place = parts.get(PLACE, "").strip()
    held = parts.get(HOLDING)
    return {
        "place": place or None,
        "heading": heading(parts.get(FACING, "")),
        "holding": None if held is None or not held.strip() else names(held),
    }


def heading(words: str) -> float | None:
    """``30°``, ``30``, ``facing north-east`` or ``NE`` in degrees, None where none is said."""
    degrees = _DEGREES.search(words.strip())
    if degrees:
        return absolute(float(degrees.group(1)))
    short = words.strip(" .").lower()
    if short in _HEADINGS:
        return _HEADINGS[short]
    for match in _WORDS.finditer(words):
        point = "".join(group.lower() for group in match.groups() if group)
        if point:
            return _HEADINGS[point]
    return None


def names(words: str) -> list[str]:
    """``a mug_1 (dirty) and the knife_1`` -> ``["mug_1", "knife_1"]``."""
    pieces = re.split(r"[,;]|\band\b", _NOTES.sub(" ", words))
    found = [_ARTICLE.sub("", piece.strip(" .'\"`\t")).strip().lower() for piece in pieces]
    return [name for name in found if name.replace("-", " ") not in _NOTHING]

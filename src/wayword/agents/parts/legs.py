"""Street instructions cut into legs: each ends in a turn, the last one where to stop.

    >>> told = "Go through two lights. At the next one turn left, and stop half way down the block."
    >>> [leg.text for leg in legs(told)]
    ['Go through two lights. At the next one turn left', 'stop half way down the block']
    >>> [(leg.turn, leg.crossings) for leg in legs(told)]
    [('left', 3), ('', None)]

Plain rules on words read how many crossings a leg counts, and where behind the last of them it
stops. What they make of a text is a hint: the text itself stands beside it wherever they are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from wayword.agents.parts.clauses import NUMBERS, ORDINALS, Clause

Kind = Literal["lights", "intersections"]

_ADJECTIVES = (
    r"(?:(?:of|more|sets?|traffic|stop|four|three|\d|way|double|major|large|big|street|t|small|"
    r"quick|main|busy)[\s-]+)*"
)
_CROSSING = (
    r"(lights?|stoplights?|intersections?|corners?|stop ?signs?|signals?|crosswalks?|crossings?)"
)
_ORDINAL = r"first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th"
_CARDINAL = r"one|two|three|four|five|six|couple|both|[1-6]"
_MENTION = re.compile(
    rf"\b(?:(the|a|an|this|that|these|those|your)\s+)?(?:(?:(next|following|another)|({_ORDINAL}))"
    rf"\s+)?(?:({_CARDINAL})\s+)?{_ADJECTIVES}{_CROSSING}\b",
    re.IGNORECASE,
)
_ALONE = re.compile(
    rf"\b(?:at|to|the)\s+(?:the\s+)?(?:(next|following|one after)|({_ORDINAL}))"
    r"(?:\s+(?:one|sets?)\b|(?!\s+\w)|(?=\s+(?:turn|take|make|go|you|where|there|with|that|is)\b))",
    re.IGNORECASE,
)
_CROSS = re.compile(
    r"\bcross(?:ing)? (?:over )?(?:the |a )?(?:street|road|avenue)\b", re.IGNORECASE
)
_PASSING = re.compile(r"\b(?:through|past|pass|passing|passed|cross|crossing|beyond)\s*$", re.I)
_REACHING = re.compile(r"\b(?:at|to|reach|until)\s*$", re.IGNORECASE)
_TURN = re.compile(
    r"\b(?:turn|make|take|hang|go|bear|veer|head|turning|making|taking|then another|then a|and a)"
    r"\s+(?:(?:a|an|the|your|first|second|next|sharp|slight|immediate|quick|another|hard|to|slightly)"
    r"\s+)*(left|right)\b(?!\s+(?:past|before|after)\b)",
    re.IGNORECASE,
)
_AT = re.compile(r"\s*(?:at|when|on|onto|after|once)\b", re.IGNORECASE)
_EDGE = re.compile(r"^[\s.,;!]*(?:(?:and|then)\b[\s,]*)*", re.IGNORECASE)
_MANY = {"couple": 2, "both": 2}


@dataclass(frozen=True, slots=True)
class Leg:
    """A stretch of a route: its clause, and the turn it ends in ("" where one stops).

    ``crossings`` are those that it counts, the one turned at among them, by what ``kind`` says;
    None where it counts none.
    """

    clause: Clause
    turn: str
    crossings: int | None
    kind: Kind

    @property
    def text(self) -> str:
        """The leg's words."""
        return self.clause.text


def legs(instruction: str) -> tuple[Leg, ...]:
    """The legs of an instruction, in order; the last one has no turn."""
    found, begin = [], 0
    for turn in _TURN.finditer(instruction):
        end = turn.end()
        tail = re.match(r"[^.,;]*", instruction[end:])
        if tail and _AT.match(tail[0]):
            end += tail.end()
        if end > begin:
            found.append(_leg(instruction, begin, end, turn[1].lower()))
            begin = end
    if len(_EDGE.sub("", instruction[begin:])) > 2 or not found:
        found.append(_leg(instruction, begin, len(instruction), ""))
    else:
        last = found[-1]
        found.append(Leg(Clause("stop", last.clause.begin), "", None, last.kind))
    return tuple(found)


def _leg(instruction: str, begin: int, end: int, turn: str) -> Leg:
    part = instruction[begin:end]
    lead = _EDGE.match(part)
    text = part[lead.end() if lead else 0 :].strip().rstrip(".,;! ")
    number, passed = counted(text) or (None, False)
    if number and passed and turn:
        number += 1  # one turns at the crossing after those
    lights = re.search(r"\b(?:lights?|stoplights?|signals?)\b", text, re.IGNORECASE)
    kind: Kind = "lights" if lights else "intersections"
    return Leg(Clause(" ".join(text.split()), begin), turn, number, kind)


@dataclass(frozen=True, slots=True)
class _Mention:
    """Crossings named at a place of a text, and how."""

    article: str
    again: bool
    ordinal: int
    many: int
    passing: bool
    reaching: bool


def counted(text: str) -> tuple[int, bool] | None:
    """How many crossings a leg counts, and whether the last one is gone through; None for none.

    >>> counted("Go through the next light. At the second light turn right")
    (2, False)
    >>> counted("go through 2 more lights and stop"), counted("turn left at the bank")
    ((2, True), None)
    """
    number, passed = 0, False
    for one in _mentions(text):
        if one.many:
            number, passed = number + one.many, True
        elif one.ordinal:
            number, passed = max(number, one.ordinal), one.passing
        elif one.again:
            number, passed = number + 1, one.passing
        elif one.article in ("this", "that", "these", "those"):
            passed = passed or one.passing
        elif one.passing:
            number += number == 0 or passed
            passed = True
        elif number == 0 or (passed and one.reaching):
            number, passed = number + 1, False
    return (number, passed) if number else None


def _mentions(text: str) -> Iterator[_Mention]:
    found: dict[int, tuple[int, _Mention]] = {}
    for one in _MENTION.finditer(text):
        article, again, ordinal, many, _ = ((part or "").lower() for part in one.groups())
        found[one.start()] = one.end(), _mention(text, one.start(), article, again, ordinal, many)
    for one in _ALONE.finditer(text):
        at = one.start(1) if one[1] else one.start(2)
        if not any(begin <= at < end for begin, (end, _) in found.items()):
            named = (one[1] or "").lower(), (one[2] or "").lower()
            found[one.start()] = one.end(), _mention(text, one.start(), "the", *named, "")
    for one in _CROSS.finditer(text):
        found[one.start()] = one.end(), _Mention("the", False, 0, 0, True, False)
    return (found[begin][1] for begin in sorted(found))


def _mention(text: str, at: int, article: str, again: str, ordinal: str, many: str) -> _Mention:
    before = text[max(0, at - 14) : at].rstrip()
    return _Mention(
        article, bool(again), _number(ordinal), _number(many),
        bool(_PASSING.search(before)), bool(_REACHING.search(before)),
    )  # fmt: skip


def _number(word: str) -> int:
    """``second``, ``2nd``, ``two`` or ``couple`` as a number; 0 for no word."""
    if word[:1].isdigit():
        return int(word[0])
    plain = ORDINALS.get(word, word)
    return NUMBERS.index(plain) + 1 if plain in NUMBERS else _MANY.get(plain, 0)


# Where behind the last crossing a leg stops.

_PLACES = (
    ("a third", r"1/3|third of|a third|quarter|1/4"),
    ("two thirds", r"2/3|two[- ]thirds|3/4|three[- ]quarters"),
    ("half", r"\b(?:half|halfway|half-way|mid|mid-?block|1/2)\b|middle of the block"),
    ("in it", r"(?:middle|center) of (?:the|this|that) (?:intersection|street)"
              r"|in the (?:intersection|middle|center)"
              r"|stop (?:in|at) the (?:\w+ )?(?:intersection|light|corner)"),
    ("near the end", r"end of (?:the|this) (?:block|street|road)|almost|short of|"
                     r"before (?:you reach )?the (?:next |following )?"
                     r"(?:light|intersection|corner)"),
    ("before", r"\b(?:before|reaching|nearly|close to)\b"),
    ("soon", r"\b(?:just|right|immediately|soon|shortly|slightly) (?:past|after|beyond)\b"),
    ("past", r"\b(?:past|after|pass|passing)\b"),
)  # fmt: skip
_STEPS = re.compile(
    r"\b(?:(one|two|three|four|five|six|seven|eight|nine|\d+)|(couple|few)|(?:a|an)|1st)"
    r"(?:\s+(?:or|to|-)\s+(two|three|four|five|six|\d+))?(?:\s+of)?(?:\s+more)?\s+steps?\b",
    re.IGNORECASE,
)
FRACTIONS = {"a third": 1 / 3, "half": 1 / 2, "two thirds": 2 / 3}
"""The places that are a part of a block."""


def steps_told(text: str) -> int | None:
    """The steps that a leg counts out, the larger of two numbers; None where it counts none.

    >>> steps_told("Take a step or two and stop"), steps_told("stop after 1 or 2 steps")
    (2, 2)
    """
    if re.search(r"\bsteps? or (?:two|2|so)\b", text, re.IGNORECASE):
        return 2
    found = _STEPS.search(text)
    if found is None:
        return None
    one, vague, more = ((part or "").lower() for part in found.groups())
    if vague:
        return 2 if vague == "couple" else 3
    return max(_digits(more), _digits(one), 1)


def _digits(word: str) -> int:
    return int(word) if word.isdigit() else _number(word)


def place_told(text: str) -> str:
    """Where a leg stops, in plain words: ``half``, ``near the end``; "" where it does not say."""
    words = text.lower()
    return next((name for name, pattern in _PLACES if re.search(pattern, words)), "")

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from wayword.agents.clauses import MOVES, NUMBERS, ORDINALS, Clause, plain_words

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
        return self.clause.text


def legs(instruction: str) -> tuple[Leg, ...]:
    """The legs of an instruction, in order; the last one has no turn."""
    found, begin = list[Leg](), 0

    def add(end: int, turn: str) -> None:
        text = _EDGE.sub("", instruction[begin:end], count=1).strip().rstrip(".,;! ")
        number, passed = counted(text) or (None, False)
        if number and passed and turn:
            number += 1  # one turns at the crossing after those
        lights = re.search(r"\b(?:lights?|stoplights?|signals?)\b", text, re.IGNORECASE)
        kind: Kind = "lights" if lights else "intersections"
        found.append(Leg(Clause(" ".join(text.split()), begin), turn, number, kind))

    for turn in _TURN.finditer(instruction):
        end = turn.end()
        tail = re.match(r"[^.,;]*", instruction[end:])
        if tail and _AT.match(tail[0]):
            end += tail.end()
        if end > begin:
            add(end, turn[1].lower())
            begin = end
    if len(_EDGE.sub("", instruction[begin:])) > 2 or not found:
        add(len(instruction), "")
    else:
        last = found[-1]
        found.append(Leg(Clause("stop", last.clause.begin), "", None, last.kind))
    return tuple(found)


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

    def add(one: re.Match[str], article: str, again: str, ordinal: str, many: str = "") -> None:
        before = text[max(0, one.start() - 14) : one.start()].rstrip()
        passing, reaching = bool(_PASSING.search(before)), bool(_REACHING.search(before))
        numbers = _number(ordinal), _number(many)
        found[one.start()] = one.end(), _Mention(article, bool(again), *numbers, passing, reaching)

    for one in _MENTION.finditer(text):
        add(one, *((part or "").lower() for part in one.groups()[:4]))
    for one in _ALONE.finditer(text):
        at = one.start(1) if one[1] else one.start(2)
        if not any(begin <= at < end for begin, (end, _) in found.items()):
            add(one, "the", (one[1] or "").lower(), (one[2] or "").lower())
    for one in _CROSS.finditer(text):
        found[one.start()] = one.end(), _Mention("the", False, 0, 0, True, False)
    return (found[begin][1] for begin in sorted(found))


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
    return max(1, *(int(word) if word.isdigit() else _number(word) for word in (more, one)))


def place_told(text: str) -> str:
    """Where a leg stops, in plain words: ``half``, ``near the end``; "" where it does not say."""
    words = text.lower()
    return next((name for name, pattern in _PLACES if re.search(pattern, words)), "")


# A walk along the legs of a street instruction: what was counted, and what of it agrees.

_WARNS = re.compile(r"\btoo far\b|\bpassed it\b|\bif you (?:see|reach|come)\b", re.IGNORECASE)


def goal_part(leg: str) -> str:
    """The last step that a leg tells, with what is said of it; no warning of going too far.

    >>> goal_part("Pass a zoo, stop at the bank, which is on your left")
    ' stop at the bank, which is on your left'
    """
    parts = [part for part in re.split(r"[,.]", leg) if not _WARNS.search(part)]
    moving = [number for number, part in enumerate(parts) if MOVES.search(part)]
    return ",".join(parts[moving[-1] if moving else -1 :]) if parts else leg


@dataclass(slots=True)
class Since:
    """What was met since the last turn, or since the start.

    ``on`` counts the steps since then or since the last crossing; ``block`` is how many steps lay
    between the last two crossings, 0 before there were two. A light counts where one was in view
    ahead, and an intersection was come to, at most a step on.
    """

    turn: str = "start"
    steps: int = 0
    on: int = 0
    block: int = 0
    junctions: int = 0
    crossroads: int = 0
    lights: int = 0
    _lit: bool = False

    def see(self, exits: int, *, lit: bool) -> None:
        """A new place: its ways, 0 where one has only turned; and whether a light is ahead."""
        self.lights += exits > 2 and (lit or self._lit)
        self._lit = lit
        self.crossroads += exits > 3
        if exits > 2:
            self.block = self.on if self.junctions else 0
            self.on, self.junctions = 0, self.junctions + 1

    def done(self, word: str) -> None:
        if word == "forward":
            self.steps, self.on = self.steps + 1, self.on + 1
        elif word != "stop":
            self.turn, self.steps, self.on, self.block = word.replace("_", " "), 0, 0, 0
            self.junctions = self.crossroads = self.lights = 0


@dataclass(slots=True)
class RouteProgress:
    """How far a walk is along its ``legs``: the number of the one that is ``followed``, from 1.

    ``sees``: whether landmarks can be seen; where not, lights are counted by their intersections.
    ``beside`` holds the landmarks beside the place (name, and where in words).
    """

    legs: Sequence[Leg]
    sees: bool
    followed: int = 1
    told: int = 0
    """The number of the leg whose words were last written down."""
    since: Since = field(default_factory=Since)
    beside: Sequence[tuple[str, str]] = ()
    junction: bool = False
    steps: int = 0
    """Steps since the start."""
    done: bool = False
    """Whether the leg was answered to be done here; the next one begins with the next action."""

    @property
    def leg(self) -> Leg:
        return self.legs[self.followed - 1]

    @property
    def last(self) -> bool:
        """Whether it is the last one, at whose end one stops."""
        return self.followed == len(self.legs)

    def see(self, exits: int, *, lit: bool, beside: Sequence[tuple[str, str]]) -> None:
        """A new place with its ways, or with 0 a new way to face; what is beside it."""
        self.junction, self.beside = exits > 2, beside
        self.since.see(exits, lit=lit)

    def begins(self) -> bool:
        """Whether the words of the leg are still to be written down; asked once for each leg."""
        begins, self.told = self.told != self.followed, self.followed
        return begins

    def took(self, word: str) -> None:
        self.since.done(word)
        self.steps += word == "forward"
        if self.done and not self.last:
            self.followed += 1
        self.done = False

    def decisive(self) -> bool:
        """Whether the leg may end here: at a crossing, and the last one anywhere."""
        return self.junction or self.last

    def words(self) -> dict[str, str]:
        """The slots of a sentence: the steps since the turn, landmarks, and what agrees."""
        beside = "".join(f"; {name} {where}" for name, where in self.beside)
        since = {"since": str(self.since.steps), "turn": self.since.turn}
        return {**since, "beside": beside, "signs": ", ".join(self.signs())}

    def signs(self) -> Iterator[str]:
        """What of the place agrees with the leg, and what the leg tells to do: by plain rules."""
        leg, since = self.leg, self.since
        if self.junction:
            yield f"at intersection {since.junctions}"
        if leg.crossings is not None:
            kind: Kind = leg.kind if self.sees else "intersections"
            if since.crossroads != since.junctions:
                yield _of(since.crossroads, leg.crossings, "crossroads")
            met = since.lights if kind == "lights" else since.junctions
            yield _of(met, leg.crossings, kind)
        goal = plain_words(goal_part(leg.text))
        told = set() if leg.turn else {"left", "right"} & goal
        for name, where in self.beside:
            words = plain_words(name) - {"a", "an", "the"}
            if words and words <= goal:
                other = told and where.rpartition(" ")[2] not in told
                yield "beside it, other side" if other else "beside it"
        if leg.turn:
            yield f"turn {leg.turn}"
        elif self.last:
            place, steps = place_told(leg.text), steps_told(leg.text)
            if steps is None and place in FRACTIONS and since.block:
                steps = max(1, round(FRACTIONS[place] * since.block))
            yield f"stop {place}".strip()
            reached = " reached" * (since.on == steps)
            yield f"{since.on} on" if steps is None else f"{since.on} of {steps} steps{reached}"
            yield f"{self.steps} in all"


def _of(so_far: int, number: int, kind: str) -> str:
    """So many of a number, and whether it is reached or passed."""
    how = " reached" if so_far == number else " passed" * (so_far > number)
    return f"{so_far} of {number} {kind}{how}"

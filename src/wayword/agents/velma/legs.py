"""Split street instructions into legs: each ends in a turn, the last one in a stop.

    >>> text = "Go through two lights. At the next one turn left, and stop half way down the block."
    >>> [leg.text for leg in legs(text)]
    ['Go through two lights. At the next one turn left', 'stop half way down the block']
    >>> [(leg.turn, leg.crossings) for leg in legs(text)]
    [('left', 3), ('', None)]

Rules on words extract how many crossings a leg counts, and where it stops after the last of them.
The results are hints: prompts show them next to the original text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from wayword.agents.clauses import MOTION, NUMBERS, ORDINALS, Clause, plain_words
from wayword.core.visible import single_line, spaced

Kind = Literal["lights", "intersections"]

_ADJECTIVES = (
    r"(?:(?:of|more|sets?|traffic|stop|four|three|\d|way|double|major|large|big|street|t|small|"
    r"quick|main|busy)[\s-]+)*"
)
_CROSSING = (
    r"(lights?|stoplights?|intersections?|corners?|stop ?signs?|signals?"
    r"|crosswalks?|crossings?)"
)
_ORDINAL = r"first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th"
_CARDINAL = r"one|two|three|four|five|six|couple|both|[1-6]"
_CROSSING_NAMED = re.compile(
    rf"\b(?:(the|a|an|this|that|these|those|your)\s+)?(?:(?:(next|following|another)|({_ORDINAL}))"
    rf"\s+)?(?:({_CARDINAL})\s+)?{_ADJECTIVES}{_CROSSING}\b",
    re.I,
)
_CROSSING_IMPLIED = re.compile(
    rf"\b(?:at|to|the)\s+(?:the\s+)?(?:(next|following|one after)|({_ORDINAL}))"
    r"(?:\s+(?:one|sets?)\b|(?!\s+\w)|(?=\s+(?:turn|take|make|go|you|where|there|with|that|is)\b))",
    re.I,
)
_STREET_CROSSED = re.compile(
    r"\bcross(?:ing)? (?:over )?(?:the |a )?(?:street|road|avenue)\b",
    re.I,
)
_PASSING = re.compile(
    r"\b(?:through|past|pass|passing|passed|cross|crossing|beyond)\s*$",
    re.I,
)
_REACHING = re.compile(r"\b(?:at|to|reach|until)\s*$", re.I)
_TURN = re.compile(
    r"\b(?:turn|make|take|hang|go|bear|veer|head|turning|making|taking|then another|then a|and a)"
    r"\s+(?:(?:a|an|the|your|first|second|next|sharp|slight|immediate|quick|another|hard|to|slightly)"
    r"\s+)*(left|right)\b(?!\s+(?:past|before|after)\b)",
    re.I,
)
_TURN_PLACE = re.compile(r"\s*(?:at|when|on|onto|after|once)\b", re.I)
_LINKING_WORDS = re.compile(r"^[\s.,;!]*(?:(?:and|then)\b[\s,]*)*", re.I)
_VAGUE_NUMBERS = {"couple": 2, "both": 2}


@dataclass(frozen=True)
class Leg:
    """A part of a route: its clause, and the turn at its end ("" for a stop).

    ``crossings`` is the number of crossings of this ``kind`` in its text, including the one at the
    turn; None if the text counts none.
    """

    clause: Clause
    turn: str
    crossings: int | None
    kind: Kind

    @property
    def text(self) -> str:
        return self.clause.text


def legs(instruction: str) -> tuple[Leg, ...]:
    """Return the legs of an instruction in order; the last one has no turn."""
    spans = list[tuple[int, int, str]]()
    begin = 0
    for turn in _TURN.finditer(instruction):
        end = turn.end()
        # "Turn left at the light": the place of a turn belongs to its leg.
        tail = re.match(r"[^.,;]*", instruction[end:])
        if tail and _TURN_PLACE.match(tail[0]):
            end += tail.end()
        if end > begin:
            spans.append((begin, end, turn[1].lower()))
            begin = end
    has_rest = len(_LINKING_WORDS.sub("", instruction[begin:])) > 2
    if has_rest or not spans:
        spans.append((begin, len(instruction), ""))
    parts = list[Leg]()
    for start, end, turn_side in spans:
        text = (
            _LINKING_WORDS.sub("", instruction[start:end], count=1)
            .strip()
            .rstrip(".,;! ")
        )
        # Without a count in the text, the walk is not limited to one.
        number, passes_last = count_crossings(text) or (None, False)
        if number and passes_last and turn_side:
            number += 1  # the turn is at the crossing after those passed
        lights = re.search(r"\b(?:lights?|stoplights?|signals?)\b", text, re.I)
        kind: Kind = "lights" if lights else "intersections"
        parts.append(Leg(Clause(single_line(text), start), turn_side, number, kind))
    last = parts[-1]
    # An instruction that ends with a turn says nothing of the stop: it is right after it.
    if last.turn:
        stop = Clause("stop", last.clause.begin)
        parts.append(Leg(stop, turn="", crossings=None, kind=last.kind))
    return tuple(parts)


class _Mention(NamedTuple):
    """A mention of crossings in a text, and its wording."""

    article: str
    is_next: bool
    ordinal: int
    cardinal: int
    passing: bool
    reaching: bool


def _passed(number: int, passes_last: bool) -> int:
    """The number of crossings after one more is passed: the last one, unless it is behind."""
    if number == 0 or passes_last:
        return number + 1
    return number


def count_crossings(text: str) -> tuple[int, bool] | None:
    """Return the number of crossings in a leg, and True if it passes the last; None for none."""
    # By the offset of their beginning, with the end
    mentions: dict[int, tuple[int, _Mention]] = {}

    def add(
        match: re.Match[str],
        article: str,
        again: str,
        ordinal: str,
        count: str = "",
    ) -> None:
        """Record a mention; the words just before it tell whether it is passed or reached."""
        # The last words before it: more characters than the longest word of the patterns has.
        before = text[max(0, match.start() - 14) : match.start()].rstrip()
        mention = _Mention(
            article,
            is_next=bool(again),
            ordinal=_number(ordinal),
            cardinal=_number(count),
            passing=_PASSING.search(before) is not None,
            reaching=_REACHING.search(before) is not None,
        )
        mentions[match.start()] = match.end(), mention

    for match in _CROSSING_NAMED.finditer(text):
        add(match, *((part or "").lower() for part in match.groups()[:4]))
    for match in _CROSSING_IMPLIED.finditer(text):
        at = match.start(1 if match[1] else 2)
        # A crossing that is named counts once.
        if not any(begin <= at < end for begin, (end, _) in mentions.items()):
            again = (match[1] or "").lower()
            ordinal = (match[2] or "").lower()
            add(match, "the", again, ordinal)
    # "Cross the street" passes a crossing that no word names.
    for match in _STREET_CROSSED.finditer(text):
        crossed = _Mention(
            "the",
            is_next=False,
            ordinal=0,
            cardinal=0,
            passing=True,
            reaching=False,
        )
        mentions[match.start()] = match.end(), crossed
    number = 0
    passes_last = False
    # In the order of the text: later mentions refer to earlier ones ("that light").
    for _, (_, mention) in sorted(mentions.items()):
        if mention.cardinal:
            number = number + mention.cardinal
            passes_last = True
        elif mention.ordinal:
            number = max(number, mention.ordinal)
            passes_last = mention.passing
        elif mention.is_next:
            number = number + 1
            passes_last = mention.passing
        elif mention.article in ("this", "that", "these", "those"):
            passes_last = passes_last or mention.passing
        elif mention.passing:
            number = _passed(number, passes_last)
            passes_last = True
        elif number == 0 or (passes_last and mention.reaching):
            number = number + 1
            passes_last = False
    if not number:
        return None
    return number, passes_last


def _number(word: str) -> int:
    """Return ``second``, ``2nd``, ``two`` or ``couple`` as a number; 0 for an empty word."""
    if word[:1].isdigit():
        return int(word[0])
    cardinal = ORDINALS.get(word, word)
    if cardinal in NUMBERS:
        return NUMBERS.index(cardinal) + 1
    return _VAGUE_NUMBERS.get(cardinal, 0)


# The place after the last crossing where a leg stops.

_STOP_PLACES = (
    ("a third", r"1/3|third of|a third|quarter|1/4"),
    ("two thirds", r"2/3|two[- ]thirds|3/4|three[- ]quarters"),
    ("half", r"\b(?:half|halfway|half-way|mid|mid-?block|1/2)\b|middle of the block"),
    ("in it", r"(?:middle|center) of (?:the|this|that) (?:intersection|street)"
              r"|in the (?:intersection|middle|center)"
              r"|stop (?:in|at) the (?:\w+ )?(?:intersection|light|corner)",),
    ("near the end", r"end of (?:the|this) (?:block|street|road)|almost|short of|"
                     r"before (?:you reach )?the (?:next |following )?"
                     r"(?:light|intersection|corner)",),
    ("before", r"\b(?:before|reaching|nearly|close to)\b"),
    ("soon", r"\b(?:just|right|immediately|soon|shortly|slightly) (?:past|after|beyond)\b"),
    ("past", r"\b(?:past|after|pass|passing)\b"),
)  # fmt: skip
_STEPS = re.compile(
    r"\b(?:(one|two|three|four|five|six|seven|eight|nine|\d+)|(couple|few)|(?:a|an)|1st)"
    r"(?:\s+(?:or|to|-)\s+(two|three|four|five|six|\d+))?(?:\s+of)?(?:\s+more)?\s+steps?\b",
    re.I,
)
FRACTIONS = {"a third": 1 / 3, "half": 1 / 2, "two thirds": 2 / 3}
"""Places that are a fraction of a block."""


def step_count(text: str) -> int | None:
    """Return the number of steps in a leg's text, the larger of two; None if it counts none."""
    if re.search(r"\bsteps? or (?:two|2|so)\b", text, re.I):
        return 2
    match = _STEPS.search(text)
    if match is None:
        return None
    first, vague_number, second = ((part or "").lower() for part in match.groups())
    if vague_number:
        return 2 if vague_number == "couple" else 3
    count = 1
    for word in (second, first):
        if word.isdigit():
            count = max(count, int(word))
        else:
            count = max(count, _number(word))
    return count


def stop_place(text: str) -> str:
    """Return the place where a leg stops: ``half``, ``near the end``; "" if it does not say."""
    words = text.lower()
    return next(
        (name for name, pattern in _STOP_PLACES if re.search(pattern, words)),
        "",
    )


# A walk along the legs of a street instruction: its counts, compared with the text.

_WARNING = re.compile(r"\btoo far\b|\bpassed it\b|\bif you (?:see|reach|come)\b", re.I)


def goal_part(leg: str) -> str:
    """Return the last step of a leg with its description, but no warnings of going too far."""
    parts = [part for part in re.split(r"[,.]", leg) if not _WARNING.search(part)]
    moving_parts = [number for number, part in enumerate(parts) if MOTION.search(part)]
    if not parts:
        return leg
    start = moving_parts[-1] if moving_parts else -1
    return ",".join(parts[start:])


@dataclass
class TurnCounts:
    """Counts since the last turn, or since the start.

    ``stretch_steps`` are the steps since then or since the last crossing, if later; ``block_steps``
    those between the last two crossings, 0 before the second. A traffic light counts if it was in
    view ahead at an intersection or one step before it.
    """

    turn: str = "start"
    steps: int = 0
    stretch_steps: int = 0
    block_steps: int = 0
    junctions: int = 0
    crossroads: int = 0
    lights: int = 0
    _light_was_ahead: bool = False

    def see(self, exits: int, *, light_ahead: bool) -> None:
        """Count a new place by its exits (0 after a turn on the spot) and a light ahead."""
        self.lights += exits > 2 and (light_ahead or self._light_was_ahead)
        self._light_was_ahead = light_ahead
        if exits > 3:
            self.crossroads += 1
        if exits > 2:
            self.block_steps = 0
            if self.junctions:
                self.block_steps = self.stretch_steps
            self.stretch_steps = 0
            self.junctions = self.junctions + 1

    def take(self, word: str) -> None:
        """Count a move: a turn begins the counts again."""
        if word == "forward":
            self.steps = self.steps + 1
            self.stretch_steps = self.stretch_steps + 1
        elif word != "stop":
            self.turn = spaced(word)
            self.steps = 0
            self.stretch_steps = self.block_steps = 0
            self.junctions = self.crossroads = self.lights = 0


@dataclass
class RouteProgress:
    """Progress of a walk along its ``legs``; ``followed`` is the number of the current one, from 1.

    ``sees_landmarks``: landmarks are visible; otherwise intersections are counted for lights.
    ``landmarks`` next to the place are pairs of a name and a direction in words. ``announced`` is
    the last leg whose text was written; ``steps`` counts from the start. ``leg_done``: the model
    said that the leg ends here, so the next one begins with the next action.
    """

    legs: Sequence[Leg]
    sees_landmarks: bool
    followed: int = 1
    announced: int = 0
    counts: TurnCounts = field(default_factory=TurnCounts)
    landmarks: Sequence[tuple[str, str]] = ()
    at_junction: bool = False
    steps: int = 0
    leg_done: bool = False

    @property
    def leg(self) -> Leg:
        return self.legs[self.followed - 1]

    @property
    def is_last(self) -> bool:
        return self.followed == len(self.legs)

    def see(
        self,
        exits: int,
        *,
        light_ahead: bool,
        landmarks: Sequence[tuple[str, str]],
    ) -> None:
        """Count a new place by its exits, 0 after a turn; ``landmarks`` are next to it."""
        self.at_junction = exits > 2
        self.landmarks = landmarks
        self.counts.see(exits, light_ahead=light_ahead)

    def announce_leg(self) -> bool:
        """True once per leg: its text must be written now."""
        is_new = self.announced != self.followed
        self.announced = self.followed
        return is_new

    def take(self, word: str) -> None:
        """Count a move, and begin the next leg if this one is done."""
        self.counts.take(word)
        if word == "forward":
            self.steps += 1
        self.followed += self.leg_done and not self.is_last
        self.leg_done = False

    def leg_may_end(self) -> bool:
        """True if the leg may end here: at a crossing, and the last one anywhere."""
        return self.at_junction or self.is_last

    def slots(self) -> dict[str, str]:
        landmarks = "".join(f"; {name} {where}" for name, where in self.landmarks)
        counts = {"since": str(self.counts.steps), "turn": self.counts.turn}
        return {**counts, "beside": landmarks, "signs": ", ".join(self.signs())}

    def signs(self) -> Iterator[str]:
        leg = self.leg
        counts = self.counts
        if self.at_junction:
            yield f"at intersection {counts.junctions}"
        if leg.crossings is not None:
            kind: Kind = leg.kind if self.sees_landmarks else "intersections"
            if counts.crossroads != counts.junctions:
                yield _progress_words(counts.crossroads, leg.crossings, "crossroads")
            passed = counts.lights if kind == "lights" else counts.junctions
            yield _progress_words(passed, leg.crossings, kind)
        goal = plain_words(goal_part(leg.text))
        # Before a turn, left and right speak of the turn.
        sides: set[str] = set()
        if not leg.turn:
            sides = {"left", "right"} & goal
        for name, where in self.landmarks:
            # A landmark counts only if the clause has all words of its name.
            words = plain_words(name) - {"a", "an", "the"}
            if not words or not words <= goal:
                continue
            if sides and where.rpartition(" ")[2] not in sides:
                yield "beside it, other side"
            else:
                yield "beside it"
        if leg.turn:
            yield f"turn {leg.turn}"
        elif self.is_last:
            place = stop_place(leg.text)
            steps = step_count(leg.text)
            if steps is None and place in FRACTIONS and counts.block_steps:
                steps = max(1, round(FRACTIONS[place] * counts.block_steps))
            yield f"stop {place}".strip()
            done = counts.stretch_steps
            if steps is None:
                yield f"{done} on"
            elif done == steps:
                yield f"{done} of {steps} steps reached"
            else:
                yield f"{done} of {steps} steps"
            yield f"{self.steps} in all"


def _progress_words(so_far: int, number: int, kind: str) -> str:
    """Return ``2 of 3 lights``, marked if that number is reached or passed."""
    count = f"{so_far} of {number} {kind}"
    if so_far == number:
        return f"{count} reached"
    if so_far > number:
        return f"{count} passed"
    return count

"""An instruction cut into clauses by plain rules: what to do first, then, and at the end.

    >>> told = "Turn left and walk to the sofa, then stop by the lamp."
    >>> [clause.text for clause in clauses(told)]
    ['Turn left, walk to the sofa', 'stop by the lamp']

Cut is at ends of sentences, at "then", and before a verb of motion that follows a comma or an
"and". Words that say how a step begins or what is met on it, but make none of their own, stay with
the next clause: a turn, a thing that is passed, a sentence without a verb of motion. A bare "stop
there" stays with the last one. A sentence that only passes something is a step of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wayword.core.action import Action
from wayword.core.trajectory import CLAUSES, FOLLOWED

MOST = 9
"""Clauses at most; where there are more, the shortest neighbors are joined."""

FOLLOW = "follow"
"""The name of the decision to follow a clause; its argument is the clause's number from 1."""

YES, NO = "yes", "no"
"""Answers to every question that is asked about a clause."""

VERBS = (
    "go|walk|turn|stop|wait|enter|exit|leave|continue|head|make|take|move|proceed|follow|cross|"
    "climb|keep|pass|veer|bear|step|stand|travel|pause|ascend|descend|circle|start|hang|halt|"
    "finish|end|come|return|round"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WITHIN = re.compile(
    rf"(?:,\s*|\s+)(?:and\s+)?then,?\s+|(?:,\s*(?:and\s+)?|\s+and\s+)(?=(?:{VERBS})\b)",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"^(?:(?:and|then|next|after that|afterwards|finally|from there|now)\b,?\s*)+", re.I
)
MOVES = re.compile(rf"\b(?:{VERBS}|walking|going|turning|heading|passing)\b", re.IGNORECASE)
_SETTING = re.compile(
    r"^(?:you(?:'re|'ve|'ll| are| have| will| start| begin)|beginning|if you)\b", re.IGNORECASE
)
_ONLY_TURN = re.compile(
    r"^(?:(?:turn|make|take|veer|bear|go|head|continue|keep|walk)\b[\s\w-]{0,24}?"
    r"\b(?:left|right|around|straight(?: ahead| on)?|u-turn|forward)\b(?: turn)?[.,!]*)$",
    re.IGNORECASE,
)
_ONLY_PASS = re.compile(r"^(?:pass|(?:go|walk|continue|head|move)\s+past)\b", re.IGNORECASE)
_ONLY_STOP = re.compile(
    r"^(?:stop|wait|halt|pause|stand)(?: (?:there|here|and wait))*\W*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Clause:
    """Words of an instruction, and where in it they begin (characters).

    ``last``: a sentence ends with them.
    """

    text: str
    begin: int
    last: bool = True


def following(number: int) -> Action:
    """The decision to follow a clause, by its number from 1."""
    return Action(FOLLOW, (str(number),))


def if_done(followed: int, count: int, last: Action) -> dict[Action, str]:
    """What no and yes decide: to go on with the clause ``followed`` of ``count``, or with the next
    one; yes behind the last clause decides for the action ``last``."""
    beyond = last if followed == count else following(followed + 1)
    return {following(followed): NO, beyond: YES}


def note_clauses(note: Callable[..., None], found: Sequence[Clause]) -> None:
    """Put the clauses of an instruction into the trajectory, where its white space is single."""
    texts, begins = [clause.text for clause in found], [clause.begin for clause in found]
    note(CLAUSES, texts=texts, begins=begins)


def note_followed(note: Callable[..., None], number: int, done: Iterable[int]) -> None:
    """Put the clause that is followed in this turn into the trajectory, and those that are done."""
    note(FOLLOWED, number=number, done=sorted(done))


_BY_NUMBER = re.compile(r"\b(?:sub-?instruction|instruction|clause|part)\s*#?\s*(\d{1,2})\b", re.I)
_LEAST_WORDS = 3
"""Words of a part that is quoted: fewer could stand in any thought."""


def named(thought: str, parts: Sequence[str]) -> int:
    """The one part, from 1, that a thought names by its number or quotes; 0 for none, or several.

    >>> named("I follow instruction 2.", ["leave the room", "go up the stairs"])
    2
    """
    numbers = {int(number) for number in _BY_NUMBER.findall(thought)}
    said = f" {_words_alone(thought)} "
    numbers |= {
        number for number, words in enumerate(map(_words_alone, parts), 1)
        if words.count(" ") + 1 >= _LEAST_WORDS and f" {words} " in said
    }  # fmt: skip
    there = [number for number in numbers if 1 <= number <= len(parts)]
    return there[0] if len(there) == 1 else 0


def _words_alone(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def clauses(instruction: str) -> tuple[Clause, ...]:
    """The clauses of an instruction, in order, one at least."""
    found = _settled(list(_pieces(instruction)))
    while len(found) > MOST:
        sizes = [len(one.text) + len(other.text) for one, other in pairwise(found)]
        first = sizes.index(min(sizes))
        found[first : first + 2] = [_joined(found[first], found[first + 1])]
    return tuple(found) or (Clause(instruction.strip(), 0),)


def _pieces(text: str) -> Iterator[Clause]:
    for begin, sentence in _cut(text, 0, _SENTENCE):
        for at, part in _cut(sentence, begin, _WITHIN):
            last = at + len(part) == begin + len(sentence)
            linked = _LINK.match(part)
            skipped = linked.end() if linked else 0
            words = part[skipped:].strip().rstrip(".,;! ")
            if words:
                yield Clause(words, at + skipped, last)


def _cut(text: str, begin: int, at: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Parts of a text, each with the place where it begins."""
    here = 0
    for cut in at.finditer(text):
        yield begin + here, text[here : cut.start()]
        here = cut.end()
    yield begin + here, text[here:]


def _settled(found: list[Clause]) -> list[Clause]:
    """The clauses that take steps, each with what belongs to it."""
    settled: list[Clause] = []
    waiting: Clause | None = None
    for clause in found:
        if settled and waiting is None and _ONLY_STOP.match(clause.text):
            settled[-1] = _joined(settled[-1], clause)
            continue
        whole = clause if waiting is None else _joined(waiting, clause)
        words = clause.text
        passes = _ONLY_PASS.match(words) and not clause.last
        no_step = passes or _SETTING.match(words) or not MOVES.search(words)
        waiting = whole if no_step or _ONLY_TURN.match(words) else None
        if waiting is None:
            settled.append(whole)
    if waiting is not None:
        settled[-1:] = [_joined(settled[-1], waiting)] if settled else [waiting]
    return settled


def _joined(one: Clause, other: Clause) -> Clause:
    return Clause(f"{one.text}, {other.text}", one.begin, other.last)


# What the words of a clause say: the turn it begins with, where it ends.

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ORDINALS = {
    "next": "one", "first": "one", "second": "two", "third": "three", "fourth": "four",
    "fifth": "five",
}  # fmt: skip
"""Words for places in an order -> those for numbers, as which they are compared."""

_LETTERS = re.compile(r"[A-Za-z]+")
_FILLER = (
    r"(?:(?:a|an|the|your|another|next|first|second|third|immediate|quick|to|towards?|all the way|"
    r"completely)\s+)*"
)
_TURN = re.compile(
    rf"\b(?:turn|make|take|go|head|hang|keep|curve|(bear|veer))\s+{_FILLER}"
    rf"(?:(slight|slightly|sharp|sharply|hard)\s+)?{_FILLER}"
    r"((?:left|right)(?!\s+(?:past|ahead|before|after|in front|through|into|behind)\b)|"
    r"around|straight|u-turn|180)\b",
    re.IGNORECASE,
)


def turn_of(clause: str) -> float | None:
    """The first turn that a clause tells, degrees to the right, 0 where it only goes straight; None
    where it tells neither.

    >>> turn_of("make a sharp left and pass the sofa"), turn_of("veer right"), turn_of("stop")
    (-135.0, 45.0, None)
    >>> turn_of("Head straight to the light and turn left")
    -90.0
    """
    found = list(_TURN.finditer(clause))
    if not found:
        return None
    turned = next((one for one in found if one[3].lower() != "straight"), found[0])
    bears, how, where = (part.lower() if part else "" for part in turned.groups())
    if where in ("around", "u-turn", "180"):
        return 180.0
    if where == "straight":
        return 0.0
    size = 45.0 if bears or how.startswith("slight") else 135.0 if how else 90.0
    return size if where == "right" else -size


_LEADING = re.compile(
    r".*\b(?:to|into|through|by|beside|towards?|reach)\b", re.IGNORECASE | re.DOTALL
)
_THROUGH = re.compile(
    r"\b(?:through|into|door|doors|doorway|enter|exit|leave|out|past|pass)\b", re.IGNORECASE
)


def last_parts(clause: str) -> tuple[str, str]:
    """Where a clause ends, in two widths: behind its last "to" or "through", and its last comma.

    >>> last_parts("turn left, walk along the hallway to the kitchen")
    (' the kitchen', ' walk along the hallway to the kitchen')
    """
    last = clause.rpartition(",")[2]
    return _LEADING.sub("", last), last


def goes_through(clause: str) -> bool:
    """Whether a clause ends beyond what it names last, as a doorway, and not merely by it."""
    return _THROUGH.search(last_parts(clause)[1]) is not None


def plain_words(text: str) -> frozenset[str]:
    """The words of a text as they are compared: lower case, singular.

    >>> sorted(plain_words("Doorways to the hall"))
    ['doorway', 'hall', 'the', 'to']
    """
    words = (ORDINALS.get(word, word) for word in _LETTERS.findall(text.lower()))
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word
        for word in words
    )

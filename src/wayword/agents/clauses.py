"""Split an instruction into clauses by rules, one per step of the walk.

    >>> text = "Turn left and walk to the sofa, then stop by the lamp."
    >>> [clause.text for clause in clauses(text)]
    ['Turn left, walk to the sofa', 'stop by the lamp']

Cuts are at ends of sentences, at "then", and before a verb of motion after a comma or "and". Parts
that are not a step of their own are joined to the next clause: a turn, an object passed, a sentence
without a verb of motion. A bare "stop there" is joined to the previous one. A full sentence that
only passes an object is a step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wayword.agents.answers import Reply
from wayword.core.action import Action, Rejection
from wayword.core.model import Model
from wayword.core.trajectory import CLAUSES, FOLLOWED

MOST_CLAUSES = 9  # beyond this, the shortest neighboring clauses are joined

FOLLOW = "follow"  # the decision to follow a clause; its argument is the number, from 1

# Answers to questions about clauses
YES = "yes"
NO = "no"

MOTION_VERBS = (
    "go|walk|turn|stop|wait|enter|exit|leave|continue|head|make|take|move|proceed|follow|cross|"
    "climb|keep|pass|veer|bear|step|stand|travel|pause|ascend|descend|circle|start|hang|halt|"
    "finish|end|come|return|round"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_CUT_WITHIN = re.compile(
    rf"(?:,\s*|\s+)(?:and\s+)?then,?\s+|(?:,\s*(?:and\s+)?|\s+and\s+)(?=(?:{MOTION_VERBS})\b)",
    re.I,
)
_LINKING_WORDS = re.compile(
    r"^(?:(?:and|then|next|after that|afterwards|finally|from there|now)\b,?\s*)+",
    re.I,
)
MOTION = re.compile(
    rf"\b(?:{MOTION_VERBS}|walking|going|turning|heading|passing)\b",
    re.I,
)
_SITUATION = re.compile(
    r"^(?:you(?:'re|'ve|'ll| are| have| will| start| begin)|beginning|if you)\b",
    re.I,
)
_ONLY_TURN = re.compile(
    r"^(?:(?:turn|make|take|veer|bear|go|head|continue|keep|walk)\b[\s\w-]{0,24}?"
    r"\b(?:left|right|around|straight(?: ahead| on)?|u-turn|forward)\b(?: turn)?[.,!]*)$",
    re.I,
)
_ONLY_PASS = re.compile(r"^(?:pass|(?:go|walk|continue|head|move)\s+past)\b", re.I)
_ONLY_STOP = re.compile(
    r"^(?:stop|wait|halt|pause|stand)(?: (?:there|here|and wait))*\W*$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of an instruction, and its character offset.

    ``ends_sentence``: True if a sentence ends with it.
    """

    text: str
    begin: int
    ends_sentence: bool = True


def follow_action(number: int) -> Action:
    """Return the decision to follow a clause, by its number from 1."""
    return Action(FOLLOW, (str(number),))


def done_answers(followed: int, count: int, final_action: Action) -> dict[Action, str]:
    """Return the decisions for the answers to "is clause ``followed`` of ``count`` done?": no stays
    with it, yes continues with the next one, or after the last with ``final_action``."""
    next_action = final_action
    if followed < count:
        next_action = follow_action(followed + 1)
    return {follow_action(followed): NO, next_action: YES}


async def ask_yes(model: Model, prompt: str) -> tuple[float, Rejection | None]:
    """Ask a yes/no question at the end of a prompt, and return the log-probability of yes minus
    that of no. Any other answer counts as no, and is returned as a rejection."""
    choice = await model.choose(prompt, [NO, YES])
    refused = None
    if choice.other_text:
        refused = Reply.of(choice.other_text).reject(
            "unknown",
            "the answer is neither yes nor no",
        )
    return choice.logprobs[1] - choice.logprobs[0], refused


def note_clauses(note: Callable[..., None], parts: Sequence[Clause]) -> None:
    """Record the clauses of an instruction in the trajectory."""
    note(
        CLAUSES,
        texts=[part.text for part in parts],
        begins=[part.begin for part in parts],
    )


def note_followed(note: Callable[..., None], number: int, done: Iterable[int]) -> None:
    """Record the clause followed in this turn, and those that are done."""
    note(FOLLOWED, number=number, done=sorted(done))


_BY_NUMBER = re.compile(
    r"\b(?:sub-?instruction|instruction|clause|part)\s*#?\s*(\d{1,2})\b",
    re.I,
)
# Minimum words of a quoted part: fewer could occur in any thought by chance
_LEAST_WORDS = 3


def named_part(thought: str, parts: Sequence[str]) -> int:
    """Return the one part (from 1) that a thought names by number or quotes; 0 for none or several.

    >>> named_part("I follow instruction 2.", ["leave the room", "go up the stairs"])
    2
    """
    numbers = {int(number) for number in _BY_NUMBER.findall(thought)}
    text = f" {_word_text(thought)} "
    for number, words in enumerate(map(_word_text, parts), 1):
        if words.count(" ") + 1 >= _LEAST_WORDS and f" {words} " in text:
            numbers.add(number)
    # A thought may name a number that no part has.
    numbers &= {*range(1, len(parts) + 1)}
    if len(numbers) != 1:
        return 0
    return numbers.pop()


def _word_text(text: str) -> str:
    """Return the words of a text in lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def clauses(instruction: str) -> tuple[Clause, ...]:
    """Return the clauses of an instruction in order, at least one."""
    pieces: list[Clause] = []
    for begin, sentence in _split_at(instruction, 0, _SENTENCE):
        for at, part in _split_at(sentence, begin, _CUT_WITHIN):
            link = _LINKING_WORDS.match(part)
            skipped = 0
            if link:
                skipped = link.end()
            words = part[skipped:].strip().rstrip(".,;! ")
            if words:
                ends_sentence = at + len(part) == begin + len(sentence)
                pieces.append(Clause(words, at + skipped, ends_sentence))
    # Join the pieces that are not steps of their own to their neighbors.
    merged: list[Clause] = []
    pending: Clause | None = None
    for piece in pieces:
        words = piece.text
        if merged and pending is None and _ONLY_STOP.match(words):
            merged[-1] = _join(merged[-1], piece)
            continue
        joined = piece
        if pending is not None:
            joined = _join(pending, piece)
        passes = _ONLY_PASS.match(words) and not piece.ends_sentence
        no_step = passes or _SITUATION.match(words) or not MOTION.search(words)
        pending = None
        if no_step or _ONLY_TURN.match(words):
            pending = joined
        else:
            merged.append(joined)
    # What is left at the end belongs to the last step.
    if pending is not None and merged:
        merged[-1] = _join(merged[-1], pending)
    elif pending is not None:
        merged.append(pending)
    # The shortest neighbors first, so that no clause grows long.
    while len(merged) > MOST_CLAUSES:
        sizes = [
            len(first.text) + len(second.text) for first, second in pairwise(merged)
        ]
        shortest = sizes.index(min(sizes))
        merged[shortest : shortest + 2] = [
            _join(merged[shortest], merged[shortest + 1])
        ]
    return tuple(merged) or (Clause(instruction.strip(), 0),)


def _split_at(
    text: str,
    begin: int,
    cut_pattern: re.Pattern[str],
) -> Iterator[tuple[int, str]]:
    """Yield the pieces between cuts, each with its offset in the instruction."""
    start = 0
    for cut in cut_pattern.finditer(text):
        yield begin + start, text[start : cut.start()]
        start = cut.end()
    yield begin + start, text[start:]


def _join(first: Clause, second: Clause) -> Clause:
    """Return two clauses as one."""
    return Clause(f"{first.text}, {second.text}", first.begin, second.ends_sentence)


# Meaning of a clause's words: the turn at its beginning, and its end.

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ORDINALS = {
    "next": "one", "first": "one", "second": "two", "third": "three", "fourth": "four",
    "fifth": "five",
}  # fmt: skip
"""Ordinal -> cardinal: words are compared as cardinals."""

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
    re.I,
)


def turn_of(clause: str) -> float | None:
    """Return the first turn in a clause: degrees, right positive, 0 if it only goes straight; None
    if it has neither."""
    # "Go straight and turn left" turns left: "straight" counts only alone.
    turns = list(_TURN.finditer(clause))
    if not turns:
        return None
    chosen = next(
        (match for match in turns if match[3].lower() != "straight"),
        turns[0],
    )
    bearing_verb, modifier, direction = (
        (part or "").lower() for part in chosen.groups()
    )
    if direction == "straight":
        return 0.0
    if direction not in ("left", "right"):
        return 180.0
    if bearing_verb or modifier.startswith("slight"):
        degrees = 45.0
    elif modifier:
        degrees = 135.0
    else:
        degrees = 90.0
    if direction == "left":
        return -degrees
    return degrees


_PREPOSITIONS = re.compile(
    r".*\b(?:to|into|through|by|beside|towards?|reach)\b",
    re.I | re.DOTALL,
)
_THROUGH = re.compile(
    r"\b(?:through|into|door|doors|doorway|enter|exit|leave|out|past|pass)\b",
    re.I,
)


def clause_ends(clause: str) -> tuple[str, str]:
    """Return two ends of a clause: after its last "to" or "through", and after its last comma.

    >>> clause_ends("turn left, walk along the hallway to the kitchen")
    (' the kitchen', ' walk along the hallway to the kitchen')
    """
    last = clause.rpartition(",")[2]
    return _PREPOSITIONS.sub("", last), last


def goes_through(clause: str) -> bool:
    """True if a clause ends beyond the last object it names (a doorway), not only near it."""
    return _THROUGH.search(clause_ends(clause)[1]) is not None


def plain_words(text: str) -> frozenset[str]:
    """Return the words of a text in normalized form: lower case, singular.

    >>> sorted(plain_words("Doorways to the hall"))
    ['doorway', 'hall', 'the', 'to']
    """
    words = (ORDINALS.get(word, word) for word in _LETTERS.findall(text.lower()))
    # "boss" stays
    return frozenset(re.sub(r"(?<=...)(?<!s)s$", "", word) for word in words)

"""What a walk through streets has met and counted, and what of it agrees with a clause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wayword.agents.parts.clauses import MOVES, NUMBERS, ORDINALS, plain_words, turn_of

_KIND = r"(?:sets? of )?(?:traffic |stop )?(light|intersection|corner|block|step)s?"
_NUMBER = r"(one|two|three|four|five|six|seven|eight|nine|\d+)"
_COUNTS = (
    (re.compile(rf"\bthrough (?:the )?(?:next )?{_NUMBER} {_KIND}.*\bat the next\b"), 1),
    (re.compile(rf"\b(first|second|third|fourth|fifth|next|\d)(?:st|nd|rd|th)? {_KIND}"), 0),
    (re.compile(rf"\b{_NUMBER} (?:more )?{_KIND}"), 0),
    (re.compile(rf"\b(the) (?:end of the )?{_KIND}"), 0),
)


def count_of(clause: str) -> tuple[int, str] | None:
    """What a clause counts by and how many: ``(2, "lights")``; None where it counts nothing.

    >>> count_of("Go through one intersection, and at the next one make a left")
    (2, 'intersections')
    >>> count_of("turn right at the light"), count_of("Take four steps and stop")
    ((1, 'lights'), (4, 'steps'))
    """
    words = clause.lower()
    for pattern, more in _COUNTS:
        if found := pattern.search(words):
            number, kind = found.groups()
            kind = kind if kind in ("light", "step") else "intersection"
            return _number(number) + more, f"{kind}s"
    return None


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    plain = ORDINALS.get(word, word)
    return NUMBERS.index(plain) + 1 if plain in NUMBERS else 1


_WARNS = re.compile(r"\btoo far\b|\bpassed it\b|\bif you (?:see|reach|come)\b", re.IGNORECASE)


def goal_part(clause: str) -> str:
    """The last step that a clause tells, with what is said of it; no warning of going too far.

    >>> goal_part("Pass a zoo, stop at the bank, which is on your left")
    ' stop at the bank, which is on your left'
    """
    parts = [part for part in clause.split(",") if not _WARNS.search(part)]
    moving = [number for number, part in enumerate(parts) if MOVES.search(part)]
    return ",".join(parts[moving[-1] if moving else -1 :]) if parts else clause


@dataclass(slots=True)
class Since:
    """Steps, intersections and traffic lights since the last turn, or since the start.

    A light counts where one was in view ahead, and an intersection was come to, at most a step on.
    """

    turn: str = "start"
    steps: int = 0
    junctions: int = 0
    lights: int = 0
    _lit: bool = False

    def see(self, *, junction: bool, lit: bool) -> None:
        """A new place: whether an intersection was come to, and a light is in view ahead."""
        self.junctions += junction
        self.lights += junction and (lit or self._lit)
        self._lit = lit

    def done(self, word: str) -> None:
        """An action was carried out."""
        if word == "forward":
            self.steps += 1
        elif word != "stop":
            self.turn, self.steps, self.junctions, self.lights = word, 0, 0, 0

    def count(self, kind: str) -> int:
        """How many ``steps``, ``intersections`` or ``lights``."""
        return {"steps": self.steps, "intersections": self.junctions, "lights": self.lights}[kind]

    def words(self) -> dict[str, str]:
        """The slots of a sentence: ``{"steps": "two steps", "lights": "no lights"}`` and so on."""
        return {
            "turn": self.turn.replace("_", " "),
            "steps": _counted(self.steps, "step"),
            "intersections": _counted(self.junctions, "intersection"),
            "lights": _counted(self.lights, "light"),
        }


def _counted(number: int, thing: str) -> str:
    few = 0 < number <= len(NUMBERS)
    said = NUMBERS[number - 1] if few else str(number) if number else "no"
    return f"{said} {thing}{'' if number == 1 else 's'}"


_HALTS = re.compile(r"\b(?:stop|wait|halt|end)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Met:
    """A place on a street walk: the counts ``since`` the last turn, the landmarks ``beside`` it
    (name, and where in words), whether it is a ``junction`` come to, and whether one has just
    ``turned`` here for the clause that is followed."""

    since: Since
    beside: Sequence[tuple[str, str]]
    junction: bool
    turned: bool
    sees: bool = True
    """Whether landmarks can be seen; where not, lights are counted by their intersections."""

    def words(self, clause: str) -> dict[str, str]:
        """The slots of a sentence: the counts, the landmarks, and what agrees with a clause."""
        beside = "".join(f"; {name} {where}" for name, where in self.beside)
        return {**self.since.words(), "beside": beside, "signs": ", ".join(self.signs(clause))}

    def signs(self, clause: str) -> Iterator[str]:
        """What agrees with a clause here, and what it tells to do: by plain rules on words."""
        counted, goal = count_of(clause), goal_part(clause)
        if self.turned:
            yield f"turned {self.since.turn.replace('_', ' ')}"
        if self.junction:
            yield "intersection"
        if counted is not None:
            many, kind = counted
            kind = kind if self.sees or kind != "lights" else "intersections"
            so_far = self.since.count(kind)
            yield f"{so_far} of {many} {kind}{' reached' * (so_far == many)}"
        turn = turn_of(clause)
        told = set() if turn_of(goal) else {"left", "right"} & plain_words(goal)
        for name, where in self.beside:
            words = plain_words(name) - {"a", "an", "the"}
            if words and words <= plain_words(goal):
                other = told and where.rpartition(" ")[2] not in told
                yield "beside it, other side" if other else "beside it"
        if turn:
            yield "turn right" if turn > 0 else "turn left"
        if _HALTS.search(goal):
            yield "stop"
